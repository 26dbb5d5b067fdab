//! Properties whose form in Terraform differs from HOT.

use serde_json::{Map, Value, json};

use super::types::{GROUP, NETWORK, PORT, SUBNET};
use super::{Exporter, Target, is_id};
use crate::export::expand::call;

type Written = Result<(), String>;

/// Writes one property of the resource `name` into `body`, or as a resource beside it.
pub(super) fn argument(
    exporter: &mut Exporter<'_>,
    value: &Value,
    property: &str,
    name: &str,
    body: &mut Map<String, Value>,
) -> Written {
    match property {
        "image" => name_or_id(exporter, value, "image", body),
        "flavor" => name_or_id(exporter, value, "flavor", body),
        "networks" => networks(exporter, value, body),
        "security_groups" => group_names(exporter, value, body),
        "block_device_mapping_v2" => block_devices(exporter, value, name, body),
        "gateway_ip" => gateway(exporter, value, body),
        "host_routes" => host_routes(exporter, value, name),
        "external_gateway_info" => external_gateway(exporter, value, body),
        "binding:vnic_type" => {
            let kind = exporter.writer.value(value)?;
            if kind != "normal" {
                body.insert("binding".to_owned(), json!([{"vnic_type": kind}]));
            }
            Ok(())
        }
        "floating_network" => {
            let pool = exporter.found(value, &NETWORK, "name");
            // The provider expects a plain name.
            let pool = match value.as_str().filter(|text| !is_id(text)) {
                Some(text) => json!(super::template(text)),
                None => pool?,
            };
            body.insert("pool".to_owned(), pool);
            Ok(())
        }
        "floatingip_id" => {
            let address = match value.get("get_resource").and_then(Value::as_str) {
                Some(drawn) => exporter
                    .writer
                    .value(&json!({"get_attr": [drawn, "floating_ip_address"]}))?,
                None => return Err("a floating IP by its id (only by its address)".to_owned()),
            };
            body.insert("floating_ip".to_owned(), address);
            Ok(())
        }
        "rules" => rules(exporter, value, name),
        "character_classes" | "character_sequences" => {
            exporter.report.changed(
                format!("resources.{name}.properties.{property}"),
                "The value is made of all characters. Set `override_special`, `min_upper` and similar arguments if you need others",
            );
            Ok(())
        }
        other => Err(format!("`{other}`")),
    }
}

/// `image_name` or `image_id`. For a variable, decided by its value.
fn name_or_id(
    exporter: &mut Exporter<'_>,
    value: &Value,
    what: &str,
    body: &mut Map<String, Value>,
) -> Written {
    let (by_id, by_name) = (format!("{what}_id"), format!("{what}_name"));
    match (value.as_str(), call(value)) {
        (Some(text), _) if is_id(text) => {
            body.insert(by_id, json!(text));
        }
        (_, Some(("get_resource", _))) => {
            body.insert(by_id, exporter.writer.value(value)?);
        }
        (_, Some(("get_param", _))) => {
            let native = exporter.writer.native(value)?;
            let is_id = format!("can(regex(\"^[0-9a-f-]{{32,36}}$\", {native}))");
            body.insert(by_id, json!(format!("${{{is_id} ? {native} : null}}")));
            body.insert(by_name, json!(format!("${{{is_id} ? null : {native}}}")));
        }
        _ => {
            body.insert(by_name, exporter.writer.value(value)?);
        }
    }
    Ok(())
}

fn networks(exporter: &mut Exporter<'_>, value: &Value, body: &mut Map<String, Value>) -> Written {
    let Some(entries) = value.as_array() else {
        return Err("`networks` as a computed value".to_owned());
    };
    let mut blocks = Vec::new();
    for entry in entries {
        let Some(entry) = entry.as_object() else {
            return Err("`networks` as a computed value".to_owned());
        };
        let mut block = Map::new();
        for (key, value) in entry.iter().filter(|(_, value)| !value.is_null()) {
            match key.as_str() {
                "port" => {
                    block.insert("port".to_owned(), exporter.id(value, &PORT)?);
                }
                "network" | "uuid" => {
                    block.insert("uuid".to_owned(), exporter.id(value, &NETWORK)?);
                }
                "fixed_ip" => {
                    block.insert("fixed_ip_v4".to_owned(), exporter.writer.value(value)?);
                }
                other => return Err(format!("`{other}` of `networks`")),
            }
        }
        blocks.push(Value::Object(block));
    }
    body.insert("network".to_owned(), Value::Array(blocks));
    Ok(())
}

/// The provider expects names of a server's security groups where Heat has ids.
fn group_names(
    exporter: &mut Exporter<'_>,
    value: &Value,
    body: &mut Map<String, Value>,
) -> Written {
    let Some(groups) = value.as_array() else {
        return Err("`security_groups` as a computed value".to_owned());
    };
    let mut names = Vec::new();
    for group in groups {
        let plain = group.as_str().is_some_and(|text| !is_id(text));
        names.push(if plain {
            exporter.writer.value(group)?
        } else {
            exporter.found(group, &GROUP, "name")?
        });
    }
    body.insert("security_groups".to_owned(), Value::Array(names));
    Ok(())
}

/// The boot device is part of the server, other volumes are attached.
fn block_devices(
    exporter: &mut Exporter<'_>,
    value: &Value,
    name: &str,
    body: &mut Map<String, Value>,
) -> Written {
    let Some(devices) = value.as_array() else {
        return Err("`block_device_mapping_v2` as a computed value".to_owned());
    };
    let mut blocks = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        let Some(device) = device.as_object() else {
            return Err("`block_device_mapping_v2` as a computed value".to_owned());
        };
        let is_boot = device
            .get("boot_index")
            .is_some_and(|index| *index == 0 || *index == "0");
        if let Some(volume) = device.get("volume_id").filter(|_| !is_boot) {
            let volume = exporter.writer.value(volume)?;
            let server = exporter.writer.resource_of(name)?;
            let mut attachment = json!({"instance_id": server, "volume_id": volume});
            if let Some(device_name) = device.get("device_name").and_then(Value::as_str) {
                attachment["device"] =
                    json!(format!("/dev/{}", device_name.trim_start_matches("/dev/")));
            }
            let identifier = format!("{name}_volume_{number}");
            exporter.insert_additional(
                "openstack_compute_volume_attach_v2",
                &identifier,
                attachment,
            );
            continue;
        }
        let mut block = Map::new();
        let sources = [
            ("volume_id", "volume"),
            ("image", "image"),
            ("image_id", "image"),
            ("snapshot_id", "snapshot"),
        ];
        let source = sources.iter().find(|(key, _)| device.contains_key(*key));
        block.insert(
            "source_type".to_owned(),
            json!(source.map_or("blank", |(_, kind)| kind)),
        );
        let local = device.contains_key("swap_size") || device.contains_key("ephemeral_size");
        block.insert(
            "destination_type".to_owned(),
            json!(if local { "local" } else { "volume" }),
        );
        for (key, value) in device {
            let argument = match key.as_str() {
                "volume_id" | "image" | "image_id" | "snapshot_id" => "uuid",
                "volume_size" | "ephemeral_size" | "swap_size" => "volume_size",
                "ephemeral_format" => "guest_format",
                "boot_index"
                | "delete_on_termination"
                | "volume_type"
                | "device_type"
                | "disk_bus" => key,
                "device_name" | "tag" => continue,
                other => return Err(format!("`{other}` of `block_device_mapping_v2`")),
            };
            block.insert(argument.to_owned(), exporter.writer.value(value)?);
        }
        blocks.push(Value::Object(block));
    }
    if !blocks.is_empty() {
        body.insert("block_device".to_owned(), Value::Array(blocks));
    }
    Ok(())
}

/// An empty map means no gateway.
fn gateway(exporter: &mut Exporter<'_>, value: &Value, body: &mut Map<String, Value>) -> Written {
    if value == "" || value == "~" {
        body.insert("no_gateway".to_owned(), json!(true));
    } else {
        body.insert("gateway_ip".to_owned(), exporter.writer.value(value)?);
    }
    Ok(())
}

fn host_routes(exporter: &mut Exporter<'_>, value: &Value, name: &str) -> Written {
    let Some(routes) = value.as_array() else {
        return Err("`host_routes` as a computed value".to_owned());
    };
    let subnet = exporter.writer.resource_of(name)?;
    for (number, route) in routes.iter().enumerate() {
        let mut given = |key: &str| {
            route
                .get(key)
                .map_or(Ok(Value::Null), |value| exporter.writer.value(value))
        };
        let (destination, next_hop) = (given("destination")?, given("nexthop")?);
        let body =
            json!({"subnet_id": subnet, "destination_cidr": destination, "next_hop": next_hop});
        exporter.insert_additional(
            "openstack_networking_subnet_route_v2",
            &format!("{name}_{number}"),
            body,
        );
    }
    Ok(())
}

fn external_gateway(
    exporter: &mut Exporter<'_>,
    value: &Value,
    body: &mut Map<String, Value>,
) -> Written {
    let Some(info) = value.as_object().filter(|_| call(value).is_none()) else {
        return Err("`external_gateway_info` as a computed value".to_owned());
    };
    if let Some(network) = info.get("network") {
        body.insert(
            "external_network_id".to_owned(),
            exporter.id(network, &NETWORK)?,
        );
    }
    if let Some(snat) = info.get("enable_snat") {
        body.insert("enable_snat".to_owned(), exporter.writer.value(snat)?);
    }
    if let Some(addresses) = info.get("external_fixed_ips").and_then(Value::as_array) {
        let mut blocks = Vec::new();
        for address in addresses {
            let mut block = Map::new();
            if let Some(subnet) = address.get("subnet") {
                block.insert("subnet_id".to_owned(), exporter.id(subnet, &SUBNET)?);
            }
            if let Some(ip) = address.get("ip_address") {
                block.insert("ip_address".to_owned(), exporter.writer.value(ip)?);
            }
            blocks.push(Value::Object(block));
        }
        body.insert("external_fixed_ip".to_owned(), Value::Array(blocks));
    }
    Ok(())
}

/// Security group rules are separate resources in Terraform.
fn rules(exporter: &mut Exporter<'_>, value: &Value, name: &str) -> Written {
    let Some(rules) = value.as_array() else {
        return Err("`rules` as a computed value".to_owned());
    };
    let group = exporter.writer.resource_of(name)?;
    for (number, rule) in rules.iter().enumerate() {
        let Some(rule) = rule.as_object() else {
            return Err("`rules` as a computed value".to_owned());
        };
        let mut body = Map::new();
        body.insert("security_group_id".to_owned(), group.clone());
        body.insert("direction".to_owned(), json!("ingress"));
        body.insert("ethertype".to_owned(), json!("IPv4"));
        for (key, value) in rule.iter().filter(|(_, value)| !value.is_null()) {
            match key.as_str() {
                "remote_group_id" => {
                    let remote = exporter.id(value, &GROUP)?;
                    body.insert(key.clone(), remote);
                }
                // The group itself, unless another one is given.
                "remote_mode"
                    if value == "remote_group_id" && !rule.contains_key("remote_group_id") =>
                {
                    body.insert("remote_group_id".to_owned(), group.clone());
                }
                "remote_mode" => {}
                _ => {
                    let value = exporter.writer.value(value)?;
                    body.insert(key.clone(), value);
                }
            }
        }
        let identifier = format!("{name}_{number}");
        exporter.insert_additional(
            "openstack_networking_secgroup_rule_v2",
            &identifier,
            Value::Object(body),
        );
    }
    Ok(())
}

/// Several configurations as one multipart document for cloud-init.
pub(super) fn multipart(exporter: &mut Exporter<'_>, parts: &Value, address: &str) -> Written {
    let Some(parts) = parts.as_array() else {
        return Err("`parts` as a computed value".to_owned());
    };
    let mut blocks = Vec::new();
    for part in parts {
        let content = part
            .get("config")
            .map_or(Ok(Value::Null), |config| exporter.writer.value(config))?;
        let mut block = json!({"content": content});
        let kind = part.get("type").and_then(Value::as_str);
        let subtype = part.get("subtype").and_then(Value::as_str);
        if kind == Some("multipart") {
            return Err("a multipart part inside another one".to_owned());
        }
        if let Some(subtype) = subtype.filter(|one| !one.is_empty()) {
            block["content_type"] = json!(format!("text/{subtype}"));
        }
        if let Some(name) = part
            .get("filename")
            .filter(|name| name.as_str() != Some(""))
        {
            block["filename"] = exporter.writer.value(name)?;
        }
        blocks.push(block);
    }
    exporter.providers.insert("cloudinit");
    let name = address
        .trim_start_matches("data.cloudinit_config.")
        .trim_end_matches(".rendered")
        .to_owned();
    exporter.datum(
        "cloudinit_config",
        &name,
        json!({"gzip": false, "base64_encode": false, "part": blocks}),
    );
    Ok(())
}

impl super::Writer {
    /// The id of the resource that is being written, for resources that belong to it.
    fn resource_of(&mut self, name: &str) -> Result<Value, String> {
        match self.targets.get(name) {
            Some(Target::Resource {
                address,
                many: super::Many::No,
                ..
            }) => Ok(json!(format!("${{{address}.id}}"))),
            _ => Err("a part of a resource with a condition or a count".to_owned()),
        }
    }
}
