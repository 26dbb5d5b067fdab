//! Exchange of two items of a list.
//!
//! The texts of the items change places, with the comments in them and behind them. Other lines stay.

use super::{
    EditError,
    splice::{Page, Splice},
};
use crate::yaml::{Kind, Node, Style};

/// Splices that exchange two items of the list at `path`.
pub(super) fn swap(
    text: &str,
    root: &Node,
    path: &[String],
    items: (usize, usize),
) -> Result<Vec<Splice>, EditError> {
    let missing = || EditError::NotFound(path.join("."));
    let mut node = root;
    for segment in path {
        node = match &node.kind {
            Kind::Map(_) => &node.entry(segment).ok_or_else(missing)?.value,
            Kind::List(items) => {
                let index = segment.parse::<usize>().ok();
                &index
                    .and_then(|index| items.get(index))
                    .ok_or_else(missing)?
                    .value
            }
            _ => return Err(missing()),
        };
    }
    let Kind::List(list) = &node.kind else {
        return Err(missing());
    };
    let (Some(first), Some(second)) = (list.get(items.0), list.get(items.1)) else {
        return Err(missing());
    };
    let page = Page(text);
    let range = |value: &Node| {
        let mut end = value.span.end;
        while end > value.span.start && text[..end].ends_with(['\n', '\r']) {
            end -= 1;
        }
        let rest = text[end..page.line_end(end)].trim_start();
        if node.style == Style::Block && rest.starts_with('#') {
            end = page.line_end(end);
        }
        value.span.start..end
    };
    let (first, second) = (range(&first.value), range(&second.value));
    Ok(vec![
        Splice::replace(first.clone(), &text[second.clone()]),
        Splice::replace(second, &text[first]),
    ])
}
