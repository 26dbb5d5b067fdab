//! Neutron v2.0: versions, resource types, extensions, zones.

use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, json_answer, reply};
use crate::kit::refusal::Refusal;
use crate::services::network::COLLECTIONS;
use crate::services::{Call, Routes};

/// The extensions that the lab implements.
const EXTENSIONS: &[(&str, &str)] = &[
    ("address-scope", "Address scope"),
    ("allowed-address-pairs", "Allowed Address Pairs"),
    ("availability_zone", "Availability Zone"),
    ("binding", "Port Binding"),
    (
        "ext-gw-mode",
        "Neutron L3 Configurable external gateway mode",
    ),
    ("external-net", "Neutron external network"),
    (
        "expose-port-forwarding-in-fip",
        "Expose Port Forwarding in FIP",
    ),
    ("extra_dhcp_opt", "Neutron Extra DHCP options"),
    ("extraroute", "Neutron Extra Route"),
    ("extraroute-atomic", "Atomically add/remove extra routes"),
    ("filter-validation", "Filter parameters validation"),
    ("fip-port-details", "Add port_details to Floating IP"),
    ("floating-ip-port-forwarding", "Floating IP Port Forwarding"),
    (
        "floating-ip-port-forwarding-description",
        "Floating IP Port Forwarding description",
    ),
    ("metering", "Neutron Metering"),
    ("net-mtu", "Network MTU"),
    ("net-mtu-writable", "Network MTU (writable)"),
    ("network_availability_zone", "Network Availability Zone"),
    ("pagination", "Pagination support"),
    ("port-security", "Port Security"),
    ("project-id", "project_id field enabled"),
    ("provider", "Provider Network"),
    ("quota_details", "Quota details management support"),
    ("qos", "Quality of Service"),
    ("quotas", "Quota management support"),
    ("rbac-policies", "RBAC Policies"),
    ("router", "Neutron L3 Router"),
    ("router_availability_zone", "Router Availability Zone"),
    ("security-group", "security-group"),
    ("segment", "Segment"),
    (
        "security-groups-normalized-cidr",
        "Normalized CIDR field for security group rules",
    ),
    ("sorting", "Sorting support"),
    ("standard-attr-description", "standard-attr-description"),
    ("standard-attr-revisions", "Resource revision numbers"),
    (
        "standard-attr-tag",
        "Tag support for resources with standard attribute: port, subnet, network, router, ...",
    ),
    ("standard-attr-timestamp", "Resource timestamps"),
    ("subnet_allocation", "Subnet Allocation"),
    ("trunk", "Trunk Extension"),
    ("trunk-details", "Trunk port details"),
];

pub fn routes() -> Routes {
    Routes::below("/network")
        .get("", versions)
        .get("/", versions)
        .and(v2())
}

fn v2() -> Routes {
    Routes::below("/network/v2.0")
        .get("", resources)
        .get("/", resources)
        .get("/extensions", extensions)
        .get("/extensions/{alias}", extension)
        .get("/availability_zones", zones)
        .get("/agents", |call| none(call, "agents"))
        .get("/address-groups", |call| none(call, "address_groups"))
}

async fn versions(call: Call) -> Response {
    let link = json!({"rel": "self", "href": format!("{}/network/v2.0/", call.base)});
    json_answer(
        200,
        json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]}),
    )
}

async fn resources(call: Call) -> Answer {
    call.token()?;
    let base = &call.base;
    let all = COLLECTIONS.iter().map(|kind| {
        let link =
            json!({"rel": "self", "href": format!("{base}/network/v2.0/{}", kind.collection)});
        json!({"name": kind.singular, "collection": kind.collection, "links": [link]})
    });
    reply(200, json!({"resources": all.collect::<Value>()}))
}

fn extension_document(alias: &str, name: &str) -> Value {
    json!({"alias": alias, "name": name, "description": name, "updated": "2016-01-01T00:00:00-00:00", "links": []})
}

async fn extensions(call: Call) -> Answer {
    call.token()?;
    let all: Value = EXTENSIONS
        .iter()
        .map(|(alias, name)| extension_document(alias, name))
        .collect();
    reply(200, json!({ "extensions": all }))
}

async fn extension(call: Call) -> Answer {
    let alias = call.part("alias");
    call.token()?;
    let alias = alias.trim_end_matches(".json");
    let found = EXTENSIONS.iter().find(|(name, _)| *name == alias);
    let (alias, name) = found
        .ok_or_else(|| Refusal::not_found("HTTPNotFound", "The resource could not be found."))?;
    reply(200, json!({"extension": extension_document(alias, name)}))
}

async fn zones(call: Call) -> Answer {
    call.member()?;
    let zone = |resource: &str| json!({"name": "nova", "resource": resource, "state": "available"});
    reply(
        200,
        json!({"availability_zones": [zone("network"), zone("router")]}),
    )
}

/// A list of resources that the lab does not have.
async fn none(call: Call, name: &'static str) -> Answer {
    call.member()?;
    reply(200, json!({ name: [] }))
}
