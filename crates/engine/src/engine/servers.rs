//! The servers that share a database: this one's lease, and the runs that it holds or takes.
//!
//! One task renews the lease and does nothing else, so that no slow cloud can delay it. Another one looks at the
//! database every few seconds and on every notice: it ends leases that were not renewed, takes free runs, obeys
//! cancellations that other servers received, and drops the tasks of runs that another server has taken.
//!
//! A run can be held here without a task: the journal refused a write of its task, its start or recovery failed, or the
//! database stored it and the answer was lost. After the length of a lease, this server gives such a run up, and the next
//! look takes it like the run of a server that is gone. The pause keeps a run that fails each time from being started again
//! and again.
//!
//! Servers that seal with different keys would pause each other's runs. So a server does not join those with another key.

use std::{collections::HashMap, time::Duration};

use api::RunState;
use store::{HeldRun, Outcome, RunRow, ServerRow};
use tokio::{sync::oneshot, time::timeout};

use super::Engine;
use crate::{Error, Result, lease::Sent, run::Command};

/// Pause before the next try to join the servers.
const RETRY: Duration = Duration::from_secs(1);

/// Memory of the looks at the database.
#[derive(Default)]
struct Seen {
    /// Counts of the other servers' renewals, and since when they are known.
    beats: HashMap<String, (i64, Sent)>,
    /// Runs that are held here without a task, and since when.
    stranded: HashMap<String, Sent>,
}

impl Engine {
    /// Joins the servers, and begins a tenure.
    ///
    /// # Errors
    /// If another server seals with another key.
    pub(super) async fn join(&self) -> Result<()> {
        let (lease, operator) = (&self.core.lease, &self.core.operator);
        let key = self.core.keys.newest_id();
        loop {
            let sent = Sent::now();
            operator.server_join(lease.patience(), &key).await?;
            let mut others = operator.server_list_others().await?;
            others.retain(|other| other.sealing_key != key);
            if others.is_empty() {
                lease.begin(sent);
                return Ok(());
            }
            // Of two that join at the same time, each sees the other one.
            operator.server_leave().await?;
            self.outlast(&others, &key).await?;
        }
    }

    /// Waits until the leases of these servers have ended, which seal with other keys. They may be gone: killed, to be started
    /// with a new key.
    ///
    /// # Errors
    /// If one of them renews its lease.
    async fn outlast(&self, servers: &[ServerRow], key: &str) -> Result<()> {
        let operator = &self.core.operator;
        let since = Sent::now();
        tracing::warn!(
            "a server with another key uses this database, or did so until a moment ago"
        );
        loop {
            tokio::time::sleep(self.core.lease.pause()).await;
            let now = operator.server_list_others().await?;
            let mut left = 0;
            for before in servers {
                let Some(other) = now.iter().find(|other| other.id == before.id) else {
                    continue;
                };
                if other.beat != before.beat {
                    return Err(Error::Unavailable(format!(
                        "another server on this database seals secrets with the key {}, this one with {key}; neither could open \
                         what the other one seals. Give both the same keys in the same order (STACKLOOM_KEY_FILE). To change the \
                         key, stop all servers first",
                        other.sealing_key
                    )));
                }
                left += 1;
                if since.elapsed() >= before.patience {
                    // A conflict is a renewal in the meantime, which the next round finds.
                    let _ = operator.server_expire(before).await?;
                }
            }
            if left == 0 {
                return Ok(());
            }
        }
    }

    /// Renews the lease until the engine stops. After a loss it joins again.
    pub(super) async fn keep_lease(self) {
        let stopping = self.core.stopping.clone();
        let work = async {
            loop {
                tokio::time::sleep(self.core.lease.pause()).await;
                if self.renew().await {
                    continue;
                }
                self.core.lease.lose();
                tracing::error!(
                    "the lease of this server is lost, because the database did not answer or the process was stopped; \
                     its runs are let go of"
                );
                while let Err(error) = self.join().await {
                    tracing::warn!(%error, "this server cannot take runs yet");
                    tokio::time::sleep(RETRY).await;
                }
                self.core.wake.notify_one();
            }
        };
        let _stopped = stopping.run_until_cancelled(work).await;
    }

    /// False if the lease is lost.
    async fn renew(&self) -> bool {
        let tenure = self.core.lease.tenure();
        let Some(rest) = tenure.rest() else {
            return false;
        };
        let sent = Sent::now();
        match timeout(rest, self.core.operator.server_renew()).await {
            Ok(Ok(Outcome::Done)) => self.core.lease.renewed(sent),
            Ok(Ok(Outcome::Conflict)) => return false,
            Ok(Err(error)) => tracing::warn!(%error, "the lease is not renewed"),
            Err(_elapsed) => {}
        }
        tenure.rest().is_some()
    }

    /// Supervises the runs until the engine stops.
    pub(super) async fn look_after_runs(self) {
        let stopping = self.core.stopping.clone();
        let work = async {
            let mut seen = Seen::default();
            loop {
                let pause = self.core.lease.pause();
                let _woken = timeout(pause, self.core.wake.notified()).await;
                if let Err(error) = self.look(&mut seen).await {
                    tracing::warn!(%error, "the runs cannot be looked at");
                }
            }
        };
        let _stopped = stopping.run_until_cancelled(work).await;
    }

    async fn look(&self, seen: &mut Seen) -> Result<()> {
        let operator = &self.core.operator;
        if self.core.lease.tenure().rest().is_none() {
            return Ok(());
        }
        let others = operator.server_list_others().await?;
        seen.beats
            .retain(|id, _| others.iter().any(|other| other.id == *id));
        for other in others {
            match seen.beats.get(&other.id) {
                Some((beat, since)) if *beat == other.beat => {
                    if since.elapsed() >= other.patience
                        && operator.server_expire(&other).await? == Outcome::Done
                    {
                        tracing::warn!(server = other.id, "a server is gone; its runs are free");
                    }
                }
                _ => drop(seen.beats.insert(other.id, (other.beat, Sent::now()))),
            }
        }
        let tasks = self.active_runs.all();
        let held = operator.run_list_held().await?;
        for (run, fence) in tasks {
            if !held
                .iter()
                .any(|held| held.id == run && held.fence == fence)
            {
                self.active_runs.let_go(&run, fence);
            }
        }
        for run in held.iter().filter(|run| run.cancels > 0) {
            if let Some(task) = self.active_runs.task_of(&run.id) {
                let (answer, answered) = oneshot::channel();
                if task.send(Command::Cancel(answer)).is_ok() {
                    // The run may have ended; then nothing is left to cancel.
                    let _answer = answered.await;
                    operator.store().run_has_cancelled(run).await?;
                }
            }
        }
        for run in held.iter().filter(|run| run.gives_way) {
            self.let_give_way(&run.id).await;
        }
        self.give_up_stranded(&mut seen.stranded, &held).await?;
        // Taking them calls clouds.
        let engine = self.clone();
        self.core.tasks.spawn(async move {
            let stopping = engine.core.stopping.clone();
            let taken = stopping.run_until_cancelled(engine.take_free_runs());
            if let Some(Err(error)) = taken.await {
                tracing::warn!(%error, "free runs cannot be taken");
            }
        });
        Ok(())
    }

    /// Releases the runs that were held without a task for the length of a lease.
    async fn give_up_stranded(
        &self,
        stranded: &mut HashMap<String, Sent>,
        held: &[HeldRun],
    ) -> Result<()> {
        let is_stranded = |run: &HeldRun| !self.active_runs.is_at_work(&run.id);
        stranded.retain(|id, _| held.iter().any(|run| run.id == *id && is_stranded(run)));
        for run in held.iter().filter(|run| is_stranded(run)) {
            let since = stranded.entry(run.id.clone()).or_insert_with(Sent::now);
            if since.elapsed() >= self.core.lease.length() {
                self.core.operator.run_release(run).await?;
                stranded.remove(&run.id);
                tracing::warn!(
                    run.id,
                    "a run had no task at its server, and is taken up again"
                );
            }
        }
        Ok(())
    }

    /// Takes all free runs and continues them. A run that cannot be continued does not block the others.
    pub(super) async fn take_free_runs(&self) -> Result<()> {
        let operator = &self.core.operator;
        operator.hidden_reject_abandoned().await?;
        // In parallel: each run waits for its own cloud, so the waits do not add up.
        let all = operator.run_list_free().await?.into_iter();
        let all = all.map(async |row| {
            let id = row.shown.id.clone();
            if let Err(error) = self.take(row).await {
                tracing::error!(%error, run.id = id, "a run cannot be taken up");
            }
        });
        futures::future::join_all(all).await;
        self.close_abandoned_bastions().await
    }

    async fn take(&self, row: RunRow) -> Result<()> {
        let (tenant, id) = (&row.tenant, &row.shown.id);
        let _attendance = self.active_runs.attend(id);
        // A task of an earlier tenure may still be ending.
        if let Some(task) = self.active_runs.task_of(id) {
            task.closed().await;
        }
        // Another server may be faster.
        let Some(row) = self.core.store.run_take(tenant, id).await? else {
            return Ok(());
        };
        if row.shown.state == RunState::Failed {
            // In the background, because it calls clouds.
            self.spawn_roll_back(row, None);
            return Ok(());
        }
        self.recover_run(row).await
    }

    /// Brings a paused run here, if another server holds it, so that it can be resumed or given up.
    ///
    /// # Errors
    /// If steps of it still run there.
    pub(super) async fn bring(&self, row: RunRow) -> Result<RunRow> {
        let store = &self.core.store;
        let _attendance = self.active_runs.attend(&row.shown.id);
        let is_here = store.holds(&row) && self.active_runs.task_of(&row.shown.id).is_some();
        if row.shown.state != RunState::Paused || is_here {
            return Ok(row);
        }
        let taken = store.run_take(&row.tenant, &row.shown.id).await?;
        let taken = taken.ok_or_else(|| {
            Error::NotPossibleNow(
                "the run is paused at another server, where steps of it are still ending; try again in a minute".into(),
            )
        })?;
        self.notify_others().await;
        self.recover_run(taken.clone()).await?;
        Ok(taken)
    }

    /// Notifies the other servers to check their runs. Without it, they do so after some seconds.
    pub(super) async fn notify_others(&self) {
        if let Err(error) = self.core.store.notify_runs().await {
            tracing::warn!(%error, "the other servers were not notified");
        }
    }
}
