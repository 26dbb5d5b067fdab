//! Strays: resources in the cloud with a deployment's marker that are not recorded.
//!
//! They come from requests of unknown outcome: the cloud carried out a request after its replacement had been sent, or
//! after the resource had been deleted. The search queries the cloud for the markers of the journal's creations.
//! [`classify`] decides about the results, and is pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use api::RunKind;
use openstack::Session;

use drivers::{
    Accepted, DriverError, Duplicates, Marked, Marker, Namesakes, Proof, Search, Vault, driver_for,
};

use store::{Creation, CreationKey, CreationsNow};

/// A resource in the cloud, with the creation that its marker names.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The creation.
    pub key: CreationKey,
    /// The cloud's id, in the drivers' format.
    pub physical_id: String,
    /// Name of the resource in the cloud.
    pub name: Option<String>,
    /// The evidence that it comes from the creation.
    pub proof: Proof,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Searched {
    /// All resources with one of the markers.
    pub found: Vec<Found>,
    /// Types that the user is not allowed to list, with the service's error text.
    pub unlisted: Vec<String>,
}

/// The decision about a found resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrayVerdict {
    /// The resource is recorded, or an attempt is about to record it, or it belongs to another user.
    NotStray,
    /// A stray that is removed.
    Remove,
    /// A stray that is never removed.
    Keep(Why),
}

/// The reason why a stray is not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// `deletion_policy: Retain`.
    Retained,
    /// The planned resource has no id yet: a later attempt adopts it.
    Adopted,
    /// Nothing proves that the creation made the stray, and the cloud copies such markers.
    Copied,
    /// The stray has only its name in common with the creation.
    SharesName,
}

impl Why {
    /// The text for users.
    pub fn text(self) -> &'static str {
        match self {
            Why::Retained => "its `deletion_policy` is Retain",
            Why::Adopted => {
                "its resource has no id yet; the next run that creates it adopts this one"
            }
            Why::SharesName => {
                "it got the resource's name while a request was unanswered, and nothing else tells who created it; remove it if it is not yours"
            }
            Why::Copied => {
                "it was not created while a request for it was unanswered; it may be a copy, such as a volume restored from a backup"
            }
        }
    }
}

/// The treatment of found resources whose record has no id yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutId {
    /// All stay: an attempt can adopt any of them at any moment.
    KeepAll,
    /// One of them stays for the next run to adopt.
    KeepOne,
    /// All are removed.
    Remove,
}

/// True if creations of this type with unknown outcome are relevant for a run of this kind. A type without its own
/// marker is relevant only if it can block a deletion.
pub fn is_pending_for(kind: RunKind, resource_type: &str) -> bool {
    match kind {
        RunKind::Undeploy => is_in_a_cloud(resource_type),
        RunKind::Deploy | RunKind::Update => is_listed(resource_type),
        RunKind::Command
        | RunKind::Suspend
        | RunKind::Resume
        | RunKind::Snapshot
        | RunKind::Restore => false,
    }
}

/// True if the markers of a type can be listed.
fn is_listed(resource_type: &str) -> bool {
    driver_for(resource_type)
        .is_some_and(|driver| matches!(driver.duplicates(), Duplicates::Listed(_)))
}

/// True if a cloud can carry out a request for this type late.
fn is_in_a_cloud(resource_type: &str) -> bool {
    driver_for(resource_type).is_some_and(|driver| !matches!(driver.duplicates(), Duplicates::None))
}

/// Searches the cloud for all resources with the marker of one of these creations: one search per type, in parallel.
///
/// # Errors
/// If a service fails. A service that does not exist in the cloud, or that the user is not allowed to list, counts as
/// empty.
pub async fn search(
    session: &Session,
    vault: &dyn Vault,
    (deployment, deployment_name): (&str, &str),
    creations: impl Iterator<Item = &Creation>,
) -> Result<Searched, DriverError> {
    let mut by_type: BTreeMap<&str, Vec<&Creation>> = BTreeMap::new();
    for creation in creations {
        let resource_type = creation.key.resource_type.as_str();
        by_type.entry(resource_type).or_default().push(creation);
    }
    let searches = by_type.into_iter().map(async |(resource_type, creations)| {
        let deployment = (deployment, deployment_name);
        search_type(session, vault, deployment, resource_type, &creations).await
    });
    let mut all = Searched::default();
    for searched in futures::future::join_all(searches).await {
        let searched: Searched = searched?;
        all.found.extend(searched.found);
        all.unlisted.extend(searched.unlisted);
    }
    Ok(all)
}

/// Searches the cloud for the resources of one type with the marker of one of these creations.
async fn search_type(
    session: &Session,
    vault: &dyn Vault,
    (deployment, deployment_name): (&str, &str),
    resource_type: &str,
    creations: &[&Creation],
) -> Result<Searched, DriverError> {
    let duplicates = driver_for(resource_type).map(|driver| driver.duplicates());
    let Some(Duplicates::Listed(driver)) = duplicates else {
        return Ok(Searched::default());
    };
    let markers: Vec<Marker> = creations
        .iter()
        .map(|creation| Marker::of(creation, deployment, deployment_name))
        .collect();
    let names: Vec<(String, Namesakes)> = creations
        .iter()
        .zip(&markers)
        .filter_map(|(creation, marker)| {
            Some((marker.resource.clone(), creation.namesakes.clone()?))
        })
        .collect();
    let search = Search {
        session,
        vault,
        deployment,
        markers: &markers,
        names: &names,
        accepted: Accepted::default(),
    };
    let listed = driver.list_marked(&search).await;
    let found = |marked: Marked| {
        let at = markers
            .iter()
            .position(|marker| marker.resource == marked.resource)?;
        Some(Found {
            key: creations[at].key.clone(),
            physical_id: marked.physical_id,
            name: marked.name,
            proof: marked.proof,
        })
    };
    match listed {
        Ok(marked) => Ok(Searched {
            found: marked.into_iter().filter_map(found).collect(),
            unlisted: Vec::new(),
        }),
        Err(DriverError::Cloud(error)) if is_absent(&error) => Ok(Searched::default()),
        Err(DriverError::Cloud(error)) if error.is_not_allowed() => Ok(Searched {
            found: Vec::new(),
            unlisted: vec![format!("{resource_type}: {error}")],
        }),
        Err(error) => Err(error),
    }
}

/// True if the cloud does not have the service, or the service does not have the resource type.
fn is_absent(error: &openstack::Error) -> bool {
    error.is_not_found() || matches!(error, openstack::Error::NoService { .. })
}

/// Decides about all found resources, in the same order, from the state of the journal after the search. Pure.
pub fn classify(
    found: &[Found],
    now: &CreationsNow,
    without_id: WithoutId,
    horizon: Duration,
) -> Vec<StrayVerdict> {
    let mut adopted: BTreeSet<&CreationKey> = BTreeSet::new();
    let mut judge_one = |found: &'_ Found| {
        if now.recorded.contains(&found.physical_id) {
            return StrayVerdict::NotStray;
        }
        let (key, creation) = match now.creations.get_key_value(&found.key) {
            Some((_, creation)) if creation.in_flight => return StrayVerdict::NotStray,
            Some(known) => known,
            // Without a row there is no evidence.
            None => return StrayVerdict::Keep(Why::Copied),
        };
        if creation.retained {
            return StrayVerdict::Keep(Why::Retained);
        }
        if let Proof::MarkAndAge(created) = found.proof
            && !created.is_some_and(|created| creation.explains(created, horizon))
        {
            return StrayVerdict::Keep(Why::Copied);
        }
        if found.proof == Proof::NameOnly {
            return match creation.uncertain_since {
                Some(_) => StrayVerdict::Keep(Why::SharesName),
                // Another user gave a resource the same name.
                None => StrayVerdict::NotStray,
            };
        }
        match without_id {
            WithoutId::KeepAll if now.without_id.contains(key) => StrayVerdict::Keep(Why::Adopted),
            WithoutId::KeepOne if now.without_id.contains(key) && adopted.insert(key) => {
                StrayVerdict::Keep(Why::Adopted)
            }
            _ => StrayVerdict::Remove,
        }
    };
    found.iter().map(&mut judge_one).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    const HORIZON: Duration = Duration::from_secs(120);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn key(name: &str, incarnation: u32) -> CreationKey {
        CreationKey {
            name: name.into(),
            incarnation,
            resource_type: "OS::Neutron::Net".into(),
        }
    }

    fn creation(name: &str, incarnation: u32) -> Creation {
        Creation {
            key: key(name, incarnation),
            begun: at(0),
            in_flight: false,
            uncertain_since: Some(at(60)),
            swept: false,
            retained: false,
            namesakes: None,
        }
    }

    fn found(name: &str, incarnation: u32, id: &str) -> Found {
        Found {
            key: key(name, incarnation),
            physical_id: id.into(),
            name: None,
            proof: Proof::Mark,
        }
    }

    fn now(creations: impl IntoIterator<Item = Creation>) -> CreationsNow {
        let creations = creations.into_iter();
        CreationsNow {
            creations: creations
                .map(|creation| (creation.key.clone(), creation))
                .collect(),
            ..CreationsNow::default()
        }
    }

    fn verdict(found: Found, now: &CreationsNow) -> StrayVerdict {
        classify(&[found], now, WithoutId::KeepOne, HORIZON)[0]
    }

    #[test]
    fn an_unrecorded_resource_is_removed() {
        let mut now = now([creation("web", 0), creation("web", 1)]);
        now.recorded.insert("one".into());
        assert_eq!(
            verdict(found("web", 0, "one"), &now),
            StrayVerdict::NotStray
        );
        assert_eq!(verdict(found("web", 0, "two"), &now), StrayVerdict::Remove);
        assert_eq!(
            verdict(found("web", 1, "three"), &now),
            StrayVerdict::Remove
        );
    }

    #[test]
    fn a_resource_in_creation_is_not_a_stray() {
        let now = now([Creation {
            in_flight: true,
            ..creation("web", 0)
        }]);
        assert_eq!(
            verdict(found("web", 0, "one"), &now),
            StrayVerdict::NotStray
        );
    }

    #[test]
    fn retained_resources_and_those_unknown_to_the_journal_stay() {
        let now = now([Creation {
            retained: true,
            ..creation("web", 0)
        }]);
        let stays = StrayVerdict::Keep(Why::Retained);
        assert_eq!(verdict(found("web", 0, "one"), &now), stays);
        let stays = StrayVerdict::Keep(Why::Copied);
        assert_eq!(verdict(found("web", 1, "two"), &now), stays);
    }

    #[test]
    fn one_match_of_a_resource_without_id_stays_to_be_adopted() {
        let mut now = now([creation("web", 0)]);
        now.without_id.insert(key("web", 0));
        let two = [found("web", 0, "one"), found("web", 0, "two")];
        let stays = StrayVerdict::Keep(Why::Adopted);
        for (without_id, verdicts) in [
            (WithoutId::KeepAll, [stays, stays]),
            (WithoutId::KeepOne, [stays, StrayVerdict::Remove]),
            (
                WithoutId::Remove,
                [StrayVerdict::Remove, StrayVerdict::Remove],
            ),
        ] {
            assert_eq!(classify(&two, &now, without_id, HORIZON), verdicts);
        }
    }

    #[test]
    fn a_marker_that_can_be_copied_is_checked_by_age() {
        let with_age = |created: Option<Timestamp>, creation: Creation| {
            let volume = Found {
                proof: Proof::MarkAndAge(created),
                ..found("disk", 0, "one")
            };
            verdict(volume, &now([creation]))
        };
        let certain = Creation {
            uncertain_since: None,
            ..creation("disk", 0)
        };
        let copied = StrayVerdict::Keep(Why::Copied);
        assert_eq!(
            with_age(Some(at(30)), creation("disk", 0)),
            StrayVerdict::Remove
        );
        assert_eq!(
            with_age(Some(at(170)), creation("disk", 0)),
            StrayVerdict::Remove
        );
        assert_eq!(with_age(Some(at(-90)), creation("disk", 0)), copied);
        assert_eq!(with_age(Some(at(300)), creation("disk", 0)), copied);
        assert_eq!(with_age(None, creation("disk", 0)), copied);
        assert_eq!(with_age(Some(at(30)), certain), copied);
    }

    fn creations() -> impl Strategy<Value = CreationsNow> {
        let one = (0..4_u32, any::<[bool; 4]>());
        let ids = proptest::collection::hash_set("[a-f]", 0..6);
        (proptest::collection::vec(one, 0..4), ids).prop_map(|(all, recorded)| {
            let mut now = CreationsNow {
                recorded: recorded.into_iter().collect::<HashSet<_>>(),
                ..CreationsNow::default()
            };
            for (incarnation, [in_flight, uncertain, retained, has_no_id]) in all {
                let creation = Creation {
                    in_flight,
                    retained,
                    uncertain_since: uncertain.then(|| at(60)),
                    ..creation("web", incarnation)
                };
                if has_no_id {
                    now.without_id.insert(creation.key.clone());
                }
                now.creations.insert(creation.key.clone(), creation);
            }
            now
        })
    }

    proptest! {
        /// For any findings and records: a removed stray is not recorded, is in the journal, is not retained and is not
        /// being created.
        #[test]
        fn no_recorded_resource_is_removed(
            now in creations(),
            strays_found in proptest::collection::vec((0..4_u32, "[a-f]", any::<Option<bool>>()), 0..8),
            mode in 0..3_usize,
        ) {
            let strays_found: Vec<Found> = strays_found.into_iter().map(|(incarnation, id, aged)| Found {
                proof: match aged {
                    None => Proof::Mark,
                    Some(fits) => Proof::MarkAndAge(fits.then(|| at(30))),
                },
                ..found("web", incarnation, &id)
            }).collect();
            let without_id = [WithoutId::KeepAll, WithoutId::KeepOne, WithoutId::Remove][mode];
            let verdicts = classify(&strays_found, &now, without_id, HORIZON);
            for (stray, verdict) in strays_found.iter().zip(&verdicts) {
                if *verdict != StrayVerdict::Remove {
                    continue;
                }
                prop_assert!(!now.recorded.contains(&stray.physical_id));
                let creation = &now.creations[&stray.key];
                prop_assert!(!creation.retained && !creation.in_flight);
                prop_assert!(stray.proof == Proof::Mark || creation.uncertain_since.is_some());
            }
            // For each resource without an id, one found resource stays for adoption, if any was found.
            for key in now.without_id.iter().filter(|_| without_id != WithoutId::Remove) {
                let of_it: Vec<_> = strays_found.iter().zip(&verdicts).filter(|(stray, _)| stray.key == *key).collect();
                let all_go = !of_it.is_empty() && of_it.iter().all(|(_, verdict)| **verdict == StrayVerdict::Remove);
                prop_assert!(!all_go);
            }
        }
    }
}
