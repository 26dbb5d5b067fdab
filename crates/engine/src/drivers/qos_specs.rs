//! `OS::Cinder::QoSSpecs`: how fast volumes may be.
//!
//! Cinder keeps a name and the keys, which hypervisors and storage read, so there is no place for a mark. Names are unique: one that
//! is made up here is nobody else's, and one that a person chose, with just these keys, is ours from a lost answer, as with
//! key pairs. Types that have it lose it before it goes, as in Heat.
//! Source: Block Storage API v3, "Quality of service specifications".

use async_trait::async_trait;
use openstack::collection::{Collection, Record};
use openstack::volume_types::QOS_SPECS;
use serde_json::{Map, Value};

use super::mark;
use super::neutron::done_if_gone;
use super::properties::Properties;
use super::records::{Kept, keys, pairs};
use crate::driver::{Context, DriverError};

pub(super) struct QosSpecs;

/// A key that Cinder shows beside the others, and always has.
const CONSUMER: &str = "consumer";

#[async_trait]
impl Kept for QosSpecs {
    const OF: &'static Collection = &QOS_SPECS;
    const IS_SAID_AGAIN: bool = false;

    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError> {
        let mut body = pairs(context.properties, "specs")?;
        body.insert("name".into(), name(context)?.into());
        Ok(body)
    }

    fn mark(&self, _: &Context<'_>, _: &mut Record) -> Result<(), DriverError> {
        Ok(())
    }

    fn is_ours(&self, context: &Context<'_>, record: &Record) -> bool {
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        if text("name") == Some(&mark::store_name(context.marker)) {
            return true;
        }
        let (Ok(name), Ok(wanted)) = (name(context), pairs(context.properties, "specs")) else {
            return false;
        };
        text("name") == Some(&name) && says(record, &wanted)
    }

    async fn settle(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let storage = context.session.block_storage();
        let (leaving, wanted) = keys(context, "specs")?;
        let specs = context.session.records(&QOS_SPECS);
        if !says(&specs.get(id).await?, &wanted) {
            storage.qos_set(id, &wanted).await?;
        }
        let leaving: Vec<String> = leaving.into_iter().filter(|key| key != CONSUMER).collect();
        if !leaving.is_empty() {
            done_if_gone(storage.qos_unset(id, &leaving).await)?;
        }
        Ok(())
    }

    async fn let_go(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        let storage = context.session.block_storage();
        Ok(storage.qos_disassociate_all(id).await?)
    }
}

fn name(context: &Context<'_>) -> Result<String, DriverError> {
    let given = Properties::of(context.properties).filled("name")?;
    Ok(given.unwrap_or_else(|| mark::store_name(context.marker)))
}

/// Whether all these keys are there, and no others.
fn says(record: &Record, wanted: &Record) -> bool {
    let mut there = match record.get("specs") {
        Some(Value::Object(specs)) => specs.clone(),
        _ => Map::new(),
    };
    if wanted.contains_key(CONSUMER) {
        there.extend(
            record
                .get(CONSUMER)
                .map(|value| (CONSUMER.to_owned(), value.clone())),
        );
    }
    &there == wanted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_consumer_counts_where_it_is_said() {
        let record =
            json!({"id": "q", "name": "n", "consumer": "back-end", "specs": {"iops": "5"}});
        let record = record.as_object().unwrap();
        let check = |wanted: Value| says(record, wanted.as_object().unwrap());
        assert!(check(json!({"iops": "5"})));
        assert!(check(json!({"iops": "5", "consumer": "back-end"})));
        assert!(!check(json!({"iops": "5", "consumer": "both"})));
        assert!(!check(json!({})));
    }
}
