//! The right side: the form of what is selected, made from its type.
//!
//! The form is derived from the document on every change; each control reads its own field, so a
//! keystroke redraws nothing but its own text and its problems. A new value is one edit of the document.

use canvas::form::{self, Control, Field, Tick};
use leptos::{ev, prelude::*};
use serde_json::json;
use topology::{diagnostic::Severity, document::Edit, types::Category};

use super::{
    files::{Files, Members},
    nodes::TypeIcon,
    store::{Drawer, Workspace},
};
use crate::ui::Icon;

/// A form of no more fields than this is shown whole.
const FOLDED_BEYOND: usize = 8;
/// What people look for first, given or not.
const ALWAYS: [&str; 8] = [
    "image",
    "flavor",
    "networks",
    "key_name",
    "user_data",
    "cidr",
    "external_gateway_info.network",
    "floating_network",
];

/// The inspector.
#[component]
pub fn Inspector(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let lead = Memo::new(move |_| {
        workspace
            .selection
            .with(|selection| selection.lead().map(str::to_owned))
    });
    let many = Memo::new(move |_| {
        workspace
            .selection
            .with(|selection| selection.names().count())
    });
    view! {
        <aside class="inspector" aria-label="Inspector">
            {move || match (lead.get(), many.get()) {
                (_, many) if many > 1 => view! { <Several workspace many /> }.into_any(),
                (Some(name), _) => view! { <One workspace name /> }.into_any(),
                (None, _) => view! { <Nothing workspace /> }.into_any(),
            }}
        </aside>
    }
}

#[component]
fn Nothing(workspace: Workspace) -> impl IntoView {
    let name = workspace.saving.name;
    let counts = move || {
        workspace.editor.with(|editor| {
            let template = editor.template();
            let count = |prefix: &str| {
                template
                    .resources
                    .iter()
                    .filter(|resource| resource.resource_type.starts_with(prefix))
                    .count()
            };
            [
                ("Networks", count("OS::Neutron::Net")),
                ("Servers", count("OS::Nova::Server")),
                ("Software", count("Stackloom::Catalog::")),
                ("Resources in all", template.resources.len()),
            ]
        })
    };
    view! {
        <div class="inspector-body">
            <div class="field">
                <label for="design-name">"Design name"</label>
                <input
                    class="input" id="design-name" autocomplete="off" prop:value=move || name.get()
                    on:change=move |event| workspace.saving.rename(workspace, &event_target_value(&event))
                />
            </div>
            <dl class="inspector-facts">
                {move || counts().into_iter().map(|(what, count)| view! { <div><dt>{what}</dt><dd>{count}</dd></div> }).collect_view()}
            </dl>
            <Files workspace />
            <p class="quiet">"Select something on the canvas to see its form."</p>
            <ul class="inspector-tips">
                <li><kbd>"Tab"</kbd>" goes from resource to resource"</li>
                <li><kbd>"F"</kbd>" fits everything on the screen"</li>
                <li><kbd>"Ctrl"</kbd><kbd>"Z"</kbd>" takes the last change back"</li>
                <li><kbd>"?"</kbd>" lists all keys"</li>
            </ul>
        </div>
    }
}

#[component]
fn Several(workspace: Workspace, many: usize) -> impl IntoView {
    view! {
        <div class="inspector-body">
            <h2>{format!("{many} resources")}</h2>
            <div class="inspector-buttons">
                <button type="button" class="button" on:click=move |_| workspace.duplicate_selected()>
                    <Icon name="copy-plus" />"Duplicate"
                </button>
                <button type="button" class="button" data-look="danger-quiet" on:click=move |_| workspace.delete_selected()>
                    <Icon name="trash-2" />"Delete"
                </button>
            </div>
        </div>
    }
}

#[component]
fn One(workspace: Workspace, name: String) -> impl IntoView {
    let drawn = {
        let name = name.clone();
        Memo::new(move |_| {
            workspace
                .editor
                .with(|editor| editor.template().resource(&name).is_some())
        })
    };
    move || {
        if drawn.get() {
            view! { <Form workspace name=name.clone() /> }.into_any()
        } else {
            view! { <Ghost workspace name=name.clone() /> }.into_any()
        }
    }
}

/// What a pass adds cannot be edited; it says why it is there.
#[component]
fn Ghost(workspace: Workspace, name: String) -> impl IntoView {
    let found = workspace.drawing.with_untracked(|drawing| {
        let node = drawing.owner(&name)?;
        if node.name == name {
            return Some((
                node.title.clone(),
                node.resource_type.clone(),
                node.category,
                node.ghost.clone()?,
            ));
        }
        let part = node.parts.iter().find(|part| part.name == name)?;
        Some((
            part.title.clone(),
            part.resource_type.clone(),
            part.category,
            part.ghost.clone()?,
        ))
    });
    let stage = workspace.stage();
    found.map(|(title, resource_type, category, why)| {
        view! {
            <div class="inspector-body">
                <header class="inspector-head">
                    <TypeIcon resource_type=resource_type.clone() category stage />
                    <div><h2>{name}</h2><p class="meta">{title}</p></div>
                </header>
                <p><span class="pill" data-tone="derived">"Added when deployed"</span></p>
                <p>{why}</p>
                <p class="meta mono">{resource_type}</p>
            </div>
        }
    })
}

#[component]
fn Form(workspace: Workspace, name: String) -> impl IntoView {
    let name = StoredValue::new(name);
    let stage = workspace.stage();
    let fields = Memo::new(move |_| {
        let name = name.get_value();
        workspace.editor.with(|editor| {
            let template = editor.template();
            let Some(resource) = template.resource(&name) else {
                return Vec::new();
            };
            workspace.types.with(|types| {
                workspace
                    .cloud
                    .with(|cloud| form::fields(template, resource, types, cloud))
            })
        })
    });
    let (title, summary, resource_type, category) = workspace.editor.with_untracked(|editor| {
        let resource_type = editor
            .template()
            .resource(&name.get_value())
            .map(|resource| resource.resource_type.clone())
            .unwrap_or_default();
        workspace
            .types
            .with_untracked(|types| match types.get(&resource_type) {
                Some(described) => (
                    described.title.clone(),
                    described.summary.clone(),
                    resource_type,
                    described.category,
                ),
                None => (
                    "Resource".to_owned(),
                    "We do not know this type. Its properties are kept as they are.".to_owned(),
                    resource_type,
                    Category::Orchestration,
                ),
            })
    });
    // Decided once for a form: a field that is being typed in does not move.
    let is_component = resource_type.starts_with(canvas::drawing::types::CATALOG);
    let folded: StoredValue<std::collections::HashSet<String>> =
        StoredValue::new(fields.with_untracked(|fields| {
            let few = is_component || fields.len() <= FOLDED_BEYOND;
            fields
                .iter()
                .filter(|field| !few && !field.is_main() && !ALWAYS.contains(&field.name.as_str()))
                .map(|field| field.name.clone())
                .collect()
        }));
    let part = move |main: bool| -> Vec<Field> {
        fields.with(|fields| {
            fields
                .iter()
                .filter(|field| folded.with_value(|folded| folded.contains(&field.name)) != main)
                .cloned()
                .collect()
        })
    };
    let is_server = resource_type == canvas::drawing::types::SERVER;
    let rename = move |event: ev::Event| {
        let to = event_target_value(&event).trim().to_owned();
        let from = name.get_value();
        if to.is_empty() || to == from {
            return;
        }
        let edit = Edit::RenameResource {
            from: from.clone(),
            to: to.clone(),
        };
        let before = workspace.selection.get_untracked();
        workspace
            .selection
            .update(|selection| selection.rename(&from, &to));
        if !workspace.edit(format!("Rename {from} to {to}"), edit, None) {
            workspace.selection.set(before);
        }
    };
    let problems_here = Memo::new(move |_| {
        let prefix = format!("resources.{}", name.get_value());
        let on_fields: Vec<String> = fields.with(|fields| {
            fields
                .iter()
                .map(|field| format!("{prefix}.properties.{}", field.name))
                .collect()
        });
        workspace.problems.with(|problems| {
            problems
                .iter()
                .filter(|problem| {
                    belongs(&problem.path, &prefix)
                        || problem.path.starts_with(&format!("{prefix}/"))
                })
                .filter(|problem| !on_fields.iter().any(|field| belongs(&problem.path, field)))
                .map(|problem| {
                    let at = problem.file.as_ref().map(|file| match problem.line {
                        Some(line) => format!("{file}, line {line}: "),
                        None => format!("{file}: "),
                    });
                    (problem.severity, at.unwrap_or_default() + &problem.message)
                })
                .collect::<Vec<_>>()
        })
    });
    let lines = move || {
        workspace.editor.with(|editor| {
            editor
                .document()
                .lines(&["resources", &name.get_value()])
                .map(|(first, _)| first)
        })
    };
    view! {
        <form class="inspector-body" on:submit=|event| event.prevent_default() on:focusout=move |_| workspace.seal()>
            <header class="inspector-head">
                <TypeIcon resource_type=resource_type.clone() category stage />
                <div class="grow">
                    <h2 class="truncate">{name.get_value()}</h2>
                    <p class="meta mono truncate" title=summary>{resource_type}</p>
                </div>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon" title="Show in the code"
                    aria-label="Show in the code" on:click=move |_| workspace.drawer.set(Drawer::Code)
                >
                    <Icon name="code" />
                </button>
            </header>
            {move || problems_here.get().into_iter().map(|(severity, message)| view! { <Fault severity message /> }).collect_view()}
            <div class="field">
                <label for="inspector-name">"Name"</label>
                <input class="input" id="inspector-name" autocomplete="off" spellcheck="false" prop:value=name.get_value() on:change=rename />
            </div>
            {is_server.then(|| view! { <ServerMarks workspace name /> })}
            <For each=move || part(true) key=|field| (field.name.clone(), std::mem::discriminant(&field.control)) let:field>
                <FieldView workspace resource=name fields field />
            </For>
            <details class="inspector-more" hidden=move || part(false).is_empty()>
                <summary>{move || format!("More properties ({})", part(false).len())}</summary>
                <For each=move || part(false) key=|field| (field.name.clone(), std::mem::discriminant(&field.control)) let:field>
                    <FieldView workspace resource=name fields field />
                </For>
            </details>
            <Members workspace name />
            <footer class="inspector-foot">
                <span class="meta">{title}{move || lines().map(|line| format!(" · line {line}"))}</span>
                <button type="button" class="button" data-size="small" on:click=move |_| workspace.duplicate_selected()>"Duplicate"</button>
                <button type="button" class="button" data-size="small" data-look="danger-quiet" on:click=move |_| workspace.delete_selected()>
                    <Icon name="trash-2" />"Delete"
                </button>
            </footer>
        </form>
    }
}

/// A problem's path leads to this field, or into it.
fn belongs(path: &str, field: &str) -> bool {
    path == field
        || path
            .strip_prefix(field)
            .is_some_and(|rest| rest.starts_with('.'))
}

#[component]
fn Fault(severity: Severity, message: String) -> impl IntoView {
    let (word, icon) = match severity {
        Severity::Error => ("error", "circle-alert"),
        Severity::Warning => ("warning", "triangle-alert"),
        Severity::Info => ("info", "info"),
    };
    view! { <p class="fault" data-severity=word><Icon name=icon />{message}</p> }
}

/// Public and bastion.
#[component]
fn ServerMarks(workspace: Workspace, name: StoredValue<String>) -> impl IntoView {
    let marks = Memo::new(move |_| {
        workspace
            .editor
            .with(|editor| {
                editor
                    .template()
                    .resource(&name.get_value())
                    .map(|server| server.marks.clone())
            })
            .unwrap_or_default()
    });
    let set = move |mark: &'static str, on: bool| {
        let server = name.get_value();
        let path = ["resources", &server, "metadata", "stackloom", mark]
            .map(str::to_owned)
            .to_vec();
        let (label, edit) = if on {
            (
                format!("Mark {server} as {mark}"),
                Edit::Set {
                    path,
                    value: json!(true),
                },
            )
        } else {
            (
                format!("{server} is no longer {mark}"),
                Edit::Remove { path },
            )
        };
        workspace.edit(label, edit, None);
    };
    view! {
        <fieldset class="inspector-marks">
            <legend class="sr-only">"Marks"</legend>
            <label class="switch">
                <input type="checkbox" role="switch" prop:checked=move || marks.get().public on:change=move |event| set("public", event_target_checked(&event)) />
                <span>"Public"</span>
                <span class="meta">"gets an address that the world reaches"</span>
            </label>
            <label class="switch">
                <input type="checkbox" role="switch" prop:checked=move || marks.get().bastion on:change=move |event| set("bastion", event_target_checked(&event)) />
                <span>"Bastion"</span>
                <span class="meta">"others are reached through it"</span>
            </label>
        </fieldset>
    }
}

/// One line of the form. It is built anew only when the sort of its control changes.
#[component]
fn FieldView(
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
    let described = (!field.help.is_empty()).then(|| help_id.clone());
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
            <textarea class="input mono" id=id.clone() rows="2" spellcheck="false" placeholder="one a line"
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
            {move || unread.get().then(|| view! { <p class="fault" data-severity="warning">"This cannot be read yet; the last good value stands."</p> })}
            {move || faults.get().into_iter().map(|(severity, message)| view! { <Fault severity message /> }).collect_view()}
            {(!field.help.is_empty()).then(|| view! { <p class="help" id=help_id>{field.help}</p> })}
        </div>
    }
}

#[component]
fn SelectControl(
    id: String,
    now: Memo<Field>,
    described: Option<String>,
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

/// Resources that are named, each with a button to name it no longer, and a select to name one more.
#[component]
fn ResourcesControl(
    workspace: Workspace,
    resource: StoredValue<String>,
    id: String,
    now: Memo<Field>,
    described: Option<String>,
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
            <select class="input" id=id aria-describedby=described on:change=add prop:value=move || { ticks.track(); "" }>
                <option value="">{move || if others().is_empty() { "Nothing more that fits" } else { "Add…" }}</option>
                {move || others().into_iter().map(|tick| view! { <option value=tick.name.clone()>{tick.name.clone()}</option> }).collect_view()}
            </select>
        </div>
    }
}
