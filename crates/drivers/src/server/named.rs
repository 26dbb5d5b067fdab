//! Look-ups of the references in a server's properties: images, flavor, networks and ports.

use openstack::network::{Network, Port, Subnet};
use serde_json::{Map, Value, json};

use super::super::properties::Properties;
use super::effect;
use crate::driver::{Context, DriverError};

/// Ids of the resources in the properties.
pub(super) struct Named {
    pub(super) image: Option<String>,
    pub(super) flavor: String,
    /// Nova's `networks`.
    pub(super) networks: Value,
    /// One entry per device of `block_device_mapping_v2`.
    pub(super) disk_images: Vec<Option<String>>,
}

/// Looks up all of them at the same time. With a distant cloud, a server would otherwise wait for one response after another.
pub(super) async fn look_up(context: &Context<'_>) -> Result<Named, DriverError> {
    let properties = Properties::of(context.properties);
    let (image, flavor, disk_images, networks) = tokio::join!(
        Box::pin(image(context, properties)),
        Box::pin(effect::flavor(context, properties)),
        Box::pin(disk_images(context, properties)),
        Box::pin(networks(context, properties)),
    );
    Ok(Named {
        image: image?,
        flavor: flavor?.id,
        disk_images: disk_images?,
        networks: networks?,
    })
}

async fn image(
    context: &Context<'_>,
    properties: Properties<'_>,
) -> Result<Option<String>, DriverError> {
    match properties.filled("image")? {
        Some(image) => image_id(context, properties, "image", &image)
            .await
            .map(Some),
        None => Ok(None),
    }
}

async fn disk_images(
    context: &Context<'_>,
    properties: Properties<'_>,
) -> Result<Vec<Option<String>>, DriverError> {
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
    Ok(disk_images)
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

/// Nova's `networks`: a list, or `auto` if the template has none.
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
