//! The driver of resources that are identified by their content: they have no field for a marker, and at most one
//! resource has a given content.
//!
//! A look-up cannot distinguish our resources from others. So the creation fails if the resource exists already, and
//! otherwise only returns the id, which consists of the content. The resource is created once the journal contains the
//! id. Every resource of ours is therefore in the journal, and an existing one is never adopted. `get_resource` returns
//! the cloud's id.

use async_trait::async_trait;
use openstack::collection::{Record, id_of};
use serde_json::Value;
use types::OnChange;

use super::{Described, Occasion};
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Update};
use crate::record::{done_if_gone, progress_of};

/// The driver of a type that is identified by content.
pub(crate) struct ByContent {
    pub(crate) of: Described,
    /// The fields that identify a resource. Lists have a filter by the first field.
    pub(crate) fields: &'static [String],
}

#[async_trait]
impl Driver for ByContent {
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
        let id = self.id(&self.of.body(context, Occasion::Creation).await?);
        if self.find(context, &id).await?.is_some() {
            return Err(DriverError::Other(format!(
                "the cloud has one {} that says the same already; leave this one out of the template, or remove that one",
                self.of.collection.title
            )));
        }
        Ok(id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let there = match self.find(context, physical_id).await? {
            Some(found) => found,
            None => {
                let body = self.of.body(context, Occasion::Creation).await?;
                self.of.records(context).create(&body).await?
            }
        };
        Ok(progress_of(self.of.collection.title, &there))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        // Without an id, nothing was created.
        let Some(physical_id) = physical_id else {
            return Ok(());
        };
        match self.find(context, physical_id).await? {
            Some(found) => done_if_gone(self.of.records(context).delete(&id_of(&found)).await),
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(self.find(context, physical_id).await?.is_none())
    }
}

#[async_trait]
impl Update for ByContent {
    /// Changes the content, and with it the id. Repeated calls change nothing.
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let after = self.id_now(context, physical_id);
        let values = physical_id.split(SEPARATOR).zip(after.split(SEPARATOR));
        let fields = self.fields.iter().zip(values);
        let changes: Record = fields
            .filter(|(_, (before, after))| before != after)
            .map(|(name, (_, after))| (name.clone(), after.into()))
            .collect();
        if let Some(found) = self.find(context, physical_id).await?
            && !changes.is_empty()
        {
            let records = self.of.records(context);
            records.update(&id_of(&found), &changes).await?;
        }
        Ok(())
    }

    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        Ok(self.id_now(context, physical_id))
    }
}

/// Separator of the values in an id. No value contains it.
const SEPARATOR: &str = ",";

impl ByContent {
    /// The id contains all inputs of a look-up, as the properties can be unknown by then.
    fn id(&self, body: &Record) -> String {
        let values = self.fields.iter().map(|name| body.get(name).map(text));
        let values: Vec<String> = values.map(Option::unwrap_or_default).collect();
        values.join(SEPARATOR)
    }

    /// An id with the current values of updatable properties. Their fields have the same names.
    fn id_now(&self, context: &Context<'_>, physical_id: &str) -> String {
        let values = self.fields.iter().zip(physical_id.split(SEPARATOR));
        let values = values.map(|(name, before)| {
            let property = self.of.described.property(name);
            let updates = property.is_some_and(|one| one.on_change == OnChange::UpdateInPlace);
            let now = context.properties.get(name).filter(|_| updates);
            now.map_or_else(|| before.to_owned(), text)
        });
        values.collect::<Vec<_>>().join(SEPARATOR)
    }

    /// The resource with the content in an id.
    async fn find(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Record>, DriverError> {
        let values = self.fields.iter().zip(physical_id.split(SEPARATOR));
        let values: Vec<(&str, &str)> =
            values.map(|(name, value)| (name.as_str(), value)).collect();
        let first = values.get(..1).unwrap_or_default();
        let all = self.of.records(context).list(first).await?;
        Ok(all.into_iter().find(|record| {
            let mut values = values.iter();
            values.all(|(name, value)| record.get(*name).is_some_and(|there| text(there) == *value))
        }))
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
