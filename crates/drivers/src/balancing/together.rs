//! Parts that Octavia deletes along with a resource, and the check that they can be deleted.
//!
//! A retained part (`deletion_policy: Retain`) loses our tags and gets another one ([`KEPT`]) when it is removed from
//! its deployment. A resource with a retained part is not deleted, because by then only the tag shows that the part
//! must stay.

use openstack::load_balancer::{Balanced, Part};
use serde_json::Value;

use super::mark;
use crate::driver::{Context, DriverError};

/// The tag of retained parts.
pub(super) const KEPT: &str = "kept-by-deletion-policy";

/// Checks that the parts deleted along with a resource can be deleted: all parts of a load balancer must belong to the
/// deployment, and no part can be retained.
pub(super) async fn may_go(
    context: &Context<'_>,
    part: Part<'_>,
    id: &str,
) -> Result<(), DriverError> {
    match part {
        Part::LoadBalancer => {
            let query = [("loadbalancer_id", id)];
            for inner in [Part::Listener, Part::Pool] {
                for one in inside(context, inner, &query).await? {
                    let is_ours = mark::is_tagged_of_deployment(&one.tags, context.marker);
                    if !is_ours && !is_kept(&one) {
                        return Err(DriverError::Other(format!(
                            "the load balancer has a {} that is not of this deployment: {} ({}); remove it first, then resume",
                            inner.title(),
                            one.name.as_deref().unwrap_or_default(),
                            one.id,
                        )));
                    }
                    let_go(part, inner, &one)?;
                    Box::pin(may_go(context, inner, &one.id)).await?;
                }
            }
        }
        Part::Listener => {
            for policy in inside(context, Part::L7Policy, &[("listener_id", id)]).await? {
                let_go(part, Part::L7Policy, &policy)?;
                Box::pin(may_go(context, Part::L7Policy, &policy.id)).await?;
            }
        }
        Part::Pool => {
            let monitor = [("pool_id", id)];
            for (inner, query) in [
                (Part::Member(id), &[][..]),
                (Part::HealthMonitor, &monitor[..]),
            ] {
                for one in inside(context, inner, query).await? {
                    let_go(part, inner, &one)?;
                }
            }
        }
        Part::L7Policy => {
            for rule in inside(context, Part::L7Rule(id), &[]).await? {
                let_go(part, Part::L7Rule(id), &rule)?;
            }
        }
        Part::Member(_) | Part::HealthMonitor | Part::L7Rule(_) | Part::Flavor => {}
    }
    Ok(())
}

/// The parts nested in a resource; empty if the resource is gone. Octavia ignores some filters for some types and
/// returns all parts, so the result is filtered again.
async fn inside(
    context: &Context<'_>,
    part: Part<'_>,
    query: &[(&str, &str)],
) -> Result<Vec<Balanced>, DriverError> {
    let mut found = match context.session.load_balancer().list(part, query).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        found => found?,
    };
    found.retain(|one| query.iter().all(|(place, id)| may_live_in(one, place, id)));
    Ok(found)
}

/// Whether a part can be nested in a resource, by its fields: `listener_id`, or a list of `pools`.
fn may_live_in(one: &Balanced, place: &str, id: &str) -> bool {
    let several = format!("{}s", place.trim_end_matches("_id"));
    let is_it = |value: &Value| value == id || value["id"] == id;
    match (one.other.get(place), one.other.get(&several)) {
        (Some(value), _) => is_it(value),
        (None, Some(Value::Array(all))) => all.iter().any(is_it),
        (None, _) => true,
    }
}

fn is_kept(one: &Balanced) -> bool {
    one.tags.iter().any(|tag| tag == KEPT)
}

fn let_go(whole: Part<'_>, part: Part<'_>, one: &Balanced) -> Result<(), DriverError> {
    if !is_kept(one) {
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
    fn a_piece_says_where_it_lives() {
        let piece = |said: Value| serde_json::from_value::<Balanced>(said).unwrap();
        let policy = piece(json!({"id": "p", "listener_id": "l1"}));
        assert!(may_live_in(&policy, "listener_id", "l1"));
        assert!(!may_live_in(&policy, "listener_id", "l2"));
        let monitor = piece(json!({"id": "m", "pools": [{"id": "p1"}]}));
        assert!(may_live_in(&monitor, "pool_id", "p1"));
        assert!(!may_live_in(&monitor, "pool_id", "p2"));
        assert!(may_live_in(&piece(json!({"id": "x"})), "pool_id", "p2"));
    }
}
