//! `OS::Nova::HostAggregate`: hosts with something in common, which may form a zone.
//!
//! The mark is a key of the metadata, which schedulers compare with keys of flavors that nobody gives that name. Metadata can
//! only be set once the aggregate is there, so it begins with a name that is a mark, too, and gets its own when the
//! metadata are set. Hosts leave before it goes: Nova refuses otherwise.
//! Source: Compute API, "Host aggregates".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::flavors::AGGREGATES;
use serde_json::{Map, Value, json};

use super::mark;
use super::neutron::done_if_gone;
use super::properties::Properties;
use super::records::{Records, keys, moves};
use crate::driver::{Context, DriverError};

pub(super) struct HostAggregate;

/// Under this name the metadata have the mark.
const MARK: &str = "stackloom";

#[async_trait]
impl Records for HostAggregate {
    const OF: &'static Collection = &AGGREGATES;
    const TAKES_AWAY: &'static [&'static str] = &["hosts", "metadata"];
    const IS_SAID_AGAIN: bool = false;

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let name = mark::store_name(context.marker);
        Ok(Map::from_iter([("name".to_owned(), name.into())]))
    }

    fn mark(&self, _: &Context<'_>, _: &mut Record) -> Result<(), DriverError> {
        Ok(())
    }

    fn is_ours(&self, context: &Context<'_>, record: &Record) -> bool {
        let begun = mark::store_name(context.marker);
        record.get("name").and_then(Value::as_str) == Some(&begun)
            || record["metadata"][MARK].as_str() == Some(&mark::text(context.marker))
    }

    async fn settle(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let properties = Properties::of(context.properties);
        let compute = context.session.compute();
        let (leaving, mut metadata) = keys(context, "metadata")?;
        metadata.extend(leaving.into_iter().map(|key| (key, Value::Null)));
        metadata.insert(MARK.into(), mark::text(context.marker).into());
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

    async fn let_go(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
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
