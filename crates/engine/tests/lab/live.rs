//! Resources as the cloud has them now: their status, addresses and attachments.

use std::{collections::BTreeMap, time::Duration};

use api::LiveResource;
use lab::{CallFault, Fault, Lab};
use openstack::network::FloatingIp;
use tokio::{task::JoinSet, time::timeout};

use crate::bench::{Bench, PATIENCE};

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  port: {type: OS::Neutron::Port, depends_on: foot, properties: {network: {get_resource: net}}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{port: {get_resource: port}}]}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: port}}}
  spare: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: disk}}}
  lb: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: {get_resource: sub}}}
";

/// Parts of the load balancer, a trunk, and a resource without a status or an address.
const MORE: &str = "  door: {type: OS::Octavia::Listener, properties: {loadbalancer: {get_resource: lb}, protocol: HTTP, protocol_port: 80}}
  pool: {type: OS::Octavia::Pool, properties: {loadbalancer: {get_resource: lb}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}}
  member: {type: OS::Octavia::PoolMember, properties: {pool: {get_resource: pool}, address: 10.0.1.9, protocol_port: 80}}
  up: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  trunk: {type: OS::Neutron::Trunk, properties: {port: {get_resource: up}}}
  rules: {type: OS::Neutron::SecurityGroup}
";

/// Number of requests to the cloud that the pages of one project have under way at most.
const PAGE_REQUESTS: usize = 8;

impl Bench {
    /// Searches for strays that hang in the cloud. Until the returned set is dropped, they keep all of the project's slots
    /// for requests of pages. The deployment has a network.
    pub async fn hanging_searches(&self, deployment: &str) -> JoinSet<()> {
        const LIST: &str = "/v2.0/networks";
        self.lab.faults().add(Fault::Call(CallFault {
            service: Some("network".into()),
            method: Some("GET".into()),
            path: Some(LIST.into()),
            delay_ms: 3_600_000,
            ..CallFault::default()
        }));
        self.lab.faults().clear_calls();
        let mut searches = JoinSet::new();
        for _ in 0..PAGE_REQUESTS {
            let (engine, actor) = (self.engine.clone(), self.actor.clone());
            let deployment = deployment.to_owned();
            searches.spawn(async move {
                let _never = engine.strays(&actor, &deployment).await;
            });
        }
        self.eventually("the searches hang", async || {
            let calls = self.lab.faults().calls().into_iter();
            calls.filter(|call| call.path == LIST).count() >= PAGE_REQUESTS
        })
        .await;
        searches
    }

    async fn live(&self, deployment: &str) -> BTreeMap<String, LiveResource> {
        let live = self.engine.live_resources(&self.actor, deployment).await;
        let live = live.unwrap();
        assert!(live.failed.is_empty(), "{:?}", live.failed);
        let live = live.resources.into_iter();
        live.map(|one| (one.name.clone(), one)).collect()
    }
}

#[tokio::test]
async fn states_addresses_and_attachments_are_read_from_the_cloud() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&format!("{TEMPLATE}{MORE}")).await;
    let live = bench.live(&deployment).await;
    let names: Vec<&str> = live.keys().map(String::as_str).collect();
    let expected = [
        "address", "disk", "door", "gate", "lb", "member", "net", "pool", "port", "spare", "sub",
        "trunk", "up",
    ];
    assert_eq!(names, expected);

    assert_eq!(live["address"].status.as_deref(), Some("ACTIVE"));
    assert_eq!(live["address"].addresses.len(), 1);
    assert_eq!(live["address"].attached_to, ["port"]);
    assert_eq!(live["spare"].status.as_deref(), Some("DOWN"));
    assert_eq!(live["spare"].attached_to, Vec::<String>::new());
    assert_eq!(live["disk"].status.as_deref(), Some("in-use"));
    assert_eq!(live["disk"].attached_to, ["web"]);
    assert_eq!(live["lb"].status.as_deref(), Some("ACTIVE"));
    assert!(live["lb"].operating_status.is_some());
    let vip = &live["lb"].addresses[0];
    assert!(vip.starts_with("10.0.1."), "{vip}");

    assert_eq!(live["net"].status.as_deref(), Some("ACTIVE"));
    assert_eq!(live["gate"].status.as_deref(), Some("ACTIVE"));
    assert_eq!(live["gate"].addresses.len(), 1);
    assert_eq!(live["sub"].status, None);
    assert_eq!(live["sub"].addresses, ["10.0.1.0/24"]);
    assert_eq!(live["port"].status.as_deref(), Some("ACTIVE"));
    assert!(live["port"].addresses[0].starts_with("10.0.1."));
    assert_eq!(live["port"].attached_to, ["web"]);
    assert_eq!(live["up"].status.as_deref(), Some("DOWN"));
    assert_eq!(live["trunk"].status.as_deref(), Some("DOWN"));
    assert_eq!(live["trunk"].attached_to, ["up"]);
    for part in ["door", "pool", "member"] {
        assert_eq!(live[part].status.as_deref(), Some("ACTIVE"), "{part}");
    }
    let watched = live["member"].operating_status.as_deref();
    assert_eq!(watched, Some("NO_MONITOR"));
    assert_eq!(live["member"].addresses, ["10.0.1.9"]);

    // What somebody deletes is gone.
    let spare = bench.ids(&deployment).await["spare"].clone();
    let network = bench.actor.session.network();
    network.delete::<FloatingIp>(&spare).await.unwrap();
    let live = bench.live(&deployment).await;
    let gone = LiveResource {
        name: "spare".into(),
        is_gone: true,
        ..LiveResource::default()
    };
    assert_eq!(live["spare"], gone);

    bench.undeploy(&deployment).await;
    assert_eq!(bench.live(&deployment).await, BTreeMap::new());
}

#[tokio::test]
async fn members_are_gone_with_their_load_balancer() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&format!("{TEMPLATE}{MORE}")).await;
    let balancer = bench.ids(&deployment).await["lb"].clone();
    let octavia = bench.actor.session.load_balancer();
    octavia.delete_cascade(&balancer).await.unwrap();
    let gone = async { while !bench.live(&deployment).await["member"].is_gone {} };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    let live = bench.live(&deployment).await;
    assert!(live["lb"].is_gone && live["pool"].is_gone && live["door"].is_gone);
    assert!(!live["sub"].is_gone);
    bench.undeploy(&deployment).await;
}

#[tokio::test]
async fn a_service_that_fails_is_named_beside_the_resources_of_the_others() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TEMPLATE).await;
    let listing = |service: &str| CallFault {
        service: Some(service.into()),
        method: Some("GET".into()),
        ..CallFault::default()
    };
    bench.lab.faults().add(Fault::Call(CallFault {
        status: Some(500),
        ..listing("load-balancer")
    }));
    bench.lab.faults().add(Fault::Call(CallFault {
        delay_ms: 60_000,
        ..listing("block-storage")
    }));
    let live = bench.engine.live_resources(&bench.actor, &deployment).await;
    let live = live.unwrap();
    let names: Vec<&str> = live.resources.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["address", "gate", "net", "port", "spare", "sub"]);
    let failed: Vec<(&str, &str)> = live
        .failed
        .iter()
        .map(|one| (one.service.as_str(), one.reason.as_str()))
        .collect();
    let [(late, in_time), (broken, why)] = failed[..] else {
        panic!("{failed:?}");
    };
    let told = "the block-storage service did not answer in time";
    assert_eq!((late, in_time), ("block-storage", told));
    assert_eq!(broken, "load-balancer");
    assert!(why.contains("was answered with 500"), "{why}");

    bench.lab.faults().clear();
    assert!(bench.live(&deployment).await.contains_key("lb"));
    bench.undeploy(&deployment).await;
}

#[tokio::test]
async fn a_service_that_hangs_is_not_mistaken_for_others_that_wait_for_a_slot() {
    let lab = Lab::memory().await.unwrap();
    let shorter = |config: &mut engine::Config| config.read_patience = Duration::from_secs(2);
    let bench = Bench::with_config(lab, "no-catalog".as_ref(), PATIENCE, PATIENCE, shorter).await;
    let deployment = bench.deployed(&format!("{TEMPLATE}{MORE}")).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("GET".into()),
        delay_ms: 60_000,
        ..CallFault::default()
    }));
    // Together, two pages have more requests to Neutron than the project has slots.
    let read = || bench.engine.live_resources(&bench.actor, &deployment);
    let (one, other) = futures::future::join(read(), read()).await;
    for live in [one.unwrap(), other.unwrap()] {
        let failed = live.failed.iter();
        let failed: Vec<_> = failed.map(|one| one.reason.as_str()).collect();
        assert_eq!(failed, ["the network service did not answer in time"]);
        assert!(live.resources.iter().any(|one| one.name == "lb"));
    }
}

#[tokio::test]
async fn the_wait_for_a_slot_is_not_counted_as_the_clouds_delay_at_the_list_of_servers() {
    let limit = Duration::from_secs(2);
    let lab = Lab::memory().await.unwrap();
    let shorter = |config: &mut engine::Config| config.read_patience = limit;
    let bench = Bench::with_config(lab, "no-catalog".as_ref(), PATIENCE, PATIENCE, shorter).await;
    let deployment = bench.deployed(TEMPLATE).await;
    let searches = bench.hanging_searches(&deployment).await;
    let list = || bench.engine.live_servers(&bench.actor, &deployment);

    // The cloud was not asked, so it is not late.
    let late = list().await.unwrap_err().to_string();
    assert!(late.contains("was not asked for its servers"), "{late}");

    // A request that gets its slot after the time of an answer still has the time of an answer.
    let mut listed = std::pin::pin!(list());
    assert!(
        timeout(limit + Duration::from_millis(200), &mut listed)
            .await
            .is_err()
    );
    drop(searches);
    let servers = listed.await.unwrap();
    assert_eq!(servers[0].status.as_deref(), Some("ACTIVE"));
}

#[tokio::test]
async fn a_deployment_of_another_project_is_not_read() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(TEMPLATE).await;
    let other = bench.log_in("other").await;
    let read = bench.engine.live_resources(&other, &started.deployment);
    assert_eq!(read.await.unwrap_err().code(), "not-found");
    bench.undeploy(&started.deployment).await;
}
