//! An engine with a real cloud.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{CloudFacts, DeploymentState, EventBody, Run, Started};
use engine::{Actor, Config, Engine, Force, NewDeployment, Tenant, VaultKey};
use futures::StreamExt;
use openstack::key_manager::Kind;
use openstack::load_balancer::OctaviaType;
use openstack::network::{
    AddressScope, FloatingIp, Network, Port, QosPolicy, RbacPolicy, Router, SecurityGroup, Subnet,
    SubnetPool, Trunk,
};
use openstack::{Clouds, Credentials, Method, Scope, Service, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit of a run on any machine.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The engine and its user.
pub struct Place {
    pub engine: Engine,
    pub actor: Actor,
    pub tenant: Tenant,
    apart: Option<Apart>,
    _folder: TempDir,
}

/// The clouds file and its entry from `$STACKLOOM_CONTRACT_CLOUDS` and `$STACKLOOM_CONTRACT_CLOUD` (default: the first
/// entry that is not an administrator's). `None` if no real cloud is given.
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

/// A project for one test, so that other resources do not appear in its lists.
struct Apart {
    admin: Session,
    user: String,
    project: String,
}

/// The user's roles. Roles that a cloud does not have are skipped.
const ROLES: [&str; 4] = [
    "member",
    "creator",
    "heat_stack_owner",
    "load-balancer_member",
];

impl Apart {
    /// Created by the administrator in the clouds file, with its name as the password. `None` without an administrator.
    async fn make(clouds: &Clouds, name: &str) -> Option<Apart> {
        let entry = clouds.iter().find(|cloud| cloud.name.contains("admin"))?;
        let credentials = entry.credentials.clone()?;
        let admin = Session::login(entry, &credentials, entry.scope.as_ref());
        let admin = admin.await.expect("the administrator's login works");
        let identity = async |method: Method, path: &[&str], body: Value| -> Value {
            let call = admin.call(Service::Identity, method, path);
            let response = match body {
                Value::Null => call.send().await,
                body => call.json(&body).send().await,
            };
            response
                .expect("the administrator may")
                .json()
                .unwrap_or_default()
        };
        let of =
            |kind: &str| json!({kind: {"name": name, "domain_id": "default", "password": name}});
        let made = identity(Method::POST, &["users"], of("user")).await;
        let user = made["user"]["id"].as_str().expect("an id").to_owned();
        let body = json!({"project": {"name": name, "domain_id": "default"}});
        let made = identity(Method::POST, &["projects"], body).await;
        let project = made["project"]["id"].as_str().expect("an id").to_owned();
        let roles = identity(Method::GET, &["roles"], Value::Null).await;
        let roles = roles["roles"].as_array().cloned().unwrap_or_default();
        let wanted = |role: &&Value| ROLES.iter().any(|name| role["name"] == *name);
        for role in roles.iter().filter(wanted) {
            let role = role["id"].as_str().expect("an id");
            let path = ["projects", &project, "users", &user, "roles", role];
            identity(Method::PUT, &path, Value::Null).await;
        }
        Some(Apart {
            admin,
            user,
            project,
        })
    }

    async fn remove(self) {
        let session = &self.admin;
        // Neutron creates a group for every project that lists its groups.
        let query = [("project_id", self.project.as_str())];
        let groups = session.network().list::<SecurityGroup>(&query).await;
        for group in groups.unwrap_or_default() {
            let id = openstack::network::Entity::id(&group).to_owned();
            session.network().delete::<SecurityGroup>(&id).await.ok();
        }
        for path in [["users", &self.user], ["projects", &self.project]] {
            let call = session.call(Service::Identity, Method::DELETE, &path);
            call.send().await.expect("the administrator may");
        }
    }
}

impl Place {
    /// Opens the cloud with a separate project, which [`Place::close`] deletes. Without an administrator like
    /// [`Place::open`].
    pub async fn open_apart(clouds: &Clouds, name: &str, project: &str) -> Place {
        Place::open_apart_with(clouds, name, project, |_| {}).await
    }

    /// The same, with other settings.
    pub async fn open_apart_with(
        clouds: &Clouds,
        name: &str,
        project: &str,
        settings: impl FnOnce(&mut Config),
    ) -> Place {
        let since = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default();
        let project = format!("{project}-{}", since.as_millis());
        let Some(apart) = Apart::make(clouds, &project).await else {
            return Place::open_with(clouds, name, settings).await;
        };
        let credentials = Credentials::password(&project, "Default", project.as_str());
        let scope = Scope::project(&project, "Default");
        let mut place = Place::with(clouds, name, &credentials, Some(&scope), settings).await;
        place.apart = Some(apart);
        place
    }

    /// Deletes the separate project, if there is one.
    pub async fn close(self) {
        self.engine.shutdown().await;
        if let Some(apart) = self.apart {
            apart.remove().await;
        }
    }

    /// Logs in with the credentials in the file, and starts an engine with default settings.
    pub async fn open(clouds: &Clouds, name: &str) -> Place {
        Place::open_with(clouds, name, |_| {}).await
    }

    /// The same, with other settings.
    pub async fn open_with(
        clouds: &Clouds,
        name: &str,
        settings: impl FnOnce(&mut Config),
    ) -> Place {
        let cloud = clouds.get(name).expect("the cloud is in the file");
        let credentials = cloud.credentials.clone().expect("it has credentials");
        let scope = cloud.scope.as_ref();
        Place::with(clouds, name, &credentials, scope, settings).await
    }

    async fn with(
        clouds: &Clouds,
        name: &str,
        credentials: &Credentials,
        scope: Option<&Scope>,
        settings: impl FnOnce(&mut Config),
    ) -> Place {
        let cloud = clouds.get(name).expect("the cloud is in the file");
        let session = Session::login(cloud, credentials, scope)
            .await
            .expect("the login works");
        let folder = tempfile::tempdir().expect("a folder");
        let operator = store::open(&folder.path().join("engine.db"))
            .await
            .expect("a database");
        let mut config = Config::new(folder.path().join("data"), "no-catalog", clouds.clone());
        settings(&mut config);
        let engine = Engine::start(config, operator).await.expect("an engine");
        let tenant = Tenant {
            cloud: name.into(),
            project_id: session.project().expect("a project").id.clone(),
        };
        let actor = Actor {
            tenant: tenant.clone(),
            user: session.user().name.clone(),
            vault_key: VaultKey::derive(credentials, &session.user().id),
            session,
        };
        Place {
            engine,
            actor,
            tenant,
            apart: None,
            _folder: folder,
        }
    }

    /// Starts a deployment.
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

    /// Checks a deployment whose last run succeeded: every resource is as recorded.
    async fn check(&self, deployment: &str) {
        let shown = self.engine.deployment(&self.tenant, deployment).await;
        if shown.expect("it exists").state == DeploymentState::Deployed {
            let check = self.engine.check(&self.actor, deployment).await;
            let check = check.expect("it can be checked");
            println!("checked {} resources", check.checked);
            assert_eq!(check.findings, [], "nobody has changed anything");
        }
    }

    /// Starts its undeployment, after a check.
    pub async fn undeploy(&self, deployment: &str) -> Started {
        self.check(deployment).await;
        let started = self.engine.undeploy(&self.actor, deployment, Force::No);
        started.await.expect("it can be undeployed")
    }

    /// Waits for a run's end. Calls `each` for every event.
    pub async fn end_of(&self, run: &str, mut each: impl FnMut(&EventBody)) -> Run {
        let watch = async {
            let stream = self.engine.stream(&self.tenant, run, 0).await;
            let mut stream = stream.expect("the run is there");
            let mut seen = 0;
            while let Some(events) = stream.next().await {
                let Ok(events) = events else {
                    let again = self.engine.stream(&self.tenant, run, seen).await;
                    stream = again.expect("the run is there");
                    continue;
                };
                for event in &*events {
                    seen = event.seq;
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

    /// Ids of the project's resources.
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
        neutron!(Trunk, SubnetPool, QosPolicy, AddressScope, RbacPolicy);
        if session.has_service(openstack::Service::LoadBalancer) {
            let parts = [
                OctaviaType::LoadBalancer,
                OctaviaType::Listener,
                OctaviaType::Pool,
                OctaviaType::HealthMonitor,
                OctaviaType::L7Policy,
            ];
            for part in parts {
                let found = session.load_balancer().list(part, &[]).await;
                let found = found.expect("what Octavia has").into_iter();
                add(part.title(), found.map(|one| one.id).collect());
            }
        }
        if session.has_service(openstack::Service::BlockStorage) {
            let volumes = session.block_storage().volume_list(&[]).await;
            let volumes = volumes.expect("volumes").into_iter();
            add("volume", volumes.map(|one| one.id).collect());
        }
        if session.has_service(openstack::Service::KeyManager) {
            // Records of orders stay: only administrators can delete them.
            for (kind, path) in [(Kind::Secret, "secrets"), (Kind::Container, "containers")] {
                let method = openstack::Method::GET;
                let call = session.call(openstack::Service::KeyManager, method, &[path]);
                let listed: Vec<Value> = call
                    .query([("limit", "100")])
                    .fetch(path)
                    .await
                    .expect("what the key manager has");
                let names = listed.iter().map(|one| one[kind.reference()].to_string());
                add(path.trim_end_matches('s'), names.collect());
            }
        }
        all.sort();
        all
    }
}
