//! Redirect actions of listeners: a policy that redirects to another URL.
//!
//! Amazon composes the URL and takes missing parts from the request (`#{host}`), while a policy has a fixed URL. So
//! only a URL with a literal host and path is converted. Its protocol and port are literal or the listener's.
//!
//! Octavia evaluates policies with a redirect to a URL before policies with a pool, whatever their position. A redirect
//! for all requests is therefore converted only if no rule of the listener precedes it. Source: the Octavia guide, "L7
//! policy positions".

use serde_json::{Value, json};

use crate::import::context::Importer;
use crate::import::sections::as_number;

pub(super) const LISTENER: &str = "AWS::ElasticLoadBalancingV2::Listener";
pub(super) const RULE: &str = "AWS::ElasticLoadBalancingV2::ListenerRule";

/// The first target group to which an action forwards.
pub(super) fn forwarded(action: &Value) -> Option<&Value> {
    let groups = || action.pointer("/ForwardConfig/TargetGroups/0/TargetGroupArn");
    action.get("TargetGroupArn").or_else(groups)
}

/// The URL of a `redirect` action. Differences of the policy are reported. `listener` is a name.
pub(super) fn address(
    importer: &mut Importer<'_>,
    action: &Value,
    listener: Option<&str>,
    at: &str,
) -> Option<String> {
    let config = action.get("RedirectConfig")?;
    let listener_properties =
        listener.and_then(|name| importer.resources.get(name)?.get("Properties"));
    let address = written_out(config, listener_properties)?;
    if config.get("StatusCode").and_then(Value::as_str) == Some("HTTP_301") {
        importer.changed(
            at,
            "Octavia redirects with status 302 (temporary) instead of 301 (permanent)",
        );
    }
    if config.get("Query").is_none_or(|query| query == "#{query}") {
        importer.changed(
            at,
            "Octavia does not copy the query of the request to the new URL",
        );
    }
    Some(address)
}

fn written_out(config: &Value, listener: Option<&Value>) -> Option<String> {
    let text = |key: &str| match config.get(key) {
        Some(Value::Number(number)) => Some(number.to_string()),
        other => other.and_then(Value::as_str).map(str::to_owned),
    };
    let fixed = |key: &str| text(key).filter(|text| !text.contains("#{"));
    // Missing parts are the listener's own.
    let of_listener = |key: &str, placeholder: &str| match config.get(key) {
        Some(given) if given != placeholder => fixed(key),
        _ => match as_number(listener?.get(key)?) {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        },
    };
    let host = fixed("Host").filter(|host| !host.is_empty())?;
    let path = fixed("Path").filter(|path| path.starts_with('/'))?;
    let protocol = of_listener("Protocol", "#{protocol}")?.to_lowercase();
    let usual = match protocol.as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let port = match of_listener("Port", "#{port}")? {
        port if port == usual => String::new(),
        port => format!(":{}", port.parse::<u16>().ok()?),
    };
    let query = match config.get("Query").and_then(Value::as_str) {
        None | Some("" | "#{query}") => String::new(),
        Some(_) => format!("?{}", fixed("Query")?),
    };
    Some(format!("{protocol}://{host}{port}{path}{query}"))
}

/// The template's rules for a listener, with their actions.
pub(super) fn rules_at<'a>(importer: &Importer<'a>, listener: &str) -> Vec<&'a Value> {
    let resources = importer.resources.iter();
    let rules = resources.filter(|(name, _)| importer.type_of(name) == RULE);
    let given = rules.filter_map(|(_, body)| body.get("Properties"));
    let there = given.filter(|given| {
        let to = given.get("ListenerArn");
        to.and_then(|to| importer.referred(to, LISTENER)) == Some(listener)
    });
    there.collect()
}

/// Whether a rule forwards requests to a pool.
pub(super) fn leads_to_pool(rule: &Value) -> bool {
    let mut actions = rule
        .get("Actions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    actions.any(|action| forwarded(action).is_some())
}

/// A rule that matches every request. A policy without rules matches none.
pub(super) fn any_request(policy: &str) -> Value {
    json!({
        "l7policy": {"get_resource": policy},
        "type": "PATH",
        "compare_type": "STARTS_WITH",
        "value": "/",
    })
}
