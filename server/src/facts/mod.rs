//! Facts of clouds for forms, checks and plans, cached for half a minute, and no longer than until a run of the project
//! ends: what it has made is known to the next plan.
//!
//! The cache key has user and project: key pairs belong to the user, everything else to the project. Concurrent
//! requests for a list wait for the same fetch. A list that cannot be read is omitted, and its checks are skipped: a
//! cloud without a key pair API must not block the designer.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use api::{CloudFacts, Deployment, Quota};
use engine::{Actor, Engine};
use hot::{bundle::Bundle, document::Document};
use openstack::{Service, Session, image::Image, network::Network};
use planner::{
    cloud::{Flavor, ImageFacts, Named},
    lookup::required_lists,
};
use serde_json::Value;
use types::Registry;

use crate::problem::Result;

mod lookups;

const LIST_LIFETIME: Duration = Duration::from_secs(30);
/// Short, because users who have freed some quota try again at once.
const QUOTA_LIFETIME: Duration = Duration::from_secs(3);

/// The cached facts.
#[derive(Clone)]
pub struct Facts {
    engine: Engine,
    /// Whether the server has a URL for signals.
    takes_signals: bool,
    lists: Cache<CloudFacts>,
    lookups: Cache<Option<Vec<Named>>>,
    quotas: Cache<BTreeMap<String, Quota>>,
}

impl Facts {
    /// An empty cache, of a server that has a URL for signals or has none.
    pub fn new(engine: Engine, takes_signals: bool) -> Facts {
        Facts {
            engine,
            takes_signals,
            lists: Cache::new(LIST_LIFETIME),
            lookups: Cache::new(LIST_LIFETIME),
            quotas: Cache::new(QUOTA_LIFETIME),
        }
    }

    /// Images, flavors, networks, key pairs, zones, services.
    pub async fn of(&self, actor: &Actor) -> Arc<CloudFacts> {
        // Boxed: many concurrent calls are too large for the future of every caller.
        let (session, takes_signals) = (&actor.session, Some(self.takes_signals));
        let fetch = || {
            Box::pin(async move {
                CloudFacts {
                    takes_signals,
                    ..Box::pin(fetch_lists(session)).await
                }
            })
        };
        let outdated = self.engine.last_run_ended(&actor.tenant);
        self.lists.get(key(actor, ""), outdated, fetch).await
    }

    /// The facts with additional lists. Each list is fetched separately, because few templates need it and projects can
    /// have thousands of ports.
    async fn with(
        &self,
        actor: &Actor,
        required_lists: impl IntoIterator<Item = &'static str>,
    ) -> Arc<CloudFacts> {
        let outdated = self.engine.last_run_ended(&actor.tenant);
        let one = async |name: &'static str| {
            let fetch = || Box::pin(lookups::fetch(&actor.session, name));
            let list = self.lookups.get(key(actor, name), outdated, fetch).await;
            Some((name.to_owned(), (*list).clone()?))
        };
        let (lists, named) = futures::join!(
            self.of(actor),
            futures::future::join_all(required_lists.into_iter().map(one))
        );
        let named: BTreeMap<_, _> = named.into_iter().flatten().collect();
        if named.is_empty() {
            return lists;
        }
        Arc::new(CloudFacts {
            things: named,
            ..(*lists).clone()
        })
    }

    /// The facts for checks and plans of a template: the lists that its values refer to, and quotas.
    ///
    /// # Errors
    /// If the template takes too long to parse, or too many computations are in progress.
    pub async fn for_template(
        &self,
        actor: &Actor,
        template: &str,
        bundle: &Bundle,
    ) -> Result<CloudFacts> {
        let (template, bundle) = (template.to_owned(), bundle.clone());
        let work =
            move || required_lists(&Document::parse(template), &bundle, &Registry::openstack());
        let required_lists = self.engine.compute(&actor.tenant, work).await?;
        let (facts, quotas) = futures::join!(self.with(actor, required_lists), self.quotas(actor));
        Ok(CloudFacts {
            quotas,
            ..Arc::unwrap_or_clone(facts)
        })
    }

    /// The facts for a change of a deployment that keeps its template.
    ///
    /// # Errors
    /// As in [`Facts::for_template`].
    pub async fn for_deployment(
        &self,
        actor: &Actor,
        deployment: &Deployment,
    ) -> Result<CloudFacts> {
        let bundle = deployment.beside.bundle();
        self.for_template(actor, &deployment.template, &bundle)
            .await
    }

    /// Limit and usage of the project's quotas, without those that the cloud does not report.
    pub async fn quotas(&self, actor: &Actor) -> BTreeMap<String, Quota> {
        let fetch = || Box::pin(fetch_quotas(&actor.session));
        let outdated = self.engine.last_run_ended(&actor.tenant);
        let (quotas, lists) = futures::join!(
            self.quotas.get(key(actor, ""), outdated, fetch),
            self.of(actor)
        );
        let mut quotas = (*quotas).clone();
        // Nova limits key pairs per user and does not report their number.
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
    let images = readable("images", images);
    CloudFacts {
        image_facts: images.iter().flatten().map(image_facts).collect(),
        images: images.map(|images| {
            images
                .into_iter()
                .map(|image| named(image.id, image.name))
                .collect()
        }),
        flavors: readable("flavors", flavors).map(|flavors| {
            let flavor = |flavor: openstack::compute::Flavor| Flavor {
                id: flavor.id,
                name: flavor.name,
                vcpus: flavor.vcpus,
                ram_mib: flavor.ram,
                disk_gib: flavor.disk,
            };
            flavors.into_iter().map(flavor).collect()
        }),
        networks: readable("networks", networks).map(networks_named),
        external_networks: readable("external networks", external_networks).map(networks_named),
        key_pairs: readable("key pairs", key_pairs).map(|pairs| {
            pairs
                .into_iter()
                .map(|pair| named(pair.name.clone(), Some(pair.name)))
                .collect()
        }),
        now: std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .ok()
            .map(|since| since.as_secs() as i64),
        availability_zones: readable("availability zones", zones).map(|zones| {
            zones
                .into_iter()
                .filter(|zone| zone.available)
                .map(|zone| named(zone.name.clone(), Some(zone.name)))
                .collect()
        }),
        things: BTreeMap::new(),
        services: services(session),
        takes_signals: None,
        region: session.cloud().region.clone(),
        quotas: BTreeMap::new(),
        volume_types: readable("volume types", types).flatten().map(|types| {
            types
                .into_iter()
                .map(|one| named(one.id, Some(one.name)))
                .collect()
        }),
    }
}

fn image_facts(image: &Image) -> (String, ImageFacts) {
    let text = |key: &str| image.other.get(key).and_then(Value::as_str);
    let os = text("os_distro").map(|distro| match text("os_version") {
        Some(version) => format!("{distro} {version}"),
        None => distro.to_owned(),
    });
    let facts = ImageFacts {
        os,
        size_mib: image
            .other
            .get("size")
            .and_then(Value::as_u64)
            .map(|bytes| bytes >> 20),
        disk_gib_min: image.min_disk,
    };
    (image.id.clone(), facts)
}

/// The services in the catalogue. `None` without a catalogue.
fn services(session: &Session) -> Option<BTreeSet<String>> {
    session.catalog().service_types().next()?;
    let offered = session.services();
    Some(offered.map(|service| service.as_str().to_owned()).collect())
}

/// Services with quotas.
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
        // Some roles cannot read quotas.
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

fn readable<T>(what: &str, answer: Result<T, openstack::Error>) -> Option<T> {
    answer
        .inspect_err(|error| tracing::warn!("the cloud's {what} could not be read: {error}"))
        .ok()
}

/// Cloud, project, user, and name of the list.
type Key = (String, String, String, &'static str);

fn key(actor: &Actor, list: &'static str) -> Key {
    (
        actor.tenant.cloud.clone(),
        actor.tenant.project_id.clone(),
        actor.session.user().id.clone(),
        list,
    )
}

/// One slot per key. Its lock is held during the fetch.
#[derive(Clone)]
struct Cache<T> {
    lifetime: Duration,
    slots: Arc<Mutex<HashMap<Key, Slot<T>>>>,
}

type Slot<T> = Arc<tokio::sync::Mutex<Option<(Instant, Arc<T>)>>>;

impl<T> Cache<T> {
    fn new(lifetime: Duration) -> Cache<T> {
        Cache {
            lifetime,
            slots: Arc::default(),
        }
    }

    /// The value of a key, fetched after `outdated` and within the lifetime.
    async fn get<F: Future<Output = T>>(
        &self,
        key: Key,
        outdated: Option<Instant>,
        fetch: impl FnOnce() -> F,
    ) -> Arc<T> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops expired slots. A slot that is being filled is locked and stays.
            slots.retain(|_, slot| {
                slot.try_lock().map_or(true, |slot| {
                    slot.as_ref()
                        .is_some_and(|(at, _)| at.elapsed() < self.lifetime)
                })
            });
            slots.entry(key).or_default().clone()
        };
        let mut cached = slot.lock().await;
        if let Some((_, facts)) = cached
            .as_ref()
            .filter(|(at, _)| at.elapsed() < self.lifetime && Some(*at) > outdated)
        {
            return facts.clone();
        }
        // What changes during the fetch may be missing in it.
        let begun = Instant::now();
        let facts = Arc::new(fetch().await);
        *cached = Some((begun, facts.clone()));
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
        let cache: Cache<usize> = Cache::new(LIST_LIFETIME);
        let calls = AtomicUsize::new(0);
        let key = |project: &str| ("lab".to_owned(), project.to_owned(), "u".to_owned(), "");
        let fetch = || async {
            tokio::task::yield_now().await;
            calls.fetch_add(1, Ordering::SeqCst)
        };
        let answers = join_all((0..10).map(|_| cache.get(key("demo"), None, fetch))).await;
        assert!(answers.iter().all(|answer| **answer == 0));
        assert_eq!(*cache.get(key("other"), None, fetch).await, 1);
        let now = Some(Instant::now());
        assert_eq!(*cache.get(key("demo"), now, fetch).await, 2);
        assert_eq!(*cache.get(key("demo"), now, fetch).await, 2);
    }
}
