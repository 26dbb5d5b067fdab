//! Parts that Octavia deletes along with a resource, and the check that they can be deleted.
//!
//! A retained part (`deletion_policy: Retain`) loses our tags and gets another one ([`RETAINED_TAG`]) when it is removed
//! from its deployment. A resource with a retained part is not deleted, because by then only the tag shows that the part
//! must stay.

use openstack::load_balancer::{OctaviaResource, OctaviaType};
use serde_json::Value;

use super::marker;
use crate::driver::{Context, DriverError};

/// The tag of retained parts.
pub(super) const RETAINED_TAG: &str = "kept-by-deletion-policy";

/// Checks that the parts deleted along with a resource can be deleted: all parts of a load balancer must belong to the
/// deployment, and no part can be retained.
pub(super) async fn check_cascade(
    context: &Context<'_>,
    part: OctaviaType<'_>,
    id: &str,
) -> Result<(), DriverError> {
    match part {
        OctaviaType::LoadBalancer => {
            let query = [("loadbalancer_id", id)];
            for inner in [OctaviaType::Listener, OctaviaType::Pool] {
                for one in nested(context, inner, &query).await? {
                    let is_ours = marker::is_tagged_of_deployment(&one.tags, context.marker);
                    if !is_ours && !is_retained(&one) {
                        return Err(DriverError::Other(format!(
                            "the load balancer has a {} that is not of this deployment: {} ({}); remove it first, then resume",
                            inner.title(),
                            one.name.as_deref().unwrap_or_default(),
                            one.id,
                        )));
                    }
                    check_not_retained(part, inner, &one)?;
                    Box::pin(check_cascade(context, inner, &one.id)).await?;
                }
            }
        }
        OctaviaType::Listener => {
            for policy in nested(context, OctaviaType::L7Policy, &[("listener_id", id)]).await? {
                check_not_retained(part, OctaviaType::L7Policy, &policy)?;
                Box::pin(check_cascade(context, OctaviaType::L7Policy, &policy.id)).await?;
            }
        }
        OctaviaType::Pool => {
            let monitor = [("pool_id", id)];
            for (inner, query) in [
                (OctaviaType::Member(id), &[][..]),
                (OctaviaType::HealthMonitor, &monitor[..]),
            ] {
                for one in nested(context, inner, query).await? {
                    check_not_retained(part, inner, &one)?;
                }
            }
        }
        OctaviaType::L7Policy => {
            for rule in nested(context, OctaviaType::L7Rule(id), &[]).await? {
                check_not_retained(part, OctaviaType::L7Rule(id), &rule)?;
            }
        }
        OctaviaType::Member(_)
        | OctaviaType::HealthMonitor
        | OctaviaType::L7Rule(_)
        | OctaviaType::Flavor => {}
    }
    Ok(())
}

/// The parts nested in a resource; empty if the resource is gone. Octavia ignores some filters for some types and
/// returns all parts, so the result is filtered again.
async fn nested(
    context: &Context<'_>,
    part: OctaviaType<'_>,
    query: &[(&str, &str)],
) -> Result<Vec<OctaviaResource>, DriverError> {
    let mut found = match context.session.load_balancer().list(part, query).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        found => found?,
    };
    found.retain(|one| {
        query
            .iter()
            .all(|(place, id)| can_be_nested_in(one, place, id))
    });
    Ok(found)
}

/// Whether a part can be nested in a resource, by its fields: `listener_id`, or a list of `pools`.
fn can_be_nested_in(one: &OctaviaResource, place: &str, id: &str) -> bool {
    let several = format!("{}s", place.trim_end_matches("_id"));
    let is_it = |value: &Value| value == id || value["id"] == id;
    match (one.other.get(place), one.other.get(&several)) {
        (Some(value), _) => is_it(value),
        (None, Some(Value::Array(all))) => all.iter().any(is_it),
        (None, _) => true,
    }
}

fn is_retained(one: &OctaviaResource) -> bool {
    one.tags.iter().any(|tag| tag == RETAINED_TAG)
}

fn check_not_retained(
    whole: OctaviaType<'_>,
    part: OctaviaType<'_>,
    one: &OctaviaResource,
) -> Result<(), DriverError> {
    if !is_retained(one) {
        return Ok(());
    }
    Err(DriverError::Other(format!(
        "the {} {} ({}) in it is kept by its `deletion_policy` and would go along: keep the {whole} too \
         (`deletion_policy: Retain`), or remove the {} in the cloud, then resume",
        part.title(),
        one.name.as_deref().unwrap_or_default(),
        one.id,
        part.title(),
        whole = whole.title(),
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nested_resource_has_the_id_of_its_parent() {
        let piece = |fields: Value| serde_json::from_value::<OctaviaResource>(fields).unwrap();
        let policy = piece(json!({"id": "p", "listener_id": "l1"}));
        assert!(can_be_nested_in(&policy, "listener_id", "l1"));
        assert!(!can_be_nested_in(&policy, "listener_id", "l2"));
        let monitor = piece(json!({"id": "m", "pools": [{"id": "p1"}]}));
        assert!(can_be_nested_in(&monitor, "pool_id", "p1"));
        assert!(!can_be_nested_in(&monitor, "pool_id", "p2"));
        assert!(can_be_nested_in(
            &piece(json!({"id": "x"})),
            "pool_id",
            "p2"
        ));
    }
}
