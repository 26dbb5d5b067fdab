//! Forms of parameters, conditions and outputs.

use hot::document::Section;

use super::*;

const TIERS: &str = "\
heat_template_version: 2021-04-16
parameter_groups: [{parameters: [tier, size]}]
parameters:
  tier: {type: string, default: full, constraints: [{allowed_values: [small, full]}]}
  size:
    type: number
    constraints:
      - range: {min: 1, max: 5}   # a few
conditions:
  full: {equals: [{get_param: tier}, full]}
  odd: {not: full}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: tier}}, condition: full}
outputs:
  tier: {value: {get_param: tier}, condition: full}
";

fn entry(section: Section, name: &str) -> Vec<Field> {
    let cloud = CloudFacts::default();
    entry_fields(
        &Document::parse(TIERS),
        section,
        name,
        &Registry::openstack(),
        &cloud,
    )
}

fn named<'f>(fields: &'f [Field], name: &str) -> &'f Field {
    let mut fields = fields.iter();
    fields
        .find(|field| field.name == name)
        .unwrap_or_else(|| panic!("no field {name}"))
}

#[test]
fn a_parameter_has_fields_for_all_its_keys() {
    let size = entry(Section::Parameters, "size");
    let names: Vec<_> = size.iter().map(|field| &*field.name).collect();
    let keys = [
        "type",
        "default",
        "label",
        "description",
        "hidden",
        "immutable",
        "constraints",
        "tags",
    ];
    assert_eq!(names, keys);
    let constraints = named(&size, "constraints");
    assert_eq!(table(constraints).rows[0].summary, "range: min 1, max 5");
    let range = &table(constraints).rows[0].cells;
    let edit = edit(named(range, "constraints.0.range.max"), "9").expect("an edit");
    assert_eq!(after(TIERS, &[edit]), TIERS.replace("max: 5", "max: 9"));
    let offered: Vec<_> = table(constraints)
        .presets
        .iter()
        .map(|one| &*one.label)
        .collect();
    assert_eq!(
        offered,
        ["Allowed values", "Range", "Modulo", "Custom constraint"]
    );
}

#[test]
fn outputs_and_conditions_are_edited_where_they_stand() {
    let output = entry(Section::Outputs, "tier");
    let value = named(&output, "value");
    assert!(
        matches!(&value.control, Control::Linked(Link::Parameter { name, .. }) if name == "tier")
    );
    let edit = edit(named(&output, "condition"), "odd").expect("an edit");
    assert_eq!(
        after(TIERS, &[edit]),
        TIERS.replace("tier}, condition: full", "tier}, condition: odd")
    );
    let full = entry(Section::Conditions, "full");
    let edit = super::edit(named(&full, "equals.1"), "small").expect("an edit");
    assert_eq!(
        after(TIERS, &[edit]),
        TIERS.replace("tier}, full]}", "tier}, small]}")
    );
}

#[test]
fn a_condition_has_a_kind_and_its_details() {
    let odd = entry(Section::Conditions, "odd");
    assert_eq!((&*odd[0].name, &*odd[0].text), ("kind", "not"));
    assert_eq!((&*odd[1].name, &*odd[1].text), ("not", "full"));
    let Control::Select(kinds) = &odd[0].control else {
        panic!("{odd:?}");
    };
    let offered: Vec<_> = kinds.iter().map(|kind| &*kind.key).collect();
    assert_eq!(
        offered,
        ["equals", "not", "always", "never"],
        "one other condition is too few for `and`"
    );
    let edit = edit(&odd[0], "equals").expect("an edit");
    let text = after(TIERS, &[edit]);
    let now = Document::parse(text.as_str()).value(&["conditions", "odd"]);
    assert_eq!(
        now,
        Some(json!({ "equals": [{ "get_param": "tier" }, ""] }))
    );

    let fields_of = |condition: &str| {
        let text = TIERS.replace("{not: full}", condition);
        let text = text.replace("conditions:\n", "conditions:\n  big: false\n");
        entry_fields(
            &Document::parse(text),
            Section::Conditions,
            "odd",
            &Registry::openstack(),
            &CloudFacts::default(),
        )
    };
    let both = fields_of("{and: [full, big]}");
    assert_eq!((&*both[0].text, &*both[1].text), ("and", "full\nbig"));
    assert!(matches!(both[1].control, Control::Lines));
    assert_eq!(fields_of("true").len(), 1);
    let nested = fields_of("{or: [{not: full}, big]}");
    assert_eq!(&*nested[0].text, "", "no usual kind");
    assert!(matches!(nested[1].control, Control::Json));
}

#[test]
fn uses_of_a_removed_parameter_take_its_default() {
    let document = Document::parse(TIERS);
    let removal = remove_entry(&document, Section::Parameters, "tier");
    assert_eq!(
        removal.replaced,
        [
            "conditions.full.equals.0",
            "resources.value.properties.value",
            "outputs.tier.value"
        ]
    );
    assert!(removal.dangling.is_empty());
    let text = after(TIERS, &removal.proposal.edits);
    assert!(text.contains("{parameters: [size]}"), "{text}");
    assert!(text.contains("full: {equals: [full, full]}"), "{text}");
    let removal = remove_entry(&document, Section::Conditions, "full");
    assert_eq!(
        removal.dangling,
        [
            "conditions.odd",
            "resources.value.condition",
            "outputs.tier.condition"
        ]
    );
}

#[test]
fn an_added_entry_has_a_free_name() {
    let document = Document::parse(TIERS);
    let (name, proposal) = add_entry(document.template(), Section::Conditions);
    assert_eq!(name, "condition");
    let text = after(TIERS, &proposal.edits);
    assert!(text.contains("condition:"), "{text}");
    let again = Document::parse(text);
    assert_eq!(
        add_entry(again.template(), Section::Conditions).0,
        "condition_2"
    );
}
