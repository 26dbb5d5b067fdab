//! Neutron's things that have nothing which could carry a mark, and of which there is one that says the same: each is known by
//! what it says.
//!
//! Looking for it cannot tell ours from somebody else's. So [`Told`] only looks when it is to be made, and refuses what is there
//! already; it is made once the journal has the id, which is all that it says. At no moment is there one of ours that nobody
//! knows of, and what was there before is never taken for ours. `get_resource` gives Neutron's id.

use async_trait::async_trait;
use openstack::network::Entity;
use serde_json::{Map, Value};

use super::neutron::{self, done_if_gone};
use crate::driver::{Context, Driver, DriverError, Duplicates, Progress};

/// What a type says of itself.
#[async_trait]
pub(super) trait Says: Send + Sync {
    /// Its kind in the network service.
    type Thing: Entity + Sync + 'static;
    /// The fields that it is known by; lists can be asked for the first.
    const KNOWN_BY: &'static [&'static str];
    /// Those of them that can be changed, and that the properties say as they are.
    const CHANGES: &'static [&'static str] = &[];

    /// The body.
    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError>;
}

/// The driver of such a type.
pub(super) struct Told<T>(pub(super) T);

#[async_trait]
impl<T: Says> Driver for Told<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let id = id::<T>(&self.0.fields(context).await?);
        if find::<T>(context, &id).await?.is_some() {
            return Err(DriverError::Other(format!(
                "the cloud has one {} that says the same already; leave this one out of the template, or remove that one",
                T::Thing::TITLE
            )));
        }
        Ok(id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        if let Some(found) = find::<T>(context, physical_id).await? {
            return Ok(neutron::judge(&found));
        }
        let fields = Value::Object(self.0.fields(context).await?);
        let network = context.session.network();
        let made: T::Thing = network.create(&fields).await?;
        Ok(neutron::judge(&made))
    }

    /// What it says changes, and with it its id. Done already, there is nothing to do.
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let after = id_now::<T>(context, physical_id);
        let words = physical_id.split(SEPARATOR).zip(after.split(SEPARATOR));
        let changes: Map<String, Value> = T::KNOWN_BY
            .iter()
            .zip(words)
            .filter(|(_, (before, after))| before != after)
            .map(|(name, (_, after))| ((*name).to_owned(), after.into()))
            .collect();
        if let Some(found) = find::<T>(context, physical_id).await?
            && !changes.is_empty()
        {
            let network = context.session.network();
            let changes = Value::Object(changes);
            network.update::<T::Thing>(found.id(), &changes).await?;
        }
        Ok(())
    }

    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        Ok(id_now::<T>(context, physical_id))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        // Without an id, none was ever made.
        let Some(physical_id) = physical_id else {
            return Ok(());
        };
        match find::<T>(context, physical_id).await? {
            Some(found) => {
                let network = context.session.network();
                done_if_gone(network.delete::<T::Thing>(found.id()).await)
            }
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(find::<T>(context, physical_id).await?.is_none())
    }
}

/// In none of the words.
const SEPARATOR: &str = ",";

/// Says all that finding it needs: the properties may not be known any more by then.
fn id<T: Says>(fields: &Map<String, Value>) -> String {
    let words = T::KNOWN_BY
        .iter()
        .map(|name| fields.get(*name).map(word).unwrap_or_default());
    words.collect::<Vec<_>>().join(SEPARATOR)
}

/// What an id says, with what the properties say now.
fn id_now<T: Says>(context: &Context<'_>, physical_id: &str) -> String {
    let words = T::KNOWN_BY.iter().zip(physical_id.split(SEPARATOR));
    let words = words.map(|(name, before)| match context.properties.get(*name) {
        Some(now) if T::CHANGES.contains(name) => word(now),
        _ => before.to_owned(),
    });
    words.collect::<Vec<_>>().join(SEPARATOR)
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The one that says what the id says.
async fn find<T: Says>(
    context: &Context<'_>,
    physical_id: &str,
) -> Result<Option<T::Thing>, DriverError> {
    let words: Vec<&str> = physical_id.split(SEPARATOR).collect();
    let query: Vec<(&str, &str)> = T::KNOWN_BY
        .iter()
        .copied()
        .zip(words.iter().copied())
        .take(1)
        .collect();
    let all: Vec<T::Thing> = context.session.network().list(&query).await?;
    Ok(all.into_iter().find(|one| {
        let said = serde_json::to_value(one).unwrap_or_default();
        let mut known = T::KNOWN_BY.iter().zip(&words);
        known.all(|(name, wanted)| word(&said[*name]) == *wanted)
    }))
}
