//! `OS::Cinder::VolumeType`: extra specs and access list. Source: Block Storage API v3, "Volume types", "Volume type
//! access".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::identity::PROJECTS;
use openstack::volume_types::VOLUME_TYPES;
use serde_json::{Value, json};

use super::described::lookup::{keys, members};
use super::described::{Hooks, Occasion};
use super::record::done_if_gone;
use crate::driver::{Context, DriverError};

pub(super) struct VolumeType;

#[async_trait]
impl Hooks for VolumeType {
    fn removable_entries(&self) -> &'static [&'static str] {
        &["metadata", "projects"]
    }

    async fn complete(
        &self,
        _context: &Context<'_>,
        body: &mut Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        if occasion == Occasion::Creation
            && let Some(public) = body.remove("is_public")
        {
            body.insert("os-volume-type-access:is_public".into(), public);
        }
        Ok(())
    }

    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let storage = context.session.block_storage();
        let (leaving, wanted) = keys(context, "metadata")?;
        for key in &leaving {
            done_if_gone(storage.type_unset_spec(id, key).await)?;
        }
        // Cinder refuses extra specs while volumes of the type exist, even equal ones.
        let types = context.session.records(&VOLUME_TYPES);
        let there = types.get(id).await?;
        let is_there =
            |(key, value): (&String, &Value)| there["extra_specs"].get(key) == Some(value);
        if !wanted.iter().all(is_there) {
            storage.type_set_specs(id, &wanted).await?;
        }
        let (leaving, coming) = members(context, "projects", &PROJECTS).await?;
        for (action, projects) in [
            ("addProjectAccess", coming),
            ("removeProjectAccess", leaving),
        ] {
            for project in projects {
                let done = types.act(id, &json!({action: {"project": project}})).await;
                ignore_conflict(done)?;
            }
        }
        Ok(())
    }
}

/// Adding existing access is success, and so is removing missing access.
pub(super) fn ignore_conflict(result: Result<(), openstack::Error>) -> Result<(), DriverError> {
    match result {
        Err(error) if error.is_conflict() => Ok(()),
        other => done_if_gone(other),
    }
}
