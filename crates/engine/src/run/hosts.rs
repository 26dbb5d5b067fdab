//! Names in `/etc/hosts` of the servers on which roles run. Pure.
//!
//! A role finds the components and servers that its component refers to, and those in `stackloom_services`, by their
//! names in the design. Each component has its own block in the file, so that components on one server do not undo
//! each other's names. Like `stackloom_services`, the block is as the deployment is at the moment when the role runs. A
//! component that is required, and changes, runs the role again, which writes the new address.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use hot::expr::{Expr, Scope};
use planner::workflow::ResourceSpec;
use serde_json::{Value, json};
use types::SERVER;

use crate::resources::{Addresses, ResourceEntry, ResourceTable};

/// Names in a component's block.
#[derive(Debug, Default)]
pub(super) struct HostNames {
    /// Addresses by host name: the private one, as in the endpoint of a requirement.
    pub addresses: BTreeMap<String, IpAddr>,
    /// Remarks on resources without a name, because another resource has it.
    pub remarks: Vec<String>,
}

/// The names of a component's block. `services` is the value of `stackloom_services`, `spec_of` finds a resource, also one
/// that is planned only, and `is_component` knows the resource types of the catalogue.
///
/// A host name leads to one resource on all servers of the deployment, so that blocks on one server do not contradict each
/// other. If several resources fit, it belongs to the one without `/` in its name, else to the first by name. Upper and
/// lower case are the same, as for the resolver.
pub(super) fn names(
    spec: &ResourceSpec,
    known: &ResourceTable,
    scope: &dyn Scope,
    services: Option<&Value>,
    spec_of: impl Fn(&str) -> Option<ResourceSpec>,
    is_component: impl Fn(&str) -> bool,
) -> HostNames {
    let own = spec.host();
    let server_of = |name: &str, spec: &ResourceSpec| match spec.resource_type.as_str() {
        SERVER => Some(name.to_owned()),
        other if is_component(other) => spec.host().map(str::to_owned),
        _ => None,
    };
    // A component of which only the address is needed is not among `requires`.
    let mentioned = spec.properties.values().flat_map(Expr::resources);
    let required = spec.requires.iter().map(String::as_str).chain(mentioned);
    let listed = services.and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(|service| service.get("component")?.as_str());
    let found = required.chain(listed).filter(|name| Some(*name) != own);
    let found: Vec<(&str, String)> = found
        .filter_map(|name| Some((name, server_of(name, &spec_of(name)?)?)))
        .collect();
    let mut names = HostNames::default();
    if found.is_empty() {
        return names;
    }
    let entries = known.all();
    let mut wanted: BTreeMap<&str, (&str, IpAddr)> = BTreeMap::new();
    for (name, server) in &found {
        let Addresses { private, public } = Addresses::among(&entries, scope, server);
        let address = private.or(public);
        let Some(address) = address.and_then(|text| text.parse::<IpAddr>().ok()) else {
            continue;
        };
        let of_server = Some(server.as_str()).filter(|server| Some(*server) != own);
        for name in std::iter::once(*name).chain(of_server) {
            wanted.insert(name, (server.as_str(), address));
        }
    }
    let keys: BTreeSet<String> = wanted.keys().filter_map(|name| key_of(name)).collect();
    let owners = owners(&entries, &keys, server_of);
    for (name, (server, address)) in wanted {
        let Some(host_name) = host_name(name) else {
            continue;
        };
        match owners.get(&host_name.to_ascii_lowercase()) {
            Some((owner, other)) if other != server => names.remarks.push(format!(
                "`{name}` has no name in /etc/hosts: `{host_name}` is the name of `{owner}`. Rename one of the two"
            )),
            _ => {
                names.addresses.insert(host_name, address);
            }
        }
    }
    names
}

/// The resource to which each of these host names belongs, with its server.
fn owners<'e>(
    entries: &'e BTreeMap<String, ResourceEntry>,
    keys: &BTreeSet<String>,
    server_of: impl Fn(&str, &ResourceSpec) -> Option<String>,
) -> BTreeMap<String, (&'e str, String)> {
    let mut owners: BTreeMap<String, (&str, String)> = BTreeMap::new();
    for (name, entry) in entries {
        let key = key_of(name).filter(|key| keys.contains(key));
        let (Some(key), Some(server)) = (key, server_of(name, &entry.spec)) else {
            continue;
        };
        // Entries are in the order of their names.
        let is_first = owners
            .get(&key)
            .is_none_or(|(owner, _)| !is_member(name) && is_member(owner));
        if is_first {
            owners.insert(key, (name.as_str(), server));
        }
    }
    owners
}

fn is_member(name: &str) -> bool {
    name.contains('/')
}

/// The host name of a resource as it is compared.
fn key_of(name: &str) -> Option<String> {
    Some(host_name(name)?.to_ascii_lowercase())
}

/// The host name of a resource: members of groups have `-` for `/`. `None` if the name cannot be one.
fn host_name(name: &str) -> Option<String> {
    let name = name.replace('/', "-");
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_host_name = !name.is_empty()
        && name.chars().all(fits)
        && !name.eq_ignore_ascii_case("localhost")
        && name.parse::<IpAddr>().is_err();
    is_host_name.then_some(name)
}

/// The tasks that write a component's block, or remove it if there are no names.
///
/// A server in a container has its file mounted, so that it cannot be replaced and is written in place. On images such as
/// Debian's, cloud-init writes the file again at each boot: it is told to keep all but the server's own name.
pub(super) fn tasks(names: &BTreeMap<String, IpAddr>) -> Vec<Value> {
    let lines: Vec<String> = names
        .iter()
        .map(|(name, address)| format!("{address} {name}"))
        .collect();
    let block = json!({
        "name": "Names of the deployment in /etc/hosts",
        "ansible.builtin.blockinfile": {
            "path": "/etc/hosts",
            "marker": "# {mark} stackloom {{ stackloom_component }}",
            "block": lines.join("\n"),
            "create": true,
            "unsafe_writes": true,
        },
    });
    let keep = json!({
        "name": "Keep the names when the server boots",
        "ansible.builtin.copy": {
            "dest": "/etc/cloud/cloud.cfg.d/99-stackloom-hosts.cfg",
            "content": "# Of Stackloom: names of the deployment are in /etc/hosts.\nmanage_etc_hosts: localhost\n",
            "mode": "0644",
        },
        "register": "stackloom_hosts_kept",
        // Without cloud-init there is no such folder.
        "failed_when": "stackloom_hosts_kept is failed and 'does not exist' not in stackloom_hosts_kept.msg",
    });
    if names.is_empty() {
        vec![block]
    } else {
        vec![block, keep]
    }
}

#[cfg(test)]
mod tests {
    use store::ResourceRow;

    use super::*;
    use crate::testing::{self, resource};

    const NGINX: &str = "Stackloom::Catalog::nginx";

    fn row(name: &str, spec: ResourceSpec, attributes: Value) -> ResourceRow {
        ResourceRow {
            attributes: attributes.as_object().cloned().unwrap_or_default(),
            ..testing::row(name, spec)
        }
    }

    fn server(name: &str, address: &str) -> ResourceRow {
        let spec = resource(SERVER, []);
        row(name, spec, json!({ "first_address": address }))
    }

    fn on(host: &str) -> ResourceSpec {
        resource(NGINX, [("host", Expr::GetResource(host.into()))])
    }

    /// The block of a component on `gate` that requires these resources, in a deployment with `more` resources.
    fn block(requires: &[&str], services: Option<&Value>, more: Vec<ResourceRow>) -> HostNames {
        let mut spec = on("gate");
        spec.requires = requires.iter().map(|&name| name.to_owned()).collect();
        let mut rows = vec![
            server("gate", "10.0.0.1"),
            server("web", "10.0.0.5"),
            server("tier/0/web", "10.0.0.6"),
            server("not a name", "10.0.0.7"),
            server("localhost", "10.0.0.8"),
            server("without", "none"),
            row("page", on("web"), Value::Null),
            row("beside", on("gate"), Value::Null),
            row("tier/0/page", on("tier/0/web"), Value::Null),
            row("net", resource("OS::Neutron::Net", []), Value::Null),
        ];
        rows.extend(more);
        let known = ResourceTable::of(rows);
        let none = BTreeMap::new();
        names(
            &spec,
            &known,
            &known.scope(&none),
            services,
            |name| Some(known.get(name)?.spec),
            |one| one == NGINX,
        )
    }

    /// The names in it, each with its address.
    fn of(requires: &[&str], services: Option<&Value>) -> BTreeMap<String, String> {
        shown(block(requires, services, Vec::new()))
    }

    fn shown(names: HostNames) -> BTreeMap<String, String> {
        let names = names.addresses.into_iter();
        names
            .map(|(name, address)| (name, address.to_string()))
            .collect()
    }

    fn expected<const N: usize>(names: [(&str, &str); N]) -> BTreeMap<String, String> {
        let names = names.into_iter();
        names
            .map(|(name, address)| (name.to_owned(), address.to_owned()))
            .collect()
    }

    #[test]
    fn a_component_that_is_required_has_its_name_and_that_of_its_server() {
        let found = of(&["gate", "net", "page", "beside"], None);
        let names = [
            ("beside", "10.0.0.1"),
            ("page", "10.0.0.5"),
            ("web", "10.0.0.5"),
        ];
        assert_eq!(found, expected(names));
        assert_eq!(of(&["gate"], None), expected([]));
    }

    #[test]
    fn a_component_of_which_the_address_is_needed_has_its_name_before_it_is_set_up() {
        let mut spec = on("gate");
        let peers = vec![Expr::GetResource("later".into())];
        spec.properties.insert("peers".into(), Expr::List(peers));
        let known = ResourceTable::of(vec![server("gate", "10.0.0.1"), server("web", "10.0.0.5")]);
        let none = BTreeMap::new();
        let planned = |name: &str| match name {
            "later" => Some(on("web")),
            other => Some(known.get(other)?.spec),
        };
        let scope = known.scope(&none);
        let names = names(&spec, &known, &scope, None, planned, |one| one == NGINX);
        let both = [("later", "10.0.0.5"), ("web", "10.0.0.5")];
        assert_eq!(shown(names), expected(both));
    }

    #[test]
    fn members_of_groups_have_names_with_dashes() {
        let names = [("tier-0-page", "10.0.0.6"), ("tier-0-web", "10.0.0.6")];
        assert_eq!(of(&["tier/0/page"], None), expected(names));
    }

    #[test]
    fn services_of_the_list_have_names_too() {
        let services = json!([{"component": "page", "server": "web", "address": "10.0.0.5"}]);
        let names = [("page", "10.0.0.5"), ("web", "10.0.0.5")];
        assert_eq!(of(&["gate"], Some(&services)), expected(names));
    }

    #[test]
    fn a_host_name_of_two_servers_leads_to_the_same_one_for_every_component() {
        let remark = |name: &str, owner: &str| {
            format!(
                "`{name}` has no name in /etc/hosts: `tier-0-web` is the name of `{owner}`. Rename one of the two"
            )
        };
        let other = || vec![server("tier-0-web", "10.0.0.9")];
        for requires in [
            &["tier/0/web", "tier-0-web"][..],
            &["tier-0-web", "tier/0/web"],
        ] {
            let names = block(requires, None, other());
            assert_eq!(names.remarks, [remark("tier/0/web", "tier-0-web")]);
            assert_eq!(shown(names), expected([("tier-0-web", "10.0.0.9")]));
        }
        // A component of another block gets no other address for the name.
        let names = block(&["tier/0/page"], None, other());
        assert_eq!(names.remarks, [remark("tier/0/web", "tier-0-web")]);
        assert_eq!(shown(names), expected([("tier-0-page", "10.0.0.6")]));
        let names = block(&["tier-0-web"], None, other());
        assert_eq!(names.remarks, [""; 0]);

        let of_groups = vec![server("tier-0/web", "10.0.0.9")];
        let names = block(&["tier/0/web"], None, of_groups);
        assert_eq!(names.remarks, [remark("tier/0/web", "tier-0/web")]);
    }

    #[test]
    fn the_resolver_does_not_tell_upper_from_lower_case() {
        let other = || vec![server("Web", "10.0.0.9")];
        let names = block(&["web"], None, other());
        assert_eq!(
            names.remarks,
            ["`web` has no name in /etc/hosts: `web` is the name of `Web`. Rename one of the two"]
        );
        assert_eq!(shown(names), expected([]));
        // A component and its server have one address.
        let named = vec![row("WEB", on("web"), Value::Null)];
        let names = block(&["WEB"], None, named);
        assert_eq!(names.remarks, [""; 0]);
        let both = [("WEB", "10.0.0.5"), ("web", "10.0.0.5")];
        assert_eq!(shown(names), expected(both));
    }

    #[test]
    fn names_that_the_file_cannot_have_and_unknown_addresses_are_left_out() {
        let requires = ["not a name", "localhost", "without", "web"];
        assert_eq!(of(&requires, None), expected([("web", "10.0.0.5")]));
        assert_eq!(host_name("10.0.0.9"), None);
        assert_eq!(host_name("{{ x }}"), None);
    }

    #[test]
    fn the_block_of_a_component_without_names_is_removed() {
        let block = |names: &BTreeMap<String, IpAddr>| {
            let tasks = tasks(names);
            let block = tasks[0]["ansible.builtin.blockinfile"]["block"].clone();
            (block, tasks.len())
        };
        let address: IpAddr = "10.0.0.5".parse().unwrap();
        let names = ["page", "web"].map(|name| (name.to_owned(), address));
        let lines = json!("10.0.0.5 page\n10.0.0.5 web");
        assert_eq!(block(&names.into_iter().collect()), (lines, 2));
        assert_eq!(block(&BTreeMap::new()), (json!(""), 1));
    }
}
