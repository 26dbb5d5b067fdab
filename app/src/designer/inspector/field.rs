//! One field of a form: the control for its type, its help and its problems.

use canvas::form::{self, Control, Field, Tick};
use hot::{diagnostic::Severity, document::Edit};
use leptos::{ev, prelude::*};

use super::fault::{Fault, belongs};
use crate::{
    designer::store::Workspace,
    ui::{Icon, prose},
};

/// One field of the form. It is rebuilt only when the kind of its control changes.
#[component]
pub fn FieldView(
    workspace: Workspace,
    resource: StoredValue<String>,
    fields: Memo<Vec<Field>>,
    field: Field,
) -> impl IntoView {
    let property = field.name.clone();
    let now = {
        let first = field.clone();
        Memo::new(move |_| {
            fields
                .with(|fields| fields.iter().find(|one| one.name == property).cloned())
                .unwrap_or_else(|| first.clone())
        })
    };
    let id = format!("field-{}", field.name);
    let help_id = format!("{id}-help");
    let path = StoredValue::new(field.name.clone());
    let faults = Memo::new(move |_| {
        let field = format!(
            "resources.{}.properties.{}",
            resource.get_value(),
            path.get_value()
        );
        workspace.problems.with(|problems| {
            problems
                .iter()
                .filter(|one| belongs(&one.path, &field))
                .map(|one| (one.severity, one.message.clone()))
                .collect::<Vec<_>>()
        })
    });
    let invalid = move || {
        faults
            .with(|faults| {
                faults
                    .iter()
                    .any(|(severity, _)| *severity == Severity::Error)
            })
            .then_some("true")
    };
    let unread = RwSignal::new(false);
    let set = move |text: String| {
        let field = now.get_untracked();
        let name = resource.get_value();
        match form::edit(&name, &field, &text) {
            Some(Edit::Remove { .. }) if field.text.is_empty() => {
                unread.set(false);
            }
            Some(edit) => {
                unread.set(false);
                if text != field.text {
                    let key = format!("{name}.{}", field.name);
                    workspace.edit(
                        format!("Change {} of {name}", field.label.to_lowercase()),
                        edit,
                        Some(&key),
                    );
                }
            }
            None => unread.set(true),
        }
    };
    let input = move |event: ev::Event| set(event_target_value(&event));
    let text = move || now.with(|field| field.text.clone());
    let is_checkbox = matches!(field.control, Control::Checkbox);
    let required = field.required.then_some("true");
    let faults_id = format!("{id}-faults");
    let described = if field.help.is_empty() {
        faults_id.clone()
    } else {
        format!("{faults_id} {help_id}")
    };
    let placeholder = field.placeholder.clone();
    let control = match &field.control {
        Control::Text => view! {
            <input class="input" id=id.clone() type="text" autocomplete="off" spellcheck="false" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input />
        }
        .into_any(),
        Control::Secret => view! {
            <input class="input" id=id.clone() type="password" autocomplete="new-password" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input />
        }
        .into_any(),
        Control::Number => view! {
            <input class="input mono" id=id.clone() type="text" inputmode="decimal" autocomplete="off" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input />
        }
        .into_any(),
        Control::Checkbox => view! {
            <input id=id.clone() type="checkbox" role="switch" aria-describedby=described aria-invalid=invalid
                prop:checked=move || text() == "true" on:change=move |event| set(event_target_checked(&event).to_string()) />
        }
        .into_any(),
        Control::Area => view! {
            <textarea class="input" id=id.clone() rows="4" spellcheck="false" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input></textarea>
        }
        .into_any(),
        Control::Lines => view! {
            <textarea class="input mono" id=id.clone() rows="2" spellcheck="false" placeholder="one per line"
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input></textarea>
        }
        .into_any(),
        Control::Json => view! {
            <textarea class="input mono" id=id.clone() rows="3" spellcheck="false" placeholder="JSON"
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input></textarea>
        }
        .into_any(),
        Control::Select(_) => view! { <SelectControl id=id.clone() now described set=Callback::new(set) invalid=Signal::derive(move || invalid().is_some()) /> }.into_any(),
        Control::Resources(_) => view! { <ResourcesControl workspace resource id=id.clone() now described /> }.into_any(),
    };
    view! {
        <div class="field" data-check=is_checkbox.then_some("true")>
            <label for=id data-required=required title=field.name>{field.label}</label>
            {control}
            <div class="faults" id=faults_id>
            {move || unread.get().then(|| view! { <p class="fault" data-severity="warning">"This value is invalid. The last valid one is kept."</p> })}
            {move || faults.get().into_iter().map(|(severity, message)| view! { <Fault severity message /> }).collect_view()}
            </div>
            {(!field.help.is_empty()).then(|| view! { <p class="help" id=help_id>{prose(&field.help)}</p> })}
        </div>
    }
}

#[component]
fn SelectControl(
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
                .map(|choice| (choice.key.clone(), choice.label.clone()))
                .collect(),
            _ => Vec::new(),
        })
    });
    let empty = move || {
        now.with(|field| {
            if field.placeholder.is_empty() {
                "Choose…".to_owned()
            } else {
                format!("Default: {}", field.placeholder)
            }
        })
    };
    view! {
        <select
            class="input" id=id aria-describedby=described aria-invalid=move || invalid.get().then_some("true")
            on:change=move |event| set.run(event_target_value(&event))
        >
            <option value="" selected=move || now.with(|field| field.text.is_empty())>{empty}</option>
            <For each=move || choices.get() key=|choice| choice.clone() let:choice>
                {
                    let key = choice.0.clone();
                    view! { <option value=choice.0 prop:selected=move || now.with(|field| field.text == key)>{choice.1}</option> }
                }
            </For>
        </select>
    }
}

/// Referenced resources, each with a button that removes the reference, and a select that adds a reference.
#[component]
fn ResourcesControl(
    workspace: Workspace,
    resource: StoredValue<String>,
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
    let flip = move |tick: Tick| {
        let field = now.get_untracked();
        let edit = workspace.editor.with_untracked(|editor| {
            editor
                .template()
                .resource(&resource.get_value())
                .map(|resource| form::tick(resource, &field, &tick))
        });
        if let Some(edit) = edit {
            workspace.edit(
                format!(
                    "Change {} of {}",
                    field.label.to_lowercase(),
                    resource.get_value()
                ),
                edit,
                None,
            );
        }
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
