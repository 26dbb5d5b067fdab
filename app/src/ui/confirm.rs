//! Confirmation dialog for destructive and other important actions.

use api::{ExportNote, ExportNoteKind};
use leptos::{html::Dialog, prelude::*};

use super::prose;

/// A question to the user.
#[derive(Clone)]
pub struct Question {
    /// The title, such as `Undeploy demo?`.
    pub title: String,
    /// Consequences, one paragraph each.
    pub body: Vec<String>,
    /// Names of the affected objects, as a list.
    pub items: Vec<String>,
    /// Verb on the button.
    pub action: String,
    /// True if the action is destructive. The focus is on the other button then.
    pub danger: bool,
}

/// Open question.
#[derive(Clone)]
struct OpenQuestion {
    question: Question,
    /// Notes to read first, each about one path in the template.
    notes: Vec<ExportNote>,
    yes: Callback<()>,
}

/// Opens the confirmation dialog.
#[derive(Clone, Copy)]
pub struct Confirm {
    open: RwSignal<Option<OpenQuestion>>,
}

/// Provides the dialog, for [`crate::App`].
pub fn provide_confirm() {
    provide_context(Confirm {
        open: RwSignal::new(None),
    });
}

/// Dialog of this page.
pub fn use_confirm() -> Confirm {
    expect_context()
}

impl Confirm {
    /// Displays a question, and calls `yes` if the user agrees.
    pub fn ask(self, question: Question, yes: impl Fn() + Send + Sync + 'static) {
        self.ask_with(Vec::new(), question, yes);
    }

    /// Like [`ask`](Self::ask), with notes to read first.
    pub fn ask_with(
        self,
        notes: Vec<ExportNote>,
        question: Question,
        yes: impl Fn() + Send + Sync + 'static,
    ) {
        self.open.try_set(Some(OpenQuestion {
            question,
            notes,
            yes: Callback::new(move |()| yes()),
        }));
    }

    /// Closes the dialog without an answer.
    pub fn close(self) {
        self.open.try_set(None);
    }
}

/// The dialog element.
#[component]
pub fn ConfirmDialog() -> impl IntoView {
    let confirm = use_confirm();
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if confirm.open.with(Option::is_some) {
            if !dialog.open() {
                // Opening an open dialog has no effect.
                let _ = dialog.show_modal();
            }
        } else if dialog.open() {
            dialog.close();
        }
    });
    let close = move || confirm.close();
    view! {
        <dialog
            class="dialog" node_ref=dialog aria-labelledby="confirm-title" on:close=move |_| close()
            data-size=move || confirm.open.with(|open| open.as_ref().is_some_and(|open| !open.notes.is_empty())).then_some("large")
        >
            {move || {
                confirm.open.get().map(|OpenQuestion { question, notes, yes }| {
                    view! {
                        <form method="dialog" class="dialog-body" on:submit=move |event| event.prevent_default()>
                            <h2 id="confirm-title">{question.title}</h2>
                            {question.body.into_iter().map(|text| view! { <p>{prose(&text)}</p> }).collect_view()}
                            {(!question.items.is_empty()).then(|| view! {
                                <ul class="dialog-list mono">
                                    {question.items.into_iter().map(|item| view! { <li>{item}</li> }).collect_view()}
                                </ul>
                            })}
                            {(!notes.is_empty()).then(|| view! {
                                <ul class="dialog-notes">
                                    {notes.into_iter().map(|note| view! { <Note note /> }).collect_view()}
                                </ul>
                            })}
                            <div class="dialog-actions">
                                <button type="button" class="button" autofocus=question.danger on:click=move |_| close()>
                                    {if question.danger { "Keep it as it is" } else { "Cancel" }}
                                </button>
                                <button
                                    type="button" class="button" data-look=if question.danger { "danger" } else { "primary" } autofocus=!question.danger
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

#[component]
fn Note(note: ExportNote) -> impl IntoView {
    view! {
        <li>
            <span class="pill">{kind(note.kind)}</span>
            <div>
                {(!note.path.is_empty()).then(|| view! { <p class="mono">{place(&note.path).to_owned()}</p> })}
                <p>{prose(&note.message)}</p>
            </div>
        </li>
    }
}

/// Name of a note's kind, for users.
fn kind(kind: ExportNoteKind) -> &'static str {
    match kind {
        ExportNoteKind::LeftOut => "left out",
        ExportNoteKind::Changed => "changed",
        ExportNoteKind::Needed => "needed",
    }
}

/// Path without the common prefix `resources.`.
fn place(path: &str) -> &str {
    path.strip_prefix("resources.").unwrap_or(path)
}
