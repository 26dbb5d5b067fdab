//! Versions of catalogue items that a template pins: `metadata: {stackloom: {version: 1.0.0}}` of a component.
//!
//! A deployment has one version of each item. So the pins in a template, in the definitions of its groups' members and in
//! the templates beside it must agree.

use std::collections::BTreeMap;

use hot::{bundle::Bundle, diagnostic::Diagnostic, document::Document, expr::Expr, text::Position};
use serde_json::Value;
use types::CATALOG;

/// Key of our metadata. A file without this word pins nothing.
const OURS: &str = "stackloom";

/// The pins of a template and of the files beside it.
#[derive(Default)]
pub struct Pins {
    /// The pinned versions by item.
    pub versions: BTreeMap<String, Pinned>,
    /// A problem for each pin that is no text, that is not of a component, or that contradicts an earlier one.
    pub problems: Vec<Diagnostic>,
}

/// A version that a template pins.
pub struct Pinned {
    /// The version.
    pub version: String,
    place: Place,
}

/// The place of a pin.
struct Place {
    file: Option<String>,
    path: String,
    position: Option<Position>,
}

/// A pin as written.
struct Pin<'a> {
    /// Path of the resource or of the definition.
    path: String,
    resource_type: &'a str,
    version: &'a Expr,
}

impl Pinned {
    /// The problem that an item has other versions only, newest first.
    pub fn missing(self, item: &str, others: &[String]) -> Diagnostic {
        let message = match others {
            [] => format!("there is no item `{item}` in the catalogue"),
            [newest, ..] => format!(
                "`{item}` has no version {}; its versions are {}; pin one of them, such as {newest}, or take the pin away",
                self.version,
                others.join(", ")
            ),
        };
        self.place.problem(message)
    }
}

impl Place {
    fn problem(self, message: String) -> Diagnostic {
        Diagnostic {
            file: self.file,
            line: self.position.map(|position| position.line),
            column: self.position.map(|position| position.column),
            ..Diagnostic::error("item-version", self.path, message)
        }
    }
}

/// True if a template or a file beside it may pin a version. Cheap: nothing is parsed.
pub fn may_pin(template: &str, bundle: &Bundle) -> bool {
    let mut texts = bundle.files().map(|(_, text)| text);
    text_may_pin(template) || texts.any(text_may_pin)
}

/// True if the text has our metadata and the word `version` elsewhere than in `heat_template_version` and the like.
fn text_may_pin(text: &str) -> bool {
    text.contains(OURS) && text.matches("version").count() > text.matches("_version").count()
}

/// The pins of a template and of the files beside it.
pub fn pins(document: &Document, bundle: &Bundle) -> Pins {
    let nested = bundle.files().filter_map(|(path, text)| {
        let document = text_may_pin(text).then(|| bundle.document(path))??;
        Some((Some(path), document))
    });
    let mut pins = Pins::default();
    for (file, document) in std::iter::once((None, document)).chain(nested) {
        for pin in pins_of(document) {
            let path = format!("{}.metadata.{OURS}.version", pin.path);
            let place = Place {
                file: file.map(str::to_owned),
                position: document.position(&path),
                path,
            };
            pins.add(&pin, place);
        }
    }
    pins
}

impl Pins {
    fn add(&mut self, pin: &Pin<'_>, place: Place) {
        let Some(item) = pin.resource_type.strip_prefix(CATALOG) else {
            let message = format!(
                "only components have a version, and `{}` is no type of the catalogue",
                pin.resource_type
            );
            return self.problems.push(place.problem(message));
        };
        let Expr::Literal(Value::String(version)) = pin.version else {
            let message = "the version of an item is a text such as `1.0.0`".to_owned();
            return self.problems.push(place.problem(message));
        };
        match self.versions.get(item) {
            Some(other) if other.version != *version => {
                let message = format!(
                    "`{item}` is pinned to {version} here and to {} elsewhere; a deployment has one version of an item",
                    other.version
                );
                self.problems.push(place.problem(message));
            }
            Some(_) => {}
            None => {
                let version = version.clone();
                let pinned = Pinned { version, place };
                self.versions.insert(item.to_owned(), pinned);
            }
        }
    }
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

    fn read(template: String, beside: &str) -> Pins {
        let beside = ("nested.yaml".to_owned(), beside.to_owned());
        let bundle = Bundle::new([beside], []);
        assert!(may_pin(&template, &bundle));
        pins(&Document::parse(template), &bundle)
    }

    #[test]
    fn components_members_of_groups_and_files_pin_versions() {
        let nested = "heat_template_version: 2021-04-16\nresources: {db: {type: Stackloom::Catalog::redis, metadata: {stackloom: {version: 2.0.0}}}}";
        let pins = read(template("1.2.0", "Stackloom::Catalog::nginx"), nested);
        let versions = pins.versions.iter();
        let versions: Vec<_> = versions
            .map(|(item, pinned)| (item.as_str(), pinned.version.as_str()))
            .collect();
        assert_eq!(versions, [("nginx", "1.2.0"), ("redis", "2.0.0")]);
        assert_eq!(pins.problems, []);
    }

    #[test]
    fn other_metadata_of_ours_pins_nothing() {
        let marked = "heat_template_version: 2021-04-16
resources:
  web: {type: OS::Nova::Server, metadata: {stackloom: {public: true}}}
";
        assert!(!may_pin(marked, &Bundle::default()));
    }

    #[test]
    fn a_version_that_does_not_exist_is_a_problem_at_its_pin() {
        let nested = "heat_template_version: 2021-04-16\nresources:\n  db:\n    type: Stackloom::Catalog::redis\n    \
                      metadata: {stackloom: {version: 2.0.0}}\n";
        let mut pins = read(template("1.2.0", "Stackloom::Catalog::nginx"), nested);
        let others = ["1.1.0".to_owned(), "1.0.0".to_owned()];
        let missing = pins.versions.remove("redis").unwrap();
        let missing = missing.missing("redis", &others);
        assert_eq!(
            (missing.file.as_deref(), missing.line),
            (Some("nested.yaml"), Some(5))
        );
        assert!(
            missing.message.starts_with(
                "`redis` has no version 2.0.0; its versions are 1.1.0, 1.0.0; pin one"
            ),
            "{}",
            missing.message
        );
        let unknown = pins.versions.remove("nginx").unwrap().missing("nginx", &[]);
        assert_eq!(unknown.message, "there is no item `nginx` in the catalogue");
    }

    #[test]
    fn a_pin_that_cannot_hold_is_refused_with_its_place() {
        let nginx = "Stackloom::Catalog::nginx";
        for (first, member, refused) in [
            (
                "1.1.0",
                nginx,
                "resources.more.properties.resource_def.metadata.stackloom.version: `nginx` is pinned to 1.2.0 here and to 1.1.0 elsewhere",
            ),
            (
                "1.1",
                nginx,
                "resources.one.metadata.stackloom.version: the version of an item is a text",
            ),
            (
                "1.2.0",
                "OS::Nova::Server",
                "resources.more.properties.resource_def.metadata.stackloom.version: only components have a version",
            ),
        ] {
            let problems = read(template(first, member), "").problems;
            let listed = hot::diagnostic::listing(&problems);
            assert_eq!(problems.len(), 1, "{listed}");
            assert!(listed.contains(refused), "{listed}");
        }
    }
}
