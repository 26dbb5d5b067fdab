//! The drafts of the project: versions of items that are in no catalogue.

use api::ItemDraft;
use leptos::prelude::*;

use crate::{
    client, links,
    load::{Load, Loaded},
    session::use_session,
    time::Ago,
    ui::{ACTIONS, Question, data_table, skeleton, use_confirm, use_toasts},
};

/// The drafts as a table. Nothing if there are none.
#[component]
pub fn Drafts(
    /// The drafts.
    drafts: Load<Vec<ItemDraft>>,
) -> impl IntoView {
    let (toasts, confirm) = (use_toasts(), use_confirm());
    let delete = Callback::new(move |draft: ItemDraft| {
        let question = Question {
            title: format!("Delete the draft of {}?", draft.name),
            body: vec![format!(
                "{} stored version {}.",
                draft.author, draft.version
            )],
            items: Vec::new(),
            action: String::from("Delete"),
            danger: true,
        };
        confirm.ask(question, move || {
            let ItemDraft { name, version, .. } = draft.clone();
            leptos::task::spawn_local(async move {
                match client::item_draft_delete(&name, &version).await {
                    Ok(()) => toasts.done(format!("The draft of {name} is deleted.")),
                    Err(problem) => toasts.problem(&problem),
                }
                drafts.reload();
            });
        });
    });
    let is_shown = Memo::new(move |_| match drafts.state() {
        Loaded::Loading => false,
        Loaded::Ready(drafts) => !drafts.is_empty(),
        Loaded::Failed(_) => true,
    });
    let table = move |drafts: Vec<ItemDraft>| {
        let rows = drafts.into_iter();
        let rows = rows.map(|draft| view! { <DraftRow draft delete /> });
        data_table(
            ["Item", "Version", "Stored", "Author", ACTIONS],
            rows.collect_view(),
        )
    };
    move || {
        is_shown.get().then(|| {
            view! {
                <section class="section" aria-label="Drafts">
                    <h2>"Drafts"</h2>
                    <p class="quiet">"Stored for tests, and in no design. A draft that no deployment uses is replaced by its author's next one."</p>
                    {drafts.view(|| skeleton::rows(1), table)}
                </section>
            }
        })
    }
}

#[component]
fn DraftRow(draft: ItemDraft, delete: Callback<ItemDraft>) -> impl IntoView {
    let session = use_session();
    let href = links::item(&draft.name, Some(&draft.version));
    let label = format!("Delete the draft {} of {}", draft.version, draft.name);
    let own = draft.clone();
    view! {
        <tr>
            <td><a class="link" href=href>{draft.name}</a></td>
            <td>{draft.version}</td>
            <td class="fit quiet"><Ago time=draft.time /></td>
            <td class="fit quiet">{draft.author}</td>
            <td class="fit">
                <button
                    type="button" class="button" data-size="small" aria-label=label disabled=move || !session.can_change()
                    on:click=move |_| delete.run(own.clone())
                >
                    "Delete"
                </button>
            </td>
        </tr>
    }
}
