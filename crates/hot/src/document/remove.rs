//! Splices that remove entries and items.
//!
//! Many can be removed at once: they are marked in the tree first, containers that become empty are marked too, and
//! then each container creates the splices for its marked children.

use std::collections::{BTreeMap, HashMap};

use super::{
    EditError,
    splice::{Page, Splice},
};
use crate::yaml::{Kind, Node, Style};

/// Children to remove, by index.
#[derive(Default)]
struct Mark {
    gone: bool,
    below: BTreeMap<usize, Mark>,
}

/// Splices that remove the values at `paths`, and containers that become empty; `resources` itself stays.
pub(super) fn remove(
    text: &str,
    root: &Node,
    paths: &[Vec<String>],
) -> Result<Vec<Splice>, EditError> {
    let mut marks = Mark::default();
    let mut keys = Keys::default();
    for path in paths {
        let mut mark = &mut marks;
        let mut node = root;
        for segment in path {
            if matches!(node.kind, Kind::Alias(_)) {
                return Err(EditError::NotPossible(format!(
                    "`{}` is inside a YAML alias",
                    path.join(".")
                )));
            }
            let index = keys
                .child_index(node, segment)
                .ok_or_else(|| EditError::NotFound(path.join(".")))?;
            node = child(node, index);
            mark = mark.below.entry(index).or_default();
        }
        mark.gone = true;
    }
    prune(root, &mut marks, true);
    let mut splices = Vec::new();
    collect(text, root, &marks, &mut splices);
    keep_missing_line_end(text, &mut splices);
    Ok(splices)
}

/// Extends deletions at the end of the text to the line end before them, if the text has no final line end.
fn keep_missing_line_end(text: &str, splices: &mut [Splice]) {
    if text.ends_with('\n') {
        return;
    }
    splices.sort_by_key(|splice| splice.range.start);
    let mut from = text.len();
    let at_end = splices.iter_mut().rev().take_while(|splice| {
        let joins = splice.range.end >= from;
        from = from.min(splice.range.start);
        joins
    });
    if let Some(first) = at_end.last() {
        let rest = &text[..first.range.start];
        if let Some(line) = rest.strip_suffix('\n') {
            first.range.start = line.strip_suffix('\r').unwrap_or(line).len();
        }
    }
}

/// Keys of large maps by index; each map is read once.
#[derive(Default)]
struct Keys<'t> {
    of: HashMap<*const Node, HashMap<&'t str, usize>>,
}

/// Maximum number of entries for a linear search.
const SMALL: usize = 16;

impl<'t> Keys<'t> {
    fn child_index(&mut self, node: &'t Node, segment: &str) -> Option<usize> {
        match &node.kind {
            Kind::Map(entries) if entries.len() <= SMALL => {
                entries.iter().position(|entry| entry.key == segment)
            }
            Kind::Map(entries) => {
                let read = || {
                    let keys = entries.iter().enumerate();
                    // The first of duplicate keys is used, as everywhere.
                    let keys = keys.rev().map(|(index, entry)| (entry.key.as_str(), index));
                    keys.collect()
                };
                let keys = self.of.entry(node).or_insert_with(read);
                keys.get(segment).copied()
            }
            Kind::List(items) => segment.parse().ok().filter(|index| *index < items.len()),
            _ => None,
        }
    }
}

fn child(node: &Node, index: usize) -> &Node {
    match &node.kind {
        Kind::Map(entries) => &entries[index].value,
        Kind::List(items) => &items[index].value,
        _ => node,
    }
}

/// Start and end of a child in the text.
fn bounds(node: &Node, index: usize) -> (usize, usize) {
    match &node.kind {
        Kind::Map(entries) => {
            let entry = &entries[index];
            (
                entry.key_span.start,
                entry.value.span.end.max(entry.after_colon),
            )
        }
        Kind::List(items) => (items[index].start, items[index].value.span.end),
        _ => (node.span.start, node.span.end),
    }
}

fn count(node: &Node) -> usize {
    match &node.kind {
        Kind::Map(entries) => entries.len(),
        Kind::List(items) => items.len(),
        _ => 0,
    }
}

/// Marks containers that become empty. True if `node` becomes empty.
fn prune(node: &Node, mark: &mut Mark, top: bool) -> bool {
    for (index, below) in &mut mark.below {
        let stays =
            top && matches!(&node.kind, Kind::Map(entries) if entries[*index].key == "resources");
        if !below.gone {
            let empty = prune(child(node, *index), below, false);
            below.gone = empty && !stays;
        }
    }
    let gone = mark.below.values().filter(|below| below.gone).count();
    gone > 0 && gone == count(node)
}

fn collect(text: &str, node: &Node, mark: &Mark, splices: &mut Vec<Splice>) {
    let gone = |index: usize| mark.below.get(&index).is_some_and(|below| below.gone);
    let total = count(node);
    let block = node.style == Style::Block;
    let mut index = 0;
    // True until a previous child stays.
    let mut leads = true;
    while index < total {
        if gone(index) {
            if block {
                index = block_child(text, node, index, leads, &gone, splices);
                continue;
            }
            splices.push(flow_child(node, index, total, leads));
        } else {
            leads = false;
            if let Some(below) = mark.below.get(&index) {
                collect(text, child(node, index), below, splices);
            }
        }
        index += 1;
    }
}

/// Splice for a child of `{...}` or `[...]`, including a superfluous comma.
fn flow_child(node: &Node, index: usize, total: usize, leads: bool) -> Splice {
    let (start, end) = bounds(node, index);
    if !leads {
        return Splice::delete(bounds(node, index - 1).1..end);
    }
    if index + 1 < total {
        Splice::delete(start..bounds(node, index + 1).0)
    } else {
        Splice::delete(start..end)
    }
}

/// Adds splices for a child in block style. Returns the next index.
fn block_child(
    text: &str,
    node: &Node,
    index: usize,
    leads: bool,
    gone: &dyn Fn(usize) -> bool,
    splices: &mut Vec<Splice>,
) -> usize {
    let page = Page(text);
    let (start, end) = bounds(node, index);
    if !page
        .before(start)
        .trim_matches([' ', '\u{feff}'])
        .is_empty()
    {
        // The child shares its line with a dash: the next remaining child moves up.
        let next = (index + 1..count(node)).find(|next| !gone(*next));
        let until = next.map_or(end, |next| bounds(node, next).0);
        splices.push(Splice::delete(start..until));
        return next.unwrap_or(count(node));
    }
    let column = page.column(start);
    let mut from = page.line_start(start);
    let last_line_end = page.entry_end(end, column);
    let mut until = page.next_line(last_line_end);
    let is_next_kept = index + 1 < count(node) && !gone(index + 1);
    if leads && is_next_kept && until < text.len() && page.is_blank_line(until) {
        until = page.next_line(until);
    }
    if from > 0
        && page.is_blank_line(from - 1)
        && page.line_start(from - 1) > 0
        && (ends_group(page, until, column) || (leads && index > 0))
    {
        from = page.line_start(from - 1);
    }
    splices.push(Splice::delete(from..until));
    index + 1
}

/// True if the line at `at` is blank, belongs to an outer block, or does not exist. A blank line before the removed
/// entry is then superfluous.
fn ends_group(page: Page<'_>, at: usize, column: usize) -> bool {
    if at >= page.0.len() || page.is_blank_line(at) {
        return true;
    }
    let line = page.line(at);
    line.len() - line.trim_start_matches(' ').len() < column
}
