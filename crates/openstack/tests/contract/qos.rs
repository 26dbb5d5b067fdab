//! Neutron: QoS policies and their rules, for administrators.

use openstack::Service;
use openstack::network::{Port, QosPolicy};
use openstack::qos::QosRuleKind;
use serde_json::{Value, json};

use crate::network::{NET, network};
use crate::network_more::has_extension;
use crate::world::admin_case;

const GONE: &str = "9b6a5a3e-5c0c-4b6e-9b61-2f1d1c0a7a10";

#[tokio::test]
async fn a_policy_and_its_rules() {
    admin_case("qos", async |w| {
        if !has_extension(w, "qos").await {
            return;
        }
        let body = json!({"policy": {"name": w.name, "description": w.name}});
        let made = w.make(NET, "qos/policies", body).await;
        let policy = made["id"].as_str().unwrap();
        w.has(
            "a policy",
            &made,
            &[
                "id",
                "name",
                "description",
                "shared",
                "is_default",
                "rules",
                "project_id",
                "revision_number",
                "tags",
            ],
        );
        let network_service = w.session.network();
        let rules: [(QosRuleKind, Value, Value); 4] = [
            (
                QosRuleKind::BandwidthLimit,
                json!({"max_kbps": 1000}),
                json!({"max_kbps": 2000, "max_burst_kbps": 100}),
            ),
            (
                QosRuleKind::DscpMarking,
                json!({"dscp_mark": 16}),
                json!({"dscp_mark": 18}),
            ),
            (
                QosRuleKind::MinimumBandwidth,
                json!({"min_kbps": 10}),
                json!({"min_kbps": 20}),
            ),
            (
                QosRuleKind::MinimumPacketRate,
                json!({"min_kpps": 10}),
                json!({"min_kpps": 20}),
            ),
        ];
        for (kind, first, then) in &rules {
            let made = network_service
                .qos_rules(policy, *kind)
                .create(first)
                .await
                .unwrap();
            let id = made["id"].as_str().unwrap();
            let name = format!("{kind:?}");
            for (field, value) in first.as_object().unwrap() {
                w.is(
                    &format!("{name}, {field}"),
                    made[field].clone(),
                    value.clone(),
                );
            }
            let has_direction = *kind != QosRuleKind::DscpMarking;
            let direction = if has_direction {
                json!("egress")
            } else {
                Value::Null
            };
            w.is(
                &format!("{name}, direction"),
                made.get("direction").cloned(),
                direction,
            );
            let again = network_service
                .qos_rules(policy, *kind)
                .create(first)
                .await
                .unwrap_err();
            w.is(&format!("{name}, a second"), again.status(), 409);
            let kind_of_error = again.api().and_then(|error| error.kind.clone());
            w.is(
                &format!("{name}, a second's error"),
                kind_of_error,
                "QoSRulesConflict",
            );
            let changed = network_service
                .qos_rules(policy, *kind)
                .update(id, then)
                .await
                .unwrap();
            for (field, value) in then.as_object().unwrap() {
                w.is(
                    &format!("{name} changed, {field}"),
                    changed[field].clone(),
                    value.clone(),
                );
            }
            let found = network_service
                .qos_rules(policy, *kind)
                .get(id)
                .await
                .unwrap();
            w.is(&format!("{name}, GET"), json!(found), json!(changed));
            let all = network_service
                .qos_rules(policy, *kind)
                .list()
                .await
                .unwrap();
            w.is(&format!("{name}, the list"), json!(all), json!([changed]));
        }
        let shown: QosPolicy = network_service.get(policy).await.unwrap();
        w.is("the policy has its rules", shown.rules.len(), rules.len());

        let kind = QosRuleKind::DscpMarking;
        let dscp = network_service
            .qos_rules(policy, kind)
            .list()
            .await
            .unwrap();
        let dscp = dscp[0]["id"].as_str().unwrap();
        network_service
            .qos_rules(policy, kind)
            .delete(dscp)
            .await
            .unwrap();
        let gone = network_service
            .qos_rules(policy, kind)
            .delete(dscp)
            .await
            .unwrap_err();
        w.is("a rule that is gone", gone.status(), 404);
        let response = w
            .get(
                NET,
                &format!("qos/policies/{policy}/dscp_marking_rules/{dscp}"),
            )
            .await;
        w.refused(
            "GET of a rule that is gone",
            &response,
            404,
            "QosRuleNotFound",
        );
        let response = w
            .get(NET, &format!("qos/policies/{GONE}/dscp_marking_rules"))
            .await;
        w.refused(
            "rules of a policy that is gone",
            &response,
            404,
            "QosPolicyNotFound",
        );
        // The rules are deleted with their policy.
        let response = w
            .delete(Service::Network, &format!("qos/policies/{policy}"))
            .await;
        w.status("DELETE of a policy with rules", &response, 204);
        // A port accepts a policy with rules that its network supports; an empty policy is always accepted.
        let body = json!({"policy": {"name": w.name}});
        let bare = w.make(NET, "qos/policies", body).await;
        let (net, _) = network(w, "10.67.0.0/24").await;
        let body = json!({"port": {"network_id": net, "qos_policy_id": bare["id"]}});
        let port = w.make(NET, "ports", body).await;
        w.is(
            "a port with it",
            port["qos_policy_id"].clone(),
            bare["id"].clone(),
        );
        let bare = format!("qos/policies/{}", bare["id"].as_str().unwrap());
        let response = w.delete(NET, &bare).await;
        w.refused("a policy in use", &response, 409, "QosPolicyInUse");
        let without = json!({"qos_policy_id": null});
        let port = port["id"].as_str().unwrap();
        network_service
            .update::<Port>(port, &without)
            .await
            .unwrap();
        let response = w.delete(NET, &bare).await;
        w.status("DELETE of a policy that is in use no more", &response, 204);
    })
    .await;
}
