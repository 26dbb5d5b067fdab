//! One request over the browser's `fetch`, and the problems of requests without a proper response.

use std::{cell::RefCell, collections::BTreeMap};

use api::Problem;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Headers, RequestInit, Response};

use crate::browser;

/// Code of the problem for a request without a response of the server.
pub const OFFLINE: &str = "offline";

/// Code of the server's answer to all requests while it cannot use its database.
const DATABASE_UNAVAILABLE: &str = "database-unavailable";

/// Result of a call.
pub type Answer<T> = Result<T, Problem>;

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

/// Number of items that a page of a list has.
pub const PAGE: usize = 500;

/// All items of a list, page by page.
pub(super) async fn get_all<T: DeserializeOwned>(path: &str) -> Answer<Vec<T>> {
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

/// Parameter values of a request.
pub type Parameters = BTreeMap<String, Value>;

pub(super) async fn get<T: DeserializeOwned>(path: &str) -> Answer<T> {
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

/// The values of a response with one JSON value a line.
pub(super) async fn get_lines<T: DeserializeOwned>(path: &str) -> Answer<Vec<T>> {
    let text = call("GET", path, None, Page::Stays).await?;
    let values = text.lines().map(serde_json::from_str);
    values
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(path, &error.to_string()))
}

pub(super) async fn send<B: Serialize, T: DeserializeOwned>(
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
pub(super) struct Body {
    /// Media type.
    pub kind: &'static str,
    /// True if the request can continue after its page is closed.
    pub is_short: bool,
    /// Text, or a file of the user's disk.
    pub value: JsValue,
}

pub(super) fn written(body: &impl Serialize) -> serde_json::Result<Body> {
    let json = serde_json::to_string(body)?;
    Ok(Body {
        kind: "application/json",
        is_short: json.len() < KEEPALIVE_BYTES_MAX,
        value: JsValue::from_str(&json),
    })
}

/// A call with an ignored response body.
pub(super) async fn done(method: &str, path: &str) -> Answer<()> {
    call(method, path, None, Page::Stays).await.map(|_| ())
}

/// Like [`done`], with a request body.
pub(super) async fn done_with(method: &str, path: &str, body: &impl Serialize) -> Answer<()> {
    let body = written(body).map_err(|error| unreadable(path, &error.to_string()))?;
    let answer = call(method, path, Some(body), Page::Stays).await;
    answer.map(|_| ())
}

thread_local! {
    /// Ends the reads of this page. `None` in a browser that cannot end requests.
    static READS: Option<AbortController> = AbortController::new().ok();
}

/// Ends the reads that are under way, and all later ones, for a page that is left. They never complete: neither an answer
/// nor a problem reaches the page.
pub(super) fn end_reads() {
    READS.with(|reads| {
        if let Some(reads) = reads {
            reads.abort();
        }
    });
}

/// Sends one request and returns the response text. All requests use this function. It is not generic, to keep the wasm
/// small.
pub(super) async fn call(
    method: &str,
    path: &str,
    body: Option<Body>,
    page: Page,
) -> Answer<String> {
    let Some(window) = browser::window() else {
        return Err(offline());
    };
    let request = RequestInit::new();
    request.set_method(method);
    let end = READS.with(|reads| reads.as_ref().map(AbortController::signal));
    let end = end.filter(|_| method == "GET");
    request.set_signal(end.as_ref());
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

    let fetched = window.fetch_with_str_and_init(&format!("/api/v1{path}"), &request);
    let answer = answer_of(fetched).await;
    if end.is_some_and(|end| end.aborted()) {
        return std::future::pending().await;
    }
    if let Some(outage) = answer.as_ref().err().and_then(outage_of) {
        ON_OUTAGE.with_borrow(|listener| {
            if let Some(listener) = listener {
                listener(outage);
            }
        });
    }
    answer
}

/// The response text of a `fetch`.
async fn answer_of(fetched: js_sys::Promise) -> Answer<String> {
    let answer = JsFuture::from(fetched).await.map_err(|_| offline())?;
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
    serde_json::from_str::<Problem>(text).unwrap_or_else(|_| match status {
        // The answer of a proxy whose server is away.
        502..=504 => offline(),
        _ => Problem {
            kind: String::from("about:blank"),
            title: format!("The server answered {status}"),
            status,
            code: String::from("unexpected-answer"),
            detail: text.chars().take(300).collect(),
            hint: Some(String::from(
                "Try again. If the error stays, check the server's log.",
            )),
            ..Problem::default()
        },
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

/// The reason why no request gets its answer now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The server was not reached.
    Connection,
    /// The server cannot use its database.
    Database,
}

/// A function that is notified of outages.
type OutageListener = Box<dyn Fn(Outage)>;

thread_local! {
    /// The listener of [`on_outage`].
    static ON_OUTAGE: RefCell<Option<OutageListener>> = const { RefCell::new(None) };
}

/// Sets the function that is called after each request that an outage has prevented.
pub fn on_outage(listener: impl Fn(Outage) + 'static) {
    ON_OUTAGE.set(Some(Box::new(listener)));
}

/// The outage that caused a problem. `None` for a problem of this request alone.
pub fn outage_of(problem: &Problem) -> Option<Outage> {
    match problem.code.as_str() {
        OFFLINE => Some(Outage::Connection),
        DATABASE_UNAVAILABLE => Some(Outage::Database),
        _ => None,
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

pub(super) fn unreadable(path: &str, why: &str) -> Problem {
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
