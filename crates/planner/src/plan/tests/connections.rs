//! The number of connections, and capabilities that a component provides with certain values only.

use super::*;
use crate::testing::types_with;
use types::catalog::CatalogItem;

/// nginx provides `http` with the scheme `http` only.
fn nginx() -> CatalogItem {
    let item = CatalogItem::parse(
        "name: nginx\ntitle: nginx\nversion: 1.0.0\nsummary: A web server.\ncategory: web\n\
         listens: [{port: listen_port}]\nprovides: [{name: http, port: listen_port, when: {scheme: http}}]\n",
        "argument_specs: {main: {options: {listen_port: {type: int, default: 80}, scheme: {type: str, default: http}}}}\n",
    );
    item.unwrap()
}

/// The errors for two pages with these properties and a proxy with these backends.
fn problems(page: &str, backends: &str) -> Vec<String> {
    let template = format!(
        "heat_template_version: 2021-04-16
parameters:
  scheme: {{type: string, default: https}}
  has_page: {{type: boolean, default: false}}
conditions: {{with_page: {{get_param: has_page}}}}
resources:
  net: {{type: OS::Neutron::Net}}
  subnet: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.0.0/24}}}}
  gate:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.small, networks: [{{network: {{get_resource: net}}}}]}}
  page:
    type: Stackloom::Catalog::nginx
    properties: {{host: {{get_resource: gate}}, listen_port: 8080{page}}}
  twin:
    type: Stackloom::Catalog::nginx
    properties: {{host: {{get_resource: gate}}, listen_port: 8081{page}}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {{host: {{get_resource: gate}}, backends: {backends}}}
  names:
    type: Stackloom::Catalog::names
    properties: {{host: {{get_resource: gate}}, services: [{{get_resource: page}}]}}
"
    );
    let types = types_with(|item| {
        if item.name == "nginx" {
            return nginx();
        }
        item
    });
    let made = plan(&PlanInput {
        document: &Document::parse(template),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed: &Deployed::default(),
        types: &types,
        cloud: &cloud(),
    });
    let errors = made.diagnostics.iter().filter(|one| one.is_error());
    let texts = errors.map(|one| format!("{} {}: {}", one.code, one.path, one.message));
    texts.collect()
}

/// The name server uses the address only, so it takes both.
#[test]
fn a_proxy_takes_no_backend_that_speaks_https() {
    let problems = |page: &str| problems(page, "[{get_resource: page}]");
    assert_eq!(problems(""), [""; 0]);
    assert_eq!(problems(", scheme: http"), [""; 0]);
    let expected = "capability-not-provided resources.proxy.properties.backends: `page` does not provide `http` with `scheme: https`, so \
                    `proxy` cannot use it as `backends`; set `scheme` to `http`, or remove the connection";
    assert_eq!(problems(", scheme: https"), [expected]);
    assert_eq!(problems(", scheme: {get_param: scheme}"), [expected]);
}

#[test]
fn several_backends_that_speak_https_are_one_error() {
    let both = "[{get_resource: page}, {get_resource: twin}]";
    let expected = "capability-not-provided resources.proxy.properties.backends: `page` and 1 more do not provide `http` with \
                    `scheme: https`, so `proxy` cannot use it as `backends`; set `scheme` to `http`, or remove the connection";
    assert_eq!(problems(", scheme: https", both), [expected]);
}

#[test]
fn connections_of_a_condition_are_counted() {
    let with = "{if: [with_page, [], [{get_resource: page}]]}";
    assert_eq!(problems("", with), [""; 0]);
    let without = "{if: [with_page, [{get_resource: page}], []]}";
    let expected = "connection-count resources.proxy.properties.backends: `proxy` must be connected to at least one that provides `http` \
                    (`backends`), and is connected to none";
    assert_eq!(problems("", without), [expected]);
}
