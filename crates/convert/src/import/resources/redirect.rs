//! Where a listener of the second kind sends a client instead of to a pool: a policy that answers with another address.
//!
//! Amazon puts that address together and takes from the request what is not given (`#{host}`), while a policy's address is fixed.
//! So only one that can be written out is taken: its host and path are given, and its protocol and port are given or the
//! listener's.
//!
//! Octavia asks policies that lead to an address before those that lead to a pool, whatever their position. A redirect for all
//! requests is therefore only taken where no rule of the listener comes before it. Source: the Octavia guide, "L7 policy
//! positions".

use serde_json::{Value, json};

use crate::import::context::Importer;
use crate::import::sections::as_number;

pub(super) const LISTENER: &str = "AWS::ElasticLoadBalancingV2::Listener";
pub(super) const RULE: &str = "AWS::ElasticLoadBalancingV2::ListenerRule";

/// The target group that an action leads to; of several the first.
pub(super) fn forwarded(action: &Value) -> Option<&Value> {
    let groups = || action.pointer("/ForwardConfig/TargetGroups/0/TargetGroupArn");
    action.get("TargetGroupArn").or_else(groups)
}

/// The address that a `redirect` action leads to, if it is one; what the policy does otherwise is told. `listener` is a name.
pub(super) fn address(
    importer: &mut Importer<'_>,
    action: &Value,
    listener: Option<&str>,
    at: &str,
) -> Option<String> {
    let config = action.get("RedirectConfig")?;
    let heard = listener.and_then(|name| importer.resources.get(name)?.get("Properties"));
    let address = written_out(config, heard)?;
    if config.get("StatusCode").and_then(Value::as_str) == Some("HTTP_301") {
        importer.changed(at, "the answer is 302: for the time being, not for good");
    }
    if config.get("Query").is_none_or(|query| query == "#{query}") {
        importer.changed(at, "the query of the request does not go along");
    }
    Some(address)
}

fn written_out(config: &Value, listener: Option<&Value>) -> Option<String> {
    let text = |key: &str| match config.get(key) {
        Some(Value::Number(number)) => Some(number.to_string()),
        other => other.and_then(Value::as_str).map(str::to_owned),
    };
    let fixed = |key: &str| text(key).filter(|text| !text.contains("#{"));
    // The listener's own where it is not given.
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

/// Rules of the template at a listener, with what they do.
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

/// Whether a rule sends requests to a pool.
pub(super) fn leads_to_pool(rule: &Value) -> bool {
    let mut actions = rule
        .get("Actions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    actions.any(|action| forwarded(action).is_some())
}

/// What a policy that all requests meet asks of them: one without rules is met by none.
pub(super) fn any_request(policy: &str) -> Value {
    json!({
        "l7policy": {"get_resource": policy},
        "type": "PATH",
        "compare_type": "STARTS_WITH",
        "value": "/",
    })
}
