//! Differences of two versions of a design, by entries of their sections.

use hot::document::{Document, Piece};

/// How an entry differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is in the newer version only.
    Added,
    /// It has another text.
    Changed,
    /// It is in the older version only.
    Removed,
}

/// An entry of a section, or a section without entries, that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Key of the section: `resources`.
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
