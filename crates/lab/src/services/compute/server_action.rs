//! Nova's instance actions: the history of a server.
//!
//! An accepted call begins an action. An action that changes the server's state ends when the server's task ends.
//! Attachments of volumes and interfaces run independently of that, so their actions end by themselves. As in Nova, the
//! actions of a deleted server stay.

use serde::{Deserialize, Serialize};

use crate::kit::ids::now;
use crate::services::Model;

/// An action on a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerAction {
    /// `create`, `stop`, `attach_volume`, ...
    pub action: String,
    /// Id of the request.
    pub request_id: String,
    /// User of the request.
    pub user_id: String,
    pub started: String,
    /// Time of its end. `None` while it is in progress.
    pub ended: Option<String>,
    /// The error. `None` if it has not failed.
    pub message: Option<String>,
}

/// Maximum number of actions of a server. The oldest are removed.
const ACTIONS_MAX: usize = 100;

/// Actions that do not change the server's state.
const BESIDE: &[&str] = &[
    "attach_interface",
    "detach_interface",
    "attach_volume",
    "detach_volume",
    "lock",
    "unlock",
];

impl ServerAction {
    /// Nova's events of the action, newest first. An action that has not ended shows only the first of them, and so does one that
    /// has failed, but for a resize: the scheduler refuses it.
    pub fn events(&self) -> Vec<String> {
        let listed: &[&str] = match self.action.as_str() {
            "create" => &["compute__do_build_and_run_instance"],
            "delete" => &["compute_terminate_instance"],
            "createImage" => &["compute_snapshot_instance"],
            "resize" if self.message.is_some() => &["cold_migrate", "conductor_migrate_server"],
            "resize" => &[
                "compute_finish_resize",
                "compute_resize_instance",
                "compute_prep_resize",
                "cold_migrate",
                "conductor_migrate_server",
            ],
            "confirmResize" => &["compute_confirm_resize"],
            "revertResize" => &["compute_finish_revert_resize", "compute_revert_resize"],
            "rebuild" => &["compute_rebuild_instance", "rebuild_server"],
            "unshelve" => &[
                "compute_unshelve_instance",
                "schedule_instances",
                "get_image_info",
            ],
            _ => &[],
        };
        let ended_well = self.ended.is_some() && self.message.is_none();
        let shown = match listed {
            [.., first] if !ended_well && (self.action != "resize" || self.ended.is_none()) => {
                std::slice::from_ref(first)
            }
            listed => listed,
        };
        if !shown.is_empty() {
            return shown.iter().map(|name| (*name).to_owned()).collect();
        }
        vec![match self.action.as_str() {
            name @ ("lock" | "unlock") => format!("api_{name}"),
            name if BESIDE.contains(&name) => format!("compute_{name}"),
            name => format!("compute_{name}_instance"),
        }]
    }

    fn is_beside(&self) -> bool {
        BESIDE.contains(&self.action.as_str())
    }
}

impl Model {
    /// Records the start of an action.
    pub fn note_action(&mut self, server: &str, action: &str, request_id: &str, user_id: &str) {
        let Some(server) = self.servers.get_mut(server) else {
            return;
        };
        if server.actions.len() >= ACTIONS_MAX {
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

    /// The action that is changing a server's state.
    pub fn open_action(&self, server: &str) -> Option<&str> {
        let actions = self.servers.get(server)?.actions.iter().rev();
        let mut open = actions.filter(|action| action.ended.is_none() && !action.is_beside());
        open.next().map(|action| action.action.as_str())
    }

    /// Ends the actions that change the server's state, with an error if there is a message.
    pub fn actions_end(&mut self, server: &str, message: Option<&str>) {
        for action in self.open_actions(server) {
            if !action.is_beside() {
                action.end(message);
            }
        }
    }

    /// Ends the oldest open action of this name, with an error if there is a message.
    pub fn action_ends(&mut self, server: &str, name: &str, message: Option<&str>) {
        if let Some(action) = self
            .open_actions(server)
            .find(|action| action.action == name)
        {
            action.end(message);
        }
    }

    fn open_actions(&mut self, server: &str) -> impl Iterator<Item = &mut ServerAction> {
        self.servers
            .get_mut(server)
            .into_iter()
            .flat_map(|server| &mut server.actions)
            .filter(|action| action.ended.is_none())
    }
}

impl ServerAction {
    fn end(&mut self, message: Option<&str>) {
        self.ended = Some(now());
        self.message = message.map(str::to_owned);
    }
}
