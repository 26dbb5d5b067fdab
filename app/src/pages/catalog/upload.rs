//! Publishing of catalogue items from archives and repositories: send them, display their problems.

use api::{CatalogEntry, ItemDraft, Problem};
use leptos::{html::Input, prelude::*};
use types::catalog::role::RoleDraft;

use crate::{
    client::{self, ItemSource},
    load::Load,
    pages::item_test::ItemTest,
    session::use_session,
    ui::{
        Icon, ProblemNote,
        toast::{ToastList, use_toasts},
    },
};

/// A role without a manifest.
#[derive(Clone)]
pub struct BareRole {
    /// The place of its files.
    pub source: ItemSource,
    /// The draft of its manifest.
    pub draft: RoleDraft,
}

/// The state of an upload.
#[derive(Clone, Copy)]
pub struct Upload {
    items: Load<Vec<CatalogEntry>>,
    drafts: Load<Vec<ItemDraft>>,
    /// Name of the file or repository that is being published. `None` if there is no upload.
    sending: RwSignal<Option<String>>,
    problem: RwSignal<Option<Problem>>,
    /// A role without a manifest, which a form asks for.
    pub bare: RwSignal<Option<BareRole>, LocalStorage>,
    /// The test of an archive that is not published.
    pub test: ItemTest,
    input: NodeRef<Input>,
    draft_input: NodeRef<Input>,
    toasts: ToastList,
}

impl Upload {
    /// An idle upload for these lists of items and drafts.
    pub fn new(items: Load<Vec<CatalogEntry>>, drafts: Load<Vec<ItemDraft>>) -> Upload {
        Upload {
            items,
            drafts,
            sending: RwSignal::new(None),
            problem: RwSignal::new(None),
            bare: RwSignal::new_local(None),
            test: ItemTest::default(),
            input: NodeRef::new(),
            draft_input: NodeRef::new(),
            toasts: use_toasts(),
        }
    }

    /// Sends the files one after the other and stops at the first refused file.
    pub fn send(self, files: web_sys::FileList) {
        let files = (0..files.length()).filter_map(|at| files.get(at));
        self.publish(files.map(ItemSource::File).collect());
    }

    /// Publishes the items one after the other and stops at the first refused one.
    pub fn publish(self, sources: Vec<ItemSource>) {
        if self.sending.with_untracked(Option::is_some) {
            return;
        }
        self.problem.set(None);
        leptos::task::spawn_local(async move {
            for source in sources {
                self.sending.try_set(Some(source.name()));
                if let Err(problem) = self.publish_one(source).await {
                    self.problem.try_set(Some(problem));
                    break;
                }
            }
            self.sending.try_set(None);
        });
    }

    async fn publish_one(self, source: ItemSource) -> client::Answer<()> {
        match client::item_publish(&source, None).await {
            Ok(CatalogEntry { item, .. }) => {
                let text = format!("{} {} is in the catalogue", item.title, item.version);
                self.toasts.done(text);
                self.reload();
                Ok(())
            }
            Err(problem) if has_no_manifest(&problem) => self.describe(source).await,
            Err(problem) => Err(problem),
        }
    }

    /// Opens the form for the manifest of a role that has none.
    async fn describe(self, source: ItemSource) -> client::Answer<()> {
        let draft = client::role_draft(&source).await?;
        self.bare.try_set(Some(BareRole { source, draft }));
        Ok(())
    }

    /// Stores a draft of an item, and opens the dialog of its test.
    pub fn try_out(self, source: ItemSource) {
        if self.test.is_busy.get_untracked() {
            return;
        }
        self.problem.set(None);
        leptos::task::spawn_local(async move {
            let stored = self.test.start(client::item_draft(&source, None)).await;
            let shown = match stored {
                Err(problem) if has_no_manifest(&problem) => self.describe(source).await,
                stored => {
                    self.drafts.reload();
                    stored
                }
            };
            if let Err(problem) = shown {
                self.problem.try_set(Some(problem));
            }
        });
    }

    /// True while something is published.
    pub fn is_busy(self) -> bool {
        self.sending.with(Option::is_some)
    }

    /// Reads the lists again. An item that is published replaces drafts.
    pub fn reload(self) {
        self.items.reload();
        self.drafts.reload();
    }

    fn chosen_draft(self) {
        let input = self.draft_input.get_untracked();
        let file = input.and_then(|input| input.files()?.get(0));
        if let Some(file) = file {
            self.try_out(ItemSource::File(file));
        }
    }

    fn chosen(self) {
        if let Some(files) = self.input.get_untracked().and_then(|input| input.files()) {
            self.send(files);
        }
    }
}

fn choose(input: NodeRef<Input>) {
    if let Some(input) = input.try_get_untracked().flatten() {
        input.set_value("");
        input.click();
    }
}

fn has_no_manifest(problem: &Problem) -> bool {
    let mut diagnostics = problem.diagnostics.iter();
    diagnostics.any(|one| one.code == "manifest-missing")
}

/// The buttons that open the file chooser: to test an archive as a draft, and to publish one.
#[component]
pub fn UploadButton(
    /// The upload to start.
    upload: Upload,
) -> impl IntoView {
    let session = use_session();
    let is_off = move || !session.can_change() || upload.is_busy();
    let is_testing = move || !session.can_change() || upload.test.is_busy.get();
    view! {
        <button type="button" class="button" disabled=is_testing on:click=move |_| choose(upload.draft_input)>
            <Icon name="rocket" />
            "Test a draft"
        </button>
        <input
            type="file" hidden accept=".gz,.tgz,.zip,application/gzip,application/zip" aria-label="Draft of an item (tar.gz or zip)" node_ref=upload.draft_input
            on:change=move |_| upload.chosen_draft()
        />
        <button type="button" class="button" data-look="primary" disabled=is_off on:click=move |_| choose(upload.input)>
            <Icon name="file-up" />
            "Upload an item"
        </button>
        <input
            type="file" hidden multiple accept=".gz,.tgz,.zip,application/gzip,application/zip" aria-label="Catalogue item (tar.gz or zip)" node_ref=upload.input
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
                    {format!("Reading and checking {name}")}
                </p>
            })}
        </div>
        <ProblemNote problem=upload.problem />
    }
}
