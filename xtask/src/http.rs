//! The few bytes of HTTP that we need: is something answering, and what does it say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The body of a GET of `http://<address><path>`; an error where the status is not 2xx.
pub fn get(address: &str, path: &str) -> Result<String> {
    let mut stream =
        TcpStream::connect(address).with_context(|| format!("nothing answers at {address}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .with_context(|| format!("{address} broke off its answer to {path}"))?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("an answer without a header's end")?;
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        bail!("{address} answered {status} to GET {path}");
    }
    Ok(body.to_owned())
}

/// Whether a GET of it succeeds.
pub fn answers(address: &str, path: &str) -> bool {
    get(address, path).is_ok()
}

/// Whether something listens there.
pub fn is_taken(address: &str) -> bool {
    TcpStream::connect(address).is_ok()
}

/// A port of the loopback that nothing uses right now.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
    Ok(listener.local_addr()?.port())
}
