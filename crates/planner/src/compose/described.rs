//! The description of a nested template as a resource type.
//!
//! Parameters become properties, outputs become attributes. Forms, checks and the inspector therefore treat `type:
//! web.yaml` like any other type, and report the same problems as Heat: unknown property, missing property, value out
//! of bounds.

use std::borrow::Cow;

use super::{Bundle, Merged, Registry, Target};
use hot::{parameter::Parameter, template::Template};
use types::{
    Attribute, Category, Executable, OnChange, Property, PropertyKind, ResourceType, Shape,
};

/// Types, with descriptions of the files and aliases that a template uses as types. `from` is the template's own file;
/// types in `itself` keep their own description.
pub(crate) fn overlay<'t>(
    types: &'t Registry,
    bundle: &Bundle,
    merged: &Merged,
    template: &Template,
    from: Option<&str>,
    itself: &[String],
) -> Cow<'t, Registry> {
    let mut all = Cow::Borrowed(types);
    for resource in &template.resources {
        for written in resource.types() {
            let described = match merged.aliases.resolve(&resource.name, written, itself) {
                Target::Type(target) if target == written => continue,
                Target::Type(target) => types.get(&target).map(|target| ResourceType {
                    name: written.to_owned(),
                    ..target.clone()
                }),
                Target::File { name, from: by } => bundle
                    .find(by.as_deref().or(from), &name)
                    .and_then(|path| Some((path, bundle.document(path)?)))
                    .map(|(path, document)| describe(written, path, document.template(), merged))
                    // A missing file is reported once, where it is used.
                    .or_else(|| (written != name).then(|| missing(written, &name))),
            };
            if let Some(described) = described {
                all.to_mut().insert(described);
            }
        }
    }
    all
}

fn describe(written: &str, path: &str, template: &Template, merged: &Merged) -> ResourceType {
    let summary = match template.description.trim() {
        "" => format!("What `{path}` makes."),
        text => text.to_owned(),
    };
    ResourceType {
        name: written.to_owned(),
        title: title(path),
        summary,
        category: Category::Orchestration,
        shape: Shape::Card,
        properties: template
            .parameters
            .iter()
            .map(|parameter| property(parameter, path, merged))
            .collect(),
        attributes: template
            .outputs
            .iter()
            .map(|output| Attribute {
                name: output.name.clone(),
                summary: output.description.clone().unwrap_or_default(),
            })
            .collect(),
        executable: Executable::Local,
        // `resource.<name>` refers to a member.
        any_attribute: true,
        ..ResourceType::default()
    }
}

/// An alias whose file is missing.
fn missing(written: &str, path: &str) -> ResourceType {
    ResourceType {
        name: written.to_owned(),
        title: title(path),
        category: Category::Orchestration,
        shape: Shape::Card,
        executable: Executable::Local,
        any_property: true,
        any_attribute: true,
        ..ResourceType::default()
    }
}

/// `lib/web_server.yaml` becomes `web_server`.
fn title(path: &str) -> String {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.rsplit_once('.')
        .map_or(file, |(stem, _)| stem)
        .to_owned()
}

fn property(parameter: &Parameter, path: &str, merged: &Merged) -> Property {
    let is_kept = merged.hidden_default(parameter).is_some();
    let default = merged
        .default_of(&parameter.name)
        .filter(|default| !default.is_null())
        .or(parameter.default.as_ref());
    let kind = match parameter.kind.as_str() {
        "number" => PropertyKind::Number,
        "boolean" => PropertyKind::Boolean,
        "string" => PropertyKind::String,
        // Lists and maps can be given as text.
        _ => PropertyKind::Any,
    };
    let summary = parameter.description.as_ref().or(parameter.label.as_ref());
    Property {
        required: default.is_none() && !is_kept,
        default: default.filter(|_| !(parameter.hidden || is_kept)).cloned(),
        constraints: parameter
            .constraints
            .iter()
            .map(|rule| rule.constraint.clone())
            .collect(),
        on_change: OnChange::UpdateInPlace,
        secret: parameter.hidden,
        summary: summary
            .cloned()
            .unwrap_or_else(|| format!("Parameter of `{path}`")),
        ..types::of_kind(&parameter.name, kind)
    }
}
