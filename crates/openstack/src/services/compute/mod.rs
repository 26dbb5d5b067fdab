//! Nova: servers, flavors, key pairs, zones, limits.
//!
//! The default microversion is 2.52, the first with tags in the request for a new server. Newer ones change responses
//! (2.73 and later) and remove key generation (2.92). Calls that need more set their own microversion.

pub mod flavors;
pub mod server_actions;
mod transitions;
mod types;

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::lookups::{LONG, only};
use crate::wire::call::Call;
use crate::{Error, Microversion, Service, Session};
pub(crate) use transitions::{Requested, Transition};

pub use types::{
    Address, AttachedPort, Attachment, Fault, Flavor, KeyPair, Server, ServerGroup, Zone,
};

const DEFAULT_MICROVERSION: Microversion = Microversion(2, 52);

/// First microversion with a volume type for a disk of a new server.
const DISK_TYPES: Microversion = Microversion(2, 67);

impl Session {
    /// Nova.
    pub fn compute(&self) -> Compute<'_> {
        Compute(self)
    }
}

/// Calls to Nova.
pub struct Compute<'a>(pub(crate) &'a Session);

impl Compute<'_> {
    fn call(&self, method: Method, path: &[&str]) -> Call<'_> {
        self.0
            .call(Service::Compute, method, path)
            .microversion(DEFAULT_MICROVERSION)
    }

    /// Servers with all details; `query` contains Nova's filters (`tags`, `name`, `status`).
    pub async fn server_list(&self, query: &[(&str, &str)]) -> Result<Vec<Server>, Error> {
        let call = self.call(Method::GET, &["servers", "detail"]);
        call.query(query.iter().copied()).list("servers").await
    }

    /// Ids alone, at a tenth of Nova's cost for details.
    pub(crate) async fn server_ids(
        &self,
        query: &[(&str, &str)],
        version: Microversion,
    ) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Listed {
            id: String,
        }
        let call = self.call(Method::GET, &["servers"]).microversion(version);
        let call = call.query(query.iter().copied());
        let found: Vec<Listed> = call.list("servers").await?;
        Ok(found.into_iter().map(|one| one.id).collect())
    }

    /// The server with this id.
    pub async fn server_get(&self, id: &str) -> Result<Server, Error> {
        self.call(Method::GET, &["servers", id])
            .fetch("server")
            .await
    }

    /// Creates a server; `hints` are scheduler hints. Returns its id without waiting for the build.
    pub async fn server_create(
        &self,
        fields: &Value,
        hints: Option<&Value>,
    ) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Created {
            id: String,
        }
        let mut body = json!({"server": fields});
        if let Some(hints) = hints {
            body["os:scheduler_hints"] = hints.clone();
        }
        let disks = fields["block_device_mapping_v2"].as_array();
        let has_disk_types = disks
            .into_iter()
            .flatten()
            .any(|disk| disk.get("volume_type").is_some());
        let mut call = self.call(Method::POST, &["servers"]).json(&body);
        if has_disk_types {
            call = call.microversion(DISK_TYPES);
        }
        let created: Created = call.fetch("server").await?;
        self.0
            .extension::<Requested>()
            .add(&created.id, Transition::Building);
        Ok(created.id)
    }

    /// Deletes a server. Returns the request id. A missing server is an error of status 404.
    pub async fn server_delete(&self, id: &str) -> Result<String, Error> {
        let answer = self.call(Method::DELETE, &["servers", id]).send().await?;
        self.0
            .extension::<Requested>()
            .add(id, Transition::Deleting);
        Ok(answer.request_id())
    }

    /// Renames a server.
    pub async fn server_rename(&self, id: &str, name: &str) -> Result<(), Error> {
        let call = self.call(Method::PUT, &["servers", id]);
        call.json(&json!({"server": {"name": name}}))
            .send()
            .await
            .map(drop)
    }

    /// Replaces all metadata of a server.
    pub async fn server_set_metadata(&self, id: &str, metadata: &Value) -> Result<(), Error> {
        let call = self.call(Method::PUT, &["servers", id, "metadata"]);
        call.json(&json!({"metadata": metadata}))
            .send()
            .await
            .map(drop)
    }

    /// Sets some metadata of a server. Other keys stay.
    pub async fn server_add_metadata(&self, id: &str, metadata: &Value) -> Result<(), Error> {
        let call = self.call(Method::POST, &["servers", id, "metadata"]);
        call.json(&json!({"metadata": metadata}))
            .send()
            .await
            .map(drop)
    }

    /// Replaces all tags of a server.
    pub async fn server_set_tags(&self, id: &str, tags: &[String]) -> Result<(), Error> {
        let call = self.call(Method::PUT, &["servers", id, "tags"]);
        call.json(&json!({"tags": tags})).send().await.map(drop)
    }

    /// The URL of a console of a type (`novnc`, `serial` ...) with its protocol (`vnc`, `serial` ...). The URL contains
    /// a token.
    ///
    /// # Errors
    /// The cloud does not offer consoles of this type, or the server has none at present.
    pub async fn server_console_url(
        &self,
        id: &str,
        protocol: &str,
        kind: &str,
    ) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Console {
            url: String,
        }
        let call = self.call(Method::POST, &["servers", id, "remote-consoles"]);
        let body = json!({"remote_console": {"protocol": protocol, "type": kind}});
        let console: Console = call.json(&body).fetch("remote_console").await?;
        Ok(console.url)
    }

    /// The attached ports, in the server's order.
    pub async fn server_ports(&self, id: &str) -> Result<Vec<AttachedPort>, Error> {
        let call = self.call(Method::GET, &["servers", id, "os-interface"]);
        call.fetch("interfaceAttachments").await
    }

    /// Attaches a port. Returns the request id.
    pub async fn port_attach(&self, id: &str, port: &str) -> Result<String, Error> {
        let call = self.call(Method::POST, &["servers", id, "os-interface"]);
        let call = call.json(&json!({"interfaceAttachment": {"port_id": port}}));
        Ok(call.send().await?.request_id())
    }

    /// Detaches a port. Returns the request id. A port that is not attached is an error of status 404.
    pub async fn port_detach(&self, id: &str, port: &str) -> Result<String, Error> {
        let call = self.call(Method::DELETE, &["servers", id, "os-interface", port]);
        Ok(call.send().await?.request_id())
    }

    /// Resizes a server to another flavor. The server then waits for a confirmation (`VERIFY_RESIZE`). Returns the
    /// request id.
    pub async fn server_resize(&self, id: &str, flavor: &str) -> Result<String, Error> {
        self.act(id, &json!({"resize": {"flavorRef": flavor}}))
            .await
    }

    /// Confirms a resize.
    pub async fn server_confirm_resize(&self, id: &str) -> Result<(), Error> {
        self.act(id, &json!({"confirmResize": null}))
            .await
            .map(drop)
    }

    /// Changes the power state of a server: `action` is Nova's key of an action without arguments, such as `os-start`,
    /// `os-stop` or `unpause`. Returns the request id.
    pub async fn server_set_power(&self, id: &str, action: &str) -> Result<String, Error> {
        self.act(id, &json!({action: null})).await
    }

    /// Reboots a server: the guest is asked to shut down first. Returns the request id.
    pub async fn server_reboot(&self, id: &str) -> Result<String, Error> {
        self.act(id, &json!({"reboot": {"type": "SOFT"}})).await
    }

    /// Sets the administrator's password.
    pub async fn server_set_password(&self, id: &str, password: &str) -> Result<(), Error> {
        self.act(id, &json!({"changePassword": {"adminPass": password}}))
            .await
            .map(drop)
    }

    /// Creates an image of a server's disk with this name. Returns the request id.
    pub async fn server_snapshot(&self, id: &str, name: &str) -> Result<String, Error> {
        self.act(id, &json!({"createImage": {"name": name}})).await
    }

    /// Rebuilds a server: its root disk gets the content of an image; id, ports, volumes and name stay. Returns the request
    /// id.
    pub async fn server_rebuild(&self, id: &str, image: &str) -> Result<String, Error> {
        self.act(id, &json!({"rebuild": {"imageRef": image}})).await
    }

    /// Sends a server action. Returns the request id.
    async fn act(&self, id: &str, body: &Value) -> Result<String, Error> {
        let call = self.call(Method::POST, &["servers", id, "action"]);
        Ok(call.json(body).send().await?.request_id())
    }

    /// The last lines of the console.
    pub async fn server_console(&self, id: &str, lines: u32) -> Result<String, Error> {
        let body = json!({"os-getConsoleOutput": {"length": lines}});
        self.call(Method::POST, &["servers", id, "action"])
            .json(&body)
            .fetch("output")
            .await
    }

    /// All flavors that the project can use.
    pub async fn flavor_list(&self) -> Result<Vec<Flavor>, Error> {
        let call = self.call(Method::GET, &["flavors", "detail"]);
        call.list("flavors").await
    }

    /// A flavor by id or name; cached for 30 s. Any text can be a flavor id, so the look-up reads the list.
    pub async fn flavor_find(&self, name_or_id: &str) -> Result<Flavor, Error> {
        let lookups = self.0.lookups();
        let fetch = || self.flavor_fetch(name_or_id);
        lookups.find("flavor", name_or_id, |_| LONG, fetch).await
    }

    async fn flavor_fetch(&self, name_or_id: &str) -> Result<Flavor, Error> {
        let mut flavors = self.flavor_list().await?;
        if let Some(at) = flavors.iter().position(|flavor| flavor.id == name_or_id) {
            return Ok(flavors.swap_remove(at));
        }
        flavors.retain(|flavor| flavor.name == name_or_id);
        only(flavors, "flavor", name_or_id, |flavor| &flavor.id)
    }

    /// Key pairs of the user.
    pub async fn key_pair_list(&self) -> Result<Vec<KeyPair>, Error> {
        #[derive(Deserialize)]
        struct Wrapped {
            keypair: KeyPair,
        }
        let call = self.call(Method::GET, &["os-keypairs"]);
        let wrapped: Vec<Wrapped> = call.list("keypairs").await?;
        Ok(wrapped.into_iter().map(|one| one.keypair).collect())
    }

    /// The key pair with this name.
    pub async fn key_pair_get(&self, name: &str) -> Result<KeyPair, Error> {
        self.call(Method::GET, &["os-keypairs", name])
            .fetch("keypair")
            .await
    }

    /// Imports a public key.
    pub async fn key_pair_create(&self, name: &str, public_key: &str) -> Result<KeyPair, Error> {
        let body = json!({"keypair": {"name": name, "public_key": public_key}});
        self.call(Method::POST, &["os-keypairs"])
            .json(&body)
            .fetch("keypair")
            .await
    }

    /// Deletes a key pair. A missing key pair is an error of status 404.
    pub async fn key_pair_delete(&self, name: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &["os-keypairs", name])
            .send()
            .await
            .map(drop)
    }

    /// Server groups: affinity and anti-affinity of servers.
    pub async fn server_group_list(&self) -> Result<Vec<ServerGroup>, Error> {
        let call = self.call(Method::GET, &["os-server-groups"]);
        call.list("server_groups").await
    }

    /// The server group with this id.
    pub async fn server_group_get(&self, id: &str) -> Result<ServerGroup, Error> {
        self.call(Method::GET, &["os-server-groups", id])
            .fetch("server_group")
            .await
    }

    /// Creates a server group. Rules need microversion 2.64.
    pub async fn server_group_create(
        &self,
        name: &str,
        policy: &str,
        rules: Option<&Value>,
    ) -> Result<ServerGroup, Error> {
        let call = self.call(Method::POST, &["os-server-groups"]);
        let (call, fields) = match rules {
            Some(rules) => (
                call.microversion(Microversion(2, 64)),
                json!({"name": name, "policy": policy, "rules": rules}),
            ),
            None => (call, json!({"name": name, "policies": [policy]})),
        };
        call.json(&json!({"server_group": fields}))
            .fetch("server_group")
            .await
    }

    /// Deletes a server group; its servers remain. A missing group is an error of status 404.
    pub async fn server_group_delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &["os-server-groups", id])
            .send()
            .await
            .map(drop)
    }

    /// Volume attachments of a server.
    pub async fn attachment_list(&self, server: &str) -> Result<Vec<Attachment>, Error> {
        self.call(Method::GET, &["servers", server, "os-volume_attachments"])
            .fetch("volumeAttachments")
            .await
    }

    /// Attaches a volume to a server, optionally with a device name. Returns the request id.
    pub async fn attachment_create(
        &self,
        server: &str,
        volume: &str,
        device: Option<&str>,
    ) -> Result<String, Error> {
        let mut fields = json!({"volumeId": volume});
        if let Some(device) = device {
            fields["device"] = device.into();
        }
        let call = self.call(Method::POST, &["servers", server, "os-volume_attachments"]);
        let call = call.json(&json!({"volumeAttachment": fields}));
        Ok(call.send().await?.request_id())
    }

    /// Detaches a volume from a server. Returns the request id. A missing attachment is an error of status 404.
    pub async fn attachment_delete(&self, server: &str, volume: &str) -> Result<String, Error> {
        let path = ["servers", server, "os-volume_attachments", volume];
        Ok(self.call(Method::DELETE, &path).send().await?.request_id())
    }

    /// Availability zones.
    pub async fn zone_list(&self) -> Result<Vec<Zone>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Listed {
            zone_name: String,
            zone_state: State,
        }
        #[derive(Deserialize)]
        struct State {
            available: bool,
        }
        let call = self.call(Method::GET, &["os-availability-zone"]);
        let zones: Vec<Listed> = call.fetch("availabilityZoneInfo").await?;
        let zones = zones.into_iter().map(|zone| Zone {
            name: zone.zone_name,
            available: zone.zone_state.available,
        });
        Ok(zones.collect())
    }
}
