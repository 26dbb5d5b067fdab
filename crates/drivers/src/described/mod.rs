//! The generic driver of types with an `api` block in their description ([`types::api`]).
//!
//! It creates, updates and deletes resources with the fields of the block. The location of the marker is in the block
//! too. Types that need code have [`Hooks`]: fields that are not data, calls after a creation or before a deletion,
//! attributes. A resource without a field for a marker is identified by its [`content`].

mod body;
mod collection;
pub(super) mod content;
mod hooks;
pub(super) mod lookup;

use async_trait::async_trait;
use openstack::collection::{Collection, Record, Records, id_of};
use serde_json::{Map, Value};
use types::{
    Registry, ResourceType,
    api::{Api, ApiService, Leftover, MarkerPlace},
};

pub(super) use body::Occasion;
pub(super) use collection::collection;
pub(super) use hooks::{Hooks, NoHooks};

use super::{
    marker::{self, MarkerIndex},
    properties::Properties,
    record::{done_if_gone, progress_of, with_show},
};
use crate::driver::{
    Abilities, Context, Difference, Driver, DriverError, Duplicates, Earlier, Inspect, Inspection,
    ListMarked, Marked, Marker, Progress, Ready, Search, Update, differing_fields,
};

/// The driver of one type.
pub(super) struct Described {
    pub(super) described: &'static ResourceType,
    pub(super) api: &'static Api,
    pub(super) collection: &'static Collection,
    hooks: &'static dyn Hooks,
}

/// The metadata key of a host aggregate's marker.
pub(super) const KEY: &str = "stackloom";

impl Described {
    /// The driver of a type. `None` without an `api` block.
    pub(super) fn of(resource_type: &str, hooks: &'static dyn Hooks) -> Option<Described> {
        Some(Described {
            described: Registry::shared().get(resource_type)?,
            api: Api::of(resource_type)?,
            collection: collection(resource_type)?,
            hooks,
        })
    }

    fn records<'a>(&self, context: &Context<'a>) -> Records<'a> {
        context.session.records(self.collection)
    }

    /// Adds the marker to a body.
    fn mark(
        &self,
        context: &Context<'_>,
        body: &mut Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        match (&self.api.marker, occasion) {
            (MarkerPlace::Description, _) => {
                let own = Properties::of(context.properties).text("description")?;
                let description = marker::description(context.marker, own.as_deref());
                body.insert("description".into(), description.into());
            }
            (MarkerPlace::FirstName | MarkerPlace::Metadata, Occasion::Creation) => {
                body.insert("name".into(), marker::marker_name(context.marker).into());
            }
            _ => {}
        }
        Ok(())
    }

    fn is_ours(&self, marker: &Marker, record: &Record) -> bool {
        let text = |field: &str| record.get(field).and_then(Value::as_str);
        let is_named = || text("name") == Some(&marker::marker_name(marker));
        match &self.api.marker {
            MarkerPlace::Description => {
                marker::carries(text("description").unwrap_or_default(), marker)
            }
            MarkerPlace::FirstName => is_named(),
            MarkerPlace::Metadata => {
                is_named() || record["metadata"][KEY].as_str() == Some(&marker::text(marker))
            }
            MarkerPlace::Tag | MarkerPlace::Content(_) => false,
        }
    }

    /// The resource with the marker, among the matches of a filter.
    async fn find(&self, context: &Context<'_>) -> Result<Option<Record>, DriverError> {
        let records = self.records(context);
        let found = match (&self.api.marker, self.api.service) {
            (MarkerPlace::Description, ApiService::Network) => {
                let own = Properties::of(context.properties).text("description")?;
                let description = marker::description(context.marker, own.as_deref());
                let query = [("description", description.as_str())];
                records.list(&query).await?
            }
            (MarkerPlace::FirstName, _) => {
                let name = marker::marker_name(context.marker);
                records.list_named(&name, &[]).await?
            }
            // The name can have changed, and the properties can be unknown.
            _ => match self.body(context, Occasion::Creation).await {
                Ok(body) => self.named_as(context, &body).await?,
                Err(_) => Vec::new(),
            },
        };
        // Some clouds ignore the filter.
        let mut found = found.into_iter();
        Ok(found.find(|record| self.is_ours(context.marker, record)))
    }

    async fn named_as(
        &self,
        context: &Context<'_>,
        body: &Record,
    ) -> Result<Vec<Record>, DriverError> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let Some(name) = text("name") else {
            return Ok(Vec::new());
        };
        let filters = self.api.filters.iter();
        let query: Vec<(&str, &str)> = filters
            .filter_map(|filter| Some((filter.as_str(), text(filter)?)))
            .collect();
        Ok(self.records(context).list_named(name, &query).await?)
    }

    /// The resource with the marker, among all resources if the filter finds none.
    async fn find_in_all(&self, context: &Context<'_>) -> Result<Option<Record>, DriverError> {
        if let Some(found) = self.find(context).await? {
            return Ok(Some(found));
        }
        let mut all = self.records(context).list(&[]).await?.into_iter();
        Ok(all.find(|record| self.is_ours(context.marker, record)))
    }

    async fn remove(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        match self.hooks.before_delete(context, id).await {
            Err(DriverError::Cloud(error)) if error.is_not_found() => {}
            done => done?,
        }
        match self.records(context).delete(id).await {
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                self.hooks.unblock_deletion(context, id, error).await?;
                done_if_gone(self.records(context).delete(id).await)?;
            }
            Ok(()) => {}
        }
        // A resource is gone once Neutron has accepted the deletion.
        let poller = context.session.poller();
        poller.set_record(self.collection, id, None);
        Ok(())
    }

    async fn set_tags(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        if self.api.service == ApiService::Network {
            let tags = Properties::of(context.properties).texts("tags")?;
            if !tags.is_empty() {
                self.records(context).set_tags(id, &tags).await?;
            }
        }
        Ok(())
    }

    /// Properties of the template that an update can restore, each with its field.
    pub(super) fn compared<'a>(&'a self, context: &Context<'a>) -> Vec<(&'a str, &'a str)> {
        let given = |name: &str| {
            context
                .properties
                .get(name)
                .is_some_and(|one| !one.is_null())
        };
        let properties = self.described.properties.iter();
        let compared = properties.filter_map(|property| {
            let name = property.name.as_str();
            let field = self.api.fields.get(name);
            let field = match name {
                "description" if self.api.marker == MarkerPlace::Description => return None,
                "tags" | "value_specs" => return None,
                _ => field.and_then(|field| field.to.as_deref()).unwrap_or(name),
            };
            let is_restored = self.is_restored(property) || self.hooks.restored().contains(&name);
            (is_restored && given(name)).then_some((name, field))
        });
        compared.collect()
    }

    fn attributes_of(&self, record: Record) -> Map<String, Value> {
        let mut attributes = with_show(record.clone());
        self.hooks.attributes(&record, &mut attributes);
        attributes
    }
}

#[async_trait]
impl Driver for Described {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            inspection: Some(self),
            ..self.hooks.abilities()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if context.earlier == Earlier::Possible {
            match self.api.leftover {
                Leftover::Taken => {
                    if let Some(found) = self.find(context).await? {
                        let id = id_of(&found);
                        let occasion = Occasion::Creation;
                        self.hooks
                            .after_change(context, &id, &found, occasion)
                            .await?;
                        return Ok(id);
                    }
                }
                Leftover::Remade => {
                    // Invalid properties are reported before the old resource is deleted.
                    self.body(context, Occasion::Creation).await?;
                    if let Some(left) = self.find_in_all(context).await? {
                        self.remove(context, &id_of(&left)).await?;
                    }
                }
            }
        }
        let mut body = self.body(context, Occasion::Creation).await?;
        self.mark(context, &mut body, Occasion::Creation)?;
        let made = self.records(context).create(&body).await?;
        let id = id_of(&made);
        self.set_tags(context, &id).await?;
        // The response saves a later read; most of Neutron's resources are ready at once.
        let poller = context.session.poller();
        poller.set_record(self.collection, &id, Some(&made));
        let occasion = Occasion::Creation;
        self.hooks
            .after_change(context, &id, &made, occasion)
            .await?;
        Ok(id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let title = self.collection.title;
        let poller = context.session.poller();
        let Some(mut record) = poller.record(self.collection, physical_id).await? else {
            return Ok(Progress::Failed(format!("the {title} is gone")));
        };
        if self.api.marker == MarkerPlace::FirstName && self.is_ours(context.marker, &record) {
            let name = marker::physical_name(context.marker, context.properties);
            let body = Map::from_iter([("name".to_owned(), name.into())]);
            record = self.records(context).update(physical_id, &body).await?;
        }
        Ok(match progress_of(title, &record) {
            Progress::Ready(ready) => Progress::Ready(Ready {
                attributes: self.attributes_of(record),
                ..ready
            }),
            other => other,
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => Some(id.to_owned()),
            None => self.find_in_all(context).await?.as_ref().map(id_of),
        };
        match id {
            Some(id) => self.remove(context, &id).await,
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let poller = context.session.poller();
        let found = poller.record(self.collection, physical_id).await?;
        Ok(found.is_none())
    }
}

#[async_trait]
impl Update for Described {
    fn removable_entries(&self) -> &'static [&'static str] {
        self.hooks.removable_entries()
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let mut record = Record::new();
        if self.api.changeable {
            let mut body = self.body(context, Occasion::Update).await?;
            self.mark(context, &mut body, Occasion::Update)?;
            record = self.records(context).update(physical_id, &body).await?;
            self.set_tags(context, physical_id).await?;
        }
        let occasion = Occasion::Update;
        self.hooks
            .after_change(context, physical_id, &record, occasion)
            .await
    }
}

#[async_trait]
impl Inspect for Described {
    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        match self.records(context).get(physical_id).await {
            Ok(record) => Ok(Some(self.attributes_of(record))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn inspect(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Inspection, DriverError> {
        let record = match self.records(context).get(physical_id).await {
            Ok(record) => record,
            Err(error) if error.is_not_found() => return Ok(Inspection::Gone),
            Err(error) => return Err(error.into()),
        };
        Ok(match progress_of(self.collection.title, &record) {
            Progress::Pending(why) => Inspection::InTransition(why),
            Progress::Failed(why) => Inspection::Broken(why),
            _ => Inspection::Usable(self.attributes_of(record)),
        })
    }

    async fn differences(
        &self,
        context: &Context<'_>,
        recorded: &Map<String, Value>,
        present: &Map<String, Value>,
    ) -> Result<Vec<Difference>, DriverError> {
        let mut found = differing_fields(self.compared(context), recorded, present);
        found.extend(self.hooks.differences(context, present).await?);
        Ok(found)
    }
}

#[async_trait]
impl ListMarked for Described {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let texts = MarkerIndex::of(search, marker::text);
        let names = MarkerIndex::of(search, marker::marker_name);
        let all = search.session.records(self.collection).list(&[]).await?;
        let marked = all.iter().filter_map(|record| {
            let text = |field: &str| record.get(field).and_then(Value::as_str);
            let named = || names.equal(text("name")?);
            let resource = match &self.api.marker {
                MarkerPlace::Description => texts.last_word(text("description")?),
                MarkerPlace::FirstName => named(),
                MarkerPlace::Metadata => {
                    named().or_else(|| texts.equal(record["metadata"][KEY].as_str()?))
                }
                MarkerPlace::Tag | MarkerPlace::Content(_) => None,
            };
            let name = text("name").map(str::to_owned);
            Some(Marked::named(resource?, id_of(record), name))
        });
        Ok(marked.collect())
    }
}
