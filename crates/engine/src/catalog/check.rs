//! Checks if files form an item. The rules are the same for the server's own items and for uploads.

use hot::diagnostic::Diagnostic;
use types::catalog::{CatalogItem, INSTALLATION_TASKS, REMOVAL_TASKS, role::MANIFEST_FILE};

use super::Files;

/// Maximum size of a file that is parsed here, in bytes. Only the sandbox reads the other files.
const TEXT_BYTES_MAX: usize = 256 * 1024;
const ICON_BYTES_MAX: usize = 16 * 1024;

/// The item in the files.
///
/// # Errors
/// All problems of the files. Paths begin with a file's name.
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
    if !is_drawing(&icon) {
        problems.push(invalid(
            "icon.svg",
            format!(
                "it is not a plain drawing of at most {} KiB: only {}, with places, sizes, fills and strokes as attributes, make an icon",
                ICON_BYTES_MAX / 1024,
                ELEMENTS.join(", "),
            ),
        ));
    }
    if !(files.contains_key("tasks/main.yml") || files.contains_key("tasks/main.yaml")) {
        problems.push(invalid(
            "tasks/main.yml",
            "it is missing: a role needs tasks".to_owned(),
        ));
    }
    if !files.contains_key(MANIFEST_FILE) {
        let message = "the role has no `item.yml`, the manifest";
        problems.push(Diagnostic::error(
            "manifest-missing",
            MANIFEST_FILE,
            message,
        ));
        return Err(problems);
    }
    let parsed = CatalogItem::parse(&manifest, &specs);
    let commands = parsed.iter().flat_map(|item| &item.commands);
    for command in commands.filter(|command| !files.contains_key(&command.tasks)) {
        let message = format!(
            "it is missing: the command `{}` names it in `item.yml`",
            command.name
        );
        problems.push(invalid(&command.tasks, message));
    }
    match parsed {
        Ok(item) if problems.is_empty() => Ok(CatalogItem {
            icon,
            readme,
            removes: files.contains_key(REMOVAL_TASKS),
            installs: files.contains_key(INSTALLATION_TASKS),
            ..item
        }),
        Ok(_) => Err(problems),
        Err(found) => Err(found.into_iter().chain(problems).collect()),
    }
}

fn invalid(path: &str, what: String) -> Diagnostic {
    Diagnostic::error("item-invalid", path, format!("{path}: {what}"))
}

/// Allowed elements of an icon. Names are case-sensitive, as in SVG.
const ELEMENTS: [&str; 10] = [
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "title",
];
/// Allowed attributes of an icon, besides those that begin with `stroke-` or `fill-`.
const ATTRIBUTES: [&str; 23] = [
    "viewBox",
    "preserveAspectRatio",
    "version",
    "width",
    "height",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "d",
    "points",
    "pathLength",
    "transform",
    "fill",
    "stroke",
    "opacity",
];
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// True if an icon contains only shapes and their presentation attributes. An allow list on purpose: icons are small,
/// and a deny list is never complete.
pub(super) fn is_drawing(svg: &str) -> bool {
    svg.is_empty() || (svg.len() <= ICON_BYTES_MAX && read_drawing(svg.trim()).is_some())
}

/// `None` at the first part that is not allowed in an icon. Comments, processing instructions and declarations are not
/// allowed.
fn read_drawing(mut rest: &str) -> Option<()> {
    let mut open: Vec<&str> = Vec::new();
    loop {
        rest = rest.strip_prefix('<')?;
        if let Some(end) = rest.strip_prefix('/') {
            let (name, after) = end.split_once('>')?;
            if open.pop()? != name.trim_end() {
                return None;
            }
            rest = after;
        } else {
            let (name, after) = split_name(rest);
            if !ELEMENTS.contains(&name) || (open.is_empty() && name != "svg") {
                return None;
            }
            let (is_closed, after) = read_attributes(after)?;
            if !is_closed {
                open.push(name);
            }
            rest = after;
        }
        if open.is_empty() {
            return rest.is_empty().then_some(());
        }
        rest = &rest[rest.find('<')?..];
    }
}

/// True if the element ends with its start tag; and the text after the tag.
fn read_attributes(mut rest: &str) -> Option<(bool, &str)> {
    loop {
        let next = rest.trim_start();
        if let Some(after) = next.strip_prefix("/>") {
            return Some((true, after));
        }
        if let Some(after) = next.strip_prefix('>') {
            return Some((false, after));
        }
        let (name, after) = split_name(next);
        let value = after.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = value[1..].split_once(quote)?;
        let is_harmless = match name {
            "xmlns" => value == NAMESPACE,
            _ => may_be_said(name) && is_plain(value),
        };
        if next.len() == rest.len() || !is_harmless {
            return None;
        }
        rest = after;
    }
}

fn split_name(text: &str) -> (&str, &str) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.split_at(text.find(|c| !is_of_name(c)).unwrap_or(text.len()))
}

fn may_be_said(name: &str) -> bool {
    ATTRIBUTES.contains(&name) || name.starts_with("stroke-") || name.starts_with("fill-")
}

/// True for numbers, colours and words: no references to other objects, and no escapes that could hide one.
fn is_plain(value: &str) -> bool {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || ".,-+#%()/".contains(c);
    value.chars().all(is_plain) && !value.to_ascii_lowercase().contains("url(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icon_with_scripts_or_links_is_refused() {
        for good in [
            "",
            r#"<svg viewBox="0 0 24 24"><path d="M4 4h16"/></svg>"#,
            "<svg xmlns='http://www.w3.org/2000/svg' fill=\"none\" stroke-width = '1.5'>\n  \
             <title>A &amp; B</title><g transform=\"rotate(45 12 12)\"><circle r=\"2\" fill=\"rgb(0 0 0 / 50%)\"/></g></svg>\n",
        ] {
            assert!(is_drawing(good), "{good}");
        }
        for bad in [
            r#"<svg><script>alert(1)</script></svg>"#,
            r#"<svg onload="alert(1)"></svg>"#,
            r#"<svg onload = "alert(1)"></svg>"#,
            r#"<svg/onload="alert(1)"></svg>"#,
            r#"<svg><a xlink:href="javascript:alert(1)"/></svg>"#,
            r#"<svg><foreignObject/></svg>"#,
            r#"<svg><p><meta http-equiv="refresh" content="0"/></p></svg>"#,
            r#"<svg style="position:fixed;inset:0"></svg>"#,
            r#"<svg><path fill="url(https://example.org/)"/></svg>"#,
            r#"<svg><path fill="u\72l(https://example.org/)"/></svg>"#,
            r#"<svg xmlns="http://www.w3.org/1999/xhtml"></svg>"#,
            r#"<svg><path d="M4 4"fill="none"/></svg>"#,
            r#"<svg><g></svg></g>"#,
            r#"<svg></svg><p/>"#,
            r#"<svg><!-- --></svg>"#,
            r#"<svg><path d="M4 4"#,
            "<path/>",
            "<html></html>",
        ] {
            assert!(!is_drawing(bad), "{bad}");
        }
    }

    #[test]
    fn the_tasks_of_a_command_must_be_there() {
        let manifest = "name: web\ntitle: Web\nversion: 1.0.0\nsummary: A server.\ncategory: web\n\
            commands:\n  - {name: reload, summary: Reads its files again., tasks: tasks/reload.yml}\n";
        let mut files = Files::from([
            ("item.yml".to_owned(), manifest.into()),
            (
                "meta/argument_specs.yml".to_owned(),
                b"argument_specs: {main: {}}".to_vec(),
            ),
            ("tasks/main.yml".to_owned(), b"[]".to_vec()),
        ]);
        let problems = item(&files).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0]
                .message
                .contains("the command `reload` names it")
        );
        files.insert("tasks/reload.yml".to_owned(), b"[]".to_vec());
        let found = item(&files).unwrap();
        assert_eq!(found.command("reload").unwrap().tasks_from(), "reload.yml");
    }

    #[test]
    fn all_problems_of_an_item_are_reported_at_once() {
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
