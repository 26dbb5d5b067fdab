//! The files beside the template: view, add, rename, remove, use as environment.

use leptos::{html, prelude::*};

use super::{
    file_editor::{FileEditor, Opened},
    store::Workspace,
};
use crate::{
    browser,
    ui::{Icon, use_toasts},
};

/// The list of files, with the dialog of the open file.
#[component]
pub fn Files(workspace: Workspace) -> impl IntoView {
    let toasts = use_toasts();
    let opened = Opened::new();
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
    let remove = move |path: String| {
        let bundle = workspace.bundle.get_untracked();
        workspace.set_bundle(bundle.without(&path), &format!("Removed {path}"));
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
                <button type="button" class="button" data-size="small" on:click=move |_| opened.start(workspace)>
                    <Icon name="plus" />"New file"
                </button>
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
                <p class="quiet">"Nested templates, environments and files for get_file. Add them, or drop them here."</p>
            })}
            <ul>
                <For each=move || names.get() key=|file| file.clone() let:file>
                    <File
                        file opened
                        toggle=Callback::new(move |(path, on): (String, bool)| toggle(&path, on))
                        remove=Callback::new(remove)
                    />
                </For>
            </ul>
        </section>
        <FileEditor workspace opened />
    }
}

#[component]
fn File(
    file: (String, bool),
    opened: Opened,
    toggle: Callback<(String, bool)>,
    remove: Callback<String>,
) -> impl IntoView {
    let (path, is_environment) = file;
    let label = format!("Remove {path}");
    let of_toggle = path.clone();
    let of_remove = path.clone();
    let of_open = path.clone();
    view! {
        <li>
            <button
                type="button" class="link mono truncate" title=format!("Open {path}") on:click=move |_| opened.open(&of_open)
            >
                {path.clone()}
            </button>
            <label class="meta">
                <input
                    type="checkbox" prop:checked=is_environment aria-label=format!("{path} is an environment")
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
