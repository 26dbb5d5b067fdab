//! Making a server, as far as data goes: everything is checked before anything is made, in Nova's order and words.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::kit::ids::{host_name, new_id, now};
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::Model;
use crate::services::compute::keypair::keypair_key;
use crate::services::compute::server::{Server, Status};
use crate::services::compute::server_disks::BlockDevice;
use crate::services::image::record::ImageStatus;
use crate::services::network::port::COMPUTE;

/// Nova allows 64 KiB of base64.
const USER_DATA_BYTES_MAX: usize = 65_535;

/// A creation, read from its body.
#[derive(Debug, Clone, Default)]
pub struct CreateServer {
    pub name: String,
    /// Image id; none when it boots from a volume.
    pub image: Option<String>,
    /// Further disks, and the one to boot from.
    pub disks: Vec<BlockDevice>,
    pub flavor: String,
    pub networks: Networks,
    /// Groups by name or id, for ports that Nova makes.
    pub security_groups: Vec<String>,
    /// Key pair's name.
    pub key_name: Option<String>,
    /// Base64.
    pub user_data: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub tags: Vec<String>,
    pub description: Option<String>,
    pub availability_zone: Option<String>,
    pub group: Option<String>,
}

/// The requested interfaces.
#[derive(Debug, Clone, Default)]
pub enum Networks {
    /// The project's one network, if it has one.
    #[default]
    Auto,
    /// No interface.
    Nothing,
    /// The listed interfaces.
    Listed(Vec<Interface>),
}

/// A requested interface.
#[derive(Debug, Clone)]
pub enum Interface {
    /// A port that exists.
    Port(String),
    /// A new port on a network, perhaps with this address.
    Network(String, Option<String>),
}

/// Checks a quota of Nova: its name, the amount in use, and the requested amount. A negative limit means unlimited.
pub fn quota_holds((name, used, more): (&str, i64, i64), limit: i64) -> Result<(), Refusal> {
    if limit >= 0 && more > 0 && used + more > limit {
        Err(Refusal::new(
            403,
            "TooManyInstances",
            format!(
                "Quota exceeded for {name}: Requested {more}, but already used {used} of {limit} {name}"
            ),
        ))
    } else {
        Ok(())
    }
}

impl Model {
    /// Make the row and its ports. Answers the server's id; it is in BUILD.
    pub fn create_server(
        &mut self,
        asker: &Member,
        wanted: CreateServer,
    ) -> Result<String, Refusal> {
        let Member {
            project_id,
            user_id,
            ..
        } = asker;
        let bad = Refusal::bad_request;
        let image = match &wanted.image {
            None => None,
            Some(id) => {
                let found = self.images.get(id);
                let found = found.filter(|image| image.visible_to(project_id));
                Some(found.ok_or_else(|| bad("Can not find requested image".to_owned()))?)
            }
        };
        let flavor = self
            .flavor_for(asker, &wanted.flavor)
            .ok_or_else(|| bad(format!("Flavor {} could not be found.", wanted.flavor)))?;
        if let Some(image) = image.filter(|image| image.status != ImageStatus::Active) {
            return Err(bad(format!("Image {} is not active.", image.id)));
        }
        if image.is_some_and(|image| flavor.ram < image.min_ram) {
            return Err(bad(
                "Flavor's memory is too small for requested image.".to_owned()
            ));
        }
        let (vcpus, ram) = (flavor.vcpus, flavor.ram);
        let public_key = match &wanted.key_name {
            None => None,
            Some(name) => {
                let pair = self.keypairs.get(&keypair_key(user_id, name));
                Some(
                    pair.ok_or_else(|| bad("Invalid key_name provided.".to_owned()))?
                        .public_key
                        .clone(),
                )
            }
        };
        if let Some(data) = &wanted.user_data {
            if data.len() > USER_DATA_BYTES_MAX {
                return Err(bad(
                    "Invalid input for field/attribute user_data. Value is too long".to_owned(),
                ));
            }
            let compact: String = data.split_whitespace().collect();
            STANDARD.decode(compact).map_err(|_| {
                bad(format!("Invalid input for field/attribute user_data. Value: {data}. '{data}' is not a 'base64'"))
            })?;
        }
        if wanted
            .availability_zone
            .as_deref()
            .is_some_and(|zone| zone != "nova")
        {
            return Err(bad(
                "The requested availability zone is not available".to_owned()
            ));
        }
        self.check_quota_for(project_id, 1, vcpus.into(), ram.into())?;
        if let Some(group) = &wanted.group {
            self.server_group_of(project_id, group)
                .map_err(|refusal| bad(refusal.message))?;
        }
        let disks = self.check_disks(project_id, wanted.disks, wanted.image.as_deref())?;
        let groups = self.server_groups_by_name(project_id, &wanted.security_groups)?;
        let id = new_id();
        let mut own_ports = Vec::new();
        let ports =
            match self.server_ports(project_id, &id, &wanted.networks, &groups, &mut own_ports) {
                Ok(ports) => ports,
                Err(refusal) => {
                    for port in own_ports {
                        self.remove_port(&port);
                    }
                    return Err(refusal);
                }
            };
        for port_id in &ports {
            self.ports.change(port_id, |port| {
                port.device_id = id.clone();
                port.device_owner = COMPUTE.into();
                port.common.mark_updated();
            });
        }
        self.servers.insert(Server {
            id: id.clone(),
            host_name: host_name(&wanted.name),
            name: wanted.name,
            project_id: project_id.into(),
            user_id: user_id.into(),
            status: Status::Build,
            task_state: Some("spawning".into()),
            image_id: wanted.image.unwrap_or_default(),
            flavor_id: wanted.flavor,
            key_name: wanted.key_name,
            public_key,
            description: wanted.description,
            metadata: wanted.metadata,
            tags: wanted.tags,
            user_data: wanted.user_data,
            availability_zone: "nova".into(),
            ports,
            own_ports,
            volumes: Vec::new(),
            group: wanted.group,
            old_flavor_id: None,
            new_flavor_id: None,
            old_image_id: None,
            locked: false,
            locked_reason: None,
            actions: Vec::new(),
            fault: None,
            created: now(),
            updated: now(),
            launched_at: None,
        });
        if let Err(refusal) = self.give_disks(asker, &id, disks) {
            self.server_is_gone(&id);
            return Err(refusal);
        }
        Ok(id)
    }

    /// Check that so much more is within a project's limits.
    pub fn check_quota_for(
        &self,
        project_id: &str,
        instances: i64,
        vcpus: i64,
        ram: i64,
    ) -> Result<(), Refusal> {
        let limited = ["instances", "cores", "ram"]
            .iter()
            .any(|name| self.quotas.limit(project_id, name) >= 0);
        if !limited {
            return Ok(());
        }
        let used = self.server_usage(project_id);
        let wanted = [
            ("instances", used.instances, instances),
            ("cores", used.cores, vcpus),
            ("ram", used.ram, ram),
        ];
        for (name, used, more) in wanted {
            quota_holds((name, used, more), self.quotas.limit(project_id, name))?;
        }
        Ok(())
    }

    /// The usage of a project's servers.
    pub fn server_usage(&self, project_id: &str) -> Usage {
        let mut usage = Usage::default();
        for server in self
            .servers
            .iter()
            .filter(|server| server.project_id == project_id)
        {
            usage.instances += 1;
            if let Some(flavor) = self.flavors.get(&server.flavor_id) {
                usage.cores += i64::from(flavor.vcpus);
                usage.ram += i64::from(flavor.ram);
            }
        }
        usage
    }

    /// Security groups by name or id.
    pub fn server_groups_by_name(
        &mut self,
        project_id: &str,
        names: &[String],
    ) -> Result<Vec<String>, Refusal> {
        self.default_security_group(project_id);
        let mut ids = Vec::new();
        for name in names {
            let mine = || {
                self.security_groups
                    .iter()
                    .filter(|group| group.common.project_id == project_id)
            };
            let by_id = mine().find(|group| &group.id == name);
            let mut by_name = mine().filter(|group| &group.name == name);
            match (by_id.or_else(|| by_name.next()), by_name.next()) {
                (None, _) => {
                    return Err(Refusal::bad_request(format!(
                        "Security group {name} not found for project {project_id}."
                    )));
                }
                (Some(_), Some(_)) => {
                    return Err(Refusal::conflict(
                        "NoUniqueMatch",
                        format!(
                            "Multiple security groups found matching '{name}'. Use an ID to be more specific."
                        ),
                    ));
                }
                (Some(group), None) => ids.push(group.id.clone()),
            }
        }
        Ok(ids)
    }

    /// The ports for these networks; those that are made are noted in `own`.
    pub fn server_ports(
        &mut self,
        project_id: &str,
        server_id: &str,
        networks: &Networks,
        groups: &[String],
        own: &mut Vec<String>,
    ) -> Result<Vec<String>, Refusal> {
        let listed = match networks {
            Networks::Nothing => Vec::new(),
            Networks::Listed(listed) => listed.clone(),
            Networks::Auto => {
                let mine: Vec<_> = self
                    .networks
                    .iter()
                    .filter(|network| {
                        !network.external
                            && (network.common.project_id == project_id || network.shared)
                    })
                    .collect();
                match mine.as_slice() {
                    [] => Vec::new(),
                    [one] => vec![Interface::Network(one.id.clone(), None)],
                    _ => {
                        return Err(Refusal::conflict(
                            "NetworkAmbiguous",
                            "Multiple possible networks found, use a Network ID to be more specific.",
                        ));
                    }
                }
            }
        };
        let mut ports: Vec<String> = Vec::new();
        for interface in listed {
            let port = match interface {
                Interface::Port(id) => self.free_port(project_id, id, &ports)?,
                Interface::Network(network, address) => {
                    let id = self.own_port(project_id, server_id, &network, address, groups)?;
                    own.push(id.clone());
                    id
                }
            };
            ports.push(port);
        }
        Ok(ports)
    }

    fn free_port(&self, project_id: &str, id: String, ports: &[String]) -> Result<String, Refusal> {
        let port = self
            .ports
            .get(&id)
            .filter(|port| port.common.project_id == project_id);
        let port =
            port.ok_or_else(|| Refusal::bad_request(format!("Port {id} could not be found.")))?;
        if !port.device_id.is_empty() || ports.contains(&id) {
            return Err(Refusal::conflict(
                "PortInUse",
                format!("Port {id} is still in use."),
            ));
        }
        if port.fixed_ips.is_empty() {
            return Err(Refusal::bad_request(format!(
                "Port {id} requires a FixedIP in order to be used."
            )));
        }
        Ok(id)
    }

    fn own_port(
        &mut self,
        project_id: &str,
        server_id: &str,
        network_id: &str,
        address: Option<String>,
        groups: &[String],
    ) -> Result<String, Refusal> {
        let network = self.network_for(project_id, network_id).map_err(|_| {
            Refusal::bad_request(format!("Network {network_id} could not be found."))
        })?;
        if network.external && !network.shared {
            return Err(Refusal::forbidden(format!(
                "It is not allowed to create an interface on external network {network_id}"
            )));
        }
        if network.subnets.is_empty() {
            return Err(Refusal::bad_request(format!(
                "Network {network_id} requires a subnet in order to boot instances on."
            )));
        }
        let mut fields =
            json!({"network_id": network_id, "device_id": server_id, "device_owner": COMPUTE});
        if let Some(address) = address {
            fields["fixed_ips"] = json!([{ "ip_address": address }]);
        }
        if !groups.is_empty() {
            fields["security_groups"] = groups.iter().cloned().map(Value::from).collect();
        }
        self.create_port(project_id, fields)
    }
}

/// The usage of a project's servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    pub instances: i64,
    pub cores: i64,
    /// Memory, MiB.
    pub ram: i64,
}
