//! Calls for designs, their versions and exports, and what the server says about templates.

use api::{
    Design, DesignRequest, DesignSummary, DesignVersion, DesignVersionLabel, DesignVersionSummary,
    DesignWatch, ExportFormat, Exported, ImportRequest, Imported, Plan, PlanRequest,
    ValidateRequest, ValidateResponse, ViewerRequest,
};

use super::transport::{Answer, Page, call, done, get, get_all, send, unreadable, written};
use crate::browser;

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

/// `GET /designs/{id}`, in the background: it never leads to the login.
pub async fn design_newest(id: &str) -> Answer<Design> {
    let path = format!("/designs/{}", browser::encode(id));
    send("GET", &path, None::<&()>).await
}

/// `POST /designs/{id}/viewers`, in the background: it never leads to the login.
pub async fn design_watch(id: &str, request: &ViewerRequest, page: Page) -> Answer<DesignWatch> {
    let path = format!("/designs/{}/viewers", browser::encode(id));
    let body = written(request).map_err(|error| unreadable(&path, &error.to_string()))?;
    let text = call("POST", &path, Some(body), page).await?;
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
