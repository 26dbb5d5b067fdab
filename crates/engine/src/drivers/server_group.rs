//! `OS::Nova::ServerGroup`: servers that shall run near to or far from each other.
//!
//! Nova keeps nothing but a name of it, and names are not unique: so the mark is the name, with the one
//! that the template gives in front of it. Nothing of it can be changed.
//! Source: Compute API, "Server groups".

use async_trait::async_trait;
use openstack::compute::ServerGroup as Found;
use serde_json::{Map, Value, json};

use super::mark::Texts;
use super::properties::Properties;
use super::{mark, neutron};
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Progress, Ready, Search,
    may_be_there,
};

pub(super) struct ServerGroup;

#[async_trait]
impl Driver for ServerGroup {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if may_be_there()
            && let Some(found) = find(context).await?
        {
            return Ok(found.id);
        }
        let properties = Properties::of(context.properties);
        let rules = properties.get("rules").filter(|rules| rules.is_object());
        let compute = context.session.compute();
        let made = compute
            .server_group_create(&name(context)?, &policy(properties)?, rules)
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
        neutron::done_if_gone(compute.server_group_delete(&id).await)
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
impl ListMarked for ServerGroup {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = Texts::of(search, mark::store_name);
        let all = search.session.compute().server_group_list().await?;
        let marked = all.into_iter().filter_map(|group| {
            let resource = marks.last_word(&group.name)?;
            Some(Marked::named(resource, group.id, Some(group.name)))
        });
        Ok(marked.collect())
    }
}

fn name(context: &Context<'_>) -> Result<String, DriverError> {
    let given = Properties::of(context.properties).filled("name")?;
    Ok(mark::name_with_mark(context.marker, given.as_deref()))
}

/// Heat takes a list, of which Nova has ever taken one.
fn policy(properties: Properties<'_>) -> Result<String, DriverError> {
    let policies = properties.texts("policies")?;
    match policies.as_slice() {
        [] => Ok("anti-affinity".into()),
        [policy] => Ok(policy.clone()),
        _ => Err(properties.wrong("policies", "a server group has one policy".into())),
    }
}

async fn find(context: &Context<'_>) -> Result<Option<Found>, DriverError> {
    let name = name(context)?;
    let groups = context.session.compute().server_group_list().await?;
    Ok(groups.into_iter().find(|group| group.name == name))
}
