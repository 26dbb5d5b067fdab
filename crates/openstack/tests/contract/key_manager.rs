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
        let told = w.post(KEYS, "secrets", body).await;
        w.status("POST secrets", &told, 201);
        let reference = told.text("/secret_ref");
        let id = reference.rsplit('/').next().unwrap().to_owned();
        w.remember(KEYS, &format!("secrets/{id}"));
        w.is("its reference is an address", reference.starts_with("http"), true);

        let told = w.get(KEYS, &format!("secrets/{id}")).await;
        w.status("GET of a secret", &told, 200);
        w.has(
            "a secret",
            &told.body,
            &[
                "algorithm", "bit_length", "content_types", "created", "creator_id", "expiration", "mode",
                "name", "secret_ref", "secret_type", "status", "updated",
            ],
        );
        w.is("its state", told.at("/status"), "ACTIVE");
        w.is("its kind", told.at("/secret_type"), "passphrase");
        w.is("its content", told.at("/content_types/default"), "text/plain");
        let payload = w.session.key_manager().secret_payload(&id).await.unwrap();
        w.is("its payload", payload.expose(), "hunter2");

        let told = w.get(KEYS, &format!("secrets?name={}", w.name)).await;
        w.status("GET secrets by name", &told, 200);
        w.has("the list", &told.body, &["secrets", "total"]);
        w.is("the filter by name", told.at("/total"), 1);

        let path = ["secrets", id.as_str(), "payload"];
        let call = w.session.call(KEYS, Method::GET, &path).header("accept", "application/json");
        w.is("a payload in another form", call.answer().await.unwrap().status, 406);
        let told = w.delete(KEYS, &format!("secrets/{id}")).await;
        w.status("DELETE of a secret", &told, 204);
        let told = w.get(KEYS, &format!("secrets/{id}")).await;
        w.refused("a secret that is gone", &told, 404, "Not Found");
        let told = w.get(KEYS, "secrets/nonsense").await;
        w.status("a secret of no id", &told, 404);
    })
    .await;
}

#[tokio::test]
async fn secrets_in_pages_and_in_two_steps() {
    case("secret-pages", &[KEYS], async |w| {
        for _ in 0..3 {
            let told = w.post(KEYS, "secrets", json!({"name": w.name})).await;
            w.status("POST secrets without payload", &told, 201);
            let id = told
                .text("/secret_ref")
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned();
            w.remember(KEYS, &format!("secrets/{id}"));
        }
        let told = w
            .get(KEYS, &format!("secrets?name={}&limit=2", w.name))
            .await;
        w.is("the first page", told.list("secrets").len(), 2);
        w.is(
            "there is a next page",
            told.text("/next").contains("offset=2"),
            true,
        );
        let all = w
            .session
            .key_manager()
            .named(Kind::Secret, &w.name)
            .await
            .unwrap();
        w.is("all pages", all.len(), 3);
        let told = w.get(KEYS, &format!("secrets/{}/payload", all[0])).await;
        w.status("a payload that is not there yet", &told, 404);
        let told = w
            .post(KEYS, "secrets", json!({"name": w.name, "payload": "x"}))
            .await;
        w.status("a payload of unknown form", &told, 400);
        let told = w
            .post(KEYS, "secrets", json!({"secret_type": "nonsense"}))
            .await;
        w.status("a kind that is none", &told, 400);
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
        let about = keys.about(Kind::Secret, &secret).await.unwrap();
        let reference = about["secret_ref"].clone();
        let of = |kind: &str, name: &str| {
            json!({"name": w.name, "type": kind, "secret_refs": [{"name": name, "secret_ref": reference}]})
        };
        let id = keys.store(Kind::Container, &of("generic", "note")).await.unwrap();
        w.remember(KEYS, &format!("containers/{id}"));
        let about = keys.about(Kind::Container, &id).await.unwrap();
        w.has("a container", &about, &["name", "type", "status", "secret_refs", "consumers", "container_ref"]);
        w.is("its state", about["status"].clone(), "ACTIVE");
        w.is("what is in it", about["secret_refs"][0]["secret_ref"].clone(), reference.clone());
        let named = keys.named(Kind::Container, &w.name).await.unwrap();
        w.is("the filter by name", json!(named), json!([id]));
        let told = w.post(KEYS, "containers", of("rsa", "note")).await;
        w.status("an RSA container with something else in it", &told, 400);
        keys.remove(Kind::Container, &id).await.unwrap();
        let told = w.get(KEYS, &format!("containers/{id}")).await;
        w.status("a container that is gone", &told, 404);
        keys.about(Kind::Secret, &secret).await.unwrap();
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
        let done = |told: &crate::world::Told| told.text("/status") != "PENDING";
        let told = w.until(KEYS, &format!("orders/{id}"), done).await;
        w.is("an order's state", told.at("/status"), "ACTIVE");
        w.has("an order", &told.body, &["type", "meta", "order_ref", "secret_ref", "created", "creator_id"]);
        let secret = told.text("/secret_ref");
        let secret = secret.rsplit('/').next().unwrap();
        w.remember(KEYS, &format!("secrets/{secret}"));
        let about = keys.about(Kind::Secret, secret).await.unwrap();
        w.is("the secret has its name", about["name"].clone(), w.name.clone());
        w.is("and its kind", about["secret_type"].clone(), "symmetric");
        let named = keys.named(Kind::Order, &w.name).await.unwrap();
        w.is("an order is found by its name", json!(named), json!([id]));
        let told = w.delete(KEYS, &format!("orders/{id}")).await;
        w.status("a member deletes an order", &told, 403);

        let id = keys.store(Kind::Order, &of("rot13")).await.unwrap();
        let told = w.until(KEYS, &format!("orders/{id}"), done).await;
        w.is("an order that nobody can carry out", told.at("/status"), "ERROR");
        w.has("and why", &told.body, &["error_status_code", "error_reason"]);
        for wrong in [
            json!({"type": "nonsense", "meta": {}}),
            json!({"meta": {}}),
            json!({"type": "key"}),
            json!({"type": "key", "meta": {"algorithm": "aes"}}),
        ] {
            let told = w.post(KEYS, "orders", wrong).await;
            w.status("an order that makes no sense", &told, 400);
        }
        let told = w.get(KEYS, "orders/5f3c1f0e-1f64-4a2c-9a1e-6a0a4f1d2b3c").await;
        w.status("an order that is not there", &told, 404);
    })
    .await;
}
