//! `style/main.css` with its imports inlined: one file, one request.
//!
//! Supported imports: `@import "file.css";` with an optional `layer(name)`, one per line, of a file beside the
//! importing one. A layer becomes a block; the cascade is unchanged.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{Profile, files};
use crate::paths;

/// Writes `pkg/stackloom.css`.
pub fn build(profile: Profile) -> Result<()> {
    let main = paths::root().join("style/main.css");
    if !main.is_file() {
        eprintln!(
            "warning: there is no {}, so no style sheet is made",
            main.display()
        );
        return Ok(());
    }
    let text = inline(&main, profile)?;
    if let Some(class) = defined_twice(&text) {
        bail!("two style sheets define `{class}`; the later one would change the other's elements");
    }
    files::write_if_changed(&paths::pkg().join("stackloom.css"), text.as_bytes())
}

/// A class with two rules of its own, `.class {` at the first level of a layer: two components have the same name.
fn defined_twice(text: &str) -> Option<&str> {
    let mut seen = HashSet::new();
    let mut is_listed = false;
    text.lines().find_map(|line| {
        // The last of several selectors.
        let is_of_list = std::mem::replace(&mut is_listed, line.ends_with(','));
        let class = line.strip_prefix("  .")?.split_once(" {")?.0;
        let is_plain = class
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (is_plain && !is_of_list && !seen.insert(class)).then_some(class)
    })
}

fn inline(file: &Path, profile: Profile) -> Result<String> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match import(line) {
            Some(Import { path, layer }) => {
                if path.contains("://") || path.starts_with("//") {
                    bail!(
                        "{} imports {path} from elsewhere; everything is served by us",
                        file.display()
                    );
                }
                let imported = folder.join(path);
                if profile == Profile::Dev && !imported.exists() {
                    eprintln!(
                        "warning: {} imports {path}, which is not there yet",
                        file.display()
                    );
                    continue;
                }
                let inner = inline(&imported, profile)?;
                match layer {
                    Some(layer) => out.push_str(&format!("@layer {layer} {{\n{inner}}}\n")),
                    None => out.push_str(&inner),
                }
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    Ok(out)
}

#[derive(Debug, PartialEq)]
struct Import<'a> {
    path: &'a str,
    layer: Option<&'a str>,
}

fn import(line: &str) -> Option<Import<'_>> {
    let rest = line
        .trim()
        .strip_prefix("@import")?
        .trim()
        .strip_suffix(';')?
        .trim();
    let rest = rest
        .strip_prefix("url(")
        .and_then(|inner| inner.split_once(')'))
        .map_or_else(
            || {
                let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                rest[1..].split_once(quote)
            },
            |(path, rest)| Some((path.trim_matches(['"', '\'']), rest)),
        )?;
    let (path, after) = rest;
    let layer = after
        .trim()
        .strip_prefix("layer(")
        .and_then(|inner| inner.strip_suffix(')'));
    Some(Import { path, layer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_components_with_one_name_are_refused() {
        let layer = "@layer components {\n  .picker { width: 1px; }\n  .picker:hover { top: 0; }\n";
        assert_eq!(defined_twice(layer), None);
        let other = "  @media print {\n    .picker { width: 2px; }\n  }\n";
        assert_eq!(defined_twice(&format!("{layer}{other}")), None);
        assert_eq!(defined_twice(&layer.repeat(2)), Some("picker"));
    }

    #[test]
    fn imports_are_read_in_every_form_that_we_write() {
        let plain = Some(Import {
            path: "tokens.css",
            layer: None,
        });
        assert_eq!(import(r#"@import "tokens.css";"#), plain);
        assert_eq!(import("  @import url('tokens.css');"), plain);
        assert_eq!(
            import(r#"@import "a/b.css" layer(base);"#),
            Some(Import {
                path: "a/b.css",
                layer: Some("base")
            })
        );
        assert_eq!(import("body { color: red; }"), None);
    }
}
