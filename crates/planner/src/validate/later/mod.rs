//! What Heat looks at only when it makes it.
//!
//! Members of groups and resources of nested templates get stacks of their own, and before these are made Heat validates them
//! without their values: of those it sees only what a type reads by itself meanwhile ([`read`]). A template with a wrong value
//! down there is accepted, and fails half-way. We say it before, as a warning, because who has such a template can deploy it
//! with Heat. Source: `strict_validate` in `heat/engine/stack.py`, and what the engine answered for each of these.

use hot::diagnostic::{Diagnostic, Severity};
use hot::template::members::GROUP;

mod read;

pub(crate) use read::is_read_at_once;

/// A warning in place of an error.
pub(crate) fn said_when_made(one: &mut Diagnostic) {
    one.severity = Severity::Warning;
    one.message.push_str("; Heat says so only when it is made");
}

/// Makes a warning of an error that Heat would not see yet. `resource_type` is that of the resource that it is about. A
/// property that is not there at all has no path of its own: who finds that asks [`is_read_at_once`] by itself.
pub(crate) fn look_later(one: &mut Diagnostic, resource_type: &str) {
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
        said_when_made(one);
    }
}
