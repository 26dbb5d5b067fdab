//! A run for users who look elsewhere: the tab's icon has the run's state, and a notification announces the run's end, a
//! pause and a hook.

use api::{Named as _, RunState};
use leptos::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use super::{RunView, hooks, model::Model};
use crate::{
    browser,
    ui::{
        Icon,
        state::{WAITS_FOR_USER, run_title},
        use_toasts,
    },
};

/// Key of the user's choice in the browser's storage.
const CHOICE: &str = "run.notify";

/// Name of the button that turns the notification on and off.
const LABEL: &str = "Notify me when it ends or waits for a user";

/// Colour of the tab's icon for a state. The colours are those of the states, readable on light and dark tabs.
fn colour(state: RunState) -> &'static str {
    match state {
        RunState::Succeeded => "#2f9e5f",
        RunState::Failed | RunState::Failing => "#d9434e",
        RunState::Cancelled | RunState::Cancelling | RunState::Paused => "#8a8a94",
        RunState::Queued | RunState::Running => "#6e6ade",
    }
}

/// The tab's icon: a full circle for a run that has ended, a ring for one that continues.
fn icon(state: RunState) -> String {
    let colour = colour(state).replace('#', "%23");
    let fill = if state.is_final() { &colour } else { "none" };
    format!(
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E\
         %3Ccircle cx='12' cy='12' r='8' fill='{fill}' stroke='{colour}' stroke-width='4'/%3E%3C/svg%3E"
    )
}

/// Keeps the tab's icon in the state of the run, while its page is open.
pub fn keep_tab_icon(view: RunView) {
    let state = Memo::new(move |_| state_of(view));
    Effect::new(move |_| {
        if let Some(state) = state.get() {
            browser::set_tab_icon(Some(&icon(state)));
        }
    });
    on_cleanup(|| browser::set_tab_icon(None));
}

fn state_of(view: RunView) -> Option<RunState> {
    view.feed
        .model
        .with(|model| model.as_ref().map(|model| model.run.state))
}

/// Button that turns the notification on and off, while the run continues.
#[component]
pub fn NotifyButton(view: RunView) -> impl IntoView {
    let toasts = use_toasts();
    let is_on = RwSignal::new(false);
    Effect::new(move |_| {
        let chosen = browser::remembered(CHOICE).as_deref() == Some("on");
        is_on.set(chosen && is_permitted());
    });
    let state = Memo::new(move |_| state_of(view));
    let moment = Memo::new(move |_| view.feed.model.with(|model| model.as_ref().map(Moment::of)));
    Effect::new(move |before: Option<Option<Moment>>| {
        let now = moment.get();
        let news = before
            .flatten()
            .zip(now)
            .and_then(|(before, now)| now.news(before));
        if let Some(news) = news
            && is_on.get_untracked()
            && !browser::is_visible()
        {
            notify(view, news);
        }
        now
    });
    let toggle = move |_| {
        if is_on.get_untracked() {
            is_on.set(false);
            browser::forget(CHOICE);
            return;
        }
        leptos::task::spawn_local(async move {
            if let Ok(question) = Notification::request_permission() {
                let _ = JsFuture::from(question).await;
            }
            if is_permitted() {
                browser::remember(CHOICE, "on");
                is_on.try_set(true);
            } else {
                toasts.warn("This browser does not permit notifications of this page. Change that in the browser's settings for the page, then try again.");
            }
        });
    };
    let is_active = move || state.get().is_some_and(|state| !state.is_final());
    view! {
        <button
            type="button" class="button" data-look="ghost" data-size="icon" hidden=move || !is_active()
            aria-label=LABEL title=LABEL aria-pressed=move || is_on.get().to_string()
            on:click=toggle
        >
            <Icon name="bell" />
        </button>
    }
}

fn is_permitted() -> bool {
    cfg!(target_arch = "wasm32")
        && browser::has_notifications()
        && Notification::permission() == NotificationPermission::Granted
}

/// The facts on which a notification depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    state: RunState,
    /// True while the run waits at a hook.
    is_at_hook: bool,
}

impl Moment {
    fn of(model: &Model) -> Moment {
        Moment {
            state: model.run.state,
            is_at_hook: hooks::waiting(model).next().is_some(),
        }
    }

    /// The news for a user who has seen the moment before: the end of the run, a pause, or a hook.
    fn news(self, before: Moment) -> Option<&'static str> {
        let is_new = self.state != before.state;
        match self.state {
            state if state.is_final() => (!before.state.is_final()).then(|| state.title()),
            RunState::Paused if is_new => Some(self.state.title()),
            _ => (self.is_at_hook && !before.is_at_hook).then_some(WAITS_FOR_USER),
        }
    }
}

fn notify(view: RunView, news: &str) {
    let title = view.feed.model.with_untracked(|model| {
        let run = &model.as_ref()?.run;
        Some(format!("{}: {news}", run_title(run)))
    });
    let name = untrack(|| view.name()).unwrap_or_default();
    if let Some(title) = title {
        let options = NotificationOptions::new();
        options.set_body(&name);
        // A browser that refuses now has been asked before; the page itself shows the end.
        let _ = Notification::new_with_options(&title, &options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_a_pause_and_a_hook_are_news_once() {
        let at = |state, is_at_hook| Moment { state, is_at_hook };
        let running = at(RunState::Running, false);
        let hook = at(RunState::Running, true);
        let paused = at(RunState::Paused, false);
        let failed = at(RunState::Failed, false);
        assert_eq!(failed.news(running), Some("Failed"));
        assert_eq!(failed.news(failed), None);
        assert_eq!(paused.news(running), Some("Paused"));
        assert_eq!(paused.news(paused), None);
        assert_eq!(hook.news(running), Some("Waits for a user"));
        assert_eq!(hook.news(hook), None);
        assert_eq!(running.news(hook), None);
        assert_eq!(running.news(failed), None, "it was resumed");
    }
}
