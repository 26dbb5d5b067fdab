//! The form that makes a catalogue item without writing Ansible: packages, files, a service, ports and options.

mod code;
mod fields;
pub mod form;
mod preview;
pub mod sections;

use api::{CatalogEntry, Problem};
use leptos::{ev::SubmitEvent, prelude::*};
use leptos_meta::Title;
use leptos_router::hooks::{use_navigate, use_query_map};
use types::catalog::recipe::Recipe;

use self::{
    form::{Form, Kind},
    preview::Preview,
    sections::{About, Files, Options, Ports, Software},
};
use crate::{
    browser, client,
    frame::{Crumb, use_frame},
    load::Load,
    pages::{
        catalog_item::lint::{Lint, LintFindings},
        item_test::{ItemTest, TestDialog},
    },
    session::use_session,
    ui::{Icon, ProblemNote, Question, skeleton, use_confirm, use_toasts},
};

/// The page of `/items/new`.
#[component]
pub fn NewItemPage() -> impl IntoView {
    let query = use_query_map();
    let next_of = Memo::new(move |_| query.with(|query| query.get("next")));
    use_frame().crumbs(move || {
        let here = Crumb::here(match next_of.get() {
            Some(name) => format!("Next version of {name}"),
            None => "Make an item".to_owned(),
        });
        vec![Crumb::link("Catalogue", "/catalog"), here]
    });
    let start = Load::new(move || {
        let next_of = next_of.get();
        async move {
            match next_of {
                Some(name) => client::recipe(&name).await.map(Recipe::next),
                None => Ok(Recipe::new()),
            }
        }
    });
    let body = start.view(
        || skeleton::rows(8),
        move |recipe| {
            let kind = match next_of.get_untracked() {
                Some(_) => Kind::Next,
                None => Kind::New,
            };
            let form = Form::continued(kind, recipe);
            view! { <Editor form /> }
        },
    );
    view! {
        <Title text="Make an item" />
        <div class="page">{body}</div>
    }
}

#[component]
fn Editor(form: Form) -> impl IntoView {
    let navigate = StoredValue::new_local(use_navigate());
    let (session, confirm, toasts) = (use_session(), use_confirm(), use_toasts());
    let problem = RwSignal::new(None::<Problem>);
    let is_busy = RwSignal::new(false);
    let lint = Lint::default();
    let check = move |_| {
        if let Some(recipe) = form.finished() {
            lint.run(async move { client::recipe_lint(&recipe).await });
        }
    };
    let test = ItemTest::default();
    let try_out = move |_| {
        if let Some(recipe) = form.finished() {
            test.begin(async move { client::recipe_draft(&recipe).await });
        }
    };
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
        leptos::task::spawn_local(async move {
            let published = client::recipe_publish(&recipe).await;
            is_busy.try_set(false);
            match published {
                Ok(CatalogEntry { item, .. }) => {
                    form.forget_draft();
                    toasts.done(format!(
                        "{} {} is in the catalogue",
                        item.title, item.version
                    ));
                    let place = format!("/catalog/{}", browser::encode(&item.name));
                    navigate.try_with_value(|navigate| navigate(&place, Default::default()));
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    let start_over = move |_| {
        let question = Question {
            title: "Start over?".to_owned(),
            body: vec!["What you typed here is lost.".to_owned()],
            items: Vec::new(),
            action: "Start over".to_owned(),
            danger: true,
        };
        confirm.ask(question, move || {
            problem.set(None);
            form.start_over();
        });
    };
    let title = match form.kind {
        Kind::Next => "Next version",
        _ => "Make an item",
    };
    view! {
        <form on:submit=publish novalidate=true>
            <header class="page-head">
                <div>
                    <h1>{title}</h1>
                    <p>"Packages, files, a service and ports become an Ansible role that everybody in the project can drop on a server."</p>
                </div>
                <div class="page-actions">
                    {move || form.is_changed().then(|| view! {
                        <button type="button" class="button" on:click=start_over>
                            <Icon name="undo-2" />
                            "Start over"
                        </button>
                    })}
                    <button type="button" class="button" disabled=move || lint.is_busy.get() || !session.can_change() on:click=check>
                        <Icon name="wrench" />
                        "Check"
                    </button>
                    <button type="button" class="button" disabled=move || test.is_busy.get() || !session.can_change() on:click=try_out>
                        <Icon name="rocket" />
                        "Test"
                    </button>
                    <button type="submit" class="button" data-look="primary" disabled=move || is_busy.get() || !session.can_change()>
                        <Icon name="file-up" />
                        "Publish"
                    </button>
                </div>
            </header>
            <ProblemNote problem />
            <LintFindings lint />
            <div class="item-form">
                <div class="item-parts">
                    <About form />
                    <Software form />
                    <Files form />
                    <Ports form />
                    <Options form />
                </div>
                <Preview form />
            </div>
        </form>
        <TestDialog test />
    }
}
