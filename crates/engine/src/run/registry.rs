//! The services of a deployment, for roles: the variable `stackloom_services`. Pure.
//!
//! A requirement lists what a role connects to, and a change there runs the role again. This list has all services of
//! the deployment at the moment when the role runs, and no change of it runs a role. It is made for the roles that
//! name it only: in a large deployment it costs as much as the rest of a step.

use api::ResourceState;
use hot::expr::Scope;
use serde_json::{Value, json};
use types::catalog::CatalogItem;

use crate::{
    catalog::Files,
    resources::{Addresses, ResourceTable, address},
};

/// Name of the variable.
pub(super) const VARIABLE: &str = "stackloom_services";

/// True if a file of a role names a variable of ours.
pub(super) fn is_used(files: &Files, variable: &str) -> bool {
    let name = variable.as_bytes();
    let mut files = files.values();
    files.any(|bytes| bytes.windows(name.len()).any(|part| part == name))
}

/// Value of the variable: a map for each component that listens or offers something, by name. `item_of` finds the item
/// of a resource type.
pub(super) fn services<'a>(
    known: &ResourceTable,
    scope: &dyn Scope,
    item_of: impl Fn(&str) -> Option<&'a CatalogItem>,
) -> Value {
    let entries = known.all();
    let services = entries.iter().filter_map(|(name, entry)| {
        let item = item_of(&entry.spec.resource_type)?;
        let offers_nothing = item.listens.is_empty() && item.provides.is_empty();
        if offers_nothing || entry.state == ResourceState::Removing {
            return None;
        }
        let server = entry.spec.host()?;
        let addresses = Addresses::among(&entries, scope, server);
        let ports = address::ports(entry, item, scope).into_iter();
        let ports = ports.map(
            |port| json!({"port": port.port, "protocol": port.protocol, "provides": port.provides}),
        );
        Some(json!({
            "component": name,
            "item": item.name,
            "server": server,
            "address": addresses.private,
            "public_address": addresses.public,
            "ports": ports.collect::<Vec<_>>(),
            "healthy": entry.state == ResourceState::Ready,
        }))
    });
    Value::Array(services.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hot::expr::Expr;
    use planner::workflow::ResourceSpec;
    use store::ResourceRow;

    use super::*;
    use crate::testing::{self, resource};

    fn row(name: &str, spec: ResourceSpec, state: ResourceState, attributes: Value) -> ResourceRow {
        ResourceRow {
            attributes: attributes.as_object().cloned().unwrap_or_default(),
            state,
            ..testing::row(name, spec)
        }
    }

    #[test]
    fn a_role_sees_where_each_service_of_its_deployment_is() {
        let nginx = CatalogItem::parse(
            "name: nginx\ntitle: nginx\nversion: 1.0.0\nsummary: A web server.\ncategory: web\n\
             listens: [{port: listen_port}]\nprovides: [{name: http, port: listen_port}]\n",
            "argument_specs: {main: {options: {listen_port: {type: int, default: 80, description: The port.}}}}\n",
        )
        .unwrap();
        let page = |host: &str, port: &[(&'static str, Expr)]| {
            let host = ("host", Expr::GetResource(host.into()));
            resource(
                "Stackloom::Catalog::nginx",
                [host].into_iter().chain(port.iter().cloned()),
            )
        };
        let port = [("listen_port", Expr::Literal(json!(8080)))];
        let server = resource("OS::Nova::Server", []);
        let known = ResourceTable::of(vec![
            row(
                "web",
                server,
                ResourceState::Ready,
                json!({"first_address": "10.0.0.5"}),
            ),
            row(
                "page",
                page("web", &port),
                ResourceState::Ready,
                Value::Null,
            ),
            row(
                "early",
                page("next", &[]),
                ResourceState::Creating,
                Value::Null,
            ),
            row(
                "late",
                page("web", &[]),
                ResourceState::Removing,
                Value::Null,
            ),
        ]);
        let none = BTreeMap::new();
        let item_of =
            |resource_type: &str| (resource_type == "Stackloom::Catalog::nginx").then_some(&nginx);
        let listed = services(&known, &known.scope(&none), item_of);
        assert_eq!(
            listed,
            json!([
                {"component": "early", "item": "nginx", "server": "next", "address": null, "public_address": null,
                 "ports": [{"port": 80, "protocol": "tcp", "provides": ["http"]}], "healthy": false},
                {"component": "page", "item": "nginx", "server": "web", "address": "10.0.0.5", "public_address": null,
                 "ports": [{"port": 8080, "protocol": "tcp", "provides": ["http"]}], "healthy": true},
            ])
        );
    }

    #[test]
    fn the_list_that_every_role_can_read_has_no_value_of_a_connection() {
        let base = CatalogItem::parse(
            "name: base\ntitle: Base\nversion: 1.0.0\nsummary: A database.\ncategory: databases\n\
             listens: [{port: port}]\n\
             provides: [{name: sql, port: port, shares: [password]}, {name: login, port: port, consumers: clients}]\n",
            "argument_specs: {main: {options: {port: {type: int, default: 3306}, password: {type: str, no_log: true}, clients: {type: list}}}}\n",
        )
        .unwrap();
        let clients = json!([{"name": "blog", "secret": "for-the-blog"}]);
        let data = resource(
            "Stackloom::Catalog::base",
            [
                ("host", Expr::GetResource("db".into())),
                ("password", Expr::text("for-the-owner")),
                ("clients", Expr::from_json(&clients).unwrap()),
            ],
        );
        let known = ResourceTable::of(vec![row("data", data, ResourceState::Ready, Value::Null)]);
        let none = BTreeMap::new();
        let item_of =
            |resource_type: &str| (resource_type == "Stackloom::Catalog::base").then_some(&base);
        let listed = services(&known, &known.scope(&none), item_of);
        assert_eq!(
            listed,
            json!([
                {"component": "data", "item": "base", "server": "db", "address": null, "public_address": null,
                 "ports": [{"port": 3306, "protocol": "tcp", "provides": ["sql", "login"]}], "healthy": true},
            ])
        );
    }

    #[test]
    fn the_list_is_made_for_roles_that_name_it() {
        let is_used_in = |text: &str| {
            let files = Files::from([("tasks/main.yml".to_owned(), text.into())]);
            is_used(&files, VARIABLE)
        };
        assert!(is_used_in("- debug: {var: stackloom_services}\n"));
        assert!(!is_used_in("- debug: {var: stackloom_component}\n"));
        assert!(!is_used_in(""));
    }
}
