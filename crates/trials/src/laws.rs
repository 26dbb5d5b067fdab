//! Laws that hold for every template.
//!
//! [`of_text`] tests the document, [`of_plan`] the planner. Both return the broken law. The corpus uses them with whole
//! templates and their files, the fuzz loop with broken ones.

use std::collections::HashSet;
use std::fmt;

use hot::bundle::Bundle;
use hot::document::{Document, Edit, EditError};
use hot::expr::Expr;
use hot::template::Template;
use planner::cloud::CloudFacts;
use planner::plan::{Action, Deployed, Plan, PlanInput, plan};
use planner::workflow::Workflow;
use serde_json::{Value, json};
use types::{Executable, Registry, ResourceType};

use crate::stand_in;

/// Number of resources per template that are edited. Each edit parses the whole text several times.
pub const EDITED_MAX: usize = 12;

/// Number of tested edits, which shows laws that are never tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EditCounts {
    /// Edits that were made.
    pub made: u64,
    /// Edits that were refused. The document is unchanged.
    pub refused: u64,
}

impl EditCounts {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: EditCounts) {
        self.made += other.made;
        self.refused += other.refused;
    }

    /// Counts the result of an edit.
    fn count(&mut self, result: Result<Document, EditError>) -> Option<Document> {
        match &result {
            Ok(_) => self.made += 1,
            Err(_) => self.refused += 1,
        }
        result.ok()
    }
}

impl fmt::Display for EditCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edits {} refused {}", self.made, self.refused)
    }
}

/// Tests the laws of a document:
///
/// - The text of a document is the parsed text.
/// - A resource that is added exists. After its removal the text is the original one. The same holds for several at
///   once.
/// - The same holds for a rename and its reversal; for a property, an order, metadata, policies and a condition that
///   are added and removed; and for parameters, conditions and outputs of the template.
/// - A value that is changed and changed back leaves all other lines unchanged. If it was written by an edit before,
///   its own lines are unchanged too.
/// - A document that gets a value with additions and then the old value again has its old text.
///
/// The laws are tested on `edited_max` resources.
///
/// # Errors
/// The broken law. A refused edit breaks none.
pub fn of_text(
    document: &Document,
    edited_max: usize,
    counts: &mut EditCounts,
) -> Result<(), String> {
    let again = Document::parse(document.text());
    if again.text() != document.text() || again.template() != document.template() {
        return Err("the text was changed by parsing".to_owned());
    }
    // A document that cannot be parsed cannot be edited.
    if !document.is_readable() {
        return match document.edit(&a_resource()) {
            Ok(_) => Err("a text that cannot be read was edited".to_owned()),
            Err(_) => Ok(()),
        };
    }
    added(document, counts)?;
    // The first resource adds its section, which stays.
    if holds_something(document, &["resources"]) {
        let remove = Edit::RemoveResource {
            name: ADDED.to_owned(),
            keep: Vec::new(),
        };
        check_reversal(document, &a_resource(), &remove, "a new resource", counts)?;
        let names = [ADDED.to_owned(), format!("{ADDED}-too")];
        let several = names.iter().map(|name| {
            let resource = json!({"type": "OS::Heat::Value", "properties": {"value": [1, "a\nb"]}});
            (name.clone(), resource)
        });
        let several = Edit::AddResources {
            resources: several.collect(),
        };
        let remove = Edit::RemoveResources {
            names: names.to_vec(),
            keep: Vec::new(),
        };
        check_reversal(document, &several, &remove, "new resources", counts)?;
        check_additions(document, counts)?;
    }
    let sections = [
        (
            "parameters",
            json!({"type": "string", "default": "a: b", "constraints": [{"length": {"min": 1}}]}),
        ),
        (
            "conditions",
            json!({"equals": [1, {"get_param": "OS::stack_name"}]}),
        ),
        (
            "outputs",
            json!({"value": {"get_param": "OS::stack_name"}, "description": "it's\nlong"}),
        ),
    ];
    for (section, value) in sections {
        check_add_and_remove(document, &[section, ADDED], value, counts)?;
    }
    let at_top = document.template().outputs.iter().take(edited_max);
    for output in at_top {
        set_and_set_back(document, &["outputs", &output.name, "value"], counts)?;
    }
    for parameter in document.template().parameters.iter().take(edited_max) {
        set_and_set_back(
            document,
            &["parameters", &parameter.name, "default"],
            counts,
        )?;
        check_add_and_remove(
            document,
            &["parameters", &parameter.name, "label"],
            json!("a label"),
            counts,
        )?;
    }
    for resource in document.template().resources.iter().take(edited_max) {
        let name = resource.name.as_str();
        let other = "renamed-by-the-trial";
        let rename = |from: &str, to: &str| Edit::RenameResource {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        check_reversal(
            document,
            &rename(name, other),
            &rename(other, name),
            &format!("another name for `{name}`"),
            counts,
        )?;
        let coming = [
            (vec!["properties", "set-by-the-trial"], json!("a b: #c")),
            (
                vec!["properties", "set-by-the-trial"],
                json!({"a": ["b", {"get_resource": "c"}]}),
            ),
            (vec!["depends_on"], json!([name])),
            (vec!["metadata", "stackloom", "public"], json!(true)),
            (vec!["deletion_policy"], json!("Retain")),
            (
                vec!["update_policy"],
                json!({"rolling_update": {"max_batch_size": 1}}),
            ),
            (vec!["condition"], json!("sometimes")),
        ];
        for (rest, value) in coming {
            let path = [&["resources", name][..], &rest].concat();
            check_add_and_remove(document, &path, value, counts)?;
        }
        for word in ["type", "depends_on", "metadata"] {
            set_and_set_back(document, &["resources", name, word], counts)?;
        }
        for property in resource.properties.iter().take(edited_max) {
            set_and_set_back(
                document,
                &["resources", name, "properties", &property.name],
                counts,
            )?;
        }
    }
    Ok(())
}

fn holds_something(document: &Document, path: &[&str]) -> bool {
    document.value(path).is_some_and(|value| !is_empty(&value))
}

/// Adds something new with the maps that it needs, and removes it.
fn check_add_and_remove(
    document: &Document,
    path: &[&str],
    value: Value,
    counts: &mut EditCounts,
) -> Result<(), String> {
    // An empty parent is removed together with its content.
    if document.value(&[]).is_none() {
        return Ok(());
    }
    let above = (0..path.len()).map(|length| &path[..length]);
    let mut there = above.filter_map(|above| document.value(above));
    if document.value(path).is_some() || there.any(|value| is_empty(&value)) {
        return Ok(());
    }
    let what = format!("`{}`", path.join("."));
    let path: Vec<String> = path.iter().map(|word| (*word).to_owned()).collect();
    let set = Edit::Set {
        path: path.clone(),
        value,
    };
    check_reversal(document, &set, &Edit::Remove { path }, &what, counts)
}

/// Changes a value, and changes it back.
fn set_and_set_back(
    document: &Document,
    path: &[&str],
    counts: &mut EditCounts,
) -> Result<(), String> {
    let Some(was) = document.value(path) else {
        return Ok(());
    };
    let what = path.join(".");
    let set = |document: &Document, value: &Value| {
        document.edit(&Edit::Set {
            path: path.iter().map(|word| (*word).to_owned()).collect(),
            value: value.clone(),
        })
    };
    let others = [
        json!("one line"),
        json!("two\nlines"),
        json!({"a": [1, {"b": null}], "c": "d"}),
        json!([1, "b"]),
    ];
    // One of them, because each one parses the text several times.
    let other = &others[(document.text().len() + what.len()) % others.len()];
    let Some(there) = counts.count(set(document, other)) else {
        return Ok(());
    };
    let Ok(back) = set(&there, &was) else {
        return Err(format!("what was set cannot be set back: `{what}`"));
    };
    let (Some((first, last)), Some((_, last_now))) = (document.lines(path), back.lines(path))
    else {
        return Err(format!("what was set back is gone: `{what}`"));
    };
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(document.text()), lines(back.text()));
    let head = first.saturating_sub(1) as usize;
    if before.get(..head) != after.get(..head) {
        return Err(format!("a value set back changed lines above it: `{what}`"));
    }
    if before.get(last as usize..) != after.get(last_now as usize..) {
        return Err(format!("a value set back changed lines below it: `{what}`"));
    }
    let Ok(again) = set(&back, other) else {
        return Err(format!("what was set back cannot be set again: `{what}`"));
    };
    let Ok(again) = set(&again, &was) else {
        return Err(format!("what was set twice cannot be set back: `{what}`"));
    };
    if again.text() != back.text() {
        return Err(format!(
            "a value set back a second time has other bytes: `{what}`"
        ));
    }
    Ok(())
}

/// Replaces the whole value by one with additions, and then by the old one.
fn check_additions(document: &Document, counts: &mut EditCounts) -> Result<(), String> {
    // An alias is expanded when the values become different, and stays expanded.
    let Some(was) = document.value(&[]).filter(|_| !document.has_aliases()) else {
        return Ok(());
    };
    let mut more = was.clone();
    let Some(resources) = more.get_mut("resources").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    for resource in resources.values_mut() {
        if let Some(resource) = resource.as_object_mut()
            // A function call is written again when it gets an addition.
            && resource.contains_key("type")
            && !resource.contains_key("metadata")
        {
            resource.insert(
                "metadata".to_owned(),
                json!({"stackloom": {"public": true}}),
            );
        }
    }
    resources.insert(ADDED.to_owned(), json!({"type": "OS::Heat::None"}));
    let Some(there) = counts.count(document.with_value(&more)) else {
        return Ok(());
    };
    match there.with_value(&was) {
        Err(error) => Err(format!("another value cannot be taken back: {error}")),
        Ok(back) if back.text() == document.text() => Ok(()),
        Ok(back) => Err(other_bytes(document, &back, "another value")),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Tests the law for additions: a resource that is added exists, and the text can still be parsed.
///
/// # Errors
/// The broken law.
fn added(document: &Document, counts: &mut EditCounts) -> Result<(), String> {
    let Some(after) = counts.count(document.edit(&a_resource())) else {
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

/// An edit and its reversal lead to the same bytes.
fn check_reversal(
    document: &Document,
    there: &Edit,
    back: &Edit,
    what: &str,
    counts: &mut EditCounts,
) -> Result<(), String> {
    let Some(after) = counts.count(document.edit(there)) else {
        return Ok(());
    };
    match after.edit(back) {
        // A name that no edit would set.
        Err(EditError::BadName(_)) => Ok(()),
        Err(error) => Err(format!(
            "what was edited cannot be taken back: {what}: {error}"
        )),
        Ok(again) if again.text() == document.text() => Ok(()),
        Ok(again) => Err(other_bytes(document, &again, what)),
    }
}

fn other_bytes(before: &Document, after: &Document, what: &str) -> String {
    let mut lines = before.text().lines().zip(after.text().lines());
    let first = lines.position(|(before, after)| before != after);
    let line = first.map_or("the end".to_owned(), |line| format!("line {}", line + 1));
    format!("an edit taken back leaves other bytes: {what}: {line}")
}

/// Tests the laws of a plan, and returns its workflow, if it has one:
///
/// - Without a workflow there is an error, and with one there is none.
/// - Each step of a workflow comes after the steps that it waits for: there is no cycle.
/// - A deployment that matches the plan needs no change.
///
/// # Errors
/// The broken law.
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

/// The types, all treated as deployable, with additional descriptions for unknown types in these templates. So the laws
/// can be tested with every template.
pub fn all_deployable(types: &Registry, document: &Document, bundle: &Bundle) -> Registry {
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
            Executable::No => Executable::Local,
            made => made,
        },
        ..one
    }))
}

/// Words that look like types, anywhere in the template. A group, for example, names its members' type in a property.
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
    fn our_own_templates_keep_the_laws() {
        let types = Registry::openstack();
        for text in crate::fuzz::own_seeds() {
            let (template, bundle) = crate::fuzz::files(&text);
            let document = Document::parse(template);
            let made = all_deployable(&types, &document, &bundle);
            let mut counts = EditCounts::default();
            let result = of_text(&document, EDITED_MAX, &mut counts)
                .and_then(|()| of_plan(&document, &bundle, &made));
            if let Err(law) = result {
                panic!("{law}\n{}", document.text());
            }
            // Valid texts: nearly every edit is possible, except those that would change an aliased value.
            let most = if document.has_aliases() { 4 } else { 20 };
            assert!(
                counts.made > most * counts.refused,
                "{counts}\n{}",
                document.text()
            );
        }
    }

    #[test]
    fn an_unknown_type_can_be_planned() {
        let text = "heat_template_version: 2021-04-16\nresources:\n  a: {type: Some::Where::Else, properties: {x: 1}}\n";
        let document = Document::parse(text);
        let bundle = Bundle::default();
        let types = Registry::openstack();
        assert_eq!(of_plan(&document, &bundle, &types), Ok(None));
        let made = all_deployable(&types, &document, &bundle);
        let workflow = of_plan(&document, &bundle, &made).unwrap();
        assert_eq!(workflow.map(|workflow| workflow.steps.len()), Some(1));
    }
}
