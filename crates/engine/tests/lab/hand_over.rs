//! Values that move between two remaining resources, and deletions of ports in use.

use std::collections::BTreeMap;

use api::{ResourceState, RunState, StepState};
use lab::{CallFault, Fault};
use openstack::network::Port;

use crate::{
    bench::{Bench, steps},
    update::{order, to},
};

/// Two ports behind a router.
const TWO_PORTS: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  one: {type: OS::Neutron::Port, properties: {network: {get_resource: net}, fixed_ips: [{ip_address: 10.0.1.11}]}}
  two: {type: OS::Neutron::Port, properties: {network: {get_resource: net}, fixed_ips: [{ip_address: 10.0.1.12}]}}
";

/// Two floating IPs that are associated with the ports.
fn leading_to(first: &str, second: &str) -> String {
    let mut template = TWO_PORTS.to_owned();
    for (name, port) in [("first", first), ("second", second)] {
        template += &format!(
            "  {name}: {{type: OS::Neutron::FloatingIP, properties: {{floating_network: public, port_id: {{get_resource: {port}}}}}}}\n"
        );
    }
    template
}

impl Bench {
    /// The port of each floating IP, both by their names in the template.
    async fn led(&self, deployment: &str) -> BTreeMap<String, String> {
        let ids = self.ids(deployment).await;
        let name_of = |id: &str| {
            let found = ids.iter().find(|(_, known)| *known == id);
            found.map_or_else(String::new, |(name, _)| name.clone())
        };
        self.lab.model(|model| {
            let all = model.floating_ips.iter();
            all.map(|one| {
                (
                    name_of(&one.id),
                    name_of(one.port_id.as_deref().unwrap_or_default()),
                )
            })
            .collect()
        })
    }
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(one, other): &(&str, &str)| ((*one).to_owned(), (*other).to_owned());
    pairs.iter().map(own).collect()
}

#[tokio::test]
async fn two_floating_ips_swap_their_ports() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(&leading_to("one", "two")).await;
    let before = bench.ids(&started.deployment).await;
    assert_eq!(
        bench.led(&started.deployment).await,
        pairs(&[("first", "one"), ("second", "two")])
    );
    let run = bench
        .update(&started.deployment, to(&leading_to("two", "one")))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let swapped = pairs(&[("first", "two"), ("second", "one")]);
    assert_eq!(bench.led(&started.deployment).await, swapped);
    assert_eq!(bench.ids(&started.deployment).await, before);
    // A floating IP that loses its port frees it for the other one.
    let nowhere = leading_to("one", "two").replace(
        "  second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: two}}}\n",
        "  second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}\n",
    );
    let run = bench.update(&started.deployment, to(&nowhere)).await;
    assert_eq!(order(&run), ["second:update", "first:update"]);
    assert_eq!(
        bench.led(&started.deployment).await,
        pairs(&[("first", "one"), ("second", "")])
    );
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// After a failure of any call of the exchange, the deployment can be rolled back or continued.
#[tokio::test]
async fn a_failed_swap_is_rolled_back_and_resumed() {
    for nth in 1..=3 {
        for goes_back in [true, false] {
            let bench = Bench::new().await;
            let (started, _) = bench.deploy(&leading_to("one", "two")).await;
            bench.lab.faults().add(Fault::Call(CallFault {
                method: Some("PUT".into()),
                path: Some("*floatingips*".into()),
                nth: Some(nth),
                status: Some(400),
                ..CallFault::default()
            }));
            bench.lab.faults().add(Fault::Call(CallFault {
                method: Some("PUT".into()),
                path: Some("*floatingips*".into()),
                nth: Some(nth + 1),
                status: Some(400),
                ..CallFault::default()
            }));
            let run = bench
                .update(&started.deployment, to(&leading_to("two", "one")))
                .await;
            bench.lab.faults().clear();
            let shown = bench.shown(&started.deployment).await;
            let is_at_work = shown
                .resources
                .iter()
                .any(|one| one.state == ResourceState::Updating);
            assert!(!is_at_work, "nothing works on them: {shown:#?}");
            let expected = match (run.state, goes_back) {
                (RunState::Failed, true) => {
                    let run = bench.rolls_back(&started.deployment).await;
                    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
                    [("first", "one"), ("second", "two")]
                }
                (RunState::Failed, false) => {
                    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
                    bench.until_state(&run.id, RunState::Succeeded).await;
                    [("first", "two"), ("second", "one")]
                }
                _ => [("first", "two"), ("second", "one")],
            };
            let led = bench.led(&started.deployment).await;
            assert_eq!(led, pairs(&expected), "call {nth}, back: {goes_back}");
        }
    }
}

#[tokio::test]
async fn two_ports_swap_their_addresses() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(TWO_PORTS).await;
    let before = bench.ids(&started.deployment).await;
    let swapped = TWO_PORTS
        .replace("10.0.1.11", "10.0.1.99")
        .replace("10.0.1.12", "10.0.1.11")
        .replace("10.0.1.99", "10.0.1.12");
    let run = bench.update(&started.deployment, to(&swapped)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(&started.deployment).await, before);
    bench.lab.model(|model| {
        let address = |name: &str| {
            let port = model.ports.get(&before[name]).unwrap();
            port.fixed_ips[0].ip_address.to_string()
        };
        assert_eq!(
            (address("one").as_str(), address("two").as_str()),
            ("10.0.1.12", "10.0.1.11")
        );
    });
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Two trunks, and two ports that can be their subports.
fn trunks(first: &str, second: &str, mac: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.1.0/24}}}}
  inner: {{type: OS::Neutron::Net}}
  inner_sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: inner}}, cidr: 10.0.2.0/24}}}}
  up: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
  down: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}}}}}
  one: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: inner}}, mac_address: '{mac}', fixed_ips: [{{ip_address: 10.0.2.9}}]}}}}
  two: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: inner}}}}}}
  first:
    type: OS::Neutron::Trunk
    properties:
      port: {{get_resource: up}}
      sub_ports: [{{port: {{get_resource: {first}}}, segmentation_type: vlan, segmentation_id: 101}}]
  second:
    type: OS::Neutron::Trunk
    properties:
      port: {{get_resource: down}}
      sub_ports: [{{port: {{get_resource: {second}}}, segmentation_type: vlan, segmentation_id: 102}}]
"
    )
}

impl Bench {
    /// A trunk's subports, by names in the template.
    async fn carried(&self, deployment: &str, trunk: &str) -> Vec<String> {
        let ids = self.ids(deployment).await;
        self.lab.model(|model| {
            let trunk = model.trunks.get(&ids[trunk]).unwrap();
            let name_of = |id: &str| {
                let found = ids.iter().find(|(_, known)| *known == id);
                found.unwrap().0.clone()
            };
            trunk
                .sub_ports
                .iter()
                .map(|sub| name_of(&sub.port_id))
                .collect()
        })
    }
}

const MAC: &str = "fa:16:3e:00:00:01";

/// The port's address is in use until its predecessor is deleted, which Neutron refuses while the trunk uses it.
#[tokio::test]
async fn a_port_in_a_trunk_is_replaced_while_the_trunk_stays() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&trunks("one", "two", MAC)).await;
    let before = bench.ids(&deployment).await;
    let another = trunks("one", "two", "fa:16:3e:00:00:02");
    let run = bench.update(&deployment, to(&another)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(
        order(&run),
        ["one:delete-old", "one:create", "first:update"]
    );
    assert_eq!(steps(&run)["one:delete-old"], (StepState::Succeeded, 1));
    let after = bench.ids(&deployment).await;
    assert_eq!(
        (&before["first"], &before["two"]),
        (&after["first"], &after["two"])
    );
    assert_ne!(before["one"], after["one"]);
    assert_eq!(bench.carried(&deployment, "first").await, ["one"]);
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn two_trunks_swap_their_subports() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(&trunks("one", "two", MAC)).await;
    let before = bench.ids(&started.deployment).await;
    let run = bench
        .update(&started.deployment, to(&trunks("two", "one", MAC)))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(&started.deployment).await, before);
    assert_eq!(bench.carried(&started.deployment, "first").await, ["two"]);
    assert_eq!(bench.carried(&started.deployment, "second").await, ["one"]);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// The association is its own resource: a change of the floating IP itself does not remove it.
#[tokio::test]
async fn a_floating_ip_associated_elsewhere_stays_associated() {
    let bench = Bench::new().await;
    let template = |tags: &str| {
        format!(
            "{TWO_PORTS}  first: {{type: OS::Neutron::FloatingIP, properties: {{floating_network: public{tags}}}}}
  led: {{type: OS::Neutron::FloatingIPAssociation, depends_on: foot, properties: {{floatingip_id: {{get_resource: first}}, port_id: {{get_resource: one}}}}}}
"
        )
    };
    let deployment = bench.deployed(&template("")).await;
    let run = bench
        .update(&deployment, to(&template(", dns_name: shop")))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let led = bench.led(&deployment).await;
    assert!(led.values().all(|port| port == "one"), "{led:?}");
}

/// A deleted port cannot release its address. The run creates the port again once the other one has the address.
#[tokio::test]
async fn a_port_takes_the_address_of_a_deleted_port() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(TWO_PORTS).await;
    let before = bench.ids(&started.deployment).await;
    let network = bench.actor.session.network();
    network.delete::<Port>(&before["two"]).await.unwrap();
    let swapped = TWO_PORTS
        .replace("10.0.1.11", "10.0.1.99")
        .replace("10.0.1.12", "10.0.1.11")
        .replace("10.0.1.99", "10.0.1.12");
    let run = bench.update(&started.deployment, to(&swapped)).await;
    assert_eq!(
        steps(&run)["one:update"],
        (StepState::Succeeded, 1),
        "{run:#?}"
    );
}

/// The error must not be about missing trunk support.
#[tokio::test]
async fn a_port_in_use_is_reported_on_a_cloud_without_trunks() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(TWO_PORTS).await;
    let fault = |method: &str, path: &str, status: u16, message: &str| {
        Fault::Call(CallFault {
            service: Some("network".into()),
            method: Some(method.into()),
            path: Some(path.into()),
            status: Some(status),
            body: Some(format!(
                "{{\"NeutronError\": {{\"type\": \"\", \"message\": \"{message}\", \"detail\": \"\"}}}}"
            )),
            ..CallFault::default()
        })
    };
    for word in ["a balancer uses it", "it is a subport for trunk x"] {
        bench.lab.faults().clear();
        let faults = bench.lab.faults();
        faults.add(fault("DELETE", "*ports/*", 409, word));
        faults.add(fault(
            "GET",
            "*trunks*",
            404,
            "The resource could not be found.",
        ));
        let run = bench.undeploy(&started.deployment).await;
        assert_eq!(run.state, RunState::Failed, "{run:#?}");
        let failed = run.steps.iter().find(|step| step.id == "one:delete");
        let error = failed.unwrap().error.clone().unwrap_or_default();
        assert!(error.contains(word), "{error}");
    }
}

/// A trunk that releases a port keeps the others, for each continuation of the run.
#[tokio::test]
async fn a_trunk_releases_only_the_subports_that_others_take() {
    let bench = Bench::new().await;
    let more = |first: &str, second: &str| {
        let also = |tag: u32, port: &str| {
            (
                format!("segmentation_id: {tag}}}]"),
                format!(
                    "segmentation_id: {tag}}}, {{port: {{get_resource: {port}}}, segmentation_type: vlan, segmentation_id: 103}}]"
                ),
            )
        };
        let mut template = trunks(first, second, MAC);
        for (before, with) in [also(101, "three"), also(102, "four")] {
            template = template.replace(&before, &with);
        }
        let port = "{type: OS::Neutron::Port, properties: {network: {get_resource: inner}}}";
        format!("{template}  three: {port}\n  four: {port}\n")
    };
    let deployment = bench.deployed(&more("one", "two")).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        method: Some("PUT".into()),
        path: Some("*add_subports".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let run = bench.update(&deployment, to(&more("two", "one"))).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let first = bench.carried(&deployment, "first").await;
    let second = bench.carried(&deployment, "second").await;
    assert!(first.contains(&"three".to_owned()), "{first:?}");
    assert!(second.contains(&"four".to_owned()), "{second:?}");

    bench.lab.faults().clear();
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    let mut first = bench.carried(&deployment, "first").await;
    first.sort();
    assert_eq!(first, ["three", "two"]);
}
