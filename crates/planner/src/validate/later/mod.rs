//! Checks that Heat makes only at creation.
//!
//! Members of groups and resources of nested templates get separate stacks, and Heat validates these before their
//! creation without their values. It only checks the values that a type reads during validation ([`read`]). A template
//! with another invalid value there is accepted, and fails during the deployment. Stackloom reports the value before
//! the deployment, but as a warning, because Heat accepts the template. Source: `strict_validate` in
//! `heat/engine/stack.py`, and a run of each of these cases on Heat's engine.

use hot::diagnostic::{Diagnostic, Severity};
use hot::template::members::GROUP;

mod read;

pub(crate) use read::is_read_at_once;

/// Changes an error to a warning.
pub(crate) fn reported_at_creation(one: &mut Diagnostic) {
    one.severity = Severity::Warning;
    one.message
        .push_str("; Heat reports it only when it creates the resource");
}

/// Changes an error that Heat reports only at creation to a warning. `resource_type` is the type of the diagnostic's
/// resource. A missing property has no path, so the check for it calls [`is_read_at_once`] itself.
pub(crate) fn downgrade_if_unread(one: &mut Diagnostic, resource_type: &str) {
    let Some((_, within)) = one.path.rsplit_once(".properties.") else {
        return;
    };
    let (property, inside) = match within.split_once('.') {
        Some((property, _)) => (property, true),
        None => (within, false),
    };
    let is_read = is_read_at_once(resource_type, property);
    let later = match one.code.as_str() {
        "property-constraint" | "unknown-in-cloud" => inside || resource_type != GROUP,
        "property-type" => inside || !is_read,
        "property-missing" | "unknown-property" => inside,
        "function-arguments" | "unknown-parameter" => !is_read,
        _ => false,
    };
    if later && one.is_error() {
        reported_at_creation(one);
    }
}
