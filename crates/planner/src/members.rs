//! Members of groups, chains and nested templates: the types that have members, and their names.

use hot::{
    expr::Expr,
    template::members::{CHAIN, GROUP, INSTANCE_GROUP, SCALING_GROUP, member_of_deployment_group},
};
use serde_json::Value;
use yaql::shown;

/// True if a resource of this type represents members and has no object in the cloud. The type of a nested template is
/// its file's path.
pub fn is_parent(resource_type: &str) -> bool {
    matches!(
        resource_type,
        GROUP | SCALING_GROUP | INSTANCE_GROUP | CHAIN
    ) || member_of_deployment_group(resource_type).is_some()
        || hot::environment::is_file(resource_type)
}

/// Resource as drawn on the canvas: the resource itself, or the outermost parent of a member.
pub fn drawn(name: &str) -> &str {
    name.split_once('/')
        .map_or(name, |(outermost, _)| outermost)
}

/// Message about a missing template file that a type names. Files are never fetched.
pub(crate) fn not_given(resource: &str, file: &str) -> String {
    let elsewhere = file.starts_with("http://") || file.starts_with("https://");
    if elsewhere {
        format!(
            "`{resource}` is made from `{}`, and nothing is fetched from elsewhere: add the file beside the template, \
             and name it by its own name",
            shown(file)
        )
    } else {
        format!(
            "`{resource}` is made from `{}`, which is not given: add the file beside the template",
            shown(file)
        )
    }
}

/// Placeholder for the member's name: the property `index_var`, or `%index%`.
pub(crate) fn index_variable(given: Option<&Expr>) -> &str {
    given
        .and_then(Expr::as_str)
        .filter(|word| !word.is_empty())
        .unwrap_or("%index%")
}

/// A definition with the member's name in place of the placeholder.
pub(crate) fn put_index(value: &Expr, word: &str, name: &str) -> Expr {
    value.rewrite(&mut |expr| match expr {
        Expr::Literal(Value::String(text)) if text.contains(word) => {
            Some(Expr::text(text.replace(word, name)))
        }
        _ => None,
    })
}
