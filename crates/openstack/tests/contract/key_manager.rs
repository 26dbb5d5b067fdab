//! Barbican: secrets, containers of secrets, and orders for secrets.

use openstack::key_manager::Kind;
use openstack::{Method, Service};
use serde_json::json;

use crate::world::case;

const KEYS: Service = Service::KeyManager;

#[tokio::test]
async fn secrets() {
    case("secrets", &[KEYS], async |w| {
        let body = json!({"name": w.name, "payload": "hunter2", "payload_content_type": "text/plain",
                          "secret_type": "passphrase"});
        let response = w.post(KEYS, "secrets", body).await;
        w.status("POST secrets", &response, 201);
        let reference = response.text("/secret_ref");
        let id = reference.rsplit('/').next().unwrap().to_owned();
        w.remember(KEYS, &format!("secrets/{id}"));
        w.is("its reference is an address", reference.starts_with("http"), true);

        let response = w.get(KEYS, &format!("secrets/{id}")).await;
        w.status("GET of a secret", &response, 200);
        w.has(
            "a secret",
            &response.body,
            &[
                "algorithm", "bit_length", "content_types", "created", "creator_id", "expiration", "mode",
                "name", "secret_ref", "secret_type", "status", "updated",
            ],
        );
        w.is("its state", response.at("/status"), "ACTIVE");
        w.is("its kind", response.at("/secret_type"), "passphrase");
        w.is("its content", response.at("/content_types/default"), "text/plain");
        let payload = w.session.key_manager().secret_payload(&id).await.unwrap();
        w.is("its payload", payload.expose(), "hunter2");

        let response = w.get(KEYS, &format!("secrets?name={}", w.name)).await;
        w.status("GET secrets by name", &response, 200);
        w.has("the list", &response.body, &["secrets", "total"]);
        w.is("the filter by name", response.at("/total"), 1);

        let path = ["secrets", id.as_str(), "payload"];
        let call = w.session.call(KEYS, Method::GET, &path).header("accept", "application/json");
        w.is("a payload in another form", call.answer().await.unwrap().status, 406);
        let response = w.delete(KEYS, &format!("secrets/{id}")).await;
        w.status("DELETE of a secret", &response, 204);
        let response = w.get(KEYS, &format!("secrets/{id}")).await;
        w.refused("a secret that is gone", &response, 404, "Not Found");
        let response = w.get(KEYS, "secrets/nonsense").await;
        w.status("a secret of no id", &response, 404);
    })
    .await;
}

#[tokio::test]
async fn secrets_in_pages_and_in_two_steps() {
    case("secret-pages", &[KEYS], async |w| {
        for _ in 0..3 {
            let response = w.post(KEYS, "secrets", json!({"name": w.name})).await;
            w.status("POST secrets without payload", &response, 201);
            let id = response
                .text("/secret_ref")
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned();
            w.remember(KEYS, &format!("secrets/{id}"));
        }
        let response = w
            .get(KEYS, &format!("secrets?name={}&limit=2", w.name))
            .await;
        w.is("the first page", response.list("secrets").len(), 2);
        w.is(
            "there is a next page",
            response.text("/next").contains("offset=2"),
            true,
        );
        let all = w
            .session
            .key_manager()
            .ids_by_name(Kind::Secret, &w.name)
            .await
            .unwrap();
        w.is("all pages", all.len(), 3);
        let response = w.get(KEYS, &format!("secrets/{}/payload", all[0])).await;
        w.status("a payload that is not there yet", &response, 404);
        let response = w
            .post(KEYS, "secrets", json!({"name": w.name, "payload": "x"}))
            .await;
        w.status("a payload of unknown form", &response, 400);
        let response = w
            .post(KEYS, "secrets", json!({"secret_type": "nonsense"}))
            .await;
        w.status("a kind that is none", &response, 400);
    })
    .await;
}

#[tokio::test]
async fn containers() {
    case("containers", &[KEYS], async |w| {
        let keys = w.session.key_manager();
        let secret = json!({"name": w.name, "payload": "x", "payload_content_type": "text/plain"});
        let secret = keys.store(Kind::Secret, &secret).await.unwrap();
        w.remember(KEYS, &format!("secrets/{secret}"));
        let about = keys.metadata(Kind::Secret, &secret).await.unwrap();
        let reference = about["secret_ref"].clone();
        let of = |kind: &str, name: &str| {
            json!({"name": w.name, "type": kind, "secret_refs": [{"name": name, "secret_ref": reference}]})
        };
        let id = keys.store(Kind::Container, &of("generic", "note")).await.unwrap();
        w.remember(KEYS, &format!("containers/{id}"));
        let about = keys.metadata(Kind::Container, &id).await.unwrap();
        w.has("a container", &about, &["name", "type", "status", "secret_refs", "consumers", "container_ref"]);
        w.is("its state", about["status"].clone(), "ACTIVE");
        w.is("what is in it", about["secret_refs"][0]["secret_ref"].clone(), reference.clone());
        let named = keys.ids_by_name(Kind::Container, &w.name).await.unwrap();
        w.is("the filter by name", json!(named), json!([id]));
        let response = w.post(KEYS, "containers", of("rsa", "note")).await;
        w.status("an RSA container with something else in it", &response, 400);
        keys.remove(Kind::Container, &id).await.unwrap();
        let response = w.get(KEYS, &format!("containers/{id}")).await;
        w.status("a container that is gone", &response, 404);
        keys.metadata(Kind::Secret, &secret).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn orders() {
    case("orders", &[KEYS], async |w| {
        let keys = w.session.key_manager();
        let of = |algorithm: &str| {
            json!({"type": "key", "meta": {"name": w.name, "algorithm": algorithm, "bit_length": 256, "mode": "cbc"}})
        };
        let id = keys.store(Kind::Order, &of("aes")).await.unwrap();
        let done = |response: &crate::world::Response| response.text("/status") != "PENDING";
        let response = w.until(KEYS, &format!("orders/{id}"), done).await;
        w.is("an order's state", response.at("/status"), "ACTIVE");
        w.has("an order", &response.body, &["type", "meta", "order_ref", "secret_ref", "created", "creator_id"]);
        let secret = response.text("/secret_ref");
        let secret = secret.rsplit('/').next().unwrap();
        w.remember(KEYS, &format!("secrets/{secret}"));
        let about = keys.metadata(Kind::Secret, secret).await.unwrap();
        w.is("the secret has its name", about["name"].clone(), w.name.clone());
        w.is("and its kind", about["secret_type"].clone(), "symmetric");
        let named = keys.ids_by_name(Kind::Order, &w.name).await.unwrap();
        w.is("an order is found by its name", json!(named), json!([id]));
        let response = w.delete(KEYS, &format!("orders/{id}")).await;
        w.status("a member deletes an order", &response, 403);

        let id = keys.store(Kind::Order, &of("rot13")).await.unwrap();
        let response = w.until(KEYS, &format!("orders/{id}"), done).await;
        w.is("an order that nobody can carry out", response.at("/status"), "ERROR");
        w.has("and why", &response.body, &["error_status_code", "error_reason"]);
        for wrong in [
            json!({"type": "nonsense", "meta": {}}),
            json!({"meta": {}}),
            json!({"type": "key"}),
            json!({"type": "key", "meta": {"algorithm": "aes"}}),
        ] {
            let response = w.post(KEYS, "orders", wrong).await;
            w.status("an order that makes no sense", &response, 400);
        }
        let response = w.get(KEYS, "orders/5f3c1f0e-1f64-4a2c-9a1e-6a0a4f1d2b3c").await;
        w.status("an order that is not there", &response, 404);
    })
    .await;
}
