//! A design as others read it.

use std::sync::Arc;

use api::{
    CloudFacts, Design, ExportFormat, ExportNote, ExportNoteKind, ExportRequest, Exported, Layout,
};
use axum::{
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use canvas::layout::{Place, Places};
use export::{Format, Kind, Source};
use serde::Deserialize;
use topology::document::Document;

use crate::{
    auth::Caller,
    codes,
    extract::{Json, Query},
    problem::{Error, Result, sentence},
    services::Services,
};

/// `?format=terraform&download=true`
#[derive(Deserialize)]
pub struct ExportQuery {
    format: ExportFormat,
    #[serde(default)]
    download: bool,
}

/// A design as plain HOT, Terraform JSON, TOSCA or a picture.
///
/// With `download=true` the file itself, else the file with a report of what it leaves out; the report stands in the file too.
#[utoipa::path(get, path = "/api/v1/designs/{id}/export", tag = "designs", params(("id" = String, Path), ("format" = ExportFormat, Query), ("download" = Option<bool>, Query)), responses((status = 200, body = Exported)))]
pub async fn design(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response> {
    let Design {
        name,
        template,
        layout,
        ..
    } = services.designs.get(caller.tenant(), &id).await?;
    let request = ExportRequest {
        format: query.format,
        template,
        name,
        layout,
    };
    let exported = exported(services, &caller, request).await?;
    if !query.download {
        return Ok(Json(exported).into_response());
    }
    // The name has letters, digits and dashes only.
    let disposition = format!("attachment; filename=\"{}\"", exported.file_name);
    let headers = [
        (header::CONTENT_TYPE, exported.media_type),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, exported.content).into_response())
}

/// The same for a template that is not stored.
#[utoipa::path(post, path = "/api/v1/export", tag = "templates", request_body = ExportRequest, responses((status = 200, body = Exported)))]
pub async fn template(
    State(services): State<Services>,
    caller: Caller,
    Json(request): Json<ExportRequest>,
) -> Result<Json<Exported>> {
    Ok(Json(exported(services, &caller, request).await?))
}

async fn exported(services: Services, caller: &Caller, request: ExportRequest) -> Result<Exported> {
    let facts = services.facts.of(&caller.actor).await;
    let work = move || export_now(&services, &facts, request);
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::internal("exporting a design", error))?
}

fn export_now(
    services: &Services,
    facts: &Arc<CloudFacts>,
    request: ExportRequest,
) -> Result<Exported> {
    let format = match request.format {
        ExportFormat::Hot => Format::Hot,
        ExportFormat::Terraform => Format::Terraform,
        ExportFormat::Tosca => Format::Tosca,
        ExportFormat::Svg => Format::Svg,
    };
    let document = Document::parse(request.template);
    let source = Source {
        name: &request.name,
        document: &document,
        types: services.catalog.types(),
        cloud: facts,
        places: &places(&request.layout),
    };
    let export = export::export(&source, format).map_err(|unreadable| {
        let line = unreadable
            .line
            .map_or(String::new(), |line| format!(" on line {line}"));
        Error::new(
            codes::INVALID_REQUEST,
            format!(
                "The template cannot be read{line}: {}",
                sentence(&unreadable.message)
            ),
        )
        .hint("Mend it in the code view, then export again.")
    })?;
    let notes = export.report.notes.into_iter().map(|note| ExportNote {
        kind: match note.kind {
            Kind::LeftOut => ExportNoteKind::LeftOut,
            Kind::Changed => ExportNoteKind::Changed,
            Kind::Needed => ExportNoteKind::Needed,
        },
        path: note.path,
        message: note.message,
    });
    Ok(Exported {
        format: request.format,
        file_name: export.file_name,
        media_type: format.media_type().to_owned(),
        content: export.text,
        report: notes.collect(),
    })
}

fn places(layout: &Layout) -> Places {
    layout
        .nodes
        .iter()
        .map(|(name, place)| {
            let place = Place {
                x: place.x,
                y: place.y,
                width: place.width,
                height: place.height,
            };
            (name.clone(), place)
        })
        .collect()
}
