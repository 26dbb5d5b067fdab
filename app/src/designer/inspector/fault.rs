//! A problem at a field or a form.

use hot::diagnostic::Severity;
use leptos::prelude::*;

use crate::ui::{Icon, prose};

/// True if the path of a problem is that of this field, or of a part of it.
pub(super) fn belongs(path: &str, field: &str) -> bool {
    path == field
        || path
            .strip_prefix(field)
            .is_some_and(|rest| rest.starts_with('.'))
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
