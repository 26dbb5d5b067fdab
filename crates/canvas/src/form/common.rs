//! The form of several resources of one type. An edit changes all of them.

use hot::{
    document::Edit,
    template::{Resource, Template},
};
use planner::cloud::CloudFacts;
use types::{Registry, ResourceType};

use super::{
    Control, Field, Source, SourceChoice, edit, fields, link,
    maker::{Maker, Values},
};
use crate::commands::Proposal;

/// The type that all these resources have. `None` if they have different types, or one without a description.
pub fn common_type<'t>(
    template: &Template,
    names: &[String],
    types: &'t Registry,
) -> Option<&'t ResourceType> {
    let mut kinds = resources(template, names).map(|resource| &resource.resource_type);
    let first = kinds.next()?;
    let described = types.get(first)?;
    kinds.all(|kind| kind == first).then_some(described)
}

/// The fields of resources of one type: the value that all have, or a mixed one. Lists of maps and other values with an
/// own structure are left out.
pub fn common_fields(
    template: &Template,
    names: &[String],
    types: &Registry,
    cloud: &CloudFacts,
) -> Vec<Field> {
    let Some(described) = common_type(template, names, types) else {
        return Vec::new();
    };
    let all: Vec<&Resource> = resources(template, names).collect();
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let is_same = |name: &str| {
        let value = first.property(name);
        all.iter().all(|one| one.property(name) == value)
    };
    let entries = first.properties.iter();
    let values = Values {
        entries: entries
            .filter(|property| is_same(&property.name))
            .map(|property| (property.name.as_str(), &property.value))
            .collect(),
        path: ["resources", &first.name, "properties"]
            .map(str::to_owned)
            .to_vec(),
        prefix: String::new(),
    };
    let maker = Maker {
        template,
        types,
        cloud,
        own: "",
    };
    let mut common = maker.map(&described.properties, &described.rules, &values);
    common.retain(|field| is_simple(&field.control));
    for field in &mut common {
        let property = field.name.split('.').next().unwrap_or(&field.name);
        let former =
            types::find(&described.properties, property).and_then(|one| one.formerly.as_deref());
        field.is_mixed = ![Some(property), former].into_iter().flatten().all(is_same);
        // A resource cannot refer to itself.
        if let Control::Select(choices) = &mut field.control {
            choices.retain(|choice| {
                let target = choice.key.strip_prefix('@');
                target.is_none_or(|target| all.iter().all(|one| one.name != target))
            });
        }
    }
    common
}

/// The edits for a new text in a control, one for each resource. `None` if the text is not a valid value.
pub fn edit_all(
    template: &Template,
    names: &[String],
    types: &Registry,
    cloud: &CloudFacts,
    field: &Field,
    text: &str,
) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for resource in resources(template, names) {
        let own = field_in(template, resource, types, cloud, field);
        let edit = edit(&own, text)?;
        match &edit {
            Edit::Remove { path } if link::value_at(template, path).is_none() => {}
            _ => edits.push(edit),
        }
    }
    Some(edits)
}

/// Sources for a field of several resources, those that fit best first. None of the resources is one.
pub fn common_sources(
    template: &Template,
    names: &[String],
    types: &Registry,
    field: &Field,
) -> Vec<SourceChoice> {
    let mut found = link::sources(template, types, field);
    found.retain(|choice| match &choice.source {
        Source::Resource(name) | Source::Attribute(name, _) => !names.contains(name),
        Source::Value | Source::NewParameter | Source::Parameter(_) => true,
    });
    found
}

/// The change that switches a field of several resources to another source. All of them use one new parameter. Its
/// default is the value of the first one.
pub fn switch_all(
    template: &Template,
    names: &[String],
    types: &Registry,
    cloud: &CloudFacts,
    field: &Field,
    source: &Source,
) -> Proposal {
    let mut all = resources(template, names)
        .map(|resource| field_in(template, resource, types, cloud, field));
    let Some(first) = all.next() else {
        return Proposal::default();
    };
    let mut proposal = link::switch(template, types, &first, source);
    let for_others = match source {
        Source::NewParameter => Source::Parameter(link::new_name(template, &first.path)),
        other => other.clone(),
    };
    for own in all {
        let change = link::switch(template, types, &own, &for_others);
        proposal.edits.extend(change.edits);
    }
    proposal
}

/// A field of the common form, with its path in one of the resources.
fn field_in(
    template: &Template,
    resource: &Resource,
    types: &Registry,
    cloud: &CloudFacts,
    field: &Field,
) -> Field {
    // A resource can have the value under a former name.
    let mut own = fields(template, resource, types, cloud).into_iter();
    let path = own.find(|one| one.name == field.name).map(|one| one.path);
    Field {
        path: path.unwrap_or_else(|| path_in(resource, field)),
        ..field.clone()
    }
}

/// Path of a field in another resource.
fn path_in(resource: &Resource, field: &Field) -> Vec<String> {
    let mut path = field.path.clone();
    if let Some(name) = path.get_mut(1) {
        name.clone_from(&resource.name);
    }
    path
}

fn resources<'t>(
    template: &'t Template,
    names: &'t [String],
) -> impl Iterator<Item = &'t Resource> {
    names.iter().filter_map(move |name| template.resource(name))
}

fn is_simple(control: &Control) -> bool {
    match control {
        Control::Text
        | Control::Secret
        | Control::SecretArea
        | Control::Number
        | Control::Checkbox
        | Control::Select(_)
        | Control::Area
        | Control::Lines
        | Control::Linked(_) => true,
        Control::Resources(_)
        | Control::Table(_)
        | Control::Pairs(_)
        | Control::File(_)
        | Control::Replace(_)
        | Control::Json => false,
    }
}
