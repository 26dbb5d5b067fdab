//! A cloud of canned responses, for unusual behavior: invalid data, redirects, endless responses.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path with query.
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

/// A canned response. Status 0 closes the connection without a response.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

pub fn answer(status: u16, body: Value) -> Answer {
    Answer {
        status,
        headers: vec![("content-type", "application/json".into())],
        body: body.to_string().into_bytes(),
    }
}

pub fn page(status: u16, text: &str) -> Answer {
    Answer {
        status,
        headers: vec![("content-type", "text/html".into())],
        body: text.as_bytes().to_vec(),
    }
}

/// Closes the connection instead of a response.
pub fn cut() -> Answer {
    answer(0, Value::Null)
}

impl Answer {
    pub fn with(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.push((name, value.into()));
        self
    }
}

/// A local address without a listener, reserved for the lifetime of this value: the socket is bound, but does not
/// listen. A released port could be reused by another process.
pub struct UnusedAddress {
    pub address: SocketAddr,
    _bound: TcpSocket,
}

impl UnusedAddress {
    pub fn new() -> UnusedAddress {
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind(([127, 0, 0, 1], 0).into()).unwrap();
        UnusedAddress {
            address: bound.local_addr().unwrap(),
            _bound: bound,
        }
    }
}

/// The canned cloud: its URL, received requests, number of connections, and maximum number of concurrent requests.
#[derive(Clone)]
pub struct Canned {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Canned {
    /// Starts the cloud; `answers` gets its URL and the request.
    pub async fn start(
        answers: impl Fn(&str, &Request) -> Answer + Send + Sync + 'static,
    ) -> Canned {
        Canned::listen(None, answers).await
    }

    /// Starts the cloud behind TLS. Clients that fail the handshake get no response.
    pub async fn start_tls(
        tls: TlsAcceptor,
        answers: impl Fn(&str, &Request) -> Answer + Send + Sync + 'static,
    ) -> Canned {
        Canned::listen(Some(tls), answers).await
    }

    async fn listen(
        tls: Option<TlsAcceptor>,
        answers: impl Fn(&str, &Request) -> Answer + Send + Sync + 'static,
    ) -> Canned {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let canned = Canned {
            url: format!("{scheme}://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
            connections: Arc::default(),
            most: Arc::default(),
        };
        let (state, answers) = (canned.clone(), Arc::new(answers));
        let now = Arc::new(AtomicUsize::new(0));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                state.connections.fetch_add(1, Ordering::SeqCst);
                let (state, answers, now) = (state.clone(), answers.clone(), now.clone());
                let tls = tls.clone();
                tokio::spawn(async move {
                    let Some(tls) = tls else {
                        return serve(stream, &state, &now, &*answers).await;
                    };
                    serve(tls.accept(stream).await?, &state, &now, &*answers).await
                });
            }
        });
        canned
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    state: &Canned,
    now: &AtomicUsize,
    answers: &(dyn Fn(&str, &Request) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some(request) = read(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
        state.most.fetch_max(at_once, Ordering::SeqCst);
        state.requests.lock().unwrap().push(request.clone());
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let answer = answers(&state.url, &request);
        now.fetch_sub(1, Ordering::SeqCst);
        if answer.status == 0 {
            return Ok(());
        }
        let mut head = format!(
            "HTTP/1.1 {} X\r\ncontent-length: {}\r\n",
            answer.status,
            answer.body.len()
        );
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        // One write: the second of two would wait for the acknowledgement of the first.
        let whole = [head.as_bytes(), &answer.body].concat();
        stream.write_all(&whole).await?;
    }
}

async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Request>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).to_string();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (
        first.next().unwrap_or_default(),
        first.next().unwrap_or_default(),
    );
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_string()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while buffer.len() < end + length {
        stream.read_buf(buffer).await?;
    }
    let body = serde_json::from_slice(&buffer[end..end + length]).unwrap_or(Value::Null);
    buffer.drain(..end + length);
    Ok(Some(Request {
        method: method.into(),
        path: path.into(),
        headers,
        body,
    }))
}

/// A Keystone with user `demo` (password `demo`) and the project `demo`. Each service of its catalogue has a path
/// prefix, without a version.
pub fn keystone(url: &str, request: &Request) -> Option<Answer> {
    let refused = || {
        answer(
            401,
            json!({"error": {"code": 401, "title": "Unauthorized",
            "message": "The request you have made requires authentication."}}),
        )
        .with("x-openstack-request-id", "req-401")
    };
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/identity/v3/auth/tokens") => {
            let auth = &request.body["auth"];
            let password = &auth["identity"]["password"]["user"]["password"];
            let scope = &auth["scope"];
            let project = &scope["project"]["name"];
            let token = &auth["identity"]["token"]["id"];
            if (password != "demo" && token != "unscoped-token")
                || (scope != "unscoped" && project != "demo")
            {
                return Some(refused());
            }
            let token = if scope == "unscoped" {
                "unscoped-token"
            } else {
                "scoped-token"
            };
            Some(answer(201, token_body(url, scope != "unscoped")).with("x-subject-token", token))
        }
        ("GET", "/identity/v3/auth/tokens") => {
            Some(match request.headers["x-subject-token"].as_str() {
                "scoped-token" => answer(200, token_body(url, true)),
                _ => answer(
                    404,
                    json!({"error": {"code": 404, "title": "Not Found", "message": "Failed to validate token"}}),
                ),
            })
        }
        ("DELETE", "/identity/v3/auth/tokens") => Some(answer(204, json!(null))),
        ("GET", "/identity/v3/auth/projects") => Some(answer(
            200,
            json!({"projects": [{"id": "p1", "name": "demo", "domain_id": "default"}], "links": {"next": null}}),
        )),
        _ => None,
    }
}

fn token_body(url: &str, scoped: bool) -> Value {
    let domain = json!({"id": "default", "name": "Default"});
    let mut token = json!({
        "expires_at": "2126-01-01T00:00:00.000000Z",
        "user": {"id": "u1", "name": "demo", "domain": domain},
    });
    if scoped {
        token["project"] = json!({"id": "p1", "name": "demo", "domain": domain});
        token["roles"] = json!([{"id": "r1", "name": "member"}]);
        let service = |kind: &str, path: &str| json!({"type": kind, "endpoints": [{"interface": "public", "region": "lab", "region_id": "lab", "url": format!("{url}{path}")}]});
        token["catalog"] = json!([
            service("compute", "/compute/v2.1/p1"),
            service("image", "/image"),
            service("network", "/network/"),
            service("volumev3", "/volume/v3/p1"),
            service("alarm", "/alarm"),
            service("dns", "/dns"),
            service("object-store", "/swift/v1/AUTH_p1")
        ]);
    }
    json!({"token": token})
}
