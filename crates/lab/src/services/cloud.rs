//! The running cloud: the model under its lock, the substrate beneath, and what happens over time.
//!
//! Handlers change the model and then wait until wires and packet filters agree with it, so that a rule holds when the call that
//! made it returns. Servers take longer: a task each carries a server from BUILD to ACTIVE, or away; tasks of one
//! server run one after the other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::kit::blobs::Blobs;
use crate::kit::call::Tokens;
use crate::kit::faults::Faults;
use crate::kit::refusal::Refusal;
use crate::kit::token::Token;
use crate::kit::turns::Turns;
use crate::services::Model;
use crate::services::compute::attend::MetadataApp;
use crate::services::compute::server::{Server, Status};
use crate::services::keep_wiring::Wires;
use crate::services::store::Store;
use crate::substrate::{Power, Substrate};

/// Running servers are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(3);

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
    pub(crate) wires: Wires,
    pub(crate) server_turns: Turns,
    pub(crate) metadata_app: OnceLock<MetadataApp>,
    pub(crate) attended: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Cloud {
    /// Put it together; nothing runs yet.
    pub fn new(model: Model, substrate: Arc<dyn Substrate>, store: Option<Store>) -> Arc<Self> {
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
            wires: Wires::default(),
            server_turns: Turns::default(),
            metadata_app: OnceLock::new(),
            attended: Mutex::default(),
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

    /// Change the model, and wait until the wires agree with it.
    pub async fn rewire<R>(
        &self,
        change: impl FnOnce(&mut Model) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let result = self.change(change)?;
        self.wire().await;
        Ok(result)
    }

    /// After a start: wires, and servers that were on their way when the lab stopped.
    pub async fn take_up(self: &Arc<Self>) {
        self.wire().await;
        let servers: Vec<(String, Status, Option<String>)> = self.read(|model| {
            model
                .servers
                .iter()
                .map(|row| (row.id.clone(), row.status, row.task_state.clone()))
                .collect()
        });
        for (id, status, task) in servers {
            match (status, task.as_deref()) {
                (_, Some("deleting")) => self.spawn_delete(id),
                (_, Some("resize_prep" | "resize_reverting")) => self.spawn_resize(id),
                (_, Some("rebuilding")) => self.spawn_rebuild(id),
                (Status::Build, _) => self.spawn_build(id),
                (status, task) => match task.and_then(Power::of_task) {
                    Some(power) => self.spawn_power(id, power),
                    None if status == Status::Active => self.spawn_power(id, Power::Start),
                    None => self.change(|model| model.server_stays(&id, None)),
                },
            }
        }
        self.take_up_volumes();
        self.take_up_balancers();
    }

    /// See every now and then whether servers still run, as Nova does; never returns. One that died by itself is SHUTOFF; what
    /// wires run through is made anew.
    pub async fn keep_looking(&self) {
        if !self.substrate.has_wires() {
            return;
        }
        let up = |server: &Server| server.status == Status::Active && server.task_state.is_none();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let ids: Vec<String> = self.read(|model| {
                let running = model.servers.iter().filter(|server| up(server));
                running.map(|server| server.id.clone()).collect()
            });
            let dead = self.substrate.servers_dead(&ids).await;
            for id in dead.unwrap_or_default() {
                let _turn = self.server_turn(&id).await;
                // It may have been switched on again while we waited for our turn.
                let still = self.substrate.servers_dead(std::slice::from_ref(&id)).await;
                if still.is_ok_and(|dead| !dead.is_empty()) {
                    self.bury(&id, up).await;
                }
            }
            if self.substrate.wires_lost().await {
                self.wire().await;
            }
        }
    }

    /// A server is seen to be dead.
    async fn bury(&self, id: &str, up: impl Fn(&Server) -> bool) {
        self.leave(id);
        let Some(spec) = self
            .spec(id)
            .filter(|_| self.read(|model| model.servers.get(id).is_some_and(up)))
        else {
            return;
        };
        tracing::warn!(server = %id, "a server has died");
        if let Err(error) = self.substrate.server_power(&spec, Power::Stop).await {
            tracing::warn!(server = %id, %error, "what died could not be stopped");
        }
        self.change(|model| model.server_rests(id, Status::Shutoff));
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
