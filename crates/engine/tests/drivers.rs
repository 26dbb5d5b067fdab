//! All drivers against the lab cloud in memory: made twice, cut in the middle, removed twice.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use engine::driver::{Context, Driver, DriverError, Login, Marker, Progress, Ready, Vault};
use engine::drivers::{bastion, driver_for};
use lab::{CallFault, Damage, Fault, Lab, ServerFault, ServerTrouble};
use openstack::network::{SecurityGroup, SecurityGroupRule};
use openstack::{CloudConfig, Credentials, Scope, Session};
use serde_json::{Map, Value, json};
use topology::workflow::Marks;

/// A public server on a network of its own, in the order in which it can be made. `{"ref": x}` is the
/// reference of another.
fn two_tier() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("deployment_key", "Stackloom::SSHKey", json!({})),
        (
            "mine",
            "OS::Nova::KeyPair",
            json!({"name": "mine", "save_private_key": true}),
        ),
        ("disk", "OS::Cinder::Volume", json!({"size": 1})),
        ("front", "OS::Neutron::Net", json!({})),
        (
            "front_subnet",
            "OS::Neutron::Subnet",
            json!({"network": {"ref": "front"}, "cidr": "10.7.0.0/24"}),
        ),
        (
            "gate",
            "OS::Neutron::Router",
            json!({"external_gateway_info": {"network": "public"}}),
        ),
        (
            "foot",
            "OS::Neutron::RouterInterface",
            json!({"router": {"ref": "gate"}, "subnet": {"ref": "front_subnet"}}),
        ),
        (
            "web_access",
            "OS::Neutron::SecurityGroup",
            json!({"description": "who may read", "rules": [
                {"protocol": "tcp", "port_range_min": 80, "port_range_max": 80, "remote_ip_prefix": "0.0.0.0/0"},
                {"protocol": "icmp", "remote_mode": "remote_group_id"}]}),
        ),
        (
            "extra",
            "OS::Neutron::SecurityGroupRule",
            json!({"security_group": {"ref": "web_access"}, "protocol": "tcp", "port_range_min": 443, "port_range_max": 443}),
        ),
        (
            "web_port",
            "OS::Neutron::Port",
            json!({"network": {"ref": "front"}, "fixed_ips": [{"subnet": {"ref": "front_subnet"}, "ip_address": "10.7.0.20"}],
                   "security_groups": [{"ref": "web_access"}]}),
        ),
        (
            "web",
            "OS::Nova::Server",
            json!({"image": "debian-12", "flavor": "m1.small", "key_name": {"ref": "mine"}, "networks": [{"port": {"ref": "web_port"}}],
                   "user_data": "#!/bin/sh\necho hello\n", "metadata": {"role": "web"}}),
        ),
        ("near", "OS::Nova::ServerGroup", json!({})),
        (
            "note",
            "OS::Barbican::Secret",
            json!({"payload": "hush", "secret_type": "passphrase"}),
        ),
        (
            "disk_at_web",
            "OS::Cinder::VolumeAttachment",
            json!({"instance_uuid": {"ref": "web"}, "volume_id": {"ref": "disk"}}),
        ),
        (
            "address",
            "OS::Neutron::FloatingIP",
            json!({"floating_network": "public"}),
        ),
        (
            "led",
            "OS::Neutron::FloatingIPAssociation",
            json!({"floatingip_id": {"ref": "address"}, "port_id": {"ref": "web_port"}}),
        ),
    ]
}

#[derive(Default)]
struct MemoryVault(Mutex<BTreeMap<String, String>>);

#[async_trait]
impl Vault for MemoryVault {
    async fn put(&self, name: &str, secret: &str) -> Result<String, DriverError> {
        self.0.lock().unwrap().insert(name.into(), secret.into());
        Ok(name.into())
    }
    async fn get(&self, name: &str) -> Result<Option<String>, DriverError> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }
    async fn forget(&self, name: &str) -> Result<(), DriverError> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }
}

struct World {
    lab: Lab,
    session: Session,
    vault: MemoryVault,
    login: Login,
}

impl World {
    async fn new() -> World {
        let lab = Lab::memory().await.unwrap();
        let config = CloudConfig::new("lab", &lab.auth_url());
        let credentials = Credentials::password("demo", "Default", "demo");
        let scope = Scope::project("demo", "Default");
        let session = Session::login(&config, &credentials, Some(&scope))
            .await
            .unwrap();
        World {
            lab,
            session,
            vault: MemoryVault::default(),
            login: Login {
                user: "stackloom".into(),
                public_key: "ssh-ed25519 AAAA".into(),
            },
        }
    }

    /// Runs a driver's call on a resource.
    async fn with<R>(
        &self,
        name: &str,
        kind: &str,
        properties: &Value,
        call: impl AsyncFnOnce(&'static dyn Driver, &Context<'_>) -> R,
    ) -> R {
        let marker = marker(name);
        let marks = Marks::default();
        let context = Context {
            session: &self.session,
            marker: &marker,
            properties: properties.as_object().unwrap(),
            marks: &marks,
            vault: &self.vault,
            login: Some(&self.login),
        };
        call(driver_for(kind).unwrap(), &context).await
    }

    async fn create(
        &self,
        name: &str,
        kind: &str,
        properties: &Value,
    ) -> Result<String, DriverError> {
        self.with(name, kind, properties, async |driver, context| {
            driver.create(context).await
        })
        .await
    }

    /// How it ends: with what it is, or with the cloud's reason.
    async fn ended(
        &self,
        name: &str,
        kind: &str,
        properties: &Value,
        id: &str,
    ) -> Result<Ready, String> {
        let ended = self.with(name, kind, properties, async |driver, context| {
            loop {
                match driver.progress(context, id).await.unwrap() {
                    Progress::Ready(ready) => return Ok(ready),
                    Progress::Failed(why) => return Err(why),
                    Progress::Pending(_) => a_moment().await,
                }
            }
        });
        soon(ended).await
    }

    /// Removes it, waits until it is gone, and removes it again.
    async fn delete(&self, name: &str, kind: &str, properties: &Value, id: Option<&str>) {
        let gone = self.with(name, kind, properties, async |driver, context| {
            driver.delete(context, id).await.unwrap();
            let Some(id) = id else { return };
            while !driver.is_gone(context, id).await.unwrap() {
                a_moment().await;
            }
            driver.delete(context, Some(id)).await.unwrap();
        });
        soon(gone).await;
    }

    /// Makes everything, each with up to three attempts. What was made, and how many attempts failed.
    async fn build(&self) -> (Vec<Made>, usize) {
        let mut made: Vec<Made> = Vec::new();
        let mut failed = 0;
        for (name, kind, properties) in two_tier() {
            let properties = resolve(properties, &made);
            let id = loop {
                match self.create(name, kind, &properties).await {
                    Ok(id) => break id,
                    Err(_) if failed < 3 => failed += 1,
                    Err(error) => panic!("{name}: {error}"),
                }
            };
            let ready = self.ended(name, kind, &properties, &id).await.unwrap();
            made.push(Made {
                name,
                kind,
                properties,
                id,
                ready,
            });
        }
        (made, failed)
    }

    /// What the projects of the lab have.
    fn left(&self) -> Vec<String> {
        self.lab.leftovers().into_values().flatten().collect()
    }
}

struct Made {
    name: &'static str,
    kind: &'static str,
    properties: Value,
    id: String,
    ready: Ready,
}

fn marker(resource: &str) -> Marker {
    Marker {
        deployment: "0197-d1".into(),
        deployment_name: "shop".into(),
        resource: resource.into(),
    }
}

/// `{"ref": x}` becomes what `x` gave.
fn resolve(value: Value, made: &[Made]) -> Value {
    match value {
        Value::Object(map) => match map.get("ref").and_then(Value::as_str) {
            Some(name) => reference(made, name).clone(),
            None => map
                .into_iter()
                .map(|(key, value)| (key, resolve(value, made)))
                .collect::<Map<_, _>>()
                .into(),
        },
        Value::Array(all) => all.into_iter().map(|value| resolve(value, made)).collect(),
        other => other,
    }
}

fn of<'a>(made: &'a [Made], name: &str) -> &'a Made {
    made.iter().find(|one| one.name == name).unwrap()
}

fn reference<'a>(made: &'a [Made], name: &str) -> &'a Value {
    &of(made, name).ready.reference
}

/// Between two looks at something that the lab works on.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

async fn soon<R>(wait: impl Future<Output = R>) -> R {
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .expect("in time")
}

#[tokio::test]
async fn made_twice_is_there_once_and_removed_twice_is_gone() {
    let world = World::new().await;
    let (made, failed) = world.build().await;
    assert_eq!(failed, 0);
    let once = world.left();
    for one in &made {
        assert_eq!(
            world
                .create(one.name, one.kind, &one.properties)
                .await
                .unwrap(),
            one.id,
            "{}",
            one.name
        );
    }
    assert_eq!(world.left(), once);

    for one in made.iter().rev() {
        world
            .delete(one.name, one.kind, &one.properties, Some(&one.id))
            .await;
    }
    assert_eq!(world.left(), Vec::<String>::new());
    assert!(world.vault.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn attributes_are_those_of_heat_and_ours() {
    let world = World::new().await;
    let (made, _) = world.build().await;
    let attributes = |name: &str| &of(&made, name).ready.attributes;
    let text =
        |name: &str, attribute: &str| attributes(name)[attribute].as_str().unwrap().to_string();

    assert!(text("deployment_key", "public_key").starts_with("ssh-ed25519 "));
    assert_eq!(text("web", "first_address"), "10.7.0.20");
    assert_eq!(text("web", "name"), "shop-web");
    assert!(text("web", "host_key").starts_with("ssh-ed25519 "));
    assert_eq!(attributes("web")["networks"]["shop-front"][0], "10.7.0.20");
    assert_eq!(
        attributes("web_port")["fixed_ips"][0]["ip_address"],
        "10.7.0.20"
    );
    assert_eq!(text("front_subnet", "cidr"), "10.7.0.0/24");
    assert_eq!(
        text("web_access", "description"),
        "who may read stackloom:0197-d1/web_access"
    );
    assert!(text("address", "floating_ip_address").starts_with("172.30.0."));
    assert_eq!(
        attributes("led")["show"]["port_id"],
        *reference(&made, "web_port")
    );

    let group = reference(&made, "web_access").as_str().unwrap();
    let rules: Vec<SecurityGroupRule> = world
        .session
        .network()
        .list(&[("security_group_id", group)])
        .await
        .unwrap();
    let ingress = rules
        .iter()
        .filter(|rule| rule.direction == "ingress")
        .count();
    assert_eq!(
        (rules.len(), ingress),
        (5, 3),
        "three of ours, and all may go out by IPv4 and IPv6"
    );
}

#[tokio::test]
async fn without_id_and_properties_the_mark_is_enough() {
    let world = World::new().await;
    let (made, _) = world.build().await;
    for one in made.iter().rev() {
        // What the cloud cannot mark is known by what it joins, or by its id.
        let joins = matches!(one.name, "foot" | "led");
        let known = if joins {
            one.properties.clone()
        } else {
            json!({})
        };
        let id = Some(one.id.as_str()).filter(|_| one.name == "mine");
        world.delete(one.name, one.kind, &known, id).await;
        if one.name == "web" {
            soon(async {
                while !world
                    .session
                    .compute()
                    .server_list(&[])
                    .await
                    .unwrap()
                    .is_empty()
                {
                    a_moment().await;
                }
            })
            .await;
        }
    }
    // A volume takes a moment to go.
    soon(async {
        while !world.left().is_empty() {
            a_moment().await;
        }
    })
    .await;
}

/// The answer to each changing call is lost in turn, and the call made again: nothing is there twice.
#[tokio::test]
async fn a_lost_answer_leaves_nothing_twice() {
    let once = {
        let world = World::new().await;
        world.build().await;
        world.left().len()
    };
    for method in ["POST", "PUT"] {
        for nth in 1.. {
            let world = World::new().await;
            world.lab.faults().add(Fault::Call(CallFault {
                method: Some(method.into()),
                nth: Some(nth),
                damage: Some(Damage::CutAfter),
                ..CallFault::default()
            }));
            let (_, failed) = world.build().await;
            assert_eq!(
                world.left().len(),
                once,
                "{method} {nth}: {:?}",
                world.left()
            );
            if failed == 0 {
                assert!(nth > 1, "no {method} was cut");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_server_in_error_makes_room_for_another() {
    let world = World::new().await;
    let trouble = ServerFault {
        name: "shop-web".into(),
        fault: ServerTrouble::Error,
        times: Some(1),
    };
    world.lab.faults().add(Fault::Server(trouble));
    let subnet = json!({"network": "shop-front", "cidr": "10.7.0.0/24"});
    let server = json!({"image": "debian-12", "flavor": "m1.small", "networks": [{"network": "shop-front"}]});
    world
        .create("front", "OS::Neutron::Net", &json!({}))
        .await
        .unwrap();
    world
        .create("front_subnet", "OS::Neutron::Subnet", &subnet)
        .await
        .unwrap();

    let first = world
        .create("web", "OS::Nova::Server", &server)
        .await
        .unwrap();
    let why = world
        .ended("web", "OS::Nova::Server", &server, &first)
        .await
        .unwrap_err();
    assert!(
        why.starts_with("the cloud put the server in state ERROR"),
        "{why}"
    );
    world
        .delete("web", "OS::Nova::Server", &server, Some(&first))
        .await;

    let second = world
        .create("web", "OS::Nova::Server", &server)
        .await
        .unwrap();
    assert_ne!(first, second);
    world
        .ended("web", "OS::Nova::Server", &server, &second)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_does_not_exist_is_named() {
    let world = World::new().await;
    let check = async |kind: &str, properties: Value, expected: &str| {
        let error = world.create("x", kind, &properties).await.unwrap_err();
        assert!(matches!(error, DriverError::Property { .. }), "{error}");
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    let server = |image: &str, flavor: &str| json!({"image": image, "flavor": flavor, "networks": [{"network": "public"}]});
    check(
        "OS::Nova::Server",
        server("plan9", "m1.small"),
        "property `image`: there is no image named `plan9`",
    )
    .await;
    check(
        "OS::Nova::Server",
        server("debian-12", "huge"),
        "property `flavor`: there is no flavor named `huge`",
    )
    .await;
    check(
        "OS::Neutron::Subnet",
        json!({"cidr": "10.0.0.0/24"}),
        "property `network`: it must be given",
    )
    .await;
    let moon = "property `floating_network`: there is no network named `moon`";
    check(
        "OS::Neutron::FloatingIP",
        json!({"floating_network": "moon"}),
        moon,
    )
    .await;
}

#[tokio::test]
async fn what_updates_in_place_keeps_its_id() {
    let world = World::new().await;
    let rule =
        |port: u16| json!({"protocol": "tcp", "port_range_min": port, "port_range_max": port});
    let kind = "OS::Neutron::SecurityGroup";
    let group = world
        .create("access", kind, &json!({"rules": [rule(80), rule(443)]}))
        .await
        .unwrap();
    bastion::open(
        &world.session,
        &group,
        &marker("web"),
        "192.0.2.7".parse().unwrap(),
    )
    .await
    .unwrap();
    let properties = json!({"rules": [rule(443), rule(8080)], "name": "readers"});
    let updated = world.with("access", kind, &properties, async |driver, context| {
        driver.update(context, &group).await
    });
    updated.await.unwrap();

    let now: SecurityGroup = world.session.network().get(&group).await.unwrap();
    let mut ports: Vec<u32> = now
        .security_group_rules
        .iter()
        .filter_map(|rule| rule.port_range_min)
        .collect();
    ports.sort_unstable();
    assert_eq!(
        ports,
        [22, 443, 8080],
        "the bastion's rule is not the template's to remove"
    );
    assert_eq!(now.name.as_deref(), Some("readers"));
}

#[tokio::test]
async fn everything_can_be_told_again_what_it_is() {
    let world = World::new().await;
    let (made, _) = world.build().await;
    // A key, a key pair, a foot, a rule, a server group, a secret and an attachment cannot be changed: their types say so.
    for one in made.iter().filter(|one| {
        !matches!(
            one.name,
            "deployment_key" | "mine" | "foot" | "extra" | "near" | "note" | "disk_at_web"
        )
    }) {
        let update = world.with(
            one.name,
            one.kind,
            &one.properties,
            async |driver, context| driver.update(context, &one.id).await,
        );
        update
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", one.name));
        let after = world
            .ended(one.name, one.kind, &one.properties, &one.id)
            .await
            .unwrap();
        assert_eq!(after.reference, one.ready.reference, "{}", one.name);
    }
}

#[tokio::test]
async fn the_bastion_lets_one_address_in_and_nobody_after() {
    let world = World::new().await;
    let group = world
        .create("access", "OS::Neutron::SecurityGroup", &json!({}))
        .await
        .unwrap();
    let marker = marker("web");
    let ingress = async || -> Vec<String> {
        let query = [
            ("security_group_id", group.as_str()),
            ("direction", "ingress"),
        ];
        let rules: Vec<SecurityGroupRule> = world.session.network().list(&query).await.unwrap();
        rules
            .into_iter()
            .filter_map(|rule| rule.remote_ip_prefix)
            .collect()
    };
    let open = async |address: &str| {
        bastion::open(&world.session, &group, &marker, address.parse().unwrap())
            .await
            .unwrap()
    };
    open("192.0.2.7").await;
    open("192.0.2.7").await;
    assert_eq!(ingress().await, ["192.0.2.7/32"]);
    // Our address has changed: the old one is let in no more.
    open("192.0.2.8").await;
    assert_eq!(ingress().await, ["192.0.2.8/32"]);
    for _ in 0..2 {
        bastion::close(&world.session, &group, &marker)
            .await
            .unwrap();
        assert!(ingress().await.is_empty());
    }
}

/// The planner takes a description's word for what can be made, so the word must be true.
#[test]
fn descriptions_and_drivers_agree_on_what_can_be_made() {
    use topology::types::{Executable, Registry};

    let registry = Registry::openstack();
    let wrong: Vec<String> = registry
        .iter()
        .filter(|described| !topology::compose::is_parent(&described.name))
        .filter(|described| {
            let promised = matches!(described.executable, Executable::Driver | Executable::Local);
            promised != driver_for(&described.name).is_some()
        })
        .map(|described| format!("{} says {:?}", described.name, described.executable))
        .collect();
    assert!(
        wrong.is_empty(),
        "`runs:` of these files in topology/src/types is not what `driver_for` knows: {wrong:?}"
    );
}
