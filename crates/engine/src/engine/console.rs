//! The console of a server: what it wrote since its boot, and its screen.
//!
//! A console needs no login on the server and no network to it. It helps when SSH does not: the system does not boot,
//! cloud-init fails, or a firewall is wrong.

use api::{ConsoleLog, GraphicalConsole};
use openstack::Session;

use super::Engine;
use crate::{Actor, Error, Result};

/// Number of lines of a console log.
const LINES: u32 = 500;
/// Maximum size of a console log in bytes: a line has no limit.
const BYTES_MAX: usize = 256 * 1024;
/// Protocols and types of consoles, in the order in which they are tried. A serial console is a websocket and not a page.
const CONSOLES: [(&str, &str); 3] = [
    ("vnc", "novnc"),
    ("spice", "spice-html5"),
    ("serial", "serial"),
];

impl Engine {
    /// The last lines of a server's console.
    ///
    /// # Errors
    /// If there is no such server in the deployment, it is not created yet, or the cloud refuses.
    pub async fn console_log(
        &self,
        actor: &Actor,
        deployment: &str,
        server: &str,
    ) -> Result<ConsoleLog> {
        let id = self.server_id(actor, deployment, server).await?;
        let _turn = self.core.page_requests.turn(&actor.tenant).await;
        let compute = actor.session.compute();
        let read = compute.server_console(&id, LINES).await;
        let text = read.map_err(|error| explained(error, server))?;
        Ok(ConsoleLog {
            text: end_of(&text).to_owned(),
        })
    }

    /// A graphical console of a server, or the serial one if the cloud has no other.
    ///
    /// # Errors
    /// If there is no such server in the deployment, it is not created yet, or the cloud has no console for it.
    pub async fn graphical_console(
        &self,
        actor: &Actor,
        deployment: &str,
        server: &str,
    ) -> Result<GraphicalConsole> {
        let id = self.server_id(actor, deployment, server).await?;
        let _turn = self.core.page_requests.turn(&actor.tenant).await;
        let url = console_url(&actor.session, &id).await;
        let url = url.map_err(|error| explained(error, server))?;
        if !is_address(&url) {
            return Err(Error::NotPossibleNow(format!(
                "the cloud's console of `{server}` is neither a web page nor a websocket"
            )));
        }
        Ok(GraphicalConsole { url })
    }

    /// The id of a server in the cloud.
    pub(super) async fn server_id(
        &self,
        actor: &Actor,
        deployment: &str,
        server: &str,
    ) -> Result<String> {
        let found = self.find_server(&actor.tenant, deployment, server).await?;
        found.server.physical_id.ok_or_else(|| {
            Error::NotPossibleNow(format!("`{server}` is not created yet; wait for its run"))
        })
    }
}

/// The URL of the first type of console that the cloud offers, or the cloud's reason against the first one.
async fn console_url(session: &Session, id: &str) -> Result<String, openstack::Error> {
    let mut refused = None;
    let compute = session.compute();
    for (protocol, kind) in CONSOLES {
        match compute.server_console_url(id, protocol, kind).await {
            Ok(url) => return Ok(url),
            Err(error) if error.status() == Some(400) => refused = refused.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    Err(refused.expect("there is a type of console"))
}

fn explained(error: openstack::Error, server: &str) -> Error {
    match error.status() {
        Some(404) => Error::NotPossibleNow(format!(
            "`{server}` is gone from the cloud; update the deployment to create it again"
        )),
        Some(409) => Error::NotPossibleNow(format!(
            "`{server}` has no console in its present state in the cloud: it is being built, or does not run"
        )),
        _ => Error::Cloud(error),
    }
}

/// The last [`BYTES_MAX`] bytes of a text, from the start of a line if one starts there.
fn end_of(text: &str) -> &str {
    if text.len() <= BYTES_MAX {
        return text;
    }
    let end = &text[text.ceil_char_boundary(text.len() - BYTES_MAX)..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

/// True for the URL of a page or a websocket. The cloud's answer is not ours: `javascript:` would run in our page.
fn is_address(url: &str) -> bool {
    let schemes = ["https://", "http://", "wss://", "ws://"];
    schemes.iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_log_starts_with_a_whole_line() {
        let text = "ä\n".repeat(BYTES_MAX);
        let end = end_of(&text);
        assert!(end.len() <= BYTES_MAX && end.starts_with('ä'));
        assert!(end.len() > BYTES_MAX - 10, "{}", end.len());
        assert_eq!(end_of(&"x".repeat(BYTES_MAX + 1)).len(), BYTES_MAX);
        assert_eq!(end_of("short\n"), "short\n");
    }

    #[test]
    fn a_console_is_a_page_or_a_websocket_and_no_script() {
        assert!(is_address("https://cloud:6080/vnc_auto.html?token=1"));
        assert!(is_address("ws://cloud:6083/?token=1"));
        assert!(!is_address("javascript:alert(1)"));
    }
}
