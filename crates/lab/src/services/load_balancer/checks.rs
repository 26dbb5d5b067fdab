//! Checks of request bodies against other resources.

use serde_json::{Map, Value};

use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::load_balancer::{Resource, ResourceType};

/// Protocols that the lab does not support.
const UNSUPPORTED: &[&str] = &["TERMINATED_HTTPS", "UDP", "SCTP", "PROMETHEUS"];

pub(crate) fn invalid(detail: impl std::fmt::Display) -> Refusal {
    Refusal::bad_request(format!("Validation failure: {detail}"))
}

pub(crate) fn text_field<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    body.get(name).and_then(Value::as_str)
}

impl Model {
    /// A resource of the project.
    pub(crate) fn own_piece(
        &self,
        project_id: &str,
        part: ResourceType,
        id: &str,
    ) -> Result<&Resource, Refusal> {
        let resource = self.resource(part, id)?;
        if resource.project_id == project_id {
            Ok(resource)
        } else {
            Err(part.not_found(id))
        }
    }

    /// The parent of a new resource.
    pub(crate) fn parent_of_new(
        &self,
        project_id: &str,
        part: ResourceType,
        parent: Option<&str>,
        body: &Map<String, Value>,
    ) -> Result<String, Refusal> {
        let named = |name: &'static str| {
            text_field(body, name).ok_or_else(|| {
                Refusal::bad_request(format!(
                    "Invalid input for field/attribute {name}. Value: 'None'. Mandatory field missing."
                ))
            })
        };
        let (kind, id) = match part {
            ResourceType::LoadBalancer => return Ok(String::new()),
            ResourceType::Listener => (ResourceType::LoadBalancer, named("loadbalancer_id")?),
            ResourceType::Pool => {
                match (
                    text_field(body, "loadbalancer_id"),
                    text_field(body, "listener_id"),
                ) {
                    (Some(id), _) => (ResourceType::LoadBalancer, id),
                    (None, Some(id)) => {
                        let listener = self.own_piece(project_id, ResourceType::Listener, id)?;
                        return Ok(listener.parent.clone());
                    }
                    (None, None) => {
                        return Err(invalid(
                            "Must provide at least one of: listener_id, loadbalancer_id",
                        ));
                    }
                }
            }
            ResourceType::HealthMonitor => (ResourceType::Pool, named("pool_id")?),
            ResourceType::L7Policy => (ResourceType::Listener, named("listener_id")?),
            ResourceType::Member => (ResourceType::Pool, parent.unwrap_or_default()),
            ResourceType::L7Rule => (ResourceType::L7Policy, parent.unwrap_or_default()),
        };
        Ok(self.own_piece(project_id, kind, id)?.id.clone())
    }

    pub(crate) fn check_new(
        &self,
        project_id: &str,
        part: ResourceType,
        parent: &str,
        fields: &mut Map<String, Value>,
    ) -> Result<(), Refusal> {
        let text = |name: &str| {
            fields
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let protocol = text("protocol");
        if UNSUPPORTED.contains(&protocol.as_str()) {
            return Err(Refusal::new(
                501,
                "ProviderUnsupportedOptionError",
                format!(
                    "Provider 'octavia' does not support a requested option: protocol {protocol}"
                ),
            ));
        }
        let port = fields.get("protocol_port").and_then(Value::as_i64);
        match part {
            ResourceType::Listener => {
                let mut others = self.children_of(parent, ResourceType::Listener);
                if others.any(|other| other.number("protocol_port") == port) {
                    return Err(Refusal::conflict(
                        "DuplicateListenerEntry",
                        format!(
                            "Another Listener on this Load Balancer is already using protocol {protocol} and protocol_port {}",
                            port.unwrap_or_default()
                        ),
                    ));
                }
                self.check_pool(parent, &text("default_pool_id"), Some(&protocol))
            }
            ResourceType::Member => {
                let address = text("address");
                let mut others = self.children_of(parent, ResourceType::Member);
                if others.any(|other| {
                    other.text("address") == address && other.number("protocol_port") == port
                }) {
                    return Err(Refusal::conflict(
                        "DuplicateMemberEntry",
                        format!(
                            "Another member on this pool is already using ip {address} on protocol_port {}",
                            port.unwrap_or_default()
                        ),
                    ));
                }
                let subnet = text("subnet_id");
                if !subnet.is_empty() && self.subnet_for(project_id, &subnet).is_err() {
                    return Err(Refusal::bad_request(format!("Subnet {subnet} not found.")));
                }
                Ok(())
            }
            ResourceType::HealthMonitor => {
                if self
                    .children_of(parent, ResourceType::HealthMonitor)
                    .next()
                    .is_some()
                {
                    return Err(Refusal::conflict(
                        "DuplicateHealthMonitor",
                        "This pool already has a health monitor",
                    ));
                }
                if text("type").starts_with("HTTP") {
                    for (name, usual) in [
                        ("http_method", "GET"),
                        ("url_path", "/"),
                        ("expected_codes", "200"),
                    ] {
                        if fields.get(name).is_none_or(Value::is_null) {
                            fields.insert(name.into(), usual.into());
                        }
                    }
                }
                Ok(())
            }
            ResourceType::L7Policy => self.check_policy(parent, fields),
            ResourceType::L7Rule => check_rule(fields),
            ResourceType::LoadBalancer | ResourceType::Pool => Ok(()),
        }
    }

    /// Checks that a listener accepts this new pool as its default.
    pub(crate) fn check_listener(
        &self,
        project_id: &str,
        id: &str,
        protocol: &str,
    ) -> Result<(), Refusal> {
        let listener = self.own_piece(project_id, ResourceType::Listener, id)?;
        fitting(listener.text("protocol"), protocol)?;
        if listener.text("default_pool_id").is_empty() {
            Ok(())
        } else {
            Err(Refusal::conflict(
                "DuplicatePoolEntry",
                "This listener already has a default pool",
            ))
        }
    }

    /// Checks that a listener of this load balancer can use this pool. An empty id is accepted.
    pub(crate) fn check_pool(
        &self,
        balancer: &str,
        pool: &str,
        listens: Option<&str>,
    ) -> Result<(), Refusal> {
        if pool.is_empty() {
            return Ok(());
        }
        let found = self.resource(ResourceType::Pool, pool)?;
        if found.parent != balancer {
            return Err(ResourceType::Pool.not_found(pool));
        }
        listens.map_or(Ok(()), |listens| fitting(listens, found.text("protocol")))
    }

    pub(crate) fn check_policy(
        &self,
        listener: &str,
        fields: &mut Map<String, Value>,
    ) -> Result<(), Refusal> {
        let action = fields
            .get("action")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let wanted = match action {
            "REDIRECT_TO_POOL" => "redirect_pool_id",
            "REDIRECT_TO_URL" => "redirect_url",
            "REDIRECT_PREFIX" => "redirect_prefix",
            _ => "",
        };
        let led_to = fields
            .get(wanted)
            .and_then(Value::as_str)
            .map(str::to_owned);
        if !wanted.is_empty() && led_to.is_none() {
            return Err(Refusal::bad_request(format!(
                "Invalid L7 Policy arguments: {wanted} must not be None"
            )));
        }
        if wanted.starts_with("redirect_") && wanted != "redirect_pool_id" {
            let code = fields.entry("redirect_http_code").or_insert(Value::Null);
            if code.is_null() {
                *code = 302.into();
            }
        }
        for name in ["redirect_pool_id", "redirect_url", "redirect_prefix"] {
            if name != wanted && fields.contains_key(name) {
                fields.insert(name.into(), Value::Null);
            }
        }
        let balancer = self.balancer_of(listener).unwrap_or_default();
        let pool = (wanted == "redirect_pool_id").then_some(led_to).flatten();
        self.check_pool(&balancer, &pool.unwrap_or_default(), None)
    }
}

/// Checks that the protocols of a listener and a pool are compatible.
pub(crate) fn fitting(listens: &str, pool: &str) -> Result<(), Refusal> {
    let fine = match listens {
        "HTTP" => ["HTTP", "PROXY", "PROXYV2"].contains(&pool),
        "HTTPS" => ["HTTPS", "PROXY", "PROXYV2", "TCP"].contains(&pool),
        _ => ["HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"].contains(&pool),
    };
    fine.then_some(()).ok_or_else(|| {
        invalid(format!(
            "The pool protocol '{pool}' is invalid while the listener protocol is '{listens}'."
        ))
    })
}

pub(crate) fn check_rule(fields: &Map<String, Value>) -> Result<(), Refusal> {
    let bad = |error: &str| Refusal::bad_request(format!("Error parsing L7Rule: {error}"));
    let text = |name: &str| text_field(fields, name).unwrap_or_default();
    let key = text("key");
    let token = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    match text("type") {
        "HEADER" | "COOKIE" if key.is_empty() => Err(bad("A key must be specified")),
        "HEADER" | "COOKIE" if !token(key) => Err(bad("Invalid characters in key")),
        "FILE_TYPE" if !["REGEX", "EQUAL_TO"].contains(&text("compare_type")) => {
            Err(bad("File type rules only support REGEX and EQUAL_TO"))
        }
        "SSL_CONN_HAS_CERT" | "SSL_VERIFY_RESULT" | "SSL_DN_FIELD" => Err(Refusal::new(
            501,
            "ProviderUnsupportedOptionError",
            "Provider 'octavia' does not support a requested option: rules about TLS",
        )),
        _ => Ok(()),
    }
}
