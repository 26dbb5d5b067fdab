//! Fields of a resource beside its properties: its condition, its order, and its deletion policy.

use hot::{
    document::{Document, Edit},
    expr::Expr,
    template::DeletionPolicy,
};
use planner::cloud::CloudFacts;
use serde_json::{Value, json};
use types::{Property, Registry};

use super::{
    Control, Field, Tick,
    maker::{Maker, Values},
    sections::{one_of, text},
};

/// Fields of a resource beside its properties. Empty if there is none of this name.
pub fn fields_beside(
    document: &Document,
    name: &str,
    types: &Registry,
    cloud: &CloudFacts,
) -> Vec<Field> {
    let template = document.template();
    let Some(resource) = template.resource(name) else {
        return Vec::new();
    };
    let entries: Vec<(&str, &Expr)> = [
        ("condition", resource.condition.as_ref()),
        ("deletion_policy", resource.deletion_policy.as_ref()),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect();
    let values = Values {
        entries,
        path: ["resources", name].map(str::to_owned).to_vec(),
        prefix: String::new(),
    };
    let maker = Maker {
        template,
        types,
        cloud,
        own: name,
    };
    let conditions = template.conditions.iter().map(|one| json!(one.name));
    let condition = one_of(
        text("condition", "The resource exists if this condition holds."),
        conditions,
    );
    let described = types.get(&resource.resource_type);
    let can_snapshot = described.is_some_and(|described| described.snapshots);
    let policies = [
        Some(DeletionPolicy::Delete),
        Some(DeletionPolicy::Retain),
        can_snapshot.then_some(DeletionPolicy::Snapshot),
    ];
    let policy = Property {
        default: Some(json!(DeletionPolicy::Delete.as_text())),
        ..one_of(
            text(
                "deletion_policy",
                "What becomes of it in the cloud when it is removed here. `Retain` keeps it.",
            ),
            policies
                .into_iter()
                .flatten()
                .map(|one| json!(one.as_text())),
        )
    };
    // Without conditions there is nothing to choose.
    let has_choice = !template.conditions.is_empty() || resource.condition.is_some();
    let properties: Vec<Property> = has_choice
        .then_some(condition)
        .into_iter()
        .chain([policy])
        .collect();
    let mut fields = maker.map(&properties, &[], &values);
    let at = |name: &str| resource.depends_on.iter().position(|(one, _)| one == name);
    let others = template.resources.iter().filter(|one| one.name != name);
    let ticks = others.map(|one| Tick {
        at: at(&one.name),
        name: one.name.clone(),
    });
    let order = Field {
        name: "depends_on".to_owned(),
        path: values.below("depends_on"),
        label: "Depends on".to_owned(),
        control: Control::Resources(ticks.collect()),
        text: String::new(),
        required: false,
        is_alone: false,
        help: "Created after these resources. References need no entry here.".to_owned(),
        placeholder: String::new(),
        proposals: Vec::new(),
        is_mixed: false,
    };
    let place = usize::from(has_choice).min(fields.len());
    fields.insert(place, order);
    fields
}

/// The edit that adds or removes a resource in a list of references, or in `depends_on`.
pub fn tick(document: &Document, field: &Field, tick: &Tick) -> Edit {
    let path: Vec<&str> = field.path.iter().map(String::as_str).collect();
    let value = match &path[..] {
        ["resources", _, "depends_on"] => json!(tick.name),
        _ => json!({ "get_resource": tick.name }),
    };
    let item = |index: usize| [field.path.clone(), vec![index.to_string()]].concat();
    let whole = field.path.clone();
    match (tick.at, document.value(&path)) {
        // One name can be written without a list.
        (Some(_), Some(Value::String(_))) => Edit::Remove { path: whole },
        (Some(index), _) => Edit::Remove { path: item(index) },
        (None, Some(Value::Array(items))) if !items.is_empty() => Edit::Set {
            path: item(items.len()),
            value,
        },
        (None, Some(Value::String(one))) => Edit::Set {
            path: whole,
            value: json!([one, value]),
        },
        (None, _) => Edit::Set {
            path: whole,
            value: json!([value]),
        },
    }
}
