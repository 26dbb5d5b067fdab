//! An item from a git repository, for a test or to be published: the button, and its dialog.

use api::Repository;
use leptos::{ev::SubmitEvent, prelude::*};

use super::upload::Upload;
use crate::{
    client::{self, ItemSource},
    load::Load,
    session::use_session,
    ui::{Icon, Modal},
};

/// The button that opens the dialog. Absent if the server reads no repositories.
#[component]
pub fn RepositoryButton(
    /// The upload to start.
    upload: Upload,
) -> impl IntoView {
    let session = use_session();
    let hosts = Load::new(client::git_hosts);
    let open = RwSignal::new(false);
    let known = move || hosts.get().unwrap_or_default();
    move || {
        let hosts = known();
        (!hosts.is_empty()).then(|| {
            let hosts = hosts.join(", ");
            view! {
                <button type="button" class="button" disabled=move || !session.can_change() || upload.is_busy() on:click=move |_| open.set(true)>
                    <Icon name="git-branch" />
                    "From git"
                </button>
                <Modal open title="Item from a git repository">
                    <RepositoryForm hosts=hosts.clone() open upload />
                </Modal>
            }
        })
    }
}

#[component]
fn RepositoryForm(hosts: String, open: RwSignal<bool>, upload: Upload) -> impl IntoView {
    let (url, reference, folder) = (
        RwSignal::new(String::new()),
        RwSignal::new(String::new()),
        RwSignal::new(String::new()),
    );
    let chosen = move || {
        let given = |text: RwSignal<String>| {
            let text = text.get_untracked().trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let repository = Repository {
            url: given(url)?,
            reference: given(reference),
            folder: given(folder),
        };
        open.set(false);
        Some(ItemSource::Repository(repository))
    };
    let publish = move |event: SubmitEvent| {
        event.prevent_default();
        if let Some(source) = chosen() {
            upload.publish(vec![source]);
        }
    };
    let try_out = move |_| {
        if let Some(source) = chosen() {
            upload.try_out(source);
        }
    };
    let has_no_url = move || url.with(|url| url.trim().is_empty());
    let field = |id: &'static str,
                 label: &'static str,
                 example: &'static str,
                 text: RwSignal<String>| {
        view! {
            <div class="field">
                <label for=id>{label}</label>
                <input
                    class="input" id=id autocomplete="off" spellcheck="false" placeholder=example prop:value=move || text.get()
                    on:input=move |event| text.set(event_target_value(&event))
                />
            </div>
        }
    };
    view! {
        <form class="dialog-form" on:submit=publish>
            {field("repository-url", "Repository", "https://git.example.org/team/items", url)}
            {field("repository-reference", "Branch, tag or commit", "the default branch", reference)}
            {field("repository-folder", "Folder", "the repository itself", folder)}
            <p class="quiet">{format!("Public repositories of {hosts}. Submodules are not read.")}</p>
            <div class="dialog-actions">
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="button" class="button" disabled=move || has_no_url() || upload.test.is_busy.get() on:click=try_out>
                    <Icon name="rocket" />
                    "Test"
                </button>
                <button type="submit" class="button" data-look="primary" disabled=has_no_url>
                    <Icon name="file-up" />
                    "Publish"
                </button>
            </div>
        </form>
    }
}
