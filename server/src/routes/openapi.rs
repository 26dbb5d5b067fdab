//! The API's OpenAPI document, made from the handlers' annotations.

use std::sync::LazyLock;

use axum::{
    http::{StatusCode, header},
    response::IntoResponse,
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, ContentBuilder, Ref, RefOr, ResponseBuilder,
        path::Operation,
        security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme},
    },
};

use crate::auth;

/// All paths with their schemas.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Stackloom",
        description = "Draw it, deploy it, watch it: designs, deployments and runs on OpenStack. Errors are RFC 9457 problem details with a stable `code`; `/errors/<code>` explains each."
    ),
    paths(
        super::audit::list, super::login::login, super::login::logout, super::sessions::list, super::sessions::end, super::clouds::list, super::me::get, super::cloud::get,
        super::designs::list, super::designs::create, super::designs::get, super::designs::save,
        super::designs::delete, super::designs::versions, super::designs::version, super::designs::label, super::designs::watch,
        super::export::design, super::export::template, super::export::starter, super::import::template,
        super::validate::validate, super::plan::plan,
        super::resource_types::list, super::resource_types::get,
        super::deployments::list, super::deployments::create, super::deployments::get, super::deployments::update,
        super::deployments::delete, super::deployments::remove, super::deployments::runs, super::deployments::strays, super::deployments::roll_back_plan, super::deployments::roll_back, super::deployments::suspend, super::deployments::resume, super::snapshots::list, super::snapshots::scope, super::snapshots::take, super::snapshots::restore, super::snapshots::delete, super::deployments::scale, super::deployments::upgrade, super::checks::check, super::checks::repair, super::permission::give, super::permission::revoke, super::command::run, super::terminal::open, super::console::log, super::console::graphical, super::live::list, super::servers::list, super::servers::power,
        super::runs::get, super::runs::content, super::runs::plan, super::runs::cancel, super::runs::resume, super::runs::release, super::events::list, super::events::search, super::log::download, super::stream::open,
        super::catalog::list, super::catalog::get, super::catalog::drafts, super::catalog::delete_draft, super::catalog::publish_draft, super::catalog::upload, super::catalog::compare, super::catalog::uses, super::catalog::role, super::catalog::git_hosts, super::catalog::lint, super::recipes::publish, super::recipes::lint, super::recipes::get,
        super::health::alive, super::health::ready, super::health::metrics,
    ),
    components(schemas(api::Problem, api::Event)),
    modifiers(&Common)
)]
struct Document;

/// Common to all operations: authentication and problem responses.
struct Common;

impl Modify for Common {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_with(Default::default);
        let header = |name: &str| SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(name)));
        components.add_security_scheme(
            "session",
            SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(auth::COOKIE))),
        );
        components.add_security_scheme("token", header("X-Auth-Token"));
        components.add_security_scheme("cloud", header("X-Stackloom-Cloud"));
        let security = vec![
            SecurityRequirement::new("session", Vec::<String>::new()),
            SecurityRequirement::new("token", Vec::<String>::new())
                .add("cloud", Vec::<String>::new()),
        ];
        for (path, item) in &mut openapi.paths.paths {
            let is_open = !path.starts_with("/api/")
                || ["/api/v1/login", "/api/v1/clouds"].contains(&path.as_str());
            let operations: [(&str, &mut Option<Operation>); 4] = [
                ("get", &mut item.get),
                ("post", &mut item.post),
                ("put", &mut item.put),
                ("delete", &mut item.delete),
            ];
            for (method, operation) in operations {
                let Some(operation) = operation else { continue };
                operation.operation_id = Some(operation_id(path, method));
                if !is_open {
                    operation.security = Some(security.clone());
                }
                let problem: Content = ContentBuilder::new()
                    .schema(Some(Ref::from_schema_name("Problem")))
                    .build();
                let response = ResponseBuilder::new()
                    .description("The problem, its place and the next step.")
                    .content("application/problem+json", problem)
                    .build();
                for (status, response) in &mut operation.responses.responses {
                    if let RefOr::T(response) = response
                        && response.description.is_empty()
                        && let Ok(status) = status.parse::<StatusCode>()
                    {
                        response.description =
                            status.canonical_reason().unwrap_or_default().to_owned();
                    }
                }
                operation
                    .responses
                    .responses
                    .insert("default".to_owned(), response.into());
            }
        }
    }
}

/// The operation's id, unique and predictable: `runs_id_cancel_post`.
fn operation_id(path: &str, method: &str) -> String {
    let path = path.trim_start_matches("/api/v1");
    let words = path
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.chain([method]).collect::<Vec<_>>().join("_")
}

static JSON: LazyLock<String> = LazyLock::new(json);

fn json() -> String {
    Document::openapi()
        .to_pretty_json()
        .expect("the document is made of strings and maps only")
}

/// This document.
pub async fn get() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], JSON.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document() {
        let document: serde_json::Value = serde_json::from_str(&json()).unwrap();
        insta::assert_json_snapshot!(document);
    }
}
