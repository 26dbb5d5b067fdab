//! Nova: flavors and their access list for administrators, and host aggregates.

use openstack::Service;
use serde_json::{Value, json};

use crate::compute::NOVA;
use crate::world::admin_case;

const NOWHERE: &str = "9b6a5a3e-5c0c-4b6e-9b61-2f1d1c0a7a10";

#[tokio::test]
async fn a_private_flavor_is_visible_to_its_projects_only() {
    admin_case("flavor", async |w| {
        let member = w.member().await;
        let project = member.project().unwrap().id.clone();
        let flavor = json!({"name": w.name, "vcpus": 1, "ram": 64, "disk": 1, "swap": 8, "OS-FLV-EXT-DATA:ephemeral": 2,
            "os-flavor-access:is_public": false});
        let body = json!({"flavor": flavor});
        let made = w.make(NOVA, "flavors", body.clone()).await;
        let id = made["id"].as_str().unwrap();
        let path = format!("flavors/{id}");
        w.is("swap", made["swap"].clone(), 8);
        w.is("a second disk", made["OS-FLV-EXT-DATA:ephemeral"].clone(), 2);
        let response = w.post(NOVA, "flavors", body.clone()).await;
        w.refused("a second of the name", &response, 409, "conflictingRequest");
        let empty = json!({"flavor": {"name": format!("{}-empty", w.name), "vcpus": 0, "ram": 64, "disk": 1}});
        w.refused("no processor", &w.post(NOVA, "flavors", empty).await, 400, "badRequest");
        let response = w.other(&member, NOVA, "flavors", body).await;
        w.refused("a member makes a flavor", &response, 403, "forbidden");
        let specs = format!("{path}/os-extra_specs");
        let key = format!("{specs}/hw:cpu_policy");
        for (what, address) in [("GET", &path), ("GET of its keys", &specs), ("GET of a key", &key)] {
            let response = w.other(&member, NOVA, address, Value::Null).await;
            w.refused(&format!("another's {what}"), &response, 404, "itemNotFound");
            w.is(
                &format!("another's {what}, in words"),
                response.at("/itemNotFound/message"),
                format!("Flavor {id} could not be found."),
            );
        }
        let server = json!({"server": {"name": w.name, "flavorRef": id, "imageRef": crate::compute::cheapest(w).await.0, "networks": []}});
        let response = w.other(&member, NOVA, "servers", server).await;
        w.refused("another's server of it", &response, 400, "badRequest");

        let access = format!("{path}/os-flavor-access");
        w.is("nobody has it", w.get(NOVA, &access).await.body, json!({"flavor_access": []}));
        let act = format!("{path}/action");
        let add = |project: &str| json!({"addTenantAccess": {"tenant": project}});
        let response = w.post(NOVA, &act, add(&project)).await;
        w.is("access", response.at("/flavor_access"), json!([{"flavor_id": id, "tenant_id": project}]));
        w.refused("access twice", &w.post(NOVA, &act, add(&project)).await, 409, "conflictingRequest");
        w.refused("access for nobody", &w.post(NOVA, &act, add(NOWHERE)).await, 400, "badRequest");
        w.status("GET with access", &w.other(&member, NOVA, &path, Value::Null).await, 200);
        let response = w.other(&member, NOVA, &key, Value::Null).await;
        w.refused("a key that it has not", &response, 404, "itemNotFound");
        let body = json!({"extra_specs": {"hw:cpu_policy": "shared"}});
        w.is("a key", w.post(NOVA, &specs, body.clone()).await.body, body);
        let response = w.other(&member, NOVA, &key, Value::Null).await;
        w.is("the key", response.body, json!({"hw:cpu_policy": "shared"}));
        w.status("the key goes", &w.delete(NOVA, &key).await, 200);
        w.refused("a key that is gone", &w.delete(NOVA, &key).await, 404, "itemNotFound");
        let remove = json!({"removeTenantAccess": {"tenant": project}});
        let response = w.post(NOVA, &act, remove.clone()).await;
        w.is("no access", response.body, json!({"flavor_access": []}));
        w.refused("no access twice", &w.post(NOVA, &act, remove).await, 404, "itemNotFound");
        w.status("DELETE", &w.delete(NOVA, &path).await, 202);
        w.refused("DELETE twice", &w.delete(NOVA, &path).await, 404, "itemNotFound");
    })
    .await;
}

#[tokio::test]
async fn an_aggregate_of_hosts() {
    admin_case("aggregate", async |w| {
        let body = json!({"aggregate": {"name": w.name, "availability_zone": w.name}});
        let response = w.post(NOVA, "os-aggregates", body.clone()).await;
        w.status("made", &response, 200);
        // The id is a number.
        let path = format!("os-aggregates/{}", response.at("/aggregate/id"));
        w.remember(NOVA, &path);
        w.refused(
            "a second",
            &w.post(NOVA, "os-aggregates", body).await,
            409,
            "conflictingRequest",
        );
        let response = w.get(NOVA, &path).await;
        w.is("no hosts", response.at("/aggregate/hosts"), json!([]));
        w.is(
            "the zone",
            response.at("/aggregate/metadata"),
            json!({"availability_zone": w.name}),
        );
        w.refused(
            "none",
            &w.get(NOVA, "os-aggregates/999999").await,
            404,
            "itemNotFound",
        );
        w.refused(
            "no number",
            &w.get(NOVA, "os-aggregates/abc").await,
            400,
            "badRequest",
        );
        let name = format!("{}-b", w.name);
        let response = w
            .put(NOVA, &path, json!({"aggregate": {"name": name}}))
            .await;
        w.is("another name", response.at("/aggregate/name"), name);
        w.refused(
            "a change of nothing",
            &w.put(NOVA, &path, json!({"aggregate": {}})).await,
            400,
            "badRequest",
        );
        let act = format!("{path}/action");
        let set = |value: Value| json!({"set_metadata": {"metadata": {"k": value}}});
        let response = w.post(NOVA, &act, set(json!("v"))).await;
        w.is("a key", response.at("/aggregate/metadata/k"), "v");
        let response = w.post(NOVA, &act, set(Value::Null)).await;
        w.is("no key", response.at("/aggregate/metadata/k"), Value::Null);
        for action in ["add_host", "remove_host"] {
            let response = w
                .post(NOVA, &act, json!({action: {"host": "nowhere"}}))
                .await;
            w.refused(action, &response, 404, "itemNotFound");
        }
        let member = w.member().await;
        let response = w
            .other(&member, Service::Compute, "os-aggregates", Value::Null)
            .await;
        w.refused("a member looks", &response, 403, "forbidden");
        w.status("DELETE", &w.delete(NOVA, &path).await, 200);
        w.refused(
            "DELETE twice",
            &w.delete(NOVA, &path).await,
            404,
            "itemNotFound",
        );
    })
    .await;
}
