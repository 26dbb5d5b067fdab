//! `OS::Designate::Zone`: a DNS zone.

use async_trait::async_trait;
use openstack::dns::DnsCollection::Zones;
use serde_json::{Map, Value};

use super::{common, id_of, is_gone, is_in_deletion, is_ours, marker_text, progress};
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, ListMarked, Marked, Marker,
    Progress, Search, Update,
};
use crate::marker::MarkerIndex;
use crate::properties::Properties;
use crate::record::done_if_gone;

const TITLE: &str = "zone";

pub(crate) struct Zone;

#[async_trait]
impl Driver for Zone {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if context.earlier == Earlier::Possible
            && let Some(id) = find(context).await?
        {
            return Ok(id);
        }
        let body = creation(context.marker, Properties::of(context.properties))?;
        let made = context.session.dns().create(Zones, &body).await?;
        id_of(&made)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        progress(context, Zones, physical_id, TITLE).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => Some(id.to_owned()),
            None => find(context).await?,
        };
        match id {
            Some(id) => done_if_gone(context.session.dns().delete(Zones, &id).await),
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        is_gone(context, Zones, physical_id, TITLE).await
    }
}

#[async_trait]
impl Update for Zone {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        let body = Value::Object(changeable(context.marker, properties, context.changed)?);
        let dns = context.session.dns();
        Ok(dns.update(Zones, physical_id, &body).await?)
    }
}

#[async_trait]
impl ListMarked for Zone {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let texts = MarkerIndex::of(search, marker_text);
        let all = search.session.dns().list(Zones, &[]).await?;
        let all = all.iter().filter(|zone| !is_in_deletion(zone));
        let marked = all.filter_map(|zone| {
            let text = |field: &str| zone[field].as_str();
            let resource = texts.last_word(text("description")?)?;
            let name = text("name").map(str::to_owned);
            Some(Marked::named(resource, text("id")?.to_owned(), name))
        });
        Ok(marked.collect())
    }
}

/// Id of the zone with the marker. The properties can be unknown, so the search has no filter.
async fn find(context: &Context<'_>) -> Result<Option<String>, DriverError> {
    let all = context.session.dns().list(Zones, &[]).await?;
    let found = all.iter().find(|zone| is_ours(zone, context.marker));
    found.map(id_of).transpose()
}

/// The fields that can change.
fn changeable(
    marker: &Marker,
    properties: Properties<'_>,
    changed: &[String],
) -> Result<Map<String, Value>, DriverError> {
    let mut body = common(marker, properties, changed)?;
    if let Some(email) = properties.filled("email")? {
        body.insert("email".into(), email.into());
    }
    let primaries = properties.texts("primaries")?;
    if !primaries.is_empty() {
        body.insert("masters".into(), primaries.into());
    }
    Ok(body)
}

fn creation(marker: &Marker, properties: Properties<'_>) -> Result<Value, DriverError> {
    let mut body = changeable(marker, properties, &[])?;
    body.insert("name".into(), properties.required("name")?.into());
    properties.copy(&["type", "attributes"], &mut body);
    Ok(Value::Object(body))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::marker_named;
    use super::*;

    #[test]
    fn a_primary_zone_has_an_address_of_its_administrator() {
        let given = json!({"name": "example.org.", "email": "a@example.org", "type": "PRIMARY", "ttl": "600",
            "description": "Ours"});
        let given = given.as_object().unwrap();
        let marker = marker_named("site");
        assert_eq!(
            creation(&marker, Properties::of(given)).unwrap(),
            json!({"name": "example.org.", "email": "a@example.org", "type": "PRIMARY", "ttl": 600,
                "description": "Ours stackloom:d/site"})
        );
    }

    #[test]
    fn a_secondary_zone_is_copied_from_its_primaries() {
        let given =
            json!({"name": "example.org.", "type": "SECONDARY", "primaries": ["192.0.2.1"]});
        let given = given.as_object().unwrap();
        let body = creation(&marker_named("site"), Properties::of(given)).unwrap();
        assert_eq!(body["masters"], json!(["192.0.2.1"]));
    }

    #[test]
    fn an_update_without_a_ttl_returns_to_the_default() {
        let given = json!({"name": "example.org.", "email": "b@example.org"});
        let given = given.as_object().unwrap();
        let changed = ["ttl".to_owned()];
        let body = changeable(&marker_named("site"), Properties::of(given), &changed).unwrap();
        assert_eq!(
            Value::Object(body),
            json!({"email": "b@example.org", "ttl": null, "description": "stackloom:d/site"})
        );
    }
}
