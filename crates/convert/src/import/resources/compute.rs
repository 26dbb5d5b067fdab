//! Servers and their disks.

use serde_json::{Map, Value, json};

use super::network::{added_network, external};
use super::{Convert, INSTANCE, Output, Resource, launch};
use crate::import::context::{FLAVOR, IMAGE, Importer};

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    Some(match written {
        INSTANCE => instance,
        "AWS::EC2::Volume" => volume,
        "AWS::EC2::VolumeAttachment" => attachment,
        "AWS::EC2::KeyPair" => key_pair,
        _ => return None,
    })
}

fn key_pair(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [("KeyName", "name"), ("PublicKeyMaterial", "public_key")];
    let properties = resource.renamed(importer, &names);
    output.put(importer, resource, "OS::Nova::KeyPair", properties);
}

/// Properties that instances and launch configurations share.
pub(super) fn server(
    importer: &mut Importer<'_>,
    resource: &mut Resource<'_>,
) -> Map<String, Value> {
    let names = [
        ("ImageId", "image"),
        ("InstanceType", "flavor"),
        ("KeyName", "key_name"),
        ("AvailabilityZone", "availability_zone"),
        ("UserData", "user_data"),
    ];
    let mut properties = resource.renamed(importer, &names);
    for key in ["ImageId", "InstanceType"] {
        if resource.raw(key).is_some_and(Value::is_string) {
            importer.needed(
                &resource.at(key),
                "Replace the value by a name or an id of your cloud",
            );
        }
    }
    let init = resource.body.get("Metadata");
    let has_init = init.is_some_and(|one| one.get("AWS::CloudFormation::Init").is_some());
    if properties.contains_key("user_data") && !has_init {
        properties.insert("user_data_format".to_owned(), json!("RAW"));
    }
    let groups: Vec<Value> = ["SecurityGroupIds", "SecurityGroups"]
        .into_iter()
        .filter_map(|key| resource.take(importer, key))
        .collect();
    match groups.as_slice() {
        [] => {}
        [groups] => {
            properties.insert("security_groups".to_owned(), groups.clone());
        }
        several => {
            properties.insert(
                "security_groups".to_owned(),
                json!({"list_concat": several}),
            );
        }
    }
    if let Some(Value::Object(hints)) = resource.tags(importer, "NovaSchedulerHints") {
        properties.insert("scheduler_hints".to_owned(), Value::Object(hints));
    }
    // Amazon's operational settings, without an effect on the result.
    for silent in [
        "EbsOptimized",
        "Monitoring",
        "InstanceMonitoring",
        "SourceDestCheck",
    ] {
        if resource
            .raw(silent)
            .is_some_and(|value| *value != json!(false))
        {
            importer.left_out(
                &resource.at(silent),
                "The setting applies to Amazon's servers only",
            );
        }
    }
    properties
}

/// Amazon has a default for servers without a size. Here a missing flavor or image becomes a parameter.
pub(super) fn completed(importer: &mut Importer<'_>, server: &mut Map<String, Value>) {
    for (property, name, check) in [
        ("flavor", FLAVOR, "nova.flavor"),
        ("image", IMAGE, "glance.image"),
    ] {
        if server.get(property).is_none_or(Value::is_null) {
            let definition = json!({
                "type": "string",
                "description": format!("The {property} of servers without one."),
                "constraints": [{"custom_constraint": check}],
            });
            server.insert(
                property.to_owned(),
                importer.added_parameter(name, definition),
            );
        }
    }
}

/// A definition as properties of a server. Properties without a counterpart are reported with the reason `lost`.
pub(super) fn defined(
    importer: &mut Importer<'_>,
    definition: &mut Resource<'_>,
    lost: &str,
) -> Map<String, Value> {
    let mut member = server(importer, definition);
    let at = definition.at("NetworkInterfaces");
    let groups = definition.raw("NetworkInterfaces");
    if let Some(groups) = groups.and_then(|all| all.get(0)?.get("Groups")) {
        let groups = importer.value(groups, &at);
        member.entry("security_groups").or_insert(groups);
    }
    for silent in ["TagSpecifications", "Placement", "Tags"] {
        definition.raw(silent);
    }
    for property in [
        "AssociatePublicIpAddress",
        "BlockDeviceMappings",
        "IamInstanceProfile",
    ] {
        if definition.raw(property).is_some() {
            importer.left_out(&definition.at(property), lost);
        }
    }
    member
}

/// The properties of a server from its launch template.
fn from_launch_template(
    importer: &mut Importer<'_>,
    resource: &mut Resource<'_>,
) -> Map<String, Value> {
    let named = resource.raw("LaunchTemplate").is_some();
    match launch::definition(importer, resource) {
        Some(mut definition) => {
            let lost = "The server does not take this property from its launch template. Set it on the server itself";
            defined(importer, &mut definition, lost)
        }
        None => {
            if named {
                importer.needed(
                    &resource.at("LaunchTemplate"),
                    "The server's launch template is not in this template. Set its properties on the server itself",
                );
            }
            Map::new()
        }
    }
}

fn instance(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let mut properties = from_launch_template(importer, resource);
    properties.extend(server(importer, resource));
    if let Some(tags) = resource.tags(importer, "Tags") {
        properties.insert("metadata".to_owned(), tags);
    }
    let mut networks = networks(importer, output, resource, &mut properties);
    if let Some(address) = importer.addresses.get(resource.name).cloned() {
        let first = networks.first();
        // An address is assigned to a port. If only a network is known, the import adds the port.
        if first.is_none_or(|one| one.get("port").or_else(|| one.get("subnet")).is_none()) {
            let fixed = first.and_then(|one| one.get("fixed_ip")).cloned();
            let mut port = json!({"network": added_network(importer)});
            if let Some(fixed) = fixed {
                port["fixed_ips"] = json!([{"ip_address": fixed}]);
            }
            if let Some(groups) = properties.remove("security_groups") {
                port["security_groups"] = groups;
                if networks.iter().skip(1).any(|one| one.get("port").is_none()) {
                    let message = "Only the server's first port has its security groups. Add an `OS::Neutron::Port` with security groups for each other network";
                    importer.changed(&resource.path, message);
                }
            }
            let port = output.add(importer, resource, "port", "OS::Neutron::Port", port);
            let port = json!({"port": {"get_resource": port}});
            match networks.first_mut() {
                Some(first) => *first = port,
                None => networks.push(port),
            }
        }
        networks[0]["floating_ip"] = json!({"get_resource": address});
    }
    let has_port = networks.iter().any(|one| one.get("port").is_some());
    if has_port && properties.remove("security_groups").is_some() {
        importer.left_out(
            &resource.path,
            "OpenStack ignores the security groups of a server that has ports. Set them on the ports",
        );
    }
    if !networks.is_empty() {
        properties.insert("networks".to_owned(), Value::Array(networks));
    }
    completed(importer, &mut properties);
    disks(importer, output, resource, &mut properties);
    output.put(importer, resource, "OS::Nova::Server", properties);
}

fn networks(
    importer: &mut Importer<'_>,
    output: &mut Output,
    resource: &mut Resource<'_>,
    properties: &mut Map<String, Value>,
) -> Vec<Value> {
    let mut networks = Vec::new();
    if let Some(subnet) = resource.take(importer, "SubnetId") {
        networks.push(json!({"subnet": subnet}));
    }
    if let Some(fixed) = resource.take(importer, "PrivateIpAddress") {
        if networks.is_empty() {
            networks.push(json!({"network": added_network(importer)}));
        }
        networks[0]["fixed_ip"] = fixed;
    }
    let at = resource.at("NetworkInterfaces");
    match resource.raw("NetworkInterfaces") {
        None => {}
        Some(Value::Array(interfaces)) => {
            let mut interfaces: Vec<&Value> = interfaces.iter().collect();
            interfaces.sort_by_key(|one| {
                crate::import::sections::as_number(&one["DeviceIndex"]).as_u64()
            });
            for interface in interfaces {
                let is_led_to =
                    networks.is_empty() && importer.addresses.contains_key(resource.name);
                let mut entry = interface_entry(importer, properties, interface, &at);
                // An explicit address of the server replaces the automatic one.
                if is_public(interface) && !is_led_to && entry.get("port").is_none() {
                    let network = external(importer);
                    let kind = "OS::Neutron::FloatingIP";
                    let address = json!({"floating_network": network});
                    let address = output.add(importer, resource, "address", kind, address);
                    entry["floating_ip"] = json!({"get_resource": address});
                }
                networks.push(entry);
            }
        }
        Some(_) => importer.left_out(
            &at,
            "The interfaces are a computed list. Set the server's `networks` by hand",
        ),
    }
    networks
}

/// Converts an item of `NetworkInterfaces`: a port of the template, or an address in a subnet.
fn interface_entry(
    importer: &mut Importer<'_>,
    properties: &mut Map<String, Value>,
    interface: &Value,
    at: &str,
) -> Value {
    let port = match interface {
        Value::String(_) => Some(interface),
        _ if interface.get("Ref").is_some() => Some(interface),
        map => map.get("NetworkInterfaceId"),
    };
    if let Some(port) = port {
        return json!({"port": importer.value(port, at)});
    }
    let mut entry = Map::new();
    if let Some(subnet) = interface.get("SubnetId") {
        entry.insert("subnet".to_owned(), importer.value(subnet, at));
    } else {
        entry.insert("network".to_owned(), added_network(importer));
    }
    if let Some(address) = interface.get("PrivateIpAddress") {
        entry.insert("fixed_ip".to_owned(), importer.value(address, at));
    }
    if let Some(groups) = interface.get("GroupSet") {
        let groups = importer.value(groups, at);
        properties.entry("security_groups").or_insert(groups);
    }
    Value::Object(entry)
}

fn is_public(interface: &Value) -> bool {
    let public = interface.get("AssociatePublicIpAddress");
    public.is_some_and(|public| *public == json!(true) || *public == json!("true"))
}

/// Converts `BlockDeviceMappings` and `Volumes`.
fn disks(
    importer: &mut Importer<'_>,
    output: &mut Output,
    resource: &mut Resource<'_>,
    properties: &mut Map<String, Value>,
) {
    let at = resource.at("BlockDeviceMappings");
    let mut devices = Vec::new();
    let given = resource
        .raw("BlockDeviceMappings")
        .and_then(Value::as_array);
    for (number, device) in given.into_iter().flatten().enumerate() {
        let Some(disk) = device.get("Ebs") else {
            importer.left_out(
                &format!("{at}.{number}"),
                "Only volumes (`Ebs`) can be converted",
            );
            continue;
        };
        let size = disk.get("VolumeSize").map(|size| importer.value(size, &at));
        if let Some(snapshot) = disk.get("SnapshotId") {
            // The server boots from its image.
            let mut entry = json!({"snapshot_id": importer.value(snapshot, &at), "boot_index": -1});
            if let Some(size) = size {
                entry["volume_size"] = size;
            }
            for (amazon, hot) in [
                ("DeviceName", "device_name"),
                ("DeleteOnTermination", "delete_on_termination"),
            ] {
                let value = device.get(amazon).or_else(|| disk.get(amazon));
                if let Some(value) = value {
                    entry[hot] = importer.value(value, &at);
                }
            }
            devices.push(entry);
        } else if let Some(size) = size {
            let kind = "OS::Cinder::Volume";
            let volume = output.add(
                importer,
                resource,
                &format!("volume_{number}"),
                kind,
                json!({"size": size}),
            );
            attached(
                importer,
                output,
                resource,
                number,
                json!({"get_resource": volume}),
                device.get("DeviceName"),
            );
        }
    }
    if !devices.is_empty() {
        properties.insert("block_device_mapping_v2".to_owned(), Value::Array(devices));
    }
    let at = resource.at("Volumes");
    let volumes = resource.raw("Volumes").and_then(Value::as_array);
    for (number, volume) in volumes.into_iter().flatten().enumerate() {
        if let Some(id) = volume.get("VolumeId") {
            let id = importer.value(id, &at);
            attached(
                importer,
                output,
                resource,
                100 + number,
                id,
                volume.get("Device"),
            );
        }
    }
}

fn attached(
    importer: &mut Importer<'_>,
    output: &mut Output,
    resource: &Resource<'_>,
    number: usize,
    volume: Value,
    device: Option<&Value>,
) {
    let mut properties =
        json!({"instance_uuid": {"get_resource": resource.name}, "volume_id": volume});
    if let Some(device) = device {
        properties["mountpoint"] = importer.value(device, &resource.path);
    }
    let kind = "OS::Cinder::VolumeAttachment";
    output.add(
        importer,
        resource,
        &format!("attachment_{number}"),
        kind,
        properties,
    );
}

fn volume(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [
        ("Size", "size"),
        ("SnapshotId", "snapshot_id"),
        ("AvailabilityZone", "availability_zone"),
    ];
    let mut properties = resource.renamed(importer, &names);
    // The zone of the volume's server belongs to Nova, and Cinder has zones of its own.
    let of_server = resource
        .raw("AvailabilityZone")
        .and_then(|zone| zone.get("Fn::GetAtt"));
    if of_server.is_some() {
        properties.remove("availability_zone");
        let message =
            "Volumes have availability zones of their own. The volume is in the default zone";
        importer.changed(&resource.at("AvailabilityZone"), message);
    }
    if let Some(tags) = resource.tags(importer, "Tags") {
        properties.insert("metadata".to_owned(), tags);
    }
    output.put(importer, resource, "OS::Cinder::Volume", properties);
}

fn attachment(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [
        ("InstanceId", "instance_uuid"),
        ("VolumeId", "volume_id"),
        ("Device", "mountpoint"),
    ];
    let properties = resource.renamed(importer, &names);
    output.put(
        importer,
        resource,
        "OS::Cinder::VolumeAttachment",
        properties,
    );
}
