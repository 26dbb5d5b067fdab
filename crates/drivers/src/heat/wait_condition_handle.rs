//! `OS::Heat::WaitConditionHandle`, `OS::Heat::UpdateWaitConditionHandle` and `OS::Heat::SwiftSignalHandle`: what servers
//! signal to.
//!
//! Heat has a transport for each of its services. Here there is one: a request to our own server, at a signed address.
//! So `signal_transport` is accepted and changes nothing, except `NO_SIGNAL`, with which nobody waits. Like Heat's token,
//! ours is apart from the endpoint: `curl_cli` has the same form as Heat's. The address is generated once and never
//! changes. If servers cannot reach ours, a plan can have their signals fetched over SSH: then `curl_cli` is a command
//! that leaves the signal on its server, and the other attributes have no value. Source: Heat's
//! `wait_condition_handle.py`.

use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};

use super::{Context, Driver, DriverError, Duplicates, Progress, Properties, Ready, marker};
use crate::driver::{Abilities, SignalAddress};

/// The driver of a handle.
pub(super) struct WaitConditionHandle {
    /// Whether `get_resource` returns the address itself, as for cfn-signal.
    pub is_url: bool,
}

#[async_trait]
impl Driver for WaitConditionHandle {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::None
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            secrets: &["curl_cli", "signal", "token"],
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        Ok(marker::marker_name(context.marker))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let transport = Properties::of(context.properties).filled("signal_transport")?;
        let mut ready = Ready {
            reference: json!(physical_id),
            attributes: Map::new(),
        };
        if transport.as_deref() == Some("NO_SIGNAL") {
            ready.attributes.insert("signal".into(), json!("{}"));
            return Ok(Progress::Ready(ready));
        }
        if let Some(command) = context.signals.command() {
            ready.attributes.insert("curl_cli".into(), json!(command));
            return Ok(Progress::Ready(ready));
        }
        let address = context.signals.address().ok_or_else(|| DriverError::Property {
            property: "signal_transport".to_owned(),
            message: "servers cannot signal, because this server has no address for them. The operator can set one: \
                      STACKLOOM_SIGNAL_URL"
                .to_owned(),
        })?;
        if self.is_url {
            ready.reference = json!(address.url());
        }
        ready.attributes = attributes(&address);
        Ok(Progress::Ready(ready))
    }

    async fn delete(&self, context: &Context<'_>, _: Option<&str>) -> Result<(), DriverError> {
        context.signals.forget().await
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

fn attributes(address: &SignalAddress) -> Map<String, Json> {
    let SignalAddress { endpoint, token } = address;
    // The retries are for a server that is busy or restarts: cloud-init signals only once.
    let curl_cli = format!(
        "curl -i -X POST --retry 10 -H 'X-Auth-Token: {token}' -H 'Content-Type: application/json' \
         -H 'Accept: application/json' '{endpoint}'"
    );
    let signal = json!({"alarm_url": address.url()}).to_string();
    [
        ("curl_cli", curl_cli.as_str()),
        ("endpoint", endpoint),
        ("signal", &signal),
        ("token", token),
    ]
    .map(|(name, value)| (name.to_owned(), json!(value)))
    .into_iter()
    .collect()
}
