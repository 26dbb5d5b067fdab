//! Provider attributes of networks, for administrators. They are stored without effect on packets.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::refusal::Refusal;
use crate::services::network::body::Body;
use crate::services::network::body::only_admin;

/// A network on one host.
pub const LOCAL: &str = "local";
/// An untagged physical network.
pub const FLAT: &str = "flat";
/// A VLAN of a physical network.
pub const VLAN: &str = "vlan";
/// The network types.
pub const TYPES: &[&str] = &[LOCAL, FLAT, VLAN, "vxlan", "gre", "geneve"];

const NETWORK_TYPE: &str = "provider:network_type";
const PHYSICAL_NETWORK: &str = "provider:physical_network";
const SEGMENTATION_ID: &str = "provider:segmentation_id";

/// The provider attributes of a network. All are `None` for networks of members.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provider {
    /// One of [`TYPES`].
    #[serde(rename = "provider:network_type")]
    pub network_type: Option<String>,
    /// The name of the physical network.
    #[serde(rename = "provider:physical_network")]
    pub physical_network: Option<String>,
    /// The VLAN id or tunnel id.
    #[serde(rename = "provider:segmentation_id")]
    pub segmentation_id: Option<i64>,
}

/// Refuses provider attributes in requests of members.
fn is_for_admins(attributes: &Body, verb: &str) -> Result<(), Refusal> {
    let names = [NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID];
    match names.iter().find(|name| attributes.has(name)) {
        Some(name) if !attributes.are_admins() => {
            Err(only_admin(&format!("{verb}_network:{name}")))
        }
        _ => Ok(()),
    }
}

impl Provider {
    /// The attributes of a new network, checked against existing networks.
    pub fn read<'a>(
        attributes: &mut Body,
        mut others: impl Iterator<Item = &'a Provider>,
    ) -> Result<Self, Refusal> {
        is_for_admins(attributes, "create")?;
        let provider = Self {
            network_type: attributes.text(NETWORK_TYPE)?,
            physical_network: attributes.text(PHYSICAL_NETWORK)?,
            segmentation_id: attributes.number(SEGMENTATION_ID),
        };
        let kind = provider.network_type.as_deref();
        let Some(kind) = kind else {
            return if provider == Self::default() {
                Ok(provider)
            } else {
                Err(Refusal::invalid_operation("network_type required"))
            };
        };
        if !TYPES.contains(&kind) {
            return Err(Refusal::invalid_operation(format_args!(
                "network_type value '{kind}' not supported"
            )));
        }
        if provider.physical_network.is_none() && [FLAT, VLAN].contains(&kind) {
            return Err(Refusal::invalid_operation(format_args!(
                "physical_network required for {kind} provider network"
            )));
        }
        if kind == FLAT && others.any(|other| *other == provider) {
            return Err(Refusal::conflict(
                "FlatNetworkInUse",
                format!(
                    "Unable to create the flat network. Physical network {} is in use.",
                    provider.physical_network.unwrap_or_default()
                ),
            ));
        }
        Ok(provider)
    }

    /// Checks a change: only the VLAN id can change.
    pub fn check_change(&self, attributes: &mut Body) -> Result<(), Refusal> {
        is_for_admins(attributes, "update")?;
        for (name, is) in [
            (NETWORK_TYPE, &self.network_type),
            (PHYSICAL_NETWORK, &self.physical_network),
        ] {
            if attributes.has(name) && attributes.text(name)? != *is {
                return Err(Refusal::invalid_operation(format_args!(
                    "Plugin does not support updating the following provider network attributes: {name}"
                )));
            }
        }
        if attributes.has(SEGMENTATION_ID) && self.network_type.as_deref() != Some(VLAN) {
            Err(Refusal::invalid_operation(
                "Only VLAN type networks can be updated.",
            ))
        } else {
            Ok(())
        }
    }
}

/// Removes the provider attributes from a document.
pub fn hide(document: &mut Value) {
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| !name.starts_with("provider:"));
    }
}
