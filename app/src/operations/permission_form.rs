//! The fields of a standing permission, for the pages that ask for one.

use api::{CHECK_MINUTES, CHECK_MINUTES_MAX, PermissionRequest, PermittedActions};
use leptos::prelude::*;

use crate::session::{Session, use_session};

/// The lengths to choose from, in days.
const DAYS: [(u32, &str); 3] = [(30, "30 days"), (90, "90 days"), (365, "a year")];

/// A permission that is about to be given.
#[derive(Clone, Copy)]
pub struct PermissionForm {
    /// True to scale when a policy is signalled.
    pub scales: RwSignal<bool>,
    checks: RwSignal<bool>,
    minutes: RwSignal<String>,
    repairs: RwSignal<bool>,
    days: RwSignal<u32>,
}

impl PermissionForm {
    /// A form with nothing chosen.
    pub fn empty() -> PermissionForm {
        PermissionForm {
            scales: RwSignal::new(false),
            checks: RwSignal::new(false),
            minutes: RwSignal::new(CHECK_MINUTES.to_string()),
            repairs: RwSignal::new(false),
            days: RwSignal::new(DAYS[0].0),
        }
    }

    /// The request, or `None` if nothing is chosen. Tracks.
    pub fn request(self) -> Option<PermissionRequest> {
        let (scale, checks) = (self.scales.get(), self.checks.get());
        // Text that is no number is an interval that the request's check refuses.
        let minutes = self.minutes.with(|text| text.trim().parse().unwrap_or(0));
        (scale || checks).then(|| PermissionRequest {
            days: self.days.get(),
            may: PermittedActions {
                scale,
                check_minutes: checks.then_some(minutes),
                repair: checks && self.repairs.get(),
            },
        })
    }

    /// The check boxes, the interval and the end.
    pub fn fields(self, locked: Signal<bool>) -> impl IntoView {
        let check_box = move |signal: RwSignal<bool>, disabled: Signal<bool>| {
            view! {
                <input
                    type="checkbox" prop:checked=move || signal.get() disabled=disabled
                    on:change=move |event| signal.set(event_target_checked(&event))
                />
            }
        };
        let checks_nothing = Signal::derive(move || locked.get() || !self.checks.get());
        view! {
            <div class="permission-fields">
                <label class="check">{check_box(self.scales, locked)}"Scale when a policy is signalled"</label>
                <div class="permission-interval">
                    <label class="check">{check_box(self.checks, locked)}"Check at an interval"</label>
                    <label class="check">
                        "every"
                        <input
                            class="input" type="number" min="1" max=CHECK_MINUTES_MAX.to_string() step="1"
                            aria-label="Minutes between checks" disabled=checks_nothing prop:value=self.minutes
                            on:input=move |event| self.minutes.set(event_target_value(&event))
                        />
                        "minutes"
                    </label>
                </div>
                <label class="check">{check_box(self.repairs, checks_nothing)}"Repair what a check finds"</label>
                <label class="check">
                    "For"
                    <select
                        class="input" aria-label="Validity" disabled=locked
                        on:change=move |event| self.days.set(event_target_value(&event).parse().unwrap_or(DAYS[0].0))
                    >
                        {DAYS.into_iter().map(|(days, text)| view! {
                            <option value=days.to_string() selected=self.days.get_untracked() == days>{text}</option>
                        }).collect_view()}
                    </select>
                </label>
            </div>
        }
    }
}

/// The meaning of a permission in words, and why this login cannot give one.
#[component]
pub fn PermissionNotes() -> impl IntoView {
    let session = use_session();
    let is_restricted = move || {
        session
            .me
            .with(|me| me.as_ref().is_some_and(|me| me.is_restricted))
    };
    view! {
        <p class="quiet">
            "Without this, nothing happens while nobody is logged in. With it, the server gets an application credential in your \
             name: for this project, with the role of a member and never more, until the chosen day. A check that finds a server \
             gone also has the software that uses it configured without it. Each member of the project \
             can revoke it on the deployment's page, and an undeploy ends it. In a cloud without a key manager it also opens this \
             deployment's private keys and hidden parameters, and the server's own key is all that protects them."
        </p>
        {move || is_restricted().then(|| view! {
            <p class="permission-refused" role="note">
                "You are logged in with a restricted application credential, which cannot create another one. Log in with your \
                 password to give this permission."
            </p>
        })}
    }
}

/// True if this login can give a permission. Tracks.
pub fn can_give(session: Session) -> bool {
    session.me.with(|me| {
        me.as_ref()
            .is_some_and(|me| me.can_change && !me.is_restricted)
    })
}
