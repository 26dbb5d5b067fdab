//! `OS::Nova::Server`: a virtual machine. Source: Compute API, "Servers".
//!
//! The mark is a tag, set with the very call that makes the server, so there is no moment without it.
//! The host key is made here too: the private half goes to the server by user data and is forgotten,
//! the public half stays in the server's metadata, where it is found again after a crash.
//!
//! A server that the cloud gave up on (`ERROR`) is removed before another is made in its place; while
//! it still holds its ports, the attempt fails with words that say so, and the engine tries again.

use async_trait::async_trait;
use openstack::compute::Server as Found;
use openstack::network::{Network, Port, Subnet};
use serde_json::{Map, Value, json};

use super::properties::Properties;
use super::{block_devices, cloud_init, keys, mark, neutron};
use crate::driver::{Context, Driver, DriverError, Marker, Progress, Ready};

/// Where the public half of the host key is kept.
const HOST_KEY: &str = "stackloom_host_key";

pub(super) struct Server;

#[async_trait]
impl Driver for Server {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if let Some(found) = find(context).await? {
            if found.status != "ERROR" {
                return Ok(found.id);
            }
            clear_away(context, &found).await?;
        }
        let named = look_up(context).await?;
        let host_key = match context.login {
            Some(_) => Some(keys::make(&mark::physical_name(
                context.marker,
                context.properties,
            ))?),
            None => None,
        };
        let own = Properties::of(context.properties).filled("user_data")?;
        let guest = context
            .login
            .zip(host_key.as_ref())
            .map(|(login, host_key)| cloud_init::Guest {
                login,
                host_key,
                bastion: context.marks.bastion,
            });
        let user_data = cloud_init::user_data(own.as_deref(), guest.as_ref());
        let host_key = host_key.as_ref().map(|pair| pair.public.as_str());
        let fields = body(
            context.marker,
            context.properties,
            &named,
            user_data.as_deref(),
            host_key,
        )?;
        let hints = context
            .properties
            .get("scheduler_hints")
            .filter(|hints| hints.is_object());
        Ok(context
            .session
            .compute()
            .server_create(&Value::Object(fields), hints)
            .await?)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let server = match context.session.compute().server_get(physical_id).await {
            Ok(server) => server,
            Err(error) if error.is_not_found() => {
                return Ok(Progress::Failed("the server is gone".into()));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(unready) = unready(&server) {
            return Ok(unready);
        }
        let first = first_address(context, &server).await?;
        Ok(Progress::Ready(Ready {
            reference: json!(server.id),
            attributes: attributes(&server, first),
        }))
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        let compute = context.session.compute();
        let server = compute.server_get(physical_id).await?;
        refuse_what_needs_another_server(context, properties, &server).await?;

        let name = mark::physical_name(context.marker, context.properties);
        if name != server.name {
            compute.server_rename(physical_id, &name).await?;
        }
        let host_key = server.metadata.get(HOST_KEY).map(String::as_str);
        let wanted = metadata(context.marker, properties, host_key)?;
        if wanted != json!(server.metadata) {
            compute.server_set_metadata(physical_id, &wanted).await?;
        }
        let mut wanted = tags(context.marker, properties)?;
        let mut there = server.tags.clone();
        wanted.sort();
        there.sort();
        if wanted != there {
            compute.server_set_tags(physical_id, &wanted).await?;
        }
        Ok(())
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_string(),
            None => match find(context).await? {
                Some(found) => found.id,
                None => return Ok(()),
            },
        };
        neutron::done_if_gone(context.session.compute().server_delete(&id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        match context.session.compute().server_get(physical_id).await {
            // With deferred deletion, a deleted server can be seen for days.
            Ok(server) => Ok(matches!(server.status.as_str(), "DELETED" | "SOFT_DELETED")),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// The server that carries the resource's tag.
async fn find(context: &Context<'_>) -> Result<Option<Found>, DriverError> {
    let tag = mark::tag(context.marker);
    let found = context
        .session
        .compute()
        .server_list(&[("tags", &tag)])
        .await?;
    // Asked again here, for clouds that do not know the filter.
    Ok(found.into_iter().find(|server| {
        server.tags.contains(&tag) && !matches!(server.status.as_str(), "DELETED" | "SOFT_DELETED")
    }))
}

/// Takes a failed server out of the way of its successor.
async fn clear_away(context: &Context<'_>, failed: &Found) -> Result<(), DriverError> {
    let compute = context.session.compute();
    neutron::done_if_gone(compute.server_delete(&failed.id).await)?;
    match compute.server_get(&failed.id).await {
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(DriverError::Other(format!(
            "an earlier attempt left server {} in state ERROR; it is being deleted. Try again when it is gone",
            failed.id
        ))),
    }
}

/// What the properties name, as ids.
struct Named {
    image: Option<String>,
    flavor: String,
    /// Nova's `networks`.
    networks: Value,
    /// One for each of `block_device_mapping_v2`.
    disk_images: Vec<Option<String>>,
}

async fn look_up(context: &Context<'_>) -> Result<Named, DriverError> {
    let properties = Properties::of(context.properties);
    let image = match properties.filled("image")? {
        Some(image) => Some(image_id(context, properties, "image", &image).await?),
        None => None,
    };
    let flavor = properties.required("flavor")?;
    let found = context.session.compute().flavor_find(&flavor).await;
    let flavor = found
        .map_err(|error| properties.looked_up("flavor", error))?
        .id;
    let mut disk_images = Vec::new();
    for (index, device) in properties
        .list("block_device_mapping_v2")
        .iter()
        .enumerate()
    {
        let prefix = format!("block_device_mapping_v2.{index}.");
        let device = Properties::within(device, &prefix)?;
        let given = match device.filled("image")? {
            Some(image) => Some(image),
            None => device.filled("image_id")?,
        };
        disk_images.push(match given {
            Some(image) => Some(image_id(context, device, "image", &image).await?),
            None => None,
        });
    }
    Ok(Named {
        image,
        flavor,
        networks: networks(context, properties).await?,
        disk_images,
    })
}

async fn image_id(
    context: &Context<'_>,
    properties: Properties<'_>,
    property: &str,
    given: &str,
) -> Result<String, DriverError> {
    let found = context.session.image().image_find(given).await;
    Ok(found
        .map_err(|error| properties.looked_up(property, error))?
        .id)
}

/// Nova's `networks`: a list, or `auto` where the template names none.
async fn networks(context: &Context<'_>, properties: Properties<'_>) -> Result<Value, DriverError> {
    let session = context.session;
    let given = properties.list("networks");
    let mut networks = Vec::new();
    for (index, network) in given.iter().enumerate() {
        let prefix = format!("networks.{index}.");
        let network = Properties::within(network, &prefix)?;
        if let Some(allocate) = network.filled("allocate_network")? {
            return Ok(json!(allocate));
        }
        if network.get("floating_ip").is_some() {
            let why = "draw the floating IP with the port that it leads to, or an `OS::Neutron::FloatingIPAssociation`";
            return Err(network.wrong("floating_ip", why.into()));
        }
        let mut body = Map::new();
        if let Some(port) = network.id_of::<Port>(session, "port").await? {
            body.insert("port".into(), port.into());
        } else {
            let id = match network.filled("network")? {
                Some(id) => Some(id),
                None => network.filled("uuid")?,
            };
            let id = match (id, network.id_of::<Subnet>(session, "subnet").await?) {
                (Some(id), _) => network.id_named::<Network>(session, "network", &id).await?,
                (None, Some(subnet)) => {
                    session
                        .network()
                        .get::<openstack::network::Subnet>(&subnet)
                        .await?
                        .network_id
                }
                (None, None) => {
                    return Err(
                        network.wrong("network", "either `network` or `port` must be given".into())
                    );
                }
            };
            body.insert("uuid".into(), id.into());
            if let Some(address) = network.filled("fixed_ip")? {
                body.insert("fixed_ip".into(), address.into());
            }
        }
        network.copy(&["tag"], &mut body);
        networks.push(Value::Object(body));
    }
    Ok(if networks.is_empty() {
        json!("auto")
    } else {
        json!(networks)
    })
}

fn body(
    marker: &Marker,
    map: &Map<String, Value>,
    named: &Named,
    user_data: Option<&str>,
    host_key: Option<&str>,
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), mark::physical_name(marker, map).into());
    body.insert("flavorRef".into(), named.flavor.as_str().into());
    if let Some(image) = &named.image {
        body.insert("imageRef".into(), image.as_str().into());
    }
    body.insert("networks".into(), named.networks.clone());
    properties.copy(
        &[
            "key_name",
            "availability_zone",
            "block_device_mapping",
            "reservation_id",
        ],
        &mut body,
    );
    for (property, field) in [
        ("admin_pass", "adminPass"),
        ("diskConfig", "OS-DCF:diskConfig"),
    ] {
        if let Some(value) = properties.filled(property)? {
            body.insert(field.into(), value.into());
        }
    }
    properties.copy_booleans(&["config_drive"], &mut body)?;
    let groups = properties.texts("security_groups")?;
    if !groups.is_empty() {
        let groups: Vec<Value> = groups.iter().map(|group| json!({"name": group})).collect();
        body.insert("security_groups".into(), groups.into());
    }
    let devices = properties.list("block_device_mapping_v2");
    if !devices.is_empty() {
        let mapping = block_devices::mapping_v2(devices, &named.disk_images)?;
        body.insert("block_device_mapping_v2".into(), mapping.into());
    }
    if let Some(Value::Object(files)) = properties.get("personality") {
        let files: Vec<Value> = files
            .iter()
            .map(|(path, content)| {
                let content = content.as_str().unwrap_or_default();
                json!({"path": path, "contents": cloud_init::encode(content)})
            })
            .collect();
        if !files.is_empty() {
            body.insert("personality".into(), files.into());
        }
    }
    if let Some(user_data) = user_data {
        let encoded = cloud_init::encode(user_data);
        if encoded.len() > cloud_init::BYTES_MAX {
            let why = format!(
                "with ours it is {} bytes when encoded, and clouds take {} at most; let it fetch the rest",
                encoded.len(),
                cloud_init::BYTES_MAX
            );
            return Err(properties.wrong("user_data", why));
        }
        body.insert("user_data".into(), encoded.into());
    }
    body.insert("metadata".into(), metadata(marker, properties, host_key)?);
    body.insert("tags".into(), tags(marker, properties)?.into());
    Ok(body)
}

/// The person's and ours.
fn tags(marker: &Marker, properties: Properties<'_>) -> Result<Vec<String>, DriverError> {
    let mut tags = properties.texts("tags")?;
    tags.extend(["stackloom".to_string(), mark::tag(marker)]);
    Ok(tags)
}

/// A new size or other ports would have to be seen through by the person (a resize asks to be
/// confirmed, a guest has to notice a new device), so they are refused in words rather than forgotten.
async fn refuse_what_needs_another_server(
    context: &Context<'_>,
    properties: Properties<'_>,
    server: &Found,
) -> Result<(), DriverError> {
    let flavor = properties.required("flavor")?;
    let found = context.session.compute().flavor_find(&flavor).await;
    let flavor = found.map_err(|error| properties.looked_up("flavor", error))?;
    let there = server
        .other
        .get("flavor")
        .and_then(|flavor| flavor.get("original_name"));
    if let Some(there) = there.and_then(Value::as_str)
        && there != flavor.name
    {
        let why = format!(
            "the server has flavor `{there}`, which cannot be changed in place yet; give the resource another name to get a new server"
        );
        return Err(properties.wrong("flavor", why));
    }
    let ports: Vec<Port> = context
        .session
        .network()
        .list(&[("device_id", &server.id)])
        .await?;
    for (index, network) in properties.list("networks").iter().enumerate() {
        let prefix = format!("networks.{index}.");
        let network = Properties::within(network, &prefix)?;
        if let Some(wanted) = network.id_of::<Port>(context.session, "port").await?
            && !ports.iter().any(|port| port.id == wanted)
        {
            let why = "the server is not plugged into this port, and ports cannot be changed in place yet; give the resource another name to get a new server";
            return Err(network.wrong("port", why.into()));
        }
    }
    Ok(())
}

/// The person's and ours. Nova takes text only; other values are written as JSON, as Heat does.
fn metadata(
    marker: &Marker,
    properties: Properties<'_>,
    host_key: Option<&str>,
) -> Result<Value, DriverError> {
    let mut metadata = Map::new();
    match properties.get("metadata") {
        None => {}
        Some(Value::Object(own)) => {
            for (key, value) in own {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                metadata.insert(key.clone(), text.into());
            }
        }
        Some(_) => return Err(properties.wrong("metadata", "it must be a map".into())),
    }
    let short = |text: &str| text.chars().take(255).collect::<String>();
    metadata.insert(
        "stackloom_deployment".into(),
        short(&marker.deployment).into(),
    );
    metadata.insert("stackloom_resource".into(), short(&marker.resource).into());
    if let Some(key) = host_key {
        // The comment may be a long name; the key is the first two words.
        let key: Vec<&str> = key.split_whitespace().take(2).collect();
        metadata.insert(HOST_KEY.into(), key.join(" ").into());
    }
    Ok(Value::Object(metadata))
}

/// What keeps the server from being ready; `None` if it is.
fn unready(server: &Found) -> Option<Progress> {
    match server.status.as_str() {
        "ACTIVE" | "SHUTOFF" | "SUSPENDED" | "PAUSED" | "SHELVED" | "SHELVED_OFFLOADED"
        | "RESCUE" => None,
        "ERROR" => {
            let fault = server
                .fault
                .as_ref()
                .map(|fault| fault.message.trim())
                .filter(|text| !text.is_empty());
            Some(Progress::Failed(match fault {
                Some(fault) => format!("the cloud put the server in state ERROR: {fault}"),
                None => "the cloud put the server in state ERROR and gives no reason".into(),
            }))
        }
        "DELETED" | "SOFT_DELETED" => Some(Progress::Failed("the server was deleted".into())),
        status => Some(Progress::Pending(match server.task_state.as_deref() {
            Some(task) => format!("the server is in state {status} ({task})"),
            None => format!("the server is in state {status}"),
        })),
    }
}

/// The fixed address on the first network. Nova's map of addresses has lost the order, so with more
/// than one network the first port is asked.
async fn first_address(
    context: &Context<'_>,
    server: &Found,
) -> Result<Option<String>, DriverError> {
    let fixed = || {
        server
            .addresses
            .values()
            .flatten()
            .filter(|address| address.kind != "floating")
    };
    if server.addresses.len() > 1
        && let Some(first) = Properties::of(context.properties).list("networks").first()
        && let Some(port) = Properties::within(first, "networks.0.")?.filled("port")?
    {
        match context.session.network().get::<Port>(&port).await {
            Ok(port) => {
                return Ok(port
                    .fixed_ips
                    .first()
                    .map(|address| address.ip_address.clone()));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let first = fixed()
        .find(|address| address.version == 4)
        .or_else(|| fixed().next());
    Ok(first.map(|address| address.addr.clone()))
}

fn attributes(server: &Found, first: Option<String>) -> Map<String, Value> {
    let mut show = match serde_json::to_value(server) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    // Administrators see it, and the private host key is in it: attributes are stored in clear.
    show.remove("OS-EXT-SRV-ATTR:user_data");
    show.remove("adminPass");
    let networks: Map<String, Value> = server
        .addresses
        .iter()
        .map(|(network, all)| {
            (
                network.clone(),
                all.iter().map(|address| address.addr.as_str()).collect(),
            )
        })
        .collect();
    let mut attributes = Map::new();
    attributes.insert("first_address".into(), json!(first.unwrap_or_default()));
    attributes.insert("networks".into(), Value::Object(networks));
    attributes.insert(
        "addresses".into(),
        show.get("addresses").cloned().unwrap_or_default(),
    );
    attributes.insert("name".into(), json!(server.name));
    attributes.insert("tags".into(), json!(server.tags));
    for (attribute, field) in [
        ("accessIPv4", "accessIPv4"),
        ("accessIPv6", "accessIPv6"),
        ("instance_name", "OS-EXT-SRV-ATTR:instance_name"),
    ] {
        if let Some(value) = show.get(field) {
            attributes.insert(attribute.into(), value.clone());
        }
    }
    if let Some(key) = server.metadata.get(HOST_KEY) {
        attributes.insert("host_key".into(), json!(key));
    }
    attributes.insert("show".into(), Value::Object(show));
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            deployment: "d1".into(),
            deployment_name: "shop".into(),
            resource: "web".into(),
        }
    }

    fn named() -> Named {
        Named {
            image: Some("img-1".into()),
            flavor: "2".into(),
            networks: json!([{"port": "port-1"}]),
            disk_images: vec![],
        }
    }

    #[test]
    fn body_of_a_server() {
        let properties = json!({
            "image": "debian-12", "flavor": "m1.small", "key_name": "mine", "config_drive": "true",
            "metadata": {"role": "web", "size": 3}, "security_groups": ["web"], "tags": ["blue"]});
        let body = body(
            &marker(),
            properties.as_object().unwrap(),
            &named(),
            Some("#!/bin/sh"),
            Some("ssh-ed25519 HOST shop-web"),
        )
        .unwrap();
        assert_eq!(
            Value::Object(body),
            json!({
                "name": "shop-web", "flavorRef": "2", "imageRef": "img-1", "networks": [{"port": "port-1"}],
                "key_name": "mine", "config_drive": true, "security_groups": [{"name": "web"}],
                "user_data": "IyEvYmluL3No",
                "metadata": {"role": "web", "size": "3", "stackloom_deployment": "d1", "stackloom_resource": "web",
                             "stackloom_host_key": "ssh-ed25519 HOST"},
                "tags": ["blue", "stackloom", mark::tag(&marker())]})
        );
    }

    #[test]
    fn user_data_that_no_cloud_takes() {
        let huge = "x".repeat(50_000);
        let error = body(
            &marker(),
            json!({}).as_object().unwrap(),
            &named(),
            Some(&huge),
            None,
        )
        .unwrap_err();
        assert!(
            error.to_string().starts_with("property `user_data`"),
            "{error}"
        );
    }

    fn server(value: Value) -> Found {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn states() {
        assert_eq!(unready(&server(json!({"status": "ACTIVE"}))), None);
        assert_eq!(
            unready(&server(
                json!({"status": "BUILD", "OS-EXT-STS:task_state": "spawning"})
            )),
            Some(Progress::Pending(
                "the server is in state BUILD (spawning)".into()
            ))
        );
        assert_eq!(
            unready(&server(
                json!({"status": "ERROR", "fault": {"message": "No valid host was found. "}})
            )),
            Some(Progress::Failed(
                "the cloud put the server in state ERROR: No valid host was found.".into()
            ))
        );
    }

    #[test]
    fn attributes_hold_no_secret() {
        let server = server(json!({
            "id": "1", "name": "web", "status": "ACTIVE", "OS-EXT-SRV-ATTR:user_data": "c2VjcmV0",
            "addresses": {"front": [{"addr": "10.0.0.4", "version": 4, "OS-EXT-IPS:type": "fixed"}]},
            "metadata": {"stackloom_host_key": "ssh-ed25519 HOST"}}));
        let attributes = attributes(&server, Some("10.0.0.4".into()));
        assert_eq!(attributes["first_address"], "10.0.0.4");
        assert_eq!(attributes["networks"], json!({"front": ["10.0.0.4"]}));
        assert_eq!(attributes["host_key"], "ssh-ed25519 HOST");
        assert!(!Value::Object(attributes).to_string().contains("c2VjcmV0"));
    }
}
