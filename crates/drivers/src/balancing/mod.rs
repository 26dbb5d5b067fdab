//! The driver of Octavia's types. Their fields are data, but their calls differ from those of the generic driver as
//! follows.
//!
//! Octavia locks a whole load balancer during each change, and refuses every other change meanwhile (409). Steps for
//! the parts of one load balancer run at the same time and conflict often. The driver therefore repeats a refused call
//! for a while, so that the run does not use up its retries. A load balancer in state ERROR refuses changes
//! permanently; then the driver does not wait, and only the whole load balancer can be deleted.
//!
//! One call deletes a load balancer with all its parts (cascade), provided that all of them belong to the deployment. A
//! plan deletes the parts after the load balancer, when they are gone already. Listeners, pools and L7 policies also
//! delete their nested parts. Retained parts prevent the deletion ([`cascade`]).
//!
//! The marker is a tag, as not all types have a description. Members and L7 rules are nested in another part, so their
//! physical id is `<parent>:<id>`. `get_resource` returns the id alone, as in Heat.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use openstack::load_balancer::{OctaviaResource, OctaviaType};
use openstack::looks_like_id;
use serde_json::{Map, Value, json};
use types::OnChange;

use super::described::{Described, Occasion, collection, lookup::id_required};
use super::marker;
use super::marker::MarkerIndex;
use super::properties::{Properties, if_valid};
use super::record::{done_if_gone, with_show};
use crate::driver::{
    Abilities, Context, Difference, Driver, DriverError, Duplicates, Inspect, ListMarked, Marked,
    Progress, Ready, Release, Search, Update, differing_fields,
};

mod cascade;

use cascade::{RETAINED_TAG, check_cascade};

/// Maximum time to wait for the lock of a load balancer; a change takes seconds to a minute.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(700);

/// Actions of accepted requests. Octavia keeps no record of requests, so they have no ids.
const UPDATE: &str = "update";
const DELETE: &str = "delete";

/// The driver of one of the types.
pub(super) struct OctaviaDriver {
    of: Described,
    kind: Kind,
}

/// The type of a part, and its parent type.
#[derive(Clone, Copy)]
enum Kind {
    Own(OctaviaType<'static>),
    /// Nested in a pool.
    Member,
    /// Nested in an L7 policy.
    L7Rule,
}

impl Kind {
    fn part<'a>(self, parent: &'a str) -> OctaviaType<'a> {
        match self {
            Kind::Own(part) => part,
            Kind::Member => OctaviaType::Member(parent),
            Kind::L7Rule => OctaviaType::L7Rule(parent),
        }
    }
}

#[async_trait]
impl Driver for OctaviaDriver {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            inspection: Some(self),
            update: Some(self),
            release: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let parent = self.parent(context).await?;
        let part = self.kind.part(&parent);
        if let Some(found) = find(context, part).await? {
            return Ok(physical_id(&parent, &found.id));
        }
        let fields = self.fields(context, Occasion::Creation).await?;
        let balancing = context.session.load_balancer();
        let made = unlocked(context, || balancing.create(part, &fields)).await?;
        Ok(physical_id(&parent, &made.id))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let (parent, id) = parts(physical_id);
        let part = self.kind.part(parent);
        let found = look(context, part, id).await?;
        let Some(found) = found else {
            return Ok(Progress::Failed(format!("the {} is gone", part.title())));
        };
        let judged = progress_of(part, &found);
        Ok(match (&judged, context.accepted.newest(UPDATE, id)) {
            (Progress::Ready(_), Some(request)) => match self.differs(context, &found) {
                // A server that reads from a database replica can be a moment late.
                Some(_) if request.may_be_settling() => {
                    Progress::Pending(format!("the {} is about to change", part.title()))
                }
                Some(how) => Progress::Unchanged(how),
                None => judged,
            },
            _ => judged,
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let Some(physical_id) = self.id_of(context, physical_id).await? else {
            return Ok(());
        };
        let (parent, id) = parts(&physical_id);
        let balancing = context.session.load_balancer();
        let part = self.kind.part(parent);
        check_cascade(context, part, id).await?;
        let done = match part {
            OctaviaType::LoadBalancer => unlocked(context, || balancing.delete_cascade(id)).await,
            _ => unlocked(context, || balancing.delete(part, id)).await,
        };
        match done {
            Err(DriverError::Cloud(error)) => done_if_gone(Err(error)),
            other => {
                context.accepted.note(DELETE, id, String::new());
                other
            }
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let (parent, id) = parts(physical_id);
        let part = self.kind.part(parent);
        let Some(found) = look(context, part, id).await? else {
            return Ok(true);
        };
        // Octavia sets the status PENDING_DELETE before its response.
        if found.provisioning_status == "ERROR" && context.accepted.newest(DELETE, id).is_some() {
            return Err(DriverError::Other(format!(
                "{} {id} was not deleted: Octavia put it in state ERROR and reports no reason. Resume the run to try again, or ask the \
                 cloud's administrator",
                part.title()
            )));
        }
        Ok(found.provisioning_status == "DELETED")
    }
}

#[async_trait]
impl Inspect for OctaviaDriver {
    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        let (parent, id) = parts(physical_id);
        let found = context
            .session
            .load_balancer()
            .get(self.kind.part(parent), id)
            .await;
        match found {
            Ok(found) => Ok(Some(attributes(&found))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn differences(
        &self,
        context: &Context<'_>,
        recorded: &Map<String, Value>,
        present: &Map<String, Value>,
    ) -> Result<Vec<Difference>, DriverError> {
        let compared = self.of.compared(context);
        Ok(differing_fields(compared, recorded, present))
    }
}

#[async_trait]
impl Update for OctaviaDriver {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let (parent, id) = parts(physical_id);
        let fields = self.fields(context, Occasion::Update).await?;
        let balancing = context.session.load_balancer();
        let part = self.kind.part(parent);
        unlocked(context, || balancing.update(part, id, &fields)).await?;
        context.accepted.note(UPDATE, id, String::new());
        Ok(())
    }
}

#[async_trait]
impl Release for OctaviaDriver {
    async fn release(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let Some(physical_id) = self.id_of(context, physical_id).await? else {
            return Ok(());
        };
        let (parent, id) = parts(&physical_id);
        let part = self.kind.part(parent);
        let Some(found) = look(context, part, id).await? else {
            return Ok(());
        };
        let own = marker::tag(context.marker);
        let of_all = marker::tag_of_deployment(context.marker);
        let mut tags: Vec<String> = found.tags;
        tags.retain(|tag| *tag != own && *tag != of_all && tag != RETAINED_TAG);
        tags.push(RETAINED_TAG.to_owned());
        let balancing = context.session.load_balancer();
        let fields = json!({"tags": tags});
        let done = unlocked(context, || balancing.update(part, id, &fields)).await;
        match done {
            Err(DriverError::Cloud(error)) if error.is_not_found() => Ok(()),
            other => other.map(drop),
        }
    }
}

#[async_trait]
impl ListMarked for OctaviaDriver {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = MarkerIndex::of(search, marker::tag);
        let balancing = search.session.load_balancer();
        // Members and L7 rules are listed per parent only, and the parent can be outside the deployment.
        let parents = match self.kind {
            Kind::Own(_) => vec![String::new()],
            Kind::Member => ids(balancing.list(OctaviaType::Pool, &[]).await?),
            Kind::L7Rule => ids(balancing.list(OctaviaType::L7Policy, &[]).await?),
        };
        let mut marked = Vec::new();
        for parent in parents {
            let found = match balancing.list(self.kind.part(&parent), &[]).await {
                Err(error) if error.is_not_found() && !parent.is_empty() => continue,
                found => found?,
            };
            for one in found {
                let is_going = matches!(
                    one.provisioning_status.as_str(),
                    "DELETED" | "PENDING_DELETE"
                );
                let resource = one.tags.iter().find_map(|tag| marks.equal(tag));
                if let (Some(resource), false) = (resource, is_going) {
                    let id = physical_id(&parent, &one.id);
                    marked.push(Marked::named(resource, id, one.name));
                }
            }
        }
        Ok(marked)
    }
}

fn ids(found: Vec<OctaviaResource>) -> Vec<String> {
    found.into_iter().map(|one| one.id).collect()
}

impl OctaviaDriver {
    /// The driver of an Octavia type with an `api` block.
    pub(super) fn of(of: Described) -> Option<OctaviaDriver> {
        let kind = match of.api.words.0.as_str() {
            "loadbalancer" => Kind::Own(OctaviaType::LoadBalancer),
            "listener" => Kind::Own(OctaviaType::Listener),
            "pool" => Kind::Own(OctaviaType::Pool),
            "healthmonitor" => Kind::Own(OctaviaType::HealthMonitor),
            "l7policy" => Kind::Own(OctaviaType::L7Policy),
            "member" => Kind::Member,
            "rule" => Kind::L7Rule,
            _ => return None,
        };
        Some(OctaviaDriver { of, kind })
    }

    /// The known id, else the id of the resource with the marker.
    async fn id_of(
        &self,
        context: &Context<'_>,
        known: Option<&str>,
    ) -> Result<Option<String>, DriverError> {
        if let Some(id) = known {
            return Ok(Some(id.to_owned()));
        }
        let Some(parent) = if_valid(self.parent(context).await)? else {
            return Ok(None);
        };
        let found = find(context, self.kind.part(&parent)).await?;
        Ok(found.map(|found| physical_id(&parent, &found.id)))
    }

    /// The id of the pool of a member, or of the L7 policy of an L7 rule; empty for the other types.
    async fn parent(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let Some(property) = self.of.api.parent() else {
            return Ok(String::new());
        };
        let finds = self.of.api.fields.get(property);
        let finds = finds.and_then(|field| collection(field.finds.as_deref()?));
        match finds {
            Some(parents) => id_required(context, property, parents).await,
            None => Properties::of(context.properties).required(property),
        }
    }

    /// A difference between a resource and an update of it. Compares numbers, booleans and texts, which Octavia returns
    /// as they were sent.
    fn differs(&self, context: &Context<'_>, found: &OctaviaResource) -> Option<String> {
        let updated = self.of.described.properties.iter();
        let mut updated = updated.filter(|one| one.on_change == OnChange::UpdateInPlace);
        updated.find_map(|property| {
            let field = self.of.api.fields.get(&property.name);
            let is_other = field.is_some_and(|field| field.finds.is_some() || field.to.is_some());
            let value = context.properties.get(&property.name)?;
            let is_plain = value.is_string() || value.is_number() || value.is_boolean();
            let there = found.other.get(&property.name)?;
            (is_plain && !is_other && !there.is_null() && !is_same(there, value)).then(|| {
                let name = &property.name;
                format!(
                    "did not get `{name}` {value}: Octavia accepted the change, did not carry it out and gives no reason. It still \
                     has {there}. Update again, or ask the cloud's administrator"
                )
            })
        })
    }

    /// The body of a request, with tags.
    async fn fields(
        &self,
        context: &Context<'_>,
        occasion: Occasion,
    ) -> Result<Value, DriverError> {
        let mut body = self.of.body(context, occasion).await?;
        body.insert("tags".into(), tags(context)?.into());
        Ok(Value::Object(body))
    }
}

/// Whether two values are equal. The numbers `1` and `1.0` are equal.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Repeats a call while the load balancer is locked.
async fn unlocked<T, F>(context: &Context<'_>, call: impl Fn() -> F) -> Result<T, DriverError>
where
    F: Future<Output = Result<T, openstack::Error>>,
{
    let started = Instant::now();
    loop {
        match call().await {
            Err(error) if error.is_conflict() && is_locked(&error) => {
                if started.elapsed() > PATIENCE {
                    return Err(error.into());
                }
                if let Some(broken) = broken(context, &error).await? {
                    return Err(DriverError::Other(format!(
                        "the load balancer {broken} is in state ERROR and lets nothing of it be changed; \
                         undeploy it, or ask the cloud's administrator to repair it (`openstack loadbalancer failover`)"
                    )));
                }
                tokio::time::sleep(PAUSE).await;
            }
            other => return Ok(other?),
        }
    }
}

/// The load balancer in a refusal, if it is in state ERROR.
async fn broken(
    context: &Context<'_>,
    error: &openstack::Error,
) -> Result<Option<String>, DriverError> {
    let message = error.message().unwrap_or_default();
    let Some(id) = message.split_whitespace().find(|word| looks_like_id(word)) else {
        return Ok(None);
    };
    let found = look(context, OctaviaType::LoadBalancer, id).await?;
    let broken = found.filter(|found| found.provisioning_status == "ERROR");
    Ok(broken.map(|found| found.id))
}

/// Recognizes refusals because of a lock: `Load Balancer x is immutable and cannot be updated.`, and for the load
/// balancer itself: `Invalid state PENDING_UPDATE of loadbalancer resource x`.
fn is_locked(error: &openstack::Error) -> bool {
    error.message().is_some_and(|message| {
        message.contains("immutable") || message.contains("Invalid state PENDING_")
    })
}

fn tags(context: &Context<'_>) -> Result<Vec<String>, DriverError> {
    let mut tags = Properties::of(context.properties).texts("tags")?;
    tags.push(marker::tag(context.marker));
    tags.push(marker::tag_of_deployment(context.marker));
    Ok(tags)
}

async fn find(
    context: &Context<'_>,
    part: OctaviaType<'_>,
) -> Result<Option<OctaviaResource>, DriverError> {
    let tag = marker::tag(context.marker);
    let balancing = context.session.load_balancer();
    let found = balancing.list(part, &[("tags", &tag)]).await?;
    Ok(found.into_iter().find(|one| one.tags.contains(&tag)))
}

async fn look(
    context: &Context<'_>,
    part: OctaviaType<'_>,
    id: &str,
) -> Result<Option<OctaviaResource>, DriverError> {
    if part == OctaviaType::LoadBalancer {
        return Ok(context.session.poller().load_balancer(id).await?);
    }
    match context.session.load_balancer().get(part, id).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn attributes(found: &OctaviaResource) -> Map<String, Value> {
    let fields = match serde_json::to_value(found) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    with_show(fields)
}

fn progress_of(part: OctaviaType<'_>, found: &OctaviaResource) -> Progress {
    match found.provisioning_status.as_str() {
        "ACTIVE" | "" => Progress::Ready(Ready {
            reference: json!(found.id),
            attributes: attributes(found),
        }),
        "ERROR" => Progress::Failed(format!(
            "Octavia put the {} in state ERROR and reports no reason",
            part.title()
        )),
        status => Progress::Pending(format!("the {} is in state {status}", part.title())),
    }
}

fn physical_id(parent: &str, id: &str) -> String {
    if parent.is_empty() {
        id.to_string()
    } else {
        format!("{parent}:{id}")
    }
}

fn parts(physical_id: &str) -> (&str, &str) {
    physical_id.split_once(':').unwrap_or(("", physical_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_where_a_thing_lives() {
        assert_eq!(physical_id("", "lb"), "lb");
        assert_eq!(parts(&physical_id("pool", "m")), ("pool", "m"));
        assert_eq!(parts("lb"), ("", "lb"));
    }

    #[test]
    fn states() {
        let state = |status: &str| {
            let found = OctaviaResource {
                provisioning_status: status.into(),
                ..OctaviaResource::default()
            };
            progress_of(OctaviaType::Pool, &found)
        };
        assert!(matches!(state("ACTIVE"), Progress::Ready(_)));
        assert_eq!(
            state("PENDING_UPDATE"),
            Progress::Pending("the pool is in state PENDING_UPDATE".into())
        );
        assert!(matches!(state("ERROR"), Progress::Failed(_)));
    }
}
