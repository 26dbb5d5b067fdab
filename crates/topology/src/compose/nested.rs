//! A template as a resource: its parameters are the properties, its outputs the attributes.
//!
//! The file is checked on its own, with the values that are known, as if it were deployed; what is wrong
//! names the file and line. `parameter_defaults` of environments reach it, as in Heat.

use super::{
    BTreeMap, Composer, Diagnostic, Expr, Frame, HashMap, HashSet, Model, Parent, Place,
    ResourceSpec, Value, facade, overlay,
};
use crate::{
    document::Document, scope::Known, template::Template, text::shown, validate::validate_call,
};

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
        let bundle = self.around.bundle;
        let Some(path) = bundle.find(from.as_deref().or(frame.file), file) else {
            let message = not_given(&full, file);
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
        let arguments = self.arguments(frame, template, &spec);
        let (known, open) = known(frame, &spec, &arguments);
        let mut itself = frame.itself.clone();
        itself.push(spec.resource_type.clone());
        self.check(&full, path, document, (&known, &open), &itself);

        let facade = self.facade(frame, name, &spec);
        let scope = Known::of_call(template, &known, &open)
            .with_files(bundle, Some(path))
            .with_facade(facade::data(&facade))
            .with_cloud(self.around.cloud);
        let (model, said) = Model::of(template, &scope);
        let prefix = format!("{full}/");
        let inner = Frame {
            file: Some(path),
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
        };
        for (member, _) in model.iter() {
            let place = Place {
                file: Some(path.to_owned()),
                path: format!("resources.{member}"),
            };
            self.places.insert(inner.full(member), place);
        }
        // What the file's own check has not said already.
        let said = said
            .into_iter()
            .map(|one| within(one, &full, path, document));
        for one in said.collect::<Vec<_>>() {
            let known = |other: &Diagnostic| other.path == one.path && other.file == one.file;
            if !self.diagnostics.iter().any(known) {
                self.diagnostics.push(one);
            }
        }
        let first = self.resources.len();
        self.frame(&inner, model);
        let outputs: BTreeMap<String, Expr> = template
            .outputs
            .iter()
            .filter(|output| output.is_on(&scope) != Some(false))
            .map(|output| {
                let value = output.value.simplify(&scope);
                let value = value.unwrap_or_else(|_| output.value.clone());
                (output.name.clone(), inner.global_expr(&value))
            })
            .collect();
        let parent = ResourceSpec {
            resource_type: path.to_owned(),
            properties: BTreeMap::new(),
            ..spec
        };
        self.parent(full, parent, inherits, Parent::Nested { outputs }, first);
    }

    /// What each parameter of the nested template is, in full names.
    fn arguments(
        &self,
        frame: &Frame<'_>,
        template: &Template,
        spec: &ResourceSpec,
    ) -> HashMap<String, Expr> {
        let of = |name: &str, default: Option<&Value>| {
            let given = spec
                .properties
                .get(name)
                .map(|value| frame.global_expr(value));
            given.or_else(|| {
                let default = self.around.merged.default_of(name).or(default);
                default.cloned().map(Expr::data)
            })
        };
        template
            .parameters
            .iter()
            .filter_map(|parameter| {
                let value = of(&parameter.name, parameter.default.as_ref())?;
                let value = match value.as_data() {
                    Some(data) => Expr::data(crate::parameters::coerce(&parameter.kind, &data)),
                    None => value,
                };
                Some((parameter.name.clone(), value))
            })
            .collect()
    }

    /// Everything that is wrong with the file as it is used here, with these [`known`] arguments.
    fn check(
        &mut self,
        full: &str,
        path: &str,
        document: &Document,
        (known, open): (&BTreeMap<String, Value>, &HashSet<String>),
        itself: &[String],
    ) {
        let mut unknown: Vec<&String> = open.iter().collect();
        unknown.sort();
        let values = serde_json::to_string(&(known, unknown)).unwrap_or_default();
        if !self.checked.insert((path.to_owned(), values)) {
            return;
        }
        let around = self.around;
        let types = overlay(
            around.types,
            around.bundle,
            around.merged,
            document.template(),
            Some(path),
            itself,
        );
        let found = validate_call(document, &types, around.cloud, known, open);
        let found = found
            .into_iter()
            .map(|one| within(one, full, path, document));
        self.diagnostics.extend(found);
    }
}

/// What is known of the arguments, and the names of those that are no plain data. Of these, hidden parameters of the outer
/// template are known too: for the nested one's conditions.
fn known(
    frame: &Frame<'_>,
    spec: &ResourceSpec,
    arguments: &HashMap<String, Expr>,
) -> (BTreeMap<String, Value>, HashSet<String>) {
    let mut known = BTreeMap::new();
    let mut open = HashSet::new();
    for (name, argument) in arguments {
        if let Some(value) = argument.as_data() {
            known.insert(name.clone(), value);
            continue;
        }
        open.insert(name.clone());
        let given = spec.properties.get(name);
        if let Some(Ok(value)) = given.map(|value| value.resolve_for_conditions(frame.scope)) {
            known.insert(name.clone(), value);
        }
    }
    (known, open)
}

/// A template that a type names and that is not there. Nothing is fetched, from wherever.
pub(crate) fn not_given(resource: &str, file: &str) -> String {
    let elsewhere = file.starts_with("http://") || file.starts_with("https://");
    match elsewhere {
        true => format!(
            "`{resource}` is made from `{}`, and nothing is fetched from elsewhere: add the file beside the template, \
             and name it by its own name",
            shown(file)
        ),
        false => format!(
            "`{resource}` is made from `{}`, which is not given: add the file beside the template",
            shown(file)
        ),
    }
}

/// What is said of a file, as said of the resource that it is used by.
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
