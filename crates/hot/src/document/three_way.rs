//! Three-way merge of a document's text, by entries of maps.
//!
//! A merge by lines, as in version control, calls it a conflict if two people each add a resource at the end of a template, and none
//! if one removes the resource that the other begins to use. So the pieces that are merged are entries: sections, resources,
//! properties, and keys of maps in properties. An entry that only one side changed is taken from that side, with its comments
//! and its form. An entry that both sides changed is merged by its own entries, and is a conflict if it has none. Also a conflict:
//! one side removes what the other changes or begins to refer to.
//!
//! Without conflicts the result does not depend on which side comes first. Entries that both sides add at the same place are
//! ordered by their keys.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Document,
    pieces::Piece,
    references::{self, entries_of},
    uses::{self, Section},
};

/// One of the two changed documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    One,
    /// The second.
    Other,
}

/// An entry that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Path from the top of the document. Empty for the whole text.
    pub path: Vec<String>,
    /// Text in the first document. `None` if it was removed there.
    pub one: Option<String>,
    /// Text in the second document. `None` if it was removed there.
    pub other: Option<String>,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The text, with the chosen side at each conflict.
    pub text: String,
    /// All conflicts, in the order of the text.
    pub conflicts: Vec<Conflict>,
}

/// Merges the changes from `base` to `one` and to `other`. At a conflict, `choose` gets its path and names the side whose text is
/// taken. Without a base nothing counts as removed.
pub fn merge(
    base: Option<&Document>,
    one: &Document,
    other: &Document,
    choose: &dyn Fn(&[String]) -> Side,
) -> Merged {
    let mut merge = Merge {
        choose,
        retained: BTreeSet::new(),
        conflicts: Vec::new(),
    };
    let pieces = (base.map(Document::pieces), one.pieces(), other.pieces());
    let text = merge.document(pieces.0.as_ref(), &pieces.1, &pieces.2);
    let dangling = base.map_or_else(BTreeSet::new, |base| {
        dangling(base, &Document::parse(&*text))
    });
    if dangling.is_empty() {
        return Merged {
            text,
            conflicts: merge.conflicts,
        };
    }
    merge.retained = dangling;
    merge.conflicts.clear();
    let text = merge.document(pieces.0.as_ref(), &pieces.1, &pieces.2);
    Merged {
        text,
        conflicts: merge.conflicts,
    }
}

/// Paths of the base's resources, parameters and conditions that a document uses and does not have.
fn dangling(base: &Document, merged: &Document) -> BTreeSet<Vec<String>> {
    let (Some(base), Some(merged)) = (base.root(), merged.root()) else {
        return BTreeSet::new();
    };
    let used_in = |section: &str, is_used: &dyn Fn(&str) -> bool| {
        let is_there = |name: &str| {
            let left = entries_of(merged, section);
            left.iter().any(|entry| entry.key == name)
        };
        let names = entries_of(base, section).iter();
        let names = names.map(|entry| entry.key.clone());
        names
            .filter(|name| !is_there(name) && is_used(name))
            .map(|name| vec![section.to_owned(), name])
            .collect::<Vec<_>>()
    };
    let mut found = used_in("resources", &|name| {
        !references::mentions(merged, name).is_empty()
    });
    for section in [Section::Parameters, Section::Conditions] {
        found.extend(used_in(section.key(), &|name| {
            !uses::uses(merged, section, name).is_empty()
        }));
    }
    found.into_iter().collect()
}

struct Merge<'c> {
    choose: &'c dyn Fn(&[String]) -> Side,
    /// Paths of removed entries that the other side refers to.
    retained: BTreeSet<Vec<String>>,
    conflicts: Vec<Conflict>,
}

type Entries<'p, 't> = BTreeMap<&'t str, &'p Piece<'t>>;

impl Merge<'_> {
    fn document(&mut self, base: Option<&Piece<'_>>, one: &Piece<'_>, other: &Piece<'_>) -> String {
        let ends = |piece: &Piece<'_>| piece.text.is_empty() || piece.text.ends_with('\n');
        let ends_line = either(base.is_none_or(ends), ends(one), ends(other)).unwrap_or(true);
        let mut text = self.piece(&mut Vec::new(), base, one, other);
        text.push_str(blank(base, one, other));
        if !ends_line && text.ends_with('\n') {
            text.pop();
        }
        text
    }

    /// The merged text of an entry that both sides have, without the blank lines after it.
    fn piece(
        &mut self,
        path: &mut Vec<String>,
        base: Option<&Piece<'_>>,
        one: &Piece<'_>,
        other: &Piece<'_>,
    ) -> String {
        let [of_base, of_one, of_other] =
            [base, Some(one), Some(other)].map(|piece| piece.map(|piece| line(piece.text)));
        if let Some(same) = either(of_base.as_deref(), of_one.as_deref(), of_other.as_deref()) {
            return same.unwrap_or_default().to_owned();
        }
        let heads = (base.map(|base| base.head), Some(one.head), Some(other.head));
        let has_entries = [base, Some(one), Some(other)]
            .into_iter()
            .flatten()
            .all(|piece| !piece.entries.is_empty());
        if has_entries
            && let Some(Some(head)) = either(heads.0, heads.1, heads.2)
            && let Some(order) = order(base, one, other)
        {
            let mut text = head.to_owned();
            self.entries(path, &order, base, (one, other), &mut text);
            return text;
        }
        self.conflict(path, of_one, of_other).unwrap_or_default()
    }

    fn entries(
        &mut self,
        path: &mut Vec<String>,
        order: &[&str],
        base: Option<&Piece<'_>>,
        (one, other): (&Piece<'_>, &Piece<'_>),
        text: &mut String,
    ) {
        let (base, one, other) = (by_key(base), by_key(Some(one)), by_key(Some(other)));
        for key in order {
            path.push((*key).to_owned());
            let before = base.get(key).copied();
            match (one.get(key), other.get(key)) {
                (Some(one), Some(other)) => {
                    text.push_str(&self.piece(path, before, one, other));
                    text.push_str(blank(before, one, other));
                }
                (Some(left), None) | (None, Some(left)) => {
                    let is_retained = match before {
                        None => true,
                        Some(before) if before.text == left.text && !self.is_retained(path) => {
                            false
                        }
                        Some(_) => {
                            let [one, other] = [one.get(key), other.get(key)]
                                .map(|piece| piece.map(|piece| line(piece.text)));
                            self.conflict(path, one, other).is_some()
                        }
                    };
                    if is_retained {
                        text.push_str(&line(left.text));
                        text.push_str(left.blank);
                    }
                }
                (None, None) => {}
            }
            path.pop();
        }
    }

    /// True if the other side uses the entry, or one of its entries.
    fn is_retained(&self, path: &[String]) -> bool {
        self.retained
            .iter()
            .any(|retained| retained.starts_with(path))
    }

    /// Notes a conflict. Returns the text of the chosen side.
    fn conflict(
        &mut self,
        path: &[String],
        one: Option<String>,
        other: Option<String>,
    ) -> Option<String> {
        self.conflicts.push(Conflict {
            path: path.to_vec(),
            one: one.clone(),
            other: other.clone(),
        });
        match (self.choose)(path) {
            Side::One => one,
            Side::Other => other,
        }
    }
}

/// A text that ends its last line, as all but the last one of a document do.
fn line(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{end}")
}

/// The value that one side alone has changed, or both alike. `None` if both changed it, each in its own way.
pub fn either<T: PartialEq>(base: T, one: T, other: T) -> Option<T> {
    if one == other || base == other {
        Some(one)
    } else if base == one {
        Some(other)
    } else {
        None
    }
}

/// Blank lines after an entry. If both sides changed them, the longer ones.
fn blank<'t>(base: Option<&Piece<'t>>, one: &Piece<'t>, other: &Piece<'t>) -> &'t str {
    let longer = if one.blank.len() < other.blank.len() {
        other.blank
    } else {
        one.blank
    };
    let base = base.map_or(longer, |base| base.blank);
    either(base, one.blank, other.blank).unwrap_or(longer)
}

fn by_key<'p, 't>(piece: Option<&'p Piece<'t>>) -> Entries<'p, 't> {
    let entries = piece.map_or(&[][..], |piece| &piece.entries);
    entries.iter().map(|entry| (entry.key, entry)).collect()
}

/// Keys of both sides in their merged order. `None` if both sides changed the order, each in its own way.
fn order<'t>(base: Option<&Piece<'t>>, one: &Piece<'t>, other: &Piece<'t>) -> Option<Vec<&'t str>> {
    let keys = |piece: &Piece<'t>| {
        piece
            .entries
            .iter()
            .map(|entry| entry.key)
            .collect::<Vec<_>>()
    };
    let (base, one, other) = (base.map(keys).unwrap_or_default(), keys(one), keys(other));
    let is_common = |key: &&&str| base.contains(key) && one.contains(key) && other.contains(key);
    let common = |keys: &[&'t str]| keys.iter().filter(is_common).copied().collect::<Vec<_>>();
    let common = either(common(&base), common(&one), common(&other))?;
    let mut order = Vec::new();
    for anchor in [None].into_iter().chain(common.iter().copied().map(Some)) {
        order.extend(anchor);
        let mut added = [after(&one, anchor, &common), after(&other, anchor, &common)];
        added.sort();
        for key in added.into_iter().flatten() {
            if !order.contains(&key) {
                order.push(key);
            }
        }
    }
    Some(order)
}

/// Keys after `anchor` and before the next of the common ones.
fn after<'t>(keys: &[&'t str], anchor: Option<&str>, common: &[&str]) -> Vec<&'t str> {
    let start = anchor.map_or(0, |anchor| {
        keys.iter()
            .position(|key| *key == anchor)
            .map_or(0, |at| at + 1)
    });
    let rest = keys[start..]
        .iter()
        .take_while(|key| !common.contains(*key));
    rest.copied().collect()
}
