//! Request bodies, built from properties and the `api` block.

use openstack::collection::Record;
use serde_json::{Map, Value};
use types::{
    OnChange, Property, PropertyKind,
    api::{Empty, Field, MarkerPlace, Naming, Sent},
};

use super::{Described, collection, lookup};
use crate::driver::{Context, DriverError};
use crate::{marker, properties::Properties};

/// The request for a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    Creation,
    Update,
}

impl Described {
    /// The body, without the marker.
    pub(crate) async fn body(
        &self,
        context: &Context<'_>,
        occasion: Occasion,
    ) -> Result<Record, DriverError> {
        let mut body = Map::new();
        let name = match self.api.name {
            Naming::Readable => Some(marker::physical_name(context.marker, context.properties)),
            Naming::Unique => Some(marker::unique_name(context.marker, context.properties)),
            Naming::Property | Naming::None => None,
        };
        body.extend(name.map(|name| ("name".to_owned(), name.into())));
        let plain = Field::default();
        for property in &self.described.properties {
            let field = self.api.fields.get(&property.name).unwrap_or(&plain);
            if self.is_sent(context, property, field, occasion)
                && let Some(value) = self.value(context, property, field).await?
            {
                let name = field.to.as_ref().unwrap_or(&property.name);
                body.insert(name.clone(), value);
            }
        }
        if let Some(Value::Object(specs)) = context.properties.get("value_specs") {
            body.extend(specs.clone());
        }
        self.hooks.complete(context, &mut body, occasion).await?;
        Ok(body)
    }

    /// Whether an update sends the property.
    pub(super) fn is_restored(&self, property: &Property) -> bool {
        let field = self.api.fields.get(&property.name);
        let sent = field.map_or(Sent::AsDescribed, |field| field.sent);
        self.api.changeable
            && property.on_change == OnChange::UpdateInPlace
            && matches!(sent, Sent::AsDescribed | Sent::IfChanged)
    }

    fn is_sent(
        &self,
        context: &Context<'_>,
        property: &Property,
        field: &Field,
        occasion: Occasion,
    ) -> bool {
        let is_changed = context.changed.contains(&property.name);
        let given = context.properties.get(&property.name);
        match property.name.as_str() {
            "name" if self.api.name != Naming::Property => return false,
            "description" if self.api.marker == MarkerPlace::Description => return false,
            // Tags and `value_specs` are handled separately.
            "tags" | "value_specs" => return false,
            _ => {}
        }
        if field.unless.is_some() && given == field.unless.as_ref() && !is_changed {
            return false;
        }
        match (field.sent, occasion) {
            (Sent::Never, _) => false,
            (_, Occasion::Creation) => true,
            (Sent::Once, Occasion::Update) => false,
            (Sent::IfChanged, Occasion::Update) => is_changed,
            (Sent::AsDescribed, Occasion::Update) => property.on_change == OnChange::UpdateInPlace,
        }
    }

    async fn value(
        &self,
        context: &Context<'_>,
        property: &Property,
        field: &Field,
    ) -> Result<Option<Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let name = property.name.as_str();
        let value = properties.get(name);
        let is_empty_text = value == Some(&Value::String(String::new()));
        let is_empty = is_empty_text || value.and_then(Value::as_array).is_some_and(Vec::is_empty);
        if is_empty && field.empty == Empty::Null {
            return Ok(Some(Value::Null));
        }
        let counts = !is_empty
            || !(property.required
                || field.empty == Empty::Absent
                || is_empty_text && field.finds.is_some());
        let value = value.filter(|_| counts);
        let Some(value) = value else {
            if property.required {
                return Err(properties.wrong(name, "it must be given".into()));
            }
            return Ok(field.absent.clone());
        };
        let finds = field.finds.as_deref().and_then(collection);
        if let Some(collection) = finds {
            let mut ids = lookup::ids_in(context, name, collection).await?;
            return Ok(match value {
                Value::Array(_) => Some(ids.into()),
                _ => ids.pop().map(Value::String),
            });
        }
        if field.integer || property.kind == PropertyKind::Integer {
            return Ok(properties.integer(name)?.map(Value::from));
        }
        match property.kind {
            PropertyKind::Boolean => Ok(properties.boolean(name)?.map(Value::from)),
            PropertyKind::String => Ok(properties.text(name)?.map(Value::from)),
            _ => Ok(Some(value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use lab::Lab;
    use openstack::{CloudConfig, Credentials, Scope, Session};
    use serde_json::json;

    use super::*;
    use crate::driver::{Accepted, Marker, Vault};
    use crate::hooks_of;

    /// The id of all referenced resources.
    const ID: &str = "0123456789abcdef0123456789abcdef";

    struct NoVault;

    #[async_trait::async_trait]
    impl Vault for NoVault {
        async fn put(&self, _: &str, _: &str) -> Result<String, DriverError> {
            Err(DriverError::Other("there is no vault".into()))
        }
        async fn get(&self, _: &str) -> Result<Option<String>, DriverError> {
            Ok(None)
        }
        async fn delete(&self, _: &str) -> Result<(), DriverError> {
            Ok(())
        }
    }

    /// The body of a creation.
    async fn body(resource_type: &str, properties: Value) -> Result<Value, DriverError> {
        let lab = Lab::memory().await.unwrap();
        let config = CloudConfig::new("lab", &lab.auth_url());
        let credentials = Credentials::password("demo", "Default", "demo");
        let scope = Scope::project("demo", "Default");
        let session = Session::login(&config, &credentials, Some(&scope));
        let session = session.await.unwrap();
        let marker = Marker {
            deployment: "d".into(),
            deployment_name: "shop".into(),
            resource: "front".into(),
        };
        let described = Described::of(resource_type, hooks_of(resource_type)).unwrap();
        let properties = properties.as_object().unwrap();
        let properties = types::typed(&described.described.properties, properties);
        let accepted = Accepted::default();
        let context = Context::of(&session, &NoVault, &accepted, &marker, &properties);
        let body = described.body(&context, Occasion::Creation).await;
        body.map(Value::Object)
    }

    async fn check(resource_type: &str, properties: Value, expected: Value) {
        assert_eq!(body(resource_type, properties).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn body_of_a_network() {
        check(
            "OS::Neutron::Net",
            json!({"shared": "false", "admin_state_up": "true", "value_specs": {"mtu": 1400}}),
            json!({"name": "shop-front", "admin_state_up": true, "mtu": 1400}),
        )
        .await;
    }

    #[tokio::test]
    async fn a_plain_subnet() {
        check(
            "OS::Neutron::Subnet",
            json!({"network": ID, "cidr": "10.0.0.0/24", "dns_nameservers": ["9.9.9.9"], "enable_dhcp": "yes"}),
            json!({"name": "shop-front", "network_id": ID, "ip_version": 4, "enable_dhcp": true,
                   "cidr": "10.0.0.0/24", "dns_nameservers": ["9.9.9.9"]}),
        )
        .await;
    }

    #[tokio::test]
    async fn an_empty_gateway_means_none() {
        check(
            "OS::Neutron::Subnet",
            json!({"network": ID, "cidr": "10.0.0.0/24", "gateway_ip": ""}),
            json!({"name": "shop-front", "network_id": ID, "ip_version": 4, "gateway_ip": null, "cidr": "10.0.0.0/24"}),
        )
        .await;
        check(
            "OS::Neutron::Subnet",
            json!({"network": ID, "cidr": "10.0.0.0/24", "gateway_ip": null}),
            json!({"name": "shop-front", "network_id": ID, "ip_version": 4, "cidr": "10.0.0.0/24"}),
        )
        .await;
    }

    #[tokio::test]
    async fn body_of_a_router_to_the_outside() {
        check(
            "OS::Neutron::Router",
            json!({"external_gateway_info": {"network": ID}, "name": "gate"}),
            json!({"name": "gate", "external_gateway_info": {"network_id": ID}}),
        )
        .await;
    }

    #[tokio::test]
    async fn a_port_with_address_and_groups() {
        check(
            "OS::Neutron::Port",
            json!({"network": ID, "fixed_ips": [{"subnet": ID, "ip_address": "10.0.0.9"}], "security_groups": [ID],
                   "binding:vnic_type": "normal"}),
            json!({"name": "shop-front", "network_id": ID,
                   "fixed_ips": [{"subnet_id": ID, "ip_address": "10.0.0.9"}], "security_groups": [ID]}),
        )
        .await;
    }

    #[tokio::test]
    async fn no_groups_is_not_the_default_group() {
        check(
            "OS::Neutron::Port",
            json!({"network": ID, "security_groups": [], "no_fixed_ips": true}),
            json!({"name": "shop-front", "network_id": ID, "fixed_ips": [], "security_groups": []}),
        )
        .await;
    }

    #[tokio::test]
    async fn body_of_an_address_for_a_port() {
        check(
            "OS::Neutron::FloatingIP",
            json!({"floating_network": ID, "port_id": ID, "fixed_ip_address": "10.0.0.4"}),
            json!({"floating_network_id": ID, "port_id": ID, "fixed_ip_address": "10.0.0.4"}),
        )
        .await;
    }

    #[tokio::test]
    async fn body_of_a_flavor() {
        check(
            "OS::Nova::Flavor",
            json!({"name": "a", "ram": "512", "vcpus": 1, "flavorid": "", "is_public": "false", "tenants": ["p"]}),
            json!({"name": "a", "ram": 512, "vcpus": 1, "disk": 0, "swap": 0, "OS-FLV-EXT-DATA:ephemeral": 0,
                   "os-flavor-access:is_public": false}),
        )
        .await;
        let error = body("OS::Nova::Flavor", json!({"ram": 1})).await;
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "property `vcpus`: it must be given");
    }

    #[tokio::test]
    async fn bodies_of_a_load_balancer_and_its_parts() {
        check(
            "OS::Octavia::LoadBalancer",
            json!({"vip_subnet": ID, "flavor": "", "description": "", "tenant_id": "p"}),
            json!({"name": "shop-front", "vip_subnet_id": ID, "description": ""}),
        )
        .await;
        check(
            "OS::Octavia::Listener",
            json!({"loadbalancer": ID, "protocol": "HTTP", "protocol_port": "80", "allowed_cidrs": []}),
            json!({"name": "shop-front", "loadbalancer_id": ID, "protocol": "HTTP", "protocol_port": 80, "allowed_cidrs": []}),
        )
        .await;
        check(
            "OS::Octavia::PoolMember",
            json!({"pool": ID, "address": "10.0.0.4", "protocol_port": 80, "weight": "2", "tags": ["a"]}),
            json!({"name": "shop-front", "address": "10.0.0.4", "protocol_port": 80, "weight": 2}),
        )
        .await;
        check(
            "OS::Octavia::L7Policy",
            json!({"listener": ID, "action": "REDIRECT_TO_POOL", "redirect_pool": ID, "position": "1"}),
            json!({"name": "shop-front", "listener_id": ID, "action": "REDIRECT_TO_POOL", "redirect_pool_id": ID, "position": 1}),
        )
        .await;
        check(
            "OS::Octavia::L7Rule",
            json!({"l7policy": ID, "type": "PATH", "compare_type": "EQUAL_TO", "value": "/", "invert": "false"}),
            json!({"type": "PATH", "compare_type": "EQUAL_TO", "value": "/", "invert": false}),
        )
        .await;
    }
}
