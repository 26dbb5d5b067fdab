//! Scripts, forms of several resources, and values that are proposed or set together.

use super::*;

#[test]
fn a_script_from_a_file_shows_its_name() {
    let text = "\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, user_data: {get_file: setup.sh}}
";
    let script = field(text, "web", "user_data");
    assert_eq!(script.control, Control::File("setup.sh".to_owned()));
    let document = Document::parse(text);
    let choices = sources(document.template(), &Registry::openstack(), &script);
    assert_eq!(choices[0].source, Source::Value);
}

const SCRIPT: &str = "\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      user_data:
        str_replace:
          template: |
            #!/bin/sh
            echo WORD
          params:
            WORD: hello   # a greeting
";

#[test]
fn a_script_with_replaced_words_is_a_text_and_a_list_of_words() {
    let script = field(SCRIPT, "web", "user_data");
    let Control::Replace(parts) = &script.control else {
        panic!("{:?}", script.control)
    };
    let [template, params] = &parts[..] else {
        panic!("{parts:?}")
    };
    assert_eq!(
        (&template.control, &*template.text),
        (&Control::Area, "#!/bin/sh\necho WORD\n")
    );
    let document = Document::parse(SCRIPT);
    let path: Vec<&str> = template.path.iter().map(String::as_str).collect();
    assert_eq!(document.value(&path), Some(json!(template.text)));
    let Control::Pairs(words) = &params.control else {
        panic!("{:?}", params.control)
    };
    assert_eq!(words[0].text, "hello");
    let types = Registry::openstack();
    let proposal = switch(
        document.template(),
        &types,
        &words[0],
        &Source::NewParameter,
    );
    let changed = after(SCRIPT, &proposal.edits);
    let changed = Document::parse(changed);
    assert_eq!(
        changed.value(&["parameters", "WORD", "default"]),
        Some(json!("hello"))
    );
    let added = add_key(params, "NAME").expect("a new word");
    let changed = after(SCRIPT, &[added]);
    assert!(changed.contains("NAME"), "{changed}");
    assert!(changed.contains("# a greeting"), "{changed}");
    let text = edit(template, "#!/bin/sh\ntrue\n").expect("a new text");
    assert!(after(SCRIPT, &[text]).contains("            true\n"));
    let plain = switch(document.template(), &types, &script, &Source::Value);
    let plain = Document::parse(after(SCRIPT, &plain.edits));
    let path: Vec<&str> = script.path.iter().map(String::as_str).collect();
    assert_eq!(plain.value(&path), Some(json!(template.text)));
}

const FARM: &str = "\
heat_template_version: 2021-04-16
resources:
  a:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, image: debian-12, key_name: mine}
  b:
    type: OS::Nova::Server
    properties: {flavor: m1.large, image: debian-12}   # the big one
  disk: {type: OS::Cinder::Volume}
";

#[test]
fn servers_show_their_common_values_and_are_changed_together() {
    let document = Document::parse(FARM);
    let (types, cloud) = (Registry::openstack(), CloudFacts::default());
    let names = ["a", "b"].map(str::to_owned);
    let found = common_fields(document.template(), &names, &types, &cloud);
    let of = |name: &str| {
        found
            .iter()
            .find(|field| field.name == name)
            .expect("a field")
    };
    assert_eq!(
        (&*of("image").text, of("image").is_mixed),
        ("debian-12", false)
    );
    assert_eq!((&*of("flavor").text, of("flavor").is_mixed), ("", true));
    assert!(of("key_name").is_mixed);
    assert!(!found.iter().any(|field| field.name == "networks"));

    let set = |field: &Field, text: &str| {
        edit_all(document.template(), &names, &types, &cloud, field, text).expect("edits")
    };
    let changed = after(FARM, &set(of("name"), "node"));
    assert_eq!(changed.matches("name: node").count(), 2, "{changed}");
    assert!(changed.contains("# the big one"));
    // Only one of them has a key.
    let changed = after(FARM, &set(of("key_name"), ""));
    assert!(!changed.contains("key_name"), "{changed}");

    let mixed = ["a", "disk"].map(str::to_owned);
    assert!(common_type(document.template(), &mixed, &types).is_none());
    assert!(common_fields(document.template(), &mixed, &types, &cloud).is_empty());
}

#[test]
fn servers_take_a_value_from_one_new_parameter_and_get_it_back() {
    let (types, cloud) = (Registry::openstack(), CloudFacts::default());
    let names = ["a", "b"].map(str::to_owned);
    let image = |document: &Document| {
        let found = common_fields(document.template(), &names, &types, &cloud);
        let mut found = found.into_iter();
        found.find(|one| one.name == "image").expect("a field")
    };
    let switched = |document: &Document, source: &Source| {
        let field = image(document);
        let template = document.template();
        let change = switch_all(template, &names, &types, &cloud, &field, source);
        Document::parse(after(document.text(), &change.edits))
    };
    let value = |document: &Document, name: &str| {
        document.value(&["resources", name, "properties", "image"])
    };

    let start = Document::parse(FARM);
    let offered = common_sources(start.template(), &names, &types, &image(&start));
    let is_own = |choice: &SourceChoice| matches!(&choice.source, Source::Attribute(name, _) | Source::Resource(name) if names.contains(name));
    assert!(!offered.iter().any(is_own), "{offered:?}");

    let linked = switched(&start, &Source::NewParameter);
    for name in &names {
        assert_eq!(value(&linked, name), Some(json!({ "get_param": "image" })));
    }
    assert_eq!(linked.template().parameters.len(), 1);
    assert_eq!(
        linked.value(&["parameters", "image", "default"]),
        Some(json!("debian-12"))
    );
    assert!(matches!(image(&linked).control, Control::Linked(_)));

    let back = switched(&linked, &Source::Value);
    for name in &names {
        assert_eq!(value(&back, name), Some(json!("debian-12")));
    }
}

#[test]
fn a_subnet_proposes_its_gateway_and_its_pools() {
    let text = "\
heat_template_version: 2021-04-16
resources:
  it:
    type: OS::Neutron::Subnet
    properties: {cidr: 10.0.3.0/24, allocation_pools: [{start: 10.0.3.5, end: 10.0.3.9}]}
";
    let gateway = field(text, "it", "gateway_ip");
    assert_eq!(gateway.proposals, ["10.0.3.1", "10.0.3.254"]);
    let pools = field(text, "it", "allocation_pools");
    let labels: Vec<_> = table(&pools)
        .presets
        .iter()
        .map(|one| &*one.label)
        .collect();
    assert_eq!(
        labels,
        [
            "All but the first ten: 10.0.3.11 to 10.0.3.254",
            "Lower half: 10.0.3.11 to 10.0.3.127",
            "Upper half: 10.0.3.128 to 10.0.3.254",
            "Empty row"
        ]
    );
    let cells = &table(&pools).rows[0].cells;
    assert_eq!(cells[1].proposals, ["10.0.3.254", "10.0.3.127"]);
    let server = field(SITE, "web", "block_device_mapping_v2");
    assert_eq!(table(&server).presets[0].label, "Boot volume from an image");
}

#[test]
fn a_line_has_the_values_beside_its_reference() {
    const TEXT: &str = "\
heat_template_version: 2021-04-16
resources:
  back: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties:
      networks: [{network: front}, {network: {get_resource: back}, fixed_ip: 10.0.0.7}]
      key_name: {get_resource: key}
  edge: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  key: {type: OS::Nova::KeyPair, properties: {name: mine}}
";
    let of_line = |resource: &str, reference: &str| -> Vec<(String, String)> {
        let fields = fields_of_line(&form(TEXT, resource), reference).into_iter();
        fields.map(|field| (field.name, field.text)).collect()
    };
    let interface = of_line("web", "networks.1");
    let address = ("networks.1.fixed_ip".to_owned(), "10.0.0.7".to_owned());
    assert!(interface.contains(&address), "{interface:?}");
    assert!(
        interface
            .iter()
            .all(|(name, _)| name.starts_with("networks.1."))
    );
    let gateway = of_line("edge", "external_gateway_info.network");
    let names: Vec<&str> = gateway.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        names.contains(&"external_gateway_info.enable_snat"),
        "{names:?}"
    );
    assert!(!names.contains(&"external_gateway_info.network"));
    assert!(of_line("web", "key_name").is_empty());
}

#[test]
fn a_preset_of_a_type_sets_its_properties_and_removes_those_of_others() {
    let text = "\
heat_template_version: 2021-04-16
resources:
  check:
    type: OS::Octavia::HealthMonitor
    properties: {pool: p, type: HTTP, url_path: /health, delay: 9, timeout: 3, max_retries: 3}
";
    let types = Registry::openstack();
    let document = Document::parse(text);
    let resource = document.template().resource("check").expect("it");
    let described = types.get(&resource.resource_type).expect("a type");
    let ping = apply_preset(resource, described, "Ping").expect("a preset");
    assert_eq!(
        after(text, &ping.edits),
        text.replace("HTTP, url_path: /health, delay: 9", "PING, delay: 5")
    );
    assert!(apply_preset(resource, described, "No such thing").is_none());
    // Every preset has properties of its type with values that their constraints allow.
    for described in types.iter() {
        for (label, values) in &described.presets {
            for (name, value) in values.as_object().expect("a map") {
                let property = described.property(name).expect("a property");
                let problem = property
                    .constraints
                    .iter()
                    .find_map(|one| one.problem(value));
                assert_eq!(problem, None, "{}: {label}", described.name);
            }
        }
    }
}
