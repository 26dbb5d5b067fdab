//! The server's marks beside its properties: public and bastion.

use hot::document::Edit;
use leptos::prelude::*;
use serde_json::json;

use crate::designer::store::Workspace;

/// The controls for the marks public and bastion.
#[component]
pub fn ServerMarks(workspace: Workspace, name: StoredValue<String>) -> impl IntoView {
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
                <span class="meta">"gets a floating IP"</span>
            </label>
            <label class="switch">
                <input type="checkbox" role="switch" prop:checked=move || marks.get().bastion on:change=move |event| set("bastion", event_target_checked(&event)) />
                <span>"Bastion"</span>
                <span class="meta">"gives SSH access to the others"</span>
            </label>
        </fieldset>
    }
}
