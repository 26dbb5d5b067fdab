//! Differences of two versions of a design: entries of the template's sections, files beside it, positions.

use hot::{
    bundle::Bundle,
    document::{Document, Piece},
};

use crate::layout::Places;

/// A version of a design.
#[derive(Clone, Debug)]
pub struct Version {
    /// The template.
    pub document: Document,
    /// Files and environments beside the template.
    pub bundle: Bundle,
    /// Positions of the nodes.
    pub places: Places,
}

/// Distance between two positions that count as the same, in canvas pixels.
const SAME_PLACE: f64 = 0.5;

/// Kind of a difference between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The entry is in the newer version only.
    Added,
    /// The text of the entry differs.
    Changed,
    /// The entry is in the older version only.
    Removed,
}

/// An entry of a section, a section without entries, or a file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Key of the section: `resources`. [`FILES`] or [`ENVIRONMENTS`] beside the template.
    pub section: String,
    /// The entry's name. `None` for the text of a section itself.
    pub name: Option<String>,
    /// Kind.
    pub kind: Kind,
    /// Text in the older version, empty if it is not there.
    pub old: String,
    /// Text in the newer version, empty if it is not there.
    pub new: String,
}

/// Section of files beside the template.
pub const FILES: &str = "files";
/// Section of the names of environments.
pub const ENVIRONMENTS: &str = "environments";

impl Difference {
    /// Name of the resource, if it is one.
    pub fn resource(&self) -> Option<&str> {
        let name = self.name.as_deref();
        name.filter(|_| self.section == "resources")
    }
}

/// All differences, in the order of the newer version. Removed entries come last in their section, removed sections at the end.
/// If a text has a syntax error, both are compared as a whole.
pub fn compare(old: &Document, new: &Document) -> Vec<Difference> {
    let (old, new) = (old.pieces(), new.pieces());
    let mut found = Vec::new();
    for (key, old, new) in pairs(&old, &new) {
        let sections = old.zip(new);
        let Some((old, new)) = sections.filter(|(old, new)| {
            old.head == new.head && !(old.entries.is_empty() || new.entries.is_empty())
        }) else {
            found.extend(difference(key, None, old, new));
            continue;
        };
        for (name, old, new) in pairs(old, new) {
            found.extend(difference(key, Some(name), old, new));
        }
    }
    if found.is_empty() && (old.entries.is_empty() || new.entries.is_empty()) {
        found.extend(difference("", None, Some(&old), Some(&new)));
    }
    found
}

/// Files that differ, by their paths, and the names of environments if they differ.
pub fn compare_files(old: &Bundle, new: &Bundle) -> Vec<Difference> {
    let difference = |section: &str, name: Option<&str>, old: Option<&str>, new: Option<&str>| {
        let kind = match (old, new) {
            (None, _) => Kind::Added,
            (_, None) => Kind::Removed,
            _ => Kind::Changed,
        };
        (old != new).then(|| Difference {
            section: section.to_owned(),
            name: name.map(str::to_owned),
            kind,
            old: old.unwrap_or_default().to_owned(),
            new: new.unwrap_or_default().to_owned(),
        })
    };
    let there = new
        .files()
        .filter_map(|(path, text)| difference(FILES, Some(path), old.text(path), Some(text)));
    let gone = old.files().filter(|(path, _)| new.text(path).is_none());
    let gone = gone.filter_map(|(path, text)| difference(FILES, Some(path), Some(text), None));
    let environments = difference(
        ENVIRONMENTS,
        None,
        Some(&old.environments().join("\n")),
        Some(&new.environments().join("\n")),
    );
    there.chain(gone).chain(environments).collect()
}

/// Number of nodes that are in both versions, at different positions.
pub fn moved(old: &Places, new: &Places) -> usize {
    let is_moved = |name: &String| {
        let (old, new) = (old.get(name), new.get(name));
        old.zip(new).is_some_and(|(old, new)| {
            (old.x - new.x).abs() > SAME_PLACE || (old.y - new.y).abs() > SAME_PLACE
        })
    };
    new.keys().filter(|name| is_moved(name)).count()
}

/// Entries of two pieces by their keys.
fn pairs<'p, 't>(
    old: &'p Piece<'t>,
    new: &'p Piece<'t>,
) -> Vec<(&'t str, Option<&'p Piece<'t>>, Option<&'p Piece<'t>>)> {
    let find = |piece: &'p Piece<'t>, key: &str| piece.entries.iter().find(|one| one.key == key);
    let there = new.entries.iter();
    let there = there.map(|new| (new.key, find(old, new.key), Some(new)));
    let gone = old
        .entries
        .iter()
        .filter(|old| find(new, old.key).is_none());
    there
        .chain(gone.map(|old| (old.key, Some(old), None)))
        .collect()
}

fn difference(
    section: &str,
    name: Option<&str>,
    old: Option<&Piece<'_>>,
    new: Option<&Piece<'_>>,
) -> Option<Difference> {
    let text =
        |piece: Option<&Piece<'_>>| piece.map_or("", |piece| piece.text.trim_end()).to_owned();
    let kind = match (old, new) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Removed,
        _ => Kind::Changed,
    };
    let (old, new) = (text(old), text(new));
    (old != new).then(|| Difference {
        section: section.to_owned(),
        name: name.map(str::to_owned),
        kind,
        old,
        new,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{geometry::CanvasPoint, layout::Place};

    fn compared(old: &str, new: &str) -> Vec<(String, Kind)> {
        let found = compare(&Document::parse(old), &Document::parse(new));
        let path = |one: &Difference| match &one.name {
            Some(name) => format!("{}.{name}", one.section),
            None => one.section.clone(),
        };
        found.iter().map(|one| (path(one), one.kind)).collect()
    }

    #[test]
    fn entries_of_sections_are_compared() {
        let old = "resources:\n  a: {type: A}\n  b: {type: B}\noutputs:\n  x: {value: 1}\n";
        let new = "resources:\n  c: {type: C}\n  a: {type: Z}\nparameters: {}\n";
        assert_eq!(
            compared(old, new),
            [
                ("resources.c".to_owned(), Kind::Added),
                ("resources.a".to_owned(), Kind::Changed),
                ("resources.b".to_owned(), Kind::Removed),
                ("parameters".to_owned(), Kind::Added),
                ("outputs".to_owned(), Kind::Removed),
            ]
        );
        assert_eq!(compared(old, old), []);
    }

    #[test]
    fn files_are_compared_by_their_paths() {
        let bundle = |files: &[(&str, &str)], environments: &[&str]| {
            let files = files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            Bundle::new(files, environments.iter().map(|name| (*name).to_owned()))
        };
        let old = bundle(
            &[("a.sh", "1"), ("b.sh", "2"), ("env.yaml", "parameters: {}")],
            &[],
        );
        let new = bundle(
            &[("b.sh", "3"), ("c.sh", "4"), ("env.yaml", "parameters: {}")],
            &["env.yaml"],
        );
        let found = compare_files(&old, &new);
        let kinds: Vec<_> = found
            .iter()
            .map(|one| (one.section.as_str(), one.name.as_deref(), one.kind))
            .collect();
        assert_eq!(
            kinds,
            [
                (FILES, Some("b.sh"), Kind::Changed),
                (FILES, Some("c.sh"), Kind::Added),
                (FILES, Some("a.sh"), Kind::Removed),
                (ENVIRONMENTS, None, Kind::Changed),
            ]
        );
        assert_eq!(compare_files(&old, &old), []);
    }

    #[test]
    fn moved_nodes_are_counted_if_they_are_in_both_versions() {
        let places = |all: &[(&str, f64)]| -> Places {
            let all = all.iter();
            all.map(|(name, x)| ((*name).to_owned(), Place::at(CanvasPoint::new(*x, 0.0))))
                .collect()
        };
        let old = places(&[("a", 0.0), ("b", 8.0), ("gone", 0.0)]);
        let new = places(&[("a", 0.0), ("b", 16.0), ("new", 0.0)]);
        assert_eq!(moved(&old, &new), 1);
        assert_eq!(moved(&old, &old), 0);
    }

    #[test]
    fn a_text_with_a_syntax_error_is_compared_as_a_whole() {
        assert_eq!(
            compared("resources: {}\n", "resources: [\n"),
            [("resources".to_owned(), Kind::Removed)]
        );
        assert_eq!(
            compared("a: [\n", "a: {\n"),
            [(String::new(), Kind::Changed)]
        );
    }
}
