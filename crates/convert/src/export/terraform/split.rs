//! Resources in HOT that become an argument of another resource, or several resources.

use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use super::types::{self, PROJECT, ROUTER};
use super::{Exporter, Target};

impl Exporter<'_> {
    /// Writes a resource of these types. Returns `false` for other types.
    pub(super) fn split_resource(&mut self, name: &str, spec: &ResourceSpec) -> bool {
        let written = match spec.resource_type.as_str() {
            "OS::Neutron::RouterGateway" => {
                self.router_gateway(name, spec);
                Ok(())
            }
            "OS::Neutron::ExtraRouteSet" => self.routes(name, spec),
            "OS::Cinder::QoSAssociation" => self.associations(name, spec),
            "OS::Keystone::UserRoleAssignment" => self.roles(name, spec, "user", "user_id"),
            "OS::Keystone::GroupRoleAssignment" => self.roles(name, spec, "group", "group_id"),
            "OS::Heat::None" => Ok(()),
            _ => return false,
        };
        if let Err(why) = written {
            let path = format!("resources.{name}");
            self.report.left_out(
                path,
                format!("Terraform cannot express {why}. Add the resource to the file by hand"),
            );
        }
        true
    }

    /// A router's gateway can be a resource in HOT. In Terraform it is an argument of the router.
    fn router_gateway(&mut self, name: &str, spec: &ResourceSpec) {
        let given = |property: &str| spec.properties.get(property).map(Expr::to_json);
        let router = spec
            .properties
            .get("router_id")
            .and_then(crate::export::expand::reference);
        let network = given("network").or_else(|| given("network_id"));
        match (router, network) {
            (Some(router), Some(network)) => self.gateways.push((router.to_owned(), network)),
            _ => self.report.left_out(
                format!("resources.{name}"),
                "The router is not in this design. Set its external network where the router is defined",
            ),
        }
    }

    pub(super) fn router_gateways(&mut self) {
        for (router, network) in std::mem::take(&mut self.gateways) {
            let id = self.id(&network, &types::NETWORK);
            let target = self.writer.targets.get(&router);
            let (Ok(id), Some(Target::Resource { address, .. })) = (id, target) else {
                self.report.left_out(
                    format!("resources.{router}"),
                    "Terraform cannot express the router's external network. Set `external_network_id` by hand",
                );
                continue;
            };
            if let Some((kind, identifier)) = address.split_once('.') {
                self.resources[kind][identifier]["external_network_id"] = id;
            }
        }
    }

    /// The items of a literal list.
    fn items(spec: &ResourceSpec, property: &str) -> Result<Vec<Value>, String> {
        match spec.properties.get(property).map(Expr::to_json) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(format!("`{property}` as a computed value")),
        }
    }

    fn routes(&mut self, name: &str, spec: &ResourceSpec) -> Result<(), String> {
        let router = spec
            .properties
            .get("router")
            .map_or(Value::Null, Expr::to_json);
        let router = self.id(&router, &ROUTER)?;
        for (number, route) in Self::items(spec, "routes")?.iter().enumerate() {
            let body = json!({
                "router_id": router,
                "destination_cidr": self.writer.value(&route["destination"])?,
                "next_hop": self.writer.value(&route["nexthop"])?,
            });
            let identifier = format!("{name}_{number}");
            self.insert_additional("openstack_networking_router_route_v2", &identifier, body);
        }
        Ok(())
    }

    fn associations(&mut self, name: &str, spec: &ResourceSpec) -> Result<(), String> {
        let specs = spec
            .properties
            .get("qos_specs")
            .map_or(Value::Null, Expr::to_json);
        let specs = self.writer.value(&specs)?;
        for (number, volume_type) in Self::items(spec, "volume_types")?.iter().enumerate() {
            let volume_type = self.writer.value(volume_type)?;
            let identifier = format!("{name}_{number}");
            let body = json!({"qos_id": specs, "volume_type_id": volume_type});
            self.insert_additional(
                "openstack_blockstorage_qos_association_v3",
                &identifier,
                body,
            );
        }
        Ok(())
    }

    fn roles(
        &mut self,
        name: &str,
        spec: &ResourceSpec,
        who: &str,
        argument: &str,
    ) -> Result<(), String> {
        let given = spec.properties.get(who).map_or(Value::Null, Expr::to_json);
        let given = self.writer.value(&given)?;
        for (number, role) in Self::items(spec, "roles")?.iter().enumerate() {
            let mut body = Map::new();
            body.insert(argument.to_owned(), given.clone());
            body.insert("role_id".to_owned(), self.writer.value(&role["role"])?);
            if let Some(project) = role.get("project").filter(|one| !one.is_null()) {
                body.insert("project_id".to_owned(), self.id(project, &PROJECT)?);
            }
            if let Some(domain) = role.get("domain").filter(|one| !one.is_null()) {
                body.insert("domain_id".to_owned(), self.writer.value(domain)?);
            }
            let identifier = format!("{name}_{number}");
            self.insert_additional(
                "openstack_identity_role_assignment_v3",
                &identifier,
                Value::Object(body),
            );
        }
        Ok(())
    }
}
