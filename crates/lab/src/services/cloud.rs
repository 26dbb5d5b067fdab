//! The running cloud: the model behind its lock, the substrate, and the tasks that save the model and apply its wiring.
//!
//! Handlers change the model and then wait until interfaces and packet filters match it, so that a new rule is in
//! effect when its call returns. Servers, volumes and load balancers take longer: the modules of their services start
//! tasks for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::kit::blobs::Blobs;
use crate::kit::call::Tokens;
use crate::kit::faults::Faults;
use crate::kit::named_locks::NamedLocks;
use crate::kit::passes::Passes;
use crate::kit::refusal::Refusal;
use crate::kit::token::Token;
use crate::services::Model;
use crate::services::store::Store;
use crate::substrate::Substrate;
use crate::wiring::Wiring;

/// Minimum time between writes of the state file. The time is longer if writing is slow.
const SAVE_EVERY: Duration = Duration::from_millis(250);

/// The running cloud.
pub struct Cloud {
    model: Mutex<Model>,
    pub(crate) substrate: Arc<dyn Substrate>,
    /// The armed faults and the log of calls.
    pub faults: Faults,
    /// The data of images.
    pub blobs: Blobs,
    store: Option<Store>,
    changed: AtomicBool,
    wake: Notify,
    wiring: fn(&Model) -> Wiring,
    wiring_passes: Passes,
    pub(crate) server_locks: NamedLocks,
    /// The metadata services of running servers, by server id.
    pub(crate) metadata_services: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Cloud {
    /// Creates the cloud without starting its tasks. `wiring` computes the wiring of a model.
    pub fn new(
        model: Model,
        substrate: Arc<dyn Substrate>,
        store: Option<Store>,
        wiring: fn(&Model) -> Wiring,
    ) -> Arc<Self> {
        Arc::new(Self {
            model: Mutex::new(model),
            substrate,
            faults: Faults::default(),
            blobs: match &store {
                Some(store) => Blobs::files(store.blobs()),
                None => Blobs::memory(),
            },
            store,
            changed: AtomicBool::new(true),
            wake: Notify::new(),
            wiring,
            wiring_passes: Passes::default(),
            server_locks: NamedLocks::default(),
            metadata_services: Mutex::default(),
        })
    }

    /// Reads the model.
    pub fn read<R>(&self, look: impl FnOnce(&Model) -> R) -> R {
        look(&self.model.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the model without applying the wiring.
    pub fn change<R>(&self, change: impl FnOnce(&mut Model) -> R) -> R {
        let result = change(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.store(true, Ordering::Release);
        self.wake.notify_one();
        result
    }

    /// Changes the model, and waits until the wiring matches it.
    pub async fn change_and_apply<R>(
        &self,
        change: impl FnOnce(&mut Model) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let result = self.change(change)?;
        self.apply_wiring().await;
        Ok(result)
    }

    /// The wiring of the current model.
    pub fn wiring(&self) -> Wiring {
        self.read(self.wiring)
    }

    /// Waits until the wiring has been applied, or has failed once. A failure is repeated without further requests.
    pub async fn apply_wiring(&self) {
        if self.substrate.has_wiring() {
            self.wiring_passes.request().await;
        }
    }

    /// Applies the wiring whenever it is requested; returns when wiring has been stopped.
    pub async fn run_wiring(&self) {
        let pass = || async { self.substrate.wire(&self.wiring()).await };
        self.wiring_passes.run(pass).await;
    }

    /// Stops wiring, after the pass that is running.
    pub async fn stop_wiring(&self) {
        self.wiring_passes.end().await;
    }

    /// Writes the state file after each change. Never returns.
    pub async fn run_saving(&self) {
        loop {
            self.wake.notified().await;
            let begin = Instant::now();
            self.save();
            // Serialisation holds the lock. The pause limits it to a tenth of the time, also with ten thousand servers.
            tokio::time::sleep(SAVE_EVERY.max(begin.elapsed() * 9)).await;
        }
    }

    /// Writes the state file if the model has changed.
    pub fn save(&self) {
        let Some(store) = &self.store else { return };
        if !self.changed.swap(false, Ordering::AcqRel) {
            return;
        }
        let bytes = self.read(serde_json::to_vec_pretty);
        let saved = bytes
            .map_err(std::io::Error::from)
            .and_then(|bytes| store.save(&bytes));
        if let Err(error) = saved {
            tracing::error!(%error, "the state file could not be written");
        }
    }
}

impl Tokens for Arc<Cloud> {
    fn token(&self, text: &str) -> Option<Token> {
        self.read(|model| model.identity.token(text))
    }
}
