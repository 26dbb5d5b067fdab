//! Aodh's alarms, which call a URL when a measure is beyond a threshold: the `signal_url` of a scaling policy, for
//! example.
//!
//! All types have the same record. They differ in Aodh's type of the alarm and in its rule. Aodh replaces the whole
//! record on an update. The marker is in the description. Queues as actions need a trust, and are refused.
//!
//! Not tried on a real cloud: none with Aodh was available. Sources: Alarming API v2; Heat's `aodh/alarm.py`,
//! `aodh/gnocchi/alarm.py` and `aodh/composite_alarm.py`.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::marker::{self, MarkerIndex};
use super::properties::Properties;
use super::record;
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, ListMarked, Marked, Marker,
    Progress, Ready, Search, Update,
};

/// The driver of a type of alarms.
pub(super) struct Alarm {
    /// Aodh's type.
    kind: &'static str,
    /// Field of the rule.
    rule: &'static str,
    /// Properties that are fields of the rule.
    fields: &'static [&'static str],
}

pub(super) const COMPOSITE: Alarm = Alarm {
    kind: "composite",
    rule: "composite_rule",
    fields: &[],
};

pub(super) const EVENT: Alarm = Alarm {
    kind: "event",
    rule: "event_rule",
    fields: &["event_type", "query"],
};

pub(super) const PROMETHEUS: Alarm = Alarm {
    kind: "prometheus",
    rule: "prometheus_rule",
    fields: &["query", "comparison_operator", "threshold"],
};

pub(super) const RESOURCE: Alarm = Alarm {
    kind: "gnocchi_resources_threshold",
    rule: "gnocchi_resources_threshold_rule",
    fields: &[
        "metric",
        "resource_id",
        "resource_type",
        "comparison_operator",
        "evaluation_periods",
        "aggregation_method",
        "granularity",
        "threshold",
    ],
};

pub(super) const METRICS: Alarm = Alarm {
    kind: "gnocchi_aggregation_by_metrics_threshold",
    rule: "gnocchi_aggregation_by_metrics_threshold_rule",
    fields: &[
        "metrics",
        "comparison_operator",
        "evaluation_periods",
        "aggregation_method",
        "granularity",
        "threshold",
    ],
};

pub(super) const RESOURCES: Alarm = Alarm {
    kind: "gnocchi_aggregation_by_resources_threshold",
    rule: "gnocchi_aggregation_by_resources_threshold_rule",
    fields: &[
        "metric",
        "query",
        "resource_type",
        "comparison_operator",
        "evaluation_periods",
        "aggregation_method",
        "granularity",
        "threshold",
    ],
};

/// Fields of all alarms with the names of their properties, beside [`ACTIONS`].
const COMMON: [&str; 4] = ["enabled", "repeat_actions", "severity", "time_constraints"];

/// Fields with URLs. They can contain the signature of a policy's address, so they are in no attribute.
const ACTIONS: [&str; 3] = ["alarm_actions", "ok_actions", "insufficient_data_actions"];

impl Alarm {
    /// The record of an alarm.
    fn body(&self, marker: &Marker, given: &Map<String, Value>) -> Result<Value, DriverError> {
        let properties = Properties::of(given);
        for queues in ["alarm_queues", "ok_queues", "insufficient_data_queues"] {
            if !properties.list(queues).is_empty() {
                let why = "queues as actions are not supported; call a URL in place of them";
                return Err(properties.wrong(queues, why.into()));
            }
        }
        let mut body = Map::new();
        properties.copy(&COMMON, &mut body);
        properties.copy(&ACTIONS, &mut body);
        let mut rule = Map::new();
        properties.copy(self.fields, &mut rule);
        if let Some(composite) = properties.get("composite_rule") {
            let operator = composite["operator"].as_str().unwrap_or("or");
            rule.insert(operator.to_owned(), composite["rules"].clone());
        }
        let description = properties.filled("description")?;
        let description = marker::description(marker, description.as_deref());
        body.insert("name".into(), marker::physical_name(marker, given).into());
        body.insert("description".into(), description.into());
        body.insert("type".into(), self.kind.into());
        body.insert(self.rule.into(), Value::Object(rule));
        Ok(Value::Object(body))
    }
}

#[async_trait]
impl Driver for Alarm {
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
            && let Some(found) = find(context).await?
        {
            return Ok(found);
        }
        let body = self.body(context.marker, context.properties)?;
        let made = context.session.alarming().create(&body).await?;
        let id = made["alarm_id"].as_str().map(str::to_owned);
        id.ok_or_else(|| DriverError::Other("Aodh answered without an `alarm_id`".to_owned()))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        match context.session.alarming().get(physical_id).await {
            Ok(mut found) => {
                if let Some(fields) = found.as_object_mut() {
                    fields.retain(|field, _| !ACTIONS.contains(&field.as_str()));
                }
                let mut attributes = Map::new();
                attributes.insert("show".into(), found);
                Ok(Progress::Ready(Ready {
                    reference: json!(physical_id),
                    attributes,
                }))
            }
            Err(error) if error.is_not_found() => Ok(Progress::Failed("the alarm is gone".into())),
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_owned(),
            None => match find(context).await? {
                Some(found) => found,
                None => return Ok(()),
            },
        };
        record::done_if_gone(context.session.alarming().delete(&id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        match context.session.alarming().get(physical_id).await {
            Ok(_) => Ok(false),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl Update for Alarm {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let body = self.body(context.marker, context.properties)?;
        Ok(context.session.alarming().put(physical_id, &body).await?)
    }
}

#[async_trait]
impl ListMarked for Alarm {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let texts = MarkerIndex::of(search, marker::text);
        let all = search.session.alarming().list().await?;
        let marked = all.iter().filter_map(|alarm| {
            let text = |field: &str| alarm[field].as_str();
            let resource = texts.last_word(text("description")?)?;
            let id = text("alarm_id")?.to_owned();
            Some(Marked::named(resource, id, text("name").map(str::to_owned)))
        });
        Ok(marked.collect())
    }
}

/// Id of the alarm with the marker.
async fn find(context: &Context<'_>) -> Result<Option<String>, DriverError> {
    let all = context.session.alarming().list().await?;
    let mut all = all.iter();
    let found = all.find(|alarm| {
        let description = alarm["description"].as_str();
        description.is_some_and(|description| marker::carries(description, context.marker))
    });
    Ok(found.and_then(|alarm| Some(alarm["alarm_id"].as_str()?.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(alarm: &Alarm, properties: &Value) -> Result<Value, String> {
        let marker = Marker {
            deployment: "d".into(),
            deployment_name: "shop".into(),
            resource: "busy".into(),
        };
        let properties = properties.as_object().unwrap();
        let body = alarm.body(&marker, properties);
        body.map_err(|error| error.to_string())
    }

    #[test]
    fn an_alarm_calls_a_policy_by_its_rule() {
        let properties = json!({
            "description": "Too busy", "enabled": true, "repeat_actions": true, "alarm_actions": ["https://signals/up"],
            "alarm_queues": [], "metric": "cpu", "query": "{\"=\": {\"server_group\": \"g\"}}", "resource_type": "instance",
            "threshold": 80, "comparison_operator": "gt",
        });
        assert_eq!(
            body(&RESOURCES, &properties).unwrap(),
            json!({
                "name": "shop-busy",
                "description": "Too busy stackloom:d/busy",
                "type": "gnocchi_aggregation_by_resources_threshold",
                "enabled": true,
                "repeat_actions": true,
                "alarm_actions": ["https://signals/up"],
                "gnocchi_aggregation_by_resources_threshold_rule": {
                    "metric": "cpu", "query": "{\"=\": {\"server_group\": \"g\"}}", "resource_type": "instance",
                    "threshold": 80, "comparison_operator": "gt",
                },
            })
        );
    }

    #[test]
    fn the_rules_of_a_composite_alarm_are_joined_by_their_operator() {
        let rules = json!([{"type": "a"}, {"type": "b"}]);
        let properties = json!({"composite_rule": {"operator": "and", "rules": rules}});
        let body = body(&COMPOSITE, &properties).unwrap();
        assert_eq!(body["composite_rule"], json!({"and": rules}));
    }

    #[test]
    fn queues_are_refused() {
        let error = body(&EVENT, &json!({"alarm_queues": ["q"]})).unwrap_err();
        assert!(error.contains("`alarm_queues`"), "{error}");
    }
}
