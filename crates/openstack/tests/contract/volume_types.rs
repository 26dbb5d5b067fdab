//! Cinder: volume types with access list, encryption and QoS specifications, for administrators.

use openstack::Service;
use serde_json::{Value, json};

use crate::world::admin_case;

const CINDER: Service = Service::BlockStorage;

#[tokio::test]
async fn a_private_volume_type_is_visible_to_its_projects_only() {
    admin_case("type", async |w| {
        let member = w.member().await;
        let project = member.project().unwrap().id.clone();
        let body = json!({"volume_type": {"name": w.name, "os-volume-type-access:is_public": false, "extra_specs": {"a": "b"}}});
        let made = w.make(CINDER, "types", body.clone()).await;
        let path = format!("types/{}", made["id"].as_str().unwrap());
        w.has("a type", &made, &["id", "name", "is_public", "extra_specs", "description"]);
        w.is("its keys", made["extra_specs"].clone(), json!({"a": "b"}));
        let response = w.post(CINDER, "types", body.clone()).await;
        w.refused("a second of the name", &response, 409, "conflictingRequest");
        let response = w.post(CINDER, "types", json!({"volume_type": {}})).await;
        w.refused("a type without a name", &response, 400, "badRequest");
        let response = w.other(&member, CINDER, "types", body).await;
        w.refused("a member makes a type", &response, 403, "forbidden");
        let specs = format!("{path}/extra_specs");
        for (what, name) in [("by name", &made["name"]), ("by id", &made["id"])] {
            let volume = json!({"volume": {"size": 1, "volume_type": name}});
            let response = w.other(&member, CINDER, "volumes", volume).await;
            w.refused(&format!("a volume of it {what}"), &response, 404, "itemNotFound");
        }
        for address in [&path, &specs] {
            let response = w.other(&member, CINDER, address, Value::Null).await;
            w.refused(&format!("another's GET of {address}"), &response, 404, "itemNotFound");
        }
        let access = format!("{path}/os-volume-type-access");
        let response = w.get(CINDER, &access).await;
        w.is("nobody has it", response.body, json!({"volume_type_access": []}));
        let act = format!("{path}/action");
        let add = |project: &str| json!({"addProjectAccess": {"project": project}});
        let response = w.post(CINDER, &act, add("nonsense")).await;
        w.refused("access for what is no id", &response, 400, "badRequest");
        let response = w.post(CINDER, &act, add(&project)).await;
        w.status("access", &response, 202);
        let response = w.post(CINDER, &act, add(&project)).await;
        w.refused("access twice", &response, 409, "conflictingRequest");
        let response = w.get(CINDER, &access).await;
        w.is("who has it", response.at("/volume_type_access/0/project_id"), project.as_str());
        let response = w.other(&member, CINDER, &path, Value::Null).await;
        w.status("GET with access", &response, 200);
        w.is("keys are an administrator's matter", response.at("/volume_type/extra_specs"), json!({}));
        w.is("and its promise", response.at("/volume_type/qos_specs_id"), Value::Null);
        let remove = json!({"removeProjectAccess": {"project": project}});
        let response = w.post(CINDER, &act, remove.clone()).await;
        w.status("no access", &response, 202);
        let response = w.post(CINDER, &act, remove).await;
        w.refused("no access twice", &response, 404, "itemNotFound");

        let response = w.post(CINDER, &specs, json!({"extra_specs": {"x": "y"}})).await;
        w.is("a further key", response.body, json!({"extra_specs": {"x": "y"}}));
        let response = w.get(CINDER, &specs).await;
        w.is("all keys", response.body, json!({"extra_specs": {"a": "b", "x": "y"}}));
        let one = format!("{specs}/x");
        w.status("a key goes", &w.delete(CINDER, &one).await, 202);
        w.refused("a key that is gone", &w.delete(CINDER, &one).await, 404, "itemNotFound");

        let response = w.put(CINDER, &path, json!({"volume_type": {}})).await;
        w.refused("a change of nothing", &response, 400, "badRequest");
        let response = w.put(CINDER, &path, json!({"volume_type": {"is_public": true}})).await;
        w.is("public now", response.at("/volume_type/is_public"), true);
        w.refused("who has what is public", &w.get(CINDER, &access).await, 404, "itemNotFound");
        let response = w.post(CINDER, &act, add(&project)).await;
        w.refused("access to what is public", &response, 400, "badRequest");
    })
    .await;
}

#[tokio::test]
async fn the_encryption_of_a_type() {
    admin_case("encryption", async |w| {
        let body = json!({"volume_type": {"name": w.name}});
        let made = w.make(CINDER, "types", body).await;
        let id = made["id"].as_str().unwrap();
        let path = format!("types/{id}/encryption");
        w.is("none at first", w.get(CINDER, &path).await.body, json!({}));
        let response = w.post(CINDER, &path, json!({"encryption": {"provider": "luks"}})).await;
        w.refused("without a place", &response, 400, "badRequest");
        let body = json!({"encryption": {"provider": "luks", "control_location": "front-end", "key_size": 256}});
        let response = w.post(CINDER, &path, body.clone()).await;
        w.has("the answer", &response.body["encryption"], &["encryption_id", "volume_type_id", "key_size"]);
        let response = w.post(CINDER, &path, body).await;
        w.refused("a second", &response, 400, "badRequest");
        let which = format!("{path}/provider");
        let larger = json!({"encryption": {"key_size": 512}});
        let response = w.put(CINDER, &which, larger.clone()).await;
        w.is("another key size", response.body, larger.clone());
        let response = w.get(CINDER, &path).await;
        for (name, value) in [("key_size", json!(512)), ("provider", "luks".into()), ("cipher", Value::Null), ("volume_type_id", id.into())] {
            w.is(&format!("then, {name}"), response.body[name].clone(), value);
        }
        w.status("no more", &w.delete(CINDER, &which).await, 202);
        w.refused("no more twice", &w.delete(CINDER, &which).await, 404, "itemNotFound");
        let response = w.put(CINDER, &which, larger).await;
        w.refused("change of none", &response, 404, "itemNotFound");
    })
    .await;
}

#[tokio::test]
async fn qos_specs_of_volume_types() {
    admin_case("promise", async |w| {
        let body =
            json!({"qos_specs": {"name": w.name, "consumer": "back-end", "a": "1", "c": "3"}});
        let made = w.make(CINDER, "qos-specs", body.clone()).await;
        let path = format!("qos-specs/{}", made["id"].as_str().unwrap());
        w.is("keys", made["specs"].clone(), json!({"a": "1", "c": "3"}));
        let response = w.post(CINDER, "qos-specs", body).await;
        w.refused("a second of the name", &response, 409, "conflictingRequest");
        let other = format!("{}-other", w.name);
        let body = json!({"qos_specs": {"name": other, "consumer": "nobody"}});
        w.refused(
            "for nobody",
            &w.post(CINDER, "qos-specs", body).await,
            400,
            "badRequest",
        );
        let response = w.put(CINDER, &path, json!({"qos_specs": {"b": "2"}})).await;
        w.is(
            "a further key",
            response.body,
            json!({"qos_specs": {"b": "2"}}),
        );
        // Keys before the first missing key are deleted.
        let keys = json!({"keys": ["a", "nothing", "b"]});
        let response = w.put(CINDER, &format!("{path}/delete_keys"), keys).await;
        w.refused("a key that is not there", &response, 404, "itemNotFound");
        let response = w.get(CINDER, &path).await;
        w.is(
            "those left",
            response.at("/qos_specs/specs"),
            json!({"b": "2", "c": "3"}),
        );

        let kind = w
            .make(CINDER, "types", json!({"volume_type": {"name": w.name}}))
            .await;
        let kind = kind["id"].as_str().unwrap();
        let bind = async |path: &str, how: &str| {
            w.get(CINDER, &format!("{path}/{how}?vol_type_id={kind}"))
                .await
        };
        w.status("for a type", &bind(&path, "associate").await, 202);
        w.status("for it again", &bind(&path, "associate").await, 202);
        let response = w.get(CINDER, &format!("{path}/associations")).await;
        w.is("who has it", response.at("/qos_associations/0/id"), kind);
        let second = w
            .make(CINDER, "qos-specs", json!({"qos_specs": {"name": other}}))
            .await;
        let second = format!("qos-specs/{}", second["id"].as_str().unwrap());
        w.refused(
            "a second for it",
            &bind(&second, "associate").await,
            400,
            "badRequest",
        );
        w.status(
            "one that it has not",
            &bind(&second, "disassociate").await,
            202,
        );
        w.refused("in use", &w.delete(CINDER, &path).await, 400, "badRequest");
        w.status(
            "from all",
            &w.get(CINDER, &format!("{path}/disassociate_all")).await,
            202,
        );
        w.status("in use no more", &w.delete(CINDER, &path).await, 202);
        w.refused("gone", &w.get(CINDER, &path).await, 404, "itemNotFound");
        let member = w.member().await;
        let response = w.other(&member, CINDER, "qos-specs", Value::Null).await;
        w.refused("a member looks", &response, 403, "forbidden");
    })
    .await;
}
