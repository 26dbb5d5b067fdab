//! Imports of templates in other formats.

use api::{ImportNote, ImportRequest, Imported};
use axum::extract::State;
use convert::{export, import, report::Report};

use crate::{
    auth::Caller,
    codes,
    extract::Json,
    problem::{Error, Result, sentence},
    services::Services,
};

/// Converts a CloudFormation template to HOT and reports inexact conversions. Restores an exported design.
///
/// Nothing is stored. The client creates a new design from the returned template.
#[utoipa::path(post, path = "/api/v1/import", tag = "templates", request_body = ImportRequest, responses((status = 200, body = Imported)))]
pub async fn template(
    State(services): State<Services>,
    caller: Caller,
    Json(request): Json<ImportRequest>,
) -> Result<Json<Imported>> {
    let catalog = services.engine.catalog(caller.tenant()).await?;
    let work = move || match export::restored(&request.text, catalog.registry()) {
        Some(template) => {
            let mut report = Report::default();
            report.changed("", "it was exported from Stackloom: additions of deployments were removed, and software is catalogue items again");
            Ok(import::Imported { template, report })
        }
        // The words of an export's mark can occur in any text.
        None if ImportRequest::is_hot(&request.text) => Ok(import::Imported {
            template: request.text,
            report: Report::default(),
        }),
        None => import::import(&request.text),
    };
    let imported = services.engine.compute(caller.tenant(), work).await?;
    let imported = imported.map_err(|unreadable| {
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
        kind: super::export::note_kind(note.kind),
        path: note.path,
        line: note.line,
        message: note.message,
    });
    Ok(Json(Imported {
        template: imported.template,
        report: notes.collect(),
    }))
}
