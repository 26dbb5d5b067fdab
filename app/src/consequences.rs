//! Changes of a plan and their consequences for the users of a resource, in words: restarts, lost data, other addresses.
//! Pure.
//!
//! Only what the cloud and the roles on servers do by themselves is here. The plan says which resources change and why.

use std::collections::BTreeMap;

use api::{Action, Change, Plan, PropertyChange};
use hot::expr::Expr;
use serde_json::Value;

use crate::ui::state::action_done;

const SERVER: &str = "OS::Nova::Server";
const RULES_GONE: &str = "Connections that only its rules allow can end.";
const VOLUME_DETACHED: &str = "The volume is detached from the running server: programs that use it fail, and unwritten data can be lost. Unmount it first.";

/// A consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// One or two sentences on one resource.
    pub text: &'static str,
    /// The same on several resources. Notes are never put together, so theirs is the text on one.
    several: &'static str,
    /// True if data or an address is lost for good.
    pub is_loss: bool,
}

const fn loss(text: &'static str, several: &'static str) -> Option<Consequence> {
    Some(Consequence {
        text,
        several,
        is_loss: true,
    })
}

const fn note(text: &'static str) -> Option<Consequence> {
    Some(Consequence {
        text,
        several: text,
        is_loss: false,
    })
}

/// Number of resources that a sentence about losses names. The rest is counted.
const NAMED_MAX: usize = 5;

/// A change as a line of a confirmation: `web OS::Nova::Server replaced`.
pub fn line(change: &Change) -> String {
    let may = if change.may && change.action == Action::Replace {
        "may be "
    } else {
        ""
    };
    format!(
        "{}  {}  {may}{}",
        change.resource,
        change.resource_type,
        action_done(change.action)
    )
}

/// Lasting losses of a plan, a sentence for each kind of loss: `` `address`: The public address changes. ``
pub fn losses(plan: &Plan) -> Vec<String> {
    let mut by_text: BTreeMap<&str, (Consequence, Vec<&str>)> = BTreeMap::new();
    for change in &plan.changes {
        for one in of(change, plan).into_iter().filter(|one| one.is_loss) {
            let (_, names) = by_text.entry(one.text).or_insert((one, Vec::new()));
            names.push(&change.resource);
        }
    }
    let sentence = |(loss, names): (Consequence, Vec<&str>)| {
        let text = if names.len() == 1 {
            loss.text
        } else {
            loss.several
        };
        let named = names.iter().take(NAMED_MAX);
        let named: Vec<String> = named.map(|name| format!("`{name}`")).collect();
        let rest = match names.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        format!("{}{rest}: {text}", named.join(", "))
    };
    by_text.into_values().map(sentence).collect()
}

/// The consequences of a change. Empty if there are none to mention.
pub fn of(change: &Change, plan: &Plan) -> Vec<Consequence> {
    // A policy keeps the resource or a snapshot of it, and the reason says so.
    let is_kept = |text: &String| text.contains("deletion_policy") || text.contains("external_id");
    if change.action == Action::Delete && change.because.as_ref().is_some_and(is_kept) {
        return Vec::new();
    }
    let of_type = match change.action {
        Action::Replace => of_replacement(&change.resource_type),
        Action::Delete => of_deletion(&change.resource_type),
        Action::Update if change.resource_type.starts_with(types::CATALOG) => of_setup(change),
        _ => None,
    };
    let replaces_server = change.action == Action::Replace && change.resource_type == SERVER;
    let of_addresses = replaces_server.then(|| of_addresses(plan, &change.resource));
    let of_properties = change
        .properties
        .iter()
        .filter_map(|property| of_property(change, property));
    let mut found: Vec<Consequence> = Vec::new();
    for one in of_type
        .into_iter()
        .chain(of_addresses.flatten())
        .chain(of_properties)
    {
        // Several parts of one property have the same consequence.
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

fn of_replacement(resource_type: &str) -> Option<Consequence> {
    match resource_type {
        SERVER => loss(
            "A new server is created from its image. Data on its own disk is lost, and its snapshots with it; attached volumes stay.",
            "New servers are created from their images. Data on their own disks is lost, and their snapshots with it; attached volumes stay.",
        ),
        "OS::Cinder::Volume" => loss(
            "A new volume takes its place. Its data is lost, and its snapshots with it.",
            "New volumes take their places. Their data is lost, and their snapshots with it.",
        ),
        "OS::Cinder::VolumeAttachment" => note(VOLUME_DETACHED),
        "OS::Swift::Container" => loss(
            "A new, empty container takes its place. With `PurgeOnDelete` its objects are lost; without, the replacement fails unless it is empty.",
            "New, empty containers take their places. With `PurgeOnDelete` their objects are lost; without, the replacement fails unless they are empty.",
        ),
        "OS::Designate::Zone" => loss(
            "A new zone takes its place. Records that were added outside of the template are lost.",
            "New zones take their places. Records that were added outside of the template are lost.",
        ),
        "OS::Neutron::FloatingIP" | "OS::Nova::FloatingIP" => loss(
            "The public address changes.",
            "The public addresses change.",
        ),
        "OS::Neutron::FloatingIPAssociation" | "OS::Nova::FloatingIPAssociation" => {
            note("The public address does not answer until it is associated again.")
        }
        "OS::Neutron::Port" => note("Its address changes, unless the port names it."),
        "OS::Neutron::Net" | "OS::Neutron::ProviderNet" => loss(
            "Its subnets and ports are replaced too. What is on it gets other addresses, and its connections break.",
            "Their subnets and ports are replaced too. What is on them gets other addresses, and its connections break.",
        ),
        "OS::Neutron::Subnet" => loss(
            "Ports with an address of it are replaced. They get other addresses, and their connections break.",
            "Ports with an address of one of them are replaced. They get other addresses, and their connections break.",
        ),
        "OS::Neutron::Router" => note(
            "Servers behind it have no external connectivity, and their floating IPs do not answer, until the new router is connected.",
        ),
        "OS::Neutron::RouterGateway" | "OS::Neutron::RouterInterface" => note(
            "Servers behind the router have no external connectivity until it is connected again.",
        ),
        "OS::Octavia::LoadBalancer" => loss(
            "Its address changes, unless the load balancer names it. All connections through it break.",
            "Their addresses change, unless the load balancers name them. All connections through them break.",
        ),
        "OS::Octavia::Listener" | "OS::Octavia::Pool" => {
            note("Connections through it break, and new ones are refused until it is ready again.")
        }
        _ => None,
    }
}

fn of_deletion(resource_type: &str) -> Option<Consequence> {
    match resource_type {
        SERVER => loss(
            "Data on its own disk is lost, and its snapshots with it; attached volumes stay.",
            "Data on their own disks is lost, and their snapshots with it; attached volumes stay.",
        ),
        "OS::Cinder::Volume" => loss(
            "Its data is lost, and its snapshots with it.",
            "Their data is lost, and their snapshots with it.",
        ),
        "OS::Cinder::VolumeAttachment" => note(VOLUME_DETACHED),
        "OS::Swift::Container" => loss(
            "With `PurgeOnDelete` its objects are lost; without, the removal fails unless it is empty.",
            "With `PurgeOnDelete` their objects are lost; without, the removal fails unless they are empty.",
        ),
        "OS::Barbican::Secret" => loss(
            "The stored value is lost. What reads it from the key manager fails.",
            "The stored values are lost. What reads them from the key manager fails.",
        ),
        "OS::Designate::Zone" => loss(
            "All its records are lost, and its names do not resolve any more.",
            "All their records are lost, and their names do not resolve any more.",
        ),
        "OS::Designate::RecordSet" => note("Its name does not resolve any more."),
        "OS::Neutron::FloatingIP" | "OS::Nova::FloatingIP" => loss(
            "The public address is given back to the cloud.",
            "The public addresses are given back to the cloud.",
        ),
        "OS::Neutron::FloatingIPAssociation" | "OS::Nova::FloatingIPAssociation" => {
            note("The public address does not lead to the port any more.")
        }
        "OS::Neutron::Router" | "OS::Neutron::RouterGateway" | "OS::Neutron::RouterInterface" => {
            note("Servers behind the router lose external connectivity through it.")
        }
        "OS::Neutron::SecurityGroup" | "OS::Neutron::SecurityGroupRule" => note(RULES_GONE),
        "OS::Octavia::LoadBalancer" => loss(
            "Its address is given back to the cloud, and all connections through it break.",
            "Their addresses are given back to the cloud, and all connections through them break.",
        ),
        _ => None,
    }
}

/// The consequence of an update of a component: its role runs again, or on another server. A server that is replaced or gets
/// other addresses is the same in the text, and has consequences of its own.
fn of_setup(change: &Change) -> Option<Consequence> {
    let mut properties = change.properties.iter();
    if properties.any(|one| one.name == "host" && one.old != one.new) {
        return loss(
            "It is set up on another server. Data on the former server is not moved.",
            "They are set up on other servers. Data on the former servers is not moved.",
        );
    }
    note("Its role runs again, and can restart the service.")
}

fn of_property(change: &Change, property: &PropertyChange) -> Option<Consequence> {
    if change.action != Action::Update {
        return None;
    }
    let name = property.name.split('.').next().unwrap_or_default();
    match (change.resource_type.as_str(), name) {
        (SERVER, "flavor") => note("The server is resized: it stops and starts again."),
        (SERVER, "networks") => {
            note("Network interfaces are attached or detached; its addresses can change.")
        }
        (SERVER | "OS::Neutron::Port", "security_groups") if is_taken_away(property) => {
            note("A security group is taken off: connections that only this group allows can end.")
        }
        ("OS::Neutron::SecurityGroup", "rules") if is_taken_away(property) => note(RULES_GONE),
        ("OS::Neutron::Port", "fixed_ips") => note("Its addresses change."),
        ("OS::Neutron::Router", "external_gateway_info") => note(
            "Servers behind it have no external connectivity while the gateway changes, and its own public address can change.",
        ),
        ("OS::Neutron::FloatingIP" | "OS::Neutron::FloatingIPAssociation", "port_id") => {
            note("The public address moves to another port; its open connections break.")
        }
        ("OS::Cinder::Volume", "size") if is_smaller(property) => note(
            "A volume cannot shrink. In a roll-back it keeps its size; any other update fails.",
        ),
        ("OS::Cinder::Volume", "size") => note(
            "The volume is extended; the file system on it is not. An attached volume may be detached for that.",
        ),
        _ => None,
    }
}

/// True if a part of the old value is not in the new one.
fn is_taken_away(property: &PropertyChange) -> bool {
    match (&property.old, &property.new) {
        (None, _) => false,
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            old.iter().any(|one| !new.contains(one))
        }
        (old, new) => old != new,
    }
}

/// True if both values are numbers, and the new one is smaller.
fn is_smaller(property: &PropertyChange) -> bool {
    let number = |value: &Option<Value>| match value {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_f64(),
        None => None,
    };
    number(&property.old)
        .zip(number(&property.new))
        .is_some_and(|(old, new): (f64, f64)| new < old)
}

/// The consequence of a replaced server for its addresses. A port that stays keeps its addresses.
fn of_addresses(plan: &Plan, server: &str) -> Option<Consequence> {
    let workflow = plan.workflow.as_ref()?;
    let networks = workflow.resources.get(server)?.properties.get("networks");
    let interfaces = match networks {
        Some(Expr::List(networks)) => networks.len(),
        _ => 0,
    };
    let ports = workflow.ports_of(server);
    // The plan of a run leaves unchanged resources out.
    let stays = |port: &&str| {
        let mut changes = plan
            .changes
            .iter()
            .filter(|change| change.resource == **port);
        changes.all(|change| matches!(change.action, Action::None | Action::Update))
    };
    if interfaces > 0 && ports.len() == interfaces && ports.iter().all(stays) {
        note("Its addresses stay: the new server takes over its ports.")
    } else {
        loss(
            "Its addresses change: it gets new network interfaces.",
            "Their addresses change: they get new network interfaces.",
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(action: &str, resource_type: &str, property: &str) -> Change {
        serde_json::from_value(json!({
            "action": action, "resource": "web", "type": resource_type, "origin": {"from": "drawn"},
            "properties": [{"name": property, "old": 1, "new": 2}],
        }))
        .unwrap()
    }

    fn texts(change: &Change) -> Vec<&'static str> {
        let found = of(change, &Plan::default());
        found.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_new_flavor_restarts_and_a_replacement_loses_the_disk() {
        let resize = texts(&change("update", "OS::Nova::Server", "flavor"));
        assert!(resize[0].contains("stops and starts"), "{resize:?}");
        let replace = change("replace", "OS::Nova::Server", "flavor");
        let replace = of(&replace, &Plan::default());
        assert_eq!(replace.len(), 1);
        assert!(replace[0].is_loss && replace[0].text.contains("disk is lost"));
        assert_eq!(
            texts(&change("update", "OS::Neutron::Net", "name")).len(),
            0
        );
    }

    #[test]
    fn losses_of_one_kind_are_one_sentence() {
        let plan = |count: usize| {
            let named = |number| Change {
                resource: format!("disk{number}"),
                ..change("delete", "OS::Cinder::Volume", "size")
            };
            Plan {
                changes: (1..=count).map(named).collect(),
                ..Plan::default()
            }
        };
        assert_eq!(
            losses(&plan(2)),
            ["`disk1`, `disk2`: Their data is lost, and their snapshots with it."]
        );
        assert_eq!(
            losses(&plan(1)),
            ["`disk1`: Its data is lost, and its snapshots with it."]
        );
        assert!(losses(&plan(7))[0].contains("`disk5` and 2 more: "));
        assert!(losses(&plan(0)).is_empty());
        assert_eq!(
            line(&plan(1).changes[0]),
            "disk1  OS::Cinder::Volume  removed"
        );
    }

    #[test]
    fn a_volume_grows_and_does_not_shrink() {
        let mut volume = change("update", "OS::Cinder::Volume", "size");
        assert!(texts(&volume)[0].contains("extended"));
        volume.properties[0].new = Some(json!("0"));
        assert!(texts(&volume)[0].contains("cannot shrink"));
    }

    #[test]
    fn what_a_policy_keeps_is_not_lost() {
        let mut volume = change("delete", "OS::Cinder::Volume", "size");
        assert_eq!(texts(&volume).len(), 1);
        volume.because = Some("`deletion_policy: Retain`: it stays in the cloud".to_owned());
        assert_eq!(texts(&volume).len(), 0);
    }

    /// The addresses of a replaced server with one interface through `web_port` and, if named, another.
    fn addresses(port: &str, other: Option<&str>) -> Consequence {
        let mut networks = vec![json!({"port": {"get_resource": "web_port"}})];
        networks.extend(other.map(|network| json!({"network": network})));
        let plan: Plan = serde_json::from_value(json!({
            "diagnostics": [],
            "changes": [
                change("replace", "OS::Nova::Server", "image"),
                {"action": port, "resource": "web_port", "type": "OS::Neutron::Port", "origin": {"from": "drawn"}},
            ],
            "workflow": {"steps": [], "resources": {
                "web": {"type": "OS::Nova::Server", "origin": {"from": "drawn"}, "properties": {"networks": networks}},
            }},
        }))
        .unwrap();
        of(&plan.changes[0], &plan)[1]
    }

    #[test]
    fn a_replaced_server_keeps_the_addresses_of_ports_that_stay() {
        assert!(!addresses("none", None).is_loss);
        assert!(addresses("none", None).text.contains("addresses stay"));
        assert!(!addresses("update", None).is_loss, "it is changed in place");
        assert!(addresses("replace", None).is_loss);
        assert!(
            addresses("none", Some("back")).is_loss,
            "one more interface"
        );
    }

    #[test]
    fn a_port_that_a_plan_leaves_out_stays() {
        let networks = json!([{"port": {"get_resource": "web_port"}}]);
        let plan: Plan = serde_json::from_value(json!({
            "diagnostics": [],
            "changes": [change("replace", "OS::Nova::Server", "image")],
            "workflow": {"steps": [], "resources": {
                "web": {"type": "OS::Nova::Server", "origin": {"from": "drawn"}, "properties": {"networks": networks}},
            }},
        }))
        .unwrap();
        assert!(!of(&plan.changes[0], &plan)[1].is_loss);
    }

    #[test]
    fn replaced_networks_and_load_balancers_break_connections() {
        for (resource_type, word) in [
            ("OS::Octavia::LoadBalancer", "address changes"),
            ("OS::Neutron::Net", "other addresses"),
            ("OS::Neutron::Subnet", "other addresses"),
            ("OS::Neutron::Router", "no external connectivity"),
            ("OS::Neutron::RouterInterface", "no external connectivity"),
        ] {
            let found = texts(&change("replace", resource_type, "name"));
            assert!(found[0].contains(word), "{resource_type}: {found:?}");
        }
        let gateway = texts(&change(
            "update",
            "OS::Neutron::Router",
            "external_gateway_info.network",
        ));
        assert!(
            gateway[0].contains("no external connectivity"),
            "{gateway:?}"
        );
    }

    #[test]
    fn all_types_with_data_or_addresses_of_their_own_say_what_is_lost() {
        for (resource_type, removed, replaced) in [
            ("OS::Cinder::Volume", "data is lost", "data is lost"),
            (
                "OS::Swift::Container",
                "objects are lost",
                "objects are lost",
            ),
            ("OS::Designate::Zone", "records are lost", "are lost"),
            ("OS::Nova::FloatingIP", "given back", "address changes"),
            ("OS::Neutron::FloatingIP", "given back", "address changes"),
        ] {
            for (action, words) in [("delete", removed), ("replace", replaced)] {
                let change = change(action, resource_type, "name");
                let found = of(&change, &Plan::default());
                assert!(
                    found[0].is_loss && found[0].text.contains(words),
                    "{found:?}"
                );
            }
        }
        let detached = texts(&change(
            "delete",
            "OS::Cinder::VolumeAttachment",
            "volume_id",
        ));
        assert!(detached[0].contains("Unmount it first"), "{detached:?}");
    }

    #[test]
    fn a_changed_component_can_restart_and_a_moved_one_leaves_its_data() {
        let of = |property| {
            let change = change("update", "Stackloom::Catalog::postgresql", property);
            of(&change, &Plan::default())
        };
        let changed = of("listen_port");
        assert!(changed[0].text.contains("can restart"), "{changed:?}");
        assert!(!changed[0].is_loss);
        let moved = of("host");
        assert!(moved[0].text.contains("is not moved"), "{moved:?}");
        assert!(moved[0].is_loss);
    }

    #[test]
    fn a_component_whose_server_gets_other_addresses_stays_on_it() {
        let mut change = change("update", "Stackloom::Catalog::postgresql", "host");
        let host = &mut change.properties[0];
        host.new.clone_from(&host.old);
        host.because = Some("`web` gets other addresses".to_owned());
        let found = of(&change, &Plan::default());
        assert!(found[0].text.contains("can restart"), "{found:?}");
        assert!(!found[0].is_loss);
    }

    #[test]
    fn a_security_group_that_is_taken_off_can_end_connections() {
        let groups = |old, new| {
            let mut port = change("update", "OS::Neutron::Port", "security_groups");
            port.properties[0].old = old;
            port.properties[0].new = new;
            texts(&port)
        };
        let both = || Some(json!(["a", "b"]));
        assert_eq!(groups(both(), Some(json!(["a"]))).len(), 1);
        assert_eq!(groups(Some(json!(["a"])), both()).len(), 0, "one is added");
        assert_eq!(groups(Some(json!("b")), None).len(), 1);
        assert_eq!(groups(None, Some(json!("b"))).len(), 0);
    }
}
