//! The service catalogue of a token: the services of a cloud and their endpoints.
//!
//! Clouds use different names for the same service (`compute` or `nova`, `block-storage` or `volumev3`). A [`Service`]
//! is therefore searched by its official type first and then by each alias. Source of the aliases: the OpenStack
//! service types authority.

use serde::Deserialize;

use crate::Service;

/// All services in the catalogue of a token.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Catalog {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Entry {
    #[serde(rename = "type")]
    service_type: String,
    name: Option<String>,
    endpoints: Vec<CatalogEndpoint>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct CatalogEndpoint {
    interface: String,
    region: Option<String>,
    region_id: Option<String>,
    url: String,
}

impl Catalog {
    /// The URL of a service on the first of the given interfaces that it has. Without a region, any region matches.
    pub fn endpoint(
        &self,
        service: Service,
        region: Option<&str>,
        interfaces: &[String],
    ) -> Option<&str> {
        service.types().iter().find_map(|service_type| {
            interfaces.iter().find_map(|interface| {
                self.entries
                    .iter()
                    .filter(|entry| entry.service_type == *service_type)
                    .flat_map(|entry| &entry.endpoints)
                    .find(|endpoint| {
                        let here = endpoint.region_id.as_deref().or(endpoint.region.as_deref());
                        endpoint.interface == *interface && (region.is_none() || here == region)
                    })
                    .map(|endpoint| endpoint.url.as_str())
            })
        })
    }

    /// All regions with at least one endpoint, sorted, without duplicates.
    pub fn regions(&self) -> Vec<&str> {
        let mut regions: Vec<&str> = self
            .entries
            .iter()
            .flat_map(|entry| &entry.endpoints)
            .filter_map(|endpoint| endpoint.region_id.as_deref().or(endpoint.region.as_deref()))
            .collect();
        regions.sort_unstable();
        regions.dedup();
        regions
    }

    /// Types of all services, as the catalogue names them.
    pub fn service_types(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.service_type.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalog() -> Catalog {
        let endpoint = |interface: &str, region: &str, url: &str| json!({"interface": interface, "region": region, "region_id": region, "url": url});
        serde_json::from_value(json!([
            {"type": "volumev3", "name": "cinderv3", "endpoints": [endpoint("public", "one", "http://volume/v3/p")]},
            {"type": "compute", "name": "nova", "endpoints": [
                endpoint("internal", "one", "http://inside/v2.1"),
                endpoint("public", "one", "http://one/v2.1"),
                endpoint("public", "two", "http://two/v2.1"),
            ]},
            {"type": "image", "name": null, "endpoints": []},
        ]))
        .expect("a catalogue")
    }

    fn check(service: Service, region: Option<&str>, interfaces: &[&str], expected: Option<&str>) {
        let interfaces: Vec<String> = interfaces.iter().map(|name| name.to_string()).collect();
        assert_eq!(catalog().endpoint(service, region, &interfaces), expected);
    }

    #[test]
    fn by_type_region_and_interface() {
        check(
            Service::Compute,
            Some("two"),
            &["public"],
            Some("http://two/v2.1"),
        );
        check(Service::Compute, None, &["public"], Some("http://one/v2.1"));
        check(
            Service::Compute,
            Some("one"),
            &["admin", "internal"],
            Some("http://inside/v2.1"),
        );
        check(Service::Compute, Some("three"), &["public"], None);
        check(Service::Image, None, &["public"], None);
        assert_eq!(catalog().regions(), ["one", "two"]);
    }

    #[test]
    fn by_alias() {
        check(
            Service::BlockStorage,
            Some("one"),
            &["public"],
            Some("http://volume/v3/p"),
        );
    }
}
