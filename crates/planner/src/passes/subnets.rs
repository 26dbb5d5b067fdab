//! Adds a subnet to networks of servers without a subnet, because servers need addresses.

use super::*;
use crate::range;
use ipnet::IpNet;
use types::NET;

const NAME: &str = "subnet";

pub(super) fn pass(model: &mut Model, _: &PassContext<'_>) -> Vec<Diagnostic> {
    let with_subnet = subnets_by_network(model);
    let mut used: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let networks = model
        .iter()
        .flat_map(|(_, spec)| match spec.resource_type.as_str() {
            SERVER => list(spec, "networks")
                .iter()
                .filter_map(|entry| entry.get("network"))
                .collect(),
            PORT => spec.properties.get("network").into_iter().collect(),
            _ => Vec::new(),
        });
    for network in networks.filter_map(target) {
        let drawn = model
            .get(network)
            .is_some_and(|spec| spec.resource_type == NET);
        if drawn && !with_subnet.contains_key(network) && seen.insert(network.to_owned()) {
            used.push(network.to_owned());
        }
    }
    let mut taken: Vec<IpNet> = model
        .of_type(SUBNET)
        .filter_map(|(_, spec)| range::of_subnet(spec))
        .collect();
    for network in used {
        // One router can connect all of them, so they must not overlap.
        let is_free = |cidr: &String| {
            let own = range::parse(cidr);
            own.is_some_and(|own| !taken.iter().any(|one| range::overlap(one, &own)))
        };
        let ranges = (0..=u16::MAX).map(|number| match number {
            0..=255 => format!("10.0.{number}.0/24"),
            256..=511 => format!("192.168.{}.0/24", number - 256),
            _ => format!("10.{}.{}.0/24", number >> 8, number & 255),
        });
        let mut ranges = ranges.filter(is_free);
        let cidr = ranges.next().unwrap_or_else(|| "172.31.0.0/24".to_owned());
        taken.extend(range::parse(&cidr));
        model.derive(
            &format!("{network}_subnet"),
            Derived {
                pass: NAME,
                resource_type: SUBNET,
                why: format!("servers use the network `{network}`, which has no subnet"),
                serves: Some(&network),
                properties: vec![
                    ("network", Expr::reference(&network)),
                    ("cidr", Expr::text(cidr)),
                ],
            },
        );
    }
    Vec::new()
}
