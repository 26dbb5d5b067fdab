//! Cinder v3: backups, as a cloud without the backup service has them: there are none, and none can be made.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::get;
use serde_json::json;

use super::{Answer, Asked, object, text};
use crate::http::App;
use crate::http::answer::{json_answer, read_json};
use crate::model::refusal::Refusal;

pub fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}{path}");
    Router::new()
        .route(&at("/backups"), get(none).post(create))
        .route(&at("/backups/detail"), get(none))
        .route(&at("/backups/{id}"), get(not_there).delete(not_there))
}

async fn none(asked: Asked) -> Answer {
    asked.member()?;
    Ok(json_answer(200, json!({"backups": []})))
}

async fn create(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    let member = asked.member()?;
    let body = read_json(&body)?;
    let volume = text(object(&body, "backup")?, "volume_id")?.unwrap_or_default();
    app.read(|model| model.volume_of(&member.project_id, &volume).map(|_| ()))?;
    Err(Refusal::not_found(
        "ServiceNotFound",
        "Service cinder-backup could not be found.",
    )
    .into())
}

async fn not_there(asked: Asked) -> Answer {
    asked.member()?;
    Err(Refusal::not_found(
        "BackupNotFound",
        format!("Backup {} could not be found.", asked.id()),
    )
    .into())
}
