//! A Docker daemon whose containers end well as soon as they have their input.
//!
//! It knows the calls of a sandbox, and no other one: `crates/engine/src/sandbox/docker.rs`.

use axum::{
    Json, Router,
    body::Body,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

/// The words of a container, instead of Ansible's.
const WORDS: &[u8] = b"a sandbox without Ansible has done nothing, and has done it well\n";

/// Types and flags of frames: `crates/engine/images/sandbox/entry.py`.
const DATA: u8 = 0;
const WINDOW: u8 = 1;
const SYN: u16 = 1;
const FIN: u16 = 4;
/// The stream of a container's output. Its side has odd numbers.
const OUT: u32 = 1;

/// Starts a daemon on a free port. Returns its address for `STACKLOOM_DOCKER`.
pub async fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("tcp://{address}")
}

async fn answer(mut request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    let words = match words.split_first() {
        Some((version, rest)) if version.starts_with("v1.") => rest,
        _ => &words[..],
    };
    let method = request.method().clone();
    match (method.as_str(), words) {
        ("GET", ["version"]) => Json(json!({"ApiVersion": "1.41"})).into_response(),
        // A container ends with its connection, so a killed engine leaves none.
        ("GET", ["containers", "json"]) => Json(json!([])).into_response(),
        ("POST", ["containers", "create"]) => (
            StatusCode::CREATED,
            Json(json!({"Id": "one", "Warnings": []})),
        )
            .into_response(),
        ("POST", ["containers", _, "attach"]) => {
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                if let Ok(streams) = upgrade.await {
                    // The engine may be killed at any byte.
                    let _ended = run(&mut TokioIo::new(streams)).await;
                }
            });
            let upgraded = Response::builder()
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header(header::CONNECTION, "Upgrade")
                .header(header::UPGRADE, "tcp");
            upgraded.body(Body::empty()).unwrap()
        }
        ("POST", ["containers", _, "start"]) | ("DELETE", ["containers", _]) => {
            StatusCode::NO_CONTENT.into_response()
        }
        ("POST", ["containers", _, "wait"]) => "{\"StatusCode\":0}\n".into_response(),
        _ => {
            let message = json!({"message": format!("not in this stand-in: {path}")});
            (StatusCode::NOT_FOUND, Json(message)).into_response()
        }
    }
}

/// A container: it reads its files and its program, and writes its output.
async fn run(streams: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> std::io::Result<()> {
    let mut length = [0; 11];
    streams.read_exact(&mut length).await?;
    let length = std::str::from_utf8(&length[..10]).unwrap();
    let mut order = vec![0; length.parse().unwrap()];
    streams.read_exact(&mut order).await?;
    let words = [b"out\n", WORDS].concat();
    let output = [
        frame(WINDOW, SYN, &[]),
        frame(DATA, 0, &words),
        frame(DATA, FIN, &[]),
    ]
    .concat();
    // Docker's header: standard output, and the length.
    let mut piece = vec![1, 0, 0, 0];
    piece.extend(u32::try_from(output.len()).unwrap().to_be_bytes());
    piece.extend(output);
    streams.write_all(&piece).await?;
    streams.shutdown().await?;
    // A connection that is closed with unread bytes is reset, and its output lost.
    tokio::io::copy(streams, &mut tokio::io::sink())
        .await
        .map(drop)
}

/// A frame of the stream of the output.
fn frame(kind: u8, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, kind];
    frame.extend(flags.to_be_bytes());
    frame.extend(OUT.to_be_bytes());
    frame.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    frame.extend(body);
    frame
}
