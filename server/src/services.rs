//! The handles that routes use; cheap to clone.

use std::sync::Arc;

use axum::extract::FromRef;
use engine::{Tenant, slots::Slots};
use leptos::config::LeptosOptions;
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::{
    attempts::{AddressKey, Attempts},
    codes,
    config::Config,
    designs::Designs,
    doors::Doors,
    facts::Facts,
    metrics::Metrics,
    problem::{Error, Result},
    rates::Rates,
    session_store::SealedStore,
    token_logins::TokenLogins,
};

/// The state of the router.
#[derive(Clone, FromRef)]
pub struct Services {
    /// The settings.
    pub config: Arc<Config>,
    /// The configured clouds.
    pub clouds: openstack::Clouds,
    /// The engine, which executes runs.
    pub engine: engine::Engine,
    /// The database.
    pub store: Store,
    /// The sessions of browsers.
    pub sessions: SealedStore,
    /// Logins by `X-Auth-Token`, cached briefly.
    pub tokens: TokenLogins,
    /// Rate limits for failed logins.
    pub attempts: Attempts,
    /// Rate limits for signals with a wrong signature.
    #[from_ref(skip)]
    pub wrong_signals: Attempts,
    /// Rate limits for signals to one resource.
    #[from_ref(skip)]
    pub signals: Rates<String>,
    /// Rate limits for signals to one policy.
    #[from_ref(skip)]
    pub policy_signals: Rates<String>,
    /// Rate limits for stored audit events of signals to one resource.
    #[from_ref(skip)]
    pub stored_signals: Rates<String>,
    /// Rate limits for stored audit events of logins that a limit refused.
    #[from_ref(skip)]
    pub stored_refusals: Rates<AddressKey>,
    /// Limits for logins in progress.
    pub doors: Doors,
    /// Stored designs.
    pub designs: Designs,
    /// Open sockets, by project.
    #[from_ref(skip)]
    pub sockets: Slots<Tenant>,
    /// Uploads under way, by project.
    #[from_ref(skip)]
    pub uploads: Slots<Tenant>,
    /// Facts of clouds, cached briefly.
    pub facts: Facts,
    /// The metrics.
    pub metrics: Metrics,
    /// Settings of Leptos, for the pages' HTML shells.
    pub leptos: LeptosOptions,
    /// Cancelled when the server stops, so that sockets close.
    pub closing: CancellationToken,
}

impl Services {
    /// The cloud of this name.
    ///
    /// # Errors
    /// If the configuration does not contain it.
    pub fn cloud(&self, name: &str) -> Result<&openstack::CloudConfig> {
        self.clouds.get(name).ok_or_else(|| {
            let known: Vec<String> = self
                .clouds
                .iter()
                .map(|cloud| format!("`{}`", cloud.name))
                .collect();
            let hint = if known.is_empty() {
                "The server's `clouds.yaml` has no cloud. Ask the operator.".to_owned()
            } else {
                format!("The server has {}.", known.join(", "))
            };
            Error::new(
                codes::UNKNOWN_CLOUD,
                format!("The server has no cloud `{name}`."),
            )
            .hint(hint)
            .path("cloud")
        })
    }
}
