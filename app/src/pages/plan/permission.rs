//! The standing permission that is given with the deployment, if the design passes on the address of a policy.

use api::PermissionRequest;
use leptos::prelude::*;

use super::Page;
use crate::{
    load::Loaded,
    operations::permission_form::{PermissionNotes, can_give},
    session::use_session,
};

impl Page {
    /// True if the plan passes on the address of a policy. Tracks.
    fn needs_permission(self) -> bool {
        self.plan.with(|plan| match plan {
            Loaded::Ready(plan) => plan
                .workflow
                .as_ref()
                .is_some_and(planner::scaling::passes_addresses_on),
            _ => false,
        })
    }

    /// The permission that is given with the deployment.
    pub(super) fn permission_untracked(self) -> Option<PermissionRequest> {
        untrack(|| self.needs_permission().then(|| self.permission.request())?)
    }
}

/// Asks for a standing permission if the plan passes the address of a policy on, to whatever is to signal it.
#[component]
pub(super) fn PermissionQuestion(page: Page) -> impl IntoView {
    let session = use_session();
    let is_needed = Memo::new(move |_| page.needs_permission());
    let locked = Signal::derive(move || page.busy.get() || !can_give(session));
    move || {
        is_needed.get().then(|| {
            view! {
                <fieldset class="parameters permission">
                    <legend>"Unattended work"</legend>
                    <p>"This design passes on the address of a scaling policy. Signals to it are refused unless you permit the deployment to scale by itself."</p>
                    <PermissionNotes />
                    {page.permission.fields(locked)}
                </fieldset>
            }
        })
    }
}
