//! The form of one resource: its name, its fields, its problems.

use canvas::form::{self, Control, Field};
use hot::{diagnostic::Diagnostic, document::Edit};
use leptos::{ev, prelude::*};
use types::Category;

use super::{
    context::FormContext,
    fault::{FaultWithFixes, belongs},
    field::{FieldView, field_view},
    field_list::FieldList,
    fold::Fold,
    marks::ServerMarks,
    members::Members,
    name::NameField,
};
use crate::{
    designer::{
        store::{Drawer, Workspace},
        type_icon::TypeIcon,
    },
    operations::resource::ResourceOperations,
    ui::Icon,
};

/// Maximum number of fields of a form that is completely visible at first. Longer forms start collapsed.
const FOLDED_BEYOND: usize = 8;
/// Fields that are always visible, because users need them most.
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

/// The fields of a resource, or none if it is gone.
pub(super) fn fields_of(workspace: Workspace, name: StoredValue<String>) -> Memo<Vec<Field>> {
    Memo::new(move |_| {
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
    })
}

/// The form of a drawn resource.
#[component]
pub fn Form(workspace: Workspace, name: String) -> impl IntoView {
    let form = FormContext::of_resource(workspace, &name, field_view);
    let name = form.title;
    let stage = workspace.stage();
    let fields = fields_of(workspace, name);
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
                    "This type is unknown. Its properties stay unchanged.".to_owned(),
                    resource_type,
                    Category::Orchestration,
                ),
            })
    });
    let is_component = resource_type.starts_with(types::CATALOG);
    let below = fields.with_untracked(|fields| {
        let few = is_component || fields.len() <= FOLDED_BEYOND;
        fields
            .iter()
            .filter(|field| !few && !field.is_main() && !ALWAYS.contains(&field.name.as_str()))
            .map(|field| field.name.clone())
            .collect()
    });
    let is_server = resource_type == types::SERVER;
    let presets: Vec<String> = workspace.types.with_untracked(|types| {
        let described = types.get(&resource_type).into_iter();
        let presets = described.flat_map(|described| &described.presets);
        presets.map(|(label, _)| label.clone()).collect()
    });
    let rename = {
        let check = move |to: &str| {
            let edit = Edit::RenameResource {
                from: name.get_value(),
                to: to.to_owned(),
            };
            workspace.refusal_of(&edit)
        };
        let run = move |to: String| {
            let from = name.get_value();
            let before = workspace.selection.get_untracked();
            workspace
                .selection
                .update(|selection| selection.rename(&from, &to));
            let label = format!("Rename {from} to {to}");
            if !workspace.edit(label, Edit::RenameResource { from, to }, None) {
                workspace.selection.set(before);
            }
        };
        move || view! { <NameField id="inspector-name" name=name.get_value() check=Callback::new(move |to: String| check(&to)) rename=Callback::new(run) /> }
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
                    Diagnostic {
                        message: at.unwrap_or_default() + &problem.message,
                        ..problem.clone()
                    }
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
            {move || workspace.deployed.get().map(|operations| view! { <ResourceOperations operations name=name.get_value() /> })}
            {move || problems_here.get().into_iter().map(|problem| view! { <FaultWithFixes workspace problem /> }).collect_view()}
            {rename()}
            {is_server.then(|| view! { <ServerMarks workspace name /> })}
            <Presets workspace name labels=presets />
            <FieldList form fields below />
            <Beside workspace name />
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

/// The values beside the properties: condition, order, deletion policy. They are folded, with a summary of those set.
#[component]
fn Beside(workspace: Workspace, name: StoredValue<String>) -> impl IntoView {
    let fields = Memo::new(move |_| {
        let name = name.get_value();
        workspace.editor.with(|editor| {
            workspace.types.with(|types| {
                workspace
                    .cloud
                    .with(|cloud| form::fields_beside(editor.document(), &name, types, cloud))
            })
        })
    });
    let context = FormContext::of_entry(
        workspace,
        name.get_value(),
        format!("resources.{}", name.get_value()),
        field_view,
    );
    let fold = Fold::new(Memo::new(move |_| {
        let path = format!("resources.{}.depends_on", name.get_value());
        workspace.asked.with(|asked| asked.as_ref() == Some(&path))
    }));
    let facts = move || {
        let facts: Vec<String> = fields.with(|fields| fields.iter().filter_map(fact).collect());
        facts.join(" · ")
    };
    view! {
        <details class="inspector-more" open=fold.is_open on:toggle=move |event| fold.toggled(&event)>
            <summary>"More "<span class="meta">{facts}</span></summary>
            {move || fold.is_built.get().then(|| view! {
                <For each=move || fields.get() key=|field| (field.name.clone(), std::mem::discriminant(&field.control)) let:field>
                    <FieldView form=context fields field />
                </For>
            })}
        </details>
    }
}

/// A value beside the properties in a few words. `None` if it is not set.
fn fact(field: &Field) -> Option<String> {
    match &field.control {
        Control::Resources(ticks) => {
            let count = ticks.iter().filter(|tick| tick.at.is_some()).count();
            (count > 0).then(|| format!("depends on {count}"))
        }
        _ if field.text.is_empty() => None,
        _ => Some(format!("{}: {}", field.label.to_lowercase(), field.text)),
    }
}

/// A select with the presets of the type, which set several properties at once.
#[component]
fn Presets(workspace: Workspace, name: StoredValue<String>, labels: Vec<String>) -> impl IntoView {
    let chosen = move |event: ev::Event| {
        let label = event_target_value(&event);
        let proposal = workspace.editor.with_untracked(|editor| {
            workspace.types.with_untracked(|types| {
                let resource = editor.template().resource(&name.get_value())?;
                let described = types.get(&resource.resource_type)?;
                form::apply_preset(resource, described, &label)
            })
        });
        if let Some(proposal) = proposal {
            workspace.apply(&proposal);
        }
        // The select shows its first option again.
        event_target::<web_sys::HtmlSelectElement>(&event).set_value("");
    };
    (!labels.is_empty()).then(|| {
        view! {
            <div class="field">
                <label for="inspector-preset">"Preset"</label>
                <select class="input" id="inspector-preset" on:change=chosen>
                    <option value="">"Choose values…"</option>
                    {labels.into_iter().map(|label| view! { <option value=label.clone()>{label.clone()}</option> }).collect_view()}
                </select>
            </div>
        }
    })
}
