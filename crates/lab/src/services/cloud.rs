//! The running cloud: the model under its lock, the substrate, and the tasks that save the model and apply its wiring.
//!
//! Handlers change the model and then wait until interfaces and packet filters agree with it, so that a rule holds when the call
//! that made it returns. Servers, volumes and load balancers take longer: the modules of their services start tasks for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::kit::blobs::Blobs;
use crate::kit::call::Tokens;
use crate::kit::faults::Faults;
use crate::kit::passes::Passes;
use crate::kit::refusal::Refusal;
use crate::kit::token::Token;
use crate::kit::turns::Turns;
use crate::services::Model;
use crate::services::store::Store;
use crate::substrate::Substrate;
use crate::wiring::Wiring;

/// Changes are written to the state file at most this often, and less often where that takes long.
const SAVE_EVERY: Duration = Duration::from_millis(250);

/// The running cloud.
pub struct Cloud {
    model: Mutex<Model>,
    pub(crate) substrate: Arc<dyn Substrate>,
    /// Things that go wrong on purpose.
    pub faults: Faults,
    /// The data of images.
    pub blobs: Blobs,
    store: Option<Store>,
    changed: AtomicBool,
    wake: Notify,
    wiring: fn(&Model) -> Wiring,
    wiring_passes: Passes,
    pub(crate) server_turns: Turns,
    /// The metadata services of running servers, by server id.
    pub(crate) metadata_services: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Cloud {
    /// Puts the parts together; nothing runs yet. `wiring` computes the wiring of a model.
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
            server_turns: Turns::default(),
            metadata_services: Mutex::default(),
        })
    }

    /// Look at the model.
    pub fn read<R>(&self, look: impl FnOnce(&Model) -> R) -> R {
        look(&self.model.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Change the model where no wire is concerned.
    pub fn change<R>(&self, change: impl FnOnce(&mut Model) -> R) -> R {
        let result = change(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.store(true, Ordering::Release);
        self.wake.notify_one();
        result
    }

    /// Change the model, and wait until the wiring agrees with it.
    pub async fn rewire<R>(
        &self,
        change: impl FnOnce(&mut Model) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let result = self.change(change)?;
        self.wire().await;
        Ok(result)
    }

    /// The wiring of the present model.
    pub fn wiring(&self) -> Wiring {
        self.read(self.wiring)
    }

    /// Waits until the wiring has been applied, or has failed once. A failure is repeated without further requests.
    pub async fn wire(&self) {
        if self.substrate.has_wiring() {
            self.wiring_passes.request().await;
        }
    }

    /// Applies the wiring whenever it is requested; returns when wiring has been stopped.
    pub async fn keep_wiring(&self) {
        let pass = || async { self.substrate.wire(&self.wiring()).await };
        self.wiring_passes.run(pass).await;
    }

    /// Stops wiring, after the pass that is running.
    pub async fn stop_wiring(&self) {
        self.wiring_passes.end().await;
    }

    /// Write the state file whenever something has changed; never returns.
    pub async fn keep_saving(&self) {
        loop {
            self.wake.notified().await;
            let begin = Instant::now();
            self.save();
            // Nobody else gets at the model meanwhile: with ten thousand servers, no more than a tenth of the time.
            tokio::time::sleep(SAVE_EVERY.max(begin.elapsed() * 9)).await;
        }
    }

    /// Write the state file if something has changed.
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
