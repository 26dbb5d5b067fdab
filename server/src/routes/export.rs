//! Exports of designs in other formats.

use std::sync::Arc;

use api::{
    CloudFacts, Design, ExportAdditions, ExportFormat, ExportNote, ExportNoteKind, ExportRequest,
    Exported, Layout, TemplateFiles,
};
use app::starters::STARTERS;
use axum::{
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use canvas::{
    geometry::CanvasPoint,
    layout::{Place, Places},
};
use convert::{
    export::{self, Additions, Export, Format, Source, archive},
    report::Kind,
};
use hot::document::Document;
use serde::Deserialize;
use types::Registry;

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
    #[serde(default)]
    additions: ExportAdditions,
}

/// A design as plain HOT, Terraform JSON, TOSCA or a picture.
///
/// With `download=true` the response is the file itself, or an archive (`.tar.gz`) of it and the files that it needs.
/// Otherwise it is these files with a report of what the export leaves out; the report is also part of the files.
/// `additions=drawn` leaves out the resources that a deployment would add.
#[utoipa::path(get, path = "/api/v1/designs/{id}/export", tag = "designs", params(("id" = String, Path), ("format" = ExportFormat, Query), ("download" = Option<bool>, Query), ("additions" = Option<ExportAdditions>, Query)), responses((status = 200, body = Exported)))]
pub async fn design(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response> {
    let Design {
        name,
        template,
        beside,
        layout,
        ..
    } = services.designs.get(caller.tenant(), &id).await?;
    let request = ExportRequest {
        format: query.format,
        template,
        beside,
        name,
        layout,
        additions: query.additions,
    };
    let (format, export) = exported(services, &caller, request).await?;
    if !query.download {
        return Ok(Json(answer(format, export)).into_response());
    }
    let content = if export.files.is_empty() {
        export.text.clone().into_bytes()
    } else {
        let archived = export.archive();
        archived.map_err(|error| Error::internal("packing an export", error))?
    };
    // The name has only letters, digits and dashes.
    let disposition = format!("attachment; filename=\"{}\"", export.download_name());
    let headers = [
        (header::CONTENT_TYPE, media_type(format, &export).to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, content).into_response())
}

/// Like the export of a design, for a template that is not stored.
#[utoipa::path(post, path = "/api/v1/export", tag = "templates", request_body = ExportRequest, responses((status = 200, body = Exported)))]
pub async fn template(
    State(services): State<Services>,
    caller: Caller,
    Json(request): Json<ExportRequest>,
) -> Result<Json<Exported>> {
    let (format, export) = exported(services, &caller, request).await?;
    Ok(Json(answer(format, export)))
}

/// The picture of a starter design.
#[utoipa::path(get, path = "/api/v1/starters/{name}/picture", tag = "templates", params(("name" = String, Path)), responses((status = 200, body = String, content_type = "image/svg+xml")))]
pub async fn starter(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response> {
    let starter = STARTERS.iter().find(|starter| starter.slug == name);
    let starter = starter.ok_or_else(|| Error::not_found("starter design", &name))?;
    let request = ExportRequest {
        format: ExportFormat::Svg,
        template: starter.template.to_owned(),
        beside: TemplateFiles::default(),
        name: starter.name.to_owned(),
        layout: Layout::default(),
        additions: ExportAdditions::Drawn,
    };
    let (format, export) = exported(services, &caller, request).await?;
    let headers = [
        (header::CONTENT_TYPE, media_type(format, &export)),
        (header::CACHE_CONTROL, "private, max-age=3600"),
    ];
    Ok((headers, export.text).into_response())
}

async fn exported(
    services: Services,
    caller: &Caller,
    request: ExportRequest,
) -> Result<(ExportFormat, Export)> {
    let facts = services.facts.of(&caller.actor).await;
    let format = request.format;
    let catalog = services.engine.catalog(caller.tenant()).await?;
    let work = move || Ok((format, export_now(catalog.registry(), &facts, request)?));
    services.engine.compute(caller.tenant(), work).await?
}

fn export_now(types: &Registry, facts: &Arc<CloudFacts>, request: ExportRequest) -> Result<Export> {
    let bundle = request.beside.bundle();
    let document = Document::parse(request.template);
    let source = Source {
        name: &request.name,
        document: &document,
        bundle: &bundle,
        types,
        cloud: facts,
        places: &places(&request.layout),
        additions: match request.additions {
            ExportAdditions::Expanded => Additions::Expanded,
            ExportAdditions::Drawn => Additions::Drawn,
        },
    };
    export::export(&source, form(request.format)).map_err(|unreadable| {
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
        .hint("Correct it in the code view, then export again.")
    })
}

fn form(format: ExportFormat) -> Format {
    match format {
        ExportFormat::Hot => Format::Hot,
        ExportFormat::Terraform => Format::Terraform,
        ExportFormat::Tosca => Format::Tosca,
        ExportFormat::Svg => Format::Svg,
    }
}

/// The media type of a download.
fn media_type(format: ExportFormat, export: &Export) -> &'static str {
    if export.files.is_empty() {
        form(format).media_type()
    } else {
        archive::MEDIA_TYPE
    }
}

fn answer(format: ExportFormat, export: Export) -> Exported {
    let (file_name, media_type) = (export.download_name(), media_type(format, &export));
    let notes = export.report.notes.into_iter().map(|note| ExportNote {
        kind: note_kind(note.kind),
        path: note.path,
        message: note.message,
    });
    let files = export.files.into_iter();
    Exported {
        format,
        file_name,
        media_type: media_type.to_owned(),
        content: export.text,
        files: files.map(|file| (file.path, file.text)).collect(),
        report: notes.collect(),
    }
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
                folded: place
                    .folded
                    .map(|corner| CanvasPoint::new(corner.x, corner.y)),
            };
            (name.clone(), place)
        })
        .collect()
}

/// The kind of a note in the API's format.
pub(super) fn note_kind(kind: Kind) -> ExportNoteKind {
    match kind {
        Kind::LeftOut => ExportNoteKind::LeftOut,
        Kind::Changed => ExportNoteKind::Changed,
        Kind::Needed => ExportNoteKind::Needed,
    }
}
