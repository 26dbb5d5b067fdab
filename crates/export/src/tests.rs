//! Each format of the same design, whole: what others will read is read here first.

use canvas::layout::Places;
use topology::catalog::CatalogItem;
use topology::cloud::{CloudFacts, Flavor, Named};
use topology::document::Document;
use topology::types::Registry;

use super::*;

/// A public proxy in front of a private server, with a volume, parameters and outputs.
const SHOP: &str = "\
heat_template_version: 2021-04-16
description: A shop.
parameters:
  size:
    type: number
    default: 10
    constraints: [{range: {min: 1, max: 100}}]
  image: {type: string, default: debian-12}
resources:
  # where they meet
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.1.0.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: {get_param: image}
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  inner:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  disk:
    type: OS::Cinder::Volume
    properties: {size: {get_param: size}}
  attached:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: inner}, volume_id: {get_resource: disk}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties:
      host: {get_resource: gate}
      backends: [{get_resource: nginx}]
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: inner}, listen_port: 8080}
outputs:
  url: {description: Where to go., value: {get_attr: [proxy, url]}}
  inside: {value: {get_attr: [inner, first_address]}}
";

fn types() -> Registry {
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
    let items = items.map(|(manifest, specs)| CatalogItem::parse(manifest, specs).unwrap());
    Registry::openstack().with_catalog(items)
}

fn cloud() -> CloudFacts {
    CloudFacts {
        external_networks: Some(vec![Named {
            id: "public-id".into(),
            name: "public".into(),
        }]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.small".into(),
            vcpus: 1,
            ram_mib: 2048,
            disk_gib: 20,
        }]),
        ..CloudFacts::default()
    }
}

fn exported(text: &str, format: Format) -> Export {
    let (document, types, cloud) = (Document::parse(text), types(), cloud());
    let source = Source {
        name: "My Shop!",
        document: &document,
        types: &types,
        cloud: &cloud,
        places: &Places::new(),
    };
    export(&source, format).unwrap()
}

#[test]
fn plain_hot() {
    let export = exported(SHOP, Format::Hot);
    assert_eq!(export.file_name, "my-shop.hot.yaml");
    insta::assert_snapshot!(export.text);
    let document = Document::parse(export.text.as_str());
    assert!(
        document.diagnostics().is_empty(),
        "{:?}",
        document.diagnostics()
    );
    assert!(!export.text.contains("Stackloom::"));
}

#[test]
fn terraform() {
    insta::assert_snapshot!(exported(SHOP, Format::Terraform).text);
}

#[test]
fn tosca() {
    insta::assert_snapshot!(exported(SHOP, Format::Tosca).text);
}

#[test]
fn picture() {
    let volume = SHOP.find("  disk:").unwrap()..SHOP.find("  proxy:").unwrap();
    let text = SHOP.replace(&SHOP[volume], "");
    insta::assert_snapshot!(exported(&text, Format::Svg).text);
}

#[test]
fn a_template_without_anything_of_ours_comes_out_byte_for_byte() {
    let text = "heat_template_version: 2013-05-23\n# note\nresources:\n  a: {type: OS::Heat::RandomString}   # x\n";
    let export = exported(text, Format::Hot);
    assert_eq!(export.text, text);
    assert_eq!(export.report, Report::default());
}

#[test]
fn a_large_design_is_written_anew_and_says_the_same() {
    let document = Document::parse(SHOP);
    let edit = topology::document::Edit::Set {
        path: ["resources", "inner", "properties", "flavor"]
            .map(str::to_owned)
            .into(),
        value: serde_json::json!("large"),
    };
    let (edited, rewritten) = (
        document.edit(&edit).unwrap(),
        hot::rewritten(&document, &[edit]),
    );
    assert_eq!(
        edited.template().resources.len(),
        rewritten.template().resources.len()
    );
    assert_eq!(edited.value(&[]), rewritten.value(&[]));
}

#[test]
fn what_is_half_typed_is_refused_and_named() {
    let (document, types, cloud) = (Document::parse("resources: [a\n  b: c"), types(), cloud());
    let source = Source {
        name: "",
        document: &document,
        types: &types,
        cloud: &cloud,
        places: &Places::new(),
    };
    for format in Format::ALL {
        assert!(export(&source, format).unwrap_err().line.is_some());
        assert_eq!(format.word().parse(), Ok(format));
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let text = "heat_template_version: 2013-05-23\nresources:\n  a.b:\n    type: OS::Nova::Server\n    properties: {name: '${file(\"x\")}', image: '<script>&', flavor: \"a\\nb\"}\n";
    let terraform = exported(text, Format::Terraform).text;
    assert!(terraform.contains("$${file("), "{terraform}");
    assert!(terraform.contains("\"a_b\": {"), "{terraform}");
    let picture = exported(text, Format::Svg).text;
    assert!(
        picture.contains("&lt;script&gt;&amp;") && !picture.contains("<script"),
        "{picture}"
    );
}
