//! What is known of a template before anything runs: values of parameters, which conditions hold, files.
//!
//! Hidden parameters are kept back, so that neither a plan nor a message can tell them; in conditions
//! they count, since only a truth comes out.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
};

use serde_json::Value;

use crate::{
    bundle::Bundle,
    cloud::CloudFacts,
    expr::{Scope, Unresolved},
    parameters,
    template::{PSEUDO_PARAMETERS, Template},
    version::Version,
};

/// Parameters, conditions and files of one template.
pub(crate) struct Known<'a> {
    values: HashMap<&'a str, Value>,
    hidden: HashMap<&'a str, Value>,
    conditions: HashMap<&'a str, bool>,
    files: Option<(&'a Bundle, Option<&'a str>)>,
    zones: Option<Vec<String>>,
    version: Version,
    facade: BTreeMap<String, Value>,
}

impl<'a> Known<'a> {
    /// Given values, else defaults; and the conditions that follow from them. Pseudo parameters among the values count in
    /// conditions only.
    pub(crate) fn of(template: &'a Template, given: &BTreeMap<String, Value>) -> Known<'a> {
        Known::of_call(template, given, &HashSet::new())
    }

    /// The same for a template that another one uses. The parameters in `open` are given something that is known when it
    /// runs, or hidden: their defaults do not count, and a value that is given counts in conditions only.
    pub(crate) fn of_call(
        template: &'a Template,
        given: &BTreeMap<String, Value>,
        open: &HashSet<String>,
    ) -> Known<'a> {
        let mut known = Known {
            values: HashMap::new(),
            hidden: HashMap::new(),
            conditions: HashMap::new(),
            files: None,
            zones: None,
            version: template.hot(),
            facade: BTreeMap::new(),
        };
        for parameter in &template.parameters {
            let is_open = open.contains(&parameter.name);
            let value = match is_open {
                true => given.get(&parameter.name),
                false => parameters::value(parameter, given),
            };
            let Some(value) = value else {
                continue;
            };
            let value = parameters::coerce(&parameter.kind, value);
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

    /// With the files beside the template, which is the file `from` itself (nothing for the top one).
    pub(crate) fn with_files(mut self, bundle: &'a Bundle, from: Option<&'a str>) -> Known<'a> {
        self.files = Some((bundle, from));
        self
    }

    /// With what is known of the resource that the template stands for.
    pub(crate) fn with_facade(mut self, facade: BTreeMap<String, Value>) -> Known<'a> {
        self.facade = facade;
        self
    }

    /// With what the cloud has.
    pub(crate) fn with_cloud(mut self, cloud: &CloudFacts) -> Known<'a> {
        self.zones = cloud
            .availability_zones
            .as_ref()
            .map(|zones| zones.iter().map(|zone| zone.name.clone()).collect());
        self
    }
}

impl Scope for Known<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.values.get(name).cloned()
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
        self.values
            .get(name)
            .or_else(|| self.hidden.get(name))
            .cloned()
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

/// Whether each condition of a template holds, by its name, or why that is not known.
pub(crate) fn conditions<'t>(
    template: &'t Template,
    scope: &dyn Scope,
) -> Vec<(&'t str, Result<bool, Unresolved>)> {
    let evaluator = Evaluator {
        template,
        scope,
        found: RefCell::new(HashMap::new()),
    };
    template
        .conditions
        .iter()
        .map(|condition| (condition.name.as_str(), evaluator.evaluate(&condition.name)))
        .collect()
}

/// Conditions one after the other, each once, since they name each other in any order.
struct Evaluator<'a> {
    template: &'a Template,
    scope: &'a dyn Scope,
    /// `None` while it is being looked at: a circle, which the reader has reported.
    found: RefCell<HashMap<&'a str, Option<Result<bool, Unresolved>>>>,
}

impl<'a> Evaluator<'a> {
    fn evaluate(&self, name: &str) -> Result<bool, Unresolved> {
        let unknown = || Err(Unresolved::Condition(name.to_owned()));
        if let Some(found) = self.found.borrow().get(name) {
            return found.clone().unwrap_or_else(unknown);
        }
        let Some(condition) = self.template.condition(name) else {
            return unknown();
        };
        self.found.borrow_mut().insert(&condition.name, None);
        let truth = condition.value.holds(self);
        self.found
            .borrow_mut()
            .insert(&condition.name, Some(truth.clone()));
        truth
    }
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
        self.evaluate(name).ok()
    }
    fn version(&self) -> Version {
        self.scope.version()
    }
    fn condition_parameter(&self, name: &str) -> Option<Value> {
        self.scope.condition_parameter(name)
    }
}
