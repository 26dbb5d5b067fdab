//! `OS::Neutron::SecurityGroup`: its inline rules.
//!
//! After a crash between the group and its last rule, the next `create` finds the group by its marker and adds the
//! missing rules. As in Heat, Neutron's default rules (all egress) are deleted if the template has egress rules of its
//! own. Source: Networking API v2.0, "Security groups".

use async_trait::async_trait;
use openstack::collection::Record;
use openstack::network::{self as api, SecurityGroupRule};
use serde_json::{Map, Value};

use super::described::{Hooks, Occasion};
use super::properties::Properties;
use super::record::done_if_gone;
use super::rules;
use crate::driver::{Context, Difference, DriverError};

pub(super) struct SecurityGroup;

#[async_trait]
impl Hooks for SecurityGroup {
    async fn after_change(
        &self,
        context: &Context<'_>,
        id: &str,
        record: &Record,
        occasion: Occasion,
    ) -> Result<(), DriverError> {
        let rules = record.get("security_group_rules").cloned();
        let there: Vec<SecurityGroupRule> =
            serde_json::from_value(rules.unwrap_or_default()).unwrap_or_default();
        let wanted = wanted(context, id).await?;
        if occasion == Occasion::Update {
            let network = context.session.network();
            for rule in &there {
                if is_inline(rule) && !wanted.iter().any(|body| rules::is_same(rule, body)) {
                    done_if_gone(network.delete::<SecurityGroupRule>(&rule.id).await)?;
                }
            }
        }
        add_rules(context, &there, wanted).await
    }

    async fn differences(
        &self,
        context: &Context<'_>,
        present: &Map<String, Value>,
    ) -> Result<Vec<Difference>, DriverError> {
        let (Some(group), Some(rules)) = (
            present.get("id").and_then(Value::as_str),
            present.get("security_group_rules"),
        ) else {
            return Ok(Vec::new());
        };
        let there: Vec<SecurityGroupRule> =
            serde_json::from_value(rules.clone()).unwrap_or_default();
        let wanted = wanted(context, group).await?;
        let missing = wanted
            .iter()
            .filter(|body| !there.iter().any(|rule| rules::is_same(rule, body)));
        let missing: Vec<Value> = missing.map(|body| rules::text(body).into()).collect();
        let added = there.iter().filter(|rule| {
            is_inline(rule) && !wanted.iter().any(|body| rules::is_same(rule, body))
        });
        let added: Vec<Value> = added
            .filter_map(|rule| Some(rules::text(serde_json::to_value(rule).ok()?.as_object()?)))
            .map(Value::from)
            .collect();
        if missing.is_empty() && added.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Difference {
            property: "rules".into(),
            recorded: missing.into(),
            found: added.into(),
        }])
    }
}

/// Whether the rule comes from the property `rules`. One with a description is a separate resource, the bastion's rule,
/// or a user's.
fn is_inline(rule: &SecurityGroupRule) -> bool {
    rule.description.as_deref().is_none_or(str::is_empty) && !is_default(rule)
}

/// Request bodies of the inline rules.
async fn wanted(
    context: &Context<'_>,
    group: &str,
) -> Result<Vec<Map<String, Value>>, DriverError> {
    let mut wanted = Vec::new();
    for (index, rule) in Properties::of(context.properties)
        .list("rules")
        .iter()
        .enumerate()
    {
        let prefix = format!("rules.{index}.");
        let rule = Properties::within(rule, &prefix)?;
        let remote = remote_group(context, rule, group).await?;
        wanted.push(rules::body(rule, group, remote.as_deref())?);
    }
    Ok(wanted)
}

/// Adds the missing rules.
async fn add_rules(
    context: &Context<'_>,
    there: &[SecurityGroupRule],
    wanted: Vec<Map<String, Value>>,
) -> Result<(), DriverError> {
    let network = context.session.network();
    if wanted.iter().any(|rule| rule["direction"] == "egress") {
        for rule in there.iter().filter(|rule| is_default(rule)) {
            if !wanted.iter().any(|body| rules::is_same(rule, body)) {
                done_if_gone(network.delete::<SecurityGroupRule>(&rule.id).await)?;
            }
        }
    }
    for body in wanted {
        if there.iter().any(|rule| rules::is_same(rule, &body)) {
            continue;
        }
        match network
            .create::<SecurityGroupRule>(&Value::Object(body))
            .await
        {
            Err(error) if !rules::exists_already(&error) => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// The remote group of a rule. The rule's own group if the mode requires a group and none is given.
async fn remote_group(
    context: &Context<'_>,
    rule: Properties<'_>,
    own: &str,
) -> Result<Option<String>, DriverError> {
    let named = rule
        .id_of::<api::SecurityGroup>(context.session, "remote_group_id")
        .await?;
    match (named, rule.text("remote_mode")?.as_deref()) {
        (Some(id), _) => Ok(Some(id)),
        (None, Some("remote_group_id")) => Ok(Some(own.to_string())),
        (None, _) => Ok(None),
    }
}

/// Whether the rule is one of the two default rules of every group, which allow all egress.
fn is_default(rule: &SecurityGroupRule) -> bool {
    rule.direction == "egress"
        && rule.protocol.is_none()
        && rule.remote_group_id.is_none()
        && rule.description.as_deref().is_none_or(str::is_empty)
        && rule
            .remote_ip_prefix
            .as_deref()
            .is_none_or(|prefix| matches!(prefix, "0.0.0.0/0" | "::/0"))
}
