//! Stand-in values for parameters without a value, as if a user had filled in the form.
//!
//! A stand-in satisfies the type and constraints of the parameter and of the properties that use it, if one of the
//! candidates does: first words from the constraints, then words of many kinds.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hot::bundle::Bundle;
use hot::constraint::Constraint;
use hot::expr::Expr;
use hot::{
    environment::{Aliases, Target},
    merged::Merged,
};
use hot::{parameter::Parameter, template::Template};
use planner::compose::DEPTH_MAX;
use serde_json::{Value, json};
use types::{Property, PropertyKind, Registry};

/// A value for each parameter that has none, neither as a default nor from an environment.
pub fn values(template: &Template, bundle: &Bundle, types: &Registry) -> BTreeMap<String, Value> {
    let merged = Merged::of(bundle, template);
    let given = merged.parameters(template, &BTreeMap::new());
    let seeker = Seeker {
        bundle,
        aliases: &merged.aliases,
        types,
        known: RefCell::default(),
    };
    let uses = seeker.uses(template, None, 0);
    template
        .parameters
        .iter()
        .filter(|parameter| parameter.default.is_none() && !given.contains_key(&parameter.name))
        .map(|parameter| {
            let uses = uses
                .get(parameter.name.as_str())
                .cloned()
                .unwrap_or_default();
            (parameter.name.clone(), value(parameter, &uses))
        })
        .collect()
}

/// The uses of a parameter's value, in the template and its nested templates.
#[derive(Clone, Debug, Default)]
struct Uses<'a> {
    /// Properties with this value.
    whole: Vec<&'a Property>,
    /// Properties with one item of this value.
    item: Vec<&'a Property>,
}

/// Uses by parameter.
type AllUses<'a> = BTreeMap<String, Uses<'a>>;

/// Searches for uses.
struct Seeker<'a> {
    bundle: &'a Bundle,
    aliases: &'a Aliases,
    types: &'a Registry,
    /// Uses by file.
    known: RefCell<HashMap<String, Rc<AllUses<'a>>>>,
}

impl<'a> Seeker<'a> {
    /// The uses in a template, which is the file `from` or the main one.
    fn uses(&self, template: &Template, from: Option<&str>, depth: usize) -> AllUses<'a> {
        let mut uses = AllUses::new();
        for resource in &template.resources {
            let properties = resource.properties.iter();
            let properties = properties.map(|given| (given.name.as_str(), &given.value));
            let properties: Vec<_> = properties.collect();
            let name = resource.name.as_str();
            self.resource(
                name,
                &resource.resource_type,
                &properties,
                (from, depth),
                &mut uses,
            );
            // The members of a group are written like resources.
            for (_, definition) in &properties {
                let Some(written) = definition.get("type").and_then(Expr::as_str) else {
                    continue;
                };
                if let Some(Expr::Map(inner)) = definition.get("properties") {
                    let inner: Vec<_> = inner
                        .iter()
                        .map(|(name, value)| (name.as_str(), value))
                        .collect();
                    self.resource(name, written, &inner, (from, depth), &mut uses);
                }
            }
        }
        uses
    }

    fn resource(
        &self,
        name: &str,
        written: &str,
        properties: &[(&str, &Expr)],
        (from, depth): (Option<&str>, usize),
        uses: &mut AllUses<'a>,
    ) {
        match self.aliases.resolve(name, written, &[]) {
            Target::Type(name) => {
                let Some(described) = self.types.get(&name) else {
                    return;
                };
                for (name, value) in properties {
                    if let Some(property) = described.property(name) {
                        note(value, property, uses);
                    }
                }
            }
            Target::File { name, from: said } => {
                let path = self.bundle.find(said.as_deref().or(from), &name);
                let Some(path) = path.filter(|_| depth < DEPTH_MAX) else {
                    return;
                };
                let Some(document) = self.bundle.document(path) else {
                    return;
                };
                let known = self.known.borrow().get(path).cloned();
                let inner = known.unwrap_or_else(|| {
                    let inner = Rc::new(self.uses(document.template(), Some(path), depth + 1));
                    let mut known = self.known.borrow_mut();
                    known.insert(path.to_owned(), Rc::clone(&inner));
                    inner
                });
                for (name, value) in properties {
                    if let Some(inner) = inner.get(*name) {
                        pass_on(value, inner, uses);
                    }
                }
            }
        }
    }
}

/// A value passed to a nested template has the uses of the nested parameter.
fn pass_on<'a>(value: &Expr, inner: &Uses<'a>, uses: &mut AllUses<'a>) {
    match value {
        Expr::GetParam(name, path) if path.is_empty() => {
            let outer = uses.entry(name.clone()).or_default();
            outer.whole.extend(&inner.whole);
            outer.item.extend(&inner.item);
        }
        Expr::GetParam(name, path) if path.len() == 1 => {
            let outer = uses.entry(name.clone()).or_default();
            outer.item.extend(&inner.whole);
        }
        Expr::List(items) => {
            let of_items = Uses {
                whole: inner.item.clone(),
                item: Vec::new(),
            };
            items.iter().for_each(|item| pass_on(item, &of_items, uses));
        }
        _ => {}
    }
}

fn note<'a>(expr: &Expr, property: &'a Property, uses: &mut AllUses<'a>) {
    match (expr, &property.kind) {
        (Expr::GetParam(name, path), _) => {
            let uses = uses.entry(name.clone()).or_default();
            match path.len() {
                0 => uses.whole.push(property),
                1 => uses.item.push(property),
                _ => {}
            }
        }
        (Expr::List(items), PropertyKind::List { of: Some(of) }) => {
            items.iter().for_each(|item| note(item, of, uses));
        }
        (Expr::Map(entries), PropertyKind::Map { of }) => {
            for (key, value) in entries {
                if let Some(property) = of.iter().find(|property| property.name == *key) {
                    note(value, property, uses);
                }
            }
        }
        _ => {}
    }
}

fn value(parameter: &Parameter, uses: &Uses<'_>) -> Value {
    let mut candidates = candidates(parameter, &uses.whole);
    if parameter.kind == "comma_delimited_list" {
        let constraints = uses.item.iter().flat_map(|property| &property.constraints);
        let allowed = constraints.filter_map(|constraint| match constraint {
            Constraint::AllowedValues(allowed) => allowed.first(),
            _ => None,
        });
        candidates.extend(allowed.map(|one| json!([one, one])));
    }
    let own = |value: &&Value| {
        let mut rules = parameter.constraints.iter();
        rules.all(|rule| rule.constraint.problem(value).is_none())
    };
    let serves = |value: &Value, property: &Property| {
        property.kind.problem(value).is_none() && fits(&property.constraints, value)
    };
    let used = |value: &&Value| {
        let whole = uses.whole.iter().all(|property| serves(value, property));
        let mut items = value.as_array().into_iter().flatten();
        whole && items.all(|item| uses.item.iter().all(|property| serves(item, property)))
    };
    candidates
        .iter()
        .find(|value| own(value) && used(value))
        .or_else(|| candidates.iter().find(own))
        .or(candidates.first())
        .cloned()
        .unwrap_or_default()
}

fn fits(constraints: &[Constraint], value: &Value) -> bool {
    constraints
        .iter()
        .all(|constraint| constraint.problem(value).is_none())
}

/// Candidate values, likely ones first.
fn candidates(parameter: &Parameter, uses: &[&Property]) -> Vec<Value> {
    let constraints = || {
        let of_uses = uses.iter().flat_map(|property| &property.constraints);
        let own = parameter.constraints.iter().map(|rule| &rule.constraint);
        own.chain(of_uses)
    };
    let mut candidates: Vec<Value> = constraints()
        .filter_map(|constraint| match constraint {
            Constraint::AllowedValues(allowed) => Some(allowed.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let length = constraints().find_map(|constraint| match constraint {
        Constraint::Length { min, .. } => *min,
        _ => None,
    });
    let length = usize::try_from(length.unwrap_or(0)).unwrap_or(0).min(4096);
    match parameter.kind.as_str() {
        "number" => {
            let edges = constraints().filter_map(|constraint| match constraint {
                Constraint::Range { min, max } => min.or(*max),
                _ => None,
            });
            candidates.extend([1.0].into_iter().chain(edges).map(whole));
            candidates.extend((0..512).map(Value::from));
        }
        "boolean" => candidates.extend([json!(true), json!(false)]),
        "json" => {
            let keys = (0..length).map(|key| (format!("key{key}"), json!("value")));
            candidates.push(Value::Object(keys.collect()));
        }
        "comma_delimited_list" => {
            // At least two, because the template can access one by its index.
            let item = |text: &str| Value::from(vec![text; length.max(2)]);
            candidates.extend(WORDS.iter().map(|word| item(word)));
        }
        _ => {
            candidates.extend(WORDS.iter().map(|word| Value::from(*word)));
            candidates.extend(
                WORDS
                    .iter()
                    .map(|word| word.chars().cycle().take(length).collect::<String>())
                    .map(Value::from),
            );
        }
    }
    candidates
}

fn whole(number: f64) -> Value {
    if number.fract() == 0.0 {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

/// Texts of the kinds that templates need.
const WORDS: [&str; 20] = [
    "standin",
    "Standin1",
    "Stand-In_1",
    "StandIn",
    "STANDIN",
    "a",
    "1",
    "80",
    "true",
    "{}",
    "10.0.0.0/24",
    "10.0.0.10",
    "fd00::/64",
    "fa:16:3e:00:00:01",
    "example.org.",
    "example.org",
    "user@example.org",
    "http://example.org/",
    "2037-01-01T00:00:00",
    "9d3c54ae-41a2-4a3c-9a3f-5b0f6a3c2d10",
];

#[cfg(test)]
mod tests {
    use hot::document::Document;

    use super::*;

    #[test]
    fn a_stand_in_fits_the_parameter_and_its_uses() {
        let document = Document::parse(
            "heat_template_version: 2016-10-14\n\
             parameters:\n\
             \x20 size: {type: string, constraints: [{allowed_values: [m1, m2]}]}\n\
             \x20 secret: {type: string, constraints: [{length: {min: 9}}, {allowed_pattern: '[a-z]*'}]}\n\
             \x20 range: {type: string}\n\
             \x20 count: {type: number, constraints: [{range: {min: 7}}]}\n\
             \x20 given: {type: string, default: x}\n\
             \x20 sizes: {type: comma_delimited_list}\n\
             resources:\n\
             \x20 subnet:\n    type: OS::Neutron::Subnet\n    properties: {cidr: {get_param: range}, ip_version: {get_param: [sizes, 0]}}\n",
        );
        let values = values(
            document.template(),
            &Bundle::default(),
            &Registry::openstack(),
        );
        assert_eq!(
            values.into_iter().collect::<Vec<_>>(),
            [
                ("count".to_owned(), json!(7)),
                ("range".to_owned(), json!("10.0.0.0/24")),
                ("secret".to_owned(), json!("standinst")),
                ("size".to_owned(), json!("m1")),
                ("sizes".to_owned(), json!([4, 4])),
            ]
        );
    }

    #[test]
    fn uses_in_nested_templates_count_too() {
        let document = Document::parse(
            "heat_template_version: 2016-10-14\n\
             parameters:\n  range: {type: string}\n  address: {type: string}\n\
             resources:\n\
             \x20 net: {type: net.yaml, properties: {cidr: {get_param: range}}}\n\
             \x20 ports:\n    type: OS::Heat::ResourceGroup\n    properties:\n\
             \x20     resource_def: {type: My::Port, properties: {address: {get_param: address}}}\n",
        );
        let net = "heat_template_version: 2016-10-14\nparameters: {cidr: {type: string}}\n\
                   resources: {s: {type: OS::Neutron::Subnet, properties: {network: n, cidr: {get_param: cidr}}}}\n";
        let port = "heat_template_version: 2016-10-14\nparameters: {address: {type: string}}\n\
                    resources: {p: {type: OS::Neutron::Port, properties: {network: n, fixed_ips: [{ip_address: {get_param: address}}]}}}\n";
        let bundle = Bundle::new(
            [
                ("net.yaml", net),
                ("port.yaml", port),
                ("env.yaml", "resource_registry: {My::Port: port.yaml}\n"),
            ]
            .map(|(name, text)| (name.to_owned(), text.to_owned())),
            ["env.yaml".to_owned()],
        );
        let values = values(document.template(), &bundle, &Registry::openstack());
        assert_eq!(values["range"], "10.0.0.0/24");
        assert_eq!(values["address"], "10.0.0.10");
    }
}
