//! The options of an item.

use hot::constraint::Constraint;
use leptos::prelude::*;
use serde_json::Value;
use types::{Property, PropertyKind};

use crate::ui::data_table;

/// The options as a table.
#[component]
pub fn Inputs(
    /// The options.
    inputs: Vec<Property>,
) -> impl IntoView {
    (!inputs.is_empty()).then(|| {
        let rows = inputs
            .into_iter()
            .map(|input| {
                let default = default_text(&input);
                view! {
                    <tr>
                        <td><code>{input.name.clone()}</code></td>
                        <td class="quiet">{kind_word(&input.kind)}</td>
                        <td><code>{default}</code></td>
                        <td>
                            {input.summary.clone()}
                            {choices(&input).map(|choices| view! { <p class="meta">{choices}</p> })}
                        </td>
                    </tr>
                }
            })
            .collect_view();
        view! {
            <section class="section" aria-label="Inputs">
                <h2>"Inputs"</h2>
                {data_table(["Name", "Type", "Default", "Meaning"], rows)}
            </section>
        }
    })
}

/// The default value, or the reason why there is none.
fn default_text(input: &Property) -> String {
    match (&input.default, input.required, input.secret) {
        (_, _, true) => String::from("secret"),
        (Some(value), _, _) => plain(value),
        (None, true, _) => String::from("required"),
        (None, false, _) => String::new(),
    }
}

/// An option in one line: its type, default, choices and meaning.
pub fn in_words(input: &Property) -> String {
    let default = default_text(input);
    let default = match (&input.default, input.secret) {
        (Some(_), false) => format!("default {default}"),
        _ => default,
    };
    let parts = [
        Some(kind_word(&input.kind).to_owned()),
        Some(default),
        choices(input),
        Some(input.summary.clone()),
    ];
    let parts = parts.into_iter().flatten();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

fn kind_word(kind: &PropertyKind) -> &'static str {
    match kind {
        PropertyKind::String => "text",
        PropertyKind::Integer => "whole number",
        PropertyKind::Number => "number",
        PropertyKind::Boolean => "true or false",
        PropertyKind::List { .. } => "list",
        PropertyKind::Map { .. } => "map",
        PropertyKind::Any => "anything",
    }
}

fn choices(input: &Property) -> Option<String> {
    input
        .constraints
        .iter()
        .find_map(|constraint| match constraint {
            Constraint::AllowedValues(values) => Some(format!(
                "One of {}.",
                values.iter().map(plain).collect::<Vec<_>>().join(", ")
            )),
            _ => None,
        })
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
