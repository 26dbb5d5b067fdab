//! Markers of resources in the cloud, and their names there.
//!
//! In Neutron, the marker is in the description, which has a filter; the user's own description precedes it. Nova
//! servers have it as a tag, which is short and contains neither `/` nor `,`, hence a hash. Key pairs, secrets and
//! server groups have only a name, which is the marker if the template has no name. A name from the template is kept
//! and is no marker: [`ByName`](crate::driver::ByName).

use std::collections::HashMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::driver::{Marked, Marker, Proof, Search};

/// Neutron's limit for descriptions and names, and the limit of all services for names.
const CHARACTERS_MAX: usize = 255;
/// Keystone's limit for names of projects.
const UNIQUE_CHARACTERS_MAX: usize = 64;
const DEPLOYMENT: &str = "stackloom-in-";

/// The marker alone: `stackloom:<deployment id>/<resource>`.
pub fn text(marker: &Marker) -> String {
    text_within(marker, CHARACTERS_MAX)
}

/// The marker for a field with this number of characters at most.
pub(super) fn text_within(marker: &Marker, characters_max: usize) -> String {
    let text = format!("stackloom:{}/{}", marker.deployment, marker.resource);
    if text.chars().count() <= characters_max {
        text
    } else {
        format!("stackloom:{}/{}", marker.deployment, hash(marker))
    }
}

/// A description with the marker, preceded by the user's own description.
pub fn description(marker: &Marker, own: Option<&str>) -> String {
    description_within(marker, own, CHARACTERS_MAX)
}

/// A description with the marker, with this number of characters at most. The user's own description is shortened.
pub(super) fn description_within(
    marker: &Marker,
    own: Option<&str>,
    characters_max: usize,
) -> String {
    let text = text_within(marker, characters_max);
    match own.map(str::trim).filter(|own| !own.is_empty()) {
        Some(own) => {
            let room = characters_max.saturating_sub(text.chars().count() + 1);
            let own: String = own.chars().take(room).collect();
            format!("{own} {text}")
        }
        None => text,
    }
}

/// Whether a description ends with the marker.
pub fn carries(description: &str, marker: &Marker) -> bool {
    ends_with(description, &text(marker))
}

/// Whether a description ends with a marker's text.
pub(super) fn ends_with(description: &str, text: &str) -> bool {
    description
        .strip_suffix(text)
        .is_some_and(|before| before.is_empty() || before.ends_with(' '))
}

/// Whether a description contains a marker of the same deployment.
pub fn is_of_deployment(description: &str, marker: &Marker) -> bool {
    let start = format!("stackloom:{}/", marker.deployment);
    let mut words = description.split(' ').rev();
    words.next().is_some_and(|last| last.starts_with(&start))
}

/// The tag of a server.
pub fn tag(marker: &Marker) -> String {
    format!("stackloom-{}", hash(marker))
}

/// The tag that all resources of a deployment share.
pub fn tag_of_deployment(marker: &Marker) -> String {
    format!("{DEPLOYMENT}{}", marker.deployment)
}

/// Whether the tags belong to the deployment. Resources from before the introduction of this tag count as its
/// resources.
pub fn is_tagged_of_deployment(tags: &[String], marker: &Marker) -> bool {
    let own = tag_of_deployment(marker);
    match tags.iter().find(|tag| tag.starts_with(DEPLOYMENT)) {
        Some(tag) => *tag == own,
        None => tags.iter().any(|tag| tag.starts_with("stackloom-")),
    }
}

/// The name of a resource whose name is its marker, because the template has no name.
pub fn marker_name(marker: &Marker) -> String {
    format!("stackloom-{}-{}", marker.deployment, marker.resource)
}

/// The display name in the cloud: that of the template, else `<deployment>-<resource>`.
pub fn physical_name(marker: &Marker, properties: &Map<String, Value>) -> String {
    let given = properties
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let name = given.map_or_else(
        || {
            // The display name does not contain the incarnation.
            let resource = marker.resource.split('#').next().unwrap_or_default();
            format!("{}-{resource}", marker.deployment_name)
        },
        str::to_string,
    );
    name.chars().take(CHARACTERS_MAX).collect()
}

/// The display name for types with names that are unique in the whole cloud: that of the template, else with a suffix
/// that is unique per marker.
pub fn unique_name(marker: &Marker, properties: &Map<String, Value>) -> String {
    unique_name_within(marker, properties, UNIQUE_CHARACTERS_MAX)
}

/// A unique name for a service with a lower limit. A name in the template is not shortened.
pub(super) fn unique_name_within(
    marker: &Marker,
    properties: &Map<String, Value>,
    characters_max: usize,
) -> String {
    let given = properties.get("name").and_then(Value::as_str);
    if given.is_some_and(|name| !name.is_empty()) {
        return physical_name(marker, properties);
    }
    let name = physical_name(marker, properties);
    let end = format!("-{}", &hash(marker)[..8]);
    let room = characters_max.saturating_sub(end.len());
    let name: String = name.chars().take(room).collect();
    name + &end
}

/// Removes the markers from attributes, at every depth: descriptions, tags and metadata become those of the template.
/// Names stay, as the cloud uses them.
pub fn hide(attributes: &mut Map<String, Value>) {
    for (name, value) in attributes.iter_mut() {
        match (name.as_str(), value) {
            ("description", Value::String(text)) => hide_in_description(text),
            ("tags", Value::Array(tags)) => {
                tags.retain(|tag| !tag.as_str().is_some_and(is_own_tag));
            }
            ("metadata" | "metadata_values", Value::Object(metadata)) => {
                metadata.retain(|key, _| !key.starts_with("stackloom"));
            }
            (_, value) => hide_inside(value),
        }
    }
}

fn hide_inside(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_inside),
        Value::Object(fields) => hide(fields),
        _ => {}
    }
}

fn hide_in_description(text: &mut String) {
    let mark = text.rfind("stackloom:");
    let is_word = |at: &usize| *at == 0 || text[..*at].ends_with(' ');
    if let Some(at) = mark.filter(is_word) {
        text.truncate(at.saturating_sub(1));
    }
}

fn is_own_tag(tag: &str) -> bool {
    tag == "stackloom" || tag.starts_with("stackloom-")
}

/// Resources by the text of their markers in the cloud.
pub(super) struct MarkerIndex<'a>(HashMap<String, &'a str>);

impl<'a> MarkerIndex<'a> {
    /// The texts of all markers of a search, in one of the forms above.
    pub(super) fn of(search: &'a Search<'_>, form: fn(&Marker) -> String) -> MarkerIndex<'a> {
        let texts = search.markers.iter();
        MarkerIndex(
            texts
                .map(|marker| (form(marker), marker.resource.as_str()))
                .collect(),
        )
    }

    /// The resource with this marker text.
    pub(super) fn equal(&self, text: &str) -> Option<&'a str> {
        self.0.get(text).copied()
    }

    /// The resource whose marker text is at the end of a text.
    pub(super) fn last_word(&self, text: &str) -> Option<&'a str> {
        // Names of resources can contain spaces.
        let mut starts = text.match_indices(' ').map(|(at, _)| at + 1);
        self.equal(text)
            .or_else(|| starts.find_map(|start| self.equal(&text[start..])))
    }
}

impl Search<'_> {
    /// A resource of a type whose name is the marker, or comes from the template.
    pub(super) fn marked_by_name(
        &self,
        marks: &MarkerIndex<'_>,
        id: String,
        name: String,
    ) -> Option<Marked> {
        if let Some(resource) = marks.equal(&name) {
            return Some(Marked::named(resource, id, Some(name)));
        }
        let mut names = self.names.iter();
        let (resource, _) = names.find(|(_, before)| before.are_joined_by(&id, &name))?;
        Some(Marked {
            proof: Proof::NameOnly,
            ..Marked::named(resource, id, Some(name))
        })
    }
}

impl Marked {
    /// A resource with a marker as evidence.
    pub(super) fn named(resource: &str, physical_id: String, name: Option<String>) -> Marked {
        Marked {
            resource: resource.to_owned(),
            physical_id,
            name: name.filter(|name| !name.is_empty()),
            proof: Proof::Mark,
        }
    }
}

fn hash(marker: &Marker) -> String {
    let digest = Sha256::digest(format!("{}/{}", marker.deployment, marker.resource));
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn marker(resource: &str) -> Marker {
        Marker {
            deployment: "d1".into(),
            deployment_name: "shop".into(),
            resource: resource.into(),
        }
    }

    #[test]
    fn a_persons_description_stays_in_front() {
        let web = marker("web");
        assert_eq!(description(&web, None), "stackloom:d1/web");
        assert_eq!(description(&web, Some(" mine ")), "mine stackloom:d1/web");
        assert!(carries("mine stackloom:d1/web", &web));
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        assert!(is_tagged_of_deployment(
            &tags(&["blue", "stackloom-in-d1"]),
            &web
        ));
        assert!(is_tagged_of_deployment(&tags(&["stackloom-0123"]), &web));
        assert!(!is_tagged_of_deployment(
            &tags(&["stackloom-0123", "stackloom-in-d2"]),
            &web
        ));
        assert!(!is_tagged_of_deployment(&tags(&["blue"]), &web));
        assert!(is_of_deployment("mine stackloom:d1/db", &web));
        assert!(!is_of_deployment("mine stackloom:d10/db", &web));
        assert!(!is_of_deployment("stackloom:d1/db was here", &web));
        assert!(!carries("stackloom:d1/web", &marker("eb")));
        assert!(!carries("stackloom:d1/web2", &web));
    }

    #[test]
    fn long_texts_keep_the_mark() {
        let web = marker("web");
        let long = description(&web, Some(&"ä".repeat(400)));
        assert_eq!(long.chars().count(), 255);
        assert!(carries(&long, &web));
        let long = marker(&"n".repeat(400));
        assert!(text(&long).len() < 100);
        assert_ne!(text(&long), text(&marker(&"m".repeat(400))));
    }

    #[test]
    fn short_fields_keep_the_mark() {
        let web = marker("web");
        let long = description_within(&web, Some(&"a".repeat(400)), 160);
        assert_eq!(long.chars().count(), 160);
        assert!(ends_with(&long, &text_within(&web, 160)));
        let long = marker(&"n".repeat(200));
        assert_ne!(text_within(&long, 160), text(&long));
        assert!(description_within(&long, None, 160).len() <= 160);
    }

    #[test]
    fn attributes_are_given_without_marks() {
        let mut attributes = json!({
            "description": "mine stackloom:d1/web",
            "tags": ["blue", "stackloom", "stackloom-in-d1"],
            "metadata": {"tier": "web", "stackloom_deployment": "d1"},
            "name": "stackloom-d1-web",
            "show": {"description": "stackloom:d1/web", "metadata": {"stackloom": "stackloom:d1/web"}},
        });
        hide(attributes.as_object_mut().unwrap());
        assert_eq!(
            attributes,
            json!({
                "description": "mine",
                "tags": ["blue"],
                "metadata": {"tier": "web"},
                "name": "stackloom-d1-web",
                "show": {"description": "", "metadata": {}},
            })
        );
    }

    #[test]
    fn a_tag_fits_novas_rules() {
        let tag = tag(&marker("web"));
        assert_eq!(tag.len(), "stackloom-".len() + 32);
        assert!(tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    }

    #[test]
    fn the_templates_name_goes_first() {
        let named = json!({"name": "front"});
        let none = json!({});
        assert_eq!(
            physical_name(&marker("web"), named.as_object().unwrap()),
            "front"
        );
        assert_eq!(
            physical_name(&marker("web"), none.as_object().unwrap()),
            "shop-web"
        );
    }

    #[test]
    fn what_is_made_up_for_the_whole_cloud_is_nobody_elses() {
        let none = Map::new();
        let name = unique_name(&marker("ops"), &none);
        assert!(name.starts_with("shop-ops-") && name.len() == 17, "{name}");
        assert_ne!(name, unique_name(&marker("ops#1"), &none));
        assert_eq!(unique_name(&marker(&"n".repeat(99)), &none).len(), 64);
        let named = json!({"name": "front"});
        assert_eq!(
            unique_name(&marker("ops"), named.as_object().unwrap()),
            "front"
        );
    }
}
