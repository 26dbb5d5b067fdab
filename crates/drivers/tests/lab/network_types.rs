//! Life cycle of less common resources of Neutron and Barbican: repeated creation, updates in place, lost responses,
//! and deletion.

use lab::{CallFault, Fault};
use openstack::key_manager::{Kind, id_of};
use openstack::network::{AddressScope, FloatingIp, Network, RbacPolicy};
use serde_json::{Value, json};

use crate::world::World;

const NET: &str = "OS::Neutron::Net";

impl World {
    pub async fn updated(&self, name: &str, kind: &str, properties: &Value, id: &str) -> String {
        let updated = self.with(name, kind, properties, async |driver, context| {
            driver.update(context, id).await?;
            driver.id_after_update(context, id).await
        });
        updated.await.unwrap()
    }

    /// Creates a resource and waits until it is ready. Returns its id and its attributes.
    pub async fn create_ready(
        &self,
        name: &str,
        kind: &str,
        properties: &Value,
    ) -> (String, Value) {
        let id = self.create(name, kind, properties).await.unwrap();
        let ready = self.wait_ready(name, kind, properties, &id).await.unwrap();
        (id, ready.attributes.into())
    }
}

/// Creates a resource twice, and deletes it without its id, as after a crash before the journal entry.
async fn adopted_by_its_marker(world: &World, kind: &str, properties: Value) {
    let before = world.left();
    let id = world.create("one", kind, &properties).await.unwrap();
    let again = world.create("one", kind, &properties).await.unwrap();
    assert_eq!(id, again, "{kind}");
    world.delete("one", kind, &properties, None).await;
    assert_eq!(world.left(), before, "{kind}");
    let (id, _) = world.create_ready("one", kind, &properties).await;
    world.delete("one", kind, &properties, Some(&id)).await;
    assert_eq!(world.left(), before, "{kind}");
}

#[tokio::test]
async fn what_administrators_make_is_known_by_its_mark() {
    let world = World::of("admin").await;
    let (net, _) = world.create_ready("net", NET, &json!({})).await;
    for (kind, properties) in [
        ("OS::Neutron::AddressScope", json!({"name": "shared"})),
        (
            "OS::Neutron::MeteringLabel",
            json!({"description": "what goes out", "shared": true}),
        ),
        (
            "OS::Neutron::ProviderNet",
            json!({"network_type": "vxlan", "segmentation_id": "77"}),
        ),
        (
            "OS::Neutron::Segment",
            json!({"network": net, "network_type": "vlan", "physical_network": "p", "segmentation_id": 5}),
        ),
        ("OS::Barbican::GenericContainer", json!({})),
    ] {
        adopted_by_its_marker(&world, kind, properties).await;
    }
}

#[tokio::test]
async fn a_scope_gets_its_name_once_its_id_is_known() {
    let world = World::new().await;
    let kind = "OS::Neutron::AddressScope";
    let network = world.session.network();
    let theirs: AddressScope = network
        .create(&json!({"name": "wide", "ip_version": 4}))
        .await
        .unwrap();
    let properties = json!({"name": "wide", "shared": false});
    let (id, attributes) = world.create_ready("scope", kind, &properties).await;
    assert_ne!(id, theirs.id, "the same name is somebody else's");
    assert_eq!(attributes["name"], "wide");
    world.updated("scope", kind, &json!({}), &id).await;
    let now: AddressScope = network.get(&id).await.unwrap();
    assert_eq!(now.name.as_deref(), Some("shop-scope"));
    world.delete("scope", kind, &json!({}), Some(&id)).await;
    network.get::<AddressScope>(&theirs.id).await.unwrap();
}

#[tokio::test]
async fn what_is_shared_with_all_is_not_taken_back_in_silence() {
    let world = World::of("admin").await;
    let kind = "OS::Neutron::AddressScope";
    let (id, attributes) = world
        .create_ready("scope", kind, &json!({"shared": true}))
        .await;
    assert_eq!(attributes["shared"], true);
    let back = json!({"shared": false});
    let refused = world.with("scope", kind, &back, async |driver, context| {
        let changed = ["shared".to_owned()];
        let context = drivers::Context {
            changed: &changed,
            ..*context
        };
        driver.update(&context, &id).await
    });
    let refused = refused.await.unwrap_err().to_string();
    assert!(refused.contains("can't be unshared"), "{refused}");
}

#[tokio::test]
async fn sharing_with_another_project_and_then_with_a_third() {
    let world = World::of("admin").await;
    let (net, _) = world
        .create_ready("net", NET, &json!({"name": "common"}))
        .await;
    let kind = "OS::Neutron::RBACPolicy";
    let with = |project: &str| json!({"object_type": "network", "object_id": "common", "action": "access_as_shared", "target_tenant": project});
    let network = world.session.network();
    let sharing = async || network.list::<RbacPolicy>(&[]).await.unwrap();
    let id = world.create("sharing", kind, &with("one")).await.unwrap();
    assert_eq!(sharing().await.len(), 0, "first the journal knows of it");
    let ready = world
        .wait_ready("sharing", kind, &with("one"), &id)
        .await
        .unwrap();
    assert_eq!(ready.attributes["object_id"], net);
    assert_eq!(ready.reference, json!(sharing().await[0].id));
    world
        .wait_ready("sharing", kind, &with("one"), &id)
        .await
        .unwrap();
    assert_eq!(sharing().await.len(), 1);
    let refused = world
        .create("second", kind, &with("one"))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("the cloud has one RBAC policy that says the same"),
        "{refused}"
    );

    // Repeated, as after a lost response.
    let after = world.updated("sharing", kind, &with("two"), &id).await;
    assert_eq!(
        world.updated("sharing", kind, &with("two"), &id).await,
        after
    );
    let then = world
        .wait_ready("sharing", kind, &with("two"), &after)
        .await
        .unwrap();
    assert_eq!(then.attributes["target_tenant"], "two");
    assert_eq!(then.reference, ready.reference, "the same policy still");
    world
        .delete("sharing", kind, &json!({}), Some(&after))
        .await;
    assert_eq!(sharing().await.len(), 0);
}

#[tokio::test]
async fn a_label_and_what_it_counts() {
    let world = World::of("admin").await;
    let label = json!({"name": "out"});
    let (id, attributes) = world
        .create_ready("label", "OS::Neutron::MeteringLabel", &label)
        .await;
    assert_eq!(attributes["name"], "out");
    assert_eq!(attributes["shared"], false);
    let kind = "OS::Neutron::MeteringRule";
    let rule =
        json!({"metering_label_id": "out", "remote_ip_prefix": "10.0.0.0/8", "excluded": "True"});
    let (rule_id, attributes) = world.create_ready("rule", kind, &rule).await;
    assert_eq!(attributes["metering_label_id"], id);
    assert_eq!(attributes["direction"], "ingress");
    assert_eq!(attributes["excluded"], true);
    world.delete("rule", kind, &json!({}), Some(&rule_id)).await;
    world
        .delete("label", "OS::Neutron::MeteringLabel", &label, Some(&id))
        .await;
    assert_eq!(world.left(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_network_is_made_on_is_told_once() {
    let world = World::of("admin").await;
    let kind = "OS::Neutron::ProviderNet";
    let properties = |name: &str, tag: u32| json!({"name": name, "network_type": "vlan", "physical_network": "p", "segmentation_id": tag, "shared": false});
    let (id, attributes) = world.create_ready("net", kind, &properties("a", 5)).await;
    assert_eq!(attributes["provider:segmentation_id"], 5);
    let change = async |properties: Value, changed: &[&str]| {
        let changed: Vec<String> = changed.iter().map(|name| (*name).to_owned()).collect();
        let done = world.with("net", kind, &properties, async |driver, context| {
            let context = drivers::Context {
                changed: &changed,
                ..*context
            };
            driver.update(&context, &id).await
        });
        done.await
    };
    change(properties("b", 5), &["name"]).await.unwrap();
    change(properties("b", 6), &["segmentation_id"])
        .await
        .unwrap();
    let now: Network = world.session.network().get(&id).await.unwrap();
    assert_eq!(now.other["provider:segmentation_id"], 6);
    let flat = json!({"name": "b", "network_type": "flat", "physical_network": "p"});
    change(flat, &["network_type"]).await.unwrap_err();
}

const ROUTED: &str = "10.9.0.0/24";

/// A server's port on a network behind a router, and a floating IP. Returns the ids of router, port and floating IP.
async fn behind_a_router(world: &World) -> [String; 3] {
    let (net, _) = world.create_ready("net", NET, &json!({})).await;
    let subnet = json!({"network": net, "cidr": ROUTED});
    let (subnet, _) = world
        .create_ready("subnet", "OS::Neutron::Subnet", &subnet)
        .await;
    let gate = json!({"external_gateway_info": {"network": "public"}});
    let (router, _) = world
        .create_ready("gate", "OS::Neutron::Router", &gate)
        .await;
    let foot = json!({"router": router, "subnet": subnet});
    world
        .create_ready("foot", "OS::Neutron::RouterInterface", &foot)
        .await;
    let port = json!({"network": net, "fixed_ips": [{"ip_address": "10.9.0.20"}]});
    let (port, _) = world.create_ready("port", "OS::Neutron::Port", &port).await;
    let address = json!({"floating_network": "public"});
    let (address, _) = world
        .create_ready("address", "OS::Neutron::FloatingIP", &address)
        .await;
    [router, port, address]
}

#[tokio::test]
async fn one_port_of_an_address() {
    let world = World::new().await;
    let [_, port, address] = behind_a_router(&world).await;
    let kind = "OS::Neutron::FloatingIPPortForward";
    let properties = |outside: u16| {
        json!({"floating_ip": address, "internal_port": port, "internal_ip_address": "10.9.0.20",
               "internal_port_number": "80", "external_port": outside, "protocol": "tcp"})
    };
    let (id, attributes) = world.create_ready("web", kind, &properties(8080)).await;
    assert_eq!(
        world.create("web", kind, &properties(8080)).await.unwrap(),
        id
    );
    assert_eq!(attributes["external_port"], 8080);
    assert_eq!(world.updated("web", kind, &properties(8081), &id).await, id);
    let ready = world
        .wait_ready("web", kind, &properties(8081), &id)
        .await
        .unwrap();
    assert_eq!(ready.attributes["external_port"], 8081);
    assert_eq!(
        id,
        format!("{address}:{}", ready.reference.as_str().unwrap())
    );
    // A cloud without descriptions of port forwardings refuses them; the driver adds an explanation.
    world.lab.faults().add(Fault::Call(CallFault {
        method: Some("PUT".into()),
        times: Some(1),
        status: Some(400),
        body: Some(
            r#"{"NeutronError": {"message": "Unrecognized attribute(s) 'description'"}}"#.into(),
        ),
        ..CallFault::default()
    }));
    let same = properties(8081);
    let refused = world.with("web", kind, &same, async |driver, context| {
        driver.update(context, &id).await
    });
    let refused = refused.await.unwrap_err().to_string();
    assert!(
        refused.contains("`floating-ip-port-forwarding-description`"),
        "{refused}"
    );
    // The floating IP can be given by its address.
    let network = world.session.network();
    let owner: FloatingIp = network.get(&address).await.unwrap();
    let mut by_address = properties(8081);
    by_address["floating_ip"] = json!(owner.floating_ip_address);
    assert_eq!(world.create("web", kind, &by_address).await.unwrap(), id);
    by_address["floating_ip"] = json!("192.0.2.1");
    let refused = world.create("web", kind, &by_address).await.unwrap_err();
    assert!(
        refused.to_string().contains("no floating IP `192.0.2.1`"),
        "{refused}"
    );
    // Without its id, it is found by its marker.
    let forwardings = world.session.network();
    let forwardings = forwardings.port_forwardings(&address);
    world.delete("web", kind, &properties(8081), None).await;
    assert_eq!(forwardings.list().await.unwrap().len(), 0);
    world.delete("web", kind, &json!({}), None).await;
    let numberless = json!({"floating_ip": address, "internal_port": port, "external_port": 80, "protocol": "tcp"});
    let refused = world.create("web", kind, &numberless).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "property `internal_port_number`: it must be given"
    );
}

#[tokio::test]
async fn one_more_route() {
    let world = World::new().await;
    let [router, ..] = behind_a_router(&world).await;
    let kind = "OS::Neutron::ExtraRoute";
    let route = json!({"router_id": router, "destination": "10.200.0.0/24", "nexthop": "10.9.0.7"});
    let (id, _) = world.create_ready("route", kind, &route).await;
    let routes = || {
        world.lab.model(|model| {
            let routes = model.routers.iter().flat_map(|router| &router.routes);
            routes.count()
        })
    };
    assert_eq!(routes(), 1);
    world.delete("route", kind, &json!({}), Some(&id)).await;
    assert_eq!(routes(), 0);
}

#[tokio::test]
async fn secrets_that_belong_together() {
    let world = World::new().await;
    let secret = json!({"payload": "hush"});
    let (_, key) = world
        .create_ready("key", "OS::Barbican::Secret", &secret)
        .await;
    let (_, cert) = world
        .create_ready("cert", "OS::Barbican::Secret", &secret)
        .await;
    let (key, cert) = (&key["secret_ref"], &cert["secret_ref"]);
    let before = world.left();
    for (kind, properties, held) in [
        (
            "OS::Barbican::GenericContainer",
            json!({"secrets": [{"name": "note", "ref": key}]}),
            json!({"note": key}),
        ),
        (
            "OS::Barbican::RSAContainer",
            json!({"private_key_ref": key, "public_key_ref": cert}),
            json!({"private_key": key, "public_key": cert}),
        ),
        (
            "OS::Barbican::CertificateContainer",
            json!({"private_key_ref": key, "certificate_ref": cert}),
            json!({"private_key": key, "certificate": cert}),
        ),
    ] {
        let (id, attributes) = world.create_ready("all", kind, &properties).await;
        assert_eq!(attributes["secret_refs"], held, "{kind}");
        assert_eq!(attributes["status"], "ACTIVE");
        assert!(attributes["container_ref"].as_str().unwrap().ends_with(&id));
        world.delete("all", kind, &properties, Some(&id)).await;
        assert_eq!(world.left(), before, "{kind}");
    }
}

#[tokio::test]
async fn a_key_is_ordered_and_goes_with_its_order() {
    let kind = "OS::Barbican::Order";
    let order = json!({"type": "key", "algorithm": "aes", "bit_length": 256, "mode": "cbc"});
    // Administrators delete the order; other users delete only its result.
    for user in ["admin", "demo"] {
        let world = World::of(user).await;
        let (id, attributes) = world.create_ready("key", kind, &order).await;
        assert_eq!(world.create("key", kind, &order).await.unwrap(), id);
        assert!(
            attributes["secret_ref"]
                .as_str()
                .unwrap()
                .contains("/secrets/")
        );
        assert_eq!(world.left().len(), 1, "{:?}", world.left());
        world.delete("key", kind, &order, Some(&id)).await;
        assert_eq!(world.left(), Vec::<String>::new());
    }
    let world = World::new().await;
    let odd = json!({"type": "key", "algorithm": "rot13", "bit_length": 256});
    let id = world.create("key", kind, &odd).await.unwrap();
    let why = world.wait_ready("key", kind, &odd, &id).await.unwrap_err();
    assert!(
        why.starts_with("the key manager gave up on the order for a secret: "),
        "{why}"
    );
    // The order remains, but is not used again.
    world.delete("key", kind, &odd, Some(&id)).await;
    let second = world.create("key", kind, &order).await.unwrap();
    assert_ne!(second, id);
    let ready = world
        .wait_ready("key", kind, &order, &second)
        .await
        .unwrap();
    // The same applies to an order whose key was deleted.
    let key = ready.attributes["secret_ref"].as_str().unwrap();
    let keys = world.session.key_manager();
    keys.remove(Kind::Secret, id_of(key)).await.unwrap();
    let why = world
        .wait_ready("key", kind, &order, &second)
        .await
        .unwrap_err();
    assert_eq!(
        why,
        "the order for a secret refers to something that is gone"
    );
    let third = world.create("key", kind, &order).await.unwrap();
    assert_ne!(third, second);
    assert_eq!(world.create("key", kind, &order).await.unwrap(), third);
}

/// A key pair is a container with two secrets. After an interrupted deletion, the next one finds the remaining parts.
#[tokio::test]
async fn a_pair_of_keys_goes_whatever_comes_between() {
    let kind = "OS::Barbican::Order";
    let order = json!({"type": "asymmetric", "algorithm": "rsa", "bit_length": 2048});
    for nth in 1..=4 {
        let world = World::new().await;
        let (id, attributes) = world.create_ready("pair", kind, &order).await;
        assert!(attributes["container_ref"].is_string(), "{attributes}");
        for half in ["public_key", "private_key"] {
            let text = attributes[half].as_str().unwrap();
            assert!(text.starts_with("-----BEGIN"), "{half}: {text}");
        }
        assert_eq!(world.left().len(), 3, "{:?}", world.left());
        world.lab.faults().add(Fault::Call(CallFault {
            service: Some("key-manager".into()),
            method: Some("DELETE".into()),
            nth: Some(nth),
            status: Some(500),
            ..CallFault::default()
        }));
        let stopped = world.with("pair", kind, &order, async |driver, context| {
            driver.delete(context, Some(&id)).await
        });
        assert!(stopped.await.is_err(), "DELETE number {nth}");
        world.delete("pair", kind, &order, Some(&id)).await;
        assert_eq!(world.left(), Vec::<String>::new(), "DELETE number {nth}");
    }
}
