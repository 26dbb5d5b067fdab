//! One dialog for all questions that must be answered before something is lost.

use leptos::{html::Dialog, prelude::*};

/// What is asked.
#[derive(Clone)]
pub struct Question {
    /// `Undeploy demo?`
    pub title: String,
    /// What will happen, a paragraph each.
    pub body: Vec<String>,
    /// Things that will go, listed.
    pub items: Vec<String>,
    /// The verb on the button.
    pub action: String,
    /// It takes something away.
    pub danger: bool,
}

/// Asks.
#[derive(Clone, Copy)]
pub struct Confirm {
    open: RwSignal<Option<(Question, Callback<()>)>>,
}

/// For [`crate::App`].
pub fn provide_confirm() {
    provide_context(Confirm {
        open: RwSignal::new(None),
    });
}

/// The page's dialog.
pub fn use_confirm() -> Confirm {
    expect_context()
}

impl Confirm {
    /// Ask, and call `yes` if the person agrees.
    pub fn ask(self, question: Question, yes: impl Fn() + Send + Sync + 'static) {
        self.open
            .try_set(Some((question, Callback::new(move |()| yes()))));
    }
}

/// Where it shows.
#[component]
pub fn ConfirmDialog() -> impl IntoView {
    let confirm = use_confirm();
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if confirm.open.with(Option::is_some) {
            if !dialog.open() {
                // A dialog that is shown already is what we want.
                let _ = dialog.show_modal();
            }
        } else if dialog.open() {
            dialog.close();
        }
    });
    let close = move || {
        confirm.open.try_set(None);
    };
    view! {
        <dialog class="dialog" node_ref=dialog aria-labelledby="confirm-title" on:close=move |_| close()>
            {move || {
                confirm.open.get().map(|(question, yes)| {
                    view! {
                        <form method="dialog" class="dialog-body" on:submit=move |event| event.prevent_default()>
                            <h2 id="confirm-title">{question.title}</h2>
                            {question.body.into_iter().map(|text| view! { <p>{text}</p> }).collect_view()}
                            {(!question.items.is_empty()).then(|| view! {
                                <ul class="dialog-list mono">
                                    {question.items.into_iter().map(|item| view! { <li>{item}</li> }).collect_view()}
                                </ul>
                            })}
                            <div class="dialog-actions">
                                <button type="button" class="button" on:click=move |_| close()>
                                    {if question.danger { "Keep it as it is" } else { "Cancel" }}
                                </button>
                                <button
                                    type="button" class="button" data-look=if question.danger { "danger" } else { "primary" } autofocus
                                    on:click=move |_| { close(); yes.run(()) }
                                >
                                    {question.action}
                                </button>
                            </div>
                        </form>
                    }
                })
            }}
        </dialog>
    }
}
