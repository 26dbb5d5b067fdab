//! Floating IPs, load balancers and volumes as the cloud has them now.

use std::collections::BTreeMap;

use api::LiveResource;
use openstack::network::FloatingIp;

use crate::bench::Bench;

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

impl Bench {
    async fn live(&self, deployment: &str) -> BTreeMap<String, LiveResource> {
        let live = self.engine.live_resources(&self.actor, deployment).await;
        let live = live.unwrap().into_iter();
        live.map(|one| (one.name.clone(), one)).collect()
    }
}

#[tokio::test]
async fn states_addresses_and_attachments_are_read_from_the_cloud() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TEMPLATE).await;
    let live = bench.live(&deployment).await;
    let names: Vec<&str> = live.keys().map(String::as_str).collect();
    assert_eq!(names, ["address", "disk", "lb", "spare"]);

    assert_eq!(live["address"].status.as_deref(), Some("ACTIVE"));
    assert!(live["address"].address.is_some());
    assert_eq!(live["address"].attached_to, ["port"]);
    assert_eq!(live["spare"].status.as_deref(), Some("DOWN"));
    assert_eq!(live["spare"].attached_to, Vec::<String>::new());
    assert_eq!(live["disk"].status.as_deref(), Some("in-use"));
    assert_eq!(live["disk"].attached_to, ["web"]);
    assert_eq!(live["lb"].status.as_deref(), Some("ACTIVE"));
    assert!(live["lb"].operating_status.is_some());
    let vip = live["lb"].address.as_deref().unwrap();
    assert!(vip.starts_with("10.0.1."), "{vip}");

    // What somebody deletes is gone.
    let spare = bench.ids(&deployment).await["spare"].clone();
    let network = bench.actor.session.network();
    network.delete::<FloatingIp>(&spare).await.unwrap();
    let live = bench.live(&deployment).await;
    let gone = LiveResource {
        name: "spare".into(),
        ..LiveResource::default()
    };
    assert_eq!(live["spare"], gone);

    bench.undeploy(&deployment).await;
    assert_eq!(bench.live(&deployment).await, BTreeMap::new());
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
