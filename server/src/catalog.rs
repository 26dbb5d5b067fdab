//! The service catalogue as pages and checks see it.
//!
//! The engine's loader reads the folder, one folder an item; here the items are made fit for a
//! browser. Read once, at start: an item that cannot be understood is left out and named in the log,
//! and the others, and the server, go on without it.

use std::{io, path::Path};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use topology::{catalog::CatalogItem, types::Registry};

/// Items and, made from them and the OpenStack types, all resource types.
pub struct Catalog {
    items: Vec<CatalogItem>,
    types: Registry,
    described: Described,
}

impl Catalog {
    /// All items below `folder`; what is wrong with the rest goes to the log.
    ///
    /// # Errors
    /// Where the folder cannot be read; one that is missing is empty.
    pub fn load(folder: &Path) -> io::Result<Catalog> {
        let loaded = engine::catalog::Catalog::load(folder)?;
        for problem in &loaded.problems {
            for diagnostic in &problem.diagnostics {
                let place = folder.join(&problem.folder);
                let line = diagnostic
                    .line
                    .map(|line| format!(" line {line}"))
                    .unwrap_or_default();
                let path = &diagnostic.path;
                tracing::warn!(
                    "catalogue item {} is left out: {path}{line}: {}",
                    place.display(),
                    diagnostic.message
                );
            }
        }
        let mut items: Vec<CatalogItem> = loaded.items().cloned().collect();
        for item in &mut items {
            if !is_harmless(&item.icon) {
                tracing::warn!(
                    "the icon of catalogue item `{}` is more than a drawing and is not shown",
                    item.name
                );
                item.icon.clear();
            }
        }
        let types = Registry::openstack().with_catalog(items.iter().cloned());
        let described = Described::new(&types).map_err(io::Error::other)?;
        Ok(Catalog {
            items,
            types,
            described,
        })
    }

    /// All items, by name.
    pub fn items(&self) -> &[CatalogItem] {
        &self.items
    }

    /// An item by name.
    pub fn item(&self, name: &str) -> Option<&CatalogItem> {
        self.items.iter().find(|item| item.name == name)
    }

    /// All resource types, those of the items included.
    pub fn types(&self) -> &Registry {
        &self.types
    }

    /// All resource types as an answer.
    pub fn described(&self) -> &Described {
        &self.described
    }
}

/// All resource types in JSON. They stay the same while the server runs, and a browser asks for them at every design
/// that is opened: so they are written once, and sent only to who has not got them yet.
pub struct Described {
    json: Bytes,
    tag: HeaderValue,
}

impl Described {
    fn new(types: &Registry) -> serde_json::Result<Described> {
        let json = serde_json::to_vec(&types.iter().collect::<Vec<_>>())?;
        let hash = Sha256::digest(&json);
        let words: String = hash[..12]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        // Weak, for the answer may be compressed on its way.
        let tag = HeaderValue::from_str(&format!("W/\"{words}\"")).expect("hex digits in quotes");
        Ok(Described {
            json: json.into(),
            tag,
        })
    }

    /// The descriptions, or "not modified" where the request names the very ones that we have.
    pub fn answer(&self, request: &HeaderMap) -> Response {
        let headers = [
            (header::ETAG, self.tag.clone()),
            (
                header::CACHE_CONTROL,
                HeaderValue::from_static("private, no-cache"),
            ),
        ];
        let known = request
            .get(header::IF_NONE_MATCH)
            .and_then(|tags| tags.to_str().ok())
            .unwrap_or_default();
        let is_known = known
            .split(',')
            .any(|tag| tag.trim().as_bytes() == self.tag.as_bytes());
        if is_known {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let kind = [(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )];
        (headers, kind, self.json.clone()).into_response()
    }
}

/// Whether a picture holds nothing but drawing: no script, no link, no foreign content. Strict on
/// purpose: icons are small, and one that is refused is shown as a plain tile.
fn is_harmless(svg: &str) -> bool {
    const FORBIDDEN: [&str; 11] = [
        "<script",
        "<foreignobject",
        "<iframe",
        "<image",
        "<use",
        "<a ",
        "<style",
        "<!",
        "href",
        "javascript:",
        "url(",
    ];
    let lower = svg.to_ascii_lowercase();
    let is_handler = |word: &str| {
        let name = word
            .split_once('=')
            .and_then(|(name, _)| name.trim_end().strip_prefix("on"));
        name.is_some_and(|event| event.chars().all(|c| c.is_ascii_alphabetic()))
    };
    let mut words = lower.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/'));
    svg.is_empty()
        || (lower.trim_start().starts_with("<svg")
            && svg.len() < 16 * 1024
            && !words.any(is_handler)
            && !FORBIDDEN.iter().any(|word| lower.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icon_that_does_more_than_draw_is_left_out() {
        assert!(is_harmless(
            r#"<svg viewBox="0 0 24 24"><path d="M4 4h16"/></svg>"#
        ));
        for bad in [
            r#"<svg><script>alert(1)</script></svg>"#,
            r#"<svg onload="alert(1)"></svg>"#,
            r#"<svg/onload="alert(1)"></svg>"#,
            r#"<svg><a xlink:href="javascript:alert(1)"/></svg>"#,
            r#"<svg><rect fill="url(http://evil/x)"/></svg>"#,
            r#"<!DOCTYPE svg><svg/>"#,
            "hello",
        ] {
            assert!(!is_harmless(bad), "{bad}");
        }
    }

    #[test]
    fn our_own_items_all_load_with_their_icons() {
        let catalog = Catalog::load(Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../catalog"
        )))
        .unwrap();
        for name in ["haproxy", "nginx", "script"] {
            let item = catalog
                .item(name)
                .unwrap_or_else(|| panic!("{name} is left out"));
            assert!(item.icon.starts_with("<svg"), "{name} has no icon");
            assert!(
                catalog
                    .types()
                    .get(&format!("Stackloom::Catalog::{name}"))
                    .is_some()
            );
        }
    }

    #[test]
    fn descriptions_are_sent_once() {
        let catalog = Catalog::load(Path::new("nowhere")).unwrap();
        let first = catalog.described().answer(&HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let again =
            HeaderMap::from_iter([(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone())]);
        let second = catalog.described().answer(&again);
        assert_eq!(second.status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn a_missing_folder_and_a_broken_item_are_not_fatal() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            Catalog::load(&folder.path().join("nowhere"))
                .unwrap()
                .items()
                .is_empty()
        );
        let item = folder.path().join("nginx");
        std::fs::create_dir_all(&item).unwrap();
        std::fs::write(item.join("item.yml"), "name: [").unwrap();
        assert!(Catalog::load(folder.path()).unwrap().items().is_empty());
    }
}
