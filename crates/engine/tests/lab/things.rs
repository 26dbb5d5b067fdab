//! Special resources: attached volumes, routes, waits.

use std::{collections::BTreeMap, time::Duration};

use api::{RunState, StepState};
use lab::{CallFault, Damage, Fault};

use crate::{
    bench::{Bench, steps},
    update::{ONE_SERVER, another_server, order, to},
};

#[tokio::test]
async fn a_volume_is_attached_to_the_next_server() {
    let bench = Bench::new().await;
    let with_disk = |server: &str| {
        server.replace(
            "outputs:",
            "  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: disk}}
outputs:",
        )
    };
    let deployment = bench.deployed(&with_disk(ONE_SERVER)).await;
    let before = bench.ids(&deployment).await;
    let run = bench
        .update(&deployment, to(&with_disk(&another_server())))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let after = bench.ids(&deployment).await;
    assert_eq!(before["disk"], after["disk"]);
    assert_eq!(after["plug"], format!("{}:{}", after["web"], after["disk"]));
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// An IPv4 and IPv6 network, whose second IPv6 subnet shares the router interface with the first.
const BOTH_FAMILIES: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  four: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  own:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, ip_version: 6, cidr: 'fd00:0:0:1::/64', ipv6_ra_mode: slaac, ipv6_address_mode: slaac}
  handed: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, ip_version: 6, cidr: 'fd00:0:0:2::/64'}}
  gate: {type: OS::Neutron::Router}
  foot_four: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: four}}}
  foot_own: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: own}}}
  foot_handed: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: handed}}}
  web:
    type: OS::Nova::Server
    depends_on: [four, own, handed]
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
";

#[tokio::test]
async fn a_network_with_ipv4_and_ipv6_is_created_and_deleted() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(BOTH_FAMILIES).await;
    bench.lab.model(|model| {
        let server = model.servers.iter().next().unwrap();
        let port = model.ports.get(&server.ports[0]).unwrap();
        let six = port.fixed_ips.iter().filter(|ip| ip.ip_address.is_ipv6());
        assert_eq!((port.fixed_ips.len(), six.count()), (3, 2), "{port:?}");
        let router = model.routers.iter().next().unwrap();
        let legs = model.router_interfaces(&router.id);
        let mut legs: Vec<usize> = legs.map(|leg| leg.fixed_ips.len()).collect();
        legs.sort_unstable();
        assert_eq!(legs, [1, 2], "all of IPv6 on one");
    });
    let run = bench.undeploy(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A router with routes through one next hop.
fn routed(ranges: &[&str]) -> String {
    let routes: Vec<String> = ranges
        .iter()
        .map(|range| format!("{{destination: {range}, nexthop: 10.0.1.9}}"))
        .collect();
    format!(
            "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.1.0/24}}}}
  gate: {{type: OS::Neutron::Router}}
  foot: {{type: OS::Neutron::RouterInterface, properties: {{router: {{get_resource: gate}}, subnet: {{get_resource: sub}}}}}}
  routes:
    type: OS::Neutron::ExtraRouteSet
    depends_on: foot
    properties: {{router: {{get_resource: gate}}, routes: [{}]}}
",
            routes.join(", ")
        )
}

impl Bench {
    fn routes(&self) -> Vec<String> {
        self.lab.model(|model| {
            let routes = model.routers.iter().flat_map(|router| &router.routes);
            routes.map(|route| route.destination.to_string()).collect()
        })
    }
}

#[tokio::test]
async fn routes_of_a_router_are_added_and_removed_one_by_one() {
    let bench = Bench::new().await;
    let deployment = bench
        .deployed(&routed(&["10.1.0.0/24", "10.2.0.0/24"]))
        .await;
    let run = bench
        .update(&deployment, to(&routed(&["10.2.0.0/24", "10.3.0.0/24"])))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["routes:update"]);
    assert_eq!(bench.routes(), ["10.2.0.0/24", "10.3.0.0/24"]);
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Responses are lost, and the process ends while routes are added. No route exists twice, none is lost, and a route
/// from another source is not adopted.
#[tokio::test]
async fn after_lost_responses_and_crashes_no_route_is_there_twice_or_lost() {
    let mut bench = Bench::new().await;
    for damage in [Damage::CutAfter, Damage::CutBefore] {
        bench.lab.faults().add(Fault::Call(CallFault {
            path: Some("*add_extraroutes".into()),
            damage: Some(damage),
            times: Some(1),
            ..CallFault::default()
        }));
        let (started, run) = bench.deploy(&routed(&["10.1.0.0/24"])).await;
        assert_eq!(steps(&run)["routes:create"], (StepState::Succeeded, 2));
        assert_eq!(bench.routes(), ["10.1.0.0/24"]);
        bench.undeploy(&started.deployment).await;
        assert_eq!(bench.left(), Vec::<String>::new());
    }

    bench.lab.faults().add(Fault::Call(CallFault {
        path: Some("*add_extraroutes".into()),
        delay_ms: 200,
        times: Some(1),
        ..CallFault::default()
    }));
    let started = bench.start(&routed(&["10.1.0.0/24"])).await;
    bench
        .until_step(&started.run, "routes:create", StepState::Running)
        .await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.routes(), ["10.1.0.0/24"]);

    // Another set with the same route is refused, and its deletion removes nothing.
    let second = routed(&["10.1.0.0/24"]).replace(
        "  routes:\n",
        "  more: {type: OS::Neutron::ExtraRouteSet, depends_on: routes, properties: {router: {get_resource: gate}, \
         routes: [{destination: 10.1.0.0/24, nexthop: 10.0.1.9}]}}\n  routes:\n",
    );
    let run = bench.update(&started.deployment, to(&second)).await;
    assert_eq!(steps(&run)["more:create"].0, StepState::Failed, "{run:#?}");
    let run = bench
        .update(&started.deployment, to(&routed(&["10.1.0.0/24"])))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.routes(), ["10.1.0.0/24"]);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_delay_waits_at_the_given_actions() {
    let bench = Bench::new().await;
    let template = "heat_template_version: 2021-04-16
resources:
  at_once: {type: OS::Heat::Delay, properties: {min_wait: 1, actions: [DELETE]}}
  both: {type: OS::Heat::Delay, properties: {min_wait: 1, jitter_multiplier: 0, max_jitter: 500, actions: [CREATE, DELETE]}}
";
    let took = async |run: &api::Run| -> BTreeMap<String, bool> {
        let events = bench.engine.events(&bench.tenant, &run.id, 0, 1000).await;
        let mut waited: BTreeMap<String, bool> = run
            .steps
            .iter()
            .map(|one| (one.id.clone(), false))
            .collect();
        for event in events.unwrap() {
            if let api::EventBody::Log(api::LogLine { step, text, .. }) = event.body
                && (text.contains(" left to wait") || text.contains(" before the deletion of "))
            {
                waited.insert(step, true);
            }
        }
        waited
    };
    let (started, run) = bench.deploy(template).await;
    let waited = took(&run).await;
    assert_eq!(
        (waited["at_once:create"], waited["both:create"]),
        (false, true)
    );
    let run = bench.undeploy(&started.deployment).await;
    let waited = took(&run).await;
    assert_eq!(
        (waited["at_once:delete"], waited["both:delete"]),
        (true, true)
    );
}

/// A new size, a new password, and an image of the deleted server.
#[tokio::test]
async fn a_server_is_resized_and_leaves_a_snapshot() {
    let bench = Bench::new().await;
    let with = |more: &str| {
        ONE_SERVER
            .replace("  web:\n", "  web:\n    deletion_policy: Snapshot\n")
            .replace("flavor: m1.tiny,", more)
    };
    let facts = serde_json::from_value(serde_json::json!({
        "images": [{"id": "1", "name": "debian-12"}],
        "flavors": [{"id": "1", "name": "m1.tiny", "vcpus": 1, "ram_mib": 512, "disk_gib": 1},
                    {"id": "2", "name": "m1.small", "vcpus": 1, "ram_mib": 2048, "disk_gib": 20}],
    }));
    let changes = engine::Changes {
        cloud: facts.unwrap(),
        ..to(&with("flavor: m1.small, admin_pass: n3w-pass,"))
    };
    let (started, _) = bench.deploy(&with("flavor: m1.tiny,")).await;
    let before = bench.ids(&started.deployment).await;
    bench.lab.faults().clear_calls();
    // The lab's servers do not support passwords, so the response is faked.
    bench.lab.faults().add(Fault::Call(CallFault {
        path: Some("*/action".into()),
        nth: Some(1),
        status: Some(202),
        ..CallFault::default()
    }));
    let run = bench.update(&started.deployment, changes).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["web:update"]);
    assert_eq!(bench.ids(&started.deployment).await, before);
    let calls = bench.lab.faults().calls();
    let actions = calls
        .iter()
        .filter(|call| call.method == "POST" && call.path.ends_with("/action"))
        .count();
    assert_eq!(
        actions, 3,
        "password, size, and that it is right: {calls:?}"
    );

    // The second attempt finds the first one's snapshot.
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("DELETE".into()),
        status: Some(500),
        times: Some(1),
        ..CallFault::default()
    }));
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let left = bench.left();
    assert!(left.len() == 1 && left[0].contains("snapshot"), "{left:?}");
}

/// The members of a group are created in batches, with a pause between them.
#[tokio::test]
async fn a_group_pauses_between_batches() {
    let bench = Bench::new().await;
    let group = |name: &str| {
        format!(
            "heat_template_version: 2021-04-16\nresources:\n  g:\n    type: OS::Heat::ResourceGroup\n    update_policy:\n      \
             batch_create: {{max_batch_size: 1, pause_time: 1}}\n      rolling_update: {{pause_time: 1}}\n    properties:\n      count: 2\n      \
             resource_def: {{type: OS::Neutron::Net, properties: {{name: {name}}}}}\n"
        )
    };
    let began = std::time::Instant::now();
    let (started, run) = bench.deploy(&group("one")).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(
        order(&run),
        ["g/0:create", "g:pause-1", "g/1:create", "g:create"]
    );
    assert!(began.elapsed() >= Duration::from_secs(1));
    let began = std::time::Instant::now();
    let run = bench.update(&started.deployment, to(&group("two"))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["g/0:update", "g:pause-1", "g/1:update"]);
    assert!(began.elapsed() >= Duration::from_secs(1));
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A too long wait before the deletion is refused at creation, because the deletion cannot skip it.
#[tokio::test]
async fn a_wait_before_deletion_that_is_too_long_is_refused_at_once() {
    for properties in [
        "OS::Heat::Delay, properties: {min_wait: 900, actions: [DELETE]}",
        "OS::Heat::TestResource, properties: {action_wait_secs: {delete: 700}}",
    ] {
        let bench = Bench::new().await;
        let template = format!(
            "heat_template_version: 2021-04-16\nresources:\n  wait: {{type: {properties}}}\n"
        );
        let (_, run) = bench.deploy(&template).await;
        assert_eq!(run.state, RunState::Failed, "{run:#?}");
        let reason = run.reason.unwrap();
        assert!(reason.contains("540 seconds at most"), "{reason}");
    }
}

#[tokio::test]
async fn a_port_that_loses_its_security_group_lets_it_go() {
    let bench = Bench::new().await;
    let template = |groups: &str, group: &str| {
        format!(
            "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  port: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: net}}{groups}}}}}
{group}outputs:
  groups: {{value: {{get_attr: [port, security_groups]}}}}
"
        )
    };
    let with_group = template(
        ", security_groups: [{get_resource: group}]",
        "  group: {type: OS::Neutron::SecurityGroup}\n",
    );
    let deployment = bench.deployed(&with_group).await;
    let before = bench.ids(&deployment).await;
    let run = bench.update(&deployment, to(&template("", ""))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = bench.engine.deployment(&bench.tenant, &deployment);
    let groups = shown.await.unwrap().outputs["groups"]
        .value
        .clone()
        .unwrap();
    // The project's own group, as for a port that was made without one.
    assert_eq!(groups.as_array().unwrap().len(), 1);
    assert_ne!(groups[0], before["group"].as_str());
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
