//! Addresses of servers, and the outputs of catalogue items. Pure.
//!
//! The attributes of a server are from the moment when it became active. They do not contain floating IPs that were
//! associated later, so the public address is looked up from the floating IP whose port is one of the server's.

use std::{collections::BTreeMap, net::IpAddr};

use api::ServicePort;
use hot::expr::{Expr, Scope};
use serde_json::{Map, Value, json};
use types::catalog::{CatalogItem, STATS};

use super::table::{ResourceEntry, ResourceTable, reference_name};

/// Addresses of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// The address in the server's first network.
    pub private: Option<String>,
    /// The address for access from outside.
    pub public: Option<String>,
}

impl Addresses {
    /// The addresses of an existing server.
    pub fn of(known: &ResourceTable, scope: &dyn Scope, server: &str) -> Addresses {
        Addresses::among(&known.all(), scope, server)
    }

    /// The addresses of a server among these resources.
    pub fn among(
        entries: &BTreeMap<String, ResourceEntry>,
        scope: &dyn Scope,
        server: &str,
    ) -> Addresses {
        let Some(entry) = entries.get(server) else {
            return Addresses::default();
        };
        let ports = ports_of(entry, scope);
        Addresses {
            private: private(entry, entries, &ports),
            public: public(entries, scope, server, &ports),
        }
    }

    /// The public address, else the private one.
    pub fn best(&self) -> Option<&str> {
        self.public.as_deref().or(self.private.as_deref())
    }
}

/// Cloud ids of the ports in a server's `networks`.
fn ports_of(server: &ResourceEntry, scope: &dyn Scope) -> Vec<Value> {
    let networks = server
        .spec
        .properties
        .get("networks")
        .and_then(|networks| networks.resolve(scope).ok());
    let Some(Value::Array(networks)) = networks else {
        return Vec::new();
    };
    networks
        .iter()
        .filter_map(|network| network.get("port"))
        .filter(|port| !port.is_null())
        .cloned()
        .collect()
}

fn is_address(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    text.parse::<IpAddr>().ok().map(|_| text.to_owned())
}

fn private(
    server: &ResourceEntry,
    entries: &BTreeMap<String, ResourceEntry>,
    ports: &[Value],
) -> Option<String> {
    let of_port = ports.iter().find_map(|id| {
        let port = entries
            .values()
            .find(|entry| entry.reference.as_ref() == Some(id))?;
        port.attributes
            .get("fixed_ips")?
            .as_array()?
            .iter()
            .find_map(|fixed| is_address(fixed.get("ip_address")?))
    });
    of_port
        .or_else(|| server.attributes.get("first_address").and_then(is_address))
        .or_else(|| first_address_in(server.attributes.get("networks")?))
        .or_else(|| first_address_in(server.attributes.get("addresses")?))
}

/// The first address in a map of network names to addresses. An address is a text or a map with `addr`.
fn first_address_in(networks: &Value) -> Option<String> {
    let addresses = networks
        .as_object()?
        .values()
        .filter_map(Value::as_array)
        .flatten();
    let mut fixed = addresses.filter(|address| {
        address
            .get("OS-EXT-IPS:type")
            .is_none_or(|kind| kind == "fixed")
    });
    fixed.find_map(|address| is_address(address.get("addr").unwrap_or(address)))
}

fn public(
    entries: &BTreeMap<String, ResourceEntry>,
    scope: &dyn Scope,
    server: &str,
    ports: &[Value],
) -> Option<String> {
    // The port of a server without networks is an attribute of the server.
    let is_novas = |entry: &ResourceEntry| {
        let port = entry.spec.properties.get("port_id");
        matches!(port, Some(Expr::GetAttr(of, _)) if of == server)
    };
    let resolved = |entry: &ResourceEntry, property: &str| {
        entry.spec.properties.get(property)?.resolve(scope).ok()
    };
    let is_ours = |entry: &ResourceEntry| {
        is_novas(entry) || resolved(entry, "port_id").is_some_and(|port| ports.contains(&port))
    };
    let address = |entry: &ResourceEntry| {
        entry
            .attributes
            .get("floating_ip_address")
            .and_then(is_address)
    };
    entries
        .values()
        .filter(|entry| entry.spec.resource_type == "OS::Neutron::FloatingIP")
        .filter(|entry| is_ours(entry))
        .find_map(address)
        .or_else(|| {
            let bound = |entry: &&ResourceEntry| {
                entry.spec.resource_type == "OS::Neutron::FloatingIPAssociation" && is_ours(entry)
            };
            let id = resolved(entries.values().find(bound)?, "floatingip_id")?;
            address(
                entries
                    .values()
                    .find(|entry| entry.reference.as_ref() == Some(&id))?,
            )
        })
        .or_else(|| {
            let addresses = entries
                .get(server)?
                .attributes
                .get("addresses")?
                .as_object()?
                .values()
                .filter_map(Value::as_array)
                .flatten();
            let mut floating = addresses.filter(|address| {
                address
                    .get("OS-EXT-IPS:type")
                    .is_some_and(|kind| kind == "floating")
            });
            floating.find_map(|address| is_address(address.get("addr")?))
        })
}

/// The resource names in a requirement's property: one reference, or a list of them.
pub fn targets(value: &Expr) -> Vec<&str> {
    match value {
        Expr::List(items) => items.iter().filter_map(reference_name).collect(),
        one => reference_name(one).into_iter().collect(),
    }
}

/// A component's inputs: the given values, else the item's defaults.
pub fn inputs(item: &CatalogItem, given: &Map<String, Value>) -> Map<String, Value> {
    let value = |name: &str, default: &Option<Value>| {
        given
            .get(name)
            .filter(|value| !value.is_null())
            .cloned()
            .or_else(|| default.clone())
    };
    item.inputs
        .iter()
        .filter_map(|input| Some((input.name.clone(), value(&input.name, &input.default)?)))
        .collect()
}

/// The endpoint of a component, for components that connect to it: `{name, address, port}` and the inputs that its
/// capability shares. Shared inputs can be secrets.
pub fn endpoint(
    name: &str,
    item: Option<&CatalogItem>,
    capability: &str,
    given: &Map<String, Value>,
    address: &str,
) -> Value {
    let offered = item.and_then(|item| {
        let mut provided = item.provides.iter();
        Some((item, provided.find(|one| one.name == capability)?))
    });
    let Some((item, offered)) = offered else {
        return json!({"name": name, "address": address, "port": null});
    };
    let mut inputs = inputs(item, given);
    let port = inputs.get(&offered.port).cloned();
    inputs.retain(|input, _| offered.shares.contains(input));
    inputs.extend([
        ("name".to_owned(), json!(name)),
        ("address".to_owned(), json!(address)),
        ("port".to_owned(), json!(port)),
    ]);
    Value::Object(inputs)
}

/// The ports on which a component listens, with the capabilities at each.
pub fn ports(thing: &ResourceEntry, item: &CatalogItem, scope: &dyn Scope) -> Vec<ServicePort> {
    let given = thing.spec.properties.iter();
    let given = given
        .filter_map(|(name, value)| Some((name.clone(), value.resolve(scope).ok()?)))
        .collect();
    let values = inputs(item, &given);
    let number = |input: &str| {
        let number = match values.get(input)? {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        u16::try_from(number?).ok()
    };
    let capabilities = |port: u16| {
        let provided = item.provides.iter();
        let provided = provided.filter(|one| number(&one.port) == Some(port));
        provided.map(|one| one.name.clone()).collect()
    };
    let listens = item.listens.iter().filter_map(|listen| {
        let port = number(&listen.port)?;
        Some(ServicePort {
            port,
            protocol: listen.protocol.clone(),
            provides: capabilities(port),
        })
    });
    listens.collect()
}

/// An item's outputs, with addresses, inputs and the role's results filled in.
pub fn outputs(
    item: &CatalogItem,
    given: &Map<String, Value>,
    addresses: &Addresses,
    results: &BTreeMap<String, String>,
) -> Map<String, Value> {
    let inputs = inputs(item, given);
    let secret = |name: &str| {
        item.inputs
            .iter()
            .any(|input| input.name == name && input.secret)
    };
    let word = |word: &str| -> Option<String> {
        match word {
            "address" => addresses.best().map(in_url),
            "private_address" => addresses.private.as_deref().map(in_url),
            // Attributes are stored in clear text, so they must not contain secrets.
            input if secret(input) => None,
            word => match word.strip_prefix(STATS) {
                // An output is empty if the role did not set it this time.
                Some(name) => Some(results.get(name).cloned().unwrap_or_default()),
                None => inputs.get(word).map(|value| match value.as_str() {
                    Some(text) => text.to_owned(),
                    None => value.to_string(),
                }),
            },
        }
    };
    let render = |text: &str| fill(text, word);
    item.outputs
        .iter()
        .map(|output| (output.name.clone(), Value::String(render(&output.value))))
        .collect()
}

/// True if an output of the item contains this result of its role.
pub fn takes_result(item: &CatalogItem, name: &str) -> bool {
    let word = format!("{{{STATS}{name}}}");
    item.outputs
        .iter()
        .any(|output| output.value.contains(&word))
}

/// The text with its `{words}` replaced, once: inserted text is not scanned again. Unknown words stay.
pub fn fill(text: &str, word: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = rest
            .find('}')
            .and_then(|end| Some((word(&rest[1..end])?, end)));
        match found {
            Some((value, end)) => {
                filled.push_str(&value);
                rest = &rest[end + 1..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// The address for a URL: an IPv6 address is in brackets.
fn in_url(address: &str) -> String {
    if address.contains(':') {
        format!("[{address}]")
    } else {
        address.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use store::ResourceRow;
    use types::catalog::Output;

    use super::*;
    use crate::testing::{self, resource};

    fn row(name: &str, spec: planner::workflow::ResourceSpec, attributes: Value) -> ResourceRow {
        ResourceRow {
            physical_id: Some(format!("id-{name}")),
            reference: Some(json!(format!("id-{name}"))),
            attributes: attributes.as_object().cloned().unwrap_or_default(),
            ..testing::row(name, spec)
        }
    }

    fn web() -> ResourceTable {
        let networks = Expr::List(vec![Expr::Map(vec![(
            "port".into(),
            Expr::GetResource("web_port".into()),
        )])]);
        ResourceTable::of(vec![
            row(
                "web",
                resource("OS::Nova::Server", [("networks", networks)]),
                json!({"first_address": "10.0.0.9"}),
            ),
            row(
                "web_port",
                resource("OS::Neutron::Port", []),
                json!({"fixed_ips": [{"ip_address": "10.0.0.5"}]}),
            ),
            row(
                "web_floating_ip",
                resource(
                    "OS::Neutron::FloatingIP",
                    [("port_id", Expr::GetResource("web_port".into()))],
                ),
                json!({"floating_ip_address": "172.30.0.7"}),
            ),
        ])
    }

    #[test]
    fn a_server_is_reached_by_its_port_and_by_the_floating_ip_of_its_port() {
        let (known, none) = (web(), BTreeMap::new());
        let addresses = Addresses::of(&known, &known.scope(&none), "web");
        assert_eq!(
            addresses,
            Addresses {
                private: Some("10.0.0.5".into()),
                public: Some("172.30.0.7".into())
            }
        );
        assert_eq!(
            Addresses::of(&known, &known.scope(&none), "nothing"),
            Addresses::default()
        );
    }

    #[test]
    fn without_ports_the_address_is_in_the_servers_attributes() {
        let addresses = json!({"front": [
            {"addr": "172.30.0.8", "OS-EXT-IPS:type": "floating"}, {"addr": "10.0.0.6", "OS-EXT-IPS:type": "fixed"},
        ]});
        let known = ResourceTable::of(vec![row(
            "db",
            resource("OS::Nova::Server", []),
            json!({"addresses": addresses}),
        )]);
        let none = BTreeMap::new();
        let found = Addresses::of(&known, &known.scope(&none), "db");
        assert_eq!(
            found,
            Addresses {
                private: Some("10.0.0.6".into()),
                public: Some("172.30.0.8".into())
            }
        );
    }

    #[test]
    fn outputs_take_addresses_and_inputs() {
        let item = CatalogItem {
            outputs: vec![Output {
                name: "url".into(),
                value: "http://{address}:{listen_port}/ via {private_address}".into(),
            }],
            inputs: Vec::new(),
            ..empty()
        };
        let addresses = Addresses {
            private: Some("10.0.0.5".into()),
            public: Some("fd00::1".into()),
        };
        let shown = outputs(&item, &Map::new(), &addresses, &BTreeMap::new());
        assert_eq!(shown["url"], "http://[fd00::1]:{listen_port}/ via 10.0.0.5");
    }

    #[test]
    fn outputs_of_a_role_are_passed_on_unchanged() {
        let item = CatalogItem {
            outputs: vec![Output {
                name: "stdout".into(),
                value: "{stats.stdout}|{stats.other}|{open".into(),
            }],
            ..empty()
        };
        let results = BTreeMap::from([("stdout".to_owned(), "{address} {\"a\": 1}".to_owned())]);
        let addresses = Addresses {
            private: Some("10.0.0.5".into()),
            public: None,
        };
        let shown = outputs(&item, &Map::new(), &addresses, &results);
        assert_eq!(shown["stdout"], "{address} {\"a\": 1}||{open");
    }

    #[test]
    fn an_endpoint_has_what_its_capability_shares_and_nothing_else() {
        let manifest = "{name: db, title: DB, version: 1.0.0, summary: s, category: c, provides: [{name: sql, port: port, shares: [user, password]}]}";
        let options = "argument_specs: {main: {options: {port: {type: int, default: 3306}, user: {type: str, default: app}, password: {type: str, no_log: true}, memory: {type: int, default: 1}}}}";
        let item = CatalogItem::parse(manifest, options).unwrap();
        let given = json!({"password": "hush"});
        let given = given.as_object().unwrap();
        assert_eq!(
            endpoint("db", Some(&item), "sql", given, "10.0.0.5"),
            json!({"name": "db", "address": "10.0.0.5", "port": 3306, "user": "app", "password": "hush"})
        );
        assert_eq!(
            endpoint("web", None, "sql", given, "10.0.0.6"),
            json!({"name": "web", "address": "10.0.0.6", "port": null})
        );
    }

    #[test]
    fn an_endpoint_has_no_list_of_consumers() {
        let manifest = "{name: db, title: DB, version: 1.0.0, summary: s, category: c, provides: [{name: login, port: port, consumers: clients}]}";
        let options = "argument_specs: {main: {options: {port: {type: int, default: 3306}, clients: {type: list}}}}";
        let item = CatalogItem::parse(manifest, options).unwrap();
        let given = json!({"clients": [{"name": "blog", "secret": "hush"}]});
        assert_eq!(
            endpoint(
                "db",
                Some(&item),
                "login",
                given.as_object().unwrap(),
                "10.0.0.5"
            ),
            json!({"name": "db", "address": "10.0.0.5", "port": 3306})
        );
    }

    fn empty() -> CatalogItem {
        serde_json::from_value(
            json!({"name": "x", "title": "X", "version": "1.0.0", "summary": "", "category": ""}),
        )
        .unwrap()
    }

    #[test]
    fn targets_are_one_or_many() {
        assert_eq!(targets(&Expr::GetResource("a".into())), ["a"]);
        assert_eq!(
            targets(&Expr::List(vec![
                Expr::GetResource("a".into()),
                Expr::GetResource("b".into())
            ])),
            ["a", "b"]
        );
        assert!(targets(&Expr::List(vec![])).is_empty());
    }
}
