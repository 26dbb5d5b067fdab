//! A minimal HTTP client.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The body of a GET of `http://<address><path>`. An error if the status is not 2xx.
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

/// Whether a GET succeeds.
pub fn answers(address: &str, path: &str) -> bool {
    get(address, path).is_ok()
}

/// Whether a listener accepts connections.
pub fn is_taken(address: &str) -> bool {
    TcpStream::connect(address).is_ok()
}

/// A free port on the loopback interface.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
    Ok(listener.local_addr()?.port())
}
