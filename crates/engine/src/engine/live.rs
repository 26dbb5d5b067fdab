//! Floating IPs, load balancers and volumes as the cloud has them now.
//!
//! One call per service, however many of its resources the deployment has, and none without any.

use std::collections::HashMap;

use api::LiveResource;
use openstack::{
    load_balancer::{OctaviaResource, OctaviaType},
    network::FloatingIp,
};
use serde_json::Value;
use store::ResourceRow;
use types::VOLUME;

use super::Engine;
use crate::{Actor, Error, Result};

const FLOATING_IP: &str = "OS::Neutron::FloatingIP";
const LOAD_BALANCER: &str = "OS::Octavia::LoadBalancer";

impl Engine {
    /// The floating IPs, load balancers and volumes of a deployment with their present state in the cloud, by name.
    ///
    /// # Errors
    /// If there is no such deployment, or the cloud does not answer in time.
    pub async fn live_resources(
        &self,
        actor: &Actor,
        deployment: &str,
    ) -> Result<Vec<LiveResource>> {
        self.deployment_row(&actor.tenant, deployment).await?;
        let store = &self.core.store;
        let rows = store.resource_list(&actor.tenant, deployment).await?;
        let names: HashMap<&str, &str> = rows
            .iter()
            .filter_map(|row| Some((row.physical_id.as_deref()?, row.name.as_str())))
            .collect();
        let name_of = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        let patience = self.core.config.read_patience;
        let read = async {
            let _turn = self.core.page_requests.turn(&actor.tenant).await;
            tokio::try_join!(
                floating_ips(actor, &rows, &name_of),
                load_balancers(actor, &rows),
                volumes(actor, &rows, &name_of)
            )
        };
        let read = tokio::time::timeout(patience, Box::pin(read)).await;
        let (floating_ips, load_balancers, volumes) = read.map_err(|_late| {
            Error::Unavailable(
                "the cloud does not list the deployment's resources in time".to_owned(),
            )
        })??;
        let mut all = [floating_ips, load_balancers, volumes].concat();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }
}

async fn floating_ips(
    actor: &Actor,
    rows: &[ResourceRow],
    name_of: &impl Fn(&str) -> String,
) -> Result<Vec<LiveResource>, openstack::Error> {
    let ours = of_type(rows, FLOATING_IP);
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    let network = actor.session.network();
    let listed = network.list::<FloatingIp>(&of_project(actor)).await?;
    let found = listed.into_iter().map(|one| {
        // A port that Nova made is no resource of the deployment: its address tells more than its id.
        let port = one.port_id.map(|port| {
            let name = name_of(&port);
            let address = one.fixed_ip_address.filter(|_| name == port);
            address.unwrap_or(name)
        });
        let live = LiveResource {
            status: Some(one.status),
            address: Some(one.floating_ip_address),
            attached_to: port.into_iter().collect(),
            ..LiveResource::default()
        };
        (one.id, live)
    });
    Ok(named(&ours, found.collect()))
}

async fn load_balancers(
    actor: &Actor,
    rows: &[ResourceRow],
) -> Result<Vec<LiveResource>, openstack::Error> {
    let ours = of_type(rows, LOAD_BALANCER);
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    let octavia = actor.session.load_balancer();
    let filter = of_project(actor);
    let listed = octavia.list(OctaviaType::LoadBalancer, &filter).await?;
    let found = listed.into_iter().map(|one| {
        let text = |one: &OctaviaResource, field: &str| {
            let value = one.other.get(field).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let live = LiveResource {
            operating_status: text(&one, "operating_status"),
            address: text(&one, "vip_address"),
            status: Some(one.provisioning_status),
            ..LiveResource::default()
        };
        (one.id, live)
    });
    Ok(named(&ours, found.collect()))
}

async fn volumes(
    actor: &Actor,
    rows: &[ResourceRow],
    name_of: &impl Fn(&str) -> String,
) -> Result<Vec<LiveResource>, openstack::Error> {
    let ours = of_type(rows, VOLUME);
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    let listed = actor.session.block_storage().volume_list(&[]).await?;
    let found = listed.into_iter().map(|one| {
        let servers = one.attachments.iter();
        let live = LiveResource {
            attached_to: servers.map(|to| name_of(&to.server_id)).collect(),
            status: Some(one.status),
            ..LiveResource::default()
        };
        (one.id, live)
    });
    Ok(named(&ours, found.collect()))
}

/// Filter of Neutron and Octavia, which list everything to administrators.
fn of_project(actor: &Actor) -> [(&str, &str); 1] {
    [("project_id", actor.tenant.project_id.as_str())]
}

/// Existing resources of a type.
fn of_type<'r>(rows: &'r [ResourceRow], resource_type: &str) -> Vec<&'r ResourceRow> {
    rows.iter()
        .filter(|row| row.spec.resource_type == resource_type && row.physical_id.is_some())
        .collect()
}

/// State of each resource in the cloud. A missing resource that is not the deployment's own can belong to another project,
/// so it does not count as gone.
fn named(ours: &[&ResourceRow], found: HashMap<String, LiveResource>) -> Vec<LiveResource> {
    let live = ours.iter().filter_map(|row| {
        let live = found.get(row.physical_id.as_deref()?).cloned();
        if live.is_none() && row.spec.external_id.is_some() {
            return None;
        }
        Some(LiveResource {
            name: row.name.clone(),
            ..live.unwrap_or_default()
        })
    });
    live.collect()
}
