//! Versions of catalogue items that a template pins: `metadata: {stackloom: {version: 1.0.0}}` of a component.
//!
//! A deployment has one version of each item. So the pins in a template, in the definitions of its groups' members and in
//! the templates beside it must agree.

use std::collections::BTreeMap;

use hot::{bundle::Bundle, diagnostic::Diagnostic, document::Document, expr::Expr};
use serde_json::Value;
use types::CATALOG;

/// Key of our metadata. A file without this word pins nothing.
const OURS: &str = "stackloom";

/// A pin as written.
struct Pin<'a> {
    /// Path of the resource or of the definition.
    path: String,
    resource_type: &'a str,
    version: &'a Expr,
}

/// True if a template or a file beside it may pin a version. Cheap: nothing is parsed.
pub fn may_pin(template: &str, bundle: &Bundle) -> bool {
    let mut texts = bundle.files().map(|(_, text)| text);
    template.contains(OURS) || texts.any(|text| text.contains(OURS))
}

/// The pinned versions by item.
///
/// # Errors
/// The first pin that is no text, that is not of a component, or that contradicts another one.
pub fn pins(document: &Document, bundle: &Bundle) -> Result<BTreeMap<String, String>, Diagnostic> {
    let nested = bundle.files().filter_map(|(path, text)| {
        let document = text.contains(OURS).then(|| bundle.document(path))??;
        Some((Some(path), document))
    });
    let mut pins = BTreeMap::<String, String>::new();
    for (file, document) in std::iter::once((None, document)).chain(nested) {
        for pin in pins_of(document) {
            let refused = |message: String| {
                let path = format!("{}.metadata.{OURS}.version", pin.path);
                let mut refused = Diagnostic::error("item-version", path, message);
                document.locate(&mut refused);
                refused.file = file.map(str::to_owned);
                refused
            };
            let Some(item) = pin.resource_type.strip_prefix(CATALOG) else {
                let message = format!(
                    "only components have a version, and `{}` is no type of the catalogue",
                    pin.resource_type
                );
                return Err(refused(message));
            };
            let Expr::Literal(Value::String(version)) = pin.version else {
                let message = "the version of an item is a text such as `1.0.0`".to_owned();
                return Err(refused(message));
            };
            match pins.get(item) {
                Some(other) if other != version => {
                    return Err(refused(format!(
                        "`{item}` is pinned to {version} here and to {other} elsewhere; a deployment has one version of an item"
                    )));
                }
                _ => pins.insert(item.to_owned(), version.clone()),
            };
        }
    }
    Ok(pins)
}

fn pins_of(document: &Document) -> Vec<Pin<'_>> {
    let mut pins = Vec::new();
    for resource in &document.template().resources {
        let path = format!("resources.{}", resource.name);
        if let Some(version) = resource.metadata.as_ref().and_then(version) {
            pins.push(Pin {
                path: path.clone(),
                resource_type: &resource.resource_type,
                version,
            });
        }
        for property in &resource.properties {
            let path = format!("{path}.properties.{}", property.name);
            property.value.walk(&mut |definition| {
                if let Some(Expr::Literal(Value::String(resource_type))) = definition.get("type")
                    && let Some(version) = definition.get("metadata").and_then(version)
                {
                    pins.push(Pin {
                        path: path.clone(),
                        resource_type,
                        version,
                    });
                }
            });
        }
    }
    pins
}

fn version(metadata: &Expr) -> Option<&Expr> {
    metadata.get(OURS)?.get("version")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component, and a group of another one.
    fn template(first: &str, member: &str) -> String {
        format!(
            "heat_template_version: 2021-04-16
resources:
  one: {{type: Stackloom::Catalog::nginx, metadata: {{stackloom: {{version: {first}}}}}}}
  more:
    type: OS::Heat::ResourceGroup
    properties:
      resource_def: {{type: {member}, metadata: {{stackloom: {{version: 1.2.0}}}}}}
"
        )
    }

    fn read(template: String, beside: &str) -> Result<BTreeMap<String, String>, String> {
        let beside = ("nested.yaml".to_owned(), beside.to_owned());
        let bundle = Bundle::new([beside], []);
        assert!(may_pin(&template, &bundle));
        let pins = pins(&Document::parse(template), &bundle);
        pins.map_err(|refused| format!("{} {}", refused.path, refused.message))
    }

    #[test]
    fn components_members_of_groups_and_files_pin_versions() {
        let nested = "heat_template_version: 2021-04-16\nresources: {db: {type: Stackloom::Catalog::redis, metadata: {stackloom: {version: 2.0.0}}}}";
        let pins = read(template("1.2.0", "Stackloom::Catalog::nginx"), nested).unwrap();
        let expected = [("nginx", "1.2.0"), ("redis", "2.0.0")];
        let expected = expected.map(|(item, version)| (item.to_owned(), version.to_owned()));
        assert_eq!(pins, BTreeMap::from(expected));
        assert!(!may_pin("resources: {}", &Bundle::default()));
    }

    #[test]
    fn a_pin_that_cannot_hold_is_refused_with_its_place() {
        let nginx = "Stackloom::Catalog::nginx";
        for (first, member, refused) in [
            (
                "1.1.0",
                nginx,
                "resources.more.properties.resource_def.metadata.stackloom.version `nginx` is pinned to 1.2.0 here and to 1.1.0 elsewhere",
            ),
            (
                "1.1",
                nginx,
                "resources.one.metadata.stackloom.version the version of an item is a text",
            ),
            (
                "1.2.0",
                "OS::Nova::Server",
                "resources.more.properties.resource_def.metadata.stackloom.version only components have a version",
            ),
        ] {
            let why = read(template(first, member), "").unwrap_err();
            assert!(why.starts_with(refused), "{why}");
        }
    }
}
