//! Nova's metadata service: data about a server for the server itself, at 169.254.169.254.
//!
//! The lab listens on that address inside each server's own network namespace (see `substrate::docker::link_local`). So
//! calls need no authentication, and a server cannot read the data of another one. Responses come from the model at the
//! time of the call. The EC2 format is left out: nothing here uses it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::kit::answer::json_answer;
use crate::kit::ip::Cidr;
use crate::services::compute::server::Server;
use crate::services::network::port::Port;
use crate::services::network::subnet::Subnet;
use crate::services::{App, Model};

/// The versions, oldest first.
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

/// The service for one server.
pub fn app(cloud: App, server: String) -> Router {
    Router::new()
        .route("/{*path}", get(answer))
        .with_state((cloud, server))
}

type Caller = State<(App, String)>;

async fn answer(State((cloud, id)): Caller, Path(path): Path<String>) -> Response {
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    let found = cloud.read(|model| {
        let server = model.servers.get(&id)?;
        match words.as_slice() {
            ["openstack"] => Some(OPENSTACK.join("\n").into_response()),
            ["openstack", version, rest @ ..] if OPENSTACK.contains(version) => {
                openstack(model, server, rest)
            }
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

/// The address configuration of a subnet, in cloud-init's words.
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
