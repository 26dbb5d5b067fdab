//! Values in a plan as text. Old and new values of properties, with a line diff for text of several lines.

use leptos::prelude::*;
use serde_json::Value;

use crate::ui::line_diff;

/// Old and new value of a property.
pub fn values(old: Option<&Value>, new: Option<&Value>) -> AnyView {
    let is_long = |value: &Option<String>| value.as_ref().is_some_and(|text| text.contains('\n'));
    let (old, new) = (old.map(shown), new.map(shown));
    if is_long(&old) || is_long(&new) {
        return line_diff(&old.unwrap_or_default(), &new.unwrap_or_default());
    }
    view! {
        {old.map(|old| view! { <code class="old"><span class="sr-only">"Old "</span>{old}</code> })}
        {new.map(|new| view! { <code class="new"><span class="sr-only">"New "</span>{new}</code> })}
    }
    .into_any()
}

/// The text of a parameter's value in its field.
pub fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Value in the notation of a user.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) if map.len() == 1 => map
            .iter()
            .map(|(key, value)| format!("{key}: {}", shown(value)))
            .collect(),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            items.iter().map(shown).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_short() {
        assert_eq!(shown(&json!("debian-12")), "debian-12");
        assert_eq!(shown(&json!({"get_resource": "net"})), "get_resource: net");
        assert_eq!(
            shown(&json!({"get_attr": ["web", "name"]})),
            "get_attr: web, name"
        );
        assert_eq!(shown(&json!([{"a": 1}])), r#"[{"a":1}]"#);
        assert_eq!(shown(&json!(80)), "80");
    }
}
