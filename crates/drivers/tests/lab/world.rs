//! A lab in memory, a user's session in it, and resources created by drivers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use drivers::driver_for;
use drivers::{Accepted, Context, Driver, DriverError, Login, Marker, Progress, Ready, Vault};
use lab::Lab;
use openstack::{CloudConfig, Credentials, Scope, Session};
use serde_json::{Map, Value, json};
use types::Registry;

/// A public server on a separate network, in the order of creation. `{"ref": x}` is a reference to another resource.
pub fn two_tier() -> Vec<(&'static str, &'static str, Value)> {
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
pub struct MemoryVault(pub Mutex<BTreeMap<String, String>>);

#[async_trait]
impl Vault for MemoryVault {
    async fn put(&self, name: &str, secret: &str) -> Result<String, DriverError> {
        self.0.lock().unwrap().insert(name.into(), secret.into());
        Ok(name.into())
    }
    async fn get(&self, name: &str) -> Result<Option<String>, DriverError> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }
    async fn delete(&self, name: &str) -> Result<(), DriverError> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }
}

pub struct World {
    pub lab: Lab,
    pub session: Session,
    pub vault: MemoryVault,
    pub login: Login,
}

impl World {
    pub async fn new() -> World {
        World::of("demo").await
    }

    /// A session of one of the lab's users, in the project with the same name.
    pub async fn of(user: &str) -> World {
        let lab = Lab::memory().await.unwrap();
        let config = CloudConfig::new("lab", &lab.auth_url());
        let credentials = Credentials::password(user, "Default", user);
        let scope = Scope::project(user, "Default");
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

    /// Calls a driver on a resource.
    pub async fn with<R>(
        &self,
        name: &str,
        kind: &str,
        properties: &Value,
        call: impl AsyncFnOnce(&'static dyn Driver, &Context<'_>) -> R,
    ) -> R {
        let marker = marker(name);
        let described = Registry::shared().get(kind).unwrap();
        let properties = types::typed(&described.properties, properties.as_object().unwrap());
        let accepted = Accepted::default();
        let context = Context {
            login: Some(&self.login),
            ..Context::of(&self.session, &self.vault, &accepted, &marker, &properties)
        };
        call(driver_for(kind).unwrap(), &context).await
    }

    pub async fn create(
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

    /// The result of a creation: the values of the resource including attributes on demand, or the cloud's reason.
    pub async fn wait_ready(
        &self,
        name: &str,
        kind: &str,
        properties: &Value,
        id: &str,
    ) -> Result<Ready, String> {
        let ended = self.with(name, kind, properties, async |driver, context| {
            loop {
                match driver.progress(context, id).await.unwrap() {
                    Progress::Ready(mut ready) => {
                        if let Some(on_demand) = driver.abilities().on_demand {
                            let names = on_demand.names();
                            let read = on_demand.read(context, id, names).await.unwrap();
                            ready.attributes.extend(read);
                        }
                        return Ok(ready);
                    }
                    Progress::Failed(why) | Progress::Unchanged(why) | Progress::GaveUp(why) => {
                        return Err(why);
                    }
                    Progress::Pending(_) => poll_pause().await,
                }
            }
        });
        with_timeout(ended).await
    }

    /// Deletes a resource, waits until it is gone, and deletes it again.
    pub async fn delete(&self, name: &str, kind: &str, properties: &Value, id: Option<&str>) {
        let gone = self.with(name, kind, properties, async |driver, context| {
            driver.delete(context, id).await.unwrap();
            let Some(id) = id else { return };
            while !driver.is_gone(context, id).await.unwrap() {
                poll_pause().await;
            }
            driver.delete(context, Some(id)).await.unwrap();
        });
        with_timeout(gone).await;
    }

    /// Creates all resources, with at most three failed attempts. Returns them and the number of failed attempts.
    pub async fn build(&self) -> (Vec<Made>, usize) {
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
            let ready = self.wait_ready(name, kind, &properties, &id).await.unwrap();
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

    /// Remaining resources in the lab's projects.
    pub fn left(&self) -> Vec<String> {
        self.lab.leftovers().into_values().flatten().collect()
    }
}

pub struct Made {
    pub name: &'static str,
    pub kind: &'static str,
    pub properties: Value,
    pub id: String,
    pub ready: Ready,
}

pub fn marker(resource: &str) -> Marker {
    Marker {
        deployment: "0197-d1".into(),
        deployment_name: "shop".into(),
        resource: resource.into(),
    }
}

/// Replaces `{"ref": x}` by the reference of `x`.
pub fn resolve(value: Value, made: &[Made]) -> Value {
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

pub fn of<'a>(made: &'a [Made], name: &str) -> &'a Made {
    made.iter().find(|one| one.name == name).unwrap()
}

pub fn reference<'a>(made: &'a [Made], name: &str) -> &'a Value {
    &of(made, name).ready.reference
}

/// Pause between two polls of the lab.
pub async fn poll_pause() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

pub async fn with_timeout<R>(wait: impl Future<Output = R>) -> R {
    tokio::time::timeout(Duration::from_secs(120), wait)
        .await
        .expect("in time")
}
