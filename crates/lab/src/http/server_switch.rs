//! Nova v2.1: actions that take a server from one resting state to another, as a table: from which states each may begin. What each
//! leads to stands in [`Power`].

use axum::response::Response;
use serde_json::Value;

use super::answer::empty_answer;
use super::compute::{invalid, policy};
use super::on_server::OnServer;
use super::{App, python};
use crate::model::refusal::Refusal;
use crate::model::server::Status;
use crate::substrate::Power;

/// One switch.
pub struct Switch {
    /// The key of the call's body.
    key: &'static str,
    /// As Nova names it in refusals.
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
    pub fn turn(&self, app: &App, on: &OnServer) -> Result<Response, Refusal> {
        turn(
            app,
            on,
            (self.verb, self.power.task()),
            self.from,
            self.power,
        )
    }
}

fn turn(
    app: &App,
    on: &OnServer,
    (verb, task): (&str, &str),
    from: &[Status],
    power: Power,
) -> Result<Response, Refusal> {
    on.begin(app, verb, from, Some(task))?;
    app.spawn_power(on.id().to_owned(), power);
    Ok(empty_answer(202))
}

/// A soft reboot wants a running guest; a hard one does not.
pub fn reboot(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
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
    turn(app, on, ("reboot", task), from, Power::Reboot)
}

/// Keep others (and oneself) from changing the server; administrators may still.
pub fn lock(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    let reason = match &details["locked_reason"] {
        Value::Null => None,
        Value::String(reason) => Some(reason.clone()),
        other => {
            let not_text = format!("{} is not of type 'string'", python::repr(other));
            return Err(invalid("locked_reason", other, &not_text));
        }
    };
    on.change(app, |server| {
        server.locked = true;
        server.locked_reason = reason;
    })?;
    on.note(app, "lock")?;
    on.ended(app, "lock", None);
    Ok(empty_answer(202))
}

/// The contrary.
pub fn unlock(app: &App, on: &OnServer) -> Result<Response, Refusal> {
    on.change(app, |server| {
        server.locked = false;
        server.locked_reason = None;
    })?;
    on.note(app, "unlock")?;
    on.ended(app, "unlock", None);
    Ok(empty_answer(202))
}

/// An administrator says what state a server is in.
pub fn reset_state(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    if !on.member()?.admin {
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
    on.change(app, |server| {
        server.status = status;
        server.task_state = None;
    })?;
    Ok(empty_answer(202))
}
