//! Nova's metadata service: what a server can ask about itself at 169.254.169.254.
//!
//! The lab listens on that address inside each server's own network namespace (see `substrate::docker::link_local`), so a call needs no
//! proof of who makes it, and no server can ask about another. Answers come from the model at the time of the call. Both families are there:
//! `/openstack/<version>/...` and the older one of EC2, `/<version>/meta-data/...`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::App;
use super::answer::json_answer;
use crate::model::Model;
use crate::model::network::ip::Cidr;
use crate::model::network::port::Port;
use crate::model::network::subnet::Subnet;
use crate::model::server::Server;

/// Versions of Nova's own family, oldest first.
const OPENSTACK: &[&str] = &[
    "2012-08-10",
    "2013-04-04",
    "2013-10-17",
    "2015-10-15",
    "2016-06-30",
    "2016-10-06",
    "2017-02-22",
    "2018-08-27",
    "2020-10-14",
    "latest",
];

/// Versions of the older family.
const EC2: &[&str] = &[
    "1.0",
    "2007-01-19",
    "2007-03-01",
    "2007-08-29",
    "2007-10-10",
    "2007-12-15",
    "2008-02-01",
    "2008-09-01",
    "2009-04-04",
    "latest",
];

/// The service for one server.
pub fn app(cloud: App, server: String) -> Router {
    Router::new()
        .route("/", get(root))
        .route("/{*path}", get(answer))
        .with_state((cloud, server))
}

type Asked = State<(App, String)>;

async fn root() -> String {
    EC2.join("\n")
}

async fn answer(State((cloud, id)): Asked, Path(path): Path<String>) -> Response {
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    let found = cloud.read(|model| {
        let server = model.servers.get(&id)?;
        match words.as_slice() {
            ["openstack"] => Some(OPENSTACK.join("\n").into_response()),
            ["openstack", version, rest @ ..] if OPENSTACK.contains(version) => {
                openstack(model, server, rest)
            }
            [version, rest @ ..] if EC2.contains(version) => ec2(model, server, rest),
            _ => None,
        }
    });
    found.unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

fn openstack(model: &Model, server: &Server, path: &[&str]) -> Option<Response> {
    Some(match path {
        [] => {
            let all = "meta_data.json\nnetwork_data.json\npassword\nuser_data\nvendor_data.json\nvendor_data2.json";
            all.into_response()
        }
        ["meta_data.json"] => json_answer(200, meta_data(server)),
        ["network_data.json"] => json_answer(200, network_data(model, server)),
        ["user_data"] => user_data(server)?,
        ["vendor_data.json"] => json_answer(200, json!({})),
        ["vendor_data2.json"] => json_answer(200, json!({"static": {}})),
        ["password"] => "".into_response(),
        _ => return None,
    })
}

fn user_data(server: &Server) -> Option<Response> {
    let text: String = server.user_data.as_ref()?.split_whitespace().collect();
    let bytes = STANDARD.decode(text).ok()?;
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Some((kind, bytes).into_response())
}

fn hostname(server: &Server) -> String {
    format!("{}.novalocal", server.host_name)
}

fn meta_data(server: &Server) -> Value {
    let mut document = json!({
        "uuid": server.id,
        "name": server.name,
        "hostname": hostname(server),
        "availability_zone": server.availability_zone,
        "launch_index": 0,
        "project_id": server.project_id,
        "meta": server.metadata,
        "devices": [],
        "dedicated_cpus": [],
        "random_seed": STANDARD.encode(rand::random::<[u8; 32]>()),
    });
    if let (Some(name), Some(key)) = (&server.key_name, &server.public_key) {
        document["public_keys"] = json!({name: key});
        document["keys"] = json!([{"name": name, "type": "ssh", "data": key}]);
    }
    document
}

fn ports<'a>(model: &'a Model, server: &'a Server) -> impl Iterator<Item = &'a Port> {
    server.ports.iter().filter_map(|id| model.ports.get(id))
}

fn network_data(model: &Model, server: &Server) -> Value {
    let (mut links, mut networks, mut services) = (Vec::new(), Vec::new(), Vec::new());
    for (at, port) in ports(model, server).enumerate() {
        let link = format!("tap{}", &port.id[..11]);
        links.push(json!({
            "id": link,
            "vif_id": port.id,
            "type": "phy",
            "mtu": model.networks.get(&port.network_id).map(|network| network.mtu),
            "ethernet_mac_address": port.mac_address,
        }));
        for ip in &port.fixed_ips {
            let Some(subnet) = model.subnets.get(&ip.subnet_id) else {
                continue;
            };
            let everywhere = match subnet.ip_version {
                6 => "::",
                _ => "0.0.0.0",
            };
            let mut routes = Vec::new();
            if let Some(gateway) = subnet.gateway_ip {
                routes.push(
                    json!({"network": everywhere, "netmask": everywhere, "gateway": gateway}),
                );
            }
            let name_servers = subnet.dns_nameservers.iter();
            let name_servers = name_servers.map(|one| json!({"type": "dns", "address": one}));
            let name_servers: Vec<Value> = name_servers.collect();
            services.extend(name_servers.clone());
            networks.push(json!({
                "id": format!("network{at}"),
                "type": kind(subnet),
                "link": link,
                "ip_address": ip.ip_address,
                "netmask": netmask(&subnet.cidr),
                "routes": routes,
                "network_id": port.network_id,
                "services": name_servers,
            }));
        }
    }
    json!({"links": links, "networks": networks, "services": services})
}

/// How a subnet's addresses come to a server, as cloud-init knows it.
fn kind(subnet: &Subnet) -> String {
    match (subnet.ip_version, &subnet.ipv6_address_mode) {
        (6, Some(mode)) => format!("ipv6_{mode}"),
        (version, _) => format!("ipv{version}"),
    }
}

fn netmask(range: &Cidr) -> IpAddr {
    let ones: IpAddr = match range.version() {
        6 => Ipv6Addr::from(u128::MAX).into(),
        _ => Ipv4Addr::BROADCAST.into(),
    };
    Cidr::new(ones, range.prefix()).network()
}

/// The older family: a tree of texts.
fn ec2(model: &Model, server: &Server, path: &[&str]) -> Option<Response> {
    match path {
        [] => {
            let all = match server.user_data {
                Some(_) => "meta-data/\nuser-data",
                None => "meta-data/",
            };
            Some(all.into_response())
        }
        ["user-data"] => user_data(server),
        ["meta-data", rest @ ..] => leaf(&tree(model, server), rest),
        _ => None,
    }
}

fn tree(model: &Model, server: &Server) -> Value {
    // Nova counts; the lab takes the count from the id, so that it stays.
    let short = &server.id[..8];
    let addresses = model.server_addresses(server);
    let first = |kind: &str| {
        // The older family knows IPv4 only.
        let mut of_v4 = addresses.iter().filter(|one| !one.address.contains(':'));
        let found = of_v4.find(|one| one.kind == kind);
        found.map_or("", |one| one.address.as_str())
    };
    let mut groups: Vec<&str> = ports(model, server)
        .flat_map(|port| &port.security_groups)
        .filter_map(|id| model.security_groups.get(id))
        .map(|group| group.name.as_str())
        .collect();
    groups.sort_unstable();
    groups.dedup();
    let flavor = model.flavors.get(&server.flavor_id);
    let mut tree = json!({
        "ami-id": format!("ami-{}", server.image_id.get(..8).unwrap_or("00000000")),
        "ami-launch-index": "0",
        "ami-manifest-path": "",
        "block-device-mapping": {"ami": "vda", "root": "/dev/vda"},
        "hostname": hostname(server),
        "instance-action": "none",
        "instance-id": format!("i-{short}"),
        "instance-type": flavor.map_or("", |flavor| flavor.name.as_str()),
        "local-hostname": hostname(server),
        "local-ipv4": first("fixed"),
        "placement": {"availability-zone": server.availability_zone},
        "public-hostname": hostname(server),
        "public-ipv4": first("floating"),
        "reservation-id": format!("r-{short}"),
        "security-groups": groups.join("\n"),
    });
    if let Some(key) = &server.public_key {
        let name = server.key_name.as_deref().unwrap_or("key");
        tree["public-keys"] = json!({"0": {"_name": format!("0={name}"), "openssh-key": key}});
    }
    tree
}

/// A leaf's text, or the names in a branch; branches end in a slash.
fn leaf(tree: &Value, path: &[&str]) -> Option<Response> {
    let mut at = tree;
    for word in path {
        at = at.get(word)?;
    }
    let Value::Object(branch) = at else {
        return Some(at.as_str()?.to_owned().into_response());
    };
    let names = branch.iter().filter(|(name, _)| *name != "_name");
    let names = names.map(|(name, below)| match below.get("_name") {
        Some(shown) => shown.as_str().unwrap_or_default().to_owned(),
        None if below.is_object() => format!("{name}/"),
        None => name.clone(),
    });
    Some(names.collect::<Vec<_>>().join("\n").into_response())
}
