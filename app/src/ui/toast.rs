//! Short messages in the corner: completed actions, and problems without a form field.

use api::Problem;
use leptos::prelude::*;

use crate::{
    browser,
    ui::{Icon, prose},
};

/// Look and duration of a toast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Done,
    Warning,
    Problem,
}

#[derive(Clone)]
struct Toast {
    id: u32,
    tone: Tone,
    text: String,
    hint: Option<String>,
    link: Option<(String, String)>,
    action: Option<(String, Callback<()>)>,
}

/// Visible messages.
#[derive(Clone, Copy)]
pub struct ToastList {
    toasts: RwSignal<Vec<Toast>>,
    next: StoredValue<u32>,
}

/// Provides the list, for [`crate::App`].
pub fn provide_toasts() {
    provide_context(ToastList {
        toasts: RwSignal::new(Vec::new()),
        next: StoredValue::new(0),
    });
}

/// Messages of this page.
pub fn use_toasts() -> ToastList {
    expect_context()
}

impl ToastList {
    /// Reports a completed action.
    pub fn done(self, text: impl Into<String>) {
        self.push(Tone::Done, text.into(), None, None);
    }

    /// Reports a completed action and offers another one that often follows.
    pub fn offer(self, text: impl Into<String>, action: impl Into<String>, run: Callback<()>) {
        let text = text.into();
        self.push(Tone::Warning, text.clone(), None, None);
        let action = Some((action.into(), run));
        self.toasts.try_update(|toasts| {
            if let Some(toast) = toasts.iter_mut().find(|toast| toast.text == text) {
                toast.tone = Tone::Done;
                toast.action = action;
            }
        });
    }

    /// Displays a warning.
    pub fn warn(self, text: impl Into<String>) {
        self.push(Tone::Warning, text.into(), None, None);
    }

    /// Displays a problem.
    pub fn problem(self, problem: &Problem) {
        let text = if problem.detail.is_empty() {
            problem.title.clone()
        } else {
            problem.detail.clone()
        };
        // If the session has ended at a write, the page must stay, so the login opens in another tab.
        let link =
            (problem.status == 401).then(|| (String::from("Log in"), String::from("/login")));
        self.push(Tone::Problem, text, problem.hint.clone(), link);
    }

    fn push(self, tone: Tone, text: String, hint: Option<String>, link: Option<(String, String)>) {
        let Some(id) = self.next.try_get_value() else {
            return;
        };
        self.next.set_value(id + 1);
        self.toasts.try_update(|toasts| {
            toasts.retain(|toast| toast.text != text);
            toasts.push(Toast {
                id,
                tone,
                text,
                hint,
                link,
                action: None,
            });
            if toasts.len() > 4 {
                toasts.remove(0);
            }
        });
        let stay_ms = match tone {
            Tone::Done => 4_000,
            Tone::Warning => 8_000,
            Tone::Problem => 20_000,
        };
        browser::after_ms(stay_ms, move || self.close(id));
    }

    fn close(self, id: u32) {
        self.toasts
            .try_update(|toasts| toasts.retain(|toast| toast.id != id));
    }
}

/// The element with the toasts.
#[component]
pub fn Toasts() -> impl IntoView {
    let list = use_toasts();
    view! {
        <div class="toasts" role="status" aria-live="polite">
            <For each=move || list.toasts.get() key=|toast| toast.id let:toast>
                {
                    let id = toast.id;
                    let (tone, icon) = match toast.tone {
                        Tone::Done => ("done", "circle-check"),
                        Tone::Warning => ("warning", "triangle-alert"),
                        Tone::Problem => ("problem", "circle-alert"),
                    };
                    view! {
                        <div class="toast" data-tone=tone>
                            <Icon name=icon />
                            <div class="toast-text">
                                <p>{prose(&toast.text)}</p>
                                {toast.hint.map(|hint| view! { <p class="quiet">{prose(&hint)}</p> })}
                                {toast.link.map(|(text, href)| view! { <a href=href target="_blank" rel="external">{text}</a> })}
                            </div>
                            {toast.action.map(|(text, run)| view! {
                                <button
                                    type="button" class="button" data-size="small"
                                    on:click=move |_| { list.close(id); run.run(()) }
                                >
                                    {text}
                                </button>
                            })}
                            <button
                                type="button" class="button" data-look="ghost" data-size="icon" aria-label="Close message"
                                on:click=move |_| list.close(id)
                            >
                                <Icon name="x" />
                            </button>
                        </div>
                    }
                }
            </For>
        </div>
    }
}
