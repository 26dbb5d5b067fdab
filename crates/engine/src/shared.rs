//! State that the facade and all runs share.

use std::sync::Arc;

use openstack::{CloudConfig, Session};
use store::{Operator, RunRow, Store};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Config, Error, Result, Tenant,
    catalog::{Catalog, Catalogs, Repositories},
    compute::Computations,
    disk::Disk,
    ended::RunEnds,
    journal::Journal,
    lease::Lease,
    sandbox::{DockerHost, Host, Sandboxes, owner_id},
    secrets::{RunSecrets, SealingKeys},
    slots::Slots,
};

/// Number of pages of stored events that requests of one project read at the same time. A thread inflates and parses a page
/// for milliseconds, so without a limit the searches and downloads of one person delay everybody.
const PROJECT_EVENT_READS: usize = 4;

/// Number of requests to a cloud that the pages of one project have under way, and of those that its checks have. A cloud
/// answers a limited number at the same time (`STACKLOOM_CLOUD_CALLS`), and all projects' runs wait in the same line.
const PROJECT_CLOUD_REQUESTS: usize = 8;

/// The engine's core; one per engine.
pub struct Core {
    pub config: Config,
    pub journal: Journal,
    pub store: Store,
    /// Access to all projects, for sweeps: they need the ids that any deployment has recorded.
    pub operator: Operator,
    pub catalogs: Catalogs,
    pub repositories: Repositories,
    pub keys: SealingKeys,
    pub sandboxes: Sandboxes,
    pub computations: Computations,
    /// The disk with the data folder.
    pub disk: Arc<Disk>,
    /// Attempts to log in to servers that boot, by project.
    pub ssh_attempts: Slots<Tenant>,
    /// Reads of stored events for requests, by project.
    pub event_reads: Slots<Tenant>,
    /// Requests of pages to clouds, by project: states, outputs, consoles, strays, power, permissions, deletions of snapshots.
    pub page_requests: Slots<Tenant>,
    /// Requests of checks to clouds, by project.
    pub check_requests: Slots<Tenant>,
    /// The time for which this server may act on its runs.
    pub lease: Lease,
    /// The end of the last run of each project.
    pub ended: RunEnds,
    /// Notified when runs may have changed hands.
    pub wake: Arc<Notify>,
    /// Cancelled when the engine stops and drops its runs.
    pub stopping: CancellationToken,
    /// Tasks of runs.
    pub tasks: TaskTracker,
}

impl Core {
    /// Reads the catalogue and the key, starts the journal's writer.
    pub fn start(config: Config, operator: Operator) -> Result<Arc<Core>> {
        let unavailable =
            |what: &str, error: std::io::Error| Error::Unavailable(format!("{what}: {error}"));
        std::fs::create_dir_all(&config.data_dir).map_err(|error| {
            unavailable(
                &format!("the folder {} cannot be made", config.data_dir.display()),
                error,
            )
        })?;
        let disk = Disk::of(&config.data_dir, config.disk_reserve_bytes).map_err(|error| {
            unavailable(
                &format!(
                    "the free space for the folder {} cannot be read",
                    config.data_dir.display()
                ),
                error,
            )
        })?;
        let keys = SealingKeys::read(&config.keys, &config.data_dir)
            .map_err(|error| unavailable("the server's keys cannot be read", error))?;
        let catalog = Catalog::load(&config.catalog).map_err(|error| {
            unavailable(
                &format!("the catalogue {} cannot be read", config.catalog.display()),
                error,
            )
        })?;
        let owner = owner_id(&config.data_dir).map_err(|error| {
            unavailable("the id of this server's sandboxes cannot be kept", error)
        })?;
        let addresses = config.docker_hosts.iter().cloned().map(Some);
        let usual = config.docker_hosts.is_empty().then_some(None);
        let hosts = addresses.chain(usual).map(|address| {
            let (image, memory) = (&config.sandbox_image, config.sandbox_memory_bytes);
            let host = DockerHost::new(address, image, &owner, memory);
            Arc::new(host) as Arc<dyn Host>
        });
        let sandboxes = Sandboxes::new(hosts, config.parallel_sandboxes, config.output_limits());
        let store = operator.store().clone();
        let is_reserved = if store.is_shared() {
            Arc::default()
        } else {
            disk.is_reserved()
        };
        let wake = Arc::<Notify>::default();
        let timeouts = config.clouds.iter().map(|cloud| cloud.connection.timeout);
        let lease = Lease::new(config.lease, timeouts.max().unwrap_or_default());
        Ok(Arc::new(Core {
            repositories: Repositories::new(config.git_hosts.clone(), config.git_authority.clone()),
            catalogs: Catalogs::new(catalog, &config.data_dir, store.clone()),
            // A database that hangs must not keep the journal's writer until the lease ends.
            journal: Journal::start(
                store.clone(),
                config.log_quota,
                is_reserved,
                config.lease / 2,
                wake.clone(),
            ),
            store,
            operator,
            keys,
            sandboxes,
            computations: Computations::new(config.computations),
            disk: Arc::new(disk),
            ssh_attempts: Slots::new(config.project_ssh_attempts),
            event_reads: Slots::new(PROJECT_EVENT_READS),
            page_requests: Slots::new(PROJECT_CLOUD_REQUESTS),
            check_requests: Slots::new(PROJECT_CLOUD_REQUESTS),
            lease,
            ended: RunEnds::default(),
            wake,
            config,
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// Fails if the engine is stopping.
    pub fn check_running(&self) -> Result<()> {
        if self.stopping.is_cancelled() {
            return Err(Error::Unavailable(
                "the server is about to stop; it takes no new work".into(),
            ));
        }
        Ok(())
    }

    /// Fails if the database is on a disk that is almost full. The disk of a PostgreSQL server is its operator's matter.
    pub fn check_database_disk(&self) -> Result<()> {
        if self.store.is_shared() {
            Ok(())
        } else {
            self.disk.check()
        }
    }

    /// The session behind a run's sealed token.
    ///
    /// # Errors
    /// If the cloud is missing in the configuration, refuses the token or does not respond.
    pub async fn session_behind(&self, row: &RunRow, secrets: &RunSecrets) -> Result<Session> {
        self.session_of_token(&row.tenant, &secrets.token).await
    }

    /// The session of a token for a project.
    ///
    /// # Errors
    /// As [`Core::session_behind`].
    pub async fn session_of_token(&self, tenant: &Tenant, token: &str) -> Result<Session> {
        Ok(Session::from_token(self.cloud(tenant)?, token.into()).await?)
    }

    /// The cloud of a project.
    ///
    /// # Errors
    /// If it is missing in the configuration.
    pub fn cloud(&self, tenant: &Tenant) -> Result<&CloudConfig> {
        let cloud = self.config.clouds.get(&tenant.cloud);
        cloud.ok_or_else(|| {
            let name = &tenant.cloud;
            Error::NotPossibleNow(format!(
                "the cloud `{name}` is none of this server's any more"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use api::{EventBody, LogLevel, LogLine, LogStream};
    use store::{
        Entry,
        testing::{deployment_insert_with_run, memory, tenant},
    };

    use super::*;

    #[tokio::test]
    async fn the_reserve_of_the_disk_is_not_for_output_and_new_work() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog");
        std::fs::create_dir(&catalog).unwrap();
        let clouds = openstack::Clouds::default();
        let mut config = Config::new(folder.path().join("data"), catalog, clouds);
        config.disk_reserve_bytes = u64::MAX;
        let core = Core::start(config, memory().await).unwrap();
        let refused = core.check_database_disk();
        assert!(matches!(refused, Err(Error::DiskAlmostFull)));

        deployment_insert_with_run(&core.store, &tenant(), "d", "r").await;
        let output = Entry::Log(LogLine {
            step: "web:configure".into(),
            host: None,
            play: None,
            task: None,
            stream: LogStream::Stdout,
            level: LogLevel::Info,
            text: "a lot".into(),
            position: None,
        });
        let journal = core.journal.of(&tenant(), "r", 0);
        journal.write(vec![output]).await.unwrap();
        let events = core.store.event_list(&tenant(), "r", 0, 10).await;
        let events = events.unwrap();
        let EventBody::Log(notice) = &events[0].body else {
            panic!("a line: {events:?}");
        };
        assert!(notice.text.contains("is almost full"), "{}", notice.text);
    }
}
