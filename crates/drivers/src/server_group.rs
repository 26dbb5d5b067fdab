//! `OS::Nova::ServerGroup`: affinity or anti-affinity of servers.
//!
//! The name is the only field for a marker, and names are not unique. So the name is the marker if the template has
//! none. Otherwise the existing groups with the name are recorded before the creation. Nova supports no updates.
//! Source: Compute API, "Server groups".

use async_trait::async_trait;
use openstack::compute::ServerGroup as Found;
use serde_json::{Map, Value, json};

use super::marker::MarkerIndex;
use super::properties::Properties;
use super::{marker, record};
use crate::driver::{
    Abilities, ByName, Context, Driver, DriverError, Duplicates, Earlier, ListMarked, Marked,
    Namesakes, Progress, Ready, Search,
};

pub(super) struct ServerGroup;

#[async_trait]
impl Driver for ServerGroup {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            by_name: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let given = properties.filled("name")?;
        if context.earlier == Earlier::Possible
            && given.is_none()
            && let Some(found) = find(context).await?
        {
            return Ok(found.id);
        }
        let name = given.unwrap_or_else(|| marker::marker_name(context.marker));
        let rules = properties.get("rules").filter(|rules| rules.is_object());
        let compute = context.session.compute();
        let made = compute
            .server_group_create(&name, &policy(properties)?, rules)
            .await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let compute = context.session.compute();
        match compute.server_group_get(physical_id).await {
            Ok(found) => {
                let mut attributes = Map::new();
                let show = serde_json::to_value(&found).unwrap_or(Value::Null);
                attributes.insert("show".into(), show);
                Ok(Progress::Ready(Ready {
                    reference: json!(physical_id),
                    attributes,
                }))
            }
            Err(error) if error.is_not_found() => {
                Ok(Progress::Failed("the server group is gone".into()))
            }
            Err(error) => Err(error.into()),
        }
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
        let compute = context.session.compute();
        record::done_if_gone(compute.server_group_delete(&id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let compute = context.session.compute();
        match compute.server_group_get(physical_id).await {
            Ok(_) => Ok(false),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl ByName for ServerGroup {
    async fn namesakes(&self, context: &Context<'_>) -> Result<Option<Namesakes>, DriverError> {
        let Some(name) = Properties::of(context.properties).filled("name")? else {
            return Ok(None);
        };
        let groups = context.session.compute().server_group_list().await?;
        let same = groups.into_iter().filter(|group| group.name == name);
        let ids = same.map(|group| group.id).collect();
        Ok(Some(Namesakes { name, ids }))
    }
}

#[async_trait]
impl ListMarked for ServerGroup {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = MarkerIndex::of(search, marker::marker_name);
        let all = search.session.compute().server_group_list().await?;
        let marked = all
            .into_iter()
            .filter_map(|group| search.marked_by_name(&marks, group.id, group.name));
        Ok(marked.collect())
    }
}

/// Heat accepts a list, but Nova has always supported only one policy.
fn policy(properties: Properties<'_>) -> Result<String, DriverError> {
    let policies = properties.texts("policies")?;
    match policies.as_slice() {
        [] => Ok("anti-affinity".into()),
        [policy] => Ok(policy.clone()),
        _ => Err(properties.wrong("policies", "a server group has one policy".into())),
    }
}

async fn find(context: &Context<'_>) -> Result<Option<Found>, DriverError> {
    let name = marker::marker_name(context.marker);
    let groups = context.session.compute().server_group_list().await?;
    Ok(groups.into_iter().find(|group| group.name == name))
}
