//! Upload of catalogue items: choose or drop files, send them, display their problems.

use api::{CatalogEntry, Problem};
use leptos::{html::Input, prelude::*};
use types::catalog::role::RoleDraft;

use crate::{
    client,
    load::Load,
    session::use_session,
    ui::{
        Icon, ProblemNote,
        toast::{ToastList, use_toasts},
    },
};

/// An uploaded role without a manifest.
#[derive(Clone)]
pub struct BareRole {
    /// The archive.
    pub archive: web_sys::File,
    /// The draft of its manifest.
    pub draft: RoleDraft,
}

/// The state of an upload.
#[derive(Clone, Copy)]
pub struct Upload {
    items: Load<Vec<CatalogEntry>>,
    /// Name of the file that is being sent. `None` if there is no upload.
    sending: RwSignal<Option<String>>,
    problem: RwSignal<Option<Problem>>,
    /// A role without a manifest, which a form asks for.
    pub bare: RwSignal<Option<BareRole>, LocalStorage>,
    input: NodeRef<Input>,
    toasts: ToastList,
}

impl Upload {
    /// An idle upload for this list of items.
    pub fn new(items: Load<Vec<CatalogEntry>>) -> Upload {
        Upload {
            items,
            sending: RwSignal::new(None),
            problem: RwSignal::new(None),
            bare: RwSignal::new_local(None),
            input: NodeRef::new(),
            toasts: use_toasts(),
        }
    }

    /// Sends the files one after the other and stops at the first refused file.
    pub fn send(self, files: web_sys::FileList) {
        if self.sending.with_untracked(Option::is_some) {
            return;
        }
        self.problem.set(None);
        leptos::task::spawn_local(async move {
            for file in (0..files.length()).filter_map(|at| files.get(at)) {
                self.sending.try_set(Some(file.name()));
                match client::catalog_upload(&file, None).await {
                    Ok(CatalogEntry { item, .. }) => {
                        let text = format!("{} {} is in the catalogue", item.title, item.version);
                        self.toasts.done(text);
                        self.items.reload();
                    }
                    Err(problem) if has_no_manifest(&problem) => {
                        match client::role_draft(&file).await {
                            Ok(draft) => {
                                let role = BareRole {
                                    archive: file,
                                    draft,
                                };
                                self.bare.try_set(Some(role));
                            }
                            Err(problem) => {
                                self.problem.try_set(Some(problem));
                            }
                        }
                        break;
                    }
                    Err(problem) => {
                        self.problem.try_set(Some(problem));
                        break;
                    }
                }
            }
            self.sending.try_set(None);
        });
    }

    /// Reads the list of items again.
    pub fn reload(self) {
        self.items.reload();
    }

    fn choose(self) {
        if let Some(input) = self.input.try_get_untracked().flatten() {
            input.set_value("");
            input.click();
        }
    }

    fn chosen(self) {
        if let Some(files) = self.input.get_untracked().and_then(|input| input.files()) {
            self.send(files);
        }
    }
}

fn has_no_manifest(problem: &Problem) -> bool {
    let mut diagnostics = problem.diagnostics.iter();
    diagnostics.any(|one| one.code == "manifest-missing")
}

/// The button that opens the file chooser.
#[component]
pub fn UploadButton(
    /// The upload to start.
    upload: Upload,
) -> impl IntoView {
    let session = use_session();
    let is_off = move || !session.can_change() || upload.sending.with(Option::is_some);
    view! {
        <button type="button" class="button" data-look="primary" disabled=is_off on:click=move |_| upload.choose()>
            <Icon name="file-up" />
            "Upload an item"
        </button>
        <input
            type="file" hidden multiple accept=".gz,.tgz,application/gzip" aria-label="Catalogue item (tar.gz)" node_ref=upload.input
            on:change=move |_| upload.chosen()
        />
    }
}

/// The running upload, or the problem of a refused one.
#[component]
pub fn UploadState(
    /// The upload.
    upload: Upload,
) -> impl IntoView {
    view! {
        <div role="status">
            {move || upload.sending.get().map(|name| view! {
                <p class="upload-state">
                    <progress aria-label="Upload"></progress>
                    {format!("Uploading and checking {name}")}
                </p>
            })}
        </div>
        <ProblemNote problem=upload.problem />
    }
}
