//! `OS::Nova::HostAggregate`: metadata, name and hosts.
//!
//! The marker is a metadata key. Schedulers compare metadata with extra specs of flavors, but no flavor has a key of
//! this name. Metadata can only be set after the creation, so the aggregate is created with the marker as its name, and
//! renamed when the metadata is set. Its hosts are removed before the deletion, as Nova refuses otherwise. Source:
//! Compute API, "Host aggregates".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::flavors::AGGREGATES;
use serde_json::{Map, Value, json};

use super::described::lookup::{keys, moves};
use super::described::{Hooks, KEY, Occasion};
use super::marker;
use super::properties::Properties;
use super::record::done_if_gone;
use crate::driver::{Context, DriverError};

pub(super) struct HostAggregate;

#[async_trait]
impl Hooks for HostAggregate {
    fn removable_entries(&self) -> &'static [&'static str] {
        &["hosts", "metadata"]
    }

    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        let compute = context.session.compute();
        let (leaving, mut metadata) = keys(context, "metadata")?;
        metadata.extend(leaving.into_iter().map(|key| (key, Value::Null)));
        metadata.insert(KEY.into(), marker::text(context.marker).into());
        let metadata = json!({ "metadata": metadata });
        compute.aggregate_act(id, "set_metadata", metadata).await?;
        let mut fields = Map::new();
        fields.insert("name".into(), properties.required("name")?.into());
        if let Some(zone) = properties.filled("availability_zone")? {
            fields.insert("availability_zone".into(), zone.into());
        }
        let aggregates = context.session.records(&AGGREGATES);
        let there = aggregates.get(id).await?;
        fields.retain(|name, value| there.get(name) != Some(value));
        if !fields.is_empty() {
            aggregates.update(id, &fields).await?;
        }
        let wanted = properties.texts("hosts")?;
        let before = Properties::of(context.before).texts("hosts")?;
        let tried = Properties::of(context.tried).texts("hosts")?;
        let tried = context.tried.contains_key("hosts").then_some(&tried[..]);
        let (leaving, coming) = moves(&before, tried, &wanted);
        for (action, hosts) in [("add_host", coming), ("remove_host", leaving)] {
            for host in hosts
                .iter()
                .filter(|host| has(&there, host) != (action == "add_host"))
            {
                compute
                    .aggregate_act(id, action, json!({ "host": host }))
                    .await?;
            }
        }
        Ok(())
    }

    async fn before_delete(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let there = context.session.records(&AGGREGATES).get(id).await?;
        let hosts = there["hosts"].as_array().cloned().unwrap_or_default();
        for host in hosts {
            let compute = context.session.compute();
            let left = compute.aggregate_act(id, "remove_host", json!({ "host": host }));
            done_if_gone(left.await)?;
        }
        Ok(())
    }
}

fn has(aggregate: &Record, host: &str) -> bool {
    let hosts = aggregate.get("hosts").and_then(Value::as_array);
    hosts.is_some_and(|hosts| hosts.iter().any(|one| one == host))
}
