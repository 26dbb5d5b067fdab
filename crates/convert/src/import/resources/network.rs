//! Networks: a VPC becomes a network with a router, an Elastic IP becomes a floating IP.

use serde_json::{Map, Value, json};

use super::{
    ADDRESS, ASSOCIATION, Convert, GATEWAY_ATTACHMENT, INSTANCE, INTERFACE, Output, Resource,
    SUBNET, VPC,
};
use crate::import::context::{EXTERNAL_NETWORK, Importer, NETWORK};

const ROUTER_SUFFIX: &str = "router";

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    Some(match written {
        VPC => vpc,
        SUBNET => subnet,
        INTERFACE => interface,
        ADDRESS => address,
        ASSOCIATION => association,
        _ => return None,
    })
}

/// The network of servers without one: a parameter.
pub(super) fn added_network(importer: &mut Importer<'_>) -> Value {
    importer.added_parameter(
        NETWORK,
        json!({
            "type": "string",
            "description": "The network of servers.",
            "constraints": [{"custom_constraint": "neutron.network"}],
        }),
    )
}

/// The external network: a parameter.
pub(super) fn external(importer: &mut Importer<'_>) -> Value {
    importer.added_parameter(
        EXTERNAL_NETWORK,
        json!({
            "type": "string",
            "description": "The external network for public addresses.",
            "default": "public",
            "constraints": [{"custom_constraint": "neutron.network"}],
        }),
    )
}

/// Finds the Elastic IP of each server, the associations that become part of the server, and the networks with a
/// gateway.
pub(super) fn find_addresses(importer: &mut Importer<'_>) {
    let resources = importer.resources;
    for (name, body) in resources {
        let property = |name: &str| body.get("Properties").and_then(|one| one.get(name));
        let written = importer.type_of(name);
        if written == GATEWAY_ATTACHMENT
            && property("InternetGatewayId").is_some()
            && let Some(vpc) = property("VpcId").and_then(|vpc| importer.referred(vpc, VPC))
        {
            importer.attached.insert(vpc.to_owned());
        }
        let server = property("InstanceId").and_then(|to| importer.referred(to, INSTANCE));
        if written == ASSOCIATION && association_address(importer, body).is_none()
            || written == ASSOCIATION
                && server.is_none()
                && property("NetworkInterfaceId").is_none()
        {
            importer.dropped.insert(name.clone());
            importer.left_out(
                &format!("Resources.{name}"),
                "The address or the server is not in the template. Add an `OS::Neutron::FloatingIPAssociation` with the server's port",
            );
            continue;
        }
        let Some(server) = server else {
            continue;
        };
        let address = match written {
            ADDRESS => Some(name.clone()),
            ASSOCIATION => association_address(importer, body),
            _ => None,
        };
        let Some(address) = address else {
            continue;
        };
        let first = importer.addresses.entry(server.to_owned());
        first.or_insert(address);
        if written == ASSOCIATION {
            importer.dropped.insert(name.clone());
            let message =
                "The association is the property `floating_ip` of the server's network here";
            importer.changed(&format!("Resources.{name}"), message);
        }
    }
}

/// The Elastic IP of an association, if it is in the template.
fn association_address(importer: &Importer<'_>, association: &Value) -> Option<String> {
    let given = ["AllocationId", "EIP"]
        .iter()
        .find_map(|key| association.get("Properties")?.get(*key))?;
    importer.referred(given, ADDRESS).map(str::to_owned)
}

fn vpc(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let mut properties = Map::new();
    if let Some(tags) = resource.tags(importer, "Tags")
        && let Some(name) = tags.get("Name")
    {
        properties.insert("name".to_owned(), name.clone());
    }
    let silent = [
        "CidrBlock",
        "EnableDnsSupport",
        "EnableDnsHostnames",
        "InstanceTenancy",
    ];
    for property in silent {
        resource.raw(property);
    }
    output.put(importer, resource, "OS::Neutron::Net", properties);
    let is_attached = importer.attached.contains(resource.name);
    let router = if is_attached {
        json!({"external_gateway_info": {"network": external(importer)}})
    } else {
        json!({})
    };
    output.add(
        importer,
        resource,
        ROUTER_SUFFIX,
        "OS::Neutron::Router",
        router,
    );
}

fn subnet(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let of = resource
        .raw("VpcId")
        .and_then(|vpc| importer.referred(vpc, VPC));
    let names = [("VpcId", "network"), ("CidrBlock", "cidr")];
    let mut properties = resource.renamed(importer, &names);
    if let Some(Value::Object(mut tags)) = resource.tags(importer, "Tags")
        && let Some(name) = tags.remove("Name")
    {
        properties.insert("name".to_owned(), name);
    }
    if resource.raw("AvailabilityZone").is_some() {
        importer.left_out(
            &resource.at("AvailabilityZone"),
            "In OpenStack, a subnet spans all availability zones",
        );
    }
    if resource
        .raw("MapPublicIpOnLaunch")
        .is_some_and(|value| *value != json!(false))
    {
        importer.left_out(
            &resource.at("MapPublicIpOnLaunch"),
            "In OpenStack, servers get public addresses one by one. Mark each server as public, or add a floating IP",
        );
    }
    output.put(importer, resource, "OS::Neutron::Subnet", properties);
    if let Some(vpc) = of {
        let router = format!("{vpc}_{ROUTER_SUFFIX}");
        let interface = json!({
            "router": {"get_resource": router},
            "subnet": {"get_resource": resource.name},
        });
        output.add(
            importer,
            resource,
            "interface",
            "OS::Neutron::RouterInterface",
            interface,
        );
    }
}

fn interface(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [("Description", "name"), ("GroupSet", "security_groups")];
    let mut properties = resource.renamed(importer, &names);
    let subnet = resource.raw("SubnetId");
    let drawn = subnet.and_then(|subnet| importer.referred(subnet, SUBNET));
    let network = match drawn {
        Some(subnet) => {
            let vpc = importer.resources[subnet].pointer("/Properties/VpcId");
            let vpc = vpc.cloned().unwrap_or_default();
            importer.value(&vpc, &resource.path)
        }
        None => added_network(importer),
    };
    properties.insert("network".to_owned(), network);
    let mut fixed = Map::new();
    if let Some(subnet) = resource.take(importer, "SubnetId") {
        fixed.insert("subnet".to_owned(), subnet);
    }
    if let Some(address) = resource.take(importer, "PrivateIpAddress") {
        fixed.insert("ip_address".to_owned(), address);
    }
    if !fixed.is_empty() {
        properties.insert("fixed_ips".to_owned(), json!([fixed]));
    }
    if resource.raw("SourceDestCheck") == Some(&json!(false)) {
        properties.insert(
            "allowed_address_pairs".to_owned(),
            json!([{"ip_address": "0.0.0.0/0"}]),
        );
    }
    resource.raw("Tags");
    output.put(importer, resource, "OS::Neutron::Port", properties);
}

fn address(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    for property in ["Domain", "InstanceId", "Tags"] {
        resource.raw(property);
    }
    let to = resource.raw("InstanceId");
    let is_said = to.is_none_or(|to| importer.referred(to, INSTANCE).is_some());
    if !is_said {
        importer.left_out(
            &resource.at("InstanceId"),
            "The server is not in the template. Add an `OS::Neutron::FloatingIPAssociation` with its port",
        );
    }
    let network = external(importer);
    let properties = json!({"floating_network": network});
    let properties = properties.as_object().cloned().unwrap_or_default();
    output.put(importer, resource, "OS::Neutron::FloatingIP", properties);
}

/// Converts an association. With a port it is the same in HOT. With a server of the template, it is part of the server
/// already.
fn association(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [("NetworkInterfaceId", "port_id")];
    let mut properties = resource.renamed(importer, &names);
    let address = association_address(importer, resource.body);
    properties.insert("floatingip_id".to_owned(), json!({"get_resource": address}));
    for property in ["AllocationId", "EIP", "InstanceId", "AllowReassociation"] {
        resource.raw(property);
    }
    let kind = "OS::Neutron::FloatingIPAssociation";
    output.put(importer, resource, kind, properties);
}
