//! All designs of the project: open, start, import, rename, duplicate, export, delete.

use api::{DesignRequest, DesignSummary, Problem};
use leptos::{ev::SubmitEvent, html, prelude::*};
use leptos_meta::Title;
use leptos_router::hooks::use_navigate;

use crate::{
    browser, client,
    export::ExportItems,
    frame::{Crumb, use_frame},
    load::Load,
    session::use_session,
    starters::{EMPTY, STARTERS, Starter},
    time::Ago,
    ui::{
        Command, Confirm, Empty, Icon, Menu, Modal, ProblemNote, Question, StarterCard, menu,
        skeleton, toast::ToastList, use_confirm, use_palette, use_toasts,
    },
};

/// State shared by the rows and dialogs of this page.
#[derive(Clone, Copy)]
struct Page {
    designs: Load<Vec<DesignSummary>>,
    starting: RwSignal<bool>,
    renaming: RwSignal<Option<DesignSummary>>,
    rename_open: RwSignal<bool>,
    toasts: ToastList,
    confirm: Confirm,
    create: Callback<DesignRequest>,
    import: NodeRef<html::Input>,
}

/// The list of designs, or an explanation if it is empty.
#[component]
pub fn DesignsPage() -> impl IntoView {
    use_frame().crumbs(|| vec![Crumb::here("Designs")]);
    let toasts = use_toasts();
    let navigate = StoredValue::new_local(use_navigate());
    let open = Callback::new(move |id: String| {
        navigate.try_with_value(|navigate| navigate(&format!("/designs/{id}"), Default::default()));
    });
    let create = Callback::new(move |request: DesignRequest| {
        leptos::task::spawn_local(async move {
            match client::design_create(&request).await {
                Ok(design) => {
                    open.try_run(design.id);
                }
                Err(problem) => toasts.problem(&problem),
            }
        });
    });
    let over = RwSignal::new(false);
    let page = Page {
        designs: Load::new(client::designs),
        starting: RwSignal::new(false),
        renaming: RwSignal::new(None),
        rename_open: RwSignal::new(false),
        toasts,
        confirm: use_confirm(),
        create,
        import: NodeRef::new(),
    };
    let query = RwSignal::new(String::new());
    use_palette().register(vec![
        Command::new("Designs", "plus", "New design", move || {
            page.starting.try_set(true);
        })
        .keys("n"),
        Command::new("Designs", "file-up", "Open HOT files", move || {
            page.pick_file()
        }),
    ]);

    let list = page.designs.view(
        || skeleton::rows(5),
        move |designs: Vec<DesignSummary>| {
            if designs.is_empty() {
                view! { <NoDesigns page /> }.into_any()
            } else {
                view! { <DesignTable page designs query /> }.into_any()
            }
        },
    );
    view! {
        <Title text="Designs" />
        <div
            class="page" data-drop=move || over.get().then_some("true")
            on:dragover=move |event| if browser::drags_files(&event) { event.prevent_default(); over.set(true) }
            on:dragleave=move |_| over.set(false)
            on:drop=move |event| {
                over.set(false);
                if let Some(files) = browser::dropped(&event) {
                    event.prevent_default();
                    page.open_files(files);
                }
            }
        >
            <header class="page-head">
                <div>
                    <h1>"Designs"</h1>
                    <p>"Drawings of servers, networks and software."</p>
                </div>
                <ChangeActions page />
            </header>
            {list}
        </div>
        <NewDesign page />
        <RenameDesign page />
        <input
            type="file" hidden multiple aria-label="HOT files" node_ref=page.import
            on:change=move |_| page.import_picked()
        />
    }
}

impl Page {
    fn pick_file(self) {
        if let Some(input) = self.import.try_get_untracked().flatten() {
            input.set_value("");
            input.click();
        }
    }

    fn import_picked(self) {
        let input = self.import.get_untracked();
        if let Some(files) = input.and_then(|input| input.files()) {
            self.open_files(files);
        }
    }

    /// Opens selected or dropped files. Templates in other formats are converted first.
    fn open_files(self, files: web_sys::FileList) {
        let toasts = self.toasts;
        leptos::task::spawn_local(async move {
            let files = match browser::texts(files).await {
                Ok(files) => files,
                Err(name) => return toasts.warn(format!("`{name}` could not be read as text.")),
            };
            let read = match crate::import::read(files).await {
                Ok(read) => read,
                Err(problem) => return toasts.problem(&problem),
            };
            if read.notes.is_empty() {
                return self.keep(read.files);
            }
            let question = Question {
                title: String::from("Import from CloudFormation?"),
                body: vec![String::from(
                    "Some parts have no exact counterpart in OpenStack. The top of the template lists the same.",
                )],
                items: Vec::new(),
                action: String::from("Import"),
                danger: false,
            };
            let files = read.files;
            self.confirm
                .ask_with(read.notes, question, move || self.keep(files.clone()));
        });
    }

    /// Creates one design for each template that is not used by another one, with the files beside it.
    fn keep(self, files: Vec<(String, String)>) {
        let toasts = self.toasts;
        leptos::task::spawn_local(async move {
            let mut opened = match crate::opening::open(files).await {
                Ok(opened) => opened,
                Err(problem) => return toasts.problem(&problem),
            };
            // A single design is opened at once. Several are only added to the list.
            if opened.len() <= 1 {
                if let Some(request) = opened.pop() {
                    self.create.try_run(request);
                }
                return;
            }
            for request in &opened {
                if let Err(problem) = client::design_create(request).await {
                    return toasts.problem(&problem);
                }
            }
            self.designs.reload();
        });
    }

    fn start(self, starter: Starter) {
        self.starting.set(false);
        self.create.run(DesignRequest {
            name: starter.name.to_owned(),
            template: starter.template.to_owned(),
            ..DesignRequest::default()
        });
    }
}

#[component]
fn ChangeActions(page: Page) -> impl IntoView {
    let session = use_session();
    view! {
        <div class="page-actions">
            <button type="button" class="button" disabled=move || !session.can_change() on:click=move |_| page.pick_file()>
                <Icon name="file-up" />
                "Open"
            </button>
            <button
                type="button" class="button" data-look="primary" disabled=move || !session.can_change()
                on:click=move |_| page.starting.set(true)
            >
                <Icon name="plus" />
                "New design"
            </button>
        </div>
    }
}

#[component]
fn NoDesigns(page: Page) -> impl IntoView {
    view! {
        <Empty
            icon="pencil-ruler" title="Draw your first deployment"
            text="A design is a drawing of servers, networks and software. It is also a HOT template, so Heat can read it. Start from one of these, or from an empty canvas."
        />
        <div class="cards starters"><StarterCards page /></div>
    }
}

#[component]
fn StarterCards(page: Page) -> impl IntoView {
    let start = Callback::new(move |starter| page.start(starter));
    STARTERS
        .into_iter()
        .chain([EMPTY])
        .map(|starter| view! { <StarterCard starter start /> })
        .collect_view()
}

#[component]
fn NewDesign(page: Page) -> impl IntoView {
    view! {
        <Modal open=page.starting title="New design" size="large">
            <div class="cards"><StarterCards page /></div>
            <div class="dialog-actions">
                <button type="button" class="button" on:click=move |_| { page.starting.set(false); page.pick_file() }>
                    <Icon name="file-up" />
                    "Import a HOT file"
                </button>
                <button type="button" class="button" on:click=move |_| page.starting.set(false)>"Cancel"</button>
            </div>
        </Modal>
    }
}

#[component]
fn DesignTable(page: Page, designs: Vec<DesignSummary>, query: RwSignal<String>) -> impl IntoView {
    let designs = StoredValue::new(designs);
    let shown = move || {
        let query = query.get().to_lowercase();
        designs.with_value(|designs| {
            designs
                .iter()
                .filter(|design| design.name.to_lowercase().contains(&query))
                .cloned()
                .collect::<Vec<_>>()
        })
    };
    view! {
        <div class="page-tools">
            <label class="search">
                <Icon name="search" />
                <input
                    class="input" type="search" aria-label="Search designs" placeholder="Search" prop:value=move || query.get()
                    on:input=move |event| query.set(event_target_value(&event))
                />
            </label>
        </div>
        <div class="table">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Name"</th>
                        <th scope="col" class="fit">"Resources"</th>
                        <th scope="col" class="fit">"Version"</th>
                        <th scope="col" class="fit">"Updated"</th>
                        <th scope="col" class="fit">"By"</th>
                        <th scope="col" class="fit"><span class="sr-only">"Actions"</span></th>
                    </tr>
                </thead>
                <tbody>
                    <For each=shown key=|design| (design.id.clone(), design.version, design.name.clone()) let:design>
                        <DesignRow page design />
                    </For>
                </tbody>
            </table>
            {move || shown().is_empty().then(|| view! { <p class="table-none" role="status">"No design matches."</p> })}
        </div>
    }
}

#[component]
fn DesignRow(page: Page, design: DesignSummary) -> impl IntoView {
    let toasts = page.toasts;
    let confirm = use_confirm();
    let menu_id = format!("design-{}", design.id);
    let stored = StoredValue::new(design.clone());
    let close = {
        let menu_id = StoredValue::new(menu_id.clone());
        move || menu::close(&menu_id.get_value())
    };
    let with_whole = move |then: fn(Page, api::Design)| {
        close();
        let id = stored.with_value(|design| design.id.clone());
        leptos::task::spawn_local(async move {
            match client::design(&id).await {
                Ok(design) => then(page, design),
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    let export_as = move |kind| {
        close();
        let id = stored.with_value(|design| design.id.clone());
        leptos::task::spawn_local(async move {
            crate::export::save(&id, kind, toasts, confirm).await;
        });
    };
    let delete = move |_| {
        close();
        let (id, name) = stored.with_value(|design| (design.id.clone(), design.name.clone()));
        confirm.ask(
            Question {
                title: format!("Delete {name}?"),
                body: vec![String::from(
                    "The design and all its versions are deleted. Its deployments stay and can still be undeployed.",
                )],
                items: Vec::new(),
                action: String::from("Delete"),
                danger: true,
            },
            move || {
                let (id, name) = (id.clone(), name.clone());
                leptos::task::spawn_local(async move {
                    match client::design_delete(&id).await {
                        Ok(()) => toasts.done(format!("{name} is deleted.")),
                        Err(problem) => toasts.problem(&problem),
                    }
                    page.designs.reload();
                });
            },
        );
    };
    view! {
        <tr data-link>
            <td><a class="row-link" href=format!("/designs/{}", design.id)>{design.name.clone()}</a></td>
            <td class="fit quiet">{design.resources}</td>
            <td class="fit quiet">{format!("v{}", design.version)}</td>
            <td class="fit quiet"><Ago time=design.updated /></td>
            <td class="fit quiet">{design.author}</td>
            <td class="fit">
                <div class="row-actions">
                    <Menu id=menu_id label=format!("Actions for {}", design.name) button=view! { <Icon name="ellipsis" /> }.into_any()>
                        <a class="menu-item" href=format!("/designs/{}/plan", design.id)><Icon name="rocket" />"Plan and deploy"</a>
                        <button type="button" class="menu-item" on:click=move |_| { close(); page.renaming.set(Some(stored.get_value())); page.rename_open.set(true) }>
                            <Icon name="pencil" />"Rename"
                        </button>
                        <button type="button" class="menu-item" on:click=move |_| with_whole(duplicate)>
                            <Icon name="copy-plus" />"Duplicate"
                        </button>
                        <button type="button" class="menu-item" on:click=move |_| with_whole(download)>
                            <Icon name="download" />"Download the template"
                        </button>
                        <hr class="menu-rule" />
                        <ExportItems on_pick=export_as />
                        <hr class="menu-rule" />
                        <button type="button" class="menu-item" data-danger on:click=delete><Icon name="trash-2" />"Delete"</button>
                    </Menu>
                </div>
            </td>
        </tr>
    }
}

fn duplicate(page: Page, design: api::Design) {
    page.create.try_run(DesignRequest {
        name: format!("{} copy", design.name),
        template: design.template,
        beside: design.beside,
        layout: design.layout,
        base_version: None,
    });
}

fn download(_: Page, design: api::Design) {
    browser::download(
        &format!("{}.yaml", file_stem(&design.name)),
        "application/yaml",
        &design.template,
    );
}

/// A design's name as a file name: letters, digits and dashes.
pub fn file_stem(name: &str) -> String {
    let words: Vec<String> = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    if words.is_empty() {
        String::from("design")
    } else {
        words.join("-")
    }
}

#[component]
fn RenameDesign(page: Page) -> impl IntoView {
    let open = page.rename_open;
    let field = NodeRef::<html::Input>::new();
    let problem = RwSignal::new(None::<Problem>);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let Some(design) = page.renaming.get_untracked() else {
            return;
        };
        let name = field
            .get_untracked()
            .map(|field| field.value())
            .unwrap_or_default()
            .trim()
            .to_owned();
        problem.set(None);
        leptos::task::spawn_local(async move {
            match rename(&design.id, name).await {
                Ok(()) => {
                    open.try_set(false);
                    page.designs.reload();
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    view! {
        <Modal open title="Rename design">
            <form class="dialog-form" on:submit=submit>
                <div class="field">
                    <label for="design-name">"Name"</label>
                    <input
                        class="input" id="design-name" required maxlength="200" autofocus node_ref=field
                        prop:value=move || page.renaming.with(|design| design.as_ref().map(|design| design.name.clone())).unwrap_or_default()
                    />
                </div>
                <ProblemNote problem />
                <div class="dialog-actions">
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                    <button type="submit" class="button" data-look="primary">"Rename"</button>
                </div>
            </form>
        </Modal>
    }
}

async fn rename(id: &str, name: String) -> client::Answer<()> {
    let design = client::design(id).await?;
    let request = DesignRequest {
        name,
        template: design.template,
        beside: design.beside,
        layout: design.layout,
        base_version: Some(design.version),
    };
    client::design_save(id, &request, client::Page::Stays)
        .await
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::file_stem;

    #[test]
    fn file_names_are_plain() {
        assert_eq!(
            file_stem("Web server, behind a proxy"),
            "web-server-behind-a-proxy"
        );
        assert_eq!(file_stem("<b>../etc</b>"), "b-etc-b");
        assert_eq!(file_stem("日本"), "design");
    }
}
