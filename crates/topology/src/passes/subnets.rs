//! A network that servers use and that has no subnet gets one: without addresses nothing works.

use super::*;
use crate::types::NET;

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
    let mut taken: BTreeSet<String> = model
        .of_type(SUBNET)
        .filter_map(|(_, spec)| spec.properties.get("cidr")?.as_str())
        .map(str::to_owned)
        .collect();
    for network in used {
        let free = (0..=255)
            .map(|third| format!("10.0.{third}.0/24"))
            .find(|cidr| !taken.contains(cidr));
        let cidr = free.unwrap_or_else(|| "192.168.0.0/24".to_owned());
        taken.insert(cidr.clone());
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
