//! Nova's servers: their data, and the transitions between their states.
//!
//! ```text
//! BUILD -> ACTIVE <-> SHUTOFF, PAUSED, SUSPENDED, SHELVED_OFFLOADED      DELETED (the row goes)
//!   \-> ERROR          ^
//!        any state ----/  when its container dies
//! ```
//! The substrate does the work and reports it by the functions `server_is_...`, which also make ports ACTIVE.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::ids::now;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::block_storage::volume::VolumeStatus;
use crate::services::compute::server_action::ServerAction;
use crate::services::network::port::FixedIp;
use crate::substrate::Power;

/// A server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Server {
    pub id: String,
    pub name: String,
    /// Name of the host, from the server's name at its creation.
    #[serde(default)]
    pub host_name: String,
    pub project_id: String,
    pub user_id: String,
    pub status: Status,
    /// The task in progress: `spawning`, `deleting`, `powering-off`, ...
    pub task_state: Option<String>,
    /// Id of the image. Empty for a server that boots from a volume.
    pub image_id: String,
    pub flavor_id: String,
    /// Name of the requested key pair.
    pub key_name: Option<String>,
    /// That key pair's public key at creation.
    pub public_key: Option<String>,
    pub description: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// Since 2.26; set at creation since 2.52.
    pub tags: Vec<String>,
    /// Base64, as in the request.
    pub user_data: Option<String>,
    pub availability_zone: String,
    /// Ports in the order of its interfaces.
    pub ports: Vec<String>,
    /// The ports that Nova created, and deletes with the server.
    pub own_ports: Vec<String>,
    #[serde(default)]
    pub group: Option<String>,
    /// The flavor before a resize that nobody has confirmed yet.
    #[serde(default)]
    pub old_flavor_id: Option<String>,
    /// The flavor that a resize under way leads to. Until it is done, the server shows the old one.
    #[serde(default)]
    pub new_flavor_id: Option<String>,
    /// The image before a rebuild that is under way.
    #[serde(default)]
    pub old_image_id: Option<String>,
    /// Ids of the attached volumes, in the order of their attachment.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// Whether only administrators may change it.
    #[serde(default)]
    pub locked: bool,
    /// The reason, if one was given.
    #[serde(default)]
    pub locked_reason: Option<String>,
    /// The instance actions, oldest first.
    #[serde(default)]
    pub actions: Vec<ServerAction>,
    /// The reason of the state ERROR.
    pub fault: Option<Fault>,
    pub created: String,
    pub updated: String,
    /// Time of the first start.
    pub launched_at: Option<String>,
}

keyed_by_id!(Server);

/// A server's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Being built.
    Build,
    /// Running.
    Active,
    /// Stopped.
    Shutoff,
    /// Paused in memory.
    Paused,
    /// Paused. In a real cloud, its memory is on disk.
    Suspended,
    /// Off. In a real cloud, it is on no host.
    ShelvedOffloaded,
    /// Running with another flavor, which awaits confirmation.
    VerifyResize,
    /// Broken.
    Error,
    /// Deleted. Only lists of changes contain it.
    Deleted,
}

impl Status {
    /// Name of the status in Nova.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Build => "BUILD",
            Status::Active => "ACTIVE",
            Status::Shutoff => "SHUTOFF",
            Status::Paused => "PAUSED",
            Status::Suspended => "SUSPENDED",
            Status::ShelvedOffloaded => "SHELVED_OFFLOADED",
            Status::VerifyResize => "VERIFY_RESIZE",
            Status::Deleted => "DELETED",
            Status::Error => "ERROR",
        }
    }

    /// The state after a change of power.
    pub fn after(power: Power) -> Self {
        match power {
            Power::Start | Power::Reboot | Power::Unpause | Power::Resume | Power::Unshelve => {
                Status::Active
            }
            Power::Stop => Status::Shutoff,
            Power::Pause => Status::Paused,
            Power::Suspend => Status::Suspended,
            Power::Shelve => Status::ShelvedOffloaded,
        }
    }

    /// `OS-EXT-STS:vm_state`.
    pub fn vm_state(self) -> &'static str {
        match self {
            Status::Build => "building",
            Status::Active => "active",
            Status::Shutoff => "stopped",
            Status::Paused => "paused",
            Status::Suspended => "suspended",
            Status::ShelvedOffloaded => "shelved_offloaded",
            Status::VerifyResize => "resized",
            Status::Deleted => "deleted",
            Status::Error => "error",
        }
    }

    /// `OS-EXT-STS:power_state`.
    pub fn power_state(self) -> u8 {
        match self {
            Status::Build | Status::Error | Status::Deleted => 0,
            Status::Active | Status::VerifyResize => 1,
            Status::Paused => 3,
            Status::Shutoff | Status::Suspended | Status::ShelvedOffloaded => 4,
        }
    }
}

/// The reason of the state ERROR.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fault {
    /// An HTTP-like code.
    pub code: u16,
    pub message: String,
    pub created: String,
}

/// An address of a server, for Nova's `addresses`.
#[derive(Debug, Clone)]
pub struct ServerAddress {
    /// The network's name.
    pub network: String,
    pub address: String,
    /// `fixed` or `floating`.
    pub kind: &'static str,
    /// The port's Ethernet address.
    pub mac: String,
}

impl Server {
    /// The state in responses. Some tasks in progress have their own state.
    pub fn shown_status(&self) -> &'static str {
        match (self.status, self.task_state.as_deref()) {
            (Status::Active, Some("rebooting")) => "REBOOT",
            (_, Some("rebooting_hard")) => "HARD_REBOOT",
            (_, Some("rebuilding")) => "REBUILD",
            (_, Some("resize_prep")) => "RESIZE",
            (_, Some("resize_reverting")) => "REVERT_RESIZE",
            (status, _) => status.as_str(),
        }
    }
}

impl Model {
    /// A server's fixed and floating addresses.
    pub fn server_addresses(&self, server: &Server) -> Vec<ServerAddress> {
        let mut all = Vec::new();
        for port in server.ports.iter().filter_map(|id| self.ports.get(id)) {
            let network = self
                .networks
                .get(&port.network_id)
                .map(|network| network.name.clone())
                .unwrap_or_default();
            let entry = |address: String, kind| ServerAddress {
                network: network.clone(),
                address,
                kind,
                mac: port.mac_address.clone(),
            };
            all.extend(
                port.fixed_ips
                    .iter()
                    .map(|ip: &FixedIp| entry(ip.ip_address.to_string(), "fixed")),
            );
            let floating = self.floating_ips_of_port(&port.id);
            all.extend(floating.map(|row| entry(row.floating_ip_address.to_string(), "floating")));
        }
        all
    }

    fn floating_ips_of_port(
        &self,
        port_id: &str,
    ) -> impl Iterator<Item = &crate::services::network::floating_ip::FloatingIp> + use<'_> {
        self.floating_ips.having(&format!("port:{port_id}"))
    }

    /// The server runs.
    pub fn server_is_active(&mut self, id: &str) {
        let Some(server) = self.servers.get_mut(id) else {
            return;
        };
        server.status = Status::Active;
        server.task_state = None;
        server.updated = now();
        server.old_image_id = None;
        server.launched_at.get_or_insert_with(now);
        let ports = server.ports.clone();
        self.set_port_status(&ports, "ACTIVE");
        self.actions_end(id, None);
    }

    /// The server has stopped, or is held.
    pub fn server_rests(&mut self, id: &str, status: Status) {
        let Some(server) = self.servers.get_mut(id) else {
            return;
        };
        server.status = status;
        server.task_state = None;
        server.updated = now();
        let ports = server.ports.clone();
        if matches!(status, Status::Shutoff | Status::ShelvedOffloaded) {
            self.set_port_status(&ports, "DOWN");
        }
        self.actions_end(id, None);
    }

    /// The server stays in its state after an action, in an error if there is a message. A resize that did not come about leaves
    /// the old flavor.
    pub fn server_stays(&mut self, id: &str, message: Option<&str>) {
        if let Some(server) = self.servers.get_mut(id) {
            server.task_state = None;
            server.new_flavor_id = None;
            server.updated = now();
        }
        self.actions_end(id, message);
    }

    /// The server is broken. A rebuild that did not come about leaves the old image.
    pub fn server_is_broken(&mut self, id: &str, message: &str) {
        let Some(server) = self.servers.get_mut(id) else {
            return;
        };
        if let Some(image) = server.old_image_id.take() {
            server.image_id = image;
        }
        server.new_flavor_id = None;
        server.status = Status::Error;
        server.task_state = None;
        server.updated = now();
        server.fault = Some(Fault {
            code: 500,
            message: message.into(),
            created: now(),
        });
        self.actions_end(id, Some(message));
    }

    /// Removes the server: ports that Nova created are deleted with it, other ports and volumes are detached. Returns the
    /// volumes that are deleted with it, in `deleting`.
    pub fn server_is_gone(&mut self, id: &str) -> Vec<String> {
        self.actions_end(id, None);
        let Some(server) = self.servers.remove(id) else {
            return Vec::new();
        };
        self.remember_deleted(&server);
        let mut going = Vec::new();
        for volume in &server.volumes {
            let goes = self
                .attachment_of(id, volume)
                .is_ok_and(|one| one.delete_on_termination);
            self.volume_is_out(id, volume);
            if goes {
                self.volume_is(volume, VolumeStatus::Deleting);
                going.push(volume.clone());
            }
        }
        for port_id in &server.ports {
            self.release_port(port_id, server.own_ports.contains(port_id));
        }
        going
    }

    /// Nova keeps the rows of deleted servers; the lab keeps the last ones.
    fn remember_deleted(&mut self, server: &Server) {
        const DELETED_MAX: usize = 10_000;
        if self.deleted_servers.len() >= DELETED_MAX {
            let oldest = self.deleted_servers.iter().next();
            if let Some(oldest) = oldest.map(|server| server.id.clone()) {
                self.deleted_servers.remove(&oldest);
            }
        }
        self.deleted_servers.insert(Server {
            status: Status::Deleted,
            task_state: None,
            updated: now(),
            user_data: None,
            ports: Vec::new(),
            own_ports: Vec::new(),
            volumes: Vec::new(),
            ..server.clone()
        });
    }

    fn set_port_status(&mut self, ports: &[String], status: &str) {
        for id in ports {
            self.ports.change(id, |port| {
                if port.status != status {
                    port.status = status.into();
                    port.common.mark_updated();
                }
            });
        }
    }
}
