//! The test bench: a lab, an engine, a user, and templates.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use api::{CloudFacts, Event, EventBody, Run, RunState, Started, StepKind};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use engine::{
    Actor, Config, Engine, Error, Force, NewDeployment, Tenant, VaultKey, secrets::KeySource,
};
use futures::StreamExt;
use lab::Lab;
use openstack::{Clouds, Credentials, Scope, Session};
use serde_json::{Value, json};
use store::{DatabaseUrl, Operator, SealedKind, Store, testing::Postgres};
use tempfile::TempDir;

/// A network behind a router, a public server and a private one.
pub const TWO_SERVERS: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.0.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
outputs:
  address: {value: {get_attr: [web, first_address]}}
";

/// One network.
pub const NET: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
";

/// Two networks.
pub const TWO_NETS: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
";

/// The folder of the catalogue's own items.
pub const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");

/// Time limit for expected events: only a failing test takes this long.
pub const PATIENCE: Duration = Duration::from_secs(300);

pub struct Bench {
    pub lab: Lab,
    pub engine: Engine,
    pub actor: Actor,
    pub tenant: Tenant,
    pub operator: Operator,
    pub store: Store,
    clouds: Clouds,
    database: Database,
    folder: TempDir,
    catalog: PathBuf,
    patience: Duration,
    ssh_timeout: Duration,
}

/// The database of a bench: a file in its folder, or on a PostgreSQL server ([`Postgres::measured`]).
enum Database {
    File(PathBuf),
    Server {
        address: DatabaseUrl,
        _server: Postgres,
    },
}

impl Database {
    async fn new(folder: &TempDir) -> Database {
        match Postgres::measured() {
            None => Database::File(folder.path().join("test.db")),
            Some(server) => Database::Server {
                address: server.create().await,
                _server: server,
            },
        }
    }

    fn open(&self) -> impl Future<Output = Operator> + Send + use<> {
        let (file, address) = match self {
            Database::File(file) => (Some(file.clone()), None),
            Database::Server { address, .. } => (None, Some(address.clone())),
        };
        async move {
            let opened = match (file, address) {
                (Some(file), _) => store::open(&file).await,
                (_, address) => store::connect(&address.unwrap()).await,
            };
            opened.unwrap()
        }
    }
}

fn config(folder: &TempDir, clouds: &Clouds, catalog: &Path, ssh_timeout: Duration) -> Config {
    Config {
        // No test is about the end of the grace period, and a slow machine must not abort nearly finished steps.
        grace: Duration::from_secs(60),
        stop_patience: Duration::from_secs(60),
        retry_pause: Duration::from_millis(20),
        poll_first: Duration::from_millis(5),
        poll_longest: Duration::from_millis(20),
        ssh_timeout,
        signal_url: Some("https://stackloom.example.org".into()),
        sandbox_image: std::env::var("STACKLOOM_SANDBOX_IMAGE")
            .unwrap_or_else(|_| engine::config::SANDBOX_IMAGE.into()),
        // Longer than the longest delay of a late creation in any test.
        commit_horizon: Duration::from_secs(1),
        ..Config::new(folder.path().join("data"), catalog, clouds.clone())
    }
}

impl Bench {
    pub async fn new() -> Bench {
        Bench::on(Lab::memory().await.unwrap()).await
    }

    pub async fn on(lab: Lab) -> Bench {
        Bench::with_catalog(
            lab,
            "no-catalog".as_ref(),
            PATIENCE,
            Duration::from_secs(60),
        )
        .await
    }

    pub async fn with_catalog(
        lab: Lab,
        catalog: &Path,
        patience: Duration,
        ssh_timeout: Duration,
    ) -> Bench {
        Bench::with_config(lab, catalog, patience, ssh_timeout, |_| {}).await
    }

    /// The same with a change of the settings until the first crash.
    pub async fn with_config(
        lab: Lab,
        catalog: &Path,
        patience: Duration,
        ssh_timeout: Duration,
        change: impl FnOnce(&mut Config),
    ) -> Bench {
        Bench::with_cloud(lab, "", catalog, [patience, ssh_timeout], change).await
    }

    /// A bench whose calls to the cloud time out after a number of seconds.
    pub async fn with_call_timeout(seconds: u64) -> Bench {
        let lab = Lab::memory().await.unwrap();
        let settings = format!("    api_timeout: {seconds}\n");
        let times = [PATIENCE, Duration::from_secs(60)];
        Bench::with_cloud(lab, &settings, "no-catalog".as_ref(), times, |_| {}).await
    }

    /// `settings` are more lines of the cloud in `clouds.yaml`.
    async fn with_cloud(
        lab: Lab,
        settings: &str,
        catalog: &Path,
        [patience, ssh_timeout]: [Duration; 2],
        change: impl FnOnce(&mut Config),
    ) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "clouds:\n  lab:\n    auth: {{auth_url: '{}'}}\n    region_name: lab\n{settings}",
            lab.auth_url()
        );
        let clouds = Clouds::from_yaml(&text).unwrap();
        let database = Database::new(&folder).await;
        let operator = database.open().await;
        let actor = log_in(&clouds, "demo").await;
        let mut config = config(&folder, &clouds, catalog, ssh_timeout);
        change(&mut config);
        let engine = Engine::start(config, operator.clone()).await.unwrap();
        Bench {
            lab,
            engine,
            tenant: actor.tenant.clone(),
            actor,
            store: operator.store().clone(),
            operator,
            clouds,
            database,
            folder,
            catalog: catalog.to_owned(),
            patience,
            ssh_timeout,
        }
    }

    pub async fn log_in(&self, user: &str) -> Actor {
        log_in(&self.clouds, user).await
    }

    /// Stops the engine in the middle of everything, and starts it again.
    pub async fn crash(&mut self) {
        self.engine.shutdown().await;
        let config = config(&self.folder, &self.clouds, &self.catalog, self.ssh_timeout);
        self.engine = Engine::start(config, self.operator.clone()).await.unwrap();
    }

    /// As [`Bench::crash`], by an operator who brings other items.
    pub async fn crash_with_catalog(&mut self, catalog: &Path) {
        self.catalog = catalog.to_owned();
        self.crash().await;
    }

    /// As [`Bench::crash`], by an operator who gives up secrets that no key opens.
    pub async fn crash_despite_lost_keys(&mut self) {
        self.engine.shutdown().await;
        let config = Config {
            despite_lost_keys: true,
            ..config(&self.folder, &self.clouds, &self.catalog, self.ssh_timeout)
        };
        self.engine = Engine::start(config, self.operator.clone()).await.unwrap();
    }

    /// As [`Bench::crash`], with a change of the settings until the next crash.
    pub async fn crash_with(&mut self, change: impl FnOnce(&mut Config)) {
        self.engine.shutdown().await;
        let mut config = config(&self.folder, &self.clouds, &self.catalog, self.ssh_timeout);
        change(&mut config);
        self.engine = Engine::start(config, self.operator.clone()).await.unwrap();
    }

    /// Restarts the engine with these keys, the newest first.
    pub async fn restart_with_keys(&mut self, keys: &[u8]) -> Result<(), Error> {
        self.engine.shutdown().await;
        let lines = keys.iter().map(|byte| STANDARD.encode([*byte; 32]));
        let text = lines.collect::<Vec<_>>().join("\n");
        let config = Config {
            keys: KeySource::Text(text.into()),
            ..config(&self.folder, &self.clouds, &self.catalog, self.ssh_timeout)
        };
        self.engine = Engine::start(config, self.operator.clone()).await?;
        Ok(())
    }

    /// Starts another engine with this key, on a separate database.
    pub async fn server(&self, operator: &Operator, key: u8) -> Result<Engine, Error> {
        let config = Config {
            keys: KeySource::Text(STANDARD.encode([key; 32]).into()),
            lease: Duration::from_secs(5),
            ..config(&self.folder, &self.clouds, &self.catalog, self.ssh_timeout)
        };
        Engine::start(config, operator.clone()).await
    }

    /// The clouds of the engine.
    pub fn clouds(&self) -> Clouds {
        self.clouds.clone()
    }

    /// Ends a token in the cloud.
    pub async fn revoke(&self, token: &str) {
        let cloud = self.clouds.get("lab").unwrap();
        let session = Session::from_token(cloud, token.into()).await.unwrap();
        session.revoke().await.unwrap();
    }

    /// Starts another engine on this one's data.
    pub fn starter(&self) -> impl Future<Output = Engine> + Send + use<> {
        let config = config(&self.folder, &self.clouds, &self.catalog, self.ssh_timeout);
        let operator = self.database.open();
        async move { Engine::start(config, operator.await).await.unwrap() }
    }

    /// Starts another engine on this one's data, waits until it has taken up its runs, and kills it without a word.
    pub async fn start_and_kill(&self) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let engine = runtime.spawn(self.starter()).await.unwrap();
        runtime.shutdown_background();
        drop(engine);
    }

    pub async fn try_deploy(
        &self,
        name: &str,
        template: &str,
        parameters: BTreeMap<String, Value>,
    ) -> Result<Started, Error> {
        let new = NewDeployment {
            name: name.into(),
            template: template.into(),
            parameters,
            cloud: facts(),
            ..NewDeployment::default()
        };
        self.engine.deploy(&self.actor, new).await
    }

    pub async fn start(&self, template: &str) -> Started {
        self.try_deploy("shop", template, BTreeMap::new())
            .await
            .unwrap()
    }

    /// Deploys and waits.
    pub async fn deploy(&self, template: &str) -> (Started, Run) {
        let started = self.start(template).await;
        let run = self.end_of(&started.run).await;
        (started, run)
    }

    /// Deploys and waits. The run succeeds. Returns the deployment's id.
    pub async fn deployed(&self, template: &str) -> String {
        let (started, run) = self.deploy(template).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        started.deployment
    }

    /// Undeploys and waits.
    pub async fn undeploy(&self, deployment: &str) -> Run {
        let started = self
            .engine
            .undeploy(&self.actor, deployment, Force::No)
            .await
            .unwrap();
        self.end_of(&started.run).await
    }

    pub async fn end_of(&self, run: &str) -> Run {
        self.until(
            run,
            |event| matches!(event.body, EventBody::Run { state, .. } if state.is_final()),
        )
        .await;
        let run = self.engine.run(&self.tenant, run).await.unwrap();
        assert!(
            run.state.is_final(),
            "the last event is the final one: {run:?}"
        );
        run
    }

    /// Waits for an event. Fails the test if the run ends first.
    pub async fn until(&self, run: &str, is_it: impl Fn(&Event) -> bool) {
        let search = async {
            let mut seen = 0;
            let mut stream = self.engine.stream(&self.tenant, run, 0).await.unwrap();
            while let Some(events) = stream.next().await {
                let Ok(events) = events else {
                    stream = self.engine.stream(&self.tenant, run, seen).await.unwrap();
                    continue;
                };
                for event in &*events {
                    assert_eq!(event.seq, seen + 1);
                    seen = event.seq;
                }
                if events.iter().any(&is_it) {
                    return;
                }
            }
            panic!("the run ended before, or its stream did");
        };
        tokio::time::timeout(self.patience, search)
            .await
            .expect("the event comes in time");
    }

    /// Polls until a condition without an event is met.
    pub async fn eventually(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let search = async {
            while !is_so().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(self.patience, search)
            .await
            .unwrap_or_else(|_| panic!("{what}; there is {:?}", self.left()));
    }

    pub async fn until_step(&self, run: &str, id: &str, wanted: api::StepState) {
        self.until(run, |event| matches!(&event.body, EventBody::Step { step, state, .. } if step == id && *state == wanted)).await;
    }

    pub async fn until_state(&self, run: &str, wanted: RunState) {
        self.until(
            run,
            |event| matches!(&event.body, EventBody::Run { state, .. } if *state == wanted),
        )
        .await;
    }

    /// All lines of a run's log.
    pub async fn log_lines(&self, run: &Run) -> Vec<String> {
        let events = self.engine.events(&self.tenant, &run.id, 0, 10_000).await;
        let events = events.unwrap().into_iter();
        events
            .filter_map(|event| match event.body {
                EventBody::Log(api::LogLine { text, .. }) => Some(text),
                _ => None,
            })
            .collect()
    }

    /// The project's resources in the cloud.
    pub fn left(&self) -> Vec<String> {
        self.lab.leftovers().remove("demo").unwrap_or_default()
    }

    /// The database's size on the disk, for a file including its write-ahead log.
    pub async fn database_bytes(&self) -> u64 {
        if let Database::Server { .. } = self.database {
            return store::testing::postgres_bytes(&self.store).await;
        }
        let files = ["test.db", "test.db-wal"].map(|name| self.folder.path().join(name));
        let sizes = files.iter().filter_map(|file| file.metadata().ok());
        sizes.map(|file| file.len()).sum()
    }

    /// The start of a figure's name.
    pub fn figure(&self) -> &'static str {
        match self.database {
            Database::File(_) => "engine",
            Database::Server { .. } => "engine, PostgreSQL",
        }
    }

    /// Number of sealed rows of a kind.
    pub async fn sealed(&self, kind: SealedKind) -> i64 {
        store::testing::sealed_count(&self.store, kind).await
    }
}

/// Logs a user in to the lab.
pub async fn log_in(clouds: &Clouds, user: &str) -> Actor {
    let credentials = Credentials::password(user, "Default", user);
    let cloud = clouds.get("lab").unwrap();
    let session = Session::login(cloud, &credentials, Some(&Scope::project(user, "Default")))
        .await
        .unwrap();
    let project_id = session.project().unwrap().id.clone();
    let vault_key = VaultKey::derive(&credentials, &session.user().id);
    Actor {
        tenant: Tenant {
            cloud: "lab".into(),
            project_id,
        },
        user: user.into(),
        session,
        vault_key,
    }
}

/// The text of a refusal.
pub fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::NotPossibleNow(why)) => why,
        other => panic!("it is refused: {other:?}"),
    }
}

/// The number in an environment variable.
pub fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number in the environment"))
}

pub fn facts() -> CloudFacts {
    serde_json::from_value(json!({
        "images": [{"id": "1", "name": "debian-12"}],
        "flavors": [{"id": "1", "name": "m1.tiny", "vcpus": 1, "ram_mib": 512, "disk_gib": 1}],
        "external_networks": [{"id": "public", "name": "public"}],
    }))
    .unwrap()
}

/// Steps by id, with state, for readable comparisons. The sweeps are left out, because every run has them.
pub fn steps(run: &Run) -> BTreeMap<String, (api::StepState, u32)> {
    run.steps
        .iter()
        .filter(|step| step.kind != StepKind::Sweep)
        .map(|step| (step.id.clone(), (step.state, step.attempts)))
        .collect()
}
