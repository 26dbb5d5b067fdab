//! The manifest of an uploaded role that has none: a form, filled from what the role says of itself.

use api::{CatalogEntry, Problem};
use leptos::{ev::SubmitEvent, prelude::*};
use types::catalog::{CatalogItem, recipe::Recipe};

use super::upload::{BareRole, Upload};
use crate::{
    client,
    pages::{
        item_preview::ItemPreview,
        new_item::{
            form::{Form, Kind},
            sections::{About, Ports},
        },
    },
    ui::{Icon, Modal, ProblemNote, use_toasts},
};

/// The dialog, open while the upload has such a role.
#[component]
pub fn DescribeRole(
    /// The upload.
    upload: Upload,
) -> impl IntoView {
    let open = RwSignal::new(false);
    Effect::new(move |_| open.set(upload.bare.with(Option::is_some)));
    view! {
        <Modal open title="Describe the role" size="large">
            {upload.bare.get_untracked().map(|role| view! { <Describe role open upload /> })}
        </Modal>
    }
}

#[component]
fn Describe(role: BareRole, open: RwSignal<bool>, upload: Upload) -> impl IntoView {
    let toasts = use_toasts();
    let BareRole { source, draft } = role;
    let form = if draft.recipe.name.is_empty() {
        // The values that were typed for another role without a name must not appear here.
        Form::new(Kind::Role, draft.recipe)
    } else {
        Form::continued(Kind::Role, draft.recipe)
    };
    let specs = draft.specs;
    let item = Memo::new(move |_| {
        let manifest = form.recipe.with(Recipe::manifest);
        CatalogItem::parse(&manifest, &specs).ok()
    });
    let source = StoredValue::new_local(source);
    let problem = RwSignal::new(None::<Problem>);
    let is_busy = RwSignal::new(false);
    let publish = move |event: SubmitEvent| {
        event.prevent_default();
        if is_busy.get_untracked() {
            return;
        }
        let Some(recipe) = form.finished() else {
            return;
        };
        is_busy.set(true);
        problem.set(None);
        let source = source.get_value();
        leptos::task::spawn_local(async move {
            let published = client::item_publish(&source, Some(&recipe.manifest())).await;
            is_busy.try_set(false);
            match published {
                Ok(CatalogEntry { item, .. }) => {
                    form.forget_draft();
                    open.try_set(false);
                    toasts.done(format!(
                        "{} {} is in the catalogue",
                        item.title, item.version
                    ));
                    upload.reload();
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    let try_out = move |_| {
        if is_busy.get_untracked() {
            return;
        }
        let Some(recipe) = form.finished() else {
            return;
        };
        is_busy.set(true);
        problem.set(None);
        let source = source.get_value();
        leptos::task::spawn_local(async move {
            let manifest = recipe.manifest();
            let call = client::item_draft(&source, Some(&manifest));
            let stored = upload.test.start(call).await;
            is_busy.try_set(false);
            match stored {
                Ok(()) => {
                    open.try_set(false);
                    upload.reload();
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    let notes = draft.notes.into_iter();
    let notes = notes.map(|note| view! { <li><Icon name="info" /><span>{note}</span></li> });
    view! {
        <form class="dialog-form" on:submit=publish novalidate=true>
            <p class="quiet">"It is an Ansible role without a manifest. Fill in the manifest here."</p>
            <ul class="role-notes">{notes.collect_view()}</ul>
            <About form />
            <Ports form />
            <section class="item-preview" aria-label="Preview">
                <h3>"Preview"</h3>
                <ItemPreview item />
            </section>
            <ProblemNote problem />
            <div class="dialog-actions">
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="button" class="button" disabled=move || is_busy.get() || upload.test.is_busy.get() on:click=try_out>
                    <Icon name="rocket" />
                    "Test"
                </button>
                <button type="submit" class="button" data-look="primary" disabled=move || is_busy.get()>
                    <Icon name="file-up" />
                    "Publish"
                </button>
            </div>
        </form>
    }
}
