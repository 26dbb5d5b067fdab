//! A form from a template's parameters.

use std::collections::BTreeMap;

use leptos::prelude::*;
use serde_json::{Number, Value};
use topology::{
    bundle::Bundle, document::Document, environment::Merged, template::Parameter, types::Constraint,
};

/// The parameters and what was typed for them.
#[derive(Clone, Copy)]
pub struct Form {
    parameters: RwSignal<Vec<Parameter>>,
    typed: RwSignal<BTreeMap<String, String>>,
}

impl Form {
    /// Without parameters.
    pub fn new() -> Form {
        Form {
            parameters: RwSignal::new(Vec::new()),
            typed: RwSignal::new(BTreeMap::new()),
        }
    }

    /// Take the parameters of a template. What an environment says is as a default here.
    pub fn read(self, template: &str, bundle: &Bundle) {
        let document = Document::parse(template);
        let template = document.template();
        let said = Merged::of(bundle, template).parameters(template, &BTreeMap::new());
        let parameters = template.parameters.iter().cloned().map(|mut parameter| {
            if let Some(value) = said.get(&parameter.name) {
                parameter.default = Some(value.clone());
            }
            parameter
        });
        self.parameters.set(parameters.collect());
    }

    /// What was typed, as values; what was not is left to the defaults. Tracks.
    pub fn values(self) -> BTreeMap<String, Value> {
        self.parameters
            .with(|parameters| self.typed.with(|typed| values(parameters, typed)))
    }

    /// The same, untracked.
    pub fn values_untracked(self) -> BTreeMap<String, Value> {
        untrack(|| self.values())
    }
}

fn values(parameters: &[Parameter], typed: &BTreeMap<String, String>) -> BTreeMap<String, Value> {
    parameters
        .iter()
        .filter_map(|parameter| {
            let text = typed.get(&parameter.name)?;
            (!text.is_empty()).then(|| (parameter.name.clone(), value(&parameter.kind, text)))
        })
        .collect()
}

/// What does not fit its type goes as text: the server's complaint is better than ours.
fn value(kind: &str, text: &str) -> Value {
    let text_value = || Value::String(text.to_owned());
    match kind {
        "number" => {
            let whole = text.trim().parse::<i64>().ok().map(Number::from);
            whole
                .or_else(|| Number::from_f64(text.trim().parse().ok()?))
                .map_or_else(text_value, Value::Number)
        }
        "boolean" => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => text_value(),
        },
        "json" => serde_json::from_str(text).unwrap_or_else(|_| text_value()),
        _ => text_value(),
    }
}

/// The form; nothing where there are no parameters.
#[component]
pub fn Parameters(
    /// Which.
    form: Form,
) -> impl IntoView {
    move || {
        let parameters = form.parameters.get();
        (!parameters.is_empty()).then(|| {
            view! {
                <fieldset class="parameters">
                    <legend>"Parameters"</legend>
                    {parameters.into_iter().map(|parameter| view! { <Field form parameter /> }).collect_view()}
                </fieldset>
            }
        })
    }
}

#[component]
fn Field(form: Form, parameter: Parameter) -> impl IntoView {
    let id = format!("parameter-{}", parameter.name);
    let name = StoredValue::new(parameter.name.clone());
    let typed = move || {
        form.typed
            .with(|typed| name.with_value(|name| typed.get(name).cloned()))
            .unwrap_or_default()
    };
    let set = move |text: String| {
        form.typed.update(|typed| {
            typed.insert(name.get_value(), text);
        });
    };
    let label = parameter
        .label
        .clone()
        .unwrap_or_else(|| parameter.name.clone());
    let default = parameter.default.as_ref().map(plain);
    let required = default.is_none();
    let allowed = parameter
        .constraints
        .iter()
        .find_map(|rule| match &rule.constraint {
            Constraint::AllowedValues(values) => Some(values.iter().map(plain).collect::<Vec<_>>()),
            _ => None,
        });
    let choices = allowed.or_else(|| {
        (parameter.kind == "boolean").then(|| vec![String::from("true"), String::from("false")])
    });
    // A hidden default stays hidden.
    let shown_default = if parameter.hidden {
        default.map(|_| String::from("as the template says"))
    } else {
        default
    };
    let control = match choices {
        Some(choices) => view! {
            <select class="input" id=id.clone() required=required prop:value=typed on:change=move |event| set(event_target_value(&event))>
                <option value="">{shown_default.map_or_else(|| String::from("Choose"), |default| format!("Default: {default}"))}</option>
                {choices.into_iter().map(|choice| view! { <option value=choice.clone()>{choice.clone()}</option> }).collect_view()}
            </select>
        }
        .into_any(),
        None => view! {
            <input
                class="input" id=id.clone() type=if parameter.hidden { "password" } else { "text" } required=required
                autocomplete=if parameter.hidden { "new-password" } else { "off" } spellcheck="false"
                inputmode=(parameter.kind == "number").then_some("decimal")
                placeholder=shown_default prop:value=typed on:input=move |event| set(event_target_value(&event))
            />
        }
        .into_any(),
    };
    view! {
        <div class="field">
            <label for=id>{label}</label>
            {control}
            {parameter.description.map(|text| view! { <p class="help">{text}</p> })}
        </div>
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::value;

    #[test]
    fn typed_text_becomes_a_value_of_the_parameters_type() {
        assert_eq!(value("number", "80"), json!(80));
        assert_eq!(value("number", " 1.5 "), json!(1.5));
        assert_eq!(value("number", "many"), json!("many"));
        assert_eq!(value("boolean", "true"), json!(true));
        assert_eq!(value("json", r#"{"a": 1}"#), json!({"a": 1}));
        assert_eq!(value("comma_delimited_list", "a,b"), json!("a,b"));
        assert_eq!(value("string", "80"), json!("80"));
    }
}
