//! `AWS::EC2::Instance` and `AWS::EC2::SecurityGroup`: older forms of a server and of a security group, with Amazon's names
//! of properties.
//!
//! Heat creates them with the requests of `OS::Nova::Server` and `OS::Neutron::SecurityGroup`. So a plan contains those
//! types instead, and passes, comparison and drivers see a server and a security group. Source: Heat's `instance.py` and
//! `security_group.py`.

use super::{BTreeMap, Composer, Expr, Frame, Parent, ResourceSpec, instances, text_of};

const SERVER: &str = "OS::Nova::Server";
const SECURITY_GROUP: &str = "OS::Neutron::SecurityGroup";

/// Properties of a resource of the plan, or the reason why there are none.
type Translated = Result<Vec<(String, Expr)>, &'static str>;

/// The type that resources of this type have in a plan. `None` for types that keep their name.
pub fn native_type(resource_type: &str) -> Option<&'static str> {
    match resource_type {
        "AWS::EC2::Instance" => Some(SERVER),
        "AWS::EC2::SecurityGroup" => Some(SECURITY_GROUP),
        _ => None,
    }
}

impl Composer<'_> {
    /// Adds a resource as one of the type `native`.
    pub(super) fn translated(
        &mut self,
        frame: &Frame<'_>,
        name: &str,
        spec: ResourceSpec,
        native: &str,
    ) {
        let full = frame.full(name);
        let mut given = BTreeMap::new();
        for (property, value) in &spec.properties {
            let path = || format!("resources.{full}.properties.{property}");
            let value = self.simplified(frame, value, &path);
            if !value.is_null() {
                given.insert(property.clone(), value);
            }
        }
        let translated = if native == SERVER {
            let zone = given.get("AvailabilityZone");
            let zone = zone.map(|zone| frame.global_expr(zone));
            self.parents.insert(full.clone(), Parent::Instance { zone });
            server(&given)
        } else {
            security_group(&given)
        };
        let properties = translated.unwrap_or_else(|why| {
            let path = format!("resources.{full}.properties");
            let message = format!("`{full}` cannot be an `{native}`: {why}");
            self.error("property-unsupported", path, message);
            Vec::new()
        });
        let spec = frame.global(ResourceSpec {
            resource_type: native.to_owned(),
            properties: properties.into_iter().collect(),
            ..spec
        });
        self.add(full, spec);
    }
}

fn server(given: &BTreeMap<String, Expr>) -> Translated {
    let volumes = given.get("Volumes");
    if volumes.is_some_and(|volumes| !matches!(volumes, Expr::List(all) if all.is_empty())) {
        return Err(
            "it attaches `Volumes`; use an `OS::Cinder::VolumeAttachment` for each of them",
        );
    }
    let mut properties = instances::server_properties(given)?;
    let mut add = |property: &str, value: Option<Expr>| {
        properties.extend(value.map(|value| (property.to_owned(), value)));
    };
    add("availability_zone", given.get("AvailabilityZone").cloned());
    add("networks", networks(given)?);
    if let Some(tags) = given.get("Tags") {
        let tags = instances::map_of_pairs(tags);
        add(
            "metadata",
            Some(tags.ok_or("`Tags` must be a list of `Key` and `Value`")?),
        );
    }
    // Of the two properties with groups, `server_properties` reads the first.
    if let Some(ids) = given.get("SecurityGroupIds") {
        let groups = both(given.get("SecurityGroups"), ids)?;
        properties.retain(|(property, _)| property != "security_groups");
        properties.push(("security_groups".to_owned(), groups));
    }
    Ok(properties)
}

/// The groups of `SecurityGroups`, then those of `SecurityGroupIds`.
fn both(groups: Option<&Expr>, ids: &Expr) -> Result<Expr, &'static str> {
    match (groups, ids) {
        (None, ids) => Ok(ids.clone()),
        (Some(Expr::List(groups)), Expr::List(ids)) => {
            Ok(Expr::List(groups.iter().chain(ids).cloned().collect()))
        }
        _ => Err("`SecurityGroups` and `SecurityGroupIds` must be lists where both are given"),
    }
}

/// The property `networks` of a server: a port for each interface, in the order of their numbers, else the subnet.
fn networks(given: &BTreeMap<String, Expr>) -> Result<Option<Expr>, &'static str> {
    const EXPECTED: &str = "each of `NetworkInterfaces` must be a port, or a map with `NetworkInterfaceId` and the number \
         `DeviceIndex`";
    let entry = |key: &str, value: Expr| Expr::Map(vec![(key.to_owned(), value)]);
    let mut ports = Vec::new();
    match given.get("NetworkInterfaces") {
        None => {}
        Some(Expr::List(interfaces)) => {
            for (position, interface) in interfaces.iter().enumerate() {
                let numbered = match interface {
                    Expr::Map(_) => {
                        let port = interface.get("NetworkInterfaceId").ok_or(EXPECTED)?;
                        (number(interface.get("DeviceIndex")).ok_or(EXPECTED)?, port)
                    }
                    port => (position as u64, port),
                };
                ports.push(numbered);
            }
        }
        Some(_) => return Err("`NetworkInterfaces` must be a list, known when the plan is made"),
    }
    ports.sort_by_key(|(number, _)| *number);
    let ports = ports
        .into_iter()
        .map(|(_, port)| entry("port", port.clone()));
    let ports: Vec<Expr> = ports.collect();
    let subnet = || {
        Some(Expr::List(vec![entry(
            "subnet",
            given.get("SubnetId")?.clone(),
        )]))
    };
    Ok(if ports.is_empty() {
        subnet()
    } else {
        Some(Expr::List(ports))
    })
}

fn number(value: Option<&Expr>) -> Option<u64> {
    text_of(&value?.as_data()?)?.parse().ok()
}

fn security_group(given: &BTreeMap<String, Expr>) -> Translated {
    let mut rules = Vec::new();
    for (property, direction) in [
        ("SecurityGroupIngress", "ingress"),
        ("SecurityGroupEgress", "egress"),
    ] {
        match given.get(property) {
            None => {}
            Some(Expr::List(all)) => {
                for one in all {
                    rules.push(rule(one, direction)?);
                }
            }
            Some(_) => return Err("its rules must be a list, known when the plan is made"),
        }
    }
    let description = given.get("GroupDescription").cloned();
    let description = description.map(|text| ("description".to_owned(), text));
    let rules = ("rules".to_owned(), Expr::List(rules));
    Ok(description.into_iter().chain([rules]).collect())
}

/// A rule of a security group. As in Heat, all rules are for IPv4.
fn rule(given: &Expr, direction: &str) -> Result<Expr, &'static str> {
    if !matches!(given, Expr::Map(_)) {
        return Err("each rule must be a map, known when the plan is made");
    }
    let value = |name: &str| given.get(name).filter(|value| !value.is_null()).cloned();
    let source = value("SourceSecurityGroupId").or_else(|| value("SourceSecurityGroupName"));
    let prefix = value("CidrIp");
    if source.is_some() && prefix.is_some() {
        return Err("a rule has `CidrIp` and a source security group; write a rule for each");
    }
    let mode = source.as_ref().map(|_| Expr::text("remote_group_id"));
    let fields = [
        ("direction", Some(Expr::text(direction))),
        ("protocol", value("IpProtocol").filter(is_limit)),
        ("port_range_min", value("FromPort").filter(is_limit)),
        ("port_range_max", value("ToPort").filter(is_limit)),
        ("remote_ip_prefix", prefix),
        ("remote_mode", mode),
        ("remote_group_id", source),
    ];
    let fields = fields.into_iter();
    let fields = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Ok(Expr::Map(fields.collect()))
}

/// False for `-1`: any protocol, any port, or any type of ICMP messages.
fn is_limit(value: &Expr) -> bool {
    let text = value.as_data().and_then(|value| text_of(&value));
    text.as_deref() != Some("-1")
}
