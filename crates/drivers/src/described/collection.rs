//! The collections of the types with an `api` block.

use std::{collections::BTreeMap, sync::LazyLock};

use openstack::{Microversion, Service, collection::Collection};
use types::api::{Api, ApiService};

/// The collection of a type's resources.
pub(crate) fn collection(resource_type: &str) -> Option<&'static Collection> {
    static ALL: LazyLock<BTreeMap<&'static str, Collection>> = LazyLock::new(|| {
        let all = Api::all().iter();
        all.map(|(name, api)| (name.as_str(), of(api))).collect()
    });
    ALL.get(resource_type)
}

fn of(api: &'static Api) -> Collection {
    let service = match api.service {
        ApiService::BlockStorage => Service::BlockStorage,
        ApiService::Compute => Service::Compute,
        ApiService::Identity => Service::Identity,
        ApiService::LoadBalancer => Service::LoadBalancer,
        ApiService::Network => Service::Network,
    };
    let words = (api.words.0.as_str(), api.words.1.as_str());
    let query = api.list.query.iter();
    let query: Vec<_> = query
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let version = api.list.version;
    let mut collection = Collection::of(service, &api.path, words, &api.title);
    collection.in_full = api.list.in_full.as_deref();
    collection.version = version.map(|(major, minor)| Microversion(major, minor));
    // Each type has one collection for the lifetime of the program.
    collection.all = query.leak();
    collection.by_name = api.list.by_name.unwrap_or(true);
    collection
}
