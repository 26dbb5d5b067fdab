//! Claims of resources on exclusive properties, as texts that are equal if the values are equal in the cloud.

use super::Claimant;
use crate::range;
use hot::expr::Expr;
use ipnet::IpNet;

/// Claim on a key or, with a range, on a part of the key's ranges.
pub(super) struct Claim {
    pub key: String,
    pub range: Option<IpNet>,
}

impl Claim {
    fn of(keys: &[String]) -> Claim {
        Claim {
            key: keys.join("\n"),
            range: None,
        }
    }

    /// True if the two claims conflict.
    pub(super) fn conflicts_with(&self, other: &Claim) -> bool {
        self.key == other.key && self.overlaps(&other.range)
    }

    /// True if two claims on one key conflict.
    pub(super) fn overlaps(&self, other: &Option<IpNet>) -> bool {
        match (&self.range, other) {
            (Some(one), Some(other)) => range::overlap(one, other),
            _ => true,
        }
    }
}

/// Claim on the resource's name. Without one, the name is derived from the resource's name in the template.
pub(super) fn name(claimant: &Claimant<'_>) -> Vec<Claim> {
    let resource = crate::workflow::copy_of(claimant.name).unwrap_or(claimant.name);
    let name = claimant.property("name").filter(|name| !name.is_empty());
    vec![Claim::of(
        &[name.unwrap_or_else(|| format!("{resource}\n"))],
    )]
}

/// Claim on these properties together. Empty unless all are given.
pub(super) fn all_of(claimant: &Claimant<'_>, properties: &[&str]) -> Vec<Claim> {
    let keys: Option<Vec<String>> = properties
        .iter()
        .map(|property| claimant.property(property).filter(|key| !key.is_empty()))
        .collect();
    keys.map(|keys| vec![Claim::of(&keys)]).unwrap_or_default()
}

/// Claims on a key of each map in these lists.
pub(super) fn each(claimant: &Claimant<'_>, lists: &[&str], key: &str) -> Vec<Claim> {
    let entries = lists.iter().flat_map(|list| items(claimant, list));
    entries
        .filter_map(|entry| Some(Claim::of(&[claimant.key(entry.get(key))?])))
        .collect()
}

/// Claims on a key of each map in a list, within the value of the property `within`.
pub(super) fn each_in(claimant: &Claimant<'_>, within: &str, list: &str, key: &str) -> Vec<Claim> {
    let Some(within) = claimant.property(within) else {
        return Vec::new();
    };
    items(claimant, list)
        .iter()
        .filter_map(|entry| Some(Claim::of(&[within.clone(), claimant.key(entry.get(key))?])))
        .collect()
}

/// Claims on each text of a list.
pub(super) fn texts(claimant: &Claimant<'_>, list: &str) -> Vec<Claim> {
    let texts = items(claimant, list).iter();
    texts
        .filter_map(|one| Some(Claim::of(&[claimant.key(Some(one))?])))
        .collect()
}

/// Claim on a name that is unique in its Keystone domain, by default `default`.
pub(super) fn name_in_domain(claimant: &Claimant<'_>) -> Vec<Claim> {
    let domain = claimant.property("domain");
    let domain = domain.unwrap_or_else(|| "default".to_owned());
    let mut found = all_of(claimant, &["name"]);
    for claim in &mut found {
        claim.key = format!("{domain}\n{}", claim.key);
    }
    found
}

/// Claims on a user's or group's roles in projects and domains.
pub(super) fn grants(claimant: &Claimant<'_>, who: &str) -> Vec<Claim> {
    let Some(who) = claimant.property(who) else {
        return Vec::new();
    };
    let roles = items(claimant, "roles").iter();
    roles
        .filter_map(|one| {
            let place = ["project", "domain"].map(|name| claimant.key(one.get(name)));
            let [project, domain] = place.map(Option::unwrap_or_default);
            let role = claimant.key(one.get("role"))?;
            Some(Claim::of(&[who.clone(), role, project, domain]))
        })
        .collect()
}

/// Claim on a range within the value of a property.
pub(super) fn range_in(claimant: &Claimant<'_>, within: &str, range: Option<IpNet>) -> Vec<Claim> {
    match (claimant.property(within), range) {
        (Some(key), Some(range)) => vec![Claim {
            key,
            range: Some(range),
        }],
        _ => Vec::new(),
    }
}

/// Claims on several ranges within the value of a property.
pub(super) fn ranges_in(claimant: &Claimant<'_>, within: &str, list: &str) -> Vec<Claim> {
    let ranges = items(claimant, list).iter();
    ranges
        .filter_map(|one| range::parse(one.as_str()?))
        .flat_map(|range| range_in(claimant, within, Some(range)))
        .collect()
}

/// Claims on a port's fixed addresses and MAC address.
pub(super) fn addresses(port: &Claimant<'_>) -> Vec<Claim> {
    let mut found = each_in(port, "network", "fixed_ips", "ip_address");
    found.extend(all_of(port, &["network", "mac_address"]));
    found
}

/// Claims on a router's external addresses.
pub(super) fn outside_addresses(router: &Claimant<'_>) -> Vec<Claim> {
    let info = router.spec.properties.get("external_gateway_info");
    let network = router.key(info.and_then(|info| info.get("network")));
    let (Some(network), Some(Expr::List(addresses))) = (
        network,
        info.and_then(|info| info.get("external_fixed_ips")),
    ) else {
        return Vec::new();
    };
    addresses
        .iter()
        .filter_map(|one| {
            Some(Claim::of(&[
                network.clone(),
                router.key(one.get("ip_address"))?,
            ]))
        })
        .collect()
}

/// Claim on a segment given by the `provider:` keys of a network's `value_specs`.
pub(super) fn segment(network: &Claimant<'_>) -> Vec<Claim> {
    let specs = network.spec.properties.get("value_specs");
    let of = |key: &str| network.key(specs.and_then(|specs| specs.get(key)));
    let physical = of("provider:physical_network").unwrap_or_default();
    let kind = of("provider:network_type").unwrap_or_default();
    segment_of(kind, physical, of("provider:segmentation_id"))
}

/// Claim on a segment, for types that have properties for it.
pub(super) fn own_segment(claimant: &Claimant<'_>) -> Vec<Claim> {
    let of = |name: &str| claimant.property(name).unwrap_or_default();
    let number = claimant.property("segmentation_id");
    segment_of(of("network_type"), of("physical_network"), number)
}

fn segment_of(kind: String, physical: String, number: Option<String>) -> Vec<Claim> {
    match number {
        Some(number) => vec![Claim::of(&[kind, physical, number])],
        None if kind == "flat" => vec![Claim::of(&[kind, physical])],
        None => Vec::new(),
    }
}

/// Claim on the address that a floating IP is associated with, by default the port's first one.
pub(super) fn associated_address(claimant: &Claimant<'_>) -> Vec<Claim> {
    let Some(port) = claimant.property("port_id") else {
        return Vec::new();
    };
    let address = claimant.property("fixed_ip_address").unwrap_or_default();
    vec![Claim::of(&[port, address])]
}

/// Claim on all properties except the description: two rules with the same content are the same rule.
pub(super) fn all_but_description(rule: &Claimant<'_>) -> Vec<Claim> {
    let properties = &rule.spec.properties;
    let names = properties.keys().filter(|name| *name != "description");
    let keys: Vec<String> = names
        .map(|name| format!("{name} {}", rule.property(name).unwrap_or_default()))
        .collect();
    vec![Claim::of(&keys)]
}

/// Claim on a listener's port. Protocols over UDP can use the same number as those over TCP.
pub(super) fn listening(listener: &Claimant<'_>) -> Vec<Claim> {
    let carrier = match listener.property("protocol").as_deref() {
        Some("UDP") => "udp",
        Some("SCTP") => "sctp",
        _ => "tcp",
    };
    let mut claims = all_of(listener, &["loadbalancer", "protocol_port"]);
    for claim in &mut claims {
        claim.key.push('\n');
        claim.key.push_str(carrier);
    }
    claims
}

fn items<'t>(claimant: &'t Claimant<'_>, list: &str) -> &'t [Expr] {
    match claimant.spec.properties.get(list) {
        Some(Expr::List(items)) => items,
        _ => &[],
    }
}
