//! The service catalogue as it lies on disk: one folder an item.
//!
//! ```text
//! catalog/nginx/item.yml                 what Ansible has no word for
//! catalog/nginx/meta/argument_specs.yml  the role's inputs
//! catalog/nginx/README.md                for people
//! catalog/nginx/icon.svg                 for the palette
//! ```
//!
//! Read once, at start. An item that cannot be understood is left out and named in the log with file
//! and line; the others, and the server, go on without it. The engine reads the role's own files
//! when it needs them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use topology::{catalog::CatalogItem, types::Registry};

/// Items and, made from them and the OpenStack types, all resource types.
pub struct Catalog {
    items: Vec<CatalogItem>,
    types: Registry,
}

/// Why an item was left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file at fault.
    pub file: PathBuf,
    /// 1-based, where it is known.
    pub line: Option<u32>,
    /// One sentence.
    pub why: String,
}

impl Catalog {
    /// All items below `folder`, and what was wrong with the rest.
    pub fn load(folder: &Path) -> (Catalog, Vec<Refused>) {
        let mut items = Vec::new();
        let mut refused = Vec::new();
        match folders(folder) {
            Ok(folders) => {
                for item in folders {
                    match load_item(&item) {
                        Ok(item) => items.push(item),
                        Err(problems) => refused.extend(problems),
                    }
                }
            }
            Err(error) => refused.push(Refused {
                file: folder.into(),
                line: None,
                why: error.to_string(),
            }),
        }
        let types = Registry::openstack().with_catalog(items.iter().cloned());
        (Catalog { items, types }, refused)
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

/// Folders with an `item.yml`, by name.
fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.join("item.yml").is_file() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

fn load_item(folder: &Path) -> Result<CatalogItem, Vec<Refused>> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file).map_err(|error| {
            vec![Refused {
                file,
                line: None,
                why: error.to_string(),
            }]
        })
    };
    let mut item = CatalogItem::parse(&read("item.yml")?, &read("meta/argument_specs.yml")?)
        .map_err(|diagnostics| {
            diagnostics
                .into_iter()
                .map(|d| {
                    // The parser names the file first where it is not the manifest.
                    let name = d
                        .path
                        .split(['#', ':'])
                        .next()
                        .filter(|name| name.ends_with(".yml"))
                        .unwrap_or("item.yml");
                    Refused {
                        file: folder.join(name),
                        line: d.line,
                        why: d.message,
                    }
                })
                .collect::<Vec<_>>()
        })?;
    if folder.file_name().and_then(|name| name.to_str()) != Some(&item.name) {
        let why = format!(
            "the item is named `{}`; its folder must have the same name",
            item.name
        );
        return Err(vec![Refused {
            file: folder.join("item.yml"),
            line: None,
            why,
        }]);
    }
    // Both are for people; an item works without them.
    item.readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    item.icon = fs::read_to_string(folder.join("icon.svg"))
        .ok()
        .filter(|svg| is_harmless(svg))
        .unwrap_or_default();
    Ok(item)
}

/// Whether a picture holds nothing but drawing: no script, no link, no foreign content. Strict on
/// purpose: icons are small and ours or reviewed; what is refused is shown as a plain tile.
fn is_harmless(svg: &str) -> bool {
    const FORBIDDEN: [&str; 10] = [
        "<script",
        "<foreignobject",
        "<iframe",
        "<image",
        "<use",
        "<a ",
        "<!",
        "href",
        "javascript:",
        "url(",
    ];
    let lower = svg.to_ascii_lowercase();
    let has_handler = lower
        .split(|c: char| c.is_whitespace() || c == '"' || c == '\'')
        .any(|word| {
            word.strip_prefix("on")
                .and_then(|rest| rest.split_once('='))
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphabetic()))
        });
    lower.trim_start().starts_with("<svg")
        && svg.len() < 16 * 1024
        && !has_handler
        && !FORBIDDEN.iter().any(|word| lower.contains(word))
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
            r#"<svg><a xlink:href="javascript:alert(1)"/></svg>"#,
            r#"<svg><rect fill="url(http://evil/x)"/></svg>"#,
            r#"<!DOCTYPE svg><svg/>"#,
            "hello",
        ] {
            assert!(!is_harmless(bad), "{bad}");
        }
    }

    #[test]
    fn a_missing_folder_and_a_broken_item_are_named_and_not_fatal() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("nowhere");
        assert_eq!(Catalog::load(&missing).1[0].file, missing);

        let item = folder.path().join("nginx");
        fs::create_dir_all(&item).unwrap();
        fs::write(item.join("item.yml"), "name: nginx\n").unwrap();
        let (catalog, refused) = Catalog::load(folder.path());
        assert!(catalog.items().is_empty());
        assert_eq!(refused[0].file, item.join("meta/argument_specs.yml"));
    }
}
