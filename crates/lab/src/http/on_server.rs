//! Calls about one server: who asks, which server, in which words the answer is to be. Every handler below
//! `/servers/{id}` takes it, so that "whose is it" is asked in one place.

use std::collections::HashMap;
use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::microversion::Microversion;
use super::token::{Caller, Member};
use super::{App, base_url};
use crate::model::Model;
use crate::model::ids::now;
use crate::model::refusal::Refusal;
use crate::model::server::Server;

/// A call about one server.
pub struct OnServer {
    caller: Caller,
    parts: HashMap<String, String>,
    /// The behaviour asked for.
    pub version: Microversion,
    /// Where the client found us.
    pub base: String,
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
