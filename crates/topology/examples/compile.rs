//! How long it takes from a template's text to a workflow: parse, check, passes, plan, compile.
//!
//! `cargo run --release --package topology --example compile -- 75 1000` prints a line for each size: the number of
//! drawn resources and the median time in milliseconds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use topology::catalog::CatalogItem;
use topology::cloud::{CloudFacts, Named};
use topology::document::Document;
use topology::plan::{Deployed, PlanInput, plan};
use topology::types::Registry;

const ROUNDS: usize = 15;

fn main() {
    let types = Registry::openstack().with_catalog(catalog());
    let cloud = cloud();
    for size in std::env::args()
        .skip(1)
        .filter_map(|size| size.parse().ok())
    {
        let text = template(size);
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| compile(&text, &types, &cloud))
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{size} {:.2}", times[ROUNDS / 2]);
    }
}

fn compile(text: &str, types: &Registry, cloud: &CloudFacts) -> f64 {
    let begin = Instant::now();
    let document = Document::parse(text);
    let input = PlanInput {
        document: &document,
        parameters: &BTreeMap::new(),
        deployed: &Deployed::default(),
        types,
        cloud,
    };
    let plan = plan(&input);
    let time_ms = begin.elapsed().as_secs_f64() * 1000.0;
    assert!(
        plan.workflow.is_some(),
        "the measured template must compile: {:?}",
        plan.diagnostics
    );
    time_ms
}

/// Networks of up to 20 private web servers each, all behind one public load balancer.
fn template(size: usize) -> String {
    let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n");
    let mut count = 2;
    let mut backends = Vec::new();
    let mut network = 0;
    let mut servers = usize::MAX;
    while count < size {
        if servers >= 20 {
            network += 1;
            servers = 0;
            count += 2;
            let _ = write!(
                text,
                "  net{network}: {{type: \"OS::Neutron::Net\"}}\n  net{network}_subnet:\n    type: OS::Neutron::Subnet\n    \
                 properties: {{network: {{get_resource: net{network}}}, cidr: 10.{network}.0.0/24}}\n"
            );
        }
        let name = format!("web{}", backends.len() + 1);
        server(&mut text, &name, network, "");
        let _ = write!(
            text,
            "  {name}_page:\n    type: Stackloom::Catalog::nginx\n    properties:\n      host: {{get_resource: {name}}}\n      \
             listen_port: 8080\n      page_text: Hello from {name}\n"
        );
        backends.push(format!("{{get_resource: {name}_page}}"));
        servers += 1;
        count += 2;
    }
    server(
        &mut text,
        "edge",
        1,
        "    metadata: {stackloom: {public: true}}\n",
    );
    let _ = write!(
        text,
        "  balancer:\n    type: Stackloom::Catalog::haproxy\n    properties:\n      host: {{get_resource: edge}}\n      \
         backends: [{}]\n",
        backends.join(", ")
    );
    text
}

fn server(text: &mut String, name: &str, network: usize, metadata: &str) {
    let _ = write!(
        text,
        "  {name}:\n    type: OS::Nova::Server\n{metadata}    properties:\n      image: debian-12\n      flavor: m1.small\n      \
         networks: [{{network: {{get_resource: net{network}}}}}]\n"
    );
}

fn catalog() -> Vec<CatalogItem> {
    let items = [
        (
            include_str!("../../../catalog/nginx/item.yml"),
            include_str!("../../../catalog/nginx/meta/argument_specs.yml"),
        ),
        (
            include_str!("../../../catalog/haproxy/item.yml"),
            include_str!("../../../catalog/haproxy/meta/argument_specs.yml"),
        ),
    ];
    items
        .into_iter()
        .map(|(manifest, specs)| {
            CatalogItem::parse(manifest, specs).expect("our own items are right")
        })
        .collect()
}

fn cloud() -> CloudFacts {
    let named = |name: &str| {
        Some(vec![Named {
            id: name.to_owned(),
            name: name.to_owned(),
        }])
    };
    CloudFacts {
        external_networks: named("public"),
        images: named("debian-12"),
        ..CloudFacts::default()
    }
}
