//! Parameters, conditions and outputs of the template: lists whose entries open as forms.

use canvas::form;
use hot::document::{Edit, Section};
use leptos::prelude::*;

use super::{
    context::FormContext,
    fault::{Fault, belongs},
    field::{FieldView, field_view},
    fold::Fold,
    name::NameField,
};
use crate::{
    designer::store::Workspace,
    ui::{Icon, Question, use_confirm},
};

/// The three lists.
#[component]
pub(super) fn Sections(workspace: Workspace) -> impl IntoView {
    view! {
        <SectionView workspace section=Section::Parameters title="Parameters" one="a parameter" />
        <SectionView workspace section=Section::Conditions title="Conditions" one="a condition" />
        <SectionView workspace section=Section::Outputs title="Outputs" one="an output" />
    }
}

#[component]
fn SectionView(
    workspace: Workspace,
    section: Section,
    title: &'static str,
    one: &'static str,
) -> impl IntoView {
    let names = Memo::new(move |_| {
        workspace
            .editor
            .with(|editor| form::names(editor.template(), section))
    });
    let add = move |_| {
        if workspace.is_broken() {
            return;
        }
        let (name, proposal) = workspace
            .editor
            .with_untracked(|editor| form::add_entry(editor.template(), section));
        if workspace.apply(&proposal) {
            workspace.show_entry(section, &name);
        }
    };
    view! {
        <section class="inspector-files" aria-label=title>
            <header>
                <h3>{title}</h3>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon-small" title=format!("Add {one}")
                    aria-label=format!("Add {one}") on:click=add
                >
                    <Icon name="plus" />
                </button>
            </header>
            <ol class="row-list">
                <For each=move || names.get() key=|name| name.clone() let:name>
                    <EntryView workspace section name />
                </For>
            </ol>
        </section>
    }
}

/// One entry: its name and a few facts, and its form when it is open.
#[component]
fn EntryView(workspace: Workspace, section: Section, name: String) -> impl IntoView {
    let path = format!("{}.{name}", section.key());
    let facts = {
        let name = name.clone();
        Memo::new(move |_| {
            workspace
                .editor
                .with(|editor| facts(editor.template(), section, &name))
        })
    };
    let is_asked = {
        let (path, below) = (path.clone(), format!("{path}."));
        Memo::new(move |_| {
            workspace.asked.with(|asked| {
                let asked = asked.as_deref();
                asked.is_some_and(|asked| asked == path || asked.starts_with(&below))
            })
        })
    };
    let fold = Fold::new(is_asked);
    let built = StoredValue::new(name.clone());
    view! {
        <li>
            <details open=fold.is_open on:toggle=move |event| fold.toggled(&event)>
                <summary id=path>
                    <Icon name="chevron-right" />
                    <span class="mono truncate">{name}</span>
                    <span class="meta truncate">{facts}</span>
                </summary>
                {move || fold.is_built.get().then(|| view! { <EntryForm workspace section name=built.get_value() /> })}
            </details>
        </li>
    }
}

/// Facts about an entry in a few words.
fn facts(template: &hot::template::Template, section: Section, name: &str) -> String {
    match section {
        Section::Parameters => {
            let mut parameters = template.parameters.iter();
            let Some(parameter) = parameters.find(|one| one.name == name) else {
                return String::new();
            };
            match &parameter.default {
                _ if parameter.hidden => "secret".to_owned(),
                Some(default) => hot::parameter::as_string(default),
                None => parameter.kind.replace('_', " "),
            }
        }
        Section::Conditions => template
            .condition(name)
            .map(|condition| condition.value.to_json().to_string())
            .unwrap_or_default(),
        Section::Outputs => {
            let mut outputs = template.outputs.iter();
            let output = outputs.find(|one| one.name == name);
            output
                .and_then(|output| output.description.clone())
                .unwrap_or_default()
        }
    }
}

#[component]
fn EntryForm(workspace: Workspace, section: Section, name: String) -> AnyView {
    let path = format!("{}.{name}", section.key());
    let form = FormContext::of_entry(workspace, name.clone(), path.clone(), field_view);
    let fields = {
        let name = name.clone();
        Memo::new(move |_| {
            workspace.editor.with(|editor| {
                workspace.types.with(|types| {
                    workspace.cloud.with(|cloud| {
                        form::entry_fields(editor.shown(), section, &name, types, cloud)
                    })
                })
            })
        })
    };
    let rename_of = move |to: String| Edit::RenameEntry {
        section,
        from: form.title.get_value(),
        to,
    };
    let rename = move |to: String| {
        let from = form.title.get_value();
        if workspace.edit(
            format!("Rename {from} to {to}"),
            rename_of(to.clone()),
            None,
        ) {
            workspace.show_entry(section, &to);
        }
    };
    let faults = {
        let path = path.clone();
        Memo::new(move |_| {
            let on_fields: Vec<String> = fields.with(|fields| {
                let fields = fields.iter();
                fields.map(|field| form.path_of(&field.name)).collect()
            });
            workspace.problems.with(|problems| {
                problems
                    .iter()
                    .filter(|problem| belongs(&problem.path, &path))
                    .filter(|problem| !on_fields.iter().any(|field| belongs(&problem.path, field)))
                    .map(|problem| (problem.severity, problem.message.clone()))
                    .collect::<Vec<_>>()
            })
        })
    };
    let confirm = use_confirm();
    let remove = move |_| {
        let name = form.title.get_value();
        let removal = workspace
            .editor
            .with_untracked(|editor| form::remove_entry(editor.shown(), section, &name));
        let uses = removal.replaced.len() + removal.dangling.len();
        let proposal = removal.proposal;
        if uses == 0 {
            workspace.apply(&proposal);
            return;
        }
        let replaced = removal.replaced.iter();
        let replaced = replaced.map(|path| format!("{path} takes its default"));
        let dangling = removal.dangling.iter();
        let dangling = dangling.map(|path| format!("{path} must be corrected"));
        let question = Question {
            title: format!("Delete {name}?"),
            body: vec![format!(
                "It is used in {uses} {}:",
                if uses == 1 { "place" } else { "places" }
            )],
            items: replaced.chain(dangling).collect(),
            action: "Delete".to_owned(),
            danger: true,
        };
        confirm.ask(question, move || {
            workspace.apply(&proposal);
        });
    };
    view! {
        <div class="row-cells" on:focusout=move |_| workspace.seal()>
            {move || faults.get().into_iter().map(|(severity, message)| view! { <Fault severity message /> }).collect_view()}
            <NameField
                id=format!("{path}.name") name check=Callback::new(move |to: String| workspace.refusal_of(&rename_of(to)))
                rename=Callback::new(rename)
            />
            <For each=move || fields.get() key=|field| (field.name.clone(), std::mem::discriminant(&field.control)) let:field>
                <FieldView form fields field />
            </For>
            <div class="inspector-buttons">
                <button type="button" class="button" data-size="small" data-look="danger-quiet" on:click=remove>
                    <Icon name="trash-2" />"Delete"
                </button>
            </div>
        </div>
    }
    .into_any()
}
