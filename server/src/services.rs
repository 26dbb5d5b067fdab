//! The handles that routes work with; cheap to clone.

use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::{
    attempts::Attempts,
    codes,
    config::Config,
    designs::Designs,
    facts::Facts,
    metrics::Metrics,
    problem::{Error, Result},
    session_store::SealedStore,
    token_logins::TokenLogins,
};

/// The state of the router.
#[derive(Clone, FromRef)]
pub struct Services {
    /// Settings.
    pub config: Arc<Config>,
    /// The clouds that may be reached.
    pub clouds: openstack::Clouds,
    /// Runs workflows.
    pub engine: engine::Engine,
    /// The database.
    pub store: Store,
    /// Who is logged in.
    pub sessions: SealedStore,
    /// Logins by `X-Auth-Token`, kept for a moment.
    pub tokens: TokenLogins,
    /// Logins that failed.
    pub attempts: Attempts,
    /// Stored designs.
    pub designs: Designs,
    /// What clouds have, cached briefly.
    pub facts: Facts,
    /// Counters.
    pub metrics: Metrics,
    /// What leptos must know to write the page's frame.
    pub leptos: LeptosOptions,
    /// Cancelled when the server stops: sockets close then.
    pub closing: CancellationToken,
}

impl Services {
    /// The cloud of this name.
    ///
    /// # Errors
    /// Where the configuration has none.
    pub fn cloud(&self, name: &str) -> Result<&openstack::CloudConfig> {
        self.clouds.get(name).ok_or_else(|| {
            let known: Vec<String> = self
                .clouds
                .iter()
                .map(|cloud| format!("`{}`", cloud.name))
                .collect();
            let hint = if known.is_empty() {
                "The server's `clouds.yaml` names no cloud: ask its operator.".to_owned()
            } else {
                format!("The server knows {}.", known.join(", "))
            };
            Error::new(
                codes::UNKNOWN_CLOUD,
                format!("The server knows no cloud `{name}`."),
            )
            .hint(hint)
            .path("cloud")
        })
    }
}
