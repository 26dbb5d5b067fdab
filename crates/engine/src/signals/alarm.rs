//! The body of a request to a policy. Pure.
//!
//! Heat's policies act on an empty body, and on one whose `current` or `state` is `alarm`, as Aodh and Ceilometer send
//! it. Alertmanager sends `status`, which is `firing` or `resolved`. Other fields are ignored. Sources: Heat's
//! `scaling_policy.py`, Alertmanager's webhook receiver.

use serde_json::{Map, Value};

/// Whether a policy acts on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The alarm is raised, or the request says nothing about one.
    Raised,
    /// The alarm is over, or its state is unknown.
    Quiet,
}

/// An alarm from a request's body. An error is a sentence for the sender.
pub(crate) fn parse(body: &[u8]) -> Result<Alarm, String> {
    let fields: Map<String, Value> = match body.trim_ascii() {
        [] => Map::new(),
        text => serde_json::from_slice(text).map_err(|error| {
            format!(
                "the request is neither empty nor a JSON object, as Alertmanager sends it: {error}"
            )
        })?,
    };
    let text = |name: &str| {
        fields
            .get(name)
            .map(|value| value.as_str().unwrap_or_default())
    };
    let is_raised = match (text("status"), text("current").or(text("state"))) {
        (Some("firing"), _) => true,
        (Some("resolved"), _) => false,
        (Some(_), _) => return Err("`status` is neither `firing` nor `resolved`".to_owned()),
        (None, Some(state)) => state.eq_ignore_ascii_case("alarm"),
        (None, None) => true,
    };
    Ok(if is_raised {
        Alarm::Raised
    } else {
        Alarm::Quiet
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heats_alertmanagers_and_aodhs_requests_are_read() {
        for (body, expected) in [
            ("", Alarm::Raised),
            (" \n", Alarm::Raised),
            ("{}", Alarm::Raised),
            (
                r#"{"version": "4", "status": "firing", "alerts": [{"status": "firing"}]}"#,
                Alarm::Raised,
            ),
            (
                r#"{"version": "4", "status": "resolved", "alerts": []}"#,
                Alarm::Quiet,
            ),
            (
                r#"{"alarm_id": "1", "previous": "ok", "current": "alarm", "reason": "cpu"}"#,
                Alarm::Raised,
            ),
            (
                r#"{"alarm_id": "1", "current": "insufficient data"}"#,
                Alarm::Quiet,
            ),
            (r#"{"state": "ALARM"}"#, Alarm::Raised),
            (r#"{"state": "ok"}"#, Alarm::Quiet),
        ] {
            assert_eq!(parse(body.as_bytes()), Ok(expected), "{body}");
        }
    }

    #[test]
    fn other_bodies_are_refused_with_a_reason() {
        for (body, wanted) in [
            ("scale up", "neither empty nor a JSON object"),
            ("[1]", "neither empty nor a JSON object"),
            (
                r#"{"status": "pending"}"#,
                "neither `firing` nor `resolved`",
            ),
            (r#"{"status": 1}"#, "neither `firing` nor `resolved`"),
        ] {
            let message = parse(body.as_bytes()).unwrap_err();
            assert!(message.contains(wanted), "{message}");
        }
    }
}
