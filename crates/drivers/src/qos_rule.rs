//! `OS::Neutron::QoSBandwidthLimitRule`, `QoSDscpMarkingRule`, `QoSMinimumBandwidthRule` and
//! `QoSMinimumPacketRateRule`: the rules of a QoS policy.
//!
//! A rule is nested in its policy, without name or description, so it has no marker. A policy has one rule per type and
//! direction; these and the rule's values are its identity. Absent properties have Heat's defaults, in updates too. A
//! rule with other values belongs to another user, and Neutron refuses a second one. In a policy of another
//! deployment, the owner of a rule is unknown: there a rule is ours only if its id is in the journal.
//!
//! The physical id is `<policy>:<rule>`, since the path of a rule contains both. `get_resource` returns the rule's own
//! id, as in Heat. On most clouds, only administrators can create rules. The types are code instead of data, because
//! the owner of a rule follows from the description of another resource, its policy. Source: Networking API v2.0,
//! "Quality of Service".

use async_trait::async_trait;
use openstack::nested::{NestedCollection, NestedRecord};
use openstack::network::{Entity as _, QosPolicy};
use openstack::qos::QosRuleKind;
use serde_json::{Map, Value};

use super::properties::{Properties, if_valid};
use super::record::done_if_gone;
use super::{marker, nested};
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, Progress, Update,
};

/// A rule type.
pub(super) struct QosRule {
    kind: QosRuleKind,
    /// The required integer property.
    required_field: &'static str,
    /// The property of the burst, with the default 0.
    burst: Option<&'static str>,
    has_direction: bool,
}

const DIRECTION: &str = "direction";
const TITLE: &str = "QoS rule";

pub(super) static BANDWIDTH_LIMIT: QosRule = QosRule {
    kind: QosRuleKind::BandwidthLimit,
    required_field: "max_kbps",
    burst: Some("max_burst_kbps"),
    has_direction: true,
};

pub(super) static DSCP_MARKING: QosRule = QosRule {
    kind: QosRuleKind::DscpMarking,
    required_field: "dscp_mark",
    burst: None,
    has_direction: false,
};

pub(super) static MINIMUM_BANDWIDTH: QosRule = QosRule {
    kind: QosRuleKind::MinimumBandwidth,
    required_field: "min_kbps",
    burst: None,
    has_direction: true,
};

pub(super) static MINIMUM_PACKET_RATE: QosRule = QosRule {
    kind: QosRuleKind::MinimumPacketRate,
    required_field: "min_kpps",
    burst: None,
    has_direction: true,
};

#[async_trait]
impl Driver for QosRule {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Nested
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let policy = policy(context).await?;
        let fields = self.fields(context.properties)?;
        if context.earlier == Earlier::Possible
            && let Some(id) = self.find(context, &policy, &fields).await?
        {
            return Ok(id);
        }
        let mut fields = fields;
        Properties::of(context.properties).copy(&["tenant_id"], &mut fields);
        let rules = self.rules(context, &policy);
        let made = rules.create(&Value::Object(fields)).await?;
        Ok(nested::physical_id(&policy, &made))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let (policy, rule) = nested::parse(physical_id)?;
        nested::progress(&self.rules(context, policy), rule, TITLE).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_owned(),
            None => match self.find_in_all(context).await? {
                Some(id) => id,
                None => return Ok(()),
            },
        };
        let (policy, rule) = nested::parse(&id)?;
        done_if_gone(self.rules(context, policy).delete(rule).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let (policy, rule) = nested::parse(physical_id)?;
        nested::is_gone(&self.rules(context, policy), rule).await
    }
}

#[async_trait]
impl Update for QosRule {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let (policy, rule) = nested::parse(physical_id)?;
        let fields = Value::Object(self.fields(context.properties)?);
        self.rules(context, policy).update(rule, &fields).await?;
        Ok(())
    }
}

impl QosRule {
    /// The rules of this type in a policy.
    fn rules<'a>(&self, context: &'a Context<'_>, policy: &str) -> NestedCollection<'a> {
        context.session.network().qos_rules(policy, self.kind)
    }

    /// The body of a request. Integers can be given as text.
    fn fields(&self, map: &Map<String, Value>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(map);
        let mut body = Map::new();
        if let Some(number) = properties.integer(self.required_field)? {
            body.insert(self.required_field.into(), number.into());
        }
        if let Some(burst) = self.burst {
            let number = properties.integer(burst)?.unwrap_or_default();
            body.insert(burst.into(), number.into());
        }
        if self.has_direction {
            let text = properties.filled(DIRECTION)?;
            let text = text.unwrap_or_else(|| "egress".into());
            body.insert(DIRECTION.into(), text.into());
        }
        Ok(body)
    }

    /// The physical id of the rule with these fields, in a policy of the deployment.
    async fn find(
        &self,
        context: &Context<'_>,
        policy: &str,
        fields: &Map<String, Value>,
    ) -> Result<Option<String>, DriverError> {
        if !fields.contains_key(self.required_field) {
            return Ok(None);
        }
        let all = match self.rules(context, policy).list().await {
            Err(error) if error.is_not_found() => return Ok(None),
            all => all?,
        };
        // Clouds without the extension return no direction.
        let same = |rule: &&NestedRecord| {
            fields
                .iter()
                .all(|(name, value)| rule.get(name).is_none_or(|there| there == value))
        };
        let Some(found) = all.iter().find(same) else {
            return Ok(None);
        };
        let network = context.session.network();
        match network.get::<QosPolicy>(policy).await {
            Err(error) if error.is_not_found() => Ok(None),
            policy => {
                let policy = policy?;
                let description = policy.description().unwrap_or_default();
                let is_ours = marker::is_of_deployment(description, context.marker);
                if !is_ours {
                    tracing::warn!(
                        rule = nested::id_of(found),
                        "nothing tells whose a QoS rule is; it is left alone"
                    );
                }
                Ok(is_ours.then(|| nested::physical_id(policy.id(), found)))
            }
        }
    }

    /// The physical id of the rule with the known properties.
    async fn find_in_all(&self, context: &Context<'_>) -> Result<Option<String>, DriverError> {
        let Some(policy) = if_valid(policy(context).await)? else {
            return Ok(None);
        };
        let fields = self.fields(context.properties)?;
        self.find(context, &policy, &fields).await
    }
}

async fn policy(context: &Context<'_>) -> Result<String, DriverError> {
    let properties = Properties::of(context.properties);
    let given = properties.required("policy")?;
    let session = context.session;
    properties
        .id_named::<QosPolicy>(session, "policy", &given)
        .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(rule: &QosRule, properties: Value, body: Value) {
        let fields = rule.fields(properties.as_object().unwrap()).unwrap();
        assert_eq!(Value::Object(fields), body);
    }

    #[test]
    fn bodies_of_rules() {
        check(
            &BANDWIDTH_LIMIT,
            json!({"policy": "p", "max_kbps": "1000", "max_burst_kbps": 0, "direction": "ingress", "tenant_id": null}),
            json!({"max_kbps": 1000, "max_burst_kbps": 0, "direction": "ingress"}),
        );
        // An absent property has its default.
        check(
            &BANDWIDTH_LIMIT,
            json!({"policy": "p", "max_kbps": 1}),
            json!({"max_kbps": 1, "max_burst_kbps": 0, "direction": "egress"}),
        );
        check(
            &DSCP_MARKING,
            json!({"policy": "p", "dscp_mark": 16}),
            json!({"dscp_mark": 16}),
        );
    }
}
