//! Checks of a port's body that do not depend on other ports.

use serde_json::Value;

use crate::kit::field::is_uuid;
use crate::kit::ip::Cidr;
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::body::{Body, bare};

/// Neutron's VNIC types.
const VNIC_TYPES: &[&str] = &[
    "normal",
    "direct",
    "macvtap",
    "baremetal",
    "direct-physical",
    "virtio-forwarder",
    "smart-nic",
    "vdpa",
    "accelerator-direct",
    "accelerator-direct-physical",
    "remote-managed",
];

pub(crate) fn qos_policy(
    model: &Model,
    project_id: &str,
    attributes: &mut Body,
) -> Result<Option<String>, Refusal> {
    // Null removes the policy.
    if !attributes.has_value("qos_policy_id") {
        return Ok(None);
    }
    let policy = attributes.text("qos_policy_id")?;
    if let Some(id) = &policy {
        model.qos_policy_for(project_id, id)?;
    }
    Ok(policy)
}

/// The device owner. Owners `network:...` require the owner of the network.
pub(crate) fn owner(attributes: &mut Body, own_network: bool) -> Result<Option<String>, Refusal> {
    match attributes.text("device_owner")? {
        Some(owner) if owner.starts_with("network:") && !own_network => Err(
            crate::services::network::body::only_admin("create_port:device_owner"),
        ),
        other => Ok(other),
    }
}

pub(crate) fn is_vnic_type(text: &str) -> Result<(), Refusal> {
    if VNIC_TYPES.contains(&text) {
        Ok(())
    } else {
        Err(Refusal::invalid_input(
            "binding:vnic_type",
            format!("{text} is not in valid_values"),
        ))
    }
}

/// Security groups require port security.
pub(crate) fn groups_need_a_filter(
    on: bool,
    groups: &[String],
    refusal: (u16, &'static str, &'static str),
) -> Result<(), Refusal> {
    if on || groups.is_empty() {
        Ok(())
    } else {
        Err(Refusal::new(refusal.0, refusal.1, refusal.2))
    }
}

pub(crate) const NO_FILTER_FOR_GROUPS: (u16, &str, &str) = (
    400,
    "PortSecurityAndIPRequiredForSecurityGroups",
    "Port security must be enabled and port must have an IP address in order to use security groups.",
);

pub(crate) const GROUPS_WITHOUT_FILTER: (u16, &str, &str) = (
    409,
    "PortSecurityPortHasSecurityGroup",
    "Port has security group associated. Cannot disable port security or IP address until security group is removed.",
);

/// Ids of security groups. A malformed id is refused without a lookup.
pub(crate) fn groups(attributes: &mut Body) -> Result<Option<Vec<String>>, Refusal> {
    let ids = attributes.texts("security_groups")?;
    let mut all = ids.iter().flatten();
    match all.find(|id| !is_uuid(id)) {
        None => Ok(ids),
        Some(id) => Err(Refusal::invalid_input(
            "security_groups",
            format!("'{id}' is not a valid UUID"),
        )),
    }
}

pub(crate) fn list(attributes: &mut Body, name: &str) -> Result<Vec<Value>, Refusal> {
    match attributes.take(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(Refusal::invalid_input(
            name,
            format!("'{}' is not a list", bare(&other)),
        )),
    }
}

/// Allowed address pairs. The default MAC address is the port's.
pub(crate) fn address_pairs(attributes: &mut Body, mac: &str) -> Result<Vec<Value>, Refusal> {
    const NAME: &str = "allowed_address_pairs";
    let mut pairs = list(attributes, NAME)?;
    for pair in &pairs {
        let Some(fields) = pair.as_object() else {
            return Err(Refusal::invalid_input(
                NAME,
                format!("'{pair}' is not a dictionary"),
            ));
        };
        let address = fields.get("ip_address").and_then(Value::as_str);
        let address = address.ok_or_else(|| {
            Refusal::new(
                400,
                "AllowedAddressPairsMissingIP",
                "AllowedAddressPair must contain ip_address",
            )
        })?;
        if address.parse::<Cidr>().is_err() && address.parse::<std::net::IpAddr>().is_err() {
            return Err(Refusal::bad_request(format!(
                "'{address}' is not a valid IP address"
            )));
        }
        let known = ["ip_address", "mac_address"];
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(Refusal::bad_request(format!(
                "Unrecognized attribute(s) '{name}'"
            )));
        }
    }
    for (nth, pair) in pairs.iter().enumerate() {
        if pairs[..nth].contains(pair) {
            let shown = |name: &str| pair.get(name).map_or_else(|| "None".to_owned(), bare);
            return Err(Refusal::new(
                400,
                "DuplicateAddressPairInRequest",
                format!(
                    "Request contains duplicate address pair: mac_address {} ip_address {}.",
                    shown("mac_address"),
                    shown("ip_address")
                ),
            ));
        }
    }
    for fields in pairs.iter_mut().filter_map(Value::as_object_mut) {
        fields
            .entry("mac_address")
            .or_insert_with(|| Value::from(mac));
    }
    Ok(pairs)
}

pub(crate) fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 6
        && parts
            .iter()
            .all(|part| part.len() == 2 && u8::from_str_radix(part, 16).is_ok())
}
