//! One attempt of a component's health check, over SSH at its server.
//!
//! Ports are reached through the server's own sshd, at `localhost`: the bastion may not reach them, and a check needs no
//! program on the server.

mod dns;
mod tls;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};
use types::catalog::{CatalogItem, HealthCheck, Probe, names};
use zeroize::Zeroizing;

use crate::{
    resources::address,
    ssh::{ByteStream, Client, Gateway, Output, Route, SshError},
};

/// Variable of a command with the component's name.
const COMPONENT: &str = "stackloom_component";
/// Maximum size of an HTTP answer that is read.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Maximum size of a command's output in an error message.
const OUTPUT_BYTES_MAX: usize = 500;

/// The reason why a component is not healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unhealthy {
    /// The server cannot be reached, or refuses the check's SSH channel.
    Ssh(SshError),
    /// The answer of the component.
    Answer(String),
    /// The exit status and the output of a command. The output can contain secrets.
    Exit(u32, String),
}

impl From<SshError> for Unhealthy {
    fn from(error: SshError) -> Unhealthy {
        Unhealthy::Ssh(error)
    }
}

/// A component with a health check, and the SSH route to its server.
pub struct Subject {
    inputs: Map<String, Value>,
    route: Route,
    private_key: Zeroizing<String>,
    /// Connections to the bastion and the server: a check does not log in again for each attempt.
    connection: Option<(Option<Arc<Client>>, Client)>,
}

impl Subject {
    /// The component of this name and with these inputs, at the end of the route.
    pub fn new(
        name: &str,
        item: &CatalogItem,
        given: &Map<String, Value>,
        route: Route,
        private_key: Zeroizing<String>,
    ) -> Subject {
        let mut inputs = address::inputs(item, given);
        inputs.insert(COMPONENT.to_owned(), name.into());
        Subject {
            inputs,
            route,
            private_key,
            connection: None,
        }
    }

    /// The checks of the item that are made for this component.
    pub fn checks(&self, item: &CatalogItem) -> Vec<HealthCheck> {
        let checks = item.health.iter();
        let checks = checks.filter(|check| check.applies(&self.inputs));
        checks.cloned().collect()
    }

    /// Name of the component's server.
    pub fn server(&self) -> &str {
        &self.route.host.name
    }

    /// Tries a check once, within its time limit.
    ///
    /// # Errors
    /// If the component is not healthy.
    pub async fn attempt(
        &mut self,
        check: &HealthCheck,
        gateway: &Gateway,
    ) -> Result<(), Unhealthy> {
        self.connection.take_if(|(_, client)| client.is_closed());
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect(gateway).await?,
        };
        let (_, client) = self.connection.insert(connection);
        let limit = Duration::from_secs(check.timeout.into());
        let answer = timeout(limit, attempt(client, check, &self.inputs)).await;
        answer.unwrap_or_else(|_elapsed| {
            let why = format!("no answer within {} s", check.timeout);
            Err(Unhealthy::Answer(why))
        })
    }

    async fn connect(&self, gateway: &Gateway) -> Result<(Option<Arc<Client>>, Client), SshError> {
        let Route { bastion, user, .. } = &self.route;
        let gate = match bastion {
            Some(bastion) => Some(gateway.client(bastion, user, &self.private_key).await?),
            None => None,
        };
        let client =
            Client::connect_through(gate.as_deref(), &self.route, &self.private_key).await?;
        Ok((gate, client))
    }
}

/// Tries a check once. The caller limits the time; a command ends on the server soon after it too.
///
/// # Errors
/// If the component is not healthy.
pub async fn attempt(
    client: &Client,
    check: &HealthCheck,
    inputs: &Map<String, Value>,
) -> Result<(), Unhealthy> {
    match &check.probe {
        Probe::Tcp { port } => {
            let port = number(inputs, port)?;
            client.forward("localhost", port).await?;
            Ok(())
        }
        Probe::Http {
            port,
            scheme,
            path,
            status,
            contains,
        } => {
            let port = number(inputs, port)?;
            let scheme = filled(scheme.as_deref().unwrap_or("http"), inputs);
            let path = filled(path, inputs);
            let is_path = path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic());
            if !is_path {
                let why = format!("`{path}` is no path of a URL such as `/health`");
                return Err(Unhealthy::Answer(why));
            }
            let optional = |text: &Option<String>| {
                let text = filled(text.as_deref().unwrap_or_default(), inputs);
                (!text.is_empty()).then_some(text)
            };
            let status = optional(status).map(|status| {
                let number = status.parse::<u16>();
                number.map_err(|_| Unhealthy::Answer(format!("`{status}` is no HTTP status")))
            });
            let (status, contains) = (status.transpose()?, optional(contains));
            let stream = client.forward("localhost", port).await?;
            let stream: Box<dyn ByteStream> = match scheme.as_str() {
                "http" => Box::new(stream),
                "https" => Box::new(Box::pin(tls::connect(stream)).await?),
                other => {
                    let why = format!("`{other}` is no scheme; there are `http` and `https`");
                    return Err(Unhealthy::Answer(why));
                }
            };
            let answer = get(stream, &path, contains.is_some()).await?;
            judge(&answer, status, contains.as_deref()).map_err(Unhealthy::Answer)
        }
        Probe::Dns { port, name, record } => {
            let port = number(inputs, port)?;
            let name = filled(name, inputs);
            let query = dns::query(&name, *record).map_err(Unhealthy::Answer)?;
            let answer = resolve(client, port, &query).await?;
            dns::judge(&answer, &name, *record).map_err(Unhealthy::Answer)
        }
        Probe::Command { command } => {
            let command = with_variables(command, inputs);
            run(client, &limited(&command, check.timeout.saturating_add(1))).await
        }
    }
}

/// A text with the inputs that stand in it in braces.
fn filled(template: &str, inputs: &Map<String, Value>) -> String {
    address::fill(template, |word| Some(text(inputs.get(word)?)))
}

/// An input as text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn number(inputs: &Map<String, Value>, port: &str) -> Result<u16, Unhealthy> {
    let value = inputs.get(port);
    let number = value.and_then(|value| match value {
        Value::String(text) => text.parse().ok(),
        other => u16::try_from(other.as_u64()?).ok(),
    });
    number.ok_or_else(|| Unhealthy::Answer(format!("`{port}` is no port number")))
}

/// The answer to a GET request: its head, and its body if that is wanted. HTTP/1.0, so that bodies have no chunks.
async fn get(
    mut stream: impl ByteStream,
    path: &str,
    wants_body: bool,
) -> Result<Vec<u8>, Unhealthy> {
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: localhost\r\nUser-Agent: Stackloom\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    let broken = |error: std::io::Error| Unhealthy::Answer(format!("no answer: {error}"));
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    let mut answer = Vec::new();
    let mut piece = [0; 8192];
    while answer.len() < ANSWER_BYTES_MAX && (wants_body || !answer.contains(&b'\n')) {
        match stream.read(&mut piece).await {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            // A server may reset a connection after its answer.
            Err(_) if !answer.is_empty() => break,
            Err(error) => return Err(broken(error)),
        }
    }
    Ok(answer)
}

/// The answer to a DNS query over TCP, without its length.
async fn resolve(client: &Client, port: u16, query: &[u8]) -> Result<Vec<u8>, Unhealthy> {
    let mut stream = client.forward("localhost", port).await?;
    let broken = |error: std::io::Error| Unhealthy::Answer(format!("no answer: {error}"));
    stream.write_all(query).await.map_err(broken)?;
    let length = stream.read_u16().await.map_err(broken)?;
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await.map_err(broken)?;
    Ok(answer)
}

fn judge(answer: &[u8], status: Option<u16>, contains: Option<&str>) -> Result<(), String> {
    let text = String::from_utf8_lossy(answer);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let version = words.next().filter(|word| word.starts_with("HTTP/"));
    let code = version.and_then(|_| words.next()?.parse::<u16>().ok());
    let Some(code) = code else {
        let why = if answer.is_empty() {
            "the connection was closed without an answer"
        } else {
            "the answer is not HTTP"
        };
        return Err(why.to_owned());
    };
    match status {
        Some(status) if code != status => return Err(format!("HTTP {code}, expected {status}")),
        None if code >= 500 => return Err(format!("HTTP {code}, expected less than 500")),
        _ => {}
    }
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    match contains {
        Some(wanted) if !body.contains(wanted) => {
            Err(format!("HTTP {code}, but the answer lacks `{wanted}`"))
        }
        _ => Ok(()),
    }
}

/// A command with the inputs that it names as variables.
fn with_variables(command: &str, inputs: &Map<String, Value>) -> String {
    let mut variables = String::new();
    for (name, value) in inputs.iter().filter(|(name, _)| names(command, name)) {
        let value = text(value).replace('\'', r"'\''");
        variables += &format!("{name}='{value}'; ");
    }
    variables + command
}

/// A command for the user's login shell that the server ends after this time: attempts that hang must not pile up there.
fn limited(command: &str, seconds: u32) -> String {
    let quoted = command.replace('\'', r"'\''");
    format!(
        "check='{quoted}'; if command -v timeout >/dev/null 2>&1; then \
         exec timeout -k 2 {seconds} \"${{SHELL:-sh}}\" -c \"$check\"; fi; exec \"${{SHELL:-sh}}\" -c \"$check\""
    )
}

async fn run(client: &Client, command: &str) -> Result<(), Unhealthy> {
    let mut execution = client.execute(command).await?;
    let mut output = Vec::new();
    while let Some(Output::Out(bytes) | Output::Err(bytes)) = execution.output().await? {
        let room = OUTPUT_BYTES_MAX.saturating_sub(output.len());
        output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
    match execution.code().await? {
        0 => Ok(()),
        code => {
            let output = String::from_utf8_lossy(&output);
            Err(Unhealthy::Exit(code, output.trim().to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_http_answer_is_judged_by_status_and_text() {
        let page = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n{\"state\": \"ok\"}";
        assert_eq!(judge(page, None, None), Ok(()));
        assert_eq!(judge(page, Some(200), Some("ok")), Ok(()));
        let missing = judge(page, Some(200), Some("Server"));
        assert_eq!(
            missing.unwrap_err(),
            "HTTP 200, but the answer lacks `Server`"
        );
        let other = judge(page, Some(204), None);
        assert_eq!(other.unwrap_err(), "HTTP 200, expected 204");
        assert_eq!(judge(b"HTTP/1.1 401 No\r\n\r\n", None, None), Ok(()));
        let broken = judge(b"HTTP/1.0 503 Busy\r\n\r\n", None, None);
        assert_eq!(broken.unwrap_err(), "HTTP 503, expected less than 500");
        assert!(judge(b"", None, None).unwrap_err().contains("without"));
        assert!(
            judge(b"SSH-2.0-x\r\n", None, None)
                .unwrap_err()
                .contains("not HTTP")
        );
    }

    #[test]
    fn a_command_gets_the_inputs_that_it_names() {
        let inputs = json!({"port": 5432, "name": "it's", "port_other": 1, "text": "$port"});
        let inputs = inputs.as_object().unwrap();
        assert_eq!(
            with_variables("check -p \"$port\" ${name}", inputs),
            r#"port='5432'; name='it'\''s'; check -p "$port" ${name}"#
        );
        assert_eq!(with_variables("true", inputs), "true");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let run = |command: &str| {
            let mut shell = std::process::Command::new("sh");
            let ended = shell.arg("-c").arg(limited(command, 1)).output().unwrap();
            let output = String::from_utf8(ended.stdout).unwrap();
            (ended.status.code(), output)
        };
        assert_eq!(
            run("word='it'\\''s'\necho \"$word\"; exit 3"),
            (Some(3), "it's\n".to_owned())
        );
        assert_eq!(run("sleep 600; echo late"), (Some(124), String::new()));
    }
}
