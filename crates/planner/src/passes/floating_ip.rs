//! Adds a floating IP to public servers and the bastion, unless one is drawn or they are in an external network
//! themselves.
//!
//! The floating IP is associated with the server's first port that is behind a router with a gateway, and comes from
//! that router's external network: a design can have several of both. Floating IPs are IPv4, so a port with only IPv6
//! addresses is not used.
//!
//! A server without networks is in the project's only network, where Nova puts it. Its port is in no template, and is
//! read from the server.

use super::*;

const NAME: &str = "floating-ip";

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut served = with_floating_ip(model);
    served.extend(reachability::servers_in_external_networks(model, context));
    let hosts = ssh_hosts(model, context);
    let bastion = the_bastion(model, &hosts).map(str::to_owned);
    let wanted: Vec<String> = model
        .of_type(SERVER)
        .filter(|(name, spec)| {
            let is_bastion = Some(*name) == bastion.as_deref();
            (spec.marks.public || (is_bastion && is_possible(model, context, name)))
                && !served.contains(*name)
        })
        .map(|(name, _)| name.to_owned())
        .collect();
    for server in wanted {
        let (port, outside) = match (port_of(model, &server), novas_port(model, context, &server)) {
            (Ok(found), _) => found,
            (Err(_), Some(port)) => (port, None),
            (Err(message), None) => {
                let path = format!("resources.{server}");
                diagnostics.push(Diagnostic::error("server-without-port", path, message));
                continue;
            }
        };
        let network = match outside {
            Some(network) => Some(network),
            None => {
                let (network, found) = super::router::external_network(model, context, &server);
                diagnostics.extend(found.into_iter().filter(|one| one.is_error()));
                network
            }
        };
        let Some(network) = network else { continue };
        let why = if Some(&server) == bastion.as_ref() {
            let purpose = use_of_ssh(model, context);
            format!("`{server}` is the bastion, through which {purpose}")
        } else {
            format!("`{server}` is public")
        };
        model.derive(
            &format!("{server}_floating_ip"),
            Derived {
                pass: NAME,
                resource_type: FLOATING_IP,
                why,
                serves: Some(&server),
                properties: vec![("floating_network", network), ("port_id", port)],
            },
        );
    }
    diagnostics
}

/// True if the server can get a floating IP.
pub(super) fn is_possible(model: &Model, context: &PassContext<'_>, server: &str) -> bool {
    bastion::names_networks(model, server) || novas_port(model, context, server).is_some()
}

/// The port that Nova makes for a server without networks, if the project has one network and a way outside.
fn novas_port(model: &Model, context: &PassContext<'_>, server: &str) -> Option<Expr> {
    let networks = model.get(server)?.properties.get("networks");
    let has_none = match networks {
        None | Some(Expr::Literal(Value::Null)) => true,
        Some(networks) => matches!(networks, Expr::List(entries) if entries.is_empty()),
    };
    let outside = context.cloud.external_networks.as_deref()?;
    let all = context.cloud.networks.as_deref()?.iter();
    let mut own = all.filter(|one| !outside.contains(one));
    let (Some(only), None) = (own.next(), own.next()) else {
        return None;
    };
    let path = [
        Expr::text("addresses"),
        Expr::text(&only.id),
        literal(0),
        Expr::text("port"),
    ];
    let is_reached = has_none && !outside.is_empty();
    is_reached.then(|| Expr::GetAttr(server.to_owned(), path.into()))
}

/// Port for the association, and the external network of its router, if that is drawn.
fn port_of(model: &Model, server: &str) -> Result<(Expr, Option<Expr>), String> {
    let Some(spec) = model.get(server) else {
        return Err(format!("`{server}` is not there"));
    };
    let reachability = reachability::Reachability::of(model);
    let by_network = subnets_by_network(model);
    let mut ports: Vec<(Expr, Option<Expr>)> = Vec::new();
    let mut without_v4 = false;
    for entry in list(spec, "networks") {
        let Some(port) = entry.get("port").filter(|port| !port.is_null()) else {
            continue;
        };
        let subnets = match target(port) {
            Some(port) => subnets_of_port(model, port, &by_network),
            None => Vec::new(),
        };
        let mut drawn = subnets
            .iter()
            .filter_map(|subnet| model.get(subnet))
            .peekable();
        if drawn.peek().is_some() && drawn.all(reachability::is_v6) {
            without_v4 = true;
            continue;
        }
        let network = reachability::network_of(model, entry).and_then(reachability::key);
        let outside = network.and_then(|network| reachability.gateway_network(model, &network));
        ports.push((port.clone(), outside.cloned()));
    }
    let with_way = ports.iter().position(|(_, outside)| outside.is_some());
    match ports.into_iter().nth(with_way.unwrap_or(0)) {
        Some(found) => Ok(found),
        None if without_v4 => Err(format!(
            "`{server}` needs a public address, and floating IPs are of IP version 4, but its networks have version 6 alone; \
             draw a subnet of version 4 in one of them"
        )),
        None => Err(format!(
            "`{server}` needs a public address, but its networks cannot be read from the template; write them as a list"
        )),
    }
}
