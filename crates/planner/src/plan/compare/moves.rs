//! Ports and servers that keep their ids and get other addresses, and the resources that use these addresses.
//!
//! A component reads the addresses of servers that it refers to, but its text contains their ids only. A server shows the
//! addresses of its ports.

use super::*;

/// True if a resource can keep its id and get other addresses by its change.
pub(in crate::plan) fn moves(change: &Change) -> bool {
    let properties: &[&str] = match change.resource_type.as_str() {
        PORT => &["fixed_ips", "no_fixed_ips"],
        SERVER => &["networks"],
        _ => &[],
    };
    let can_stay = match change.action {
        Action::Update => true,
        Action::Replace => change.may,
        _ => false,
    };
    let mut changed = change.properties.iter();
    can_stay
        && changed.any(|one| {
            let property = one.name.split('.').next();
            property.is_some_and(|property| properties.contains(&property))
        })
}

impl Comparison<'_> {
    /// The effect of other addresses on a property that refers to their resources.
    pub fn addresses(
        &self,
        spec: &ResourceSpec,
        described: Option<&ResourceType>,
        property: &str,
    ) -> Differs {
        let reads_addresses = described.is_some_and(ResourceType::is_component)
            || (spec.resource_type == SERVER && property == "networks");
        if reads_addresses {
            self.moved(spec.properties.get(property))
        } else {
            Differs::No
        }
    }

    /// The difference if the value refers to a resource that gets other addresses.
    pub fn moved(&self, value: Option<&Expr>) -> Differs {
        let mut names = value.map(Expr::resources).unwrap_or_default().into_iter();
        let moved = names.find(|name| self.of.get(*name).is_some_and(|compared| compared.moves));
        moved.map_or(Differs::No, |name| {
            Differs::May(format!("`{name}` gets other addresses"))
        })
    }
}
