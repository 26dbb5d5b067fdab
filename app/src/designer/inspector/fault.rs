//! A problem at a field or a form.

use hot::diagnostic::{Diagnostic, Severity};
use leptos::prelude::*;

use crate::{
    designer::{fixes::Fixes, store::Workspace},
    ui::{Icon, prose},
};

/// True if the path of a problem is that of this field, or of a part of it.
pub(super) fn belongs(path: &str, field: &str) -> bool {
    path == field
        || path
            .strip_prefix(field)
            .is_some_and(|rest| rest.starts_with('.'))
}

/// A problem with its quick fixes.
#[component]
pub(super) fn FaultWithFixes(workspace: Workspace, problem: Diagnostic) -> impl IntoView {
    view! {
        <div class="fault-group">
            <Fault severity=problem.severity message=problem.message.clone() />
            <Fixes workspace problem />
        </div>
    }
}

#[component]
pub(super) fn Fault(severity: Severity, message: String) -> impl IntoView {
    let (word, icon) = match severity {
        Severity::Error => ("error", "circle-alert"),
        Severity::Warning => ("warning", "triangle-alert"),
        Severity::Info => ("info", "info"),
    };
    view! { <p class="fault" data-severity=word><Icon name=icon /><span>{prose(&message)}</span></p> }
}
