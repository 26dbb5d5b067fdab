//! `OS::Designate::RecordSet`: the records of a name and type in a zone.
//!
//! The zone can be given by its id or name, and the name of the records without that of the zone, as in Heat.

use async_trait::async_trait;
use openstack::dns::DnsCollection::RecordSets;
use serde_json::{Map, Value};

use super::{common, id_of, is_gone, is_ours, progress};
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, Marker, Progress, Update,
};
use crate::properties::{Properties, if_valid};
use crate::record::done_if_gone;
use crate::{marker, nested};

const TITLE: &str = "record set";
/// DNS's limit for one part of a name, between dots.
const LABEL_CHARACTERS_MAX: usize = 63;

pub(crate) struct RecordSet;

#[async_trait]
impl Driver for RecordSet {
    /// Designate has one record set of a name and type in a zone.
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let zone = zone_of(context).await?;
        let owner = id_of(&zone)?;
        if context.earlier == Earlier::Possible
            && let Some(found) = find(context, &owner).await?
        {
            return Ok(found);
        }
        let zone_name = zone["name"].as_str().unwrap_or_default();
        let body = creation(context.marker, context.properties, zone_name)?;
        let dns = context.session.dns();
        let made = dns.create(RecordSets(&owner), &body).await?;
        Ok(physical_id(&owner, &id_of(&made)?))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let (zone, id) = nested::parse(physical_id)?;
        progress(context, RecordSets(zone), id, TITLE).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let found = match physical_id {
            Some(id) => Some(id.to_owned()),
            // Without a zone, nothing was created in it.
            None => match if_valid(zone_of(context).await)? {
                Some(zone) => find(context, &id_of(&zone)?).await?,
                None => None,
            },
        };
        let Some(found) = found else {
            return Ok(());
        };
        let (zone, id) = nested::parse(&found)?;
        done_if_gone(context.session.dns().delete(RecordSets(zone), id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let (zone, id) = nested::parse(physical_id)?;
        is_gone(context, RecordSets(zone), id, TITLE).await
    }
}

#[async_trait]
impl Update for RecordSet {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let (zone, id) = nested::parse(physical_id)?;
        let properties = Properties::of(context.properties);
        let body = Value::Object(changeable(context.marker, properties, context.changed)?);
        let dns = context.session.dns();
        Ok(dns.update(RecordSets(zone), id, &body).await?)
    }
}

fn physical_id(zone: &str, id: &str) -> String {
    format!("{zone}:{id}")
}

/// The zone in the properties.
async fn zone_of(context: &Context<'_>) -> Result<Value, DriverError> {
    let properties = Properties::of(context.properties);
    let given = properties.required("zone")?;
    let found = context.session.dns().zone(&given).await;
    found.map_err(|error| {
        if error.is_not_found() {
            properties.wrong(
                "zone",
                format!("there is no zone `{given}` in this project"),
            )
        } else {
            properties.looked_up("zone", error)
        }
    })
}

/// Physical id of the record set with the marker in a zone.
async fn find(context: &Context<'_>, zone: &str) -> Result<Option<String>, DriverError> {
    let all = context.session.dns().list(RecordSets(zone), &[]).await?;
    let found = all.iter().find(|record| is_ours(record, context.marker));
    let id = found.map(id_of).transpose()?;
    Ok(id.map(|id| physical_id(zone, &id)))
}

/// The fields that can change.
fn changeable(
    marker: &Marker,
    properties: Properties<'_>,
    changed: &[String],
) -> Result<Map<String, Value>, DriverError> {
    let mut body = common(marker, properties, changed)?;
    body.insert("records".into(), properties.texts("records")?.into());
    Ok(body)
}

/// `zone` is the zone's name.
fn creation(marker: &Marker, given: &Map<String, Value>, zone: &str) -> Result<Value, DriverError> {
    let properties = Properties::of(given);
    let name = properties.filled("name")?;
    let name = name.unwrap_or_else(|| {
        let generated = marker::unique_name_within(marker, given, LABEL_CHARACTERS_MAX);
        generated.replace(|one: char| !one.is_ascii_alphanumeric(), "-")
    });
    let mut body = changeable(marker, properties, &[])?;
    body.insert("name".into(), full_name(&name, zone).into());
    body.insert("type".into(), properties.required("type")?.into());
    Ok(Value::Object(body))
}

/// A name with a dot at its end. One without a dot there is a name in the zone.
fn full_name(name: &str, zone: &str) -> String {
    if name.ends_with('.') {
        name.to_owned()
    } else {
        format!("{name}.{zone}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::marker_named;
    use super::*;

    #[test]
    fn a_record_set_lists_its_records() {
        let given =
            json!({"zone": "example.org", "name": "www", "type": "A", "records": ["192.0.2.1"]});
        let body = creation(
            &marker_named("www"),
            given.as_object().unwrap(),
            "example.org.",
        );
        assert_eq!(
            body.unwrap(),
            json!({"name": "www.example.org.", "type": "A", "records": ["192.0.2.1"],
                "description": "stackloom:d/www"})
        );
    }

    #[test]
    fn a_generated_name_is_a_short_label_of_its_own() {
        let given = json!({"zone": "z", "type": "TXT", "records": ["x"]});
        let label = |resource: &str| {
            let (marker, given) = (marker_named(resource), given.as_object().unwrap());
            let body = creation(&marker, given, "example.org.").unwrap();
            let name = body["name"].as_str().unwrap();
            name.strip_suffix(".example.org.").unwrap().to_owned()
        };
        let first = label("tier/0_a");
        assert!(first.starts_with("shop-tier-0-a-"), "{first}");
        let successor = label("tier/0_a#1");
        assert!(successor.starts_with("shop-tier-0-a-"), "{successor}");
        assert_ne!(first, successor);
        assert_eq!(label(&"n".repeat(200)).len(), 63);
    }

    #[test]
    fn a_name_without_a_final_dot_is_in_the_zone() {
        assert_eq!(full_name("www", "example.org."), "www.example.org.");
        assert_eq!(
            full_name("www.example.org.", "example.org."),
            "www.example.org."
        );
    }
}
