//! Rollback of a deployment, for several pages.

use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use crate::{
    client,
    session::use_session,
    ui::{Icon, Question, use_confirm, use_toasts},
};

/// Button that starts the rollback after a confirmation and opens its page.
#[component]
pub fn RollBackButton(
    /// Id of the deployment. `None` if it is not loaded yet.
    #[prop(into)]
    deployment: Signal<Option<String>>,
) -> impl IntoView {
    let session = use_session();
    let confirm = use_confirm();
    let toasts = use_toasts();
    let navigate = StoredValue::new_local(use_navigate());
    let ask = move |_| {
        let Some(id) = deployment.get_untracked() else {
            return;
        };
        let question = Question {
            title: String::from("Roll back?"),
            body: vec![String::from(
                "What was changed is led back to the template that was deployed last without a failure. What that \
                 had and is still there is taken back; what the change made is removed.",
            )],
            items: Vec::new(),
            action: String::from("Roll back"),
            danger: true,
        };
        confirm.ask(question, move || {
            let id = id.clone();
            leptos::task::spawn_local(async move {
                match client::roll_back(&id).await {
                    Ok(started) => {
                        navigate.try_with_value(|navigate| {
                            navigate(&format!("/runs/{}", started.run), Default::default())
                        });
                    }
                    Err(problem) => toasts.problem(&problem),
                }
            });
        });
    };
    view! {
        <button
            type="button" class="button" on:click=ask
            disabled=move || !session.can_change() || deployment.with(Option::is_none)
        >
            <Icon name="undo-2" />
            "Roll back"
        </button>
    }
}
