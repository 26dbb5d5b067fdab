//! Merged environments, and effective parameter values of a template.

use std::collections::BTreeMap;

use serde_json::Value;

mod defaults;
mod hidden;

pub use hidden::{without_hidden, without_values};

use crate::{
    bundle::Bundle,
    diagnostic::Diagnostic,
    environment::{Aliases, Environment, Given, Rule, Strategy},
    parameter::{Parameter, coerce},
    template::Template,
    text::{Position, did_you_mean},
};
use defaults::HiddenDefaults;
use yaql::shown;

/// All environments of a bundle, merged in their order.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    parameters: BTreeMap<String, Located>,
    defaults: BTreeMap<String, Located>,
    /// Merge strategies by parameter.
    strategies: BTreeMap<String, Strategy>,
    /// Hidden values of `defaults`.
    hidden: HiddenDefaults,
    /// Type aliases.
    pub aliases: Aliases,
    /// Hooks and locks of resources.
    pub rules: Vec<Rule>,
    /// Problems of the files and of their merging.
    pub diagnostics: Vec<Diagnostic>,
}

/// Value with its file.
#[derive(Clone, Debug)]
struct Located {
    value: Value,
    file: String,
    at: Position,
}

impl Merged {
    /// Environments of a bundle, for a template. Its parameter types decide which texts are lists.
    pub fn of(bundle: &Bundle, template: &Template) -> Merged {
        let mut merged = Merged::default();
        let mut chosen: BTreeMap<String, Strategy> = BTreeMap::new();
        for name in bundle.environments() {
            let Some(environment) = bundle
                .find(None, name)
                .and_then(|path| bundle.environment(path))
            else {
                let message = format!(
                    "the environment `{}` is not given: add the file beside the template",
                    shown(name)
                );
                merged
                    .diagnostics
                    .push(Diagnostic::error("file-missing", "", message));
                continue;
            };
            merged
                .diagnostics
                .extend(environment.diagnostics.iter().cloned());
            merged.choose(environment, &mut chosen);
            let sections = [
                (&mut merged.parameters, &environment.parameters),
                (&mut merged.defaults, &environment.parameter_defaults),
            ];
            for (into, from) in sections {
                for (name, given) in from {
                    let strategy = chosen.get(name).copied().unwrap_or_default();
                    let value = match into.remove(name) {
                        Some(old) => {
                            let parameter =
                                template.parameters.iter().find(|one| one.name == *name);
                            let is_list = parameter.is_some_and(is_list);
                            join(old.value, &given.value, strategy, is_list)
                        }
                        None => given.value.clone(),
                    };
                    into.insert(name.clone(), located(environment, value, given));
                }
            }
            for alias in &environment.registry {
                merged.aliases.add(alias.clone());
            }
            merged.rules.extend(environment.rules.iter().cloned());
        }
        merged.strategies = chosen;
        if !merged.defaults.is_empty() {
            let default_of = |name: &str| merged.default_of(name);
            merged.hidden = HiddenDefaults::of(bundle, template, default_of);
        }
        merged
    }

    /// Adds hidden defaults that are stored elsewhere, if the files do not contain them any more: see
    /// [`Merged::hidden_defaults`].
    pub fn with_kept(mut self, kept: &BTreeMap<String, Value>) -> Merged {
        self.hidden.keep(kept);
        self
    }

    /// Adds a file's strategies. Reports files with different strategies for a parameter.
    fn choose(&mut self, environment: &Environment, chosen: &mut BTreeMap<String, Strategy>) {
        let of_file = environment.strategies.get("default").copied();
        let names = environment
            .parameters
            .keys()
            .chain(environment.parameter_defaults.keys());
        for name in names {
            let strategy = environment.strategies.get(name).copied();
            match (chosen.get(name).copied(), strategy) {
                (Some(before), Some(now)) if before != now => {
                    let message = format!(
                        "`{name}` is merged in another way by an earlier environment; say the same in both"
                    );
                    let path = format!("parameter_merge_strategies.{name}");
                    let mut diagnostic = Diagnostic::error("environment-conflict", path, message);
                    diagnostic.file = Some(environment.file.clone());
                    self.diagnostics.push(diagnostic);
                }
                (Some(_), _) => {}
                (None, strategy) => {
                    chosen.insert(name.clone(), strategy.or(of_file).unwrap_or_default());
                }
            }
        }
    }

    /// Effective values of a template's parameters.
    ///
    /// As in Heat, a value under `parameters` of an environment has precedence over a value of the request, unless a
    /// merge strategy combines the two. A value of the request has precedence over `parameter_defaults`. `null` means
    /// no value. Template defaults are not included. Source: `merge_environments` in `heat/common/environment_util.py`.
    pub fn parameters(
        &self,
        template: &Template,
        given: &BTreeMap<String, Value>,
    ) -> BTreeMap<String, Value> {
        // Undeclared names stay: a check reports them.
        let mut values = given.clone();
        for parameter in &template.parameters {
            let name = &parameter.name;
            let own = self.parameters.get(name).map(|located| &located.value);
            let candidates = [
                own,
                given.get(name),
                self.defaults.get(name).map(|located| &located.value),
            ];
            let value = match (given.get(name), own) {
                (Some(given), Some(own)) if !given.is_null() => {
                    let strategy = self.strategies.get(name).copied().unwrap_or_default();
                    join(given.clone(), own, strategy, is_list(parameter))
                }
                _ => {
                    let mut known = candidates.into_iter().flatten();
                    let Some(first) = known.clone().next() else {
                        continue;
                    };
                    known
                        .find(|value| !value.is_null())
                        .unwrap_or(first)
                        .clone()
                }
            };
            values.insert(name.clone(), value);
        }
        values
    }

    /// Environment file whose value has precedence over a given value of the parameter, if there is one.
    pub fn overridden_by(&self, parameter: &str) -> Option<&str> {
        let strategy = self.strategies.get(parameter).copied();
        self.parameters
            .get(parameter)
            .filter(|located| !located.value.is_null())
            .filter(|_| strategy.unwrap_or_default() == Strategy::Overwrite)
            .map(|located| located.file.as_str())
    }

    /// Warnings for given values that an environment overrides with a different value.
    pub fn overridden(
        &self,
        template: &Template,
        given: &BTreeMap<String, Value>,
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for parameter in &template.parameters {
            let name = &parameter.name;
            let (Some(value), Some(located), Some(file)) = (
                given.get(name).filter(|value| !value.is_null()),
                self.parameters.get(name),
                self.overridden_by(name),
            ) else {
                continue;
            };
            if coerce(&parameter.kind, value) == coerce(&parameter.kind, &located.value) {
                continue;
            }
            let message = format!(
                "the environment `{}` sets `{name}`; the value given for it is not used. Change it there, or remove it there to give \
                 it here",
                shown(file)
            );
            let path = format!("parameters.{name}");
            let mut one = Diagnostic::warning("environment-overrides", path, message);
            one.locate(located);
            found.push(one);
        }
        found
    }

    /// Value of a name under `parameter_defaults`, which also applies to nested templates. The value can be `null`.
    pub fn default_of(&self, parameter: &str) -> Option<&Value> {
        self.defaults.get(parameter).map(|located| &located.value)
    }

    /// Name that represents the hidden default of a nested template's parameter, and the value. The name begins with
    /// [`HIDDEN_DEFAULTS`](crate::parameter::HIDDEN_DEFAULTS).
    pub fn hidden_default(&self, parameter: &Parameter) -> Option<(&str, &Value)> {
        self.hidden.get(parameter)
    }

    /// All known hidden defaults by name. A workflow refers to them by `get_param`, and they must be encrypted when
    /// stored.
    pub fn hidden_defaults(&self) -> BTreeMap<String, Value> {
        self.hidden.known()
    }

    /// Names of nested templates' parameters whose values were removed from the files and are not available here.
    pub fn hidden_elsewhere(&self) -> impl Iterator<Item = &str> {
        self.hidden.elsewhere()
    }

    /// Problems of given values: parameters that the template does not have, and hidden parameters, whose values are
    /// only encrypted if a user gives them directly.
    pub fn undeclared(&self, template: &Template) -> Vec<Diagnostic> {
        let parameter = |name: &str| template.parameters.iter().find(|one| one.name == name);
        let mut found = Vec::new();
        for (name, located) in &self.parameters {
            let path = format!("parameters.{name}");
            let mut one = match parameter(name) {
                None => {
                    let near = did_you_mean(
                        name,
                        template.parameters.iter().map(|one| one.name.as_str()),
                    );
                    let message = format!(
                        "`{}` is no parameter of the template{near}; under `parameter_defaults` it may be set for nested templates",
                        shown(name)
                    );
                    Diagnostic::error("unknown-parameter", path, message)
                }
                Some(parameter) if parameter.hidden && !located.value.is_null() => {
                    let message = format!(
                        "`{name}` is hidden, but its value is here in clear text and is stored so with the design; give it when you deploy"
                    );
                    Diagnostic::warning("environment-secret", path, message)
                }
                Some(_) => continue,
            };
            one.locate(located);
            found.push(one);
        }
        let hidden = self.defaults.iter().filter(|(name, located)| {
            self.hidden.names.contains(*name) && !located.value.is_null()
        });
        for (name, located) in hidden {
            let way = match parameter(name) {
                Some(_) => "give it when you deploy",
                None => {
                    "let the template have such a parameter, pass it on, and give it when you deploy"
                }
            };
            let message = format!(
                "`{name}` is hidden, but its value is here in clear text and is stored so with the design; {way}"
            );
            let path = format!("parameter_defaults.{name}");
            let mut one = Diagnostic::warning("environment-secret", path, message);
            one.locate(located);
            found.push(one);
        }
        found
    }
}

impl Diagnostic {
    fn locate(&mut self, located: &Located) {
        self.file = Some(located.file.clone());
        (self.line, self.column) = (Some(located.at.line), Some(located.at.column));
    }
}

fn is_list(parameter: &Parameter) -> bool {
    parameter.kind == "comma_delimited_list"
}

fn located(environment: &Environment, value: Value, given: &Given) -> Located {
    Located {
        value,
        file: environment.file.clone(),
        at: given.at,
    }
}

/// Merges a value with a later one. The later one replaces it if their types do not match.
fn join(old: Value, new: &Value, strategy: Strategy, is_list: bool) -> Value {
    if strategy == Strategy::Overwrite || new.is_null() {
        return if new.is_null() { old } else { new.clone() };
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut joined = old;
            for (key, value) in new {
                let before = joined.get(key).cloned();
                let value = match before {
                    Some(before) if strategy == Strategy::DeepMerge => {
                        join(before, value, strategy, false)
                    }
                    _ if value.is_null() => continue,
                    _ => value.clone(),
                };
                joined.insert(key.clone(), value);
            }
            Value::Object(joined)
        }
        (Value::Array(mut old), Value::Array(new)) => {
            old.extend(new.iter().cloned());
            Value::Array(old)
        }
        (Value::String(old), Value::String(new)) if is_list && !old.is_empty() => {
            Value::String(format!("{old},{new}"))
        }
        (Value::String(old), Value::String(new)) => Value::String(old + new),
        (Value::Number(old), Value::Number(new)) => match (old.as_i64(), new.as_i64()) {
            (Some(old), Some(new)) => old.saturating_add(new).into(),
            _ => (old.as_f64().unwrap_or_default() + new.as_f64().unwrap_or_default()).into(),
        },
        (_, new) => new.clone(),
    }
}

#[cfg(test)]
mod tests;
