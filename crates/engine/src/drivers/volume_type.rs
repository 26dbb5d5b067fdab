//! `OS::Cinder::VolumeType`: a kind of storage, for everybody or for some projects.
//! Source: Block Storage API v3, "Volume types", "Volume type access".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::identity::PROJECTS;
use openstack::volume_types::VOLUME_TYPES;
use serde_json::{Map, Value, json};

use super::neutron::done_if_gone;
use super::properties::Properties;
use super::records::{Records, keys, members};
use crate::driver::{Context, DriverError};

pub(super) struct VolumeType;

/// What Cinder calls it when a type is made, and only then.
const PUBLIC_AT_FIRST: &str = "os-volume-type-access:is_public";
const PUBLIC: &str = "is_public";

#[async_trait]
impl Records for VolumeType {
    const OF: &'static Collection = &VOLUME_TYPES;
    const TAKES_AWAY: &'static [&'static str] = &["metadata", "projects"];

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let properties = Properties::of(context.properties);
        let mut body = Map::new();
        body.insert("name".into(), properties.required("name")?.into());
        if let Some(public) = properties.boolean(PUBLIC)? {
            body.insert(PUBLIC_AT_FIRST.into(), public.into());
        }
        Ok(body)
    }

    fn unsaid(&self, fields: &mut Record, _: &[String]) {
        if let Some(public) = fields.remove(PUBLIC_AT_FIRST) {
            fields.insert(PUBLIC.into(), public);
        }
    }

    async fn settle(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let storage = context.session.block_storage();
        let (leaving, wanted) = keys(context, "metadata")?;
        for key in &leaving {
            done_if_gone(storage.type_unset_spec(id, key).await)?;
        }
        // Cinder refuses to set keys while there are volumes of the type, the same keys too.
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
                done_if_so_already(done)?;
            }
        }
        Ok(())
    }
}

/// Who may use it already need not be let in, and who may not need not be kept out.
pub(super) fn done_if_so_already(result: Result<(), openstack::Error>) -> Result<(), DriverError> {
    match result {
        Err(error) if error.is_conflict() => Ok(()),
        other => done_if_gone(other),
    }
}
