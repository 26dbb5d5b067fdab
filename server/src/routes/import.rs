//! Templates of others, as HOT.

use api::{ExportNoteKind, ImportNote, ImportRequest, Imported};
use import::Kind;

use crate::{
    auth::Caller,
    codes,
    extract::Json,
    problem::{Error, Result, sentence},
};

/// A CloudFormation template as HOT, with a report of what was not plain.
///
/// Nothing is stored: the answer's template is what a new design is made from.
#[utoipa::path(post, path = "/api/v1/import", tag = "templates", request_body = ImportRequest, responses((status = 200, body = Imported)))]
pub async fn template(_: Caller, Json(request): Json<ImportRequest>) -> Result<Json<Imported>> {
    let work = move || import::import(&request.text);
    let imported = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::internal("importing a template", error))?
        .map_err(|unreadable| {
            let line = unreadable
                .line
                .map_or(String::new(), |line| format!(" on line {line}"));
            Error::new(
                codes::INVALID_REQUEST,
                format!(
                    "The text cannot be imported{line}: {}",
                    sentence(&unreadable.message)
                ),
            )
            .path("text")
        })?;
    let notes = imported.report.notes.into_iter().map(|note| ImportNote {
        kind: match note.kind {
            Kind::LeftOut => ExportNoteKind::LeftOut,
            Kind::Changed => ExportNoteKind::Changed,
            Kind::Needed => ExportNoteKind::Needed,
        },
        path: note.path,
        line: note.line,
        message: note.message,
    });
    Ok(Json(Imported {
        template: imported.template,
        report: notes.collect(),
    }))
}
