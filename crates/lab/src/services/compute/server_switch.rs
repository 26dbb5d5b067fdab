//! Nova v2.1: actions that take a server from one resting state to another, as a table: from which states each may begin. The state
//! after each is in [`Power`].

use axum::response::Response;
use serde_json::Value;

use crate::kit::answer::empty;
use crate::kit::python;
use crate::kit::refusal::Refusal;
use crate::services::Call;
use crate::services::compute::server::Status;
use crate::services::compute::{invalid, policy};
use crate::substrate::Power;

/// One switch.
pub struct Switch {
    /// The key of the call's body.
    key: &'static str,
    /// Name of the action in Nova's refusals.
    verb: &'static str,
    from: &'static [Status],
    power: Power,
}

static SWITCHES: &[Switch] = &[
    Switch {
        key: "os-start",
        verb: "start",
        from: &[Status::Shutoff],
        power: Power::Start,
    },
    Switch {
        key: "os-stop",
        verb: "stop",
        from: &[Status::Active, Status::Error],
        power: Power::Stop,
    },
    Switch {
        key: "pause",
        verb: "pause",
        from: &[Status::Active],
        power: Power::Pause,
    },
    Switch {
        key: "unpause",
        verb: "unpause",
        from: &[Status::Paused],
        power: Power::Unpause,
    },
    Switch {
        key: "suspend",
        verb: "suspend",
        from: &[Status::Active],
        power: Power::Suspend,
    },
    Switch {
        key: "resume",
        verb: "resume",
        from: &[Status::Suspended],
        power: Power::Resume,
    },
    Switch {
        key: "shelve",
        verb: "shelve",
        from: &[
            Status::Active,
            Status::Shutoff,
            Status::Paused,
            Status::Suspended,
        ],
        power: Power::Shelve,
    },
    Switch {
        key: "unshelve",
        verb: "unshelve",
        from: &[Status::ShelvedOffloaded],
        power: Power::Unshelve,
    },
];

/// The switch behind a call's key.
pub fn switch_of(key: &str) -> Option<&'static Switch> {
    SWITCHES.iter().find(|switch| switch.key == key)
}

impl Switch {
    /// Do it.
    pub fn turn(&self, call: &Call) -> Result<Response, Refusal> {
        turn(call, (self.verb, self.power.task()), self.from, self.power)
    }
}

fn turn(
    call: &Call,
    (verb, task): (&str, &str),
    from: &[Status],
    power: Power,
) -> Result<Response, Refusal> {
    call.begin(verb, from, Some(task))?;
    call.app.spawn_power(call.id().to_owned(), power);
    empty(202)
}

/// A soft reboot wants a running guest; a hard one does not.
pub fn reboot(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let kind = details["type"].as_str().unwrap_or_default().to_uppercase();
    let (task, from): (_, &[Status]) = match kind.as_str() {
        "SOFT" => ("rebooting", &[Status::Active]),
        "HARD" => (
            "rebooting_hard",
            &[
                Status::Active,
                Status::Shutoff,
                Status::Paused,
                Status::Suspended,
                Status::Error,
            ],
        ),
        _ => {
            return Err(invalid(
                "type",
                &details["type"],
                &format!(
                    "{} is not one of ['HARD', 'Hard', 'hard', 'SOFT', 'Soft', 'soft']",
                    details["type"]
                ),
            ));
        }
    };
    turn(call, ("reboot", task), from, Power::Reboot)
}

/// Keep others (and oneself) from changing the server; administrators may still.
pub fn lock(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let reason = match &details["locked_reason"] {
        Value::Null => None,
        Value::String(reason) => Some(reason.clone()),
        other => {
            let not_text = format!("{} is not of type 'string'", python::repr(other));
            return Err(invalid("locked_reason", other, &not_text));
        }
    };
    call.change_server(|server| {
        server.locked = true;
        server.locked_reason = reason;
    })?;
    call.note_action("lock")?;
    call.action_ended("lock", None);
    empty(202)
}

/// The contrary.
pub fn unlock(call: &Call) -> Result<Response, Refusal> {
    call.change_server(|server| {
        server.locked = false;
        server.locked_reason = None;
    })?;
    call.note_action("unlock")?;
    call.action_ended("unlock", None);
    empty(202)
}

/// An administrator says what state a server is in.
pub fn reset_state(call: &Call, details: &Value) -> Result<Response, Refusal> {
    if !call.member()?.admin {
        return Err(policy("os-admin-actions:reset_state"));
    }
    let status = match details["state"].as_str() {
        Some("active") => Status::Active,
        Some("error") => Status::Error,
        _ => {
            return Err(invalid(
                "state",
                &details["state"],
                "it is not one of ['active', 'error']",
            ));
        }
    };
    call.change_server(|server| {
        server.status = status;
        server.task_state = None;
    })?;
    empty(202)
}
