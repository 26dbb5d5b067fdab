//! `OS::Designate::Zone`: a DNS zone.

use async_trait::async_trait;
use openstack::dns::DnsCollection::Zones;
use serde_json::{Map, Value};

use super::{description, id_of, is_gone, is_in_deletion, is_ours, marker_text, progress, put_ttl};
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, ListMarked, Marked, Progress,
    Search, Update,
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
        let body = creation(context)?;
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
        let body = Value::Object(changeable(context)?);
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
fn changeable(context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(context.properties);
    let mut body = Map::new();
    if let Some(email) = properties.filled("email")? {
        body.insert("email".into(), email.into());
    }
    let primaries = properties.texts("primaries")?;
    if !primaries.is_empty() {
        body.insert("masters".into(), primaries.into());
    }
    put_ttl(context, &mut body)?;
    let description = description(context.marker, properties)?;
    body.insert("description".into(), description);
    Ok(body)
}

fn creation(context: &Context<'_>) -> Result<Value, DriverError> {
    let properties = Properties::of(context.properties);
    let mut body = changeable(context)?;
    body.insert("name".into(), properties.required("name")?.into());
    properties.copy(&["type", "attributes"], &mut body);
    Ok(Value::Object(body))
}
