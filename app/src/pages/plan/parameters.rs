//! A form generated from a template's parameters.

use std::collections::{BTreeMap, BTreeSet};

use hot::{
    bundle::Bundle, constraint::Constraint, document::Document, merged::Merged,
    parameter::Parameter, template::ParameterGroup,
};
use leptos::prelude::*;
use serde_json::{Number, Value};

use super::{
    sharing::{Sharing, sharing},
    values::plain,
};
use crate::{links::SharedParameters, ui::prose};

/// Parameters and entered values.
#[derive(Clone, Copy)]
pub struct Form {
    parameters: RwSignal<Vec<Parameter>>,
    /// Parameters set by an environment, with the environment's file. An entered value would have no effect.
    set_by: RwSignal<BTreeMap<String, String>>,
    groups: RwSignal<Vec<ParameterGroup>>,
    typed: RwSignal<BTreeMap<String, String>>,
    /// Values that the fields had at first. They are sent as they are, also if they are empty.
    preset: RwSignal<BTreeMap<String, Value>>,
    /// Parameters that the address omitted when the page was opened.
    omitted: RwSignal<BTreeSet<String>>,
}

impl Form {
    /// A form without parameters.
    pub fn new() -> Form {
        Form {
            parameters: RwSignal::new(Vec::new()),
            set_by: RwSignal::new(BTreeMap::new()),
            groups: RwSignal::new(Vec::new()),
            typed: RwSignal::new(BTreeMap::new()),
            preset: RwSignal::new(BTreeMap::new()),
            omitted: RwSignal::new(BTreeSet::new()),
        }
    }

    /// Fills the fields with the values of an earlier run. Parameters without a value get their default, so that no later
    /// value of the deployment stays. Hidden ones stay empty, which keeps their present values.
    pub fn preset(self, mut earlier: BTreeMap<String, Value>) {
        let preset: BTreeMap<String, Value> = self.parameters.with_untracked(|parameters| {
            let open = parameters.iter().filter(|parameter| !parameter.hidden);
            open.filter_map(|parameter| {
                let value = earlier
                    .remove(&parameter.name)
                    .or(parameter.default.clone())?;
                Some((parameter.name.clone(), value))
            })
            .collect()
        });
        let texts = preset
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)));
        self.typed.set(texts.collect());
        self.preset.set(preset);
    }

    /// Sets the parameters to those of a template. Values of environments are displayed as defaults.
    pub fn read(self, template: &str, bundle: &Bundle) {
        let document = Document::parse(template);
        let template = document.template();
        let merged = Merged::of(bundle, template);
        let defaults = merged.parameters(template, &BTreeMap::new());
        let set_by = template.parameters.iter().filter_map(|parameter| {
            let file = merged.overridden_by(&parameter.name)?;
            Some((parameter.name.clone(), file.to_owned()))
        });
        self.set_by.set(set_by.collect());
        let parameters = template.parameters.iter().cloned().map(|mut parameter| {
            if let Some(value) = defaults.get(&parameter.name) {
                parameter.default = Some(value.clone());
            }
            parameter
        });
        self.groups.set(template.parameter_groups.clone());
        self.parameters.set(parameters.collect());
    }

    /// Fills fields with the texts of an address. Fields of hidden and of omitted parameters stay as they are.
    pub fn fill(self, shared: SharedParameters) {
        let SharedParameters {
            mut values,
            omitted,
        } = shared;
        self.parameters.with_untracked(|parameters| {
            values.retain(|(name, _)| {
                let mut found = parameters.iter();
                found.any(|parameter| parameter.name == *name && !parameter.hidden)
            });
        });
        if !values.is_empty() {
            self.typed.update(|typed| typed.extend(values));
        }
        self.omitted.set(omitted.into_iter().collect());
    }

    /// Entered parameters for the page's address. Does not track.
    pub fn shared(self) -> SharedParameters {
        let mut shared = SharedParameters::default();
        for (name, sharing) in untrack(|| self.sharing()) {
            match sharing {
                Sharing::Text(text) => shared.values.push((name, text)),
                Sharing::Hidden | Sharing::TooLong | Sharing::Missing => shared.omitted.push(name),
            }
        }
        shared
    }

    /// Entered and missing values with their place in the page's address, by the parameter's name. Tracks.
    pub fn sharing(self) -> Vec<(String, Sharing)> {
        self.parameters.with(|parameters| {
            let is_open = |parameter: &&Parameter| self.set_by(&parameter.name).is_none();
            let open = parameters.iter().filter(is_open);
            self.typed.with(|typed| {
                self.preset.with(|preset| {
                    let omitted = |omitted: &_| sharing(open, typed, preset, omitted);
                    self.omitted.with(omitted)
                })
            })
        })
    }

    /// True if a parameter is hidden. Tracks.
    pub fn has_hidden(self) -> bool {
        self.parameters
            .with(|parameters| parameters.iter().any(|parameter| parameter.hidden))
    }

    /// Entered values. Empty fields are left out, so that defaults apply. Tracks.
    pub fn values(self) -> BTreeMap<String, Value> {
        self.parameters.with(|parameters| {
            let preset = |preset: &_| self.typed.with(|typed| values(parameters, typed, preset));
            self.preset.with(preset)
        })
    }

    /// Environment that sets a parameter. Does not track, because a change of parameters rebuilds the fields.
    fn set_by(self, parameter: &str) -> Option<String> {
        self.set_by
            .with_untracked(|set_by| set_by.get(parameter).cloned())
    }

    /// Like [`values`](Self::values), without tracking.
    pub fn values_untracked(self) -> BTreeMap<String, Value> {
        untrack(|| self.values())
    }
}

fn values(
    parameters: &[Parameter],
    typed: &BTreeMap<String, String>,
    preset: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    parameters
        .iter()
        .filter_map(|parameter| {
            let text = typed.get(&parameter.name)?;
            if let Some(value) = preset
                .get(&parameter.name)
                .filter(|value| plain(value) == *text)
            {
                return Some((parameter.name.clone(), value.clone()));
            }
            (!text.is_empty()).then(|| (parameter.name.clone(), value(&parameter.kind, text)))
        })
        .collect()
}

/// Text of a field as a value of its type. Invalid text is sent as a string, because the server's error message is
/// better.
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

/// The form, or nothing if there are no parameters.
#[component]
pub fn Parameters(
    /// The parameters.
    form: Form,
) -> impl IntoView {
    move || {
        let groups = grouped(form.parameters.get(), &form.groups.get_untracked());
        groups
            .into_iter()
            .map(|(label, about, parameters)| view! {
                <fieldset class="parameters">
                    <legend>{label}</legend>
                    {about.map(|about| view! { <p class="help">{prose(&about)}</p> })}
                    {parameters.into_iter().map(|parameter| view! { <Field form parameter /> }).collect_view()}
                </fieldset>
            })
            .collect_view()
    }
}

type Group = (String, Option<String>, Vec<Parameter>);

/// Parameters by the template's groups. Ungrouped parameters come last, and empty groups are left out.
fn grouped(mut parameters: Vec<Parameter>, groups: &[ParameterGroup]) -> Vec<Group> {
    let mut all: Vec<Group> = groups
        .iter()
        .map(|group| {
            let own = group.parameters.iter().filter_map(|name| {
                let at = parameters.iter().position(|one| one.name == *name)?;
                Some(parameters.remove(at))
            });
            let own = own.collect();
            let label = group.label.clone();
            (
                label.unwrap_or_else(|| "Parameters".to_owned()),
                group.description.clone(),
                own,
            )
        })
        .collect();
    let rest = if all.is_empty() {
        "Parameters"
    } else {
        "Other parameters"
    };
    all.push((rest.to_owned(), None, parameters));
    all.retain(|(_, _, parameters)| !parameters.is_empty());
    all
}

/// Constraints of a parameter, as text.
fn rules(parameter: &Parameter) -> Vec<String> {
    let rules = parameter.constraints.iter().filter_map(|rule| {
        if let Some(defaults) = &rule.description {
            return Some(defaults.clone());
        }
        let between = |min: Option<String>, max: Option<String>, of: &str| match (min, max) {
            (Some(min), Some(max)) => Some(format!("From {min} to {max}{of}.")),
            (Some(min), None) => Some(format!("At least {min}{of}.")),
            (None, Some(max)) => Some(format!("At most {max}{of}.")),
            (None, None) => None,
        };
        match &rule.constraint {
            Constraint::Range { min, max } => between(
                min.map(|min| min.to_string()),
                max.map(|max| max.to_string()),
                "",
            ),
            Constraint::Length { min, max } => {
                let of = match parameter.kind.as_str() {
                    "string" => " characters",
                    _ => " entries",
                };
                between(
                    min.map(|min| min.to_string()),
                    max.map(|max| max.to_string()),
                    of,
                )
            }
            Constraint::AllowedPattern(pattern) => Some(format!("Of the form {pattern}.")),
            _ => None,
        }
    });
    rules.collect()
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
    let set_by = form.set_by(&parameter.name);
    let is_set = set_by.is_some();
    // The default of a hidden parameter is not displayed.
    let shown_default = match (default, parameter.hidden) {
        (Some(_), true) if is_set => Some(String::from("set in the environment")),
        (Some(_), true) => Some(String::from("set in the template")),
        (default, _) => default,
    };
    let rules = rules(&parameter);
    let control = match choices {
        Some(choices) => view! {
            <select class="input" id=id.clone() required=required disabled=is_set prop:value=typed on:change=move |event| set(event_target_value(&event))>
                <option value="">{match shown_default {
                    None => String::from("Choose"),
                    Some(value) if is_set => value,
                    Some(default) => format!("Default: {default}"),
                }}</option>
                {choices.into_iter().map(|choice| view! { <option value=choice.clone()>{choice.clone()}</option> }).collect_view()}
            </select>
        }
        .into_any(),
        None => view! {
            <input
                class="input" id=id.clone() type=if parameter.hidden { "password" } else { "text" } required=required disabled=is_set
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
            {set_by.map(|file| view! { <p class="help">"Set by the environment " <code>{file}</code> ". Change it there."</p> })}
            {parameter.description.map(|text| view! { <p class="help">{prose(&text)}</p> })}
            {rules.into_iter().map(|rule| view! { <p class="help">{rule}</p> }).collect_view()}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use hot::document::Document;

    use super::{grouped, rules, value, values};

    #[test]
    fn parameters_are_shown_in_the_templates_groups() {
        let document = Document::parse(
            "heat_template_version: 2021-04-16\nparameter_groups: [{label: Size, parameters: [n, m]}, {parameters: [gone]}]\n\
             parameters:\n  a: {type: string, constraints: [{length: {max: 8}}]}\n  m: {type: number, constraints: [{range: {min: 1, max: 5}}]}\n  n: {type: number}\n",
        );
        let template = document.template();
        let groups = grouped(template.parameters.clone(), &template.parameter_groups);
        let shown: Vec<(&str, Vec<&str>)> = groups
            .iter()
            .map(|(label, _, own)| {
                (
                    label.as_str(),
                    own.iter().map(|one| one.name.as_str()).collect(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [("Size", vec!["n", "m"]), ("Other parameters", vec!["a"])]
        );
        assert_eq!(rules(&groups[0].2[1]), ["From 1 to 5."]);
        assert_eq!(rules(&groups[1].2[0]), ["At most 8 characters."]);
    }

    #[test]
    fn values_of_an_earlier_run_are_sent_as_they_were_unless_edited() {
        let document = Document::parse(
            "heat_template_version: 2021-04-16\nparameters:\n  a: {type: string}\n  b: {type: json}\n  c: {type: number}\n",
        );
        let preset = serde_json::from_value(json!({"a": "", "b": {"k": [1]}, "c": 2})).unwrap();
        let typed = serde_json::from_value(json!({"a": "", "b": "{\"k\":[1]}", "c": "3"})).unwrap();
        let sent = values(&document.template().parameters, &typed, &preset);
        assert_eq!(json!(sent), json!({"a": "", "b": {"k": [1]}, "c": 3}));
    }

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
