//! What stands beside the template, and what stands within a resource.

use leptos::{html, prelude::*};
use topology::{compose, workflow::Origin};

use super::store::Workspace;
use crate::{
    browser,
    ui::{Icon, use_toasts},
};

/// The files beside the template: add, take away, use as environment.
#[component]
pub fn Files(workspace: Workspace) -> impl IntoView {
    let toasts = use_toasts();
    let input = NodeRef::<html::Input>::new();
    let over = RwSignal::new(false);
    let names = Memo::new(move |_| {
        workspace.bundle.with(|bundle| {
            let files = bundle.files();
            files
                .map(|(path, _)| (path.to_owned(), bundle.is_environment(path)))
                .collect::<Vec<_>>()
        })
    });
    let add = move |files: web_sys::FileList| {
        leptos::task::spawn_local(async move {
            match browser::texts(files).await {
                Ok(files) => {
                    let label = match files.len() {
                        1 => format!("Added {}", files[0].0),
                        many => format!("Added {many} files"),
                    };
                    let bundle = workspace.bundle.try_get_untracked().unwrap_or_default();
                    workspace.set_bundle(bundle.with(files), &label);
                }
                Err(name) => toasts.warn(format!("`{name}` could not be read as text.")),
            }
        });
    };
    let remove = move |path: &str| {
        let bundle = workspace.bundle.get_untracked();
        workspace.set_bundle(bundle.without(path), &format!("Removed {path}"));
    };
    let toggle = move |path: &str, on: bool| {
        let bundle = workspace.bundle.get_untracked();
        workspace.set_bundle(
            bundle.with_environment(path, on),
            &format!("Changed {path}"),
        );
    };
    view! {
        <section
            class="inspector-files" aria-label="Files" data-drop=move || over.get().then_some("true")
            on:dragover=move |event| if browser::drags_files(&event) { event.prevent_default(); over.set(true) }
            on:dragleave=move |_| over.set(false)
            on:drop=move |event| {
                over.set(false);
                if let Some(files) = browser::dropped(&event) {
                    event.prevent_default();
                    add(files);
                }
            }
        >
            <header>
                <h3>"Files"</h3>
                <button
                    type="button" class="button" data-size="small"
                    on:click=move |_| if let Some(input) = input.get_untracked() { input.set_value(""); input.click() }
                >
                    <Icon name="file-up" />"Add files"
                </button>
                <input
                    type="file" hidden multiple aria-label="Files beside the template" node_ref=input
                    on:change=move |_| if let Some(files) = input.get_untracked().and_then(|input| input.files()) { add(files) }
                />
            </header>
            {move || names.get().is_empty().then(|| view! {
                <p class="quiet">"Nested templates, environments and what get_file names: add them, or drop them here."</p>
            })}
            <ul>
                <For each=move || names.get() key=|file| file.clone() let:file>
                    <File file toggle=Callback::new(move |(path, on): (String, bool)| toggle(&path, on)) remove=Callback::new(move |path: String| remove(&path)) />
                </For>
            </ul>
        </section>
    }
}

#[component]
fn File(
    file: (String, bool),
    toggle: Callback<(String, bool)>,
    remove: Callback<String>,
) -> impl IntoView {
    let (path, is_environment) = file;
    let label = format!("Remove {path}");
    let of_toggle = path.clone();
    let of_remove = path.clone();
    view! {
        <li>
            <span class="mono truncate" title=path.clone()>{path.clone()}</span>
            <label class="meta">
                <input
                    type="checkbox" prop:checked=is_environment
                    on:change=move |event| toggle.run((of_toggle.clone(), event_target_checked(&event)))
                />
                "environment"
            </label>
            <button
                type="button" class="button" data-look="ghost" data-size="icon" aria-label=label.clone() title=label
                on:click=move |_| remove.run(of_remove.clone())
            >
                <Icon name="trash-2" />
            </button>
        </li>
    }
}

/// The members of a group or nested template, as the plan has them.
#[component]
pub fn Members(workspace: Workspace, name: StoredValue<String>) -> impl IntoView {
    let members = Memo::new(move |_| {
        let start = format!("{}/", name.get_value());
        workspace.plan.with(|plan| {
            let changes = plan.iter().flat_map(|plan| &plan.changes);
            let members = changes.filter_map(|change| {
                let member = change.resource.strip_prefix(&start)?;
                let added = change.origin != Origin::Drawn;
                Some((member.to_owned(), change.resource_type.clone(), added))
            });
            members.collect::<Vec<_>>()
        })
    });
    let is_parent = move || {
        workspace.editor.with(|editor| {
            let resource = editor.template().resource(&name.get_value());
            resource.is_some_and(|resource| compose::is_parent(&resource.resource_type))
        })
    };
    move || {
        let members = members.get();
        (!members.is_empty() || is_parent()).then(|| {
            view! {
                <section class="inspector-members" aria-label="Members">
                    <h3>{format!("Members ({})", members.iter().filter(|(_, _, added)| !added).count())}</h3>
                    <ul>
                        {members.into_iter().map(|(member, resource_type, added)| view! {
                            <li data-added=added.then_some("true")>
                                <span class="mono">{member}</span>
                                <span class="meta truncate">{resource_type}</span>
                            </li>
                        }).collect_view()}
                    </ul>
                </section>
            }
        })
    }
}
