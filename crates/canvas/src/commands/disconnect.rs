//! The reference that a line represents: its field in a form, and its removal.
//!
//! A line with its own resource, such as a router's interface, is deleted with that resource.

use hot::{
    document::Edit,
    expr::Expr,
    template::{Resource, Template},
};

use super::{CommandInput, Proposal, Refusal, property_path};
use crate::drawing::{Drawing, Edge, EdgeKind, interfaces};

/// The reference that a line represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Resource with the reference. It can be a part of the node at the start of the line.
    pub resource: String,
    /// Name of the property's field, such as `networks.1`. `None` for `depends_on`, which is no property.
    pub field: Option<String>,
    /// Path of the value to remove. `None` if the reference is a part of a larger value.
    path: Option<Vec<String>>,
}

/// The reference of a line. `None` for a line that a pass adds, or that has its own resource.
pub fn connection(template: &Template, drawing: &Drawing, edge: &Edge) -> Option<Connection> {
    if edge.ghost || edge.resource.is_some() {
        return None;
    }
    let of_property = |resource: &Resource, keys: &[&str], field: &[&str]| Connection {
        resource: resource.name.clone(),
        field: Some(field.join(".")),
        path: Some(property_path(&resource.name, keys)),
    };
    match edge.kind {
        EdgeKind::Interface => {
            let server = template.resource(&edge.from)?;
            let index = interfaces(template, server)
                .into_iter()
                .map(|one| one.index)
                .find(|index| edge.id == format!("network:{}:{index}", server.name))?
                .to_string();
            let keys = ["networks", index.as_str()];
            Some(of_property(server, &keys, &keys))
        }
        EdgeKind::Gateway => {
            let router = template.resource(&edge.from)?;
            let gateway = "external_gateway_info";
            Some(of_property(router, &[gateway], &[gateway, "network"]))
        }
        EdgeKind::Order => {
            let is_to = |name: &str| drawing.owns(&edge.to, name);
            own_resources(template, drawing, &edge.from).find_map(|resource| {
                let names = &resource.depends_on;
                let at = names.iter().position(|(name, _)| is_to(name))?;
                let mut path = ["resources", &resource.name, "depends_on"]
                    .map(str::to_owned)
                    .to_vec();
                // One name is written without a list.
                if names.len() > 1 {
                    path.push(at.to_string());
                }
                Some(Connection {
                    resource: resource.name.clone(),
                    field: None,
                    path: Some(path),
                })
            })
        }
        EdgeKind::RouterInterface | EdgeKind::Relation | EdgeKind::Reference => {
            let is_to = |name: &str| drawing.owns(&edge.to, name);
            own_resources(template, drawing, &edge.from).find_map(|resource| {
                let (mut keys, is_whole) = reference(resource.property(&edge.label)?, &is_to)?;
                keys.insert(0, edge.label.clone());
                let field = Some(keys.join("."));
                // A reference in an entry of a list is the entry's purpose.
                if keys.get(1).is_some_and(|key| key.parse::<usize>().is_ok()) {
                    keys.truncate(2);
                }
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                Some(Connection {
                    resource: resource.name.clone(),
                    field,
                    path: is_whole.then(|| property_path(&resource.name, &keys)),
                })
            })
        }
    }
}

/// The removal of the reference that a line represents. Both resources stay.
///
/// # Errors
/// The reason why the reference cannot be removed.
pub fn disconnect(input: &CommandInput<'_>, edge: &Edge) -> Result<Proposal, Refusal> {
    let Some(connection) = connection(input.template, input.drawing, edge) else {
        return Err(Refusal::because(
            "This line is added when the design is deployed and cannot be removed by hand",
        ));
    };
    let Some(path) = connection.path else {
        return Err(Refusal::because(
            "This reference is part of a larger value. Change it in the code view",
        ));
    };
    if let [_, name, _, property, index @ ..] = &path[..]
        && let Some(resource) = input.resource(name)
    {
        let described = input.types.get(&resource.resource_type);
        let is_required = described
            .and_then(|described| described.property(property))
            .is_some_and(|property| property.required);
        let is_last = index.is_empty() || super::list_length(resource, property) == 1;
        if is_required && is_last {
            return Err(Refusal::because(format!(
                "`{property}` of {name} needs a value. Drag the end of the line to another resource"
            )));
        }
    }
    Ok(Proposal {
        label: format!("Disconnect {} from {}", edge.from, edge.end_name()),
        edits: vec![Edit::Remove { path }],
        ..Proposal::default()
    })
}

/// The resource of a node, then those of its parts.
fn own_resources<'a>(
    template: &'a Template,
    drawing: &'a Drawing,
    node: &'a str,
) -> impl Iterator<Item = &'a Resource> {
    let parts = template.resources.iter();
    let parts = parts.filter(move |one| one.name != node && drawing.owns(node, &one.name));
    template.resource(node).into_iter().chain(parts)
}

/// Path of the first reference to a resource that `is_to`, and whether it is a value of its own. The path ends at a
/// function that contains it.
fn reference(value: &Expr, is_to: &dyn Fn(&str) -> bool) -> Option<(Vec<String>, bool)> {
    let below = |key: String, value: &Expr| {
        let (mut path, is_whole) = reference(value, is_to)?;
        path.insert(0, key);
        Some((path, is_whole))
    };
    match value {
        Expr::GetResource(name) | Expr::GetAttr(name, _) => {
            is_to(name).then_some((Vec::new(), true))
        }
        Expr::List(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(at, item)| below(at.to_string(), item))
        }
        Expr::Map(entries) => entries
            .iter()
            .find_map(|(key, value)| below(key.clone(), value)),
        other => {
            let mut names = other.resources().into_iter();
            names.any(is_to).then_some((Vec::new(), false))
        }
    }
}
