//! What Heat looks at only when it makes it.
//!
//! Members of groups and resources of nested templates get stacks of their own, and before these are made Heat validates them
//! without their values: of those it sees only what a type reads by itself meanwhile. A template with a wrong value down there
//! is accepted, and fails half-way. We say it before, as a warning, because who has such a template can deploy it with Heat.
//! Source: `strict_validate` in `heat/engine/stack.py`, and what the engine answered for each of these.

use crate::{
    compose::GROUP,
    diagnostic::{Diagnostic, Severity},
};

/// Types that read their own properties when they are validated, and so meet what is missing.
const READ_AT_ONCE: [&str; 3] = ["OS::Nova::Server", "OS::Cinder::Volume", GROUP];

/// Makes a warning of an error that Heat would not see yet. `resource_type` is that of the resource that it is about.
pub(crate) fn look_later(one: &mut Diagnostic, resource_type: &str) {
    let Some((_, within)) = one.path.rsplit_once(".properties") else {
        return;
    };
    let is_deep = within.trim_start_matches('.').contains('.');
    let is_read = READ_AT_ONCE.contains(&resource_type);
    let later = match one.code.as_str() {
        "property-constraint" => is_deep || resource_type != GROUP,
        "property-missing" | "property-type" => is_deep || !is_read,
        "unknown-property" => is_deep,
        "function-arguments" | "unknown-parameter" => !is_read,
        _ => false,
    };
    if later && one.is_error() {
        one.severity = Severity::Warning;
        one.message.push_str("; Heat says so only when it is made");
    }
}
