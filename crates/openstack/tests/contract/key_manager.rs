//! Barbican: secrets.

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
        let all = w.session.key_manager().secret_named(&w.name).await.unwrap();
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
