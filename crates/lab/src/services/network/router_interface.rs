//! Router interfaces: attachment of routers to subnets, and removal.

use serde_json::{Value, json};

use crate::kit::field::is_uuid;
use crate::kit::ids::new_mac;
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::port::{AllocationRequest, FixedIp, PORT, Port, ROUTER_INTERFACE};
use crate::services::network::router::bad_request;
use crate::services::network::subnet::Subnet;

impl Model {
    /// `PUT /routers/{id}/add_router_interface` with `subnet_id` or `port_id`.
    pub fn add_router_interface(
        &mut self,
        project_id: &str,
        id: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let router = self.router_for(project_id, id)?;
        let router_project = router.common.project_id.clone();
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let (subnet_ids, port_id) = match (text("subnet_id"), text("port_id")) {
            (Some(_), Some(_)) => {
                return Err(bad_request("Cannot specify both subnet-id and port-id"));
            }
            (None, None) => {
                return Err(bad_request("Either subnet_id or port_id must be specified"));
            }
            (Some(subnet_id), None) => (vec![subnet_id.to_owned()], None),
            (None, Some(port_id)) => {
                let visible = |port: &&Port| port.common.project_id == project_id;
                let port = self
                    .ports
                    .get(port_id)
                    .filter(visible)
                    .ok_or_else(|| PORT.not_found(port_id))?;
                if !port.device_id.is_empty() {
                    return Err(Refusal::conflict(
                        "PortInUse",
                        format!(
                            "Unable to complete operation on port {port_id} for network {}. Port already has an attached device {}.",
                            port.network_id, port.device_id
                        ),
                    ));
                }
                let port = port.clone();
                self.check_interface_port(id, &port)?;
                let subnets = port.fixed_ips.iter().map(|ip| ip.subnet_id.clone());
                let subnets: Vec<String> = subnets.collect();
                if subnets.is_empty() {
                    return Err(bad_request("Router port must have at least one fixed IP"));
                }
                (subnets, Some(port_id.to_owned()))
            }
        };
        if let Some(odd) = subnet_ids.iter().find(|subnet_id| !is_uuid(subnet_id)) {
            return Err(bad_request(format!("'{odd}' is not a valid UUID")));
        }
        for subnet_id in &subnet_ids {
            let subnet = self.subnet_for(project_id, subnet_id)?;
            self.check_no_overlap(id, subnet)?;
        }
        let subnet = self.subnet_for(project_id, &subnet_ids[0])?.clone();
        let port_id = match port_id {
            Some(port_id) => {
                self.ports.change(&port_id, |port| {
                    port.device_id = id.into();
                    port.device_owner = ROUTER_INTERFACE.into();
                    port.status = "ACTIVE".into();
                    port.security_groups.clear();
                    port.port_security_enabled = false;
                    port.common.mark_updated();
                });
                port_id
            }
            None => {
                let gateway = subnet.gateway_ip.ok_or_else(|| {
                    bad_request("Subnet for router interface must have a gateway IP")
                })?;
                if subnet.ipv6_address_mode.is_some() && subnet.ipv6_ra_mode.is_none() {
                    return Err(bad_request(format!(
                        "IPv6 subnet {} configured to receive RAs from an external router cannot be added to Neutron Router",
                        subnet.id
                    )));
                }
                let wanted = json!([{"subnet_id": subnet.id, "ip_address": gateway.to_string()}]);
                let allocation = AllocationRequest {
                    device_owner: ROUTER_INTERFACE,
                    ..AllocationRequest::default()
                };
                let fixed_ips = self.allocate(&subnet.network_id, Some(wanted), allocation)?;
                self.add_interface_port(id, &router_project, &subnet, fixed_ips)
            }
        };
        if let Some(router) = self.routers.get_mut(id) {
            router.common.mark_updated();
        }
        Ok(interface_answer(
            id,
            &router_project,
            &subnet.network_id,
            &subnet_ids,
            &port_id,
        ))
    }

    /// Adds a router interface. IPv6 subnets of one network share an interface, so its addresses are extended.
    pub(crate) fn add_interface_port(
        &mut self,
        id: &str,
        project_id: &str,
        subnet: &Subnet,
        fixed_ips: Vec<FixedIp>,
    ) -> String {
        let mut legs = self.router_interfaces(id);
        let shared = legs.find(|leg| leg.network_id == subnet.network_id && is_of_v6(leg));
        match shared.filter(|_| subnet.ip_version == 6) {
            Some(leg) => {
                let leg = leg.id.clone();
                drop(legs);
                self.ports
                    .change(&leg, |port| port.fixed_ips.extend(fixed_ips));
                leg
            }
            None => {
                drop(legs);
                let network = &subnet.network_id;
                let mac = new_mac();
                self.add_service_port(project_id, network, ROUTER_INTERFACE, id, mac, fixed_ips)
            }
        }
    }

    /// Checks that an existing port can become a router interface: at most one IPv4 subnet, and one interface with IPv6
    /// per network.
    pub(crate) fn check_interface_port(&self, id: &str, port: &Port) -> Result<(), Refusal> {
        let mut legs = self.router_interfaces(id);
        let other = legs.find(|leg| leg.network_id == port.network_id && is_of_v6(leg));
        if let Some(other) = other.filter(|_| is_of_v6(port)) {
            return Err(bad_request(format!(
                "Cannot have multiple router ports with the same network id if both contain IPv6 subnets. Existing port {} has IPv6 \
                 subnet(s) and network id {}",
                other.id, other.network_id
            )));
        }
        match port.v4().count() {
            0 | 1 => Ok(()),
            _ => Err(bad_request(
                "Cannot have multiple IPv4 subnets on router port",
            )),
        }
    }

    /// Checks that the router has no interface on this subnet or on an overlapping one.
    pub(crate) fn check_no_overlap(&self, id: &str, subnet: &Subnet) -> Result<(), Refusal> {
        let mine = || self.router_interfaces(id).flat_map(|port| &port.fixed_ips);
        if mine().any(|ip| ip.subnet_id == subnet.id) {
            return Err(bad_request(format!(
                "Router already has a port on subnet {}",
                subnet.id
            )));
        }
        let mut others = mine().filter_map(|ip| self.subnets.get(&ip.subnet_id));
        match others.find(|other| other.cidr.overlaps(&subnet.cidr)) {
            None => Ok(()),
            Some(other) => Err(bad_request(format!(
                "Cidr {} of subnet {} overlaps with cidr {} of subnet {}",
                subnet.cidr, subnet.id, other.cidr, other.id
            ))),
        }
    }

    /// `PUT /routers/{id}/remove_router_interface` with `subnet_id` or `port_id`.
    pub fn remove_router_interface(
        &mut self,
        project_id: &str,
        id: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let router_project = self.router_for(project_id, id)?.common.project_id.clone();
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let port = match (text("subnet_id"), text("port_id")) {
            (None, None) => {
                return Err(bad_request("Either subnet_id or port_id must be specified"));
            }
            (_, Some(port_id)) => self
                .router_interfaces(id)
                .find(|port| port.id == port_id)
                .ok_or_else(|| {
                    Refusal::not_found(
                        "RouterInterfaceNotFound",
                        format!("Router {id} does not have an interface with id {port_id}"),
                    )
                })?,
            (Some(subnet_id), None) => {
                let on_subnet =
                    |port: &&Port| port.fixed_ips.iter().any(|ip| ip.subnet_id == subnet_id);
                self.router_interfaces(id).find(on_subnet).ok_or_else(|| {
                    Refusal::not_found(
                        "RouterInterfaceNotFoundForSubnet",
                        format!("Router {id} has no interface on subnet {subnet_id}"),
                    )
                })?
            }
        };
        let (port_id, network_id) = (port.id.clone(), port.network_id.clone());
        let subnets = port.fixed_ips.iter().map(|ip| ip.subnet_id.clone());
        // With `subnet_id`, only this subnet is removed from an interface with several.
        let subnets: Vec<String> = match text("subnet_id") {
            Some(named) => subnets.filter(|subnet| subnet == named).collect(),
            None => subnets.collect(),
        };
        let stays = port.fixed_ips.len() > subnets.len();
        for subnet_id in &subnets {
            self.check_interface_unused(project_id, id, subnet_id)?;
        }
        if stays {
            let is_left = |ip: &FixedIp| !subnets.contains(&ip.subnet_id);
            self.ports
                .change(&port_id, |port| port.fixed_ips.retain(is_left));
        } else {
            self.remove_port(&port_id)
        }
        if let Some(router) = self.routers.get_mut(id) {
            router.common.mark_updated();
        }
        Ok(interface_answer(
            id,
            &router_project,
            &network_id,
            &subnets,
            &port_id,
        ))
    }

    /// Checks that no floating IP and no route needs the router's interface on a subnet.
    pub(crate) fn check_interface_unused(
        &self,
        project_id: &str,
        id: &str,
        subnet_id: &str,
    ) -> Result<(), Refusal> {
        let needed = self
            .floating_ips
            .having(&format!("router:{id}"))
            .any(|row| {
                let port = row.port_id.as_ref().and_then(|port| self.ports.get(port));
                port.is_some_and(|port| {
                    port.v4().any(|(ip, address)| {
                        Some(address) == row.fixed_ip_address && ip.subnet_id == subnet_id
                    })
                })
            });
        if needed {
            return Err(Refusal::conflict(
                "RouterInterfaceInUseByFloatingIP",
                format!(
                    "Router interface for subnet {subnet_id} on router {id} cannot be deleted, as it is required by one or more \
                     floating IPs."
                ),
            ));
        }
        let leaves = self.subnets.get(subnet_id).map(|subnet| subnet.cidr);
        let router = self.router_for(project_id, id)?;
        let mut hops = router.routes.iter().map(|route| route.nexthop);
        if hops.any(|hop| leaves.is_some_and(|range| range.contains(hop))) {
            return Err(Refusal::conflict(
                "RouterInterfaceInUseByRoute",
                format!(
                    "Router interface for subnet {subnet_id} on router {id} cannot be deleted, as it is required by one or more routes."
                ),
            ));
        }
        Ok(())
    }

    /// The interfaces of a router, without the gateway.
    pub fn router_interfaces(&self, id: &str) -> impl Iterator<Item = &Port> + use<'_> {
        self.ports
            .having(&format!("device:{id}"))
            .filter(|port| port.device_owner == ROUTER_INTERFACE)
    }
}

pub(crate) fn is_of_v6(port: &Port) -> bool {
    port.fixed_ips.iter().any(|ip| ip.ip_address.is_ipv6())
}

pub(crate) fn interface_answer(
    router: &str,
    project_id: &str,
    network_id: &str,
    subnet_ids: &[String],
    port_id: &str,
) -> Value {
    json!({
        "id": router,
        "tenant_id": project_id,
        "port_id": port_id,
        "network_id": network_id,
        "subnet_id": subnet_ids.last(),
        "subnet_ids": subnet_ids,
    })
}
