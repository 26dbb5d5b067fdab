//! Data that a page fetches after mount, and its display while loading and after a failure.

use std::{future::Future, pin::Pin, time::Duration};

use api::Problem;
use leptos::prelude::*;

use crate::{browser, client::Answer, connection::use_connection, ui::problem::ProblemCard};

/// Interval of reloads while a run is active, which changes the displayed values.
const BUSY_REFRESH: Duration = Duration::from_secs(4);
/// Interval of reloads at other times, for what others and the server itself do: checks, runs, permissions.
const IDLE_REFRESH: Duration = Duration::from_secs(30);

/// Calls `reload` at intervals while the page's tab can be seen, when it is shown again, and when a lost connection is
/// back. `busy` is true while a run is active.
pub fn keep_fresh(busy: Memo<bool>, reload: impl Fn() + Copy + 'static) {
    let reload = move || {
        if browser::is_visible() {
            reload();
        }
    };
    use_connection().on_return(reload);
    Effect::new(move |_| {
        let interval = if busy.get() {
            BUSY_REFRESH
        } else {
            IDLE_REFRESH
        };
        let tick = set_interval_with_handle(reload, interval);
        let shown = window_event_listener(leptos::ev::visibilitychange, move |_| reload());
        on_cleanup(move || {
            shown.remove();
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
}

/// State of a fetch.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded<T> {
    /// Loading, for the first time or for another address.
    Loading,
    /// Loaded.
    Ready(T),
    /// Failed.
    Failed(Problem),
}

type Fetch<T> = Pin<Box<dyn Future<Output = Answer<T>>>>;

/// Fetched value, with the function that fetches it.
pub struct Load<T: Send + Sync + 'static> {
    value: RwSignal<Loaded<T>>,
    problem: RwSignal<Option<Problem>>,
    wanted: RwSignal<u32>,
}

impl<T: Send + Sync + 'static> Clone for Load<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Load<T> {}

impl<T: Clone + PartialEq + Send + Sync + 'static> Load<T> {
    /// Calls `fetch` after mount and after changes of the signals that it reads before its first await.
    ///
    /// A response is dropped if a newer one is there, or if the signals have changed since. During a [`Load::reload`] the
    /// old value stays visible. At the end of a loss of the [connection](crate::connection), a fetch that failed is
    /// repeated.
    pub fn new<F, Fut>(fetch: F) -> Load<T>
    where
        F: Fn() -> Fut + 'static,
        Fut: Future<Output = Answer<T>> + 'static,
    {
        Self::from_fetch(Box::new(move || Box::pin(fetch())))
    }

    /// One non-generic closure per `T`. A copy for each caller would increase the size of the wasm.
    fn from_fetch(fetch: Box<dyn Fn() -> Fetch<T>>) -> Load<T> {
        let value = RwSignal::new(Loaded::Loading);
        let problem = RwSignal::new(None::<Problem>);
        let wanted = RwSignal::new(0);
        let request_number = StoredValue::new(0_u32);
        // Number of the last request whose response comes too late. A reload alone does not outdate earlier requests, so
        // that a page that reloads at an interval also shows responses that take longer than the interval.
        let outdated = StoredValue::new(0_u32);
        Effect::new(move |seen: Option<u32>| {
            let want = wanted.get();
            let question = fetch();
            let number = request_number.get_value() + 1;
            request_number.set_value(number);
            if seen == Some(want) {
                value.set(Loaded::Loading);
                outdated.set_value(number - 1);
            }
            leptos::task::spawn_local(async move {
                let answer = question.await;
                if outdated.try_get_value().is_some_and(|last| last < number) {
                    outdated.try_set_value(number);
                    problem.try_set(answer.as_ref().err().cloned());
                    apply_response(value, answer);
                }
            });
            want
        });
        let load = Load {
            value,
            problem,
            wanted,
        };
        use_connection().on_return(move || {
            if problem.try_with_untracked(Option::is_some) == Some(true) {
                load.reload();
            }
        });
        load
    }

    /// Fetches the same value again.
    pub fn reload(self) {
        self.wanted.try_update(|wanted| *wanted += 1);
    }

    /// The state. Tracks.
    pub fn state(self) -> Loaded<T> {
        self.value.get()
    }

    /// The value, if it is loaded. Tracks.
    pub fn get(self) -> Option<T> {
        self.with(|value| value.cloned())
    }

    /// The problem of the last response, also while an older value stays visible. Tracks.
    pub fn problem(self) -> Option<Problem> {
        self.problem.get()
    }

    /// The value, if it is loaded. Does not track.
    pub fn peek(self) -> Option<T> {
        untrack(|| self.get())
    }

    /// Calls `look` with the value, without a copy. Tracks.
    pub fn with<R>(self, look: impl FnOnce(Option<&T>) -> R) -> R {
        self.value.with(|value| {
            look(if let Loaded::Ready(value) = value {
                Some(value)
            } else {
                None
            })
        })
    }

    /// Sets a newer value from another source, such as the response to a save.
    pub fn set(self, value: T) {
        self.value.try_set(Loaded::Ready(value));
    }

    /// Renders the value with `ready`, `skeleton` while it loads, or the problem with "Try again". `ready` is called
    /// again when the value changes.
    pub fn view<S, V>(self, skeleton: S, ready: impl Fn(T) -> V + Send + 'static) -> AnyView
    where
        S: Fn() -> AnyView + Send + 'static,
        V: IntoView + 'static,
    {
        self.shown(
            Box::new(skeleton),
            Box::new(move |value| ready(value).into_any()),
        )
    }

    fn shown(
        self,
        skeleton: Box<dyn Fn() -> AnyView + Send>,
        ready: Box<dyn Fn(T) -> AnyView + Send>,
    ) -> AnyView {
        (move || match self.value.get() {
            Loaded::Loading => skeleton(),
            Loaded::Ready(value) => ready(value),
            Loaded::Failed(problem) => self.problem_card(problem),
        })
        .into_any()
    }

    /// Renders the problem with "Try again" after a failure, and otherwise nothing. For a value that several places of a
    /// page show.
    pub fn failure(self) -> AnyView {
        (move || {
            let problem = self.value.with(|value| match value {
                Loaded::Failed(problem) => Some(problem.clone()),
                Loaded::Loading | Loaded::Ready(_) => None,
            });
            problem.map(|problem| self.problem_card(problem))
        })
        .into_any()
    }

    fn problem_card(self, problem: Problem) -> AnyView {
        let retry = Callback::new(move |()| self.reload());
        view! { <ProblemCard problem retry /> }.into_any()
    }
}

/// Sets the signal only if the value differs, so that a page that polls every few seconds does not flicker. After a
/// short loss of connection the old value is kept.
fn apply_response<T: PartialEq + Send + Sync + 'static>(
    value: RwSignal<Loaded<T>>,
    answer: Answer<T>,
) {
    let next = match answer {
        Ok(it) => Loaded::Ready(it),
        Err(problem) => Loaded::Failed(problem),
    };
    let keep = value.try_with_untracked(|now| {
        *now == next || matches!((now, &next), (Loaded::Ready(_), Loaded::Failed(_)))
    });
    if keep == Some(false) {
        value.try_set(next);
    }
}
