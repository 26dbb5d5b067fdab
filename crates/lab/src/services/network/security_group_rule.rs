//! Security group rules: allowed traffic. There are no rules that forbid; other traffic is dropped.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::field::{Field, Form, as_number, never, on_create, required};
use crate::kit::ids::new_id;
use crate::kit::ip::Cidr;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::{Body, bare};
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};

/// The direction, relative to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Traffic to the server.
    Ingress,
    /// Traffic from the server.
    Egress,
}

/// The IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EtherType {
    /// Version 4.
    IPv4,
    /// Version 6. Rules are stored, but the lab drops all IPv6 traffic.
    IPv6,
}

/// A rule.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecurityGroupRule {
    pub id: String,
    pub security_group_id: String,
    /// The direction.
    pub direction: Direction,
    /// The IP version.
    pub ethertype: EtherType,
    /// `tcp`, `udp`, `icmp`, another name, or a number. `None` is any protocol.
    pub protocol: Option<String>,
    /// The first port, or the ICMP type.
    pub port_range_min: Option<u16>,
    /// The last port, or the ICMP code.
    pub port_range_max: Option<u16>,
    /// The range of remote addresses.
    pub remote_ip_prefix: Option<Cidr>,
    /// The security group of the remote addresses.
    pub remote_group_id: Option<String>,
    /// Always `None`: the lab has no address groups.
    pub remote_address_group_id: Option<String>,
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(SecurityGroupRule);
crate::services::network::row!(SecurityGroupRule, security_group_id);

const FIELDS: &[Field] = &[
    required("security_group_id", Form::Id),
    required("direction", Form::Text),
    on_create("ethertype", Form::TextOrNull),
    on_create("protocol", Form::Any),
    on_create("port_range_min", Form::Any),
    on_create("port_range_max", Form::Any),
    on_create("remote_ip_prefix", Form::TextOrNull),
    never("normalized_cidr", Form::Text),
    on_create("remote_group_id", Form::Id),
    on_create("remote_address_group_id", Form::Id),
];

/// Neutron's protocol names.
const PROTOCOLS: &[&str] = &[
    "ah",
    "dccp",
    "egp",
    "esp",
    "gre",
    "hopopt",
    "icmp",
    "igmp",
    "ip",
    "ipip",
    "ipv6-encap",
    "ipv6-frag",
    "ipv6-icmp",
    "icmpv6",
    "ipv6-nonxt",
    "ipv6-opts",
    "ipv6-route",
    "ospf",
    "pgm",
    "rsvp",
    "sctp",
    "tcp",
    "udp",
    "udplite",
    "vrrp",
];

/// Protocol names and their numbers, to find duplicate rules.
const SAME: &[(&str, &str)] = &[
    ("icmpv6", "58"),
    ("ipv6-icmp", "58"),
    ("gre", "47"),
    ("esp", "50"),
    ("ah", "51"),
    ("ospf", "89"),
    ("vrrp", "112"),
    ("sctp", "132"),
];

fn number_of(protocol: &Option<String>) -> Option<&str> {
    let text = protocol.as_deref()?;
    let same = SAME.iter().find(|(name, _)| *name == text);
    Some(same.map_or(text, |(_, number)| number))
}

pub static SECURITY_GROUP_RULE: Collection = Collection {
    collection: "security-group-rules",
    singular: "security_group_rule",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |_, _, _| false,
    missing: (
        "SecurityGroupRuleNotFound",
        "Security group rule {} does not exist",
    ),
    rows: Rows::Typed {
        list: |model, query| query.values(model.security_group_rules.iter(), |_| false, shown),
        get: |model, id| model.security_group_rules.get(id).map(shown),
        create,
        update,
        delete,
    },
};

/// The document with `normalized_cidr`. The stored prefix is already normalised.
fn shown(row: &SecurityGroupRule) -> Value {
    let mut value = to_value(row);
    value["normalized_cidr"] = value["remote_ip_prefix"].clone();
    value
}

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    model.quotas.check_count(
        project_id,
        "security_group_rule",
        model.security_group_rules.iter(),
    )?;
    let group = attributes.text("security_group_id")?.unwrap_or_default();
    let security_group_id = model.security_groups_for(project_id, &[group])?.remove(0);
    let direction = match attributes.text("direction")?.as_deref() {
        Some("ingress") => Direction::Ingress,
        Some("egress") => Direction::Egress,
        other => {
            let reason = format!("{} is not in valid_values", other.unwrap_or("None"));
            return Err(Refusal::invalid_input("direction", reason));
        }
    };
    let ethertype = match attributes.text("ethertype")? {
        None => EtherType::IPv4,
        Some(text) if text.eq_ignore_ascii_case("ipv4") => EtherType::IPv4,
        Some(text) if text.eq_ignore_ascii_case("ipv6") => EtherType::IPv6,
        Some(text) => {
            return Err(Refusal::new(
                400,
                "SecurityGroupRuleInvalidEtherType",
                format!(
                    "Security group rule for ethertype '{text}' not supported. Allowed values are ['IPv4', 'IPv6']."
                ),
            ));
        }
    };
    let protocol = protocol(&mut attributes)?;
    let (min, max) = (
        port(&mut attributes, "port_range_min")?,
        port(&mut attributes, "port_range_max")?,
    );
    let (port_range_min, port_range_max) = ports(protocol.as_deref(), min, max)?;
    let remote_ip_prefix = attributes.text("remote_ip_prefix")?;
    let remote_ip_prefix = match (remote_ip_prefix, ethertype) {
        (None, _) => None,
        (Some(text), ethertype) => {
            let (version, name) = match ethertype {
                EtherType::IPv4 => (4, "IPv4"),
                EtherType::IPv6 => (6, "IPv6"),
            };
            let range = text.parse::<Cidr>().ok();
            let range = range.filter(|range| range.version() == version);
            Some(range.ok_or_else(|| conflicting(&text, name))?)
        }
    };
    let remote_group_id = match attributes.text("remote_group_id")? {
        None => None,
        Some(id) => Some(model.security_groups_for(project_id, &[id])?.remove(0)),
    };
    if remote_ip_prefix.is_some() && remote_group_id.is_some() {
        return Err(Refusal::new(
            400,
            "SecurityGroupMultipleRemoteEntites",
            "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.",
        ));
    }
    let rule = SecurityGroupRule {
        id: new_id(),
        security_group_id,
        direction,
        ethertype,
        protocol,
        port_range_min,
        port_range_max,
        remote_ip_prefix,
        remote_group_id,
        remote_address_group_id: None,
        common: Common::new(project_id, &mut attributes)?,
    };
    if let Some(same) = model
        .security_group_rules
        .iter()
        .find(|other| other.allows_the_same(&rule))
    {
        return Err(Refusal::conflict(
            "SecurityGroupRuleExists",
            format!(
                "Security group rule already exists. Rule id is {}.",
                same.id
            ),
        ));
    }
    let id = rule.id.clone();
    if let Some(group) = model.security_groups.get_mut(&rule.security_group_id) {
        group.common.mark_updated();
    }
    model.security_group_rules.insert(rule);
    Ok(id)
}

fn update(model: &mut Model, id: &str, attributes: Body) -> Result<(), Refusal> {
    let rule = model
        .security_group_rules
        .get_mut(id)
        .ok_or_else(|| SECURITY_GROUP_RULE.not_found(id))?;
    assign(rule, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let rule = model.security_group_rules.remove(id);
    let rule = rule.ok_or_else(|| SECURITY_GROUP_RULE.not_found(id))?;
    if let Some(group) = model.security_groups.get_mut(&rule.security_group_id) {
        group.common.mark_updated();
    }
    Ok(())
}

/// A port number, ICMP type or ICMP code.
fn port(attributes: &mut Body, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(value) = attributes.take(name) else {
        return Ok(None);
    };
    let number = as_number(&value);
    number.map(Some).ok_or_else(|| {
        Refusal::new(
            400,
            "SecurityGroupInvalidPortValue",
            format!("Invalid value for port {}", bare(&value)),
        )
    })
}

fn protocol(attributes: &mut Body) -> Result<Option<String>, Refusal> {
    let Some(value) = attributes.take("protocol") else {
        return Ok(None);
    };
    let text = bare(&value).to_lowercase();
    let known = PROTOCOLS.contains(&text.as_str()) || text.parse::<u8>().is_ok();
    match text.as_str() {
        "" => Ok(None),
        "1" => Ok(Some("icmp".into())),
        "6" => Ok(Some("tcp".into())),
        "17" => Ok(Some("udp".into())),
        _ if known => Ok(Some(text)),
        _ => Err(Refusal::new(
            400,
            "SecurityGroupRuleInvalidProtocol",
            format!(
                "Security group rule protocol {text} not supported. Only protocol values [None, '{}'] and integer representations \
                 [0 to 255] are supported.",
                PROTOCOLS.join("', '")
            ),
        )),
    }
}

fn ports(
    protocol: Option<&str>,
    min: Option<i64>,
    max: Option<i64>,
) -> Result<(Option<u16>, Option<u16>), Refusal> {
    let port = |value: Option<i64>, smallest: i64| match value {
        None => Ok(None),
        Some(value) if (smallest..=65535).contains(&value) => Ok(u16::try_from(value).ok()),
        Some(value) => Err(Refusal::new(
            400,
            "SecurityGroupInvalidPortValue",
            format!("Invalid value for port {value}"),
        )),
    };
    let icmp = |field: &str, name: &str, value: Option<i64>| match value {
        None => Ok(None),
        Some(value) if (0..=255).contains(&value) => Ok(u16::try_from(value).ok()),
        Some(value) => Err(Refusal::new(
            400,
            "SecurityGroupInvalidIcmpValue",
            format!("Invalid value for ICMP {field} ({name}) {value}. It must be 0 to 255."),
        )),
    };
    // Port 0 is not valid for these protocols.
    let smallest = match protocol {
        Some("tcp" | "udp" | "sctp" | "dccp" | "udplite") => 1,
        _ => 0,
    };
    match protocol {
        Some("icmp" | "icmpv6" | "ipv6-icmp") => {
            if max.is_some() && min.is_none() {
                return Err(Refusal::new(
                    400,
                    "SecurityGroupMissingIcmpType",
                    format!(
                        "ICMP code (port-range-max) {} is provided but ICMP type (port-range-min) is missing.",
                        max.unwrap_or(0)
                    ),
                ));
            }
            Ok((
                icmp("type", "port_range_min", min)?,
                icmp("code", "port_range_max", max)?,
            ))
        }
        None if min.is_some() || max.is_some() => Err(Refusal::new(
            400,
            "SecurityGroupProtocolRequiredWithPorts",
            "Must also specify protocol if port range is given.",
        )),
        _ => {
            let (min, max) = (port(min, smallest)?, port(max, smallest)?);
            match (min, max) {
                (Some(a), Some(b)) if a > b => Err(Refusal::new(
                    400,
                    "SecurityGroupInvalidPortRange",
                    "For TCP/UDP protocols, port_range_min must be <= port_range_max",
                )),
                (Some(_), None) | (None, Some(_)) => Err(Refusal::new(
                    400,
                    "SecurityGroupInvalidPortRange",
                    "For TCP/UDP protocols, port_range_min must be <= port_range_max",
                )),
                both => Ok(both),
            }
        }
    }
}

fn conflicting(prefix: &str, ethertype: &str) -> Refusal {
    if prefix.parse::<Cidr>().is_ok() {
        Refusal::new(
            400,
            "SecurityGroupRuleParameterConflict",
            format!("Conflicting value ethertype {ethertype} for CIDR {prefix}"),
        )
    } else {
        Refusal::new(
            400,
            "InvalidCIDR",
            format!("Invalid CIDR {prefix} given as IP prefix."),
        )
    }
}

impl SecurityGroupRule {
    /// A rule for every protocol, as in each new group.
    pub fn any(
        group: &str,
        project_id: &str,
        direction: Direction,
        ethertype: EtherType,
        remote_group_id: Option<String>,
    ) -> Self {
        Self {
            id: new_id(),
            security_group_id: group.into(),
            direction,
            ethertype,
            protocol: None,
            port_range_min: None,
            port_range_max: None,
            remote_ip_prefix: None,
            remote_group_id,
            remote_address_group_id: None,
            common: Common::new(project_id, &mut Body::default()).unwrap_or_default(),
        }
    }

    fn allows_the_same(&self, other: &Self) -> bool {
        let everyone = |prefix: &Option<Cidr>| prefix.filter(|cidr| cidr.prefix() > 0);
        self.security_group_id == other.security_group_id
            && self.direction == other.direction
            && self.ethertype == other.ethertype
            && number_of(&self.protocol) == number_of(&other.protocol)
            && self.port_range_min == other.port_range_min
            && self.port_range_max == other.port_range_max
            && everyone(&self.remote_ip_prefix) == everyone(&other.remote_ip_prefix)
            && self.remote_group_id == other.remote_group_id
    }
}
