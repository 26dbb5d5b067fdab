//! Changes of existing servers: interfaces, security groups, another flavor.

use crate::kit::ids::now;
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::Model;
use crate::services::compute::server::{Server, Status};
use crate::services::compute::server_create::{Interface, Networks};
use crate::services::network::port::COMPUTE;

impl Model {
    /// Plug a port into a server: one that exists, a new one on a network, or a new one on the project's only network. Answers
    /// the port's id.
    pub fn plug_port(
        &mut self,
        project_id: &str,
        server_id: &str,
        interface: Option<Interface>,
    ) -> Result<String, Refusal> {
        let status = self.servers.get(server_id).map(|server| server.status);
        if !matches!(status, Some(Status::Active | Status::Shutoff)) {
            return Err(Refusal::conflict(
                "InstanceInvalidState",
                format!(
                    "Cannot 'attach_interface' instance {server_id} while it is in vm_state {}",
                    status.map_or("deleted", Status::vm_state)
                ),
            ));
        }
        let wanted = match interface {
            Some(interface) => Networks::Listed(vec![interface]),
            None => Networks::Auto,
        };
        let mut own = Vec::new();
        let ports = self.server_ports(project_id, server_id, &wanted, &[], &mut own)?;
        let Some(id) = ports.into_iter().next() else {
            return Err(Refusal::bad_request(
                "No suitable network found for an interface.",
            ));
        };
        self.ports.change(&id, |port| {
            port.device_id = server_id.into();
            port.device_owner = COMPUTE.into();
            port.status = match status {
                Some(Status::Active) => "ACTIVE",
                _ => "DOWN",
            }
            .into();
            port.common.mark_updated();
        });
        if let Some(server) = self.servers.get_mut(server_id) {
            server.ports.push(id.clone());
            server.own_ports.append(&mut own);
        }
        Ok(id)
    }

    /// Unplug a port; one that Nova made goes.
    pub fn unplug_port(&mut self, server_id: &str, port_id: &str) {
        let Some(server) = self.servers.get_mut(server_id) else {
            return;
        };
        server.ports.retain(|id| id != port_id);
        let own = server.own_ports.iter().any(|id| id == port_id);
        server.own_ports.retain(|id| id != port_id);
        self.release_port(port_id, own);
    }

    /// Put all ports of a server into a group, or take them out.
    pub fn change_server_groups(
        &mut self,
        server: &Server,
        name: &str,
        member: Membership,
    ) -> Result<(), Refusal> {
        let project_id = server.project_id.clone();
        let names = [name.to_owned()];
        let found = self.server_groups_by_name(&project_id, &names).ok();
        let group = found
            .and_then(|ids| ids.into_iter().next())
            .ok_or_else(|| {
                Refusal::not_found(
                    "SecurityGroupNotFound",
                    format!("Security group {name} is not found for project {project_id}"),
                )
            })?;
        let twice = server.ports.iter().any(|id| {
            let port = self.ports.get(id);
            port.is_some_and(|port| port.security_groups.contains(&group))
        });
        if member == Membership::In && twice {
            return Err(Refusal::bad_request(format!(
                "Invalid input for security_groups. Reason: Duplicate items in the list: '{group}'."
            )));
        }
        let mut was_in = false;
        for id in &server.ports {
            let this = self.ports.change(id, |port| {
                let before = port.security_groups.len();
                port.security_groups.retain(|one| *one != group);
                let was_in = port.security_groups.len() < before;
                if member == Membership::In && port.port_security_enabled {
                    port.security_groups.push(group.clone());
                }
                if was_in || member == Membership::In {
                    port.common.mark_updated();
                }
                was_in
            });
            was_in |= this == Some(true);
        }
        if member == Membership::Out && !was_in {
            return Err(Refusal::not_found(
                "SecurityGroupNotExistsForInstance",
                format!(
                    "Security group {group} not associated with the instance {}",
                    server.id
                ),
            ));
        }
        Ok(())
    }

    /// Check that a server may be resized to a flavor.
    pub fn check_resize(
        &self,
        asker: &Member,
        server: &Server,
        flavor_id: &str,
    ) -> Result<(), Refusal> {
        let Some(flavor) = self.flavor_for(asker, flavor_id) else {
            return Err(Refusal::bad_request(format!(
                "Flavor {flavor_id} could not be found."
            )));
        };
        let (vcpus, ram) = (i64::from(flavor.vcpus), i64::from(flavor.ram));
        if server.flavor_id == flavor_id {
            return Err(Refusal::bad_request(
                "When resizing, instances must change flavor!",
            ));
        }
        let (had_vcpus, had_ram) = self
            .flavors
            .get(&server.flavor_id)
            .map_or((0, 0), |old| (i64::from(old.vcpus), i64::from(old.ram)));
        self.check_quota_for(&server.project_id, 0, vcpus - had_vcpus, ram - had_ram)
    }

    /// A server has its new flavor, and its owner has to confirm it.
    pub fn server_is_resized(&mut self, id: &str) {
        if let Some(server) = self.servers.get_mut(id) {
            if let Some(new) = server.new_flavor_id.take() {
                server.old_flavor_id = Some(std::mem::replace(&mut server.flavor_id, new));
            }
            server.status = Status::VerifyResize;
            server.task_state = None;
            server.updated = now();
        }
        self.actions_end(id, None);
    }

    /// The new flavor is right.
    pub fn confirm_resize(&mut self, id: &str) {
        if let Some(server) = self.servers.get_mut(id) {
            server.old_flavor_id = None;
            server.status = Status::Active;
            server.updated = now();
        }
        self.actions_end(id, None);
    }

    /// Begin to give a server its old flavor back.
    pub fn revert_resize(&mut self, id: &str) {
        if let Some(server) = self.servers.get_mut(id) {
            if let Some(old) = server.old_flavor_id.take() {
                server.flavor_id = old;
            }
            server.task_state = Some("resize_reverting".into());
            server.updated = now();
        }
    }
}

/// Whether a server is to be in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// The server is a member.
    In,
    /// The server is not a member.
    Out,
}
