//! What holds for every template, whoever wrote it.
//!
//! [`of_text`] asks the document, [`of_plan`] the planner; both name the law that is broken. The corpus holds whole templates
//! against them, with the files beside them; the seeded loop does so with what it broke on purpose.

use std::collections::HashSet;

use serde_json::{Value, json};
use topology::bundle::Bundle;
use topology::cloud::CloudFacts;
use topology::document::{Document, Edit};
use topology::expr::Expr;
use topology::plan::{Action, Deployed, Plan, PlanInput, plan};
use topology::template::Template;
use topology::types::{Executable, Registry, ResourceType};
use topology::workflow::Workflow;

use crate::stand_in;

/// Resources of one template that are edited: each costs some readings of the whole text.
const EDITED_MAX: usize = 12;

/// - The text of a document is what was parsed.
/// - A resource that is added is there; once it is removed, the text is what it was.
/// - The same for another name and back, for a property that comes and goes, and for what must come first.
///
/// # Errors
/// Names the law that is broken. An edit that is refused breaks none.
pub fn of_text(document: &Document) -> Result<(), String> {
    let again = Document::parse(document.text());
    if again.text() != document.text() || again.template() != document.template() {
        return Err("the text was changed by parsing".to_owned());
    }
    added(document)?;
    // A first resource brings its section, which stays.
    if document
        .value(&["resources"])
        .is_some_and(|section| !is_empty(&section))
    {
        let remove = Edit::RemoveResource {
            name: ADDED.to_owned(),
            keep: Vec::new(),
        };
        there_and_back(document, &a_resource(), &remove, "a new resource")?;
    }
    for resource in document.template().resources.iter().take(EDITED_MAX) {
        let name = resource.name.as_str();
        let other = "renamed-by-the-trial";
        let rename = |from: &str, to: &str| Edit::RenameResource {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        there_and_back(
            document,
            &rename(name, other),
            &rename(other, name),
            &format!("another name for `{name}`"),
        )?;
        let at = |rest: &[&str]| -> Vec<String> {
            let path = ["resources", name].into_iter().chain(rest.iter().copied());
            path.map(str::to_owned).collect()
        };
        let coming = [
            (at(&["properties", "set-by-the-trial"]), json!("a b: #c")),
            (at(&["depends_on"]), json!([name])),
        ];
        for (path, value) in coming {
            let segments: Vec<&str> = path.iter().map(String::as_str).collect();
            let parent = &segments[..segments.len() - 1];
            // What is there and empty goes with what it gets.
            let empty = document
                .value(parent)
                .is_some_and(|parent| is_empty(&parent));
            if document.value(&segments).is_some() || empty {
                continue;
            }
            let what = format!("`{}`", path.join("."));
            let set = Edit::Set {
                path: path.clone(),
                value,
            };
            there_and_back(document, &set, &Edit::Remove { path }, &what)?;
        }
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// - A resource that is added is there, and the text stays readable.
///
/// # Errors
/// Names the law that is broken.
pub fn added(document: &Document) -> Result<(), String> {
    let Ok(after) = document.edit(&a_resource()) else {
        return Ok(());
    };
    if !after.is_readable() {
        return Err("an edit made the text unreadable".to_owned());
    }
    match after.template().resource(ADDED) {
        Some(_) => Ok(()),
        None => Err("an edit added nothing".to_owned()),
    }
}

const ADDED: &str = "added-by-the-trial";

fn a_resource() -> Edit {
    Edit::AddResource {
        name: ADDED.to_owned(),
        resource_type: "OS::Neutron::Net".to_owned(),
        properties: json!({"name": "a b: #c"}),
    }
}

/// An edit and the one that takes it back lead to the same bytes.
fn there_and_back(
    document: &Document,
    there: &Edit,
    back: &Edit,
    what: &str,
) -> Result<(), String> {
    let Ok(after) = document.edit(there) else {
        return Ok(());
    };
    match after.edit(back) {
        Err(error) => Err(format!(
            "what was edited cannot be taken back: {what}: {error}"
        )),
        Ok(again) if again.text() == document.text() => Ok(()),
        Ok(again) => {
            let mut lines = document.text().lines().zip(again.text().lines());
            let first = lines.position(|(before, after)| before != after);
            let line = first.map_or("the end".to_owned(), |line| format!("line {}", line + 1));
            Err(format!(
                "an edit taken back leaves other bytes: {what}: {line}"
            ))
        }
    }
}

/// - Without a workflow there is an error, and with one there is none.
/// - Each step of a workflow comes after those that it waits for: there is no circle.
/// - What is deployed as planned needs no change.
///
/// The workflow, where there is one.
///
/// # Errors
/// Names the law that is broken.
pub fn of_plan(
    document: &Document,
    bundle: &Bundle,
    types: &Registry,
) -> Result<Option<Workflow>, String> {
    let parameters = stand_in::values(document.template(), bundle, types);
    let cloud = CloudFacts::default();
    let plan_on = |deployed: &Deployed| -> Plan {
        plan(&PlanInput {
            document,
            bundle,
            parameters: &parameters,
            deployed,
            types,
            cloud: &cloud,
        })
    };
    let first = plan_on(&Deployed::default());
    let refused = first.diagnostics.iter().any(|one| one.is_error());
    if refused == first.workflow.is_some() {
        return Err(format!(
            "refused is {refused}: and a workflow that says otherwise"
        ));
    }
    if let Some(workflow) = &first.workflow {
        in_order(workflow)?;
        let again = plan_on(&Deployed::of(workflow.resources.clone()));
        let mut changes = again.changes.iter();
        if let Some(change) = changes.find(|change| change.action != Action::None) {
            return Err(format!(
                "the same again is a change: {:?} {}: {:?}",
                change.action, change.resource, change.because
            ));
        }
        match again.workflow {
            Some(workflow) if workflow.steps.is_empty() => {}
            _ => return Err("the same again has steps".to_owned()),
        }
    }
    Ok(first.workflow)
}

fn in_order(workflow: &Workflow) -> Result<(), String> {
    let mut done = HashSet::new();
    for step in &workflow.steps {
        if let Some(later) = step.after.iter().find(|id| !done.contains(id.as_str())) {
            return Err(format!(
                "a step waits for a later one: {} for {later}",
                step.id
            ));
        }
        if !done.insert(step.id.as_str()) {
            return Err(format!("two steps have one name: {}", step.id));
        }
    }
    Ok(())
}

/// The types, as if each of them could be made, those that nobody describes and that these templates name among them: so that
/// the laws can be held against every template.
pub fn all_made(types: &Registry, document: &Document, bundle: &Bundle) -> Registry {
    let mut named = HashSet::new();
    let files = bundle.files().filter_map(|(path, _)| bundle.document(path));
    for one in files.chain([document]) {
        type_names(one.template(), &mut named);
    }
    let strangers = named
        .into_iter()
        .filter(|name| types.get(name).is_none())
        .map(|name| ResourceType {
            name,
            any_property: true,
            any_attribute: true,
            ..ResourceType::default()
        });
    let all = types.iter().cloned().chain(strangers);
    Registry::of(all.map(|one| ResourceType {
        executable: match one.executable {
            Executable::Software | Executable::No => Executable::Local,
            made => made,
        },
        ..one
    }))
}

/// Words that look like types, wherever they stand: a group names its members' in a property.
fn type_names(template: &Template, named: &mut HashSet<String>) {
    for resource in &template.resources {
        named.insert(resource.resource_type.clone());
        for property in &resource.properties {
            property.value.walk(&mut |expr: &Expr| {
                let word = expr.as_str().filter(|word| word.contains("::"));
                named.extend(word.map(str::to_owned));
            });
        }
    }
    named.retain(|name| name.contains("::") && !name.starts_with("Stackloom::"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_templates_keep_them() {
        let types = Registry::openstack();
        for text in crate::fuzz::own_seeds() {
            let document = Document::parse(text);
            let bundle = Bundle::default();
            let made = all_made(&types, &document, &bundle);
            let kept = of_text(&document).and_then(|()| of_plan(&document, &bundle, &made));
            if let Err(law) = kept {
                panic!("{law}\n{}", document.text());
            }
        }
    }

    #[test]
    fn a_type_that_nobody_knows_can_be_planned() {
        let text = "heat_template_version: 2021-04-16\nresources:\n  a: {type: Some::Where::Else, properties: {x: 1}}\n";
        let document = Document::parse(text);
        let bundle = Bundle::default();
        let types = Registry::openstack();
        assert_eq!(of_plan(&document, &bundle, &types), Ok(None));
        let made = all_made(&types, &document, &bundle);
        let workflow = of_plan(&document, &bundle, &made).unwrap();
        assert_eq!(workflow.map(|workflow| workflow.steps.len()), Some(1));
    }
}
