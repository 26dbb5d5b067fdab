//! Less common resources of Neutron: address scopes, RBAC policies, port forwardings, and resources of administrators.

use openstack::Service;
use serde_json::{Value, json};

use crate::network::{NET, external_network, network};
use crate::network_more::has_extension;
use crate::world::{World, admin_case, case, ids};

const GONE: &str = "5f3c1f0e-1f64-4a2c-9a1e-6a0a4f1d2b3c";

fn id_of(made: &Value) -> String {
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn address_scopes() {
    case("scopes", &[], async |w| {
        if !has_extension(w, "address-scope").await {
            return;
        }
        let body = json!({"address_scope": {"name": w.name, "ip_version": 4}});
        let made = w.make(NET, "address-scopes", body).await;
        let id = id_of(&made);
        w.has("a scope", &made, &["id", "name", "ip_version", "shared", "project_id"]);
        w.is("a scope has no description", made.get("description").is_none(), true);
        let response = w.get(NET, &format!("address-scopes?name={}", w.name)).await;
        w.is("the filter by name", ids(&response.list("address_scopes")), json!([id]));
        let other = json!({"address_scope": {"name": format!("{}-b", w.name)}});
        let response = w.put(NET, &format!("address-scopes/{id}"), other).await;
        w.status("another name", &response, 200);
        let mine = json!({"address_scope": {"shared": false}});
        let response = w.put(NET, &format!("address-scopes/{id}"), mine).await;
        w.refused("a member says who shares it", &response, 403, "PolicyNotAuthorized");
        let pool = json!({"subnetpool": {"name": w.name, "prefixes": ["10.143.0.0/20"], "address_scope_id": id}});
        w.make(NET, "subnetpools", pool).await;
        let response = w.delete(NET, &format!("address-scopes/{id}")).await;
        w.refused("a scope in use", &response, 409, "AddressScopeInUse");
        let response = w.delete(NET, &format!("address-scopes/{GONE}")).await;
        w.refused("a scope that is not there", &response, 404, "AddressScopeNotFound");
    })
    .await;
}

#[tokio::test]
async fn port_forwardings_of_a_floating_ip() {
    case("forwarding", &[], async |w| {
        if !has_extension(w, "floating-ip-port-forwarding-description").await {
            return;
        }
        let external_network = external_network(w).await;
        let (net, subnet) = network(w, "10.69.0.0/24").await;
        let body =
            json!({"router": {"name": w.name, "external_gateway_info": {"network_id": external_network}}});
        let router = id_of(&w.make(NET, "routers", body).await);
        let foot = json!({"subnet_id": subnet});
        let path = format!("routers/{router}/add_router_interface");
        let response = w.put(NET, &path, foot.clone()).await;
        w.status("a foot", &response, 200);
        w.remember(
            NET,
            &format!("routers/{router}/remove_router_interface <- {foot}"),
        );
        let port = w
            .make(NET, "ports", json!({"port": {"network_id": net}}))
            .await;
        let address = port["fixed_ips"][0]["ip_address"].clone();
        let port = id_of(&port);
        let body = json!({"floatingip": {"floating_network_id": external_network}});
        let floating = id_of(&w.make(NET, "floatingips", body).await);

        let all = w.session.network();
        let all = all.port_forwardings(&floating);
        let fields = |external_network: u16| {
            json!({"internal_port_id": port, "internal_ip_address": address, "internal_port": 80,
                   "external_port": external_network, "protocol": "tcp", "description": w.name})
        };
        let made = all.create(&fields(8080)).await.unwrap();
        let id = made["id"].as_str().unwrap();
        w.has(
            "a forwarding",
            &json!(made),
            &[
                "id",
                "protocol",
                "external_port",
                "internal_port",
                "internal_port_id",
                "description",
            ],
        );
        let again = all.create(&fields(8080)).await.unwrap_err();
        w.is("the same again", again.status(), 400);
        let changed = all.update(id, &fields(8081)).await.unwrap();
        w.is(
            "another port outside",
            changed["external_port"].clone(),
            8081,
        );
        let listed = all.list().await.unwrap();
        w.is(
            "it is listed with its description",
            listed[0]["description"].clone(),
            w.name.clone(),
        );
        let numberless = json!({"internal_port_id": port, "external_port": 1, "protocol": "tcp"});
        let refused = all.create(&numberless).await.unwrap_err();
        w.is("without the port inside", refused.status(), 400);
        all.delete(id).await.unwrap();
        w.is("it is gone", all.get(id).await.unwrap_err().status(), 404);
        w.is(
            "it goes once",
            all.delete(id).await.unwrap_err().status(),
            404,
        );
    })
    .await;
}

#[tokio::test]
async fn sharing_with_another_project() {
    case("sharing", &[], async |w| {
        let net = id_of(&w.make(NET, "networks", json!({"network": {"name": w.name}})).await);
        let body = |target: &str| {
            json!({"rbac_policy": {"object_type": "network", "object_id": net, "action": "access_as_shared",
                   "target_tenant": target}})
        };
        let made = w.make(NET, "rbac-policies", body("one")).await;
        let id = id_of(&made);
        w.has("a policy", &made, &["id", "object_type", "object_id", "action", "target_tenant", "project_id"]);
        w.is("a policy has no description", made.get("description").is_none(), true);
        let response = w.post(NET, "rbac-policies", body("one")).await;
        w.status("the same again", &response, 409);
        let response = w.get(NET, &format!("rbac-policies?object_id={net}")).await;
        w.is("the filter by what is shared", ids(&response.list("rbac_policies")), json!([id]));
        let other = json!({"rbac_policy": {"target_tenant": "two"}});
        let response = w.put(NET, &format!("rbac-policies/{id}"), other).await;
        w.is("another project", response.at("/rbac_policy/target_tenant"), "two");
        let response = w.post(NET, "rbac-policies", body("*")).await;
        w.refused("a member shares with all", &response, 403, "PolicyNotAuthorized");
    })
    .await;
}

#[tokio::test]
async fn provider_attributes_of_a_network() {
    admin_case("provider", async |w| {
        if !has_extension(w, "provider").await {
            return;
        }
        let on = |kind: &str| json!({"network": {"name": w.name, "provider:network_type": kind}});
        let net = w.make(NET, "networks", on("local")).await;
        w.is(
            "what it is made on",
            net["provider:network_type"].clone(),
            "local",
        );
        w.has(
            "an administrator sees",
            &net,
            &["provider:physical_network", "provider:segmentation_id"],
        );
        let path = format!("networks/{}", id_of(&net));
        let response = w
            .put(
                NET,
                &path,
                json!({"network": {"provider:segmentation_id": 5}}),
            )
            .await;
        w.refused(
            "a number for what is no VLAN",
            &response,
            400,
            "InvalidInput",
        );
        let response = w
            .put(
                NET,
                &path,
                json!({"network": {"provider:network_type": "flat"}}),
            )
            .await;
        w.refused(
            "something else to be made on",
            &response,
            400,
            "InvalidInput",
        );
        let response = w
            .put(
                NET,
                &path,
                json!({"network": {"availability_zone_hints": []}}),
            )
            .await;
        w.refused("another zone", &response, 400, "HTTPBadRequest");
        let response = w.post(NET, "networks", on("nonsense")).await;
        w.refused("on nothing known", &response, 400, "InvalidInput");
    })
    .await;
    case("provider", &[], async |w| {
        let body = json!({"network": {"name": w.name, "provider:network_type": "local"}});
        let response = w.post(NET, "networks", body).await;
        w.refused(
            "a member says what it is made on",
            &response,
            403,
            "PolicyNotAuthorized",
        );
        let net = w
            .make(NET, "networks", json!({"network": {"name": w.name}}))
            .await;
        w.is(
            "a member does not see it",
            net.get("provider:network_type").is_none(),
            true,
        );
    })
    .await;
}

#[tokio::test]
async fn segments_and_metering() {
    admin_case("segments", async |w| {
        if has_extension(w, "segment").await {
            segments(w).await;
        }
        if has_extension(w, "metering").await {
            metering(w).await;
        }
    })
    .await;
}

async fn segments(w: &World) {
    let net = id_of(
        &w.make(NET, "networks", json!({"network": {"name": w.name}}))
            .await,
    );
    let body = json!({"segment": {"network_id": net, "network_type": "vlan", "physical_network": "p",
                      "segmentation_id": 7, "description": w.name}});
    let made = w.make(NET, "segments", body.clone()).await;
    let id = id_of(&made);
    w.has(
        "a segment",
        &made,
        &[
            "id",
            "network_id",
            "network_type",
            "physical_network",
            "segmentation_id",
            "description",
        ],
    );
    let response = w
        .put(
            NET,
            &format!("segments/{id}"),
            json!({"segment": {"name": "x"}}),
        )
        .await;
    w.status("a name", &response, 200);
    let response = w.put(NET, &format!("segments/{id}"), body).await;
    w.refused("something else", &response, 400, "HTTPBadRequest");
    let response = w.get(NET, &format!("segments/{GONE}")).await;
    w.refused(
        "a segment that is not there",
        &response,
        404,
        "SegmentNotFound",
    );
}

async fn metering(w: &World) {
    let body = json!({"metering_label": {"name": w.name, "description": w.name, "shared": true}});
    let label = w.make(NET, "metering/metering-labels", body).await;
    w.has(
        "a label",
        &label,
        &["id", "name", "description", "shared", "project_id"],
    );
    let rule = json!({"metering_label_rule": {"metering_label_id": label["id"], "direction": "egress",
                      "remote_ip_prefix": "10.0.0.0/8", "excluded": true}});
    let made = w.post(NET, "metering/metering-label-rules", rule).await;
    w.status("a rule", &made, 201);
    w.is(
        "what it leaves out",
        made.at("/metering_label_rule/excluded"),
        true,
    );
    let path = format!("metering/metering-labels/{}", id_of(&label));
    let response = w.delete(NET, &path).await;
    w.status("a label goes with its rules", &response, 204);
    let path = format!(
        "metering/metering-label-rules/{}",
        made.text("/metering_label_rule/id")
    );
    let response = w.get(Service::Network, &path).await;
    w.refused(
        "a rule that is gone",
        &response,
        404,
        "MeteringLabelRuleNotFound",
    );
}
