//! Theme: light, dark, or the system's.

use leptos::prelude::*;

use crate::{browser, ui::Icon};

/// Selected theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    fn apply(self) {
        let name = match self {
            Theme::System => None,
            Theme::Light => Some("light"),
            Theme::Dark => Some("dark"),
        };
        let root = browser::document().and_then(|document| document.document_element());
        match (name, root) {
            (Some(name), Some(root)) => {
                browser::remember("theme", name);
                let _ = root.set_attribute("data-theme", name);
            }
            (None, Some(root)) => {
                browser::forget("theme");
                let _ = root.remove_attribute("data-theme");
            }
            (_, None) => {}
        }
    }
}

/// Three buttons, one of them pressed.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let theme = RwSignal::new(Theme::System);
    Effect::new(move |_| {
        theme.set(match browser::remembered("theme").as_deref() {
            Some("light") => Theme::Light,
            Some("dark") => Theme::Dark,
            _ => Theme::System,
        });
    });
    let choice = move |which: Theme, label: &'static str, icon: &'static str| {
        view! {
            <button
                type="button" aria-label=label title=label
                aria-pressed=move || (theme.get() == which).to_string()
                on:click=move |_| { theme.set(which); which.apply() }
            >
                <Icon name=icon />
            </button>
        }
    };
    view! {
        <div class="segments" role="group" aria-label="Theme">
            {choice(Theme::System, "System", "monitor")}
            {choice(Theme::Light, "Light", "sun")}
            {choice(Theme::Dark, "Dark", "moon")}
        </div>
    }
}
