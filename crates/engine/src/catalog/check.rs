//! Whether files make an item: the same for the server's own and for a stranger's.

use topology::{catalog::CatalogItem, diagnostic::Diagnostic};

use super::Files;

/// Bytes of a file that is read here; the others are for the sandbox alone.
const TEXT_BYTES_MAX: usize = 256 * 1024;
const ICON_BYTES_MAX: usize = 16 * 1024;

/// What the files describe.
///
/// # Errors
/// All that is wrong with them; paths begin with a file's name.
pub fn item(files: &Files) -> Result<CatalogItem, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut text = |path: &str| match files.get(path).map(Vec::as_slice) {
        None => String::new(),
        Some(bytes) if bytes.len() > TEXT_BYTES_MAX => {
            problems.push(invalid(
                path,
                format!("it has more than {} KiB", TEXT_BYTES_MAX / 1024),
            ));
            String::new()
        }
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                problems.push(invalid(path, "it is no UTF-8 text".to_owned()));
                String::new()
            }
        },
    };
    let (manifest, specs) = (text("item.yml"), text("meta/argument_specs.yml"));
    let (icon, readme) = (text("icon.svg"), text("README.md"));
    if !is_harmless(&icon) {
        problems.push(invalid(
            "icon.svg",
            "it is more than a drawing of at most 16 KiB: no scripts, styles, links or pictures inside"
                .to_owned(),
        ));
    }
    if !(files.contains_key("tasks/main.yml") || files.contains_key("tasks/main.yaml")) {
        problems.push(invalid(
            "tasks/main.yml",
            "it is missing: the role does nothing without".to_owned(),
        ));
    }
    match CatalogItem::parse(&manifest, &specs) {
        Ok(item) if problems.is_empty() => Ok(CatalogItem {
            icon,
            readme,
            ..item
        }),
        Ok(_) => Err(problems),
        Err(found) => Err(found.into_iter().chain(problems).collect()),
    }
}

fn invalid(path: &str, what: String) -> Diagnostic {
    Diagnostic::error("item-invalid", path, format!("{path}: {what}"))
}

/// Whether a picture holds nothing but drawing: no script, no link, no foreign content. Strict on
/// purpose: icons are small.
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
            && svg.len() <= ICON_BYTES_MAX
            && !words.any(is_handler)
            && !FORBIDDEN.iter().any(|word| lower.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icon_that_does_more_than_draw_is_refused() {
        assert!(is_harmless(
            r#"<svg viewBox="0 0 24 24"><path d="M4 4h16"/></svg>"#
        ));
        for bad in [
            r#"<svg><script>alert(1)</script></svg>"#,
            r#"<svg onload="alert(1)"></svg>"#,
            r#"<svg/onload="alert(1)"></svg>"#,
            r#"<svg><a xlink:href="javascript:alert(1)"/></svg>"#,
            r#"<svg><foreignObject/></svg>"#,
            "<html></html>",
        ] {
            assert!(!is_harmless(bad), "{bad}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let files = Files::from([
            ("item.yml".to_owned(), b"name: \xff".to_vec()),
            ("README.md".to_owned(), vec![b'x'; TEXT_BYTES_MAX + 1]),
            ("icon.svg".to_owned(), b"<script/>".to_vec()),
        ]);
        let problems = item(&files).unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "item.yml",
                "argument_specs.yml",
                "item.yml",
                "README.md",
                "icon.svg",
                "tasks/main.yml"
            ]
        );
    }
}
