//! The lower bound: creation of the same resources with the minimum of calls.
//!
//! Calls run one after the other, so that the services handle one at a time. There is no search for markers, no
//! journal, and no poll of resources that are ready at once. The services' time for a server, its port and its address
//! is the same for every client, and most of it is spent on calls among the services. An ideal client would keep all
//! processors busy with only this work. It would need this time divided by the number of processors.
//!
//! Each kind of resource is measured separately.

use std::path::Path;
use std::time::{Duration, Instant};

use openstack::network::{
    Entity, FloatingIp, Network, Port, Router, SecurityGroup, SecurityGroupRule, Subnet,
};
use openstack::{Error, Method, Service, Session};
use serde_json::{Value, json};

use super::design::KEY;
use super::meter::{Meter, Taken, Who};

/// Pause between two polls of Nova.
const LOOK: Duration = Duration::from_secs(2);
/// Neutron collects its notifications to Nova for two seconds. Nova's work for them counts as the server's.
const AFTERMATH: Duration = Duration::from_secs(5);
/// Time limit of Nova's part on any machine.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The cost of one part, and its number of resources.
pub struct Part {
    pub what: &'static str,
    pub things: usize,
    pub taken: Taken,
}

/// Creation, then deletion.
pub struct Floor {
    pub create: Vec<Part>,
    pub delete: Vec<Part>,
}

/// Ids of the resources around the servers.
struct Around {
    name: String,
    outside: String,
    network: String,
    subnet: String,
    router: String,
    group: String,
}

/// Creates and deletes `size` servers. Leftovers of an error are removed by name.
pub async fn measure(
    session: &Session,
    name: &str,
    size: usize,
    logs: Option<&Path>,
) -> Result<Floor, Error> {
    let mut stages = Stages::new(logs);
    let around = Around::make(session, name).await?;
    stages.end("network, router, group, key", 1);
    let network = session.network();
    let (mut ports, mut addresses, mut servers) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..size {
        let name = format!("{name}-{index}");
        let port: Port = network.create(&around.port(&name)).await?;
        ports.push(port.id);
    }
    stages.end("port", size);
    for port in &ports {
        let fields = json!({"floating_network_id": around.outside, "port_id": port, "description": "stackloom:floor"});
        let address: FloatingIp = network.create(&fields).await?;
        addresses.push(address.id);
    }
    stages.end("floating IP", size);
    let image = session.image().image_find("fake-image").await?.id;
    let flavor = session.compute().flavor_find("m1.nano").await?.id;
    for (index, port) in ports.iter().enumerate() {
        let fields = json!({"name": format!("{name}-{index}"), "imageRef": image, "flavorRef": flavor,
            "key_name": around.name, "networks": [{"port": port}]});
        servers.push(session.compute().server_create(&fields, None).await?);
    }
    none_are(session, &servers, ("status", "BUILD")).await?;
    stages.end("server", size);
    let create = stages.all();

    for server in &servers {
        session.compute().server_delete(server).await?;
    }
    none_are(session, &servers, ("task_state", "deleting")).await?;
    stages.end("server", size);
    for address in &addresses {
        network.delete::<FloatingIp>(address).await?;
    }
    stages.end("floating IP", size);
    for port in &ports {
        network.delete::<Port>(port).await?;
    }
    stages.end("port", size);
    around.remove(session).await?;
    stages.end("network, router, group, key", 1);
    let delete = stages.all();
    Ok(Floor { create, delete })
}

/// Waits until none of them is in this state any more, and until Nova has handled the notifications.
async fn none_are(
    session: &Session,
    servers: &[String],
    (field, value): (&str, &str),
) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        tokio::time::sleep(LOOK).await;
        let call = session.call(Service::Compute, Method::GET, &["servers"]);
        let call = call.query([(field, value)]);
        let found: Vec<Value> = call
            .header("x-openstack-nova-api-version", "2.83")
            .fetch("servers")
            .await?;
        let mut ids = found.iter().filter_map(|server| server["id"].as_str());
        if !ids.any(|id| servers.iter().any(|server| server == id)) || begun.elapsed() > PATIENCE {
            tokio::time::sleep(AFTERMATH).await;
            return Ok(());
        }
    }
}

impl Around {
    async fn make(session: &Session, name: &str) -> Result<Around, Error> {
        let network = session.network();
        let outside = network.find::<Network>("public").await?.id;
        let named = json!({"name": name});
        let net: Network = network.create(&named).await?;
        let fields = json!({"network_id": net.id, "cidr": "10.20.0.0/22", "ip_version": 4});
        let subnet: Subnet = network.create(&fields).await?;
        let fields = json!({"name": name, "external_gateway_info": {"network_id": outside}});
        let router: Router = network.create(&fields).await?;
        network.router_add_subnet(&router.id, &subnet.id).await?;
        let group: SecurityGroup = network.create(&named).await?;
        for rule in [
            json!({"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}),
            json!({"protocol": "icmp"}),
        ] {
            let mut rule = rule;
            rule["security_group_id"] = json!(group.id);
            rule["direction"] = json!("ingress");
            network.create::<SecurityGroupRule>(&rule).await?;
        }
        session.compute().key_pair_create(name, KEY).await?;
        Ok(Around {
            name: name.to_owned(),
            outside,
            network: net.id,
            subnet: subnet.id,
            router: router.id,
            group: group.id,
        })
    }

    fn port(&self, name: &str) -> Value {
        json!({"name": name, "network_id": self.network, "fixed_ips": [{"subnet_id": self.subnet}], "security_groups": [self.group]})
    }

    async fn remove(&self, session: &Session) -> Result<(), Error> {
        async fn gone<E: Entity>(session: &Session, id: &str) -> Result<(), Error> {
            session.network().delete::<E>(id).await
        }
        let network = session.network();
        network
            .router_remove_subnet(&self.router, &self.subnet)
            .await?;
        gone::<Router>(session, &self.router).await?;
        gone::<Subnet>(session, &self.subnet).await?;
        gone::<Network>(session, &self.network).await?;
        gone::<SecurityGroup>(session, &self.group).await?;
        session.compute().key_pair_delete(&self.name).await
    }
}

/// Consecutive parts of the measurement.
struct Stages<'a> {
    logs: Option<&'a Path>,
    meter: Meter,
    ended: Vec<Part>,
}

impl<'a> Stages<'a> {
    fn new(logs: Option<&'a Path>) -> Stages<'a> {
        Stages {
            logs,
            meter: Meter::start(Who::Us, logs),
            ended: Vec::new(),
        }
    }

    fn end(&mut self, what: &'static str, things: usize) {
        let next = Meter::start(Who::Us, self.logs);
        let taken = std::mem::replace(&mut self.meter, next).stop(Who::Us, true);
        self.ended.push(Part {
            what,
            things,
            taken,
        });
    }

    fn all(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.ended)
    }
}
