//! What routes work with: handles that are cheap to clone.

use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::{
    attempts::Attempts, auth::TokenLogins, config::Config, designs::Designs, facts::Facts,
    metrics::Metrics, session_store::SealedStore,
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
