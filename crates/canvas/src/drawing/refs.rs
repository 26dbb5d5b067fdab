//! References in properties, for the drawing.

use hot::{
    expr::Expr,
    template::{Resource, Template},
};

/// Resource that an expression references directly, by `get_resource` or by an attribute.
pub fn plain_reference(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::GetResource(name) | Expr::GetAttr(name, _) => Some(name),
        _ => None,
    }
}

/// A simple value as text. `None` for complex ones.
pub fn shown(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(serde_json::Value::String(text)) => {
            Some(text.clone()).filter(|text| !text.is_empty())
        }
        Expr::Literal(serde_json::Value::Number(number)) => Some(number.to_string()),
        Expr::GetParam(name, _) => Some(format!("‹{name}›")),
        Expr::GetResource(name) => Some(name.clone()),
        _ => None,
    }
}

/// A value in a map expression.
pub(crate) fn entry<'a>(expr: &'a Expr, key: &str) -> Option<&'a Expr> {
    match expr {
        Expr::Map(entries) => entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value),
        _ => None,
    }
}

/// One interface of a server, from its `networks` property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Index in `networks`.
    pub index: usize,
    /// Network resource, if it is in the template.
    pub network: Option<String>,
    /// Port resource, if it is in the template.
    pub port: Option<String>,
    /// The requested address.
    pub address: Option<String>,
}

/// A server's interfaces, in order.
pub fn interfaces(template: &Template, server: &Resource) -> Vec<Interface> {
    let Some(Expr::List(items)) = server.property("networks") else {
        return Vec::new();
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let named = |key| entry(item, key).and_then(plain_reference);
            let port = named("port");
            let network = named("network")
                .or_else(|| named("uuid"))
                .map(str::to_owned)
                .or_else(|| frame_of(template, named("subnet")?))
                .or_else(|| frame_of(template, port?));
            Interface {
                index,
                network,
                port: port.map(str::to_owned),
                address: entry(item, "fixed_ip").and_then(shown),
            }
        })
        .collect()
}

/// Network of a subnet or port.
pub fn frame_of(template: &Template, name: &str) -> Option<String> {
    let resource = template.resource(name)?;
    let named = |property| resource.property(property).and_then(plain_reference);
    if let Some(network) = named("network").or_else(|| named("network_id")) {
        return Some(network.to_owned());
    }
    // A port can reference only a subnet, among its addresses.
    let Some(Expr::List(addresses)) = resource.property("fixed_ips") else {
        return None;
    };
    let subnet = addresses.iter().find_map(|item| {
        let subnet = entry(item, "subnet").or_else(|| entry(item, "subnet_id"))?;
        plain_reference(subnet)
    })?;
    let subnet = template
        .resource(subnet)
        .filter(|subnet| subnet.resource_type == types::SUBNET)?;
    subnet
        .property("network")
        .or_else(|| subnet.property("network_id"))
        .and_then(plain_reference)
        .map(str::to_owned)
}

/// The subnets of a network in the template, in the order of the text.
pub fn subnets_of<'a>(
    template: &'a Template,
    network: &'a str,
) -> impl Iterator<Item = &'a Resource> {
    template.resources.iter().filter(move |resource| {
        resource.resource_type == types::SUBNET
            && ["network", "network_id"].iter().any(|property| {
                resource.property(property).and_then(plain_reference) == Some(network)
            })
    })
}
