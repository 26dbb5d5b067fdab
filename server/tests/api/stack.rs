//! A server with its cloud, and its clients.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::Once,
    time::Duration,
};

use clap::Parser;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::keystone::{self, CallCounts};

/// The folder of the server's own items, unless a setting names another one.
const OWN_ITEMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog");

/// A running server.
pub struct Stack {
    pub base: String,
    pub calls: CallCounts,
    folder: TempDir,
    http: reqwest::Client,
    server: server::Server,
}

impl Stack {
    /// Starts a server with the cloud of `keystone`.
    pub async fn start() -> Stack {
        let (address, calls) = keystone::start().await;
        Stack {
            calls,
            ..Stack::with_cloud(&format!("{address}/v3")).await
        }
    }

    /// Starts a server with the clouds `test`, which is available, and `dead`, which is not.
    pub async fn with_cloud(auth_url: &str) -> Stack {
        let clouds = format!(
            "clouds:\n  test:\n    auth: {{auth_url: '{auth_url}'}}\n  dead:\n    auth: {{auth_url: 'http://127.0.0.1:9/v3'}}\n"
        );
        Stack::with_clouds(&clouds, &[]).await
    }

    /// Starts a server with the clouds of a `clouds.yaml`, and with settings.
    pub async fn with_clouds(clouds: &str, settings: &[&str]) -> Stack {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("site/pkg")).unwrap();
        std::fs::write(folder.path().join("clouds.yaml"), clouds).unwrap();
        Stack::on(folder, CallCounts::default(), settings).await
    }

    /// A new process with the same data.
    pub async fn restart(self) -> Stack {
        self.restart_with(&[]).await
    }

    /// A new process with the same data and additional settings.
    pub async fn restart_with(self, settings: &[&str]) -> Stack {
        self.server.stop().await;
        Stack::on(self.folder, self.calls, settings).await
    }

    async fn on(folder: TempDir, calls: CallCounts, settings: &[&str]) -> Stack {
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (clouds, data, site) = (path("clouds.yaml"), path("data"), path("site"));
        let usual = [
            "stackloom",
            "--clouds",
            &clouds,
            "--data",
            &data,
            "--site",
            &site,
        ];
        let own_items = ["--catalog", OWN_ITEMS];
        let catalog: &[&str] = if settings.contains(&"--catalog") {
            &[]
        } else {
            &own_items
        };
        let config = server::Config::parse_from([&usual[..], catalog, settings].concat());
        let server = server::build(config).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(server.serve(listener));
        Stack {
            base,
            calls,
            folder,
            http: http(),
            server,
        }
    }

    /// Serves on another address, too.
    pub fn also_on(&self, listener: TcpListener) {
        tokio::spawn(self.server.serve(listener));
    }

    /// Serves signals, and nothing else, on another address.
    pub fn signals_on(&self, listener: TcpListener) {
        tokio::spawn(self.server.serve_signals(listener));
    }

    /// Path of the data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Path of the built site.
    pub fn site(&self) -> PathBuf {
        self.folder.path().join("site")
    }

    /// A browser without a login.
    pub fn stranger(&self) -> Client {
        Client {
            base: self.base.clone(),
            http: self.http.clone(),
            cookie: None,
        }
    }

    /// A browser without a login, on another machine.
    pub fn elsewhere(&self) -> Client {
        Client {
            http: from(Ipv4Addr::new(127, 0, 0, 2)),
            ..self.stranger()
        }
    }

    /// A logged-in browser, with password and project as in the table in `keystone`.
    pub async fn login(&self, user: &str) -> Client {
        let project = if user == "other" { user } else { "demo" };
        let response = self
            .stranger()
            .post("/api/v1/login", &credentials(user, user, project))
            .await;
        assert_eq!(response.status(), StatusCode::OK);
        self.with_cookie(&cookie(&response))
    }

    /// A browser with a stored cookie.
    pub fn with_cookie(&self, cookie: &str) -> Client {
        Client {
            cookie: Some(cookie.to_owned()),
            ..self.stranger()
        }
    }
}

/// The body of a login by password to the cloud `test`.
pub fn credentials(user: &str, password: &str, project: &str) -> Value {
    json!({"cloud": "test", "user": user, "password": password, "project": project})
}

/// Name and value of the session's cookie.
pub fn cookie(response: &Response) -> String {
    let set = response.headers()[header::SET_COOKIE].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

/// A client of the server.
pub struct Client {
    pub base: String,
    pub http: reqwest::Client,
    pub cookie: Option<String>,
}

impl Client {
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.request(Method::POST, path)
            .json(body)
            .send()
            .await
            .unwrap()
    }

    pub async fn put(&self, path: &str, body: &Value) -> Response {
        self.request(Method::PUT, path)
            .json(body)
            .send()
            .await
            .unwrap()
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.request(Method::DELETE, path).send().await.unwrap()
    }
}

/// Waits until a condition holds, at most a minute.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let holds = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let held = tokio::time::timeout(Duration::from_secs(60), holds).await;
    held.expect(what);
}

/// The JSON of a response with this status.
pub async fn json(response: Response, status: u16) -> Value {
    let got = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(got, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The code of a problem. Checks the problem's format.
pub async fn problem(response: Response) -> (u16, String) {
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "application/problem+json"
    );
    let status = response.status().as_u16();
    let problem: api::Problem = response.json().await.unwrap();
    assert_eq!(problem.status, status);
    assert_eq!(problem.kind, format!("/errors/{}", problem.code));
    assert!(problem.detail.ends_with('.'), "{}", problem.detail);
    (status, problem.code)
}

fn http() -> reqwest::Client {
    from(Ipv4Addr::LOCALHOST)
}

/// A client with this address; all of 127.0.0.0/8 belongs to this machine.
fn from(address: Ipv4Addr) -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder()
        .local_address(IpAddr::V4(address))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap()
}
