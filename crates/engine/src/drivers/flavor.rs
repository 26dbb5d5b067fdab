//! `OS::Nova::Flavor`: a size of servers, for everybody or for some projects.
//!
//! Nova changes nothing of a flavor but its further keys and who may use it. The mark is in the description, which Heat's type
//! does not have. One that is not for everybody and names nobody is for the project that makes it, as in Heat.
//! Source: Compute API, "Flavors", "Flavors access", "Flavors extra-specs".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::flavors::FLAVORS;
use openstack::identity::PROJECTS;
use serde_json::{Map, Value, json};

use super::mark;
use super::neutron::done_if_gone;
use super::properties::Properties;
use super::records::{Records, keys, members};
use super::volume_type::done_if_so_already;
use crate::driver::{Context, DriverError};

pub(super) struct Flavor;

const PUBLIC: &str = "os-flavor-access:is_public";

#[async_trait]
impl Records for Flavor {
    const OF: &'static Collection = &FLAVORS;
    const TAKES_AWAY: &'static [&'static str] = &["extra_specs", "tenants"];
    const IS_SAID_AGAIN: bool = false;

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let mut body = body(context.properties)?;
        let name = mark::unique_name(context.marker, context.properties);
        body.insert("name".into(), name.into());
        Ok(body)
    }

    async fn settle(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
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
                done_if_so_already(done)?;
            }
        }
        Ok(())
    }

    fn attributes(&self, record: &Record, attributes: &mut Map<String, Value>) {
        let public = record.get(PUBLIC).cloned().unwrap_or(Value::Null);
        attributes.insert("is_public".into(), public);
    }
}

fn body(map: &Map<String, Value>) -> Result<Record, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    for (property, field) in [
        ("ram", "ram"),
        ("vcpus", "vcpus"),
        ("disk", "disk"),
        ("swap", "swap"),
        ("ephemeral", "OS-FLV-EXT-DATA:ephemeral"),
    ] {
        let number = properties.integer(property)?;
        if number.is_none() && matches!(property, "ram" | "vcpus") {
            return Err(properties.wrong(property, "it must be given".into()));
        }
        body.insert(field.into(), number.unwrap_or_default().into());
    }
    if let Some(id) = properties.filled("flavorid")? {
        body.insert("id".into(), id.into());
    }
    if let Some(factor) = properties.get("rxtx_factor") {
        body.insert("rxtx_factor".into(), factor.clone());
    }
    if let Some(public) = properties.boolean("is_public")? {
        body.insert(PUBLIC.into(), public.into());
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_of_a_flavor() {
        let properties = json!({"ram": "512", "vcpus": 1, "flavorid": "", "is_public": "false", "tenants": ["p"]});
        assert_eq!(
            Value::Object(body(properties.as_object().unwrap()).unwrap()),
            json!({"ram": 512, "vcpus": 1, "disk": 0, "swap": 0, "OS-FLV-EXT-DATA:ephemeral": 0, PUBLIC: false})
        );
        let error = body(json!({"ram": 1}).as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "property `vcpus`: it must be given");
    }
}
