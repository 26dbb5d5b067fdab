//! Adds a port for every network of a server.
//!
//! Nova would create the ports itself, but then the template could not refer to them: security groups, floating IPs and
//! the SSH address belong to ports. A server's own groups move to its ports, because Nova ignores a server's groups if
//! its ports are given.

use super::*;

const NAME: &str = "port";

pub(super) fn pass(model: &mut Model, _: &PassContext<'_>) -> Vec<Diagnostic> {
    let servers: Vec<String> = model
        .of_type(SERVER)
        .map(|(name, _)| name.to_owned())
        .collect();
    for server in servers {
        let Some(spec) = model.get(&server) else {
            continue;
        };
        let Some(Expr::List(networks)) = spec.properties.get("networks").cloned() else {
            continue;
        };
        let groups = spec
            .properties
            .get("security_groups")
            .filter(|groups| !matches!(groups, Expr::List(items) if items.is_empty()))
            .cloned();
        let mut entries = Vec::with_capacity(networks.len());
        let mut made = 0;
        for entry in networks {
            let Some((network, fixed_ips)) = wanted(model, &entry) else {
                entries.push(entry);
                continue;
            };
            made += 1;
            let mut properties = vec![("network", network.clone())];
            if let Some(fixed_ips) = fixed_ips {
                properties.push(("fixed_ips", fixed_ips));
            }
            if let Some(groups) = &groups {
                properties.push(("security_groups", groups.clone()));
            }
            let name = if made == 1 {
                format!("{server}_port")
            } else {
                format!("{server}_port_{made}")
            };
            let place = target(&network)
                .or(network.as_str())
                .unwrap_or("its network")
                .to_owned();
            let port = model.derive(
                &name,
                Derived {
                    pass: NAME,
                    resource_type: PORT,
                    why: format!("`{server}` is attached to `{place}`"),
                    serves: Some(&server),
                    properties,
                },
            );
            entries.push(explicit(entry, port));
        }
        if let Some(spec) = model.get_mut(&server) {
            spec.properties
                .insert("networks".to_owned(), Expr::List(entries));
            if made > 0 {
                spec.properties.remove("security_groups");
            }
        }
    }
    Vec::new()
}

/// The network and fixed addresses of the port to add, if the entry needs one.
fn wanted(model: &Model, entry: &Expr) -> Option<(Expr, Option<Expr>)> {
    let given = |key: &str| entry.get(key).filter(|value| !value.is_null());
    if given("port").is_some() || given("allocate_network").is_some() {
        return None;
    }
    let subnet = given("subnet").cloned();
    let of_subnet = || {
        model
            .get(target(subnet.as_ref()?)?)?
            .properties
            .get("network")
            .cloned()
    };
    let network = given("network")
        .or_else(|| given("uuid"))
        .cloned()
        .or_else(of_subnet)?;
    let mut address = Vec::new();
    if let Some(subnet) = &subnet {
        address.push(("subnet".to_owned(), subnet.clone()));
    }
    if let Some(fixed_ip) = given("fixed_ip") {
        address.push(("ip_address".to_owned(), fixed_ip.clone()));
    }
    let fixed_ips = (!address.is_empty()).then(|| Expr::List(vec![Expr::Map(address)]));
    Some((network, fixed_ips))
}

/// Entry with a reference to the port, without the values that the port now has.
fn explicit(entry: Expr, port: String) -> Expr {
    let Expr::Map(mut keys) = entry else {
        return entry;
    };
    keys.retain(|(key, value)| {
        !matches!(
            key.as_str(),
            "network" | "uuid" | "subnet" | "fixed_ip" | "port"
        ) && !value.is_null()
    });
    keys.insert(0, ("port".to_owned(), Expr::reference(port)));
    Expr::Map(keys)
}
