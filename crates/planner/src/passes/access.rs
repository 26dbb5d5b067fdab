//! Security groups of servers that the engine logs in to: those with software, and those whose signals are fetched.
//!
//! Each such server gets a group, on all its ports. It joins the groups that are drawn. A server without software keeps
//! the project's default group, too, if none is drawn. The ports of its components are open to everybody if the server is
//! public. Otherwise they are open to the servers whose components are connected to it or, without connections, to its
//! own subnets. Ports for peers are open to the servers of peers only. SSH is open to the bastion's group only. The
//! bastion itself has no SSH rule, since the engine adds one during a run.
//!
//! Rules are inside their group, except where two groups would wait for each other: groups are created in a fixed
//! order, the bastion's first, and a rule that refers to a later group becomes a separate resource. So no drawing can
//! make a circle of groups.

use super::*;
use types::{SECURITY_GROUP, SECURITY_GROUP_RULE};

const NAME: &str = "access";
/// IP versions, by Neutron's names. A rule is for one version, by default `IPv4`.
const V4: &str = "IPv4";
const V6: &str = "IPv6";

/// Source of the traffic.
enum From {
    /// Any address of these IP versions.
    Everybody(Vec<&'static str>),
    Servers(BTreeSet<String>),
    Ranges(Vec<Expr>),
}

/// A port that is opened on a server.
struct Opening {
    protocol: String,
    port: Expr,
    from: From,
}

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let hosts = ssh_hosts(model, context);
    let with_software = software_hosts(model, context);
    let bastion = the_bastion(model, &hosts).map(str::to_owned);
    let mut servers: Vec<String> = bastion.iter().cloned().collect();
    servers.extend(
        hosts
            .into_iter()
            .filter(|host| Some(host) != bastion.as_ref()),
    );
    let (mut openings, diagnostics) = openings(model, context);
    let by_network = subnets_by_network(model);
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    let mut later: Vec<(String, Opening)> = Vec::new();
    for server in &servers {
        let mut wanted = openings.remove(server).unwrap_or_default();
        if let Some(bastion) = bastion.as_ref().filter(|bastion| *bastion != server) {
            let from = From::Servers([bastion.clone()].into());
            wanted.push(Opening {
                protocol: "tcp".to_owned(),
                port: literal(22),
                from,
            });
        }
        let v6 = has_v6(model, server, &by_network);
        let (rules, apart) = inside_rules(wanted, &groups, v6);
        later.extend(apart.into_iter().map(|opening| (server.clone(), opening)));
        // A bastion of servers with software gets nothing but its own group, as they do.
        let only_ssh = !with_software.contains(server)
            && (with_software.is_empty() || bastion.as_ref() != Some(server));
        let why = if only_ssh {
            format!("opens `{server}` for SSH, over which signals are fetched")
        } else {
            format!("opens the ports of the software on `{server}`, and no others")
        };
        let group = model.derive(
            &format!("{server}_access"),
            Derived {
                pass: NAME,
                resource_type: SECURITY_GROUP,
                why,
                serves: Some(server),
                properties: vec![("rules", Expr::List(rules))],
            },
        );
        let undrawn: &[&str] = if only_ssh { &["default"][..] } else { &[] };
        attach(model, server, &group, undrawn);
        groups.insert(server.clone(), group);
    }
    derive_rules(model, later, &groups, &by_network);
    diagnostics
}

/// The rules inside a server's group, and openings for servers whose groups come later. `v6` is true for a server with IPv6
/// addresses.
fn inside_rules(
    wanted: Vec<Opening>,
    groups: &BTreeMap<String, String>,
    v6: bool,
) -> (Vec<Expr>, Vec<Opening>) {
    let (mut rules, mut later) = (Vec::new(), Vec::new());
    for Opening {
        protocol,
        port,
        from,
    } in wanted
    {
        let (inside, apart) = split(from, groups);
        for remote in inside {
            let versions: &[&str] = match &remote {
                Remote::Range(range) if is_range_v6(range) => &[V6],
                Remote::Range(_) => &[V4],
                Remote::Group(_) if v6 => &[V4, V6],
                Remote::Group(_) => &[V4],
            };
            for version in versions {
                rules.push(inline(&protocol, &port, &remote, version));
            }
        }
        if !apart.is_empty() {
            later.push(Opening {
                protocol,
                port,
                from: From::Servers(apart),
            });
        }
    }
    (rules, later)
}

/// Adds a resource for each rule between groups that would wait for each other. `openings` names the server of each.
fn derive_rules(
    model: &mut Model,
    openings: Vec<(String, Opening)>,
    groups: &BTreeMap<String, String>,
    by_network: &BTreeMap<String, Vec<String>>,
) {
    for (
        server,
        Opening {
            protocol,
            port,
            from,
        },
    ) in openings
    {
        let From::Servers(others) = from else {
            continue;
        };
        for other in others {
            let (Some(group), Some(remote)) = (groups.get(&server), groups.get(&other)) else {
                continue;
            };
            let v6 = has_v6(model, &server, by_network);
            let mut versions = vec![(V4, format!("{group}_from_{other}"))];
            if v6 {
                versions.push((V6, format!("{group}_from_{other}_v6")));
            }
            for (version, wanted) in versions {
                let mut properties = vec![
                    ("security_group", Expr::reference(group)),
                    ("protocol", Expr::text(&protocol)),
                    ("port_range_min", port.clone()),
                    ("port_range_max", port.clone()),
                    ("remote_group", Expr::reference(remote)),
                ];
                if version == V6 {
                    properties.push(("ethertype", Expr::text(V6)));
                }
                let why = format!("software on `{other}` is connected to software on `{server}`");
                model.derive(
                    &wanted,
                    Derived {
                        pass: NAME,
                        resource_type: SECURITY_GROUP_RULE,
                        why,
                        serves: Some(&server),
                        properties,
                    },
                );
            }
        }
    }
}

/// Source in a rule inside a group.
enum Remote {
    Range(Expr),
    Group(String),
}

/// Sources that are known now, and servers whose group comes later.
fn split(from: From, groups: &BTreeMap<String, String>) -> (Vec<Remote>, BTreeSet<String>) {
    match from {
        From::Everybody(versions) => {
            let ranges = versions.into_iter().map(|version| match version {
                V6 => "::/0",
                _ => "0.0.0.0/0",
            });
            let ranges = ranges.map(|range| Remote::Range(Expr::text(range)));
            (ranges.collect(), BTreeSet::new())
        }
        From::Ranges(ranges) => (
            ranges.into_iter().map(Remote::Range).collect(),
            BTreeSet::new(),
        ),
        From::Servers(servers) => {
            let (known, later): (Vec<String>, Vec<String>) = servers
                .into_iter()
                .partition(|server| groups.contains_key(server));
            (
                known
                    .iter()
                    .filter_map(|server| groups.get(server))
                    .cloned()
                    .map(Remote::Group)
                    .collect(),
                later.into_iter().collect(),
            )
        }
    }
}

/// True if a server has IPv6 addresses.
fn has_v6(model: &Model, server: &str, by_network: &BTreeMap<String, Vec<String>>) -> bool {
    let Some(spec) = model.get(server) else {
        return false;
    };
    let mut subnets = ports_of(spec).flat_map(|port| subnets_of_port(model, port, by_network));
    subnets.any(|subnet| model.get(&subnet).is_some_and(reachability::is_v6))
}

fn is_range_v6(range: &Expr) -> bool {
    range.as_str().is_some_and(|range| range.contains(':'))
}

fn inline(protocol: &str, port: &Expr, remote: &Remote, version: &str) -> Expr {
    let mut rule = vec![
        ("protocol", Expr::text(protocol)),
        ("port_range_min", port.clone()),
        ("port_range_max", port.clone()),
    ];
    match remote {
        Remote::Range(range) => rule.push(("remote_ip_prefix", range.clone())),
        Remote::Group(group) => {
            rule.push(("remote_mode", Expr::text("remote_group_id")));
            rule.push(("remote_group_id", Expr::reference(group)));
        }
    }
    if version == V6 {
        rule.push(("ethertype", Expr::text(V6)));
    }
    map(rule)
}

/// Ports of each server's components.
fn openings(
    model: &Model,
    context: &PassContext<'_>,
) -> (BTreeMap<String, Vec<Opening>>, Vec<Diagnostic>) {
    let mut public = public_servers(model);
    public.extend(reachability::servers_in_external_networks(model, context));
    let by_network = subnets_by_network(model);
    let connected = connections(model, context);
    let peers = peers(model, context);
    let mut diagnostics = Vec::new();
    let mut openings: BTreeMap<String, Vec<Opening>> = BTreeMap::new();
    for (name, spec) in model.iter() {
        let (Some(item), Some(server)) = (component(context, spec), host(model, spec)) else {
            continue;
        };
        for listen in &item.listens {
            let Some(port) = spec.properties.get(&listen.port) else {
                continue;
            };
            let others = |sources: &BTreeSet<String>| {
                let others = sources.iter().filter(|source| source.as_str() != server);
                From::Servers(others.cloned().collect())
            };
            let from = if listen.peers {
                let Some(servers) = peers.get(name) else {
                    continue;
                };
                others(servers)
            } else if public.contains(server) {
                let mut versions = vec![V4];
                if has_v6(model, server, &by_network) {
                    versions.push(V6);
                }
                From::Everybody(versions)
            } else if let Some(sources) = connected.get(name) {
                others(sources)
            } else {
                let ranges = own_ranges(model, server, &by_network);
                if ranges.is_empty() {
                    let message = format!(
                        "nothing is connected to `{name}`, and the subnets of `{server}` are not drawn, so no server may reach it; connect the components that use it, or draw a security group"
                    );
                    diagnostics.push(Diagnostic::warning(
                        "network-without-subnet",
                        format!("resources.{name}"),
                        message,
                    ));
                }
                From::Ranges(ranges)
            };
            openings
                .entry(server.to_owned())
                .or_default()
                .push(Opening {
                    protocol: listen.protocol.clone(),
                    port: port.clone(),
                    from,
                });
        }
    }
    (openings, diagnostics)
}

/// The servers of the components that connect to a component, by that component.
fn connections(model: &Model, context: &PassContext<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let mut connected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, spec) in model.iter() {
        let (Some(item), Some(server)) = (component(context, spec), host(model, spec)) else {
            continue;
        };
        for requirement in item.requires.iter().filter(|one| one.opens) {
            let value = spec.properties.get(&requirement.name);
            let all = list(spec, &requirement.name).iter().chain(value);
            for to in all.filter_map(target) {
                connected
                    .entry(to.to_owned())
                    .or_default()
                    .insert(server.to_owned());
            }
        }
    }
    connected
}

/// For each component that is connected to others of its item, the servers of all of them. The connections lead to a
/// capability that the item itself provides, and connect directly or through others.
fn peers(model: &Model, context: &PassContext<'_>) -> BTreeMap<String, BTreeSet<String>> {
    // Groups of components that are connected.
    let mut clusters: Vec<BTreeSet<&str>> = Vec::new();
    for (name, spec) in model.iter() {
        let Some(item) = component(context, spec) else {
            continue;
        };
        let provides = |capability: &str| item.provides.iter().any(|one| one.name == capability);
        let among_peers = item.requires.iter().filter(|one| provides(&one.capability));
        let connected = among_peers.flat_map(|requirement| {
            let value = spec.properties.get(&requirement.name);
            let all = list(spec, &requirement.name).iter().chain(value);
            all.filter_map(target).collect::<Vec<_>>()
        });
        let is_same = |other: &&str| {
            let other = model.get(other);
            other.is_some_and(|other| other.resource_type == spec.resource_type)
        };
        let mut cluster: BTreeSet<&str> = connected.filter(is_same).collect();
        if cluster.is_empty() {
            continue;
        }
        cluster.insert(name);
        let (joined, apart) = clusters
            .into_iter()
            .partition(|other: &BTreeSet<&str>| !other.is_disjoint(&cluster));
        clusters = apart;
        cluster.extend(Vec::into_iter(joined).flatten());
        clusters.push(cluster);
    }
    let server = |name: &&str| host(model, model.get(name)?).map(str::to_owned);
    let each = clusters.iter().flat_map(|cluster| {
        let servers: BTreeSet<String> = cluster.iter().filter_map(server).collect();
        cluster
            .iter()
            .map(move |name| ((*name).to_owned(), servers.clone()))
    });
    each.collect()
}

/// CIDRs of a server's own subnets.
fn own_ranges(
    model: &Model,
    server: &str,
    by_network: &BTreeMap<String, Vec<String>>,
) -> Vec<Expr> {
    let Some(spec) = model.get(server) else {
        return Vec::new();
    };
    let mut ranges: Vec<Expr> = Vec::new();
    for subnet in ports_of(spec).flat_map(|port| subnets_of_port(model, port, by_network)) {
        let given = model
            .get(&subnet)
            .and_then(|spec| spec.properties.get("cidr"))
            .cloned();
        let range = given.unwrap_or_else(|| Expr::GetAttr(subnet, vec![Expr::text("cidr")]));
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    ranges
}

/// Adds the group to all ports of a server, after the drawn groups, or `undrawn` ones if none are drawn; to the server
/// itself if Nova makes its ports.
fn attach(model: &mut Model, server: &str, group: &str, undrawn: &[&str]) {
    let Some(spec) = model.get(server) else {
        return;
    };
    let mut ports: Vec<String> = ports_of(spec).map(str::to_owned).collect();
    if !bastion::names_networks(model, server) {
        ports.push(server.to_owned());
    }
    for port in ports {
        let Some(spec) = model.get_mut(&port) else {
            continue;
        };
        let groups = spec
            .properties
            .entry("security_groups".to_owned())
            .or_insert_with(|| Expr::List(undrawn.iter().copied().map(Expr::text).collect()));
        match groups {
            Expr::List(items) => items.push(Expr::reference(group)),
            given => *given = Expr::List(vec![given.clone(), Expr::reference(group)]),
        }
    }
}
