//! Load balancers with all their parts, and rare types of the network service: created, updated in place, replaced if
//! old and new cannot exist at once, and deleted without leftovers.

use std::collections::BTreeMap;

use engine::{Changes, Force};
use openstack::identity::USERS;
use openstack::network::{Network, QosPolicy};
use openstack::qos::QosRuleKind;
use openstack::volume_types::QOS_SPECS;
use openstack::{Method, Service, Session};
use serde_json::{Value, json};

use super::{assert_succeeded, parameters};
use crate::marked::{MARKED, marked};
use crate::place::{Place, real_cloud};

const BALANCER: &str = include_str!("balancer.yaml");
const NETWORKING: &str = include_str!("networking.yaml");
const QOS: &str = include_str!("qos.yaml");
const RARE: &str = include_str!("rare.yaml");
const RARE_ADMIN: &str = include_str!("rare_admin.yaml");
const PEOPLE: &str = include_str!("people.yaml");

/// Number of a user's or group's roles in a project or domain.
async fn grants(session: &Session, who: &str, id: &str) -> usize {
    let call = session.call(Service::Identity, Method::GET, &["role_assignments"]);
    let name = format!("{who}.id");
    let call = call.query([(name.as_str(), id)]);
    let all: Vec<Value> = call.fetch("role_assignments").await.unwrap();
    all.len()
}

/// A deployment that is updated from one set of values to the next.
struct Led<'a> {
    place: &'a Place,
    deployment: String,
    template: &'a str,
    parameters: BTreeMap<String, Value>,
}

impl<'a> Led<'a> {
    async fn begin(
        place: &'a Place,
        name: &str,
        template: &'a str,
        parameters: BTreeMap<String, Value>,
    ) -> Led<'a> {
        let started = place.deploy(name, template, parameters.clone()).await;
        let led = Led {
            place,
            deployment: started.deployment.clone(),
            template,
            parameters,
        };
        led.ends(name, &started.run).await;
        led
    }

    async fn ends(&self, what: &str, run: &str) {
        let begun = std::time::Instant::now();
        let run = self.place.end_of(run, |_| {}).await;
        eprintln!("{what}: {:.1} s", begun.elapsed().as_secs_f32());
        assert_succeeded(&run);
    }

    /// Updates to the same template with other values.
    async fn now(&mut self, values: Value) {
        let values: BTreeMap<String, Value> = serde_json::from_value(values).unwrap();
        let what = format!("update to {values:?}");
        self.parameters.extend(values);
        let changes = Changes {
            template: self.template.into(),
            parameters: self.parameters.clone(),
            ..Changes::default()
        };
        let (actor, engine) = (&self.place.actor, &self.place.engine);
        let started = engine.update(actor, &self.deployment, changes).await;
        self.ends(&what, &started.unwrap().run).await;
    }

    async fn output(&self, name: &str) -> Value {
        let (tenant, engine) = (&self.place.tenant, &self.place.engine);
        let shown = engine.deployment(tenant, &self.deployment).await.unwrap();
        shown.outputs[name].value.clone().unwrap()
    }

    async fn undeploy(&self) {
        let (actor, engine) = (&self.place.actor, &self.place.engine);
        let ended = engine.undeploy(actor, &self.deployment, Force::No).await;
        self.ends("undeploy", &ended.unwrap().run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_balancer_is_deployed_and_leaves_nothing() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart(&clouds, &name, "contract-balancer").await;
    if !place.actor.session.has_service(Service::LoadBalancer) {
        return place.close().await;
    }
    let before = place.belongings().await;
    let mut led = Led::begin(&place, "contract-balancer", BALANCER, BTreeMap::new()).await;
    assert_eq!(led.output("address").await, json!("10.92.0.100"));
    let first = place.belongings().await;
    // In place: ids stay.
    led.now(json!({"weight": 20, "algorithm": "LEAST_CONNECTIONS", "delay": 7, "path": "/older"}))
        .await;
    assert_eq!(place.belongings().await, first);
    // One member more, then fewer.
    led.now(json!({"size": 3})).await;
    led.now(json!({"size": 1})).await;
    // A listener has one default pool, so the old one is deleted first, with its members and its monitor.
    led.now(json!({"speaks": "PROXY"})).await;
    // The listener on another port: old and new exist together for a while.
    led.now(json!({"port": 81})).await;
    led.undeploy().await;
    assert_eq!(place.belongings().await, before);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trunks_pools_routes_and_gateways_leave_nothing() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart(&clouds, &name, "contract-network").await;
    let before = place.belongings().await;
    let given = parameters(&place).await;
    let mut led = Led::begin(&place, "contract-network", NETWORKING, given).await;
    let first = place.belongings().await;
    let address = led.output("address").await;
    led.now(json!({"tag": 102, "route": "10.201.0.0/24", "pair": "10.93.0.201", "pools": "10.94.0.0/16,10.95.0.0/16"}))
        .await;
    assert_eq!(place.belongings().await, first);
    // A subnet's gateway address belongs to one router: its interface moves, and the floating IP that needs it keeps
    // its address.
    led.now(json!({"second_router": true})).await;
    assert_eq!(led.output("address").await, address);
    led.undeploy().await;
    assert_eq!(place.belongings().await, before);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn qos_of_an_administrator_leaves_nothing() {
    let Some((clouds, _)) = real_cloud() else {
        return;
    };
    let mut names = clouds.iter().map(|cloud| cloud.name.as_str());
    let Some(admin) = names.find(|name| name.contains("admin")) else {
        return eprintln!("skipped: it takes an administrator");
    };
    let place = Place::open(&clouds, admin).await;
    let network = place.actor.session.network();
    let extensions = place
        .actor
        .session
        .call(Service::Network, Method::GET, &["extensions"]);
    let extensions: Vec<Value> = extensions.fetch("extensions").await.unwrap();
    if !extensions.iter().any(|one| one["alias"] == "qos") {
        return eprintln!("skipped: the cloud promises nothing");
    }
    let mut led = Led::begin(&place, "contract-qos", QOS, BTreeMap::new()).await;
    let text = |value: Value| value.as_str().unwrap().to_owned();
    let policy = text(led.output("promise").await);
    let rule = text(led.output("at_most").await);
    led.now(json!({"limit": 2000})).await;
    assert_eq!(text(led.output("at_most").await), rule);
    let kind = QosRuleKind::BandwidthLimit;
    let found = network.qos_rules(&policy, kind).get(&rule).await.unwrap();
    assert_eq!(found["max_kbps"], 2000);
    led.undeploy().await;
    let gone = network.get::<QosPolicy>(&policy).await.unwrap_err();
    assert!(gone.is_not_found(), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_forwardings_sharing_and_containers_leave_nothing() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart(&clouds, &name, "contract-rare").await;
    let before = place.belongings().await;
    let mut given = parameters(&place).await;
    given.retain(|name, _| name == "outside");
    let mut led = Led::begin(&place, "contract-rare", RARE, given).await;
    let first = place.belongings().await;
    let outputs = ["scope", "web", "sharing", "pair", "cipher", "all"];
    let output_values = async |led: &Led<'_>| {
        let mut all = Vec::new();
        for name in outputs {
            all.push(led.output(name).await);
        }
        all
    };
    let made = output_values(&led).await;
    // In place: ids stay.
    led.now(json!({"scope_name": "wider", "external": 8081, "friend": "two"}))
        .await;
    assert_eq!(place.belongings().await, first);
    assert_eq!(output_values(&led).await, made);
    assert_eq!(led.output("outside_port").await, 8081);
    // Another key needs another order, and a container with it is replaced too; so is a changed route.
    led.now(json!({"mode": "ctr", "destination": "10.202.0.0/24"}))
        .await;
    let now = output_values(&led).await;
    assert_eq!(now[..4], made[..4]);
    assert!(now[4] != made[4] && now[5] != made[5], "{now:?}");
    assert_eq!(place.belongings().await.len(), first.len());
    led.undeploy().await;
    assert_eq!(place.belongings().await, before);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrators_network_leaves_nothing() {
    let Some((clouds, _)) = real_cloud() else {
        return;
    };
    let mut names = clouds.iter().map(|cloud| cloud.name.as_str());
    let Some(admin) = names.find(|name| name.contains("admin")) else {
        return eprintln!("skipped: it takes an administrator");
    };
    let place = Place::open(&clouds, admin).await;
    let network = place.actor.session.network();
    let mut led = Led::begin(&place, "contract-provider", RARE_ADMIN, BTreeMap::new()).await;
    let text = |value: Value| value.as_str().unwrap().to_owned();
    let first = text(led.output("under").await);
    assert_eq!(led.output("made_on").await, "local");
    led.now(json!({"name": "over"})).await;
    assert_eq!(text(led.output("under").await), first);
    let found = network.get::<Network>(&first).await.unwrap();
    assert_eq!(found.name.as_deref(), Some("over"));
    led.undeploy().await;
    let gone = network.get::<Network>(&first).await.unwrap_err();
    assert!(gone.is_not_found(), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_of_administrators_leave_nothing() {
    let Some((clouds, _)) = real_cloud() else {
        return;
    };
    let mut names = clouds.iter().map(|cloud| cloud.name.as_str());
    let Some(admin) = names.find(|name| name.contains("admin")) else {
        return eprintln!("skipped: it takes an administrator");
    };
    let place = Place::open(&clouds, admin).await;
    let session = &place.actor.session;
    let mut led = Led::begin(&place, "contract-people", PEOPLE, BTreeMap::new()).await;
    let first = marked(session, &led.deployment).await;
    // Of roles there are two.
    assert_eq!(first.len(), MARKED.len() + 1, "{first:?}");
    let text = |value: Value| value.as_str().unwrap().to_owned();
    let (ann, small) = (text(led.output("ann").await), led.output("small").await);
    // In place: ids stay.
    led.now(json!({"word": "two", "mail": "ann@two.example", "many": 6}))
        .await;
    let shown = session.records(&USERS).get(&ann).await.unwrap();
    assert_eq!(shown["email"], "ann@two.example");
    let team = text(led.output("team").await);
    for (service, limit) in [
        (Service::Compute, "cores"),
        (Service::BlockStorage, "volumes"),
        (Service::Network, "network"),
        (Service::LoadBalancer, "load_balancer"),
    ] {
        let limits = session.quota_sets(service).get(&team).await.unwrap();
        assert_eq!(limits[limit], 6);
    }
    let quick = text(led.output("quick").await);
    let promised = session.records(&QOS_SPECS).get(&quick).await.unwrap();
    assert_eq!(promised["specs"], json!({"speed": "two"}));
    let gold = session.block_storage().qos_types(&quick).await.unwrap();
    assert_eq!(gold[0]["id"], led.output("gold").await);
    assert_eq!(grants(session, "user", &ann).await, 3);
    let crew = text(led.output("crew").await);
    assert_eq!(grants(session, "group", &crew).await, 2);
    // A flavor of another size replaces the old one, because two of one name cannot exist at once.
    led.now(json!({"megabytes": 128})).await;
    assert_ne!(led.output("small").await, small);
    assert_eq!(text(led.output("ann").await), ann);
    led.undeploy().await;
    assert_eq!(marked(session, &led.deployment).await, Vec::new());
    let gone = session.records(&QOS_SPECS).get(&quick).await.unwrap_err();
    assert!(gone.is_not_found(), "{gone}");
}
