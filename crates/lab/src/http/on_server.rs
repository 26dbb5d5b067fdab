//! Calls about one server: who asks, which server, in which words the answer is to be. Every handler below
//! `/servers/{id}` takes it, so that "whose is it" is asked in one place.

use std::collections::HashMap;
use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::microversion::Microversion;
use super::token::{Caller, Member};
use super::{App, RequestId, base_url};
use crate::model::Model;
use crate::model::ids::now;
use crate::model::refusal::Refusal;
use crate::model::server::{Server, Status};

/// A call about one server.
pub struct OnServer {
    caller: Caller,
    parts: HashMap<String, String>,
    /// The behaviour asked for.
    pub version: Microversion,
    /// Where the client found us.
    pub base: String,
    request_id: String,
}

impl OnServer {
    /// The caller.
    pub fn member(&self) -> Result<Member, Refusal> {
        self.caller.member()
    }

    /// The server's id.
    pub fn id(&self) -> &str {
        self.part("id")
    }

    /// Another part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// Look at the server.
    pub fn read<R>(
        &self,
        app: &App,
        look: impl FnOnce(&Model, &Server) -> R,
    ) -> Result<R, Refusal> {
        let member = self.member()?;
        app.read(|model| Ok(look(model, owned(model, &member, self.id())?)))
    }

    /// Change the server's own row.
    pub fn change<R>(
        &self,
        app: &App,
        change: impl FnOnce(&mut Server) -> R,
    ) -> Result<R, Refusal> {
        let member = self.member()?;
        app.change(|model| {
            owned(model, &member, self.id())?;
            let server = model.servers.get_mut(self.id());
            let server = server.ok_or_else(|| not_found(self.id()))?;
            server.updated = now();
            Ok(change(server))
        })
    }
}

impl OnServer {
    /// Check that a server is in one of these states, that nothing is being done to it and that it is not locked; then note what
    /// begins.
    pub fn begin(
        &self,
        app: &App,
        verb: &str,
        from: &[Status],
        task: Option<&str>,
    ) -> Result<(), Refusal> {
        let (member, id) = (self.member()?, self.id());
        app.change(|model| {
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
    pub fn unlocked(&self, app: &App) -> Result<(), Refusal> {
        let member = self.member()?;
        app.read(|model| unlocked(owned(model, &member, self.id())?, &member))
    }

    /// Note an action that is no change of state.
    pub fn note(&self, app: &App, action: &str) -> Result<(), Refusal> {
        let user = self.member()?.user_id;
        app.change(|model| model.note_action(self.id(), action, &self.request_id, &user));
        Ok(())
    }

    /// An action that was noted ends, in an error if there is a message.
    pub fn ended(&self, app: &App, action: &str, message: Option<&str>) {
        app.change(|model| model.action_ends(self.id(), action, message));
    }
}

/// Whether a caller may change a server as far as its lock goes.
fn unlocked(server: &Server, member: &Member) -> Result<(), Refusal> {
    match server.locked && !member.admin {
        false => Ok(()),
        true => Err(Refusal::conflict(
            "InstanceIsLocked",
            format!("Instance {} is locked", server.id),
        )),
    }
}

impl FromRequestParts<App> for OnServer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let Ok(caller) = Caller::from_request_parts(parts, app).await;
        let Ok(version) = Microversion::from_request_parts(parts, app).await;
        let found = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        Ok(Self {
            caller,
            parts: found.map(|Path(found)| found).unwrap_or_default(),
            version,
            base: base_url(&parts.headers),
            request_id: RequestId::of(parts),
        })
    }
}

/// The 404.
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
        .filter(|row| member.may_touch(&row.project_id))
        .ok_or_else(|| not_found(id))
}
