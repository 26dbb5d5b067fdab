//! What was done to a server, when, and by whom: Nova's instance actions.
//!
//! A call notes an action when it is taken on; the action ends when the server comes to rest, for better or worse. They live and go
//! with the server's row.

use serde::{Deserialize, Serialize};

use super::Model;
use super::ids::now;

/// One thing that was done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerAction {
    /// `create`, `stop`, `attach_volume`, ...
    pub action: String,
    /// The call that asked for it.
    pub request_id: String,
    /// Who asked.
    pub user_id: String,
    /// When.
    pub started: String,
    /// When it ended, if it has.
    pub ended: Option<String>,
    /// Why it failed, if it has.
    pub message: Option<String>,
}

/// The newest are kept.
const KEPT: usize = 100;

impl ServerAction {
    /// The program's step behind it, as Nova calls it.
    pub fn event(&self) -> String {
        match self.action.as_str() {
            "create" => "compute__do_build_and_run_instance".into(),
            "delete" => "compute_terminate_instance".into(),
            "createImage" => "compute_snapshot_instance".into(),
            "resize" => "compute_prep_resize".into(),
            "confirmResize" => "compute_confirm_resize".into(),
            "revertResize" => "compute_revert_resize".into(),
            name
            @ ("attach_interface" | "detach_interface" | "attach_volume" | "detach_volume") => {
                format!("compute_{name}")
            }
            name => format!("compute_{name}_instance"),
        }
    }
}

impl Model {
    /// Note that something begins with a server.
    pub fn note_action(&mut self, server: &str, action: &str, request_id: &str, user_id: &str) {
        let Some(server) = self.servers.get_mut(server) else {
            return;
        };
        if server.actions.len() >= KEPT {
            server.actions.remove(0);
        }
        server.actions.push(ServerAction {
            action: action.into(),
            request_id: request_id.into(),
            user_id: user_id.into(),
            started: now(),
            ended: None,
            message: None,
        });
    }

    /// A server has come to rest: whatever was being done has ended, well if there is no message.
    pub fn actions_end(&mut self, server: &str, message: Option<&str>) {
        let open = self
            .servers
            .get_mut(server)
            .into_iter()
            .flat_map(|server| &mut server.actions)
            .filter(|action| action.ended.is_none());
        for action in open {
            action.ended = Some(now());
            action.message = message.map(str::to_owned);
        }
    }
}
