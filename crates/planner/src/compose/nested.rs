//! A template as a resource: its parameters are the properties, its outputs the attributes.
//!
//! The file is checked on its own, with the known values, as if it were deployed. Problems contain the file and line.
//! `parameter_defaults` of environments apply to it, as in Heat.

use std::{borrow::Cow, rc::Rc, sync::Arc};

use super::{
    BTreeMap, Composer, Diagnostic, Expr, Frame, GROUP, HashSet, Model, Parent, Place,
    ResourceSpec, Scope, Value,
    facade::{self, Facade},
    frame::{Argument, Arguments},
    overlay,
};
use crate::validate::{Call, downgrade_if_unread, is_read_at_once, validate_call};
use hot::template::members::SCALING_GROUP;
use hot::{
    diagnostic::Severity,
    document::Document,
    expr::{Function, weight_of},
    parameter::{self, Parameter},
    scope::Known,
    template::Template,
};
use yaql::shown;

const STACK_NAME: &str = "OS::stack_name";
const PROJECT_ID: &str = "OS::project_id";

impl Composer<'_> {
    pub(super) fn nested(
        &mut self,
        frame: &Frame<'_>,
        name: &str,
        spec: ResourceSpec,
        file: &str,
        from: Option<String>,
    ) {
        let full = frame.full(name);
        let type_path = format!("resources.{full}.type");
        let bundle = self.input.bundle;
        let Some(path) = bundle.find(from.as_deref().or(frame.file), file) else {
            let message = crate::members::not_given(&full, file);
            return self.error("file-missing", type_path, message);
        };
        if frame.within.iter().any(|outer| outer == path) {
            let message = format!("`{path}` uses itself: {} → `{path}`", listed(&frame.within));
            return self.error("nested-recursion", type_path, message);
        }
        let Some(document) = bundle.document(path).filter(|_| self.may_nest(frame, name)) else {
            return;
        };
        let inherits = self.waits_for(frame, &spec);
        let template = document.template();
        let arguments = self.arguments(frame, template, path, &spec);
        let weight = arguments.values().map(|one| weight_of(&one.value)).sum();
        if !self.has_room_for(weight) {
            return self.too_much(type_path);
        }
        let (known, open) = self.known(frame, &full, template, &spec, &arguments);
        let mut itself = frame.itself.clone();
        itself.push(spec.resource_type.clone());
        let is_within = frame.depth > 0;
        self.check(&full, path, document, (&known, &open), &itself, is_within);

        let facade = self.facade(frame, name, &spec);
        let budget = self.input.scope.budget().cloned().unwrap_or_default();
        let scope = Known::of_call(template, &known, &open, budget)
            .with_files(bundle, Some(path))
            .with_facade(facade::data(&facade))
            .with_zones(self.input.cloud.zone_names());
        let (model, problems) = Model::of(template, &scope);
        let prefix = format!("{full}/");
        let inner = Frame {
            file: Some(path),
            template: Some(template),
            prefix: &prefix,
            names: model
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect::<HashSet<_>>(),
            arguments: Some(arguments),
            scope: &scope,
            depth: frame.depth + 1,
            inherits: inherits.clone(),
            within: frame
                .within
                .iter()
                .cloned()
                .chain([path.to_owned()])
                .collect(),
            itself,
            facade,
            expansion: Rc::clone(&frame.expansion),
        };
        for (member, _) in model.iter() {
            let place = Place {
                file: Some(path.to_owned()),
                path: format!("resources.{member}"),
            };
            self.places.insert(inner.full(member), place);
        }
        // Problems that the check of the file itself has not reported.
        let problems = problems
            .into_iter()
            .filter(|one| !one.is_too_much() || !std::mem::replace(&mut self.is_too_much, true))
            .map(|one| within(one, &full, path, document));
        for one in problems.collect::<Vec<_>>() {
            let known = |other: &Diagnostic| other.path == one.path && other.file == one.file;
            if !self.diagnostics.iter().any(known) {
                self.diagnostics.push(one);
            }
        }
        self.report_too_late(&inner, template, &scope);
        let first = self.resources.len();
        self.frame(&inner, model);
        let outputs: BTreeMap<String, Expr> = template
            .outputs
            .iter()
            .filter_map(|output| {
                let is_on = output.is_on(&scope);
                let value = output.value.simplify(&scope);
                let value = value.unwrap_or_else(|_| output.value.clone());
                let value = inner.global_expr(&value);
                let late = match (is_on, &output.condition) {
                    (Some(false), _) => return None,
                    (None, Some(condition)) => inner.late(condition),
                    _ => None,
                };
                let value = match late {
                    Some((condition, _)) => {
                        Expr::call(Function::If, Expr::List(vec![condition, value]))
                    }
                    None => value,
                };
                Some((output.name.clone(), value))
            })
            .collect();
        self.report_too_long(&inner, &full);
        self.report_too_large(&inner, &full);
        let parent = ResourceSpec {
            resource_type: path.to_owned(),
            properties: BTreeMap::new(),
            ..spec
        };
        self.parent(full, parent, inherits, Parent::Nested { outputs }, first);
    }

    /// Facade of the resource `name`, with full names.
    fn facade(&self, frame: &Frame<'_>, name: &str, spec: &ResourceSpec) -> Facade {
        let document = match frame.file {
            Some(file) => self.input.bundle.document(file),
            None => Some(self.input.document),
        };
        let resources = document.map(|document| document.template().resources.as_slice());
        let written = resources
            .unwrap_or_default()
            .iter()
            .find(|one| one.name == name);
        let of_member = self.metadata.get(&frame.full(name));
        let metadata = written
            .and_then(|one| one.metadata.as_ref())
            .or(of_member)
            .cloned();
        let update_policy = written.and_then(|one| one.update_policy.clone());
        let deletion_policy = spec.deletion_policy.as_text();
        let known = |value: Option<Expr>| {
            let value = value.unwrap_or(Expr::Map(Vec::new()));
            let simple = value.simplify(frame.scope).unwrap_or(value);
            frame.global_expr(&simple)
        };
        BTreeMap::from([
            ("metadata", known(metadata)),
            ("deletion_policy", Expr::text(deletion_policy)),
            ("update_policy", known(update_policy)),
        ])
    }

    /// Value of each parameter of the nested template, with full names.
    fn arguments(
        &self,
        frame: &Frame<'_>,
        template: &Template,
        file: &str,
        spec: &ResourceSpec,
    ) -> Arguments {
        let merged = self.input.merged;
        let of = |parameter: &Parameter| {
            let name = &parameter.name;
            if let Some(given) = spec.properties.get(name) {
                return Some(frame.global_expr(given));
            }
            if let Some((hidden, _)) = merged.hidden_default(parameter) {
                return Some(Expr::GetParam(hidden.to_owned(), Vec::new()));
            }
            let default = merged.default_of(name).filter(|value| !value.is_null());
            let default = default.or(parameter.default.as_ref());
            default.cloned().map(Expr::data)
        };
        template
            .parameters
            .iter()
            .filter_map(|parameter| {
                let value = of(parameter)?;
                let value = match value.as_data() {
                    Some(data) => Expr::data(parameter::coerce(&parameter.kind, &data)),
                    None => crate::parameters::late(parameter, file, value),
                };
                Some((parameter.name.clone(), Argument::of(value)))
            })
            .collect()
    }

    /// Known values of the arguments, and names of the arguments that are not plain data. Hidden values (of the outer
    /// template's parameters, or an environment's defaults) are included, for the nested template's conditions.
    fn known(
        &self,
        frame: &Frame<'_>,
        full: &str,
        template: &Template,
        spec: &ResourceSpec,
        arguments: &Arguments,
    ) -> (BTreeMap<String, Value>, HashSet<String>) {
        let mut known = BTreeMap::new();
        let mut open = HashSet::new();
        for parameter in &template.parameters {
            let name = &parameter.name;
            let Some(argument) = arguments.get(name) else {
                continue;
            };
            if let Some(value) = argument.value.as_data() {
                known.insert(name.clone(), value);
                continue;
            }
            open.insert(name.clone());
            let value = match spec.properties.get(name) {
                Some(given) => given.resolve_for_conditions(frame.scope).ok(),
                None => {
                    let hidden = self.input.merged.hidden_default(parameter);
                    hidden.map(|(_, value)| value.clone())
                }
            };
            known.extend(value.map(|value| (name.clone(), value)));
        }
        self.pseudo(frame, full, &mut known);
        (known, open)
    }

    /// Adds the nested template's pseudo parameters. The project is the same; [`Frame::global_expr`] also sets the
    /// stack's name.
    fn pseudo(&self, frame: &Frame<'_>, full: &str, known: &mut BTreeMap<String, Value>) {
        let of = |scope: &dyn Scope, name: &str| scope.condition_parameter(name);
        let project = of(frame.scope, PROJECT_ID);
        known.extend(project.map(|project| (PROJECT_ID.to_owned(), project)));
        let outermost = of(self.input.scope, STACK_NAME);
        if let Some(outermost) = outermost.as_ref().and_then(Value::as_str) {
            let name = format!("{outermost}-{}", full.replace('/', "-"));
            known.insert(STACK_NAME.to_owned(), name.into());
        }
    }

    /// All problems of the file with these arguments.
    fn check(
        &mut self,
        full: &str,
        path: &str,
        document: &Document,
        (known, open): (&BTreeMap<String, Value>, &HashSet<String>),
        itself: &[String],
        is_within: bool,
    ) {
        let mut unknown: Vec<&String> = open.iter().collect();
        unknown.sort();
        let values = serde_json::to_string(&(known, unknown, is_within)).unwrap_or_default();
        if !self.checked.insert((path.to_owned(), values)) {
            return;
        }
        let template = document.template();
        // Heat ignores invalid values that come from a nested template: see `child_params` in its
        // `template_resource.py`.
        let mut known = Cow::Borrowed(known);
        let mut open = Cow::Borrowed(open);
        if is_within {
            for parameter in &template.parameters {
                let name = &parameter.name;
                let unfit = |value| !hot::parameter::fits(parameter, value);
                if known.get(name).is_some_and(unfit) {
                    known.to_mut().remove(name);
                    open.to_mut().insert(name.clone());
                }
            }
        }
        let input = self.input;
        let types = overlay(
            input.types,
            input.bundle,
            input.merged,
            template,
            Some(path),
            itself,
        );
        let mut found = validate_call(
            document,
            &types,
            input.cloud,
            Call {
                known: &known,
                open: &open,
                budget: Arc::clone(&self.checks),
                is_nested: true,
            },
        );
        found.retain(|one| !one.is_too_much() || !std::mem::replace(&mut self.is_too_much, true));
        for one in &mut found {
            later(one, template, is_within);
        }
        if is_within {
            found.extend(read_without_value(template, &known, &open));
        }
        let found = found
            .into_iter()
            .map(|one| within(one, full, path, document));
        self.diagnostics.extend(found);
    }
}

/// Lowers errors that Heat finds only at creation to warnings: most values of nested templates and, with `is_within`,
/// arguments that come from a nested template.
fn later(one: &mut Diagnostic, template: &Template, is_within: bool) {
    if matches!(one.code.as_str(), "parameter-invalid" | "parameter-missing") && is_within {
        one.severity = one.severity.max(Severity::Warning);
        return;
    }
    let Some(rest) = one.path.strip_prefix("resources.") else {
        return;
    };
    let about = template.resources.iter().find(|resource| {
        let rest = rest.strip_prefix(resource.name.as_str());
        rest.is_some_and(|rest| rest.starts_with('.'))
    });
    if let Some(resource) = about {
        let of_members = [GROUP, SCALING_GROUP].contains(&resource.resource_type.as_str());
        // The members' own properties were checked separately.
        if !(of_members && one.path.matches(".properties.").count() > 1) {
            downgrade_if_unread(one, &resource.resource_type);
        }
    }
}

/// Parameters without a value in a template inside a nested one that Heat reads before it creates anything. The missing
/// value itself is only a warning, because most values are read later.
fn read_without_value(
    template: &Template,
    known: &BTreeMap<String, Value>,
    open: &HashSet<String>,
) -> Vec<Diagnostic> {
    let has_none = |name: &str| {
        let declared = template.parameters.iter().find(|one| one.name == name);
        declared.is_some_and(|one| one.default.is_none())
            && !known.contains_key(name)
            && !open.contains(name)
    };
    let unconditional = template
        .resources
        .iter()
        .filter(|one| one.condition.is_none());
    let read = unconditional.flat_map(|resource| {
        let properties = resource.properties.iter();
        properties
            .filter(|one| is_read_at_once(&resource.resource_type, &one.name))
            // Definitions of members are assembled without values.
            .filter(|one| one.name != "resource_def")
            .map(move |one| (resource, one))
    });
    let mut found = Vec::new();
    for (resource, property) in read {
        property.value.walk(&mut |expr| {
            if let Expr::GetParam(name, _) = expr
                && has_none(name)
            {
                let path = format!("resources.{}.properties.{}", resource.name, property.name);
                let message = format!(
                    "`{}` is made of the parameter `{}`, which is given no value and has no default",
                    property.name,
                    shown(name)
                );
                found.push(Diagnostic::error("parameter-missing", path, message));
            }
        });
    }
    found
}

/// Changes the path of a diagnostic about a file to the resource that uses the file.
fn within(mut diagnostic: Diagnostic, full: &str, path: &str, document: &Document) -> Diagnostic {
    document.locate(&mut diagnostic);
    diagnostic.path = match diagnostic.path.strip_prefix("resources.") {
        Some(rest) => format!("resources.{full}/{rest}"),
        None => format!("resources.{full}"),
    };
    diagnostic.file = Some(path.to_owned());
    diagnostic
}

fn listed(files: &[String]) -> String {
    let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    files.join(" → ")
}
