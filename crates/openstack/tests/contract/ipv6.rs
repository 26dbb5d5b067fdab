//! IPv6 subnets: address assignment, router interfaces, refusals.

use serde_json::{Value, json};

use crate::network::NET;
use crate::world::{Response, World, case};

/// First 48 bits of a unique local range that is not routed, so that cases do not collide.
const RANGE: &str = "fd12:3456:789a";

async fn network(w: &World) -> String {
    let network = json!({"network": {"name": w.name}});
    text(&w.make(NET, "networks", network).await, "/id")
}

async fn subnet(w: &World, network: &str, number: u32, more: Value) -> Response {
    let mut fields = json!({"network_id": network, "name": w.name, "ip_version": 6, "cidr": format!("{RANGE}:{number}::/64")});
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    w.post(NET, "subnets", json!({ "subnet": fields })).await
}

async fn subnet_id(w: &World, network: &str, number: u32, more: Value) -> String {
    let response = subnet(w, network, number, more).await;
    assert_eq!(response.status, 201, "{}", response.body);
    response.text("/subnet/id")
}

async fn port(w: &World, fields: Value) -> Value {
    w.make(NET, "ports", json!({ "port": fields })).await
}

fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The addresses of a port, in the order of the subnets.
fn addresses(port: &Value, subnets: &[&str]) -> Vec<String> {
    let all = port["fixed_ips"].as_array().cloned().unwrap_or_default();
    let of = |subnet: &&str| {
        let mine = all.iter().filter(|ip| ip["subnet_id"] == *subnet);
        mine.map(|ip| text(ip, "/ip_address")).collect::<Vec<_>>()
    };
    subnets.iter().flat_map(of).collect()
}

/// The SLAAC address (EUI-64) of a MAC address in a range.
fn of_mac(number: u32, mac: &str) -> String {
    let bytes: Vec<u8> = mac
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    let pair = |one: u8, other: u8| u16::from_be_bytes([one, other]);
    let address: std::net::Ipv6Addr = format!("{RANGE}:{number}::").parse().unwrap();
    let mut parts = address.segments();
    parts[4] = pair(bytes[0] ^ 2, bytes[1]);
    parts[5] = pair(bytes[2], 0xff);
    parts[6] = pair(0xfe, bytes[3]);
    parts[7] = pair(bytes[4], bytes[5]);
    std::net::Ipv6Addr::from(parts).to_string()
}

#[tokio::test]
async fn subnets() {
    case("subnets6", &[], async |w| {
        let net = network(w).await;
        let response = subnet(w, &net, 1, json!({})).await;
        w.status("a subnet", &response, 201);
        w.is("its gateway", response.at("/subnet/gateway_ip"), format!("{RANGE}:1::"));
        let pool = json!([{"start": format!("{RANGE}:1::1"), "end": format!("{RANGE}:1:ffff:ffff:ffff:ffff")}]);
        w.is("its pool has the last address, too", response.at("/subnet/allocation_pools"), pool);
        w.is("no mode", response.at("/subnet/ipv6_address_mode"), Value::Null);
        let both = json!({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"});
        let response = subnet(w, &net, 2, both).await;
        w.status("SLAAC", &response, 201);
        w.is("its mode", response.at("/subnet/ipv6_ra_mode"), "slaac");
        let id = response.text("/subnet/id");
        let off = json!({"subnet": {"enable_dhcp": false}});
        let response = w.put(NET, &format!("subnets/{id}"), off).await;
        w.refused("modes need DHCP for good", &response, 400, "InvalidInput");
        let response = w.put(NET, &format!("subnets/{id}"), json!({"subnet": {"gateway_ip": "10.0.0.1"}})).await;
        w.refused("a gateway of the other family", &response, 400, "InvalidInput");
    })
    .await;
}

#[tokio::test]
async fn ipv6_requests_that_are_refused() {
    case("refused6", &[], async |w| {
        let net = network(w).await;
        for (what, more) in [
            ("two modes", json!({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "dhcpv6-stateful"})),
            ("a mode without DHCP", json!({"ipv6_ra_mode": "slaac", "enable_dhcp": false})),
            ("SLAAC in a short range", json!({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac", "cidr": format!("{RANGE}::/63")})),
            ("a range of the other family", json!({"cidr": "10.67.0.0/24"})),
            ("a gateway of the other family", json!({"gateway_ip": "10.67.0.1"})),
            ("a name server of the other family", json!({"dns_nameservers": ["9.9.9.9"]})),
            ("a route of the other family", json!({"host_routes": [{"destination": "10.9.0.0/24", "nexthop": "10.67.0.9"}]})),
            ("a range too small for DHCP", json!({"cidr": format!("{RANGE}:9::/127")})),
            ("modes in IPv4", json!({"ip_version": 4, "cidr": "10.67.0.0/24", "ipv6_ra_mode": "slaac"})),
        ] {
            let response = subnet(w, &net, 1, more).await;
            w.refused(what, &response, 400, "InvalidInput");
        }
        let response = subnet(w, &net, 1, json!({"ipv6_ra_mode": "always"})).await;
        w.refused("a mode that is none", &response, 400, "HTTPBadRequest");
        let of_both = json!({"subnet": {"network_id": net, "ip_version": 4, "cidr": format!("{RANGE}:9::/64")}});
        let response = w.post(NET, "subnets", of_both).await;
        w.refused("IPv6 in IPv4", &response, 400, "InvalidInput");
    })
    .await;
}

#[tokio::test]
async fn ports() {
    case("ports6", &[], async |w| {
        let net = network(w).await;
        let v4 = json!({"subnet": {"network_id": net, "ip_version": 4, "cidr": "10.68.0.0/24"}});
        let v4 = text(&w.make(NET, "subnets", v4).await, "/id");
        let before = port(w, json!({"network_id": net, "name": w.name})).await;
        let handed = subnet_id(w, &net, 1, json!({})).await;
        let both = json!({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"});
        let own = subnet_id(w, &net, 2, both).await;
        let subnets = [v4.as_str(), &handed, &own];

        // A port has an address of each IP version, and one in each SLAAC subnet.
        let made = port(w, json!({"network_id": net, "name": w.name})).await;
        let all = addresses(&made, &subnets);
        w.is("three addresses", all.len(), 3);
        w.is("the second is handed out", all[1].starts_with(&format!("{RANGE}:1:")), true);
        w.is("the third is its own", all[2].as_str(), of_mac(2, &text(&made, "/mac_address")));
        let path = format!("ports/{}", text(&before, "/id"));
        let response = w.get(NET, &path).await;
        let own_of_before = of_mac(2, &text(&before, "/mac_address"));
        w.is("so has one that was there before", addresses(&response.at("/port"), &[&own]), json!([own_of_before]));

        // SLAAC addresses can be neither chosen nor removed.
        let chosen = json!({"port": {"network_id": net, "fixed_ips": [{"subnet_id": own, "ip_address": format!("{RANGE}:2::9")}]}});
        let response = w.post(NET, "ports", chosen).await;
        w.refused("a chosen one", &response, 400, "AllocationOnAutoAddressSubnet");
        let named = json!({"network_id": net, "fixed_ips": [{"subnet_id": handed, "ip_address": format!("{RANGE}:1::99")}]});
        let named = port(w, named).await;
        w.is("asked for in another", addresses(&named, &subnets).len(), 2);
        w.is("the one that was asked for", addresses(&named, &[&handed]), json!([format!("{RANGE}:1::99")]));
        let only = json!({"port": {"fixed_ips": [{"subnet_id": v4}]}});
        let response = w.put(NET, &format!("ports/{}", text(&named, "/id")), only).await;
        w.status("another address", &response, 200);
        let changed = addresses(&response.at("/port"), &subnets);
        w.is("its own stays", changed.last().cloned(), Some(of_mac(2, &text(&named, "/mac_address"))));

        // A subnet can be deleted with its SLAAC addresses, but not with allocated addresses.
        let response = w.delete(NET, &format!("subnets/{handed}")).await;
        w.refused("addresses are in use", &response, 409, "SubnetInUse");
        let response = w.delete(NET, &format!("subnets/{own}")).await;
        w.status("their own are no reason to stay", &response, 204);
        let response = w.get(NET, &path).await;
        w.is("they are gone with it", addresses(&response.at("/port"), &[&own]).len(), 0);
    })
    .await;
}

#[tokio::test]
async fn routers() {
    case("routers6", &[], async |w| {
        let net = network(w).await;
        let both = json!({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"});
        let first = subnet_id(w, &net, 1, both.clone()).await;
        let second = subnet_id(w, &net, 2, both).await;
        let outer = subnet_id(w, &net, 3, json!({"ipv6_address_mode": "slaac"})).await;
        let router = w
            .make(NET, "routers", json!({"router": {"name": w.name}}))
            .await;
        let router = format!("routers/{}", text(&router, "/id"));
        let leg = async |verb: &str, subnet: &str| {
            let body = json!({ "subnet_id": subnet });
            w.put(NET, &format!("{router}/{verb}_router_interface"), body)
                .await
        };
        let one = leg("add", &first).await;
        w.status("a leg", &one, 200);
        let two = leg("add", &second).await;
        w.status("another range", &two, 200);
        w.is("on the same leg", two.at("/port_id"), one.at("/port_id"));
        w.is(
            "only the new one is told",
            two.at("/subnet_ids"),
            json!([second]),
        );
        let shown = w.get(NET, &format!("ports/{}", one.text("/port_id"))).await;
        let gateways = json!([format!("{RANGE}:1::"), format!("{RANGE}:2::")]);
        w.is(
            "two gateways",
            addresses(&shown.at("/port"), &[&first, &second]),
            gateways,
        );
        let response = leg("add", &second).await;
        w.refused("the same again", &response, 400, "BadRequest");
        let response = leg("add", &outer).await;
        w.refused("another router tells of it", &response, 400, "BadRequest");
        let response = w.delete(NET, &format!("subnets/{first}")).await;
        w.refused("a router is there", &response, 409, "SubnetInUse");
        let response = leg("remove", &first).await;
        w.status("one range goes", &response, 200);
        let shown = w.get(NET, &format!("ports/{}", one.text("/port_id"))).await;
        w.is(
            "the leg stays",
            addresses(&shown.at("/port"), &[&first, &second]).len(),
            1,
        );
        let response = leg("remove", &second).await;
        w.status("the other, too", &response, 200);
        let response = w.get(NET, &format!("ports/{}", one.text("/port_id"))).await;
        w.status("and so does the leg", &response, 404);
    })
    .await;
}

#[tokio::test]
async fn rules() {
    case("rules6", &[], async |w| {
        let group = json!({"security_group": {"name": w.name}});
        let group = text(&w.make(NET, "security-groups", group).await, "/id");
        let rule = |ethertype: &str, prefix: &str| {
            json!({"security_group_rule": {"security_group_id": group, "direction": "ingress", "ethertype": ethertype,
                "remote_ip_prefix": prefix}})
        };
        let response = w.post(NET, "security-group-rules", rule("IPv6", "2001:db8::/32")).await;
        w.status("a range of IPv6", &response, 201);
        w.is("as it was said", response.at("/security_group_rule/remote_ip_prefix"), "2001:db8::/32");
        for (ethertype, prefix) in [("IPv4", "2001:db8::/32"), ("IPv6", "10.0.0.0/8")] {
            let response = w.post(NET, "security-group-rules", rule(ethertype, prefix)).await;
            w.refused("the other family", &response, 400, "SecurityGroupRuleParameterConflict");
        }
    })
    .await;
}
