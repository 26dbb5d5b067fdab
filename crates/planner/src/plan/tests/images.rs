//! Components on images on which their items were not tested.

use super::*;
use crate::{
    cloud::{ImageFacts, Named},
    testing::types_with,
};
use types::catalog::CatalogItem;

/// nginx was tested on Debian 12, and the proxy names no image.
fn types_with_tested() -> Registry {
    types_with(|item| match item.name.as_str() {
        "nginx" => CatalogItem {
            tested: vec!["debian-12".to_owned()],
            ..item
        },
        _ => item,
    })
}

/// A cloud with Debian 12 under three names, and with Ubuntu.
fn cloud_with_images() -> CloudFacts {
    let names = [
        "debian-12",
        "Debian 12 (bookworm)",
        "golden",
        "ubuntu-24.04",
    ];
    let images = names.map(|name| Named {
        id: format!("{name}-id"),
        name: name.to_owned(),
    });
    let golden = ImageFacts {
        os: Some("debian 12".to_owned()),
        ..ImageFacts::default()
    };
    CloudFacts {
        images: Some(images.to_vec()),
        image_facts: BTreeMap::from([("golden-id".to_owned(), golden)]),
        ..cloud()
    }
}

/// The plan for two web servers and a proxy on a server with this image.
fn planned(image: &str, deployed: &Deployed) -> Plan {
    let template = format!(
        "  net: {{type: OS::Neutron::Net}}
  subnet: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.0.0/24}}}}
  gate:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: {image}, flavor: m1.small, networks: [{{network: {{get_resource: net}}}}]}}
  page:
    type: Stackloom::Catalog::nginx
    properties: {{host: {{get_resource: gate}}, listen_port: 8080}}
  twin:
    type: Stackloom::Catalog::nginx
    properties: {{host: {{get_resource: gate}}, listen_port: 8081}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {{host: {{get_resource: gate}}, backends: [{{get_resource: page}}, {{get_resource: twin}}]}}
"
    );
    plan(&PlanInput {
        document: &Document::parse(resources(&template)),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed,
        types: &types_with_tested(),
        cloud: &cloud_with_images(),
    })
}

fn warnings(plan: &Plan) -> Vec<String> {
    let warnings = plan.diagnostics.iter();
    let warnings = warnings.filter(|one| one.code == "item-not-tested");
    warnings
        .map(|one| format!("{}: {}", one.path, one.message))
        .collect()
}

#[test]
fn an_image_that_the_item_was_tested_on_has_no_warning_whatever_its_name() {
    for image in ["debian-12", "Debian 12 (bookworm)", "golden", "golden-id"] {
        let plan = planned(image, &Deployed::default());
        assert!(plan.workflow.is_some(), "{}", listing(&plan.diagnostics));
        assert_eq!(warnings(&plan), [""; 0], "{image}");
    }
}

#[test]
fn another_image_is_one_warning_for_all_components_of_the_item_until_they_are_set_up() {
    let plan = planned("ubuntu-24.04", &Deployed::default());
    assert_eq!(
        warnings(&plan),
        [
            "resources.page: `page` and 1 more set up the item `nginx` on the image `ubuntu-24.04`, and the item was tested on \
             `debian-12` only; use such an image, or try the item on this one first"
        ]
    );
    let again = planned("ubuntu-24.04", &made(&plan));
    assert_eq!(warnings(&again), [""; 0]);
}
