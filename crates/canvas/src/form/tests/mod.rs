//! Fields of real types, and the text after an edit of each kind.

use ::types::{Property, PropertyKind, ResourceType};
use hot::document::Document;
use proptest::prelude::*;

use super::*;

mod beside;
mod sections;
mod values;

const SITE: &str = "\
heat_template_version: 2021-04-16
parameters:
  size: {type: string, default: m1.tiny}
  count: {type: number}
resources:
  net: {type: OS::Neutron::Net}
  other: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12   # the usual one
      flavor: {get_param: size}
      networks:
        - network: {get_resource: net}
  wall:
    type: OS::Neutron::SecurityGroup
    properties:
      rules:
        # the web
        - {protocol: tcp, port_range_min: 80, port_range_max: 80}
        - {protocol: icmp, colour: red}
        - {get_param: size}
";

fn form(text: &str, name: &str) -> Vec<Field> {
    let document = Document::parse(text);
    let template = document.template();
    let resource = template.resource(name).expect("a resource");
    fields(
        template,
        resource,
        &Registry::openstack(),
        &CloudFacts::default(),
    )
}

fn field(text: &str, resource: &str, name: &str) -> Field {
    let fields = form(text, resource).into_iter();
    let mut fields = fields.filter(|field| field.name == name);
    fields.next().unwrap_or_else(|| panic!("no field {name}"))
}

fn table(field: &Field) -> &Table {
    match &field.control {
        Control::Table(table) => table,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn after(text: &str, edits: &[Edit]) -> String {
    let start = Document::parse(text);
    let edited = edits
        .iter()
        .try_fold(start, |document, edit| document.edit(edit));
    edited.expect("an edit").text().to_owned()
}

fn empty(control: Control) -> Field {
    Field {
        name: "x".into(),
        path: vec!["x".into()],
        label: "X".into(),
        control,
        text: String::new(),
        required: false,
        is_alone: false,
        help: String::new(),
        placeholder: String::new(),
        proposals: Vec::new(),
        is_mixed: false,
    }
}

#[test]
fn labels_read_like_words() {
    assert_eq!(label("listen_port"), "Listen port");
    assert_eq!(label("image"), "Image");
    assert_eq!(label("cidr"), "CIDR");
    assert_eq!(label("source_volid"), "Source volume");
    assert_eq!(label("fixed_ip_address"), "Fixed IP address");
}

#[test]
fn an_incomplete_value_makes_no_edit() {
    assert_eq!(edit(&empty(Control::Number), "8x"), None);
    assert_eq!(edit(&empty(Control::Json), "{"), None);
    assert!(
        matches!(edit(&empty(Control::Number), "80"), Some(Edit::Set { value, .. }) if value == json!(80))
    );
    assert!(
        matches!(edit(&empty(Control::Text), "80"), Some(Edit::Set { value, .. }) if value == json!("80"))
    );
    assert!(matches!(
        edit(&empty(Control::Text), ""),
        Some(Edit::Remove { .. })
    ));
}

#[test]
fn a_list_of_maps_is_a_table_with_a_row_for_each_entry() {
    let rules = field(SITE, "wall", "rules");
    let summaries: Vec<_> = table(&rules).rows.iter().map(|row| &*row.summary).collect();
    assert_eq!(
        summaries,
        ["tcp · 80", "icmp · red", "{\"get_param\":\"size\"}"]
    );
    let cell = |row: usize, key: &str| -> Field {
        let name = format!("rules.{row}.{key}");
        let cells = table(&rules).rows[row].cells.iter();
        cells
            .clone()
            .find(|cell| cell.name == name)
            .cloned()
            .expect("a cell")
    };
    assert!(matches!(cell(0, "direction").control, Control::Select(_)));
    assert!(matches!(cell(0, "port_range_min").control, Control::Number));
    assert_eq!(
        cell(1, "colour").text,
        "red",
        "a key that the type does not know"
    );
    assert!(
        table(&rules).rows[2].is_text,
        "an entry that is computed stays as text"
    );
}

#[test]
fn presets_are_valid_entries() {
    let types = Registry::openstack();
    let mut count = 0;
    for described in types.iter() {
        for property in described
            .properties
            .iter()
            .filter(|one| !one.presets.is_empty())
        {
            let entries: Vec<&Value> = property.presets.iter().map(|(_, value)| value).collect();
            let text = json!({
                "heat_template_version": "2021-04-16",
                "resources": { "it": { "type": described.name, "properties": { &property.name: entries } } },
            });
            let document = Document::parse(text.to_string());
            let cloud = CloudFacts::default();
            let mut problems = planner::validate::validate(&document, &types, &cloud);
            // The user adds what depends on the design, such as the next hop of a route.
            problems.retain(|problem| {
                problem.path.contains(&property.name) && problem.code.as_str() != "property-missing"
            });
            assert!(problems.is_empty(), "{problems:?}");
            count += entries.len();
        }
    }
    assert!(count >= 15, "{count} presets");
}

#[test]
fn each_list_of_maps_has_the_same_control() {
    let types = Registry::openstack();
    for (resource_type, property) in [
        ("OS::Nova::Server", "networks"),
        ("OS::Nova::Server", "block_device_mapping_v2"),
        ("OS::Neutron::Subnet", "allocation_pools"),
        ("OS::Neutron::Subnet", "host_routes"),
        ("OS::Neutron::ExtraRouteSet", "routes"),
        (
            "OS::Neutron::Router",
            "external_gateway_info.external_fixed_ips",
        ),
    ] {
        assert!(types.get(resource_type).is_some(), "{resource_type}");
        let text = format!("resources: {{it: {{type: \"{resource_type}\"}}}}");
        let of = field(&text, "it", property);
        assert!(matches!(of.control, Control::Table(_)), "{property}");
        assert!(add_row(&of, &json!({})).is_some());
    }
}

#[test]
fn required_properties_come_first_and_the_usual_alternative_is_one_of_them() {
    let volume = form("resources: {it: {type: OS::Cinder::Volume}}", "it");
    assert_eq!(volume[0].name, "size");
    assert!(volume[0].required && volume[0].is_main());
    let text = "resources: {it: {type: OS::Cinder::Volume, properties: {snapshot_id: s}}}";
    assert!(!field(text, "it", "size").required, "a snapshot has a size");
    assert_eq!(
        form("resources: {it: {type: OS::Neutron::Subnet}}", "it")[1].name,
        "cidr"
    );
    let server = form("resources: {it: {type: OS::Nova::Server}}", "it");
    assert_eq!(server[0].name, "flavor");
}

#[test]
fn a_new_subnet_gets_proposals_of_free_ranges() {
    let text = "resources:\n  a: {type: OS::Neutron::Subnet, properties: {cidr: 10.0.1.0/24}}\n  b: {type: OS::Neutron::Subnet}\n";
    let ranges = [
        "10.0.2.0/24",
        "10.0.3.0/24",
        "172.16.0.0/16",
        "192.168.0.0/24",
    ];
    assert_eq!(field(text, "b", "cidr").proposals, ranges);
    assert!(field(text, "b", "gateway_ip").proposals.is_empty());
}

#[test]
fn a_cell_changes_its_own_place_in_the_text() {
    let rules = field(SITE, "wall", "rules");
    let cells = table(&rules).rows[0].cells.iter();
    let port = cells
        .clone()
        .find(|cell| cell.name == "rules.0.port_range_max");
    let edit = edit(port.expect("a cell"), "81").expect("an edit");
    assert_eq!(
        after(SITE, &[edit]),
        SITE.replace("port_range_max: 80", "port_range_max: 81")
    );
}

#[test]
fn rows_are_added_moved_and_removed() {
    let rules = field(SITE, "wall", "rules");
    let ssh = &table(&rules).presets[0];
    assert_eq!(ssh.label, "SSH");
    let added = after(SITE, &[add_row(&rules, &ssh.value).expect("an edit")]);
    assert!(
        added.ends_with(
            "        - protocol: tcp\n          port_range_min: 22\n          port_range_max: 22\n"
        ),
        "{added}"
    );
    let moved = after(SITE, &[move_up(&rules, 1).expect("an edit")]);
    assert!(
        moved.contains(
            "# the web\n        - {protocol: icmp, colour: red}\n        - {protocol: tcp"
        )
    );
    assert_eq!(move_up(&rules, 0), None);
    assert_eq!(
        after(SITE, &[remove_row(&rules, 2)]),
        SITE.replace("        - {get_param: size}\n", "")
    );
}

#[test]
fn the_last_value_of_a_row_can_be_replaced_without_losing_the_row() {
    let networks = field(SITE, "web", "networks");
    let row = &table(&networks).rows[0];
    let cell = row
        .cells
        .iter()
        .find(|cell| cell.name == "networks.0.network")
        .expect("a cell");
    assert!(cell.is_alone);
    let cleared = after(SITE, &[edit(cell, "").expect("an edit")]);
    let networks = field(&cleared, "web", "networks");
    assert_eq!(table(&networks).rows.len(), 1, "{cleared}");
    let others = row.cells.iter().filter(|cell| cell.is_alone);
    assert_eq!(others.count(), 1, "an empty cell beside it is none");
}

#[test]
fn networks_that_are_not_used_yet_are_offered() {
    let networks = field(SITE, "web", "networks");
    let offered: Vec<_> = table(&networks)
        .presets
        .iter()
        .map(|preset| &*preset.label)
        .collect();
    assert_eq!(offered, ["other", "Empty row"]);
}

#[test]
fn a_value_becomes_a_parameter_with_its_type_and_default() {
    let image = field(SITE, "web", "image");
    let document = Document::parse(SITE);
    let types = Registry::openstack();
    let proposal = switch(document.template(), &types, &image, &Source::NewParameter);
    let text = after(SITE, &proposal.edits);
    assert!(
        text.contains("image: {get_param: image}   # the usual one"),
        "{text}"
    );
    let made = Document::parse(text.as_str()).value(&["parameters", "image"]);
    let made = made.expect("a parameter");
    assert_eq!(made["type"], "string");
    assert_eq!(made["default"], "debian-12");
    assert_eq!(
        made["constraints"],
        json!([{"custom_constraint": "glance.image"}])
    );

    // And back.
    let image = field(&text, "web", "image");
    let Control::Linked(Link::Parameter { name, .. }) = &image.control else {
        panic!("{:?}", image.control)
    };
    assert_eq!(name, "image");
    let document = Document::parse(text.as_str());
    let back = switch(document.template(), &types, &image, &Source::Value);
    let back = after(&text, &back.edits);
    assert!(
        back.contains("image: debian-12   # the usual one"),
        "{back}"
    );
}

#[test]
fn only_fitting_parameters_and_other_resources_are_sources() {
    let document = Document::parse(SITE);
    let types = Registry::openstack();
    let of = |resource: &str, name: &str| -> Vec<Source> {
        let choices = sources(document.template(), &types, &field(SITE, resource, name));
        choices.into_iter().map(|choice| choice.source).collect()
    };
    let flavor = of("web", "flavor");
    assert_eq!(
        flavor[0],
        Source::Value,
        "the flavor comes from a parameter"
    );
    assert!(flavor.contains(&Source::Parameter("size".into())));
    let attribute = |resource: &str, name: &str| Source::Attribute(resource.into(), name.into());
    assert!(flavor.contains(&attribute("net", "name")));
    assert!(!flavor.contains(&attribute("web", "name")), "not its own");
    assert!(
        !flavor.contains(&Source::Resource("net".into())),
        "no flavor"
    );
    let rules = of("wall", "rules");
    assert!(
        !rules.contains(&Source::Parameter("size".into())),
        "text is no list of maps"
    );
    let stateful = of("wall", "stateful");
    assert!(!stateful.contains(&Source::Parameter("count".into())));
}

#[test]
fn a_map_with_any_keys_has_a_field_for_each_and_secrets_are_masked() {
    let mut types = Registry::openstack();
    types.insert(ResourceType {
        name: "Secret".into(),
        properties: vec![Property {
            secret: true,
            ..::types::of_kind("secret_variables", PropertyKind::Map { of: Vec::new() })
        }],
        ..ResourceType::default()
    });
    let text =
        "resources: {it: {type: Secret, properties: {secret_variables: {token: abc, port: 80}}}}";
    let document = Document::parse(text);
    let resource = document.template().resource("it").expect("a resource");
    let fields = fields(
        document.template(),
        resource,
        &types,
        &CloudFacts::default(),
    );
    let Control::Pairs(pairs) = &fields[0].control else {
        panic!("{:?}", fields[0].control)
    };
    assert_eq!(pairs[0].control, Control::Secret);
    let edits = [
        edit(&pairs[0], "xyz").expect("an edit"),
        add_key(&fields[0], "key").expect("an edit"),
    ];
    assert_eq!(
        after(text, &edits),
        text.replace("abc", "xyz")
            .replace("port: 80", "port: 80, key: \"\"")
    );
    assert_eq!(add_key(&fields[0], "token"), None);
}

proptest! {
    /// A change of any field changes its value, and no other field of the form.
    #[test]
    fn an_edit_of_one_field_changes_no_other(pick in any::<prop::sample::Index>(), word in "[a-z]{1,8}") {
        let before = flat(form(SITE, "wall").into_iter().chain(form(SITE, "web")));
        let texts: Vec<&Field> = before.iter().filter(|field| matches!(field.control, Control::Text | Control::Area)).collect();
        let changed = pick.get(&texts);
        let text = after(SITE, &[edit(changed, &word).expect("an edit")]);
        let now = flat(form(&text, "wall").into_iter().chain(form(&text, "web")));
        for (was, is) in before.iter().zip(&now) {
            if was.path == changed.path {
                prop_assert_eq!(&is.text, &word);
            } else {
                prop_assert_eq!((&was.path, &was.text), (&is.path, &is.text));
            }
        }
    }
}

/// Fields and the cells of tables.
fn flat(fields: impl Iterator<Item = Field>) -> Vec<Field> {
    let mut flat = Vec::new();
    for field in fields {
        match &field.control {
            Control::Table(table) => {
                let cells = table.rows.iter().flat_map(|row| row.cells.clone());
                flat.extend(self::flat(cells.collect::<Vec<_>>().into_iter()));
            }
            _ => flat.push(field),
        }
    }
    flat
}

#[test]
fn a_new_parameter_has_a_valid_name_for_any_key_and_resource() {
    let path = ["resources", "büro 1", "metadata", "mein Wert"].map(str::to_owned);
    assert_eq!(link::new_name(&Template::default(), &path), "mein_Wert");
    let taken = Document::parse(
        "heat_template_version: 2021-04-16
parameters:
  mein_Wert: {type: string}
  b_ro_1_mein_Wert: {type: string}
",
    );
    let name = link::new_name(taken.template(), &path);
    assert_eq!(name, "b_ro_1_mein_Wert_2");
}
