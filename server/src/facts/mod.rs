//! What clouds have, asked when a form, a check or a plan needs it, and kept for half a minute.
//!
//! Kept per user and project: key pairs are the user's, all else the project's. Whoever asks while
//! an answer is on its way waits for that one. A list that cannot be read is left out, and checks
//! that need it stay silent: a cloud without a key pair API must not keep anybody from drawing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use api::{CloudFacts, Quota};
use engine::Actor;
use hot::{bundle::Bundle, document::Document};
use openstack::{Service, Session, network::Network};
use planner::{
    cloud::{Flavor, Named},
    lookup::asked,
};
use types::Registry;

mod things;

const KEPT_FOR: Duration = Duration::from_secs(30);
/// A person who has just made room tries again at once.
const QUOTAS_KEPT_FOR: Duration = Duration::from_secs(3);

/// The cache.
#[derive(Clone)]
pub struct Facts {
    lists: Cache<CloudFacts>,
    things: Cache<Option<Vec<Named>>>,
    quotas: Cache<BTreeMap<String, Quota>>,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts {
            lists: Cache::new(KEPT_FOR),
            things: Cache::new(KEPT_FOR),
            quotas: Cache::new(QUOTAS_KEPT_FOR),
        }
    }
}

impl Facts {
    /// Images, flavors, networks, key pairs, zones, services.
    pub async fn of(&self, actor: &Actor) -> Arc<CloudFacts> {
        // Many calls at once: too large to lie in the future of every caller.
        self.lists
            .get(key(actor, ""), || Box::pin(fetch_lists(&actor.session)))
            .await
    }

    /// With further lists. Each is asked for by itself, for few templates need it, and projects have thousands of ports.
    async fn with(
        &self,
        actor: &Actor,
        asked: impl IntoIterator<Item = &'static str>,
    ) -> Arc<CloudFacts> {
        let one = async |name: &'static str| {
            let fetch = || Box::pin(things::fetch(&actor.session, name));
            let list = self.things.get(key(actor, name), fetch).await;
            Some((name.to_owned(), (*list).clone()?))
        };
        let (lists, things) = futures::join!(
            self.of(actor),
            futures::future::join_all(asked.into_iter().map(one))
        );
        let things: BTreeMap<_, _> = things.into_iter().flatten().collect();
        if things.is_empty() {
            return lists;
        }
        Arc::new(CloudFacts {
            things,
            ..(*lists).clone()
        })
    }

    /// Everything that checks and plans of a template read: lists that it names, and quotas.
    pub async fn for_template(&self, actor: &Actor, template: &str, bundle: &Bundle) -> CloudFacts {
        let (template, bundle) = (template.to_owned(), bundle.clone());
        let work = move || asked(&Document::parse(template), &bundle, &Registry::openstack());
        // Without the lists that it asks for the rest is checked all the same.
        let asked = tokio::task::spawn_blocking(work).await.unwrap_or_default();
        let (facts, quotas) = futures::join!(self.with(actor, asked), self.quotas(actor));
        CloudFacts {
            quotas,
            ..Arc::unwrap_or_clone(facts)
        }
    }

    /// Limit and use of the project's quotas, without those that the cloud does not tell.
    pub async fn quotas(&self, actor: &Actor) -> BTreeMap<String, Quota> {
        let fetch = || Box::pin(fetch_quotas(&actor.session));
        let (quotas, lists) =
            futures::join!(self.quotas.get(key(actor, ""), fetch), self.of(actor));
        let mut quotas = (*quotas).clone();
        // Nova limits key pairs per user, and does not tell how many there are.
        match (quotas.get_mut("key_pairs"), &lists.key_pairs) {
            (Some(quota), Some(pairs)) => {
                quota.used = i64::try_from(pairs.len()).unwrap_or(i64::MAX);
            }
            _ => drop(quotas.remove("key_pairs")),
        }
        quotas
    }
}

async fn fetch_lists(session: &Session) -> CloudFacts {
    let (compute, network, image) = (session.compute(), session.network(), session.image());
    let active = [("status", "active")];
    let external = [("router:external", "true")];
    let types = async {
        if session.has_service(Service::BlockStorage) {
            session.block_storage().type_list().await.map(Some)
        } else {
            Ok(None)
        }
    };
    let (images, flavors, networks, external_networks, key_pairs, zones, types) = futures::join!(
        image.image_list(&active),
        compute.flavor_list(),
        network.list::<Network>(&[]),
        network.list::<Network>(&external),
        compute.key_pair_list(),
        compute.zone_list(),
        types,
    );
    let networks_named = |networks: Vec<Network>| {
        networks
            .into_iter()
            .map(|network| named(network.id, network.name))
            .collect::<Vec<_>>()
    };
    CloudFacts {
        images: told("images", images).map(|images| {
            images
                .into_iter()
                .map(|image| named(image.id, image.name))
                .collect()
        }),
        flavors: told("flavors", flavors).map(|flavors| {
            let flavor = |flavor: openstack::compute::Flavor| Flavor {
                id: flavor.id,
                name: flavor.name,
                vcpus: flavor.vcpus,
                ram_mib: flavor.ram,
                disk_gib: flavor.disk,
            };
            flavors.into_iter().map(flavor).collect()
        }),
        networks: told("networks", networks).map(networks_named),
        external_networks: told("external networks", external_networks).map(networks_named),
        key_pairs: told("key pairs", key_pairs).map(|pairs| {
            pairs
                .into_iter()
                .map(|pair| named(pair.name.clone(), Some(pair.name)))
                .collect()
        }),
        now: std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .ok()
            .map(|since| since.as_secs() as i64),
        availability_zones: told("availability zones", zones).map(|zones| {
            zones
                .into_iter()
                .filter(|zone| zone.available)
                .map(|zone| named(zone.name.clone(), Some(zone.name)))
                .collect()
        }),
        things: BTreeMap::new(),
        services: services(session),
        region: session.cloud().region.clone(),
        quotas: BTreeMap::new(),
        volume_types: told("volume types", types).flatten().map(|types| {
            types
                .into_iter()
                .map(|one| named(one.id, Some(one.name)))
                .collect()
        }),
    }
}

/// Services that the catalogue has. Without a catalogue nothing is known.
fn services(session: &Session) -> Option<BTreeSet<String>> {
    session.catalog().service_types().next()?;
    let offered = session.services();
    Some(offered.map(|service| service.as_str().to_owned()).collect())
}

/// Services that limit how much a project may have.
const LIMITING: [Service; 4] = [
    Service::Compute,
    Service::Network,
    Service::BlockStorage,
    Service::LoadBalancer,
];

async fn fetch_quotas(session: &Session) -> BTreeMap<String, Quota> {
    let Some(project) = session.project() else {
        return BTreeMap::new();
    };
    let fetch = async |service: Service| {
        let usage = session.quota_sets(service).usage(&project.id).await;
        // Not every role may see them.
        usage.unwrap_or_else(|error| {
            tracing::debug!("the quotas of the {service} service are not known: {error}");
            BTreeMap::new()
        })
    };
    let offered = LIMITING
        .into_iter()
        .filter(|service| session.has_service(*service));
    let usage = futures::future::join_all(offered.map(fetch)).await;
    let quota = |quota: openstack::quota_sets::Quota| Quota {
        limit: quota.limit,
        used: quota.used,
    };
    let all = usage.into_iter().flatten();
    all.map(|(name, known)| (name, quota(known))).collect()
}

fn named(id: String, name: Option<String>) -> Named {
    let name = name
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| id.clone());
    Named { id, name }
}

fn told<T>(what: &str, answer: Result<T, openstack::Error>) -> Option<T> {
    answer
        .inspect_err(|error| tracing::warn!("the cloud's {what} could not be read: {error}"))
        .ok()
}

/// Cloud, project, user, and which list.
type Key = (String, String, String, &'static str);

fn key(actor: &Actor, list: &'static str) -> Key {
    (
        actor.tenant.cloud.clone(),
        actor.tenant.project_id.clone(),
        actor.session.user().id.clone(),
        list,
    )
}

/// One slot a key; its lock is held while the answer is on its way.
#[derive(Clone)]
struct Cache<T> {
    kept_for: Duration,
    slots: Arc<Mutex<HashMap<Key, Slot<T>>>>,
}

type Slot<T> = Arc<tokio::sync::Mutex<Option<(Instant, Arc<T>)>>>;

impl<T> Cache<T> {
    fn new(kept_for: Duration) -> Cache<T> {
        Cache {
            kept_for,
            slots: Arc::default(),
        }
    }

    async fn get<F: Future<Output = T>>(&self, key: Key, fetch: impl FnOnce() -> F) -> Arc<T> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            // What nobody has asked for lately goes; a slot that is being filled is locked and stays.
            slots.retain(|_, slot| {
                slot.try_lock().map_or(true, |slot| {
                    slot.as_ref()
                        .is_some_and(|(at, _)| at.elapsed() < self.kept_for)
                })
            });
            slots.entry(key).or_default().clone()
        };
        let mut kept = slot.lock().await;
        if let Some((_, facts)) = kept.as_ref().filter(|(at, _)| at.elapsed() < self.kept_for) {
            return facts.clone();
        }
        let facts = Arc::new(fetch().await);
        *kept = Some((Instant::now(), facts.clone()));
        facts
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn many_askers_cost_one_call_and_strangers_get_their_own() {
        let cache: Cache<usize> = Cache::new(KEPT_FOR);
        let calls = AtomicUsize::new(0);
        let key = |project: &str| ("lab".to_owned(), project.to_owned(), "u".to_owned(), "");
        let fetch = || async {
            tokio::task::yield_now().await;
            calls.fetch_add(1, Ordering::SeqCst)
        };
        let answers = join_all((0..10).map(|_| cache.get(key("demo"), fetch))).await;
        assert!(answers.iter().all(|answer| **answer == 0));
        assert_eq!(*cache.get(key("other"), fetch).await, 1);
    }
}
