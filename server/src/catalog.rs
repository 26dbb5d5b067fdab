//! The service catalogue as pages and checks see it.
//!
//! The engine's loader reads the folder, one folder an item; here the items are made fit for a
//! browser. Read once, at start: an item that cannot be understood is left out and named in the log,
//! and the others, and the server, go on without it.

use std::{io, path::Path};

use topology::{catalog::CatalogItem, types::Registry};

/// Items and, made from them and the OpenStack types, all resource types.
pub struct Catalog {
    items: Vec<CatalogItem>,
    types: Registry,
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
        Ok(Catalog { items, types })
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
        for name in ["haproxy", "nginx"] {
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
