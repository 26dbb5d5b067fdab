//! All drivers against the lab cloud in memory: repeated creation, lost responses, repeated deletion.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod admin;
mod associations;
mod network_types;
mod qos;
mod world;

use drivers::{DriverError, Marker};
use drivers::{bastion, driver_for};
use lab::{CallFault, Damage, Fault, ServerFault, ServerTrouble};
use openstack::network::{SecurityGroup, SecurityGroupRule};
use serde_json::{Value, json};
use world::{World, marker, of, poll_pause, reference, with_timeout};

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
        // Resources without a marker are identified by their properties, or by their id.
        let joins = matches!(one.name, "foot" | "led");
        let known = if joins {
            one.properties.clone()
        } else {
            json!({})
        };
        let id = Some(one.id.as_str()).filter(|_| one.name == "mine");
        world.delete(one.name, one.kind, &known, id).await;
        if one.name == "web" {
            with_timeout(async {
                while !world
                    .session
                    .compute()
                    .server_list(&[])
                    .await
                    .unwrap()
                    .is_empty()
                {
                    poll_pause().await;
                }
            })
            .await;
        }
    }
    // The deletion of a volume takes a moment.
    with_timeout(async {
        while !world.left().is_empty() {
            poll_pause().await;
        }
    })
    .await;
}

/// The response to each changing call is lost in turn, and the call is repeated: there are no duplicates.
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
        .wait_ready("web", "OS::Nova::Server", &server, &first)
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
        .wait_ready("web", "OS::Nova::Server", &server, &second)
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
    // These types support no updates: key, key pair, router interface, rule, server group, secret and attachment.
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
            .wait_ready(one.name, one.kind, &one.properties, &one.id)
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
    // Another server has another address.
    open("192.0.2.8").await;
    assert_eq!(ingress().await, ["192.0.2.7/32", "192.0.2.8/32"]);
    let other = ["192.0.2.8".parse().unwrap()];
    bastion::close(&world.session, &marker, &other)
        .await
        .unwrap();
    assert_eq!(ingress().await, ["192.0.2.8/32"]);
    for _ in 0..2 {
        // The incarnation of the server is irrelevant: a rollback can have restored another one.
        bastion::close(
            &world.session,
            &Marker {
                resource: "web#1".into(),
                ..marker.clone()
            },
            &[],
        )
        .await
        .unwrap();
        assert!(ingress().await.is_empty());
    }
}

/// The planner relies on `runs` in descriptions, so it must match the drivers.
#[test]
fn descriptions_and_drivers_agree_on_what_can_be_made() {
    use types::{Executable, Registry};

    let registry = Registry::openstack();
    let wrong: Vec<String> = registry
        .iter()
        .filter(|described| !planner::members::is_parent(&described.name))
        .filter(|described| planner::compose::native_type(&described.name).is_none())
        .filter(|described| {
            let promised = matches!(described.executable, Executable::Driver | Executable::Local);
            promised != driver_for(&described.name).is_some()
        })
        .map(|described| format!("{} says {:?}", described.name, described.executable))
        .collect();
    assert!(
        wrong.is_empty(),
        "`runs:` of these files in crates/types/descriptions is not what `driver_for` knows: {wrong:?}"
    );
}
