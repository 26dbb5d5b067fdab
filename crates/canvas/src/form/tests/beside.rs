//! Fields beside the properties of a resource.

use super::*;

const TEXT: &str = "\
heat_template_version: 2021-04-16
conditions:
  full: true
resources:
  net: {type: OS::Neutron::Net}
  wall: {type: OS::Neutron::SecurityGroup}
  data:   # the pictures
    type: OS::Cinder::Volume
    depends_on: net   # first
    properties: {size: 1}
";

fn beside(text: &str, resource: &str, name: &str) -> Field {
    let document = Document::parse(text);
    let cloud = CloudFacts::default();
    let fields = fields_beside(&document, resource, &Registry::openstack(), &cloud);
    let mut fields = fields.into_iter().filter(|field| field.name == name);
    fields.next().unwrap_or_else(|| panic!("no field {name}"))
}

/// The labels of a select.
fn choices_of(field: &Field) -> Vec<&str> {
    match &field.control {
        Control::Select(choices) => choices.iter().map(|one| &*one.label).collect(),
        other => panic!("{other:?}"),
    }
}

/// The text after a choice by its label.
fn chosen(text: &str, resource: &str, name: &str, label: &str) -> String {
    let field = beside(text, resource, name);
    let Control::Select(choices) = &field.control else {
        panic!("{:?}", field.control);
    };
    let choice = choices.iter().find(|one| one.label == label);
    let key = &choice.expect("a choice").key;
    after(text, &[edit(&field, key).expect("an edit")])
}

/// The text after another resource is added to `depends_on`, or removed.
fn flipped(text: &str, resource: &str, other: &str) -> String {
    let field = beside(text, resource, "depends_on");
    let Control::Resources(ticks) = &field.control else {
        panic!("{:?}", field.control);
    };
    let one = ticks.iter().find(|one| one.name == other);
    let change = tick(&Document::parse(text), &field, one.expect("a resource"));
    after(text, &[change])
}

#[test]
fn a_condition_and_a_policy_are_chosen_and_removed_without_other_changes() {
    let policy = beside(TEXT, "net", "deletion_policy");
    assert_eq!(choices_of(&policy), ["Delete", "Retain"]);
    assert_eq!(policy.placeholder, "Delete");
    let data = beside(TEXT, "data", "deletion_policy");
    assert_eq!(choices_of(&data), ["Delete", "Retain", "Snapshot"]);
    for (name, label) in [("condition", "full"), ("deletion_policy", "Snapshot")] {
        let set = chosen(TEXT, "data", name, label);
        assert!(set.contains(&format!("    {name}: {label}\n")), "{set}");
        let field = beside(&set, "data", name);
        let back = after(&set, &[edit(&field, "").expect("an edit")]);
        assert_eq!(back, TEXT);
    }
    let plain = TEXT.replace("conditions:\n  full: true\n", "");
    let document = Document::parse(&plain);
    let fields = fields_beside(
        &document,
        "net",
        &Registry::openstack(),
        &CloudFacts::default(),
    );
    assert!(fields.iter().all(|field| field.name != "condition"));
}

#[test]
fn resources_are_added_to_the_order_and_removed_in_any_form() {
    let both = flipped(TEXT, "data", "wall");
    let document = Document::parse(&both);
    let value = document.value(&["resources", "data", "depends_on"]);
    assert_eq!(value, Some(json!(["net", "wall"])));
    let one = flipped(&both, "data", "net");
    let document = Document::parse(&one);
    let value = document.value(&["resources", "data", "depends_on"]);
    assert_eq!(value, Some(json!(["wall"])));
    for text in [flipped(TEXT, "data", "net"), flipped(&one, "data", "wall")] {
        assert!(!text.contains("depends_on"), "{text}");
        assert!(text.contains("data:   # the pictures"), "{text}");
    }
    let new = flipped(TEXT, "wall", "net");
    let document = Document::parse(&new);
    let value = document.value(&["resources", "wall", "depends_on"]);
    assert_eq!(value, Some(json!(["net"])));
}
