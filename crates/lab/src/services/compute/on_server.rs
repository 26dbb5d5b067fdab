//! Calls about one server. All handlers below `/servers/{id}` find their server here, so the owner is checked in one
//! place.

use crate::kit::ids::now;
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::compute::server::{Server, Status};
use crate::services::{Call, Model};

impl Call {
    /// Reads the server.
    pub fn read_server<R>(&self, look: impl FnOnce(&Model, &Server) -> R) -> Result<R, Refusal> {
        let member = self.member()?;
        self.app
            .read(|model| Ok(look(model, owned(model, &member, self.id())?)))
    }

    /// Changes the server's row.
    pub fn change_server<R>(&self, change: impl FnOnce(&mut Server) -> R) -> Result<R, Refusal> {
        let member = self.member()?;
        self.app.change(|model| {
            owned(model, &member, self.id())?;
            let server = model.servers.get_mut(self.id());
            let server = server.ok_or_else(|| not_found(self.id()))?;
            server.updated = now();
            Ok(change(server))
        })
    }
    /// Check that a server is in one of these states, that nothing is being done to it and that it is not locked; then note what
    /// begins.
    pub fn begin(&self, verb: &str, from: &[Status], task: Option<&str>) -> Result<(), Refusal> {
        let (member, id) = (self.member()?, self.id());
        self.app.change(|model| {
            let server = owned(model, &member, id)?;
            unlocked(server, &member)?;
            let in_the_way = match &server.task_state {
                Some(task) => Some(("task_state", task.as_str())),
                None if !from.contains(&server.status) => {
                    Some(("vm_state", server.status.vm_state()))
                }
                None => None,
            };
            if let Some((what, state)) = in_the_way {
                return Err(Refusal::conflict(
                    "InstanceInvalidState",
                    format!("Cannot '{verb}' instance {id} while it is in {what} {state}"),
                ));
            }
            if let Some(server) = model.servers.get_mut(id) {
                server.task_state = task.map(str::to_owned);
                server.updated = now();
            }
            let action = match verb {
                "confirm_resize" => "confirmResize",
                "revert_resize" => "revertResize",
                other => other,
            };
            model.note_action(id, action, &self.request_id, &member.user_id);
            Ok(())
        })
    }

    /// Check that the server is not locked.
    pub fn server_unlocked(&self) -> Result<(), Refusal> {
        let member = self.member()?;
        self.app
            .read(|model| unlocked(owned(model, &member, self.id())?, &member))
    }

    /// Note an action that is no change of state.
    pub fn note_action(&self, action: &str) -> Result<(), Refusal> {
        let user = self.member()?.user_id;
        self.app
            .change(|model| model.note_action(self.id(), action, &self.request_id, &user));
        Ok(())
    }

    /// An action that was noted ends, in an error if there is a message.
    pub fn action_ended(&self, action: &str, message: Option<&str>) {
        self.app
            .change(|model| model.action_ends(self.id(), action, message));
    }
}

/// Whether a caller may change a server as far as its lock goes.
fn unlocked(server: &Server, member: &Member) -> Result<(), Refusal> {
    if server.locked && !member.admin {
        Err(Refusal::conflict(
            "InstanceIsLocked",
            format!("Instance {} is locked", server.id),
        ))
    } else {
        Ok(())
    }
}

pub fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "InstanceNotFound",
        format!("Instance {id} could not be found."),
    )
}

/// The server, if the caller may touch it.
pub fn owned<'a>(model: &'a Model, member: &Member, id: &str) -> Result<&'a Server, Refusal> {
    model
        .servers
        .get(id)
        .filter(|row| member.can_access(&row.project_id))
        .ok_or_else(|| not_found(id))
}
