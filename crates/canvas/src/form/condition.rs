//! The form of a condition: its kind, and the parameter or the conditions that it depends on.

use hot::template::Template;
use serde_json::{Value, json};

use super::{Choice, Control, Field, maker::pretty};

/// Fields of a condition. A condition of no usual kind is edited as JSON.
pub(super) fn fields(template: &Template, name: &str, path: &[String]) -> Vec<Field> {
    let Some(condition) = template.condition(name) else {
        return Vec::new();
    };
    let now = condition.value.to_json();
    let form = Form {
        template,
        path,
        others: template
            .conditions
            .iter()
            .map(|one| one.name.as_str())
            .filter(|one| *one != name)
            .collect(),
    };
    let (kind, details) = form
        .details(&now)
        .unwrap_or_else(|| ("", vec![form.json(&now)]));
    let kind = form.field("kind", "Holds", &[], Control::Select(form.kinds()), kind);
    [vec![kind], details].concat()
}

struct Form<'a> {
    template: &'a Template,
    path: &'a [String],
    /// Names of the other conditions.
    others: Vec<&'a str>,
}

impl Form<'_> {
    /// The kinds of conditions, each with its first value.
    fn kinds(&self) -> Vec<Choice> {
        let choice = |key: &str, label: &str, value: Value| Choice {
            key: key.to_owned(),
            label: label.to_owned(),
            facts: String::new(),
            value,
        };
        let mut kinds = Vec::new();
        if let Some(parameter) = self.template.parameters.first() {
            let value = json!({ "equals": [{ "get_param": parameter.name }, ""] });
            kinds.push(choice("equals", "if a parameter has a value", value));
        }
        if let Some(other) = self.others.first() {
            let value = json!({ "not": other });
            kinds.push(choice("not", "if another condition does not hold", value));
        }
        if let [one, other, ..] = self.others[..] {
            let both = json!([one, other]);
            kinds.push(choice(
                "and",
                "if all of these conditions hold",
                json!({ "and": both }),
            ));
            kinds.push(choice(
                "or",
                "if one of these conditions holds",
                json!({ "or": both }),
            ));
        }
        kinds.push(choice("always", "always", json!(true)));
        kinds.push(choice("never", "never", json!(false)));
        kinds
    }

    /// The kind of a value and the fields of its details. `None` for a value of no usual kind.
    fn details(&self, now: &Value) -> Option<(&'static str, Vec<Field>)> {
        if let Value::Bool(holds) = now {
            return Some((if *holds { "always" } else { "never" }, Vec::new()));
        }
        let entries = now.as_object().filter(|entries| entries.len() == 1)?;
        let (function, argument) = entries.iter().next()?;
        match (function.as_str(), argument) {
            ("equals", Value::Array(sides)) => {
                let [left, Value::String(right)] = &sides[..] else {
                    return None;
                };
                let parameter = left["get_param"].as_str()?;
                Some(("equals", self.comparison(parameter, right)))
            }
            ("not", Value::String(other)) => {
                let choices = self.others.iter().map(|name| Choice {
                    key: (*name).to_owned(),
                    label: (*name).to_owned(),
                    facts: String::new(),
                    value: json!(name),
                });
                let control = Control::Select(choices.collect());
                let field = self.field("not", "Condition", &["not"], control, other);
                Some(("not", vec![field]))
            }
            ("and", Value::Array(names)) => Some(("and", vec![self.names("and", names)?])),
            ("or", Value::Array(names)) => Some(("or", vec![self.names("or", names)?])),
            _ => None,
        }
    }

    /// A parameter and the text that it is compared with.
    fn comparison(&self, parameter: &str, text: &str) -> Vec<Field> {
        let choices = self.template.parameters.iter().map(|one| Choice {
            key: one.name.clone(),
            label: one.name.clone(),
            facts: one.kind.clone(),
            value: json!({ "get_param": one.name }),
        });
        let choices = Control::Select(choices.collect());
        let [left, right] = [["equals", "0"], ["equals", "1"]];
        vec![
            self.field("equals.0", "Parameter", &left, choices, parameter),
            self.field("equals.1", "Equals", &right, Control::Text, text),
        ]
    }

    /// Names of conditions, one per line. `None` if some are functions.
    fn names(&self, function: &str, names: &[Value]) -> Option<Field> {
        let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
        let text = names?.join("\n");
        Some(Field {
            help: "Names of at least two conditions.".to_owned(),
            ..self.field(function, "Conditions", &[function], Control::Lines, &text)
        })
    }

    fn json(&self, now: &Value) -> Field {
        Field {
            help: "A boolean, a condition's name, or a function: `equals`, `not`, `and`, `or`."
                .to_owned(),
            ..self.field("value", "Condition", &[], Control::Json, &pretty(now))
        }
    }

    fn field(&self, name: &str, label: &str, keys: &[&str], control: Control, text: &str) -> Field {
        let keys = keys.iter().map(|key| (*key).to_owned());
        Field {
            name: name.to_owned(),
            path: self.path.iter().cloned().chain(keys).collect(),
            label: label.to_owned(),
            control,
            text: text.to_owned(),
            required: true,
            is_alone: false,
            help: String::new(),
            placeholder: String::new(),
            proposals: Vec::new(),
            is_mixed: false,
        }
    }
}
