//! `/api/v1` as typed functions over the browser's `fetch`.
//!
//! Every call returns a type of the `api` crate or an [`api::Problem`]. A request without a response is a problem too,
//! with the code [`OFFLINE`]. These requests are never sent during server-side rendering, because pages fetch after
//! mount.
//!
//! If the session has ended, a read redirects to the login page, which returns to the present page after the login. A
//! write does not, since that would lose the user's input. Its problem states that the session has ended.

use std::{collections::BTreeMap, sync::Arc};

use api::{
    AuditEvent, CatalogEntry, Check, CloudFacts, CloudInfo, CommandRequest, ConsoleLog,
    CurrentUser, DeployRequest, Deployment, Design, DesignRequest, DesignSummary, DesignVersion,
    DesignVersionLabel, DesignVersionSummary, Event, ExportFormat, Exported, GraphicalConsole,
    ImportRequest, Imported, ItemComparison, LiveServer, LogHits, LoginRequest, LoginSession,
    Permission, PermissionRequest, Plan, PlanRequest, PowerAction, PowerRequest, Problem,
    RepairRequest, Run, RunContent, ScaleRequest, Started, Stray, UpgradeRequest, ValidateRequest,
    ValidateResponse,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use types::{
    Registry, ResourceType,
    catalog::{recipe::Recipe, role::RoleDraft},
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Headers, RequestInit, Response};

use crate::browser;

/// Code of the problem for a request without a response.
pub const OFFLINE: &str = "offline";

/// Result of a call.
pub type Answer<T> = Result<T, Problem>;

/// `GET /clouds`.
pub async fn clouds() -> Answer<Vec<CloudInfo>> {
    get("/clouds").await
}

/// `POST /login`.
pub async fn login(request: &LoginRequest) -> Answer<CurrentUser> {
    send("POST", "/login", Some(request)).await
}

/// `POST /logout`.
pub async fn logout() -> Answer<()> {
    done("POST", "/logout").await
}

/// `GET /sessions`.
pub async fn sessions() -> Answer<Vec<LoginSession>> {
    get("/sessions").await
}

/// `DELETE /sessions/{id}`.
pub async fn session_end(id: &str) -> Answer<()> {
    done("DELETE", &format!("/sessions/{}", browser::encode(id))).await
}

/// `GET /me`.
pub async fn me() -> Answer<CurrentUser> {
    get("/me").await
}

/// `GET /cloud`: flavors, images, networks and other facts of the project's cloud.
pub async fn cloud_facts() -> Answer<CloudFacts> {
    get("/cloud").await
}

/// `GET /designs`.
pub async fn designs() -> Answer<Vec<DesignSummary>> {
    get_all("/designs").await
}

/// `GET /designs/{id}`.
pub async fn design(id: &str) -> Answer<Design> {
    get(&format!("/designs/{}", browser::encode(id))).await
}

/// `POST /designs`.
pub async fn design_create(request: &DesignRequest) -> Answer<Design> {
    send("POST", "/designs", Some(request)).await
}

/// Behaviour of a request when its page is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The page stays open and waits for the response.
    Stays,
    /// The page closes now. A request with a short body continues after that.
    Closes,
}

/// Maximum length of a request body for a page that closes, in bytes. Browsers limit such requests to 64 KiB in total.
const KEEPALIVE_BYTES_MAX: usize = 60 << 10;

/// `PUT /designs/{id}`.
pub async fn design_save(id: &str, request: &DesignRequest, page: Page) -> Answer<Design> {
    let path = format!("/designs/{}", browser::encode(id));
    let body = written(request).map_err(|error| unreadable(&path, &error.to_string()))?;
    let text = call("PUT", &path, Some(body), page).await?;
    serde_json::from_str(&text).map_err(|error| unreadable(&path, &error.to_string()))
}

/// `DELETE /designs/{id}`.
pub async fn design_delete(id: &str) -> Answer<()> {
    done("DELETE", &format!("/designs/{}", browser::encode(id))).await
}

/// `GET /designs/{id}?newer_than=`: the design, if it has a newer version. Like a poll, it never leads to the login.
pub async fn design_newer(id: &str, version: u32) -> Answer<Option<Design>> {
    let path = format!("/designs/{}?newer_than={version}", browser::encode(id));
    let text = call("GET", &path, None, Page::Stays).await?;
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text).map_err(|error| unreadable(&path, &error.to_string()))
}

/// `GET /designs/{id}/versions`.
pub async fn design_versions(id: &str) -> Answer<Vec<DesignVersionSummary>> {
    get(&format!("/designs/{}/versions", browser::encode(id))).await
}

/// `GET /designs/{id}/versions/{version}`.
pub async fn design_version(id: &str, version: u32) -> Answer<DesignVersion> {
    let id = browser::encode(id);
    get(&format!("/designs/{id}/versions/{version}")).await
}

/// `PUT /designs/{id}/versions/{version}`.
pub async fn design_version_label(id: &str, version: u32, label: &str) -> Answer<()> {
    let path = format!("/designs/{}/versions/{version}", browser::encode(id));
    let label = DesignVersionLabel {
        label: label.to_owned(),
    };
    let body = written(&label).map_err(|error| unreadable(&path, &error.to_string()))?;
    call("PUT", &path, Some(body), Page::Stays).await.map(drop)
}

/// `GET /designs/{id}/export`.
pub async fn design_export(id: &str, format: ExportFormat) -> Answer<Exported> {
    get(&format!(
        "/designs/{}/export?format={}",
        browser::encode(id),
        format.word()
    ))
    .await
}

/// The address of an export as a download: one file, or an archive of several.
pub fn design_archive(id: &str, format: ExportFormat) -> String {
    format!(
        "/api/v1/designs/{}/export?format={}&download=true",
        browser::encode(id),
        format.word()
    )
}

/// `POST /import`.
pub async fn import(request: &ImportRequest) -> Answer<Imported> {
    send("POST", "/import", Some(request)).await
}

/// `POST /validate`.
pub async fn validate(request: &ValidateRequest) -> Answer<ValidateResponse> {
    send("POST", "/validate", Some(request)).await
}

/// `POST /plan`.
pub async fn plan(request: &PlanRequest) -> Answer<Plan> {
    send("POST", "/plan", Some(request)).await
}

/// Number of items that a page of a list has.
pub const PAGE: usize = 500;

/// All items of a list, page by page.
async fn get_all<T: DeserializeOwned>(path: &str) -> Answer<Vec<T>> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let page = get_page::<T>(path, all.len()).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

async fn get_page<T: DeserializeOwned>(path: &str, offset: usize) -> Answer<Vec<T>> {
    get(&format!("{path}?limit={PAGE}&offset={offset}")).await
}

/// `GET /audit`: the events after the newest `offset`.
pub async fn audit(offset: usize) -> Answer<Vec<AuditEvent>> {
    get_page("/audit", offset).await
}

/// `GET /deployments`.
pub async fn deployments() -> Answer<Vec<Deployment>> {
    get_all("/deployments").await
}

/// `GET /deployments/{id}`.
pub async fn deployment(id: &str) -> Answer<Deployment> {
    get(&format!("/deployments/{}", browser::encode(id))).await
}

/// `POST /deployments`.
pub async fn deploy(request: &DeployRequest) -> Answer<Started> {
    send("POST", "/deployments", Some(request)).await
}

/// `PUT /deployments/{id}`.
pub async fn deployment_update(id: &str, request: &DeployRequest) -> Answer<Started> {
    send(
        "PUT",
        &format!("/deployments/{}", browser::encode(id)),
        Some(request),
    )
    .await
}

/// `POST /deployments/{id}/rollback`.
pub async fn roll_back(id: &str) -> Answer<Started> {
    send(
        "POST",
        &format!("/deployments/{}/rollback", browser::encode(id)),
        None::<&()>,
    )
    .await
}

/// `POST /deployments/{id}/groups/{name}/scale`.
pub async fn scale(id: &str, group: &str, request: &ScaleRequest) -> Answer<Started> {
    let (id, group) = (browser::encode(id), browser::encode(group));
    let path = format!("/deployments/{id}/groups/{group}/scale");
    send("POST", &path, Some(request)).await
}

/// `POST /deployments/{id}/upgrade`.
pub async fn upgrade(id: &str, request: &UpgradeRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/upgrade", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `GET /catalog/{item}/compare`.
pub async fn item_comparison(item: &str, from: &str, to: &str) -> Answer<ItemComparison> {
    let [item, from, to] = [item, from, to].map(browser::encode);
    get(&format!("/catalog/{item}/compare?from={from}&to={to}")).await
}

/// `POST /deployments/{id}/permission`.
pub async fn permission_give(id: &str, request: &PermissionRequest) -> Answer<Permission> {
    let path = format!("/deployments/{}/permission", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `DELETE /deployments/{id}/permission`.
pub async fn permission_revoke(id: &str) -> Answer<()> {
    let path = format!("/deployments/{}/permission", browser::encode(id));
    done("DELETE", &path).await
}

/// `POST /deployments/{id}/check`.
pub async fn check(id: &str) -> Answer<Check> {
    let path = format!("/deployments/{}/check", browser::encode(id));
    send("POST", &path, None::<&()>).await
}

/// `POST /deployments/{id}/repair`.
pub async fn repair(id: &str, request: &RepairRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/repair", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `POST /deployments/{id}/command`.
pub async fn command(id: &str, request: &CommandRequest) -> Answer<Started> {
    let path = format!("/deployments/{}/command", browser::encode(id));
    send("POST", &path, Some(request)).await
}

/// `GET /deployments/{id}/servers`.
pub async fn servers(id: &str) -> Answer<Vec<LiveServer>> {
    get(&format!("/deployments/{}/servers", browser::encode(id))).await
}

/// `POST /deployments/{id}/servers/{name}/power`.
pub async fn power(id: &str, server: &str, power: PowerAction) -> Answer<()> {
    let (id, server) = (browser::encode(id), browser::encode(server));
    let path = format!("/deployments/{id}/servers/{server}/power");
    let body = written(&PowerRequest { power });
    let body = body.map_err(|error| unreadable(&path, &error.to_string()))?;
    call("POST", &path, Some(body), Page::Stays).await.map(drop)
}

/// `GET /deployments/{id}/servers/{name}/console`.
pub async fn console_log(id: &str, server: &str) -> Answer<ConsoleLog> {
    get(&console_path(id, server)).await
}

/// `POST /deployments/{id}/servers/{name}/console`.
pub async fn graphical_console(id: &str, server: &str) -> Answer<GraphicalConsole> {
    send("POST", &console_path(id, server), None::<&()>).await
}

fn console_path(id: &str, server: &str) -> String {
    let (id, server) = (browser::encode(id), browser::encode(server));
    format!("/deployments/{id}/servers/{server}/console")
}

/// Treatment of resources that an undeploy cannot remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// The run fails.
    No,
    /// The run continues and reports the remaining resources.
    Yes,
}

/// `DELETE /deployments/{id}`.
pub async fn undeploy(id: &str, force: Force, base_run: Option<&str>) -> Answer<Started> {
    let mut query = format!("?force={}", force == Force::Yes);
    if let Some(run) = base_run {
        query += &format!("&base_run={}", browser::encode(run));
    }
    send(
        "DELETE",
        &format!("/deployments/{}{query}", browser::encode(id)),
        None::<&()>,
    )
    .await
}

/// `DELETE /deployments/{id}/record`.
pub async fn remove_deployment(id: &str) -> Answer<()> {
    let path = format!("/deployments/{}/record", browser::encode(id));
    done("DELETE", &path).await
}

/// `GET /deployments/{id}/runs`.
pub async fn runs(deployment: &str) -> Answer<Vec<Run>> {
    get_all(&format!(
        "/deployments/{}/runs",
        browser::encode(deployment)
    ))
    .await
}

/// `GET /deployments/{id}/strays`.
pub async fn strays(deployment: &str) -> Answer<Vec<Stray>> {
    get(&format!(
        "/deployments/{}/strays",
        browser::encode(deployment)
    ))
    .await
}

/// `GET /runs/{id}`.
pub async fn run(id: &str) -> Answer<Run> {
    get(&format!("/runs/{}", browser::encode(id))).await
}

/// `GET /runs/{id}/content`.
pub async fn run_content(id: &str) -> Answer<RunContent> {
    get(&format!("/runs/{}/content", browser::encode(id))).await
}

/// `POST /runs/{id}/cancel`.
pub async fn run_cancel(id: &str) -> Answer<()> {
    done("POST", &format!("/runs/{}/cancel", browser::encode(id))).await
}

/// `POST /runs/{id}/resume`.
pub async fn run_resume(id: &str) -> Answer<()> {
    done("POST", &format!("/runs/{}/resume", browser::encode(id))).await
}

/// `GET /runs/{id}/events`: the first events after a number, or the first log lines of a step.
pub async fn events_after(
    run: &str,
    after: u64,
    limit: u32,
    step: Option<&str>,
) -> Answer<Vec<Event>> {
    let step = step.map(|step| format!("&step={}", browser::encode(step)));
    let step = step.unwrap_or_default();
    get(&format!(
        "/runs/{}/events?after={after}&limit={limit}{step}",
        browser::encode(run)
    ))
    .await
}

/// `GET /runs/{id}/events`, backward: the last events before a number, or the last log lines of a step.
pub async fn events_before(
    run: &str,
    before: u64,
    limit: u32,
    step: Option<&str>,
) -> Answer<Vec<Event>> {
    let step = step.map(|step| format!("&step={}", browser::encode(step)));
    let step = step.unwrap_or_default();
    get(&format!(
        "/runs/{}/events?before={before}&limit={limit}{step}",
        browser::encode(run)
    ))
    .await
}

/// `GET /runs/{id}/search`
pub async fn search_log(run: &str, text: &str, before: u64, step: Option<&str>) -> Answer<LogHits> {
    let step = step.map(|step| format!("&step={}", browser::encode(step)));
    let step = step.unwrap_or_default();
    get(&format!(
        "/runs/{}/search?text={}&before={before}{step}",
        browser::encode(run),
        browser::encode(text)
    ))
    .await
}

/// `GET /runs/{id}/events`, without log lines.
pub async fn moves(run: &str, after: u64, limit: u32) -> Answer<Vec<Event>> {
    get(&format!(
        "/runs/{}/events?moves=true&after={after}&limit={limit}",
        browser::encode(run)
    ))
    .await
}

/// `GET /catalog`.
pub async fn catalog() -> Answer<Vec<CatalogEntry>> {
    get("/catalog").await
}

/// `GET /catalog/{item}`.
pub async fn catalog_item(name: &str) -> Answer<CatalogEntry> {
    get(&format!("/catalog/{}", browser::encode(name))).await
}

/// `POST /catalog`: uploads a tar.gz from the user's disk, with the manifest of a role that has none.
pub async fn catalog_upload(
    archive: &web_sys::File,
    manifest: Option<&str>,
) -> Answer<CatalogEntry> {
    let query = manifest.map(|text| format!("?manifest={}", browser::encode(text)));
    send_archive(&format!("/catalog{}", query.unwrap_or_default()), archive).await
}

/// `POST /roles`: the draft of a manifest for a role that has none.
pub async fn role_draft(archive: &web_sys::File) -> Answer<RoleDraft> {
    send_archive("/roles", archive).await
}

async fn send_archive<T: DeserializeOwned>(path: &str, archive: &web_sys::File) -> Answer<T> {
    let body = Body {
        kind: "application/gzip",
        is_short: false,
        value: JsValue::from(archive.clone()),
    };
    let text = call("POST", path, Some(body), Page::Stays).await?;
    serde_json::from_str(&text).map_err(|error| unreadable(path, &error.to_string()))
}

/// `GET /catalog/{item}/recipe`.
pub async fn recipe(item: &str) -> Answer<Recipe> {
    get(&format!("/catalog/{}/recipe", browser::encode(item))).await
}

/// `POST /recipes`: publishes the item of a form.
pub async fn recipe_publish(recipe: &Recipe) -> Answer<CatalogEntry> {
    send("POST", "/recipes", Some(recipe)).await
}

/// `GET /resource-types`, including those of the catalogue. The browser caches the response and revalidates it.
pub async fn resource_types() -> Answer<Types> {
    let types: Vec<ResourceType> = get("/resource-types").await?;
    Ok(Types(Arc::new(Registry::of(types))))
}

/// Resource type descriptions of one response. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Types(pub Arc<Registry>);

impl PartialEq for Types {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Parameter values of a request.
pub type Parameters = BTreeMap<String, Value>;

async fn get<T: DeserializeOwned>(path: &str) -> Answer<T> {
    match send("GET", path, None::<&()>).await {
        Err(problem) if problem.status == 401 => {
            browser::navigate(&format!(
                "/login?next={}",
                browser::encode(&browser::current_address())
            ));
            Err(problem)
        }
        answer => answer,
    }
}

async fn send<B: Serialize, T: DeserializeOwned>(
    method: &str,
    path: &str,
    body: Option<&B>,
) -> Answer<T> {
    let body = body.map(written).transpose();
    let body = body.map_err(|error| unreadable(path, &error.to_string()))?;
    let text = call(method, path, body, Page::Stays).await?;
    serde_json::from_str(&text).map_err(|error| unreadable(path, &error.to_string()))
}

/// A request body.
struct Body {
    /// Media type.
    kind: &'static str,
    /// True if the request can continue after its page is closed.
    is_short: bool,
    value: JsValue,
}

fn written(body: &impl Serialize) -> serde_json::Result<Body> {
    let json = serde_json::to_string(body)?;
    Ok(Body {
        kind: "application/json",
        is_short: json.len() < KEEPALIVE_BYTES_MAX,
        value: JsValue::from_str(&json),
    })
}

/// A call with an ignored response body.
async fn done(method: &str, path: &str) -> Answer<()> {
    call(method, path, None, Page::Stays).await.map(|_| ())
}

/// Sends one request and returns the response text. All requests use this function. It is not generic, to keep the wasm
/// small.
async fn call(method: &str, path: &str, body: Option<Body>, page: Page) -> Answer<String> {
    let Some(window) = browser::window() else {
        return Err(offline());
    };
    let request = RequestInit::new();
    request.set_method(method);
    let headers = Headers::new().map_err(|_| offline())?;
    let _ = headers.set("Accept", "application/json");
    if let Some(body) = &body {
        let _ = headers.set("Content-Type", body.kind);
        request.set_body(&body.value);
    }
    if page == Page::Closes && body.is_none_or(|body| body.is_short) {
        // In browsers without `keepalive` the request ends with the page.
        let _ = js_sys::Reflect::set(&request, &JsValue::from_str("keepalive"), &JsValue::TRUE);
    }
    request.set_headers(headers.as_ref());

    let answer =
        JsFuture::from(window.fetch_with_str_and_init(&format!("/api/v1{path}"), &request))
            .await
            .map_err(|_| offline())?;
    let response: Response = answer.dyn_into().map_err(|_| offline())?;
    let text = match response.text() {
        Ok(text) => JsFuture::from(text)
            .await
            .map_err(|_| offline())?
            .as_string()
            .unwrap_or_default(),
        Err(_) => return Err(offline()),
    };
    if response.ok() {
        Ok(text)
    } else {
        Err(refused(response.status(), &text))
    }
}

fn refused(status: u16, text: &str) -> Problem {
    serde_json::from_str::<Problem>(text).unwrap_or_else(|_| Problem {
        kind: String::from("about:blank"),
        title: format!("The server answered {status}"),
        status,
        code: String::from("unexpected-answer"),
        detail: text.chars().take(300).collect(),
        hint: Some(String::from(
            "Try again. If the error stays, check the server's log.",
        )),
        ..Problem::default()
    })
}

fn offline() -> Problem {
    Problem {
        kind: String::from("about:blank"),
        title: String::from("No connection to the server"),
        code: String::from(OFFLINE),
        detail: String::from("The request was not answered."),
        hint: Some(String::from(
            "Check that the server runs and that you are online, then try again.",
        )),
        ..Problem::default()
    }
}

/// True if the same request may succeed later: the server could not be reached, or could not take it now.
pub fn is_temporary(problem: &Problem) -> bool {
    problem.code == OFFLINE || matches!(problem.status, 429 | 500..)
}

/// Problem for a page whose code could not be loaded (see `lazy`).
pub fn page_missing() -> Problem {
    Problem {
        kind: String::from("about:blank"),
        title: String::from("The page could not be loaded"),
        code: String::from("page-missing"),
        detail: String::from("A part of the program could not be loaded from the server."),
        hint: Some(String::from(
            "Check that you are online. After an update of the server, reload the page.",
        )),
        ..Problem::default()
    }
}

fn unreadable(path: &str, why: &str) -> Problem {
    Problem {
        kind: String::from("about:blank"),
        title: String::from("The answer is invalid"),
        code: String::from("unreadable-answer"),
        detail: format!("`{path}`: {why}"),
        hint: Some(String::from(
            "This page may be older than the server. Reload it.",
        )),
        ..Problem::default()
    }
}
