//! Neutron: networks, subnets, ports, routers, floating IPs, security groups.

use openstack::{Method, Service};
use serde_json::{Value, json};

use crate::world::{World, case, ids};

pub const NET: Service = Service::Network;
const GONE: &str = "00000000-0000-4000-8000-000000000000";

/// A network with a subnet. The range differs per case, so that one router can connect them.
pub async fn network(w: &World, range: &str) -> (String, String) {
    let network = w
        .make(NET, "networks", json!({"network": {"name": w.name}}))
        .await;
    let network = network["id"].as_str().unwrap().to_owned();
    let body =
        json!({"subnet": {"network_id": network, "cidr": range, "ip_version": 4, "name": w.name}});
    let subnet = w.make(NET, "subnets", body).await;
    (network, subnet["id"].as_str().unwrap().to_owned())
}

/// An external network.
pub async fn external_network(w: &World) -> String {
    let external = w.session.network().external_networks().await.unwrap();
    external.first().expect("there is an outside").id.clone()
}

#[tokio::test]
async fn networks_and_subnets() {
    case("nets", &[], async |w| {
        let body = json!({"network": {"name": w.name, "description": format!("mark {}", w.name)}});
        let made = w.make(NET, "networks", body).await;
        w.has(
            "a network",
            &made,
            &[
                "id",
                "name",
                "description",
                "status",
                "admin_state_up",
                "shared",
                "router:external",
                "mtu",
                "subnets",
                "project_id",
                "tenant_id",
                "port_security_enabled",
                "availability_zone_hints",
                "availability_zones",
                "created_at",
                "updated_at",
                "revision_number",
                "tags",
                "ipv4_address_scope",
                "ipv6_address_scope",
            ],
        );
        w.is("its state", made["status"].clone(), "ACTIVE");
        let id = made["id"].as_str().unwrap().to_owned();
        let response = w
            .get(NET, &format!("networks?description=mark {}", w.name))
            .await;
        w.is(
            "the filter by description",
            ids(&response.list("networks")),
            json!([id]),
        );
        let response = w.get(NET, &format!("networks?id={id}&id={GONE}")).await;
        w.is(
            "the filter by several ids",
            ids(&response.list("networks")),
            json!([id]),
        );
        let response = w
            .get(NET, &format!("networks?id={id}&fields=id&fields=name"))
            .await;
        w.is(
            "asking for fields",
            response.at("/networks/0"),
            json!({"id": id, "name": w.name}),
        );

        let subnet = json!({"subnet": {"network_id": id, "cidr": "10.61.0.0/24", "ip_version": 4}});
        let made = w.make(NET, "subnets", subnet.clone()).await;
        w.has(
            "a subnet",
            &made,
            &[
                "id",
                "name",
                "description",
                "network_id",
                "cidr",
                "gateway_ip",
                "ip_version",
                "enable_dhcp",
                "allocation_pools",
                "dns_nameservers",
                "host_routes",
                "project_id",
                "tags",
                "subnetpool_id",
                "ipv6_ra_mode",
                "ipv6_address_mode",
                "service_types",
                "created_at",
                "updated_at",
                "revision_number",
            ],
        );
        w.is("its gateway", made["gateway_ip"].clone(), "10.61.0.1");
        w.is(
            "its pool",
            made["allocation_pools"].clone(),
            json!([{"start": "10.61.0.2", "end": "10.61.0.254"}]),
        );
        w.is("its name", made["name"].clone(), "");
        let response = w.post(NET, "subnets", subnet).await;
        w.refused("a range that overlaps", &response, 400, "InvalidInput");
        let wrong = json!({"subnet": {"network_id": id, "cidr": "10.61.1.0/33", "ip_version": 4}});
        let response = w.post(NET, "subnets", wrong).await;
        w.refused("a range that is none", &response, 400, "InvalidInput");
        let response = w
            .post(
                NET,
                "subnets",
                json!({"subnet": {"network_id": GONE, "cidr": "10.61.2.0/24", "ip_version": 4}}),
            )
            .await;
        w.refused("a subnet of no network", &response, 404, "NetworkNotFound");
        let response = w
            .post(
                NET,
                "subnets",
                json!({"subnet": {"network_id": id, "ip_version": 4}}),
            )
            .await;
        w.status("a subnet without a range", &response, 400);

        let response = w
            .put(
                NET,
                &format!("networks/{id}"),
                json!({"network": {"name": "other"}}),
            )
            .await;
        w.status("PUT of a network", &response, 200);
        w.is("its new name", response.at("/network/name"), "other");
        let response = w
            .put(
                NET,
                &format!("networks/{id}/tags"),
                json!({"tags": ["blue", "green"]}),
            )
            .await;
        w.status("PUT of tags", &response, 200);
        let response = w.get(NET, &format!("networks?tags=blue&id={id}")).await;
        w.is("the filter by tag", response.list("networks").len(), 1);

        let response = w.get(NET, &format!("networks/{GONE}")).await;
        w.refused(
            "a network that is not there",
            &response,
            404,
            "NetworkNotFound",
        );
        let response = w
            .post(NET, "networks", json!({"network": {"nonsense": 1}}))
            .await;
        w.refused("a field that is none", &response, 400, "HTTPBadRequest");
        let response = w.post(NET, "networks", json!({"nonsense": {}})).await;
        w.status("a body of another thing", &response, 400);
        let response = w
            .post(
                NET,
                "networks",
                json!({"network": {"admin_state_up": "perhaps"}}),
            )
            .await;
        w.status("a switch that is neither", &response, 400);
        let response = w
            .post(NET, "networks", json!({"network": {"shared": true}}))
            .await;
        w.status("what only administrators may", &response, 403);
        let response = w.get(NET, "nonsense").await;
        w.status("a collection that is none", &response, 404);
    })
    .await;
}

#[tokio::test]
async fn lists_come_in_pages() {
    case("net-pages", &[], async |w| {
        let mut made = Vec::new();
        for _ in 0..3 {
            let body = json!({"network": {"name": w.name}});
            made.push(w.make(NET, "networks", body).await);
        }
        let response = w
            .get(NET, &format!("networks?name={}&limit=2", w.name))
            .await;
        w.is("the first page", response.list("networks").len(), 2);
        let next = response
            .list("networks_links")
            .iter()
            .any(|link| link["rel"] == "next");
        w.is("there is a next page", next, true);
        let query = [("name", w.name.as_str()), ("limit", "2")];
        let all: Vec<openstack::network::Network> = w.session.network().list(&query).await.unwrap();
        w.is("all pages", all.len(), 3);
        let response = w
            .get(
                NET,
                &format!("networks?name={}&sort_key=id&sort_dir=desc", w.name),
            )
            .await;
        let mut sorted: Vec<Value> = response
            .list("networks")
            .iter()
            .map(|one| one["id"].clone())
            .collect();
        sorted.reverse();
        w.is("sorted backwards", Value::Array(sorted), json!(ids(&made)));
    })
    .await;
}

#[tokio::test]
async fn ports() {
    case("ports", &[], async |w| {
        let (network, subnet) = network(w, "10.62.0.0/24").await;
        let body = json!({"port": {"network_id": network, "name": w.name,
                                   "fixed_ips": [{"subnet_id": subnet, "ip_address": "10.62.0.20"}]}});
        let port = w.make(NET, "ports", body).await;
        w.has(
            "a port",
            &port,
            &[
                "id", "name", "description", "network_id", "status", "admin_state_up", "mac_address", "fixed_ips",
                "device_id", "device_owner", "security_groups", "allowed_address_pairs", "port_security_enabled",
                "binding:vnic_type", "project_id", "tags", "created_at", "updated_at", "revision_number",
                "extra_dhcp_opts", "qos_policy_id",
            ],
        );
        w.is("its state", port["status"].clone(), "DOWN");
        w.is("its groups: the default one", port["security_groups"].as_array().unwrap().len(), 1);
        w.is(
            "its address",
            port["fixed_ips"].clone(),
            json!([{"subnet_id": subnet, "ip_address": "10.62.0.20"}]),
        );
        let id = port["id"].as_str().unwrap();
        let again = |address: &str| json!({"port": {"network_id": network, "fixed_ips": [{"ip_address": address}]}});
        let response = w.post(NET, "ports", again("10.62.0.20")).await;
        w.refused("an address that is taken", &response, 409, "IpAddressAlreadyAllocated");
        let response = w.post(NET, "ports", again("10.99.0.20")).await;
        w.refused("an address of elsewhere", &response, 400, "InvalidIpForNetwork");
        let response = w.post(NET, "ports", json!({"port": {"network_id": GONE}})).await;
        w.refused("a port of no network", &response, 404, "NetworkNotFound");
        let response = w.get(NET, &format!("ports?network_id={network}&name={}", w.name)).await;
        w.is("the filter by network", ids(&response.list("ports")), json!([id]));
        let response = w.get(NET, "ports?fixed_ips=ip_address=10.62.0.20").await;
        w.is("the filter by address", ids(&response.list("ports")).contains(&id.to_owned()), true);
        let response = w.get(NET, &format!("ports?fixed_ips=subnet_id={subnet}&name={}", w.name)).await;
        w.is("the filter by subnet", response.list("ports").len(), 1);
        let response = w.put(NET, &format!("ports/{id}"), json!({"port": {"security_groups": []}})).await;
        w.is("no groups", response.at("/port/security_groups"), json!([]));
        let pairs = json!([{"ip_address": "10.62.0.99"}]);
        let response = w.put(NET, &format!("ports/{id}"), json!({"port": {"allowed_address_pairs": pairs}})).await;
        w.is("allowed pairs get the port's hardware address", response.at("/port/allowed_address_pairs/0/mac_address"), port["mac_address"].clone());
        let response = w.delete(NET, &format!("networks/{network}")).await;
        w.refused("a network with a port goes not", &response, 409, "NetworkInUse");
        let response = w.delete(NET, &format!("subnets/{subnet}")).await;
        w.refused("a subnet with an address in use goes not", &response, 409, "SubnetInUse");
        let response = w.delete(NET, &format!("ports/{id}")).await;
        w.status("DELETE of a port", &response, 204);
        let response = w.delete(NET, &format!("ports/{id}")).await;
        w.refused("a port that is gone", &response, 404, "PortNotFound");
        let none = w.make(NET, "ports", json!({"port": {"network_id": network, "fixed_ips": []}})).await;
        w.is("a port without address", none["fixed_ips"].clone(), json!([]));
    })
    .await;
}

#[tokio::test]
async fn routers_and_floating_ips() {
    case("routers", &[], async |w| {
        let external_network = external_network(w).await;
        let (network, subnet) = network(w, "10.63.0.0/24").await;
        let body = json!({"router": {"name": w.name, "external_gateway_info": {"network_id": external_network}}});
        let router = w.make(NET, "routers", body).await;
        w.has(
            "a router",
            &router,
            &[
                "id", "name", "description", "status", "admin_state_up", "external_gateway_info", "routes",
                "project_id", "tags", "created_at", "updated_at", "revision_number", "availability_zones",
                "availability_zone_hints", "flavor_id",
            ],
        );
        w.is("its state", router["status"].clone(), "ACTIVE");
        w.has("its gateway", &router["external_gateway_info"], &["network_id", "external_fixed_ips", "enable_snat"]);
        let id = router["id"].as_str().unwrap();
        let port = w.make(NET, "ports", json!({"port": {"network_id": network, "name": w.name}})).await;
        let port = port["id"].as_str().unwrap();

        let body = json!({"floatingip": {"floating_network_id": external_network, "port_id": port}});
        let response = w.post(NET, "floatingips", body.clone()).await;
        w.refused("a floating IP before the router is there", &response, 404, "ExternalGatewayForFloatingIPNotFound");

        let response = w.put(NET, &format!("routers/{id}/add_router_interface"), json!({"subnet_id": subnet})).await;
        w.status("adding an interface", &response, 200);
        w.has("an interface", &response.body, &["id", "tenant_id",
                "port_id", "network_id", "subnet_id", "subnet_ids"]);
        w.remember(NET, &format!("routers/{id}/remove_router_interface <- {}", json!({"subnet_id": subnet})));
        let response = w.put(NET, &format!("routers/{id}/add_router_interface"), json!({"subnet_id": subnet})).await;
        w.refused("adding it twice", &response, 400, "BadRequest");
        let response = w.get(NET, &format!("ports?device_id={id}&device_owner=network:router_interface")).await;
        w.is("its port", response.list("ports").len(), 1);
        w.is("its port's address", response.at("/ports/0/fixed_ips/0/ip_address"), "10.63.0.1");
        let foot = response.text("/ports/0/id");
        let response = w.delete(NET, &format!("ports/{foot}")).await;
        w.refused("a router's port goes not by itself", &response, 409, "ServicePortInUse");
        let response = w.delete(NET, &format!("routers/{id}")).await;
        w.refused("a router with an interface goes not", &response, 409, "RouterInUse");

        let address = w.make(NET, "floatingips", body.clone()).await;
        w.has(
            "a floating IP",
            &address,
            &[
                "id", "description", "status", "floating_ip_address", "floating_network_id", "fixed_ip_address",
                "port_id", "router_id", "project_id", "tags", "created_at", "updated_at", "revision_number",
                "port_details", "dns_name", "dns_domain",
            ].into_iter().filter(|field| !field.starts_with("dns")).collect::<Vec<_>>(),
        );
        w.is("its router", address["router_id"].clone(), id);
        let response = w.get(NET, &format!("floatingips?router_id={id}")).await;
        w.is("the filter by router", ids(&response.list("floatingips")), json!([address["id"]]));
        let response = w.post(NET, "floatingips", body).await;
        w.refused("a second one for the same address", &response, 409, "FloatingIPPortAlreadyAssociated");
        let response = w.put(NET, &format!("routers/{id}/remove_router_interface"), json!({"subnet_id": subnet})).await;
        w.refused("an interface that floating IPs need", &response, 409, "RouterInterfaceInUseByFloatingIP");
        let response = w.put(NET, &format!("routers/{id}"), json!({"router": {"external_gateway_info": {}}})).await;
        w.refused("a gateway that floating IPs need", &response, 409, "RouterExternalGatewayInUseByFloatingIp");
        let known = address["id"].as_str().unwrap();
        let response = w.put(NET, &format!("floatingips/{known}"), json!({"floatingip": {"port_id": null}})).await;
        w.is("led nowhere", response.at("/floatingip/port_id"), Value::Null);
        w.is("led nowhere, its router", response.at("/floatingip/router_id"), Value::Null);
        let response = w.get(NET, &format!("floatingips?floating_ip_address={}", address["floating_ip_address"].as_str().unwrap())).await;
        w.is("the filter by address", ids(&response.list("floatingips")), json!([known]));
        let response = w.post(NET, "floatingips", json!({"floatingip": {"floating_network_id": network}})).await;
        w.refused("a floating IP of an inner network", &response, 400, "BadRequest");
        let response = w.put(NET, &format!("routers/{id}"), json!({"router": {"routes": [{"destination": "10.200.0.0/24", "nexthop": "10.63.0.77"}]}})).await;
        w.status("a route", &response, 200);
        w.is("its route", response.at("/router/routes/0/nexthop"), "10.63.0.77");
        let response = w.put(NET, &format!("routers/{id}"), json!({"router": {"routes": []}})).await;
        w.status("no route", &response, 200);
        let response = w.put(NET, &format!("routers/{id}/remove_router_interface"), json!({"subnet_id": subnet})).await;
        w.status("removing the interface", &response, 200);
        let response = w.put(NET, &format!("routers/{id}/remove_router_interface"), json!({"subnet_id": subnet})).await;
        w.refused("removing it twice", &response, 404, "RouterInterfaceNotFoundForSubnet");
        let response = w.get(NET, &format!("routers/{GONE}")).await;
        w.refused("a router that is not there", &response, 404, "RouterNotFound");
    })
    .await;
}

#[tokio::test]
async fn security_groups() {
    case("groups", &[], async |w| {
        let group = w.make(NET, "security-groups", json!({"security_group": {"name": w.name}})).await;
        w.has(
            "a security group",
            &group,
            &[
                "id", "name", "description", "stateful", "security_group_rules", "project_id", "tags",
                "created_at", "updated_at", "revision_number",
            ],
        );
        let id = group["id"].as_str().unwrap();
        w.is("its first rules let all out", group["security_group_rules"].as_array().unwrap().len(), 2);
        let rule = json!({"security_group_rule": {"security_group_id": id, "direction": "ingress", "protocol": "tcp",
            "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"}});
        let response = w.post(NET, "security-group-rules", rule.clone()).await;
        w.status("POST of a rule", &response, 201);
        w.has(
            "a rule",
            &response.body["security_group_rule"],
            &[
                "id", "security_group_id", "direction", "ethertype", "protocol", "port_range_min", "port_range_max",
                "remote_ip_prefix", "remote_group_id", "remote_address_group_id", "description", "project_id",
                "normalized_cidr", "created_at", "updated_at", "revision_number",
            ],
        );
        w.is("its family", response.at("/security_group_rule/ethertype"), "IPv4");
        let known = response.text("/security_group_rule/id");
        let response = w.post(NET, "security-group-rules", rule).await;
        w.refused("the same rule twice", &response, 409, "SecurityGroupRuleExists");
        let odd = |fields: Value| {
            let mut body = json!({"security_group_id": id, "direction": "ingress"});
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            json!({"security_group_rule": body})
        };
        let response = w.post(NET, "security-group-rules", odd(json!({"port_range_min": 1, "port_range_max": 2}))).await;
        w.refused("ports without a protocol", &response, 400, "SecurityGroupProtocolRequiredWithPorts");
        let response = w.post(NET, "security-group-rules", odd(json!({"protocol": "tcp", "port_range_min": 9, "port_range_max": 2}))).await;
        w.refused("ports in the wrong order", &response, 400, "SecurityGroupInvalidPortRange");
        let response = w.post(NET, "security-group-rules", odd(json!({"protocol": "nonsense"}))).await;
        w.status("a protocol that is none", &response, 400);
        let response = w.post(NET, "security-group-rules", odd(json!({"remote_ip_prefix": "10.0.0.0/8", "remote_group_id": id}))).await;
        w.refused("two remotes at once", &response, 400, "SecurityGroupMultipleRemoteEntites");
        let response = w.post(NET, "security-group-rules", odd(json!({"direction": "sideways"}))).await;
        w.status("a direction that is none", &response, 400);
        let response = w.get(NET, &format!("security-group-rules?security_group_id={id}&direction=ingress")).await;
        w.is("the filter by group", ids(&response.list("security_group_rules")), json!([known]));
        let response = w.delete(NET, &format!("security-group-rules/{known}")).await;
        w.status("DELETE of a rule", &response, 204);
        let response = w.delete(NET, &format!("security-group-rules/{known}")).await;
        w.refused("a rule that is gone", &response, 404, "SecurityGroupRuleNotFound");

        let (network, _) = network(w, "10.64.0.0/24").await;
        let port = json!({"port": {"network_id": network, "security_groups": [id]}});
        let port = w.make(NET, "ports", port).await;
        w.is("the port's group", port["security_groups"].clone(), json!([id]));
        let response = w.delete(NET, &format!("security-groups/{id}")).await;
        w.refused("a group in use goes not", &response, 409, "SecurityGroupInUse");
        let response = w.get(NET, "security-groups?name=default").await;
        let default = response.text("/security_groups/0/id");
        let response = w.delete(NET, &format!("security-groups/{default}")).await;
        // The error type depends on whether the group has ports at the moment.
        w.status("the default group goes not", &response, 409);
        let response = w.get(NET, &format!("security-groups/{GONE}")).await;
        w.refused("a group that is not there", &response, 404, "SecurityGroupNotFound");
        let response = w.post(NET, "ports", json!({"port": {"network_id": network, "security_groups": [GONE]}})).await;
        w.refused("a port in a group that is not there", &response, 404, "SecurityGroupNotFound");
    })
    .await;
}

#[tokio::test]
async fn lists_for_forms() {
    case("net-forms", &[], async |w| {
        let response = w.get(NET, "networks?router:external=true").await;
        w.status("networks outside", &response, 200);
        w.is(
            "they are outside",
            response.at("/networks/0/router:external"),
            true,
        );
        let project = w.session.project().unwrap().id.clone();
        let response = w.get(NET, &format!("quotas/{project}/details.json")).await;
        w.status("quotas in detail", &response, 200);
        for name in [
            "network",
            "subnet",
            "port",
            "router",
            "floatingip",
            "security_group",
            "security_group_rule",
        ] {
            w.has(
                &format!("the quota of {name}"),
                &response.body["quota"][name],
                &["limit", "used", "reserved"],
            );
        }
        let response = w.get(NET, "extensions").await;
        let aliases: Vec<Value> = response
            .list("extensions")
            .iter()
            .map(|one| one["alias"].clone())
            .collect();
        for alias in [
            "router",
            "security-group",
            "external-net",
            "quotas",
            "standard-attr-tag",
            "port-security",
        ] {
            w.is(
                &format!("extension {alias}"),
                aliases.contains(&json!(alias)),
                true,
            );
        }
        let response = w.ask(NET, Method::GET, "", None, None).await;
        w.status("the version's own page", &response, 200);
    })
    .await;
}
