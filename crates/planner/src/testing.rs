//! Helpers for the tests of several modules.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    cloud::{CloudFacts, Flavor, Named},
    plan::{Deployed, Plan, PlanInput, plan},
};
use hot::document::Document;
use types::{Registry, catalog::CatalogItem};

pub(crate) fn types() -> Registry {
    let nginx = CatalogItem::parse(
        "name: nginx\ntitle: nginx\nversion: 1.0.0\nsummary: A web server.\ncategory: web\n\
         listens: [{port: listen_port, protocol: tcp}]\nprovides: [{name: http, port: listen_port}]\n\
         outputs: {url: \"http://{address}:{listen_port}/\"}\n",
        "argument_specs:\n  main:\n    options:\n      listen_port: {type: int, default: 80, description: The port.}\n      page_text: {type: str, default: Hello, description: The text.}\n",
    );
    let haproxy = CatalogItem::parse(
        "name: haproxy\ntitle: HAProxy\nversion: 1.0.0\nsummary: A load balancer.\ncategory: web\n\
         listens: [{port: listen_port}]\nprovides: [{name: http, port: listen_port}]\n\
         requires: [{name: backends, capability: http, min: 1, summary: The servers.}]\n",
        "argument_specs:\n  main:\n    options:\n      listen_port: {type: int, default: 80, description: The port.}\n",
    );
    let store = CatalogItem::parse(
        "name: store\ntitle: Store\nversion: 1.0.0\nsummary: A store.\ncategory: databases\n\
         listens: [{port: listen_port}, {port: peer_port, peers: true}]\n\
         provides: [{name: store, port: listen_port}]\n\
         requires: [{name: members, capability: store, summary: Other members.}]\n",
        "argument_specs:\n  main:\n    options:\n      listen_port: {type: int, default: 2379, description: The port.}\n      peer_port: {type: int, default: 2380, description: The port.}\n",
    );
    let names = CatalogItem::parse(
        "name: names\ntitle: Names\nversion: 1.0.0\nsummary: A name server.\ncategory: network\n\
         requires: [{name: services, capability: http, opens: false, summary: Its services.}]\n",
        "argument_specs: {main: {}}\n",
    );
    let base = CatalogItem::parse(
        "name: base\ntitle: Base\nversion: 1.0.0\nsummary: A database.\ncategory: databases\n\
         listens: [{port: listen_port}]\n\
         provides: [{name: login, port: listen_port, consumers: clients}, {name: guest, port: listen_port}]\n",
        "argument_specs: {main: {options: {listen_port: {type: int, default: 3306}, clients: {type: list}}}}\n",
    );
    let blog = CatalogItem::parse(
        "name: blog\ntitle: Blog\nversion: 1.0.0\nsummary: A blog.\ncategory: web\n\
         requires: [{name: database, capability: login, max: 1}, {name: other, capability: guest}]\n",
        "argument_specs: {main: {}}\n",
    );
    let items = [nginx, haproxy, store, names, base, blog];
    Registry::openstack().with_catalog(items.map(|item| item.expect("the item reads")))
}

/// The registry with changed items.
pub(crate) fn types_with(change: impl Fn(CatalogItem) -> CatalogItem) -> Registry {
    let types = types();
    let items = types.iter().filter_map(|one| one.component.clone());
    let items: Vec<CatalogItem> = items.map(change).collect();
    types.with_catalog(items)
}

/// The registry with items that have removal tasks.
pub(crate) fn types_with_removal() -> Registry {
    types_with(|item| CatalogItem {
        removes: true,
        ..item
    })
}

pub(crate) fn cloud() -> CloudFacts {
    let named = |name: &str| Named {
        id: format!("{name}-id"),
        name: name.to_owned(),
    };
    CloudFacts {
        images: Some(vec![named("debian-12")]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.small".into(),
            vcpus: 1,
            ram_mib: 512,
            disk_gib: 1,
        }]),
        networks: Some(vec![]),
        external_networks: Some(vec![named("public")]),
        key_pairs: Some(vec![]),
        availability_zones: None,
        volume_types: Some(vec![named("fast")]),
        ..CloudFacts::default()
    }
}

/// Template with these resources.
pub(crate) fn resources(text: &str) -> String {
    format!("heat_template_version: 2021-04-16\nresources:\n{text}")
}

pub(crate) fn plan_of(text: &str) -> Plan {
    plan_with(text, &[], &Deployed::default())
}

pub(crate) fn plan_with(text: &str, parameters: &[(&str, Value)], deployed: &Deployed) -> Plan {
    let parameters: BTreeMap<String, Value> = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    plan(&PlanInput {
        document: &Document::parse(text),
        bundle: &Default::default(),
        parameters: &parameters,
        deployed,
        types: &types(),
        cloud: &cloud(),
    })
}

/// The demo: a public proxy in front of a private server with nginx.
pub(crate) const DEMO: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.1.0.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  inner:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  proxy:
    type: Stackloom::Catalog::haproxy
    properties:
      host: {get_resource: gate}
      backends: [{get_resource: nginx}]
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: inner}, listen_port: 8080}
outputs:
  url: {value: {get_attr: [nginx, url]}}
";
