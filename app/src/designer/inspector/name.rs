//! The name of a resource, parameter, condition or output.

use leptos::{ev, html, prelude::*};

use crate::ui::{Icon, prose};

/// Text field for a name. The name changes when the field loses the focus. An invalid name is reported at once, and
/// Escape restores the present name.
#[component]
pub(super) fn NameField(
    #[prop(into)] id: String,
    name: String,
    /// The reason why a name is not possible.
    check: Callback<String, Option<String>>,
    rename: Callback<String>,
) -> impl IntoView {
    let input = NodeRef::<html::Input>::new();
    let refused = RwSignal::new(None::<String>);
    let now = StoredValue::new(name.clone());
    let problem = move |to: &str| {
        if now.with_value(|now| now == to) {
            None
        } else if to.is_empty() {
            Some("a name is needed".to_owned())
        } else {
            check.run(to.to_owned())
        }
    };
    let typed = move |event: ev::Event| refused.set(problem(event_target_value(&event).trim()));
    let changed = move |event: ev::Event| {
        let to = event_target_value(&event).trim().to_owned();
        refused.set(problem(&to));
        if refused.with_untracked(Option::is_none) && now.with_value(|now| *now != to) {
            rename.run(to);
        }
    };
    let key = move |event: ev::KeyboardEvent| {
        if event.key() == "Escape"
            && let Some(input) = input.get_untracked()
        {
            input.set_value(&now.get_value());
            refused.set(None);
            event.stop_propagation();
        }
    };
    let fault = format!("{id}-faults");
    view! {
        <div class="field">
            <label for=id.clone()>"Name"</label>
            <input
                class="input" id=id autocomplete="off" spellcheck="false" prop:value=name node_ref=input aria-describedby=fault.clone()
                aria-invalid=move || refused.with(Option::is_some).then_some("true")
                on:input=typed on:change=changed on:keydown=key
            />
            <div class="faults" id=fault aria-live="polite">
                {move || refused.get().map(|reason| view! {
                    <p class="fault"><Icon name="circle-alert" /><span>{prose(&capitalized(&reason))}{" Escape restores the name."}</span></p>
                })}
            </div>
        </div>
    }
}

/// A reason as a sentence.
fn capitalized(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!(
        "{}{}.",
        first.unwrap_or_default(),
        letters.as_str().trim_end_matches('.')
    )
}
