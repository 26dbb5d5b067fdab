//! The routes, one file per resource. A handler parses the request, calls one function and returns the response.
//!
//! A new route is a function with its `utoipa::path`, a line in [`api`], and a line in `openapi`.

mod audit;
mod catalog;
mod checks;
mod cloud;
mod clouds;
mod command;
mod console;
mod deployments;
mod designs;
mod errors;
mod events;
mod export;
mod health;
mod import;
mod live;
mod log;
mod login;
mod me;
pub mod openapi;
mod permission;
mod plan;
mod recipes;
mod resource_types;
mod runs;
mod servers;
mod sessions;
mod signal;
mod snapshots;
mod stream;
mod terminal;
mod validate;

use axum::{
    Router,
    extract::Request,
    middleware,
    routing::{delete, get, post},
};
use tower_http::catch_panic::CatchPanicLayer;

pub use signal::{BURST as SIGNAL_BURST, EVERY as SIGNAL_EVERY, POLICY_BURST, POLICY_EVERY};

use crate::{
    codes, headers, origin,
    problem::{self, Error},
    services::Services,
};

/// The routes below `/api/v1`.
pub fn api(services: &Services) -> Router<Services> {
    let v1 = Router::new()
        .route("/login", post(login::login))
        .route("/logout", post(login::logout))
        .route("/sessions", get(sessions::list))
        .route("/sessions/{id}", delete(sessions::end))
        .route("/clouds", get(clouds::list))
        .route("/audit", get(audit::list))
        .route("/me", get(me::get))
        .route("/cloud", get(cloud::get))
        .route("/designs", get(designs::list).post(designs::create))
        .route(
            "/designs/{id}",
            get(designs::get).put(designs::save).delete(designs::delete),
        )
        .route("/starters/{name}/picture", get(export::starter))
        .route("/designs/{id}/export", get(export::design))
        .route("/export", post(export::template))
        .route("/import", post(import::template))
        .route("/designs/{id}/versions", get(designs::versions))
        .route("/designs/{id}/viewers", post(designs::watch))
        .route(
            "/designs/{id}/versions/{version}",
            get(designs::version).put(designs::label),
        )
        .route("/validate", post(validate::validate))
        .route("/plan", post(plan::plan))
        .route(
            "/deployments",
            get(deployments::list).post(deployments::create),
        )
        .route(
            "/deployments/{id}",
            get(deployments::get)
                .put(deployments::update)
                .delete(deployments::delete),
        )
        .route("/deployments/{id}/runs", get(deployments::runs))
        .route("/deployments/{id}/record", delete(deployments::remove))
        .route("/deployments/{id}/strays", get(deployments::strays))
        .route("/deployments/{id}/check", post(checks::check))
        .route("/deployments/{id}/repair", post(checks::repair))
        .route(
            "/deployments/{id}/permission",
            post(permission::give).delete(permission::revoke),
        )
        .route(
            "/deployments/{id}/rollback",
            get(deployments::roll_back_plan).post(deployments::roll_back),
        )
        .route("/deployments/{id}/suspend", post(deployments::suspend))
        .route("/deployments/{id}/resume", post(deployments::resume))
        .route(
            "/deployments/{id}/snapshots",
            get(snapshots::list).post(snapshots::take),
        )
        .route("/deployments/{id}/snapshots/scope", get(snapshots::scope))
        .route(
            "/deployments/{id}/snapshots/{snapshot}",
            delete(snapshots::delete),
        )
        .route(
            "/deployments/{id}/snapshots/{snapshot}/restore",
            post(snapshots::restore),
        )
        .route(
            "/deployments/{id}/groups/{name}/scale",
            post(deployments::scale),
        )
        .route("/deployments/{id}/upgrade", post(deployments::upgrade))
        .route("/deployments/{id}/command", post(command::run))
        .route(
            "/deployments/{id}/servers/{name}/terminal",
            get(terminal::open),
        )
        .route("/deployments/{id}/live", get(live::list))
        .route("/deployments/{id}/servers", get(servers::list))
        .route(
            "/deployments/{id}/servers/{name}/power",
            post(servers::power),
        )
        .route(
            "/deployments/{id}/servers/{name}/console",
            get(console::log).post(console::graphical),
        )
        .route("/runs/{id}", get(runs::get))
        .route("/runs/{id}/content", get(runs::content))
        .route("/runs/{id}/plan", get(runs::plan))
        .route("/runs/{id}/cancel", post(runs::cancel))
        .route("/runs/{id}/resume", post(runs::resume))
        .route("/runs/{id}/release", post(runs::release))
        .route("/runs/{id}/events", get(events::list))
        .route("/runs/{id}/search", get(events::search))
        .route("/runs/{id}/log", get(log::download))
        .route("/runs/{id}/stream", get(stream::open))
        .route("/catalog", get(catalog::list).post(catalog::upload))
        .route(
            "/catalog/{item}",
            get(catalog::get).delete(catalog::delete_draft),
        )
        .route("/catalog/{item}/compare", get(catalog::compare))
        .route("/catalog/{item}/deployments", get(catalog::uses))
        .route("/catalog/{item}/lint", get(catalog::lint))
        .route("/catalog/{item}/publish", post(catalog::publish_draft))
        .route("/catalog/{item}/recipe", get(recipes::get))
        .route("/drafts", get(catalog::drafts))
        .route("/recipes", post(recipes::publish))
        .route("/recipes/lint", post(recipes::lint))
        .route("/roles", post(catalog::role))
        .route("/git-hosts", get(catalog::git_hosts))
        .route("/resource-types", get(resource_types::list))
        .route("/resource-types/{type}", get(resource_types::get))
        .route("/openapi.json", get(openapi::get))
        .method_not_allowed_fallback(method_not_allowed);
    Router::new().nest("/api/v1", recorded(v1, services))
}

/// Routes of the API with what surrounds all of them. A panic becomes a response before the audit trail sees it, so that
/// the event has its status.
pub fn recorded(routes: Router<Services>, services: &Services) -> Router<Services> {
    routes
        .layer(middleware::from_fn_with_state(
            services.clone(),
            origin::guard,
        ))
        .layer(CatchPanicLayer::custom(problem::of_panic))
        .layer(middleware::from_fn_with_state(
            services.clone(),
            crate::audit::record,
        ))
        .layer(middleware::from_fn(headers::no_store))
}

/// The routes without a session: probes, metrics, signals, and the pages of error codes.
pub fn public() -> Router<Services> {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/errors/{code}", get(errors::page))
        .merge(signals())
}

/// The route of signals, which can have its own address.
pub fn signals() -> Router<Services> {
    Router::new().route("/signal/{name}", post(signal::receive).put(signal::receive))
}

async fn method_not_allowed(request: Request) -> Error {
    Error::new(
        codes::METHOD_NOT_ALLOWED,
        format!(
            "`{}` has no method {}.",
            request.uri().path(),
            request.method()
        ),
    )
    .hint("`/api/v1/openapi.json` lists the methods of each path.")
}
