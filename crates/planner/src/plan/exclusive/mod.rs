//! Early removals: if the cloud cannot hold old and new resource at the same time, the old one is deleted first.
//!
//! All other successors are created before the old resource is deleted, so that a failure leaves a working one. The
//! conflicts are read from one table ([`TABLE`]): the values that a resource of each type holds exclusively in the
//! cloud (a name, an address, a position in another resource). A removal is early if a resource that the same plan
//! creates or changes needs such a value: its own successor, or another resource, if a user renamed a resource or moved
//! its function elsewhere.
//!
//! The types of administrators are in a separate table ([`administrators`]). An early removal includes the resources
//! that would make the cloud refuse it ([`HELD`]): a subnet cannot be deleted while ports have addresses of it. Types
//! that are not in the table hold nothing exclusively: their names need not be unique (networks, volumes, secrets,
//! server groups, policies, subnet pools), or the service resolves the conflict itself (L7 policies move down). A
//! server's ports do not conflict with its successor: the driver detaches them from the old server, which stays until
//! the new one is ready. Hand-overs between resources that both stay are in [`hand_over`].

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Action, Change, Deployed, Model};
use crate::{
    graph::target,
    range,
    workflow::{ResourceSpec, copy_of},
};
use hot::expr::Expr;
use ipnet::IpNet;
use types::{
    EXTRA_ROUTE_SET, FLOATING_IP, FLOATING_IP_ASSOCIATION, FLOATING_IP_PORT_FORWARD, KEY_PAIR, NET,
    PORT, ROUTER, ROUTER_GATEWAY, ROUTER_INTERFACE, SECURITY_GROUP_RULE, SERVER, SUBNET,
};

mod claims;
mod hand_over;

use claims::Claim;
pub(super) use hand_over::{HandOver, handed_over};

mod administrators;

const ATTACHMENT: &str = "OS::Cinder::VolumeAttachment";
const PROVIDER_NET: &str = "OS::Neutron::ProviderNet";
const SEGMENT: &str = "OS::Neutron::Segment";
const TRUNK: &str = "OS::Neutron::Trunk";
const SUBNET_POOL: &str = "OS::Neutron::SubnetPool";
pub(super) const LOAD_BALANCER: &str = "OS::Octavia::LoadBalancer";
pub(super) const LISTENER: &str = "OS::Octavia::Listener";
pub(super) const POOL: &str = "OS::Octavia::Pool";
const MEMBER: &str = "OS::Octavia::PoolMember";
const MONITOR: &str = "OS::Octavia::HealthMonitor";
const L7_POLICY: &str = "OS::Octavia::L7Policy";
const L7_RULE: &str = "OS::Octavia::L7Rule";
const CONTAINER: &str = "OS::Swift::Container";
const ZONE: &str = "OS::Designate::Zone";
const RECORD_SET: &str = "OS::Designate::RecordSet";

/// Value that only one resource can hold.
struct Exclusive {
    /// Type of the holder.
    of: &'static str,
    /// The reason for the early removal, as a text for users.
    because: &'static str,
    /// Claims of a resource. Claims with the same `because` are compared with each other, even across types.
    claims: fn(&Claimant<'_>) -> Vec<Claim>,
    /// True if a resource and its own successor do not conflict.
    own_is_fine: bool,
}

const fn exclusive(
    of: &'static str,
    because: &'static str,
    claims: fn(&Claimant<'_>) -> Vec<Claim>,
) -> Exclusive {
    Exclusive {
        of,
        because,
        claims,
        own_is_fine: false,
    }
}

/// Types with their exclusive values.
const TABLE: &[Exclusive] = &[
    exclusive(KEY_PAIR, "its name is taken", claims::name),
    exclusive(SERVER, "a volume is attached to one server", |server| {
        claims::each(
            server,
            &["block_device_mapping", "block_device_mapping_v2"],
            "volume_id",
        )
    }),
    Exclusive {
        own_is_fine: true,
        ..exclusive(SERVER, "a port is plugged into one server", |server| {
            claims::each(server, &["networks"], "port")
        })
    },
    exclusive(ATTACHMENT, "a volume is attached to one server", |one| {
        claims::all_of(one, &["volume_id"])
    }),
    exclusive(
        ATTACHMENT,
        "a server has one volume at a mount point",
        |one| claims::all_of(one, &["instance_uuid", "mountpoint"]),
    ),
    exclusive(NET, "a segment belongs to one network", claims::segment),
    exclusive(
        PROVIDER_NET,
        "a segment belongs to one network",
        claims::own_segment,
    ),
    exclusive(
        SEGMENT,
        "a segment belongs to one network",
        claims::own_segment,
    ),
    exclusive(SUBNET, "ranges in one network must not overlap", |subnet| {
        claims::range_in(subnet, "network", range::of_subnet(subnet.spec))
    }),
    // A port that names no subnet can get its address from any subnet: it is created when only the right one is left.
    exclusive(SUBNET, NO_SUBNET_NAMED, |subnet| {
        claims::all_of(subnet, &["network"])
    }),
    exclusive(PORT, NO_SUBNET_NAMED, |port| {
        if names_its_subnets(port.spec) {
            Vec::new()
        } else {
            claims::all_of(port, &["network"])
        }
    }),
    exclusive(PORT, "its address is taken", claims::addresses),
    exclusive(ROUTER, "its address is taken", claims::outside_addresses),
    exclusive(
        ROUTER_INTERFACE,
        "a subnet has one gateway address",
        |foot| claims::all_of(foot, &["subnet"]),
    ),
    exclusive(
        ROUTER_INTERFACE,
        "a port is plugged into one router",
        |foot| claims::all_of(foot, &["port"]),
    ),
    exclusive(
        ROUTER_INTERFACE,
        "ranges at one router must not overlap",
        |foot| {
            claims::range_in(
                foot,
                "router",
                foot.named("subnet").and_then(range::of_subnet),
            )
        },
    ),
    exclusive(ROUTER_GATEWAY, "a router has one external gateway", |way| {
        claims::all_of(way, &["router_id"])
    }),
    exclusive(EXTRA_ROUTE_SET, "a router has a route once", |set| {
        claims::each_in(set, "router", "routes", "destination")
    }),
    exclusive(
        FLOATING_IP,
        "a port has one floating IP",
        claims::associated_address,
    ),
    exclusive(
        FLOATING_IP_ASSOCIATION,
        "a port has one floating IP",
        claims::associated_address,
    ),
    exclusive(FLOATING_IP, "its address is taken", |one| {
        claims::all_of(one, &["floating_ip_address"])
    }),
    exclusive(
        FLOATING_IP_ASSOCIATION,
        "a floating IP leads to one port",
        |one| claims::all_of(one, &["floatingip_id"]),
    ),
    exclusive(
        FLOATING_IP_PORT_FORWARD,
        "a floating IP leads a port number to one place",
        |one| claims::all_of(one, &["floating_ip", "protocol", "external_port"]),
    ),
    exclusive(
        SECURITY_GROUP_RULE,
        "a group has a rule once",
        claims::all_but_description,
    ),
    exclusive(TRUNK, "a port is in one trunk", |trunk| {
        let mut ports = claims::each(trunk, &["sub_ports"], "port");
        ports.extend(claims::all_of(trunk, &["port"]));
        ports
    }),
    exclusive(
        SUBNET_POOL,
        "pools of one address scope must not overlap",
        |pool| claims::ranges_in(pool, "address_scope", "prefixes"),
    ),
    exclusive(LOAD_BALANCER, "its address is taken", |one| {
        claims::all_of(one, &["vip_subnet", "vip_address"])
    }),
    exclusive(
        LISTENER,
        "a load balancer listens on a port once",
        claims::listening,
    ),
    exclusive(POOL, "a listener has one default pool", |pool| {
        claims::all_of(pool, &["listener"])
    }),
    exclusive(MEMBER, "a pool has a member once", |member| {
        claims::all_of(member, &["pool", "address", "protocol_port"])
    }),
    exclusive(MONITOR, "a pool has one health monitor", |monitor| {
        claims::all_of(monitor, &["pool"])
    }),
    exclusive(CONTAINER, "a container's name is taken", |one| {
        claims::all_of(one, &["name"])
    }),
    exclusive(ZONE, "a zone's name is taken", |zone| {
        claims::all_of(zone, &["name"])
    }),
    exclusive(
        RECORD_SET,
        "a zone has one record set of a name and type",
        |one| claims::all_of(one, &["zone", "name", "type"]),
    ),
];

const NO_SUBNET_NAMED: &str = "ports that name no subnet would get an address of it";

/// Types that cannot be deleted while resources of other types use them, with these other types.
const HELD: &[(&str, &[&str])] = &[
    (NET, &[SUBNET, PORT]),
    (SUBNET, &[PORT, ROUTER_INTERFACE, LOAD_BALANCER]),
    (SUBNET_POOL, &[SUBNET]),
    (PORT, &[TRUNK, ROUTER_INTERFACE]),
    (ROUTER, &[ROUTER_INTERFACE, ROUTER_GATEWAY, EXTRA_ROUTE_SET]),
    (ROUTER_GATEWAY, &[FLOATING_IP]),
    (LOAD_BALANCER, &[LISTENER, POOL]),
    (LISTENER, &[L7_POLICY, POOL]),
    (POOL, &[L7_POLICY, MEMBER, MONITOR]),
    (L7_POLICY, &[L7_RULE]),
    (administrators::REGION, &[administrators::ENDPOINT]),
];

/// True if the cloud refuses to delete a resource of type `held` while a resource of type `by` uses it.
pub(super) fn is_held(by: &str, held: &str) -> bool {
    HELD.iter()
        .any(|(one, others)| *one == held && others.contains(&by))
}

/// True if a port names the subnets of its addresses.
pub(super) fn names_its_subnets(port: &ResourceSpec) -> bool {
    let no_addresses = port.properties.get("no_fixed_ips").and_then(Expr::as_data);
    no_addresses == Some(Value::Bool(true))
        || matches!(port.properties.get("fixed_ips"), Some(Expr::List(addresses))
            if addresses.iter().any(|one| one.get("subnet").is_some()))
}

/// True if a subnet must be deleted before anything is created, because another subnet of the same network overlaps it.
pub(super) fn is_crowded(scope: &Scope<'_>, subnet: &str) -> bool {
    let Some(old) = scope.deployed.resources.get(subnet) else {
        return false;
    };
    let of = |side, name, spec| {
        let claimant = Claimant {
            name,
            spec,
            side,
            scope,
        };
        claims::range_in(&claimant, "network", range::of_subnet(spec))
    };
    let holds = of(Side::Old, subnet, old);
    let mut fresh = scope.model.of_type(SUBNET);
    fresh.any(|(name, spec)| {
        let is_new = if name == subnet {
            (scope.is_replaced)(name)
        } else {
            !scope.deployed.resources.contains_key(name) || (scope.is_replaced)(name)
        };
        is_new
            && of(Side::New, name, spec)
                .iter()
                .any(|one| holds.iter().any(|other| one.conflicts_with(other)))
    })
}

/// Deployed and planned resources, for the comparison of claims.
pub(super) struct Scope<'a> {
    pub deployed: &'a Deployed,
    pub model: &'a Model,
    /// True if a planned resource is certainly replaced.
    pub is_replaced: &'a dyn Fn(&str) -> bool,
}

/// State before or after the change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
}

/// Resource on one side of the change.
pub(super) struct Claimant<'a> {
    name: &'a str,
    spec: &'a ResourceSpec,
    side: Side,
    scope: &'a Scope<'a>,
}

impl<'a> Claimant<'a> {
    /// Value as text, comparable between old and new. `None` if it is not given.
    fn key(&self, value: Option<&Expr>) -> Option<String> {
        let value = value.filter(|value| !value.is_null())?;
        let scope = self.scope;
        let is_other = |name: &str| match self.side {
            Side::Old => (scope.is_replaced)(name) || scope.model.get(name).is_none(),
            Side::New => (scope.is_replaced)(name) || !scope.deployed.resources.contains_key(name),
        };
        if let Some(other) = value.resources().into_iter().find(|name| is_other(name)) {
            let side = match self.side {
                Side::Old => "old",
                Side::New => "new",
            };
            return Some(format!("{side} {other} {}", value.to_json()));
        }
        let reference = target(value)
            .and_then(|name| scope.deployed.actual.get(name)?.reference.clone())
            .or_else(|| value.as_data());
        Some(match reference {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => value.to_json().to_string(),
        })
    }

    fn property(&self, name: &str) -> Option<String> {
        self.key(self.spec.properties.get(name))
    }

    /// Resource that a property refers to, on this side.
    fn named(&self, property: &str) -> Option<&'a ResourceSpec> {
        let name = target(self.spec.properties.get(property)?)?;
        match self.side {
            Side::Old => self.scope.deployed.resources.get(name),
            Side::New => self.scope.model.get(name),
        }
    }
}

/// Rows of the tables for a type.
fn rows(resource_type: &str) -> impl Iterator<Item = &'static Exclusive> {
    let all = TABLE.iter().chain(administrators::TABLE);
    all.filter(move |row| row.of == resource_type)
}

/// The present holder of a value.
struct Holder<'a> {
    name: &'a str,
    range: Option<IpNet>,
    own_is_fine: bool,
}

/// Deployed resources that must be deleted first because a new value conflicts with theirs, with the resources that are
/// created or changed after them.
pub(super) fn early<'a>(
    scope: &Scope<'_>,
    going: &[&'a str],
    changes: &'a [Change],
) -> HashMap<&'a str, Vec<&'a str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    if going.is_empty() {
        return found;
    }
    // Holders by value.
    let mut held: HashMap<(&str, String), Vec<Holder<'_>>> = HashMap::new();
    for name in going {
        let claimant = Claimant {
            name,
            spec: &scope.deployed.resources[*name],
            side: Side::Old,
            scope,
        };
        for row in rows(&claimant.spec.resource_type) {
            // A deployed port holds no network: only subnets claim it.
            if row.of == PORT && row.because == NO_SUBNET_NAMED {
                continue;
            }
            for claim in (row.claims)(&claimant) {
                let holder = Holder {
                    name,
                    range: claim.range,
                    own_is_fine: row.own_is_fine,
                };
                held.entry((row.because, claim.key))
                    .or_default()
                    .push(holder);
            }
        }
    }
    for change in changes {
        let name = change.resource.as_str();
        let Some(spec) = scope.model.get(name) else {
            continue;
        };
        let before = scope.deployed.resources.get(name);
        let is_new = matches!(change.action, Action::Create | Action::Replace);
        if !is_new && change.action != Action::Update {
            continue;
        }
        let claimant = |spec, side| Claimant {
            name,
            spec,
            side,
            scope,
        };
        let fresh = claimant(spec, Side::New);
        for row in rows(&spec.resource_type) {
            if row.of == SUBNET && row.because == NO_SUBNET_NAMED {
                continue;
            }
            // A resource that is updated in place needs only the values that it did not have before.
            let had: HashSet<String> = match before.filter(|_| !is_new) {
                Some(before) => (row.claims)(&claimant(before, Side::Old))
                    .into_iter()
                    .map(|claim| claim.key)
                    .collect(),
                None => HashSet::new(),
            };
            for claim in (row.claims)(&fresh) {
                if had.contains(&claim.key) {
                    continue;
                }
                let key = (row.because, claim.key.clone());
                let holders = held.get(&key).into_iter().flatten();
                for holder in holders {
                    let is_own = copy_of(holder.name).unwrap_or(holder.name) == name;
                    let overlaps = claim.overlaps(&holder.range);
                    if overlaps && !(is_own && holder.own_is_fine) {
                        let makes_way_for = found.entry(holder.name).or_default();
                        if !makes_way_for.contains(&name) {
                            makes_way_for.push(name);
                        }
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
