//! A client for tests: one line per call, with the expected response.

#![allow(
    clippy::allow_attributes,
    reason = "each test file uses a part of this module"
)]
#![allow(dead_code, reason = "each test file uses a part of this module")]

pub mod machine;
pub mod measure;

use std::time::{Duration, Instant};

use lab::{Lab, LabConfig};
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

/// A client with a token for a project.
pub struct Client {
    http: reqwest::Client,
    base: String,
    pub token: String,
    pub project_id: String,
    pub user_id: String,
}

/// A response.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
}

pub fn http() -> reqwest::Client {
    // The client requires a crypto provider even for plain HTTP. A second installation fails, which is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap()
}

pub fn password(user: &str, password: &str) -> Value {
    json!({"methods": ["password"], "password": {"user": {"name": user, "domain": {"name": "Default"}, "password": password}}})
}

pub fn project_scope(name: &str) -> Value {
    json!({"project": {"name": name, "domain": {"id": "default"}}})
}

/// A lab in memory, and a client of its user `demo`.
pub async fn memory() -> (Lab, Client) {
    let lab = Lab::start(LabConfig::memory()).await.unwrap();
    let client = Client::login(&lab, "demo").await;
    (lab, client)
}

impl Client {
    /// Logs in as a user whose password and project are the same as the name.
    pub async fn login(lab: &Lab, name: &str) -> Self {
        let mut client = Self {
            http: http(),
            base: lab.url(),
            token: String::new(),
            project_id: String::new(),
            user_id: String::new(),
        };
        let auth =
            json!({"auth": {"identity": password(name, name), "scope": project_scope(name)}});
        let answer = client
            .call(Method::POST, "/identity/v3/auth/tokens", auth)
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        client.token = answer.headers["x-subject-token"]
            .to_str()
            .unwrap()
            .to_owned();
        client.project_id = answer.at("/token/project/id").as_str().unwrap().to_owned();
        client.user_id = answer.at("/token/user/id").as_str().unwrap().to_owned();
        client
    }

    /// The same user with the token of another identity, such as an application credential.
    pub async fn with_login(&self, auth: Value) -> Self {
        let path = "/identity/v3/auth/tokens";
        let answer = self.post(path, json!({ "auth": auth })).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        Self {
            http: self.http.clone(),
            base: self.base.clone(),
            token: answer.headers["x-subject-token"]
                .to_str()
                .unwrap()
                .to_owned(),
            project_id: self.project_id.clone(),
            user_id: self.user_id.clone(),
        }
    }

    /// Uses the same token at another lab.
    pub fn move_to(&mut self, lab: &Lab) {
        self.base = lab.url();
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Answer {
        self.call_with(method, path, body, &[]).await
    }

    pub async fn call_with(
        &self,
        method: Method,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        let usual = [("openstack-api-version", "compute 2.79")];
        let given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        for (name, value) in usual.iter().filter(|(name, _)| !given(name)) {
            request = request.header(*name, *value);
        }
        if !self.token.is_empty() {
            request = request.header("x-auth-token", &self.token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer {
            status,
            headers,
            body,
            text,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, Value::Null).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, body).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, Value::Null).await
    }

    /// Creates a resource in Neutron. Returns its id.
    pub async fn network(&self, collection: &str, fields: Value) -> String {
        let singular = collection.trim_end_matches('s').replace('-', "_");
        let answer = self
            .post(
                &format!("/network/v2.0/{collection}"),
                json!({ singular.clone(): fields }),
            )
            .await;
        assert_eq!(answer.status, 201, "{collection}: {}", answer.text);
        answer
            .at(&format!("/{singular}/id"))
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub async fn public_network(&self) -> String {
        let answer = self
            .get("/network/v2.0/networks?router:external=true")
            .await;
        answer.at("/networks/0/id").as_str().unwrap().to_owned()
    }

    pub async fn image(&self) -> String {
        self.get("/image/v2/images?name=debian-12")
            .await
            .at("/images/0/id")
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Creates a server. Returns its id.
    pub async fn server(&self, mut fields: Value) -> String {
        fields["imageRef"] = self.image().await.into();
        fields["flavorRef"] = "1".into();
        let answer = self
            .post("/compute/v2.1/servers", json!({ "server": fields }))
            .await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        answer.at("/server/id").as_str().unwrap().to_owned()
    }

    pub async fn server_status(&self, id: &str) -> String {
        let answer = self.get(&format!("/compute/v2.1/servers/{id}")).await;
        match answer.status {
            404 => "GONE".into(),
            _ => answer.at("/server/status").as_str().unwrap().to_owned(),
        }
    }

    /// Waits until a server has this status (`GONE` after its removal).
    pub async fn wait_for_server(&self, id: &str, wanted: &str, limit: Duration) {
        let started = Instant::now();
        loop {
            let status = self.server_status(id).await;
            if status == wanted {
                return;
            }
            let broken = status == "ERROR";
            assert!(
                !broken && started.elapsed() < limit,
                "server {id} is {status} and not {wanted} after {limit:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Answer {
    /// The part of the body at a JSON pointer.
    pub fn at(&self, pointer: &str) -> &Value {
        self.body.pointer(pointer).unwrap_or(&Value::Null)
    }
}
