//! An engine of our own in front of a real cloud.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{CloudFacts, EventBody, Run, Started};
use engine::{Actor, Config, Engine, Force, NewDeployment, Tenant, VaultKey};
use futures::StreamExt;
use openstack::network::{FloatingIp, Network, Port, Router, SecurityGroup, Subnet};
use openstack::{Clouds, Session};
use serde_json::Value;
use tempfile::TempDir;

/// No run takes longer, whatever the machine.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The engine, and for whom it acts.
pub struct Place {
    pub engine: Engine,
    pub actor: Actor,
    pub tenant: Tenant,
    _folder: TempDir,
}

/// The clouds file and its entry of `$STACKLOOM_CONTRACT_CLOUDS` and `$STACKLOOM_CONTRACT_CLOUD` (else the
/// first that is not an administrator's); `None` where no real cloud is given.
pub fn real_cloud() -> Option<(Clouds, String)> {
    let file = std::env::var("STACKLOOM_CONTRACT_CLOUDS").ok()?;
    let clouds = Clouds::from_file(file.as_ref()).expect("the clouds file is good");
    let named = std::env::var("STACKLOOM_CONTRACT_CLOUD").ok();
    let first = || {
        let mut names = clouds.iter().map(|cloud| cloud.name.clone());
        names.find(|name| !name.contains("admin"))
    };
    let name = named.or_else(first).expect("the clouds file has a cloud");
    Some((clouds, name))
}

impl Place {
    /// Logs in with what stands in the file, and starts an engine with the settings that people get.
    pub async fn open(clouds: &Clouds, name: &str) -> Place {
        let cloud = clouds.get(name).expect("the cloud is in the file");
        let credentials = cloud.credentials.clone().expect("it has credentials");
        let session = Session::login(cloud, &credentials, cloud.scope.as_ref())
            .await
            .expect("the login works");
        let folder = tempfile::tempdir().expect("a folder");
        let pool = engine::journal::open(&folder.path().join("engine.db"))
            .await
            .expect("a database");
        sqlx::migrate!("../../migrations")
            .run(&pool)
            .await
            .expect("its tables");
        let config = Config::new(folder.path().join("data"), "no-catalog", clouds.clone());
        let engine = Engine::start(config, pool).await.expect("an engine");
        let tenant = Tenant {
            cloud: name.into(),
            project_id: session.project().expect("a project").id.clone(),
        };
        let actor = Actor {
            tenant: tenant.clone(),
            user: session.user().name.clone(),
            vault_key: VaultKey::derive(&credentials, &session.user().id),
            session,
        };
        Place {
            engine,
            actor,
            tenant,
            _folder: folder,
        }
    }

    /// Begins a deployment.
    pub async fn deploy(
        &self,
        name: &str,
        template: &str,
        parameters: BTreeMap<String, Value>,
    ) -> Started {
        let new = NewDeployment {
            name: name.into(),
            template: template.into(),
            parameters,
            cloud: CloudFacts::default(),
            ..NewDeployment::default()
        };
        let started = self.engine.deploy(&self.actor, new).await;
        started.expect("the template is taken")
    }

    /// Begins its end.
    pub async fn undeploy(&self, deployment: &str) -> Started {
        let started = self.engine.undeploy(&self.actor, deployment, Force::No);
        started.await.expect("it can be undeployed")
    }

    /// Waits for a run's end; `each` sees every event.
    pub async fn end_of(&self, run: &str, mut each: impl FnMut(&EventBody)) -> Run {
        let watch = async {
            let stream = self.engine.stream(&self.tenant, run, 0).await;
            let mut stream = stream.expect("the run is there");
            while let Some(events) = stream.next().await {
                for event in &events {
                    each(&event.body);
                    let ended =
                        matches!(&event.body, EventBody::Run { state, .. } if state.is_final());
                    if ended {
                        return;
                    }
                }
            }
        };
        tokio::time::timeout(PATIENCE, watch)
            .await
            .expect("the run ends in time");
        let run = self.engine.run(&self.tenant, run).await;
        run.expect("the run is there")
    }

    /// Ids of all that the project has.
    pub async fn belongings(&self) -> Vec<String> {
        let session = &self.actor.session;
        let mut all = Vec::new();
        let mut add = |kind: &str, ids: Vec<String>| {
            all.extend(ids.into_iter().map(|id| format!("{kind} {id}")));
        };
        let (compute, network) = (session.compute(), session.network());
        let project = self.tenant.project_id.clone();
        let mine = [("project_id", project.as_str())];
        let servers = compute.server_list(&[]).await.expect("servers");
        add("server", servers.into_iter().map(|one| one.id).collect());
        let keys = compute.key_pair_list().await.expect("key pairs");
        add("key pair", keys.into_iter().map(|one| one.name).collect());
        let groups = compute.server_group_list().await.expect("server groups");
        add(
            "server group",
            groups.into_iter().map(|one| one.id).collect(),
        );
        macro_rules! neutron {
            ($($kind:ident),*) => {$(
                let found = network.list::<$kind>(&mine).await.expect("a list");
                add(stringify!($kind), found.into_iter().map(|one| one.id).collect());
            )*};
        }
        neutron!(Network, Subnet, Port, Router, FloatingIp, SecurityGroup);
        if session.has_service(openstack::Service::BlockStorage) {
            let volumes = session.block_storage().volume_list(&[]).await;
            let volumes = volumes.expect("volumes").into_iter();
            add("volume", volumes.map(|one| one.id).collect());
        }
        if session.has_service(openstack::Service::KeyManager) {
            let path = ["secrets"];
            let method = openstack::Method::GET;
            let call = session.call(openstack::Service::KeyManager, method, &path);
            let listed: Vec<Value> = call
                .query([("limit", "1000")])
                .fetch("secrets")
                .await
                .expect("secrets");
            let names = listed.iter().map(|one| one["secret_ref"].to_string());
            add("secret", names.collect());
        }
        all.sort();
        all
    }
}
