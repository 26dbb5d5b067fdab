//! Servers over the lab's own life: work that a restart interrupted, and servers that die.

use std::sync::Arc;
use std::time::Duration;

use crate::services::cloud::Cloud;
use crate::services::compute::server::{Server, Status};
use crate::substrate::Power;

/// The time between two checks of running servers.
const WATCH_EVERY: Duration = Duration::from_secs(3);

impl Cloud {
    /// Resumes the work on servers that was interrupted when the lab stopped.
    pub fn resume_servers(self: &Arc<Self>) {
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
    }

    /// Checks regularly whether servers still run, as Nova does; never returns. A server that died becomes SHUTOFF, and lost
    /// wiring is applied again.
    pub async fn watch_servers(&self) {
        if !self.substrate.has_wiring() {
            return;
        }
        let up = |server: &Server| server.status == Status::Active && server.task_state.is_none();
        loop {
            tokio::time::sleep(WATCH_EVERY).await;
            let ids: Vec<String> = self.read(|model| {
                let running = model.servers.iter().filter(|server| up(server));
                running.map(|server| server.id.clone()).collect()
            });
            let dead = self.substrate.servers_dead(&ids).await;
            for id in dead.unwrap_or_default() {
                let _turn = self.server_turn(&id).await;
                // It may have been started again while this task waited for its turn.
                let still = self.substrate.servers_dead(std::slice::from_ref(&id)).await;
                if still.is_ok_and(|dead| !dead.is_empty()) {
                    self.bury(&id, up).await;
                }
            }
            if self.substrate.wiring_lost().await {
                self.apply_wiring().await;
            }
        }
    }

    /// Stops a dead server.
    async fn bury(&self, id: &str, up: impl Fn(&Server) -> bool) {
        self.close_metadata(id);
        let Some(spec) = self
            .spec(id)
            .filter(|_| self.read(|model| model.servers.get(id).is_some_and(up)))
        else {
            return;
        };
        tracing::warn!(server = %id, "a server has died");
        if let Err(error) = self.substrate.server_power(&spec, Power::Stop).await {
            tracing::warn!(server = %id, %error, "a dead server could not be stopped");
        }
        self.change(|model| model.server_rests(id, Status::Shutoff));
    }
}
