//! `OS::Nova::Flavor`: extra specs and access list.
//!
//! Nova supports no other updates of a flavor. A private flavor without an access list is for the project that creates
//! it, as in Heat. Source: Compute API, "Flavors", "Flavors access", "Flavors extra-specs".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::flavors::FLAVORS;
use openstack::identity::PROJECTS;
use serde_json::{Map, Value, json};

use super::described::lookup::{keys, members};
use super::described::{Hooks, Occasion};
use super::properties::Properties;
use super::record::done_if_gone;
use super::volume_type::ignore_conflict;
use crate::driver::{Context, DriverError};

pub(super) struct Flavor;

const PUBLIC: &str = "os-flavor-access:is_public";

#[async_trait]
impl Hooks for Flavor {
    fn removable_entries(&self) -> &'static [&'static str] {
        &["extra_specs", "tenants"]
    }

    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let compute = context.session.compute();
        let (leaving, wanted) = keys(context, "extra_specs")?;
        for key in &leaving {
            done_if_gone(compute.flavor_unset_spec(id, key).await)?;
        }
        if !wanted.is_empty() {
            compute.flavor_set_specs(id, &wanted).await?;
        }
        if Properties::of(context.properties).boolean("is_public")? != Some(false) {
            return Ok(());
        }
        let (leaving, mut coming) = members(context, "tenants", &PROJECTS).await?;
        let names_nobody = Properties::of(context.properties)
            .list("tenants")
            .is_empty();
        if let Some(own) = context.session.project()
            && names_nobody
        {
            coming.push(own.id.clone());
        }
        let flavors = context.session.records(&FLAVORS);
        for (action, projects) in [("addTenantAccess", coming), ("removeTenantAccess", leaving)] {
            for project in projects {
                let done = flavors.act(id, &json!({action: {"tenant": project}})).await;
                ignore_conflict(done)?;
            }
        }
        Ok(())
    }

    fn attributes(&self, record: &Record, attributes: &mut Map<String, Value>) {
        let public = record.get(PUBLIC).cloned().unwrap_or(Value::Null);
        attributes.insert("is_public".into(), public);
    }
}
