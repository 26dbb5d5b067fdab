//! Documents of servers and flavors, by microversion.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kit::microversion::Microversion;
use crate::services::Model;
use crate::services::compute::flavor::Flavor;
use crate::services::compute::server::{Server, Status};

/// The one host of the lab's compute service.
pub const HOST: &str = "lab";

/// The host as its servers' owners see it.
pub const HOST_ID: &str = "1ab00000000000000000000000000000000000000000000000001ab0";

fn links(base: &str, kind: &str, id: &str) -> Value {
    json!([
        {"rel": "self", "href": format!("{base}/compute/v2.1/{kind}/{id}")},
        {"rel": "bookmark", "href": format!("{base}/compute/{kind}/{id}")},
    ])
}

/// A flavor in `GET /flavors`.
pub fn flavor_summary(row: &Flavor, version: Microversion, base: &str) -> Value {
    let mut document =
        json!({"id": row.id, "name": row.name, "links": links(base, "flavors", &row.id)});
    if version >= Microversion(2, 55) {
        document["description"] = json!(row.description);
    }
    document
}

/// A flavor in full.
pub fn flavor_document(row: &Flavor, version: Microversion, base: &str) -> Value {
    let mut document = json!({
        "id": row.id,
        "name": row.name,
        "vcpus": row.vcpus,
        "ram": row.ram,
        "disk": row.disk,
        "swap": match row.swap_mib {
            0 if version < Microversion(2, 75) => json!(""),
            swap => json!(swap),
        },
        "OS-FLV-EXT-DATA:ephemeral": row.ephemeral_gib,
        "OS-FLV-DISABLED:disabled": false,
        "os-flavor-access:is_public": row.is_public,
        "rxtx_factor": 1.0,
        "links": links(base, "flavors", &row.id),
    });
    if version >= Microversion(2, 55) {
        document["description"] = json!(row.description);
    }
    if version >= Microversion(2, 61) {
        document["extra_specs"] = json!(row.extra_specs);
    }
    document
}

/// A server in `GET /servers`.
pub fn server_summary(row: &Server, base: &str) -> Value {
    json!({"id": row.id, "name": row.name, "links": links(base, "servers", &row.id)})
}

/// A server's `addresses`: by network name.
pub fn addresses(model: &Model, row: &Server) -> Value {
    let mut by_network: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for address in model.server_addresses(row) {
        by_network.entry(address.network).or_default().push(json!({
            "version": if address.address.contains(':') { 6 } else { 4 },
            "addr": address.address,
            "OS-EXT-IPS:type": address.kind,
            "OS-EXT-IPS-MAC:mac_addr": address.mac,
        }));
    }
    json!(by_network)
}

/// A server in full.
pub fn server_document(model: &Model, row: &Server, version: Microversion, base: &str) -> Value {
    let since = |minor: u16| version >= Microversion(2, minor);
    let groups: Vec<Value> = {
        let ports = row.ports.iter().filter_map(|id| model.ports.get(id));
        let ids = ports.flat_map(|port| &port.security_groups);
        ids.filter_map(|id| model.security_groups.get(id))
            .map(|group| json!({"name": group.name}))
            .collect()
    };
    let volumes: Vec<Value> = model
        .volumes_of_server(&row.id)
        .into_iter()
        .map(|(volume, one)| {
            if since(3) {
                json!({"id": volume.id, "delete_on_termination": one.delete_on_termination})
            } else {
                json!({"id": volume.id})
            }
        })
        .collect();
    let mut document = json!({
        "id": row.id,
        "name": row.name,
        "status": row.shown_status(),
        "tenant_id": row.project_id,
        "user_id": row.user_id,
        "metadata": row.metadata,
        "hostId": match row.status { Status::Build => "", _ => HOST_ID },
        "image": server_image(row, base),
        "flavor": server_flavor(model, row, version, base),
        "created": row.created,
        "updated": row.updated,
        "addresses": addresses(model, row),
        "accessIPv4": "",
        "accessIPv6": "",
        "links": links(base, "servers", &row.id),
        "OS-DCF:diskConfig": "MANUAL",
        "OS-EXT-AZ:availability_zone": row.availability_zone,
        "config_drive": "True",
        "key_name": row.key_name,
        "OS-SRV-USG:launched_at": row.launched_at.as_ref().map(|at| format!("{}.000000", at.trim_end_matches('Z'))),
        "OS-SRV-USG:terminated_at": null,
        "OS-EXT-STS:task_state": row.task_state,
        "OS-EXT-STS:vm_state": row.status.vm_state(),
        "OS-EXT-STS:power_state": row.status.power_state(),
        "os-extended-volumes:volumes_attached": volumes,
    });
    if matches!(row.status, Status::Active | Status::Build) {
        document["progress"] = if row.status == Status::Active { 100 } else { 0 }.into();
    }
    if !groups.is_empty() {
        document["security_groups"] = groups.into();
    }
    if let Some(fault) = &row.fault {
        document["fault"] =
            json!({"code": fault.code, "message": fault.message, "created": fault.created});
    }
    if since(9) {
        document["locked"] = row.locked.into();
    }
    if since(19) {
        document["description"] = json!(row.description);
    }
    if since(26) {
        document["tags"] = json!(row.tags);
    }
    if since(63) {
        document["trusted_image_certificates"] = Value::Null;
    }
    if since(71) {
        document["server_groups"] = row.group.iter().cloned().map(Value::from).collect();
    }
    if since(73) {
        document["locked_reason"] = json!(row.locked_reason);
    }
    if since(90) {
        document["OS-EXT-SRV-ATTR:hostname"] = row.host_name.clone().into();
    }
    document
}

/// A server that boots from a volume has an empty text for an image.
fn server_image(row: &Server, base: &str) -> Value {
    if row.image_id.is_empty() {
        return json!("");
    }
    let href = format!("{base}/compute/images/{}", row.image_id);
    json!({"id": row.image_id, "links": [{"rel": "bookmark", "href": href}]})
}

fn server_flavor(model: &Model, row: &Server, version: Microversion, base: &str) -> Value {
    let link =
        json!([{"rel": "bookmark", "href": format!("{base}/compute/flavors/{}", row.flavor_id)}]);
    match model.flavors.get(&row.flavor_id) {
        Some(flavor) if version >= Microversion(2, 47) => json!({
            "original_name": flavor.name,
            "vcpus": flavor.vcpus,
            "ram": flavor.ram,
            "disk": flavor.disk,
            "ephemeral": 0,
            "swap": 0,
            "extra_specs": flavor.extra_specs,
        }),
        _ => json!({"id": row.flavor_id, "links": link}),
    }
}
