//! Controls with a list: a select of choices, and references to resources.

use canvas::form::{self, Control, Field, Tick};
use leptos::{ev, prelude::*};

use super::context::{FormContext, MIXED};
use crate::ui::{
    Icon,
    picker::{Pick, Picker},
};

/// A select with the current value.
#[component]
pub(super) fn SelectControl(
    id: String,
    now: Memo<Field>,
    described: String,
    set: Callback<String>,
    invalid: Signal<bool>,
) -> impl IntoView {
    let choices = Memo::new(move |_| {
        now.with(|field| match &field.control {
            Control::Select(choices) => choices
                .iter()
                .map(|choice| (choice.key.clone(), words(choice)))
                .collect(),
            _ => Vec::new(),
        })
    });
    let empty = move || {
        now.with(|field| {
            if field.is_mixed {
                MIXED.to_owned()
            } else if field.placeholder.is_empty() {
                "Choose…".to_owned()
            } else {
                format!("Default: {}", field.placeholder)
            }
        })
    };
    // A long list, and one whose entries have facts, can be searched.
    let is_searched = now.with_untracked(|field| match &field.control {
        Control::Select(choices) => {
            choices.len() > 8 || choices.iter().any(|choice| !choice.facts.is_empty())
        }
        _ => false,
    });
    let picks = move || {
        now.with_untracked(|field| match &field.control {
            Control::Select(choices) => choices
                .iter()
                .map(|choice| Pick {
                    group: "",
                    icon: "",
                    label: choice.label.clone(),
                    facts: choice.facts.clone(),
                })
                .collect(),
            _ => Vec::new(),
        })
    };
    let pick = move |index: usize| {
        let keys = choices.get_untracked();
        if let Some((key, _)) = keys.into_iter().nth(index) {
            set.run(key);
        }
    };
    let search = is_searched.then(|| {
        let label = now.with_untracked(|field| field.label.to_lowercase());
        view! {
            <Picker
                id=format!("{id}-search") label=format!("Search {label}") class="button search-button"
                button=view! { <Icon name="search" /> }.into_any() picks=Callback::new(move |()| picks()) run=Callback::new(pick)
            />
        }
    });
    view! {
        <div class="choose">
        <select
            class="input" id=id aria-describedby=described aria-invalid=move || invalid.get().then_some("true")
            on:change=move |event| set.run(event_target_value(&event))
        >
            // A required value is replaced and not removed.
            <option value="" disabled=move || now.with(|field| field.required && !field.text.is_empty()) selected=move || now.with(|field| field.text.is_empty())>{empty}</option>
            <For each=move || choices.get() key=|choice| choice.clone() let:choice>
                {
                    let key = choice.0.clone();
                    view! { <option value=choice.0 prop:selected=move || now.with(|field| field.text == key)>{choice.1}</option> }
                }
            </For>
        </select>
        {search}
        </div>
    }
}

/// Referenced resources, each with a button that removes the reference, and a select that adds a reference.
#[component]
pub(super) fn ResourcesControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
) -> impl IntoView {
    let ticks = Memo::new(move |_| {
        now.with(|field| match &field.control {
            Control::Resources(ticks) => ticks.clone(),
            _ => Vec::new(),
        })
    });
    let workspace = form.workspace;
    let flip = move |tick: Tick| {
        let field = now.get_untracked();
        let edit = workspace
            .editor
            .with_untracked(|editor| form::tick(editor.document(), &field, &tick));
        form.apply(&field, edit);
    };
    let named = move || {
        let mut named: Vec<Tick> = ticks
            .get()
            .into_iter()
            .filter(|tick| tick.at.is_some())
            .collect();
        named.sort_by_key(|tick| tick.at);
        named
    };
    let others = move || {
        ticks
            .get()
            .into_iter()
            .filter(|tick| tick.at.is_none())
            .collect::<Vec<_>>()
    };
    let add = move |event: ev::Event| {
        let name = event_target_value(&event);
        if let Some(tick) = others().into_iter().find(|tick| tick.name == name) {
            flip(tick);
        }
    };
    let first = move || match (others().is_empty(), named().is_empty()) {
        (false, _) => "Add…",
        (true, true) => "Nothing to add yet",
        (true, false) => "All added",
    };
    view! {
        <div class="named">
            {move || {
                let named = named();
                (!named.is_empty()).then(|| view! {
                    <ul class="named-list">
                        {named.into_iter().map(|tick| {
                            let name = tick.name.clone();
                            let select = tick.name.clone();
                            view! {
                                <li>
                                    <button type="button" class="named-name" on:click=move |_| workspace.select(&select)>{name.clone()}</button>
                                    <button type="button" class="button" data-look="ghost" data-size="icon-small" aria-label=format!("Remove {name}") on:click=move |_| flip(tick.clone())>
                                        <Icon name="x" />
                                    </button>
                                </li>
                            }
                        }).collect_view()}
                    </ul>
                })
            }}
            <select class="input" id=id aria-describedby=described disabled=move || others().is_empty() on:change=add prop:value=move || { ticks.track(); "" }>
                <option value="">{first}</option>
                {move || others().into_iter().map(|tick| view! { <option value=tick.name.clone()>{tick.name.clone()}</option> }).collect_view()}
            </select>
        </div>
    }
}

/// Label of a choice with its facts.
fn words(choice: &form::Choice) -> String {
    if choice.facts.is_empty() {
        choice.label.clone()
    } else {
        format!("{} · {}", choice.label, choice.facts)
    }
}
