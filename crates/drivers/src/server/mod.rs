//! `OS::Nova::Server`: a virtual machine. Source: Compute API, "Servers".
//!
//! The marker is a tag in the request for the new server, so the server always has it. The host key is generated here
//! too: the private key is sent to the server in its user data and not stored, the public key is in the server's
//! metadata, where it is found after a crash. At the first connection, the server makes its own key ([`host_keys`]).
//!
//! A server in state `ERROR` is found like any other. The engine decides about it, as only the engine can determine
//! whether it contains data.

use async_trait::async_trait;
use openstack::compute::Server as Found;
use serde_json::{Map, Value, json};

use super::marker::MarkerIndex;
use super::properties::Properties;
use super::{cloud_init, keys, marker};
use crate::driver::{
    Abilities, Context, Difference, Driver, DriverError, Duplicates, Earlier, Handover, Inspect,
    Inspection, ListMarked, Marked, OnDemand, Progress, Ready, Search, Snapshot, Update,
};

mod attributes;
mod block_devices;
mod body;
mod change;
mod effect;
pub(super) mod host_keys;
mod inspection;
mod named;
mod power;
mod restoration;
mod state;
mod suspension;

use host_keys::HostKeys;

pub(super) struct Server;

#[async_trait]
impl Driver for Server {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            inspection: Some(self),
            update: Some(self),
            on_demand: Some(self),
            handover: Some(self),
            snapshots: Some(self),
            restoration: Some(self),
            suspension: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if context.earlier == Earlier::Possible
            && let Some(found) = find(context).await?
        {
            return Ok(found.id);
        }
        let named = named::look_up(context).await?;
        let host_key = match context.login {
            Some(_) => Some(keys::make(&marker::physical_name(
                context.marker,
                context.properties,
            ))?),
            None => None,
        };
        let own = Properties::of(context.properties).filled("user_data")?;
        let guest = context
            .login
            .zip(host_key.as_ref())
            .map(|(login, host_key)| cloud_init::Guest {
                login,
                host_key,
                bastion: context.marks.bastion,
            });
        let user_data = cloud_init::user_data(own.as_deref(), guest.as_ref());
        let host_keys = host_key.map(|pair| HostKeys::given_to(&pair.public));
        let fields = body::body(
            context.marker,
            context.properties,
            &named,
            user_data.as_deref(),
            host_keys.as_ref(),
        )?;
        let hints = context
            .properties
            .get("scheduler_hints")
            .filter(|hints| hints.is_object());
        Ok(context
            .session
            .compute()
            .server_create(&Value::Object(fields), hints)
            .await?)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let Some(server) = context.session.poller().server(physical_id).await? else {
            return Ok(Progress::Failed("the server is gone".into()));
        };
        if server.status == "VERIFY_RESIZE" {
            // While Nova executes a confirmation, it refuses the next one: first with 400 ("Instance has not been
            // resized"), while only its migration record has changed, then with 409.
            let confirmed = context
                .session
                .compute()
                .server_confirm_resize(physical_id)
                .await;
            return match confirmed {
                Err(error) if !matches!(error.status(), Some(400 | 409)) => Err(error.into()),
                _ => Ok(Progress::Pending("the server has its new size".into())),
            };
        }
        if let Some(unready) = state::unready(&server) {
            return Ok(unready);
        }
        if let Some(missing) = effect::missing(context, &server).await? {
            return Ok(missing);
        }
        if let Some(missing) = power::missing(context, &server).await? {
            return Ok(missing);
        }
        Ok(Progress::Ready(Ready {
            reference: json!(server.id),
            attributes: attributes::of(&server, context.properties),
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_string(),
            None => match find(context).await? {
                Some(found) => found.id,
                None => return Ok(()),
            },
        };
        let answer = context.session.compute().server_delete(&id).await;
        context
            .accepted
            .note_unless_gone(effect::DELETE, &id, answer)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let found = context.session.poller().server(physical_id).await?;
        let Some(server) = found else {
            return Ok(true);
        };
        // With deferred deletion, a deleted server is visible for days.
        if is_deleted(&server) {
            return Ok(true);
        }
        match effect::deletion_failure(context, &server).await? {
            Some(why) => Err(DriverError::Other(why)),
            None => Ok(false),
        }
    }
}

#[async_trait]
impl Inspect for Server {
    /// Works in every state, and without the confirmation of a resize by [`Driver::progress`].
    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        match context.session.compute().server_get(physical_id).await {
            Ok(server) => Ok(Some(attributes::of(&server, context.properties))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn inspect(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Inspection, DriverError> {
        let server = match context.session.compute().server_get(physical_id).await {
            Ok(server) if is_deleted(&server) => return Ok(Inspection::Gone),
            Ok(server) => server,
            Err(error) if error.is_not_found() => return Ok(Inspection::Gone),
            Err(error) => return Err(error.into()),
        };
        Ok(match state::unready(&server) {
            None => Inspection::Usable(attributes::of(&server, context.properties)),
            Some(Progress::Pending(why)) => Inspection::InTransition(why),
            Some(Progress::Failed(why) | Progress::Unchanged(why) | Progress::GaveUp(why)) => {
                Inspection::Broken(why)
            }
            Some(Progress::Ready(ready)) => Inspection::Usable(ready.attributes),
        })
    }

    async fn differences(
        &self,
        context: &Context<'_>,
        recorded: &Map<String, Value>,
        present: &Map<String, Value>,
    ) -> Result<Vec<Difference>, DriverError> {
        Ok(inspection::differences(
            context.properties,
            recorded,
            present,
        ))
    }
}

#[async_trait]
impl Update for Server {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        change::apply(context, physical_id).await
    }
}

#[async_trait]
impl OnDemand for Server {
    fn names(&self) -> &'static [&'static str] {
        attributes::ON_DEMAND
    }

    async fn read(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        names: &[&str],
    ) -> Result<Map<String, Value>, DriverError> {
        attributes::read(context, physical_id, names).await
    }
}

#[async_trait]
impl Handover for Server {
    async fn hand_over_to_successor(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        change::unplug(context, physical_id).await
    }

    async fn hand_over(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        change::unplug(context, physical_id).await
    }
}

#[async_trait]
impl Snapshot for Server {
    async fn snapshot(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError> {
        restoration::snapshot(context, physical_id, occasion).await
    }
}

#[async_trait]
impl ListMarked for Server {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = MarkerIndex::of(search, marker::tag);
        let all = search.session.compute().server_list(&[]).await?;
        let marked = all.into_iter().filter(|server| !is_deleted(server));
        let marked = marked.filter_map(|server| {
            let resource = server.tags.iter().find_map(|tag| marks.equal(tag))?;
            Some(Marked::named(resource, server.id, Some(server.name)))
        });
        Ok(marked.collect())
    }
}

/// The server with the resource's tag.
async fn find(context: &Context<'_>) -> Result<Option<Found>, DriverError> {
    let tag = marker::tag(context.marker);
    let found = context
        .session
        .compute()
        .server_list(&[("tags", &tag)])
        .await?;
    // Some clouds ignore the filter.
    Ok(found
        .into_iter()
        .find(|server| server.tags.contains(&tag) && !is_deleted(server)))
}

fn is_deleted(server: &Found) -> bool {
    matches!(server.status.as_str(), "DELETED" | "SOFT_DELETED")
}
