//! Known values of a template before a run: parameters, conditions, files.
//!
//! Hidden parameters are left out, so that plans and messages cannot contain them. Conditions use them, because
//! the result is only a boolean.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    bundle::Bundle,
    expr::{Budget, Expr, Function, Scope, Unresolved},
    parameter::{self, PSEUDO_PARAMETERS},
    template::{Condition, Template},
    version::Version,
};

/// Known parameters, conditions and files of one template.
pub struct Known<'a> {
    values: HashMap<&'a str, Value>,
    hidden: HashMap<&'a str, Value>,
    conditions: HashMap<&'a str, bool>,
    files: Option<(&'a Bundle, Option<&'a str>)>,
    zones: Option<Vec<String>>,
    version: Version,
    facade: BTreeMap<String, Value>,
    budget: Arc<Budget>,
}

impl<'a> Known<'a> {
    /// Given values, otherwise defaults, and the resulting conditions. Pseudo parameters among the values are used in
    /// conditions only.
    pub fn of(template: &'a Template, given: &BTreeMap<String, Value>) -> Known<'a> {
        Known::of_call(template, given, &HashSet::new(), Arc::default())
    }

    /// Known values of a nested template. The arguments of the parameters in `open` are known only during a run, or
    /// hidden: their defaults are not used, and their given values only in conditions. Inserted values are subtracted
    /// from `budget`.
    pub fn of_call(
        template: &'a Template,
        given: &BTreeMap<String, Value>,
        open: &HashSet<String>,
        budget: Arc<Budget>,
    ) -> Known<'a> {
        let mut known = Known {
            values: HashMap::new(),
            hidden: HashMap::new(),
            conditions: HashMap::new(),
            files: None,
            zones: None,
            version: template.hot(),
            facade: BTreeMap::new(),
            budget,
        };
        for parameter in &template.parameters {
            let is_open = open.contains(&parameter.name);
            let value = if is_open {
                given.get(&parameter.name)
            } else {
                parameter::value(parameter, given)
            };
            let Some(value) = value else {
                continue;
            };
            let value = parameter::coerce(&parameter.kind, value);
            if parameter.hidden || is_open {
                known.hidden.insert(&parameter.name, value);
            } else {
                known.values.insert(&parameter.name, value);
            }
        }
        for name in PSEUDO_PARAMETERS {
            let value = given.get(name).cloned();
            known.hidden.extend(value.map(|value| (name, value)));
        }
        let conditions = conditions(template, &known);
        known.conditions = conditions
            .into_iter()
            .filter_map(|(name, truth)| Some((name, truth.ok()?)))
            .collect();
        known
    }

    /// Adds the files beside the template, which is the file `from` (`None` for the outermost template).
    pub fn with_files(mut self, bundle: &'a Bundle, from: Option<&'a str>) -> Known<'a> {
        self.files = Some((bundle, from));
        self
    }

    /// Adds the known values of the resource that the template implements.
    pub fn with_facade(mut self, facade: BTreeMap<String, Value>) -> Known<'a> {
        self.facade = facade;
        self
    }

    /// Adds the availability zones of the cloud, if they are known.
    pub fn with_zones(mut self, zones: Option<Vec<String>>) -> Known<'a> {
        self.zones = zones;
        self
    }
}

impl Scope for Known<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.values.get(name).cloned()
    }
    fn parameter_ref(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }
    fn condition_parameter_ref(&self, name: &str) -> Option<&Value> {
        self.values.get(name).or_else(|| self.hidden.get(name))
    }
    fn budget(&self) -> Option<&Arc<Budget>> {
        Some(&self.budget)
    }
    fn reference(&self, _: &str) -> Option<Value> {
        None
    }
    fn attribute(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
    fn condition(&self, name: &str) -> Option<bool> {
        self.conditions.get(name).copied()
    }
    fn condition_parameter(&self, name: &str) -> Option<Value> {
        self.condition_parameter_ref(name).cloned()
    }
    fn file(&self, name: &str) -> Option<String> {
        let (bundle, from) = self.files?;
        let path = bundle.find(from, name)?;
        bundle.text(path).map(str::to_owned)
    }
    fn version(&self) -> Version {
        self.version
    }
    fn facade(&self, what: &str) -> Option<Value> {
        self.facade.get(what).cloned()
    }
    fn zones(&self) -> Vec<String> {
        self.zones
            .clone()
            .unwrap_or_else(|| vec!["nova".to_owned()])
    }
}

/// Results of a template's conditions by name, or the reason why a result is not known.
///
/// Conditions can refer to each other in any order. Each is evaluated after the conditions that it names, so
/// evaluations are not nested, for any length of a chain. A condition in a circle has no result; the parser has
/// reported the circle.
pub fn conditions<'t>(
    template: &'t Template,
    scope: &dyn Scope,
) -> Vec<(&'t str, Result<bool, Unresolved>)> {
    let all = template.conditions.iter();
    let by_name: HashMap<&str, &Condition> = all.map(|one| (one.name.as_str(), one)).collect();
    let mut evaluator = Evaluator {
        scope,
        found: HashMap::new(),
    };
    let mut seen: HashSet<&str> = HashSet::new();
    for condition in &template.conditions {
        let mut open = Vec::new();
        let mut next = Some(condition).filter(|one| seen.insert(&one.name));
        loop {
            if let Some(condition) = next.take() {
                open.push((condition, named(&condition.value).into_iter()));
            }
            let Some((condition, names)) = open.last_mut() else {
                break;
            };
            match names.next() {
                Some(name) => {
                    let named = by_name.get(name).copied();
                    next = named.filter(|one| seen.insert(&one.name));
                }
                None => {
                    let truth = condition.value.holds(&evaluator);
                    evaluator.found.insert(&condition.name, truth);
                    open.pop();
                }
            }
        }
    }
    let mut found = evaluator.found;
    let all = template.conditions.iter().filter_map(|condition| {
        let truth = found.remove(condition.name.as_str())?;
        Some((condition.name.as_str(), truth))
    });
    all.collect()
}

/// Names of the conditions that a condition refers to.
fn named(condition: &Expr) -> Vec<&str> {
    let mut names: Vec<&str> = condition.as_str().into_iter().collect();
    condition.walk(&mut |expr| {
        let Expr::Call {
            function,
            arguments,
        } = expr
        else {
            return;
        };
        match (function, arguments.as_ref()) {
            (Function::Not, one) => names.extend(one.as_str()),
            (Function::And | Function::Or, Expr::List(items)) => {
                names.extend(items.iter().filter_map(Expr::as_str));
            }
            (Function::If, Expr::List(items)) => {
                names.extend(items.first().and_then(Expr::as_str));
            }
            _ => {}
        }
    });
    names
}

/// Scope while conditions are evaluated one after the other.
struct Evaluator<'a> {
    scope: &'a dyn Scope,
    found: HashMap<&'a str, Result<bool, Unresolved>>,
}

impl Scope for Evaluator<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.scope.parameter(name)
    }
    fn reference(&self, _: &str) -> Option<Value> {
        None
    }
    fn attribute(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
    fn condition(&self, name: &str) -> Option<bool> {
        self.found.get(name)?.clone().ok()
    }
    fn version(&self) -> Version {
        self.scope.version()
    }
    fn condition_parameter(&self, name: &str) -> Option<Value> {
        self.scope.condition_parameter(name)
    }
    fn parameter_ref(&self, name: &str) -> Option<&Value> {
        self.scope.parameter_ref(name)
    }
    fn condition_parameter_ref(&self, name: &str) -> Option<&Value> {
        self.scope.condition_parameter_ref(name)
    }
    fn budget(&self) -> Option<&Arc<Budget>> {
        self.scope.budget()
    }
}
