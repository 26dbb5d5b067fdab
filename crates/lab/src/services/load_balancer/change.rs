//! Creation, change and deletion of resources, under the lock of their load balancer.
//!
//! A change marks the resource and its ancestors as pending. The cloud then applies it and reports the result
//! ([`Model::complete_changes`]).

use serde_json::{Map, Value, json};

use crate::kit::ids::{new_id, now};
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::load_balancer::checks::{check_rule, invalid, text_field};
use crate::services::load_balancer::fields::{read_change, read_new};
use crate::services::load_balancer::{ProvisioningStatus, Resource, ResourceType};
use crate::services::network::port::Port;

/// The device owner of ports that Octavia creates.
pub const OWNER: &str = "Octavia";

/// The treatment of children in the deletion of a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// Children are deleted with it.
    Delete,
    /// Children prevent the deletion.
    Refuse,
}

impl Model {
    /// Refuses if a load balancer is not ACTIVE. A change of the load balancer itself has a different error.
    fn check_active(&self, balancer: &str, changed: ResourceType) -> Result<(), Refusal> {
        let Some(row) = self.balancing.get(balancer) else {
            return Err(ResourceType::LoadBalancer.not_found(balancer));
        };
        let state = json!(row.status);
        match (row.status, changed) {
            (ProvisioningStatus::Active, _) => Ok(()),
            (_, ResourceType::LoadBalancer) => Err(Refusal::conflict(
                "LBPendingStateError",
                format!(
                    "Invalid state {} of loadbalancer resource {balancer}",
                    state.as_str().unwrap_or_default()
                ),
            )),
            _ => Err(Refusal::conflict(
                "ImmutableObject",
                format!("Load Balancer {balancer} is immutable and cannot be updated."),
            )),
        }
    }

    /// Sets the status of a resource, and marks its ancestors as changing.
    fn mark(&mut self, id: &str, status: ProvisioningStatus) {
        let up: Vec<String> = self
            .ancestors_of(id)
            .iter()
            .map(|row| row.id.clone())
            .collect();
        for (at, id) in up.iter().enumerate() {
            if let Some(row) = self.balancing.get_mut(id) {
                row.status = match at {
                    0 => status,
                    _ => ProvisioningStatus::PendingUpdate,
                };
            }
        }
    }

    /// Creates a resource; `parent` is the parent in the path. Returns its id.
    pub fn create_resource(
        &mut self,
        project_id: &str,
        part: ResourceType,
        parent: Option<&str>,
        body: &Map<String, Value>,
    ) -> Result<String, Refusal> {
        let mut fields = read_new(part, body)?;
        let parent = self.parent_of_new(project_id, part, parent, body)?;
        let id = new_id();
        if part == ResourceType::LoadBalancer {
            self.assign_vip(project_id, &id, &mut fields)?;
        } else {
            let balancer = self.balancer_of(&parent).unwrap_or_default();
            self.check_new(project_id, part, &parent, &mut fields)?;
            if let (ResourceType::Pool, Some(listener)) = (part, text_field(body, "listener_id")) {
                let protocol = text_field(&fields, "protocol").unwrap_or_default();
                self.check_listener(project_id, listener, protocol)?;
            }
            self.check_active(&balancer, part)?;
        }
        let position = fields.get("position").and_then(Value::as_i64);
        self.balancing.insert(Resource {
            id: id.clone(),
            part,
            project_id: project_id.into(),
            parent: parent.clone(),
            status: ProvisioningStatus::PendingCreate,
            fields,
            created_at: now(),
            updated_at: None,
        });
        self.mark(&id, ProvisioningStatus::PendingCreate);
        match (part, text_field(body, "listener_id")) {
            (ResourceType::Pool, Some(listener)) => {
                if let Some(row) = self.balancing.get_mut(listener) {
                    row.fields
                        .insert("default_pool_id".into(), id.clone().into());
                    row.status = ProvisioningStatus::PendingUpdate;
                }
            }
            (ResourceType::L7Policy, _) => self.place_policy(&parent, &id, position),
            _ => {}
        }
        Ok(id)
    }

    /// Assigns the VIP of a load balancer: an existing port, or a new one.
    fn assign_vip(
        &mut self,
        project_id: &str,
        id: &str,
        fields: &mut Map<String, Value>,
    ) -> Result<(), Refusal> {
        let text = |name: &str| text_field(fields, name).map(str::to_owned);
        let port_id = match (
            text("vip_port_id"),
            text("vip_subnet_id"),
            text("vip_network_id"),
        ) {
            (Some(port), _, _) => {
                let mine = |port: &&Port| port.common.project_id == project_id;
                let found = self.ports.get(&port).filter(mine);
                let found =
                    found.ok_or_else(|| Refusal::bad_request(format!("Port {port} not found.")))?;
                if !found.device_id.is_empty() {
                    return Err(invalid(format!(
                        "VIP port {port} is already used by {}",
                        found.device_id
                    )));
                }
                port
            }
            (None, None, None) => {
                return Err(invalid(
                    "VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.",
                ));
            }
            (None, subnet, network) => {
                let network = match &subnet {
                    Some(subnet) => self
                        .subnet_for(project_id, subnet)
                        .map_err(|_| Refusal::bad_request(format!("Subnet {subnet} not found.")))?
                        .network_id
                        .clone(),
                    None => network.unwrap_or_default(),
                };
                let mut wanted = Map::new();
                if let Some(subnet) = subnet {
                    wanted.insert("subnet_id".into(), subnet.into());
                }
                if let Some(address) = text("vip_address") {
                    wanted.insert("ip_address".into(), address.into());
                }
                let mut port = json!({
                    "network_id": network,
                    "name": format!("octavia-lb-{id}"),
                    "device_owner": OWNER,
                    "security_groups": [],
                });
                if !wanted.is_empty() {
                    port["fixed_ips"] = json!([wanted]);
                }
                self.create_port(project_id, port)
                    .map_err(|refusal| Refusal::bad_request(refusal.message))?
            }
        };
        self.ports
            .change(&port_id, |port| port.device_id = format!("lb-{id}"));
        if let Some(port) = self.ports.get(&port_id) {
            let first = port.fixed_ips.first();
            fields.insert("vip_port_id".into(), port_id.clone().into());
            fields.insert("vip_network_id".into(), port.network_id.clone().into());
            fields.insert("vip_subnet_id".into(), json!(first.map(|ip| &ip.subnet_id)));
            fields.insert("vip_address".into(), json!(first.map(|ip| ip.ip_address)));
        }
        Ok(())
    }

    /// Inserts a policy at its position in its listener, by default at the end.
    fn place_policy(&mut self, listener: &str, id: &str, position: Option<i64>) {
        let mut order: Vec<(i64, String)> = self
            .children_of(listener, ResourceType::L7Policy)
            .filter(|policy| policy.id != id)
            .map(|policy| {
                (
                    policy.number("position").unwrap_or(i64::MAX),
                    policy.id.clone(),
                )
            })
            .collect();
        order.sort();
        let last = order.len();
        let at = position.and_then(|position| usize::try_from(position - 1).ok());
        order.insert(at.unwrap_or(last).min(last), (0, id.to_owned()));
        for (at, (_, id)) in order.iter().enumerate() {
            if let Some(policy) = self.balancing.get_mut(id) {
                policy.fields.insert("position".into(), json!(at + 1));
            }
        }
    }

    /// Starts the change of a resource.
    pub fn update_resource(
        &mut self,
        part: ResourceType,
        id: &str,
        body: &Map<String, Value>,
    ) -> Result<(), Refusal> {
        let resource = self.resource(part, id)?;
        let parent = resource.parent.clone();
        let mut all = resource.fields.clone();
        let change = read_change(part, body)?;
        let position = change.get("position").and_then(Value::as_i64);
        all.extend(change);
        match part {
            ResourceType::Listener => {
                let protocol = text_field(&all, "protocol").unwrap_or_default();
                self.check_pool(
                    &parent,
                    text_field(&all, "default_pool_id").unwrap_or_default(),
                    Some(protocol),
                )?;
            }
            ResourceType::L7Policy => self.check_policy(&parent, &mut all)?,
            ResourceType::L7Rule => check_rule(&all)?,
            _ => {}
        }
        let balancer = self.balancer_of(id).unwrap_or_default();
        self.check_active(&balancer, part)?;
        if let Some(row) = self.balancing.get_mut(id) {
            row.fields = all;
            row.updated_at = Some(now());
        }
        self.mark(id, ProvisioningStatus::PendingUpdate);
        if part == ResourceType::L7Policy && position.is_some() {
            self.place_policy(&parent, id, position);
        }
        Ok(())
    }

    /// Starts the deletion of a resource.
    pub fn delete_resource(
        &mut self,
        part: ResourceType,
        id: &str,
        children: Children,
    ) -> Result<(), Refusal> {
        let resource = self.resource(part, id)?;
        if part == ResourceType::LoadBalancer
            && children == Children::Refuse
            && self.descendants_of(id).len() > 1
        {
            return Err(invalid(format!(
                "Cannot delete Load Balancer {id} - it has children"
            )));
        }
        let user = self
            .balancing
            .iter()
            .find(|row| row.part == ResourceType::L7Policy && row.text("redirect_pool_id") == id)
            .filter(|_| part == ResourceType::Pool);
        if let Some(policy) = user {
            return Err(Refusal::conflict(
                "PoolInUseByL7Policy",
                format!("Pool {id} is in use by L7 policy {}", policy.id),
            ));
        }
        // A load balancer in ERROR can be deleted.
        if !(part == ResourceType::LoadBalancer && resource.status == ProvisioningStatus::Error) {
            let balancer = self.balancer_of(id).unwrap_or_default();
            self.check_active(&balancer, part)?;
        }
        self.mark(id, ProvisioningStatus::PendingDelete);
        Ok(())
    }

    /// Completes the pending changes of a load balancer with the status `rest`. A resource whose deletion failed stays,
    /// in ERROR.
    pub fn complete_changes(&mut self, balancer: &str, rest: ProvisioningStatus) {
        for id in self.descendants_of(balancer) {
            let Some(row) = self.balancing.get_mut(&id) else {
                continue;
            };
            match row.status {
                ProvisioningStatus::PendingDelete if rest == ProvisioningStatus::Active => {
                    self.piece_is_gone(&id);
                }
                ProvisioningStatus::PendingCreate
                | ProvisioningStatus::PendingUpdate
                | ProvisioningStatus::PendingDelete => {
                    row.status = rest;
                    row.updated_at = Some(now());
                }
                ProvisioningStatus::Active | ProvisioningStatus::Error => {}
            }
        }
        let port = self.balancing.get(balancer);
        if let Some(port) = port.map(|row| row.text("vip_port_id").to_owned()) {
            self.ports
                .change(&port, |port| port.status = "ACTIVE".into());
        }
    }

    fn piece_is_gone(&mut self, id: &str) {
        for id in self.descendants_of(id) {
            let Some(gone) = self.balancing.remove(&id) else {
                continue;
            };
            match gone.part {
                ResourceType::LoadBalancer => {
                    let port = gone.text("vip_port_id").to_owned();
                    let own = self.ports.get(&port);
                    let own = own.is_some_and(|port| port.device_owner == OWNER);
                    self.release_port(&port, own);
                }
                ResourceType::Pool => {
                    for row in self.balancing.iter_mut() {
                        if row.text("default_pool_id") == id {
                            row.fields.insert("default_pool_id".into(), Value::Null);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
