//! Splices that set a value at a path.

use serde_json::{Map, Value};

use super::write::{self, Block};
use super::{
    EditError,
    splice::{Page, Splice},
};
use crate::yaml::{Entry, Item, Kind, Node, Style, surrogates};

/// Parent of a value.
#[derive(Clone, Copy)]
pub(super) enum Holder<'t> {
    Root,
    Entry { entry: &'t Entry, parent: &'t Node },
    Item { item: &'t Item, parent: &'t Node },
}

/// Changes that set a value.
#[derive(Default)]
pub(super) struct Changes {
    /// Splices to apply at once.
    pub splices: Vec<Splice>,
    /// Paths to remove from the text after the splices.
    pub gone: Vec<Vec<String>>,
}

impl From<Vec<Splice>> for Changes {
    fn from(splices: Vec<Splice>) -> Changes {
        Changes {
            splices,
            gone: Vec::new(),
        }
    }
}

/// Changes that set `value` at `path`.
pub(super) fn set(
    text: &str,
    root: Option<&Node>,
    path: &[String],
    value: &Value,
) -> Result<Changes, EditError> {
    let Some(root) = root else {
        let entry = write::entry(
            path.first().map_or("resources", String::as_str),
            &wrap(path.get(1..).unwrap_or(&[]), value),
            0,
            2,
        );
        let before = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let added = format!("{before}heat_template_version: 2021-04-16\n\n{entry}\n");
        return Ok(vec![Splice::insert(text.len(), added)].into());
    };
    let writer = Writer::of(text, root);
    let mut node = root;
    let mut holder = Holder::Root;
    for (depth, segment) in path.iter().enumerate() {
        if matches!(node.kind, Kind::Alias(_)) {
            return Err(EditError::NotPossible(format!(
                "`{}` is inside a YAML alias",
                path[..depth].join(".")
            )));
        }
        let rest = &path[depth + 1..];
        match &node.kind {
            Kind::Map(entries) => match entries.iter().find(|entry| entry.key == *segment) {
                Some(entry) => {
                    holder = Holder::Entry {
                        entry,
                        parent: node,
                    };
                    node = &entry.value;
                }
                None => {
                    return writer
                        .add_entry(node, holder, segment, &wrap(rest, value))
                        .map(Changes::from);
                }
            },
            Kind::List(items) => match segment.parse::<usize>() {
                Ok(index) if index < items.len() => {
                    holder = Holder::Item {
                        item: &items[index],
                        parent: node,
                    };
                    node = &items[index].value;
                }
                Ok(index) if index == items.len() => {
                    return writer
                        .add_item(node, holder, &wrap(rest, value))
                        .map(Changes::from);
                }
                _ => return Err(EditError::NotFound(path[..=depth].join("."))),
            },
            _ if node.is_null() => {
                return writer
                    .replace(node, holder, &wrap(&path[depth..], value))
                    .map(Changes::from);
            }
            _ => return Err(EditError::NotFound(path[..=depth].join("."))),
        }
    }
    writer.changes_to(node, holder, path, value)
}

/// Changes that add several new entries to a section of the template.
pub(super) fn extend(
    text: &str,
    root: Option<&Node>,
    section: &str,
    entries: &Map<String, Value>,
) -> Result<Vec<Splice>, EditError> {
    if let Some(root) = root
        && let Some(entry) = root.entry(section)
        && !entry.value.is_null()
    {
        let writer = Writer::of(text, root);
        let holder = Holder::Entry {
            entry,
            parent: root,
        };
        return writer.add_entries(&entry.value, holder, entries);
    }
    let whole = Value::Object(entries.clone());
    set(text, root, &[section.to_owned()], &whole).map(|changes| changes.splices)
}

/// Value inside new maps and lists for a path.
fn wrap(path: &[String], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, segment| {
        if segment == "0" {
            Value::Array(vec![inner])
        } else {
            Value::Object(Map::from_iter([(segment.clone(), inner)]))
        }
    })
}

/// Indentation per level in spaces, as in the first nested map.
fn step(text: &str, root: &Node) -> usize {
    let page = Page(text);
    root.entries()
        .unwrap_or_default()
        .iter()
        .filter(|entry| entry.value.style == Style::Block)
        .find_map(|entry| Some(page.column(entry.value.entries()?.first()?.key_span.start)))
        .filter(|step| (1..=8).contains(step))
        .unwrap_or(2)
}

/// Style of new text.
pub(super) struct Writer<'t> {
    page: Page<'t>,
    step: usize,
    /// True if the text is JSON and must stay JSON.
    is_json: bool,
}

impl<'t> Writer<'t> {
    pub(super) fn of(text: &'t str, root: &Node) -> Writer<'t> {
        Writer {
            page: Page(text),
            step: step(text, root),
            is_json: surrogates::is_json(text),
        }
    }

    /// Value on one line, in the style of the text.
    fn flow(&self, value: &Value) -> String {
        if self.is_json {
            write::json(value)
        } else {
            write::flow(value)
        }
    }

    /// Key and value, inside braces.
    fn flow_entry(&self, key: &str, value: &Value) -> String {
        let key = if self.is_json {
            write::json(&Value::from(key))
        } else {
            write::key_text(key, write::Around::Flow)
        };
        format!("{key}: {}", self.flow(value))
    }

    /// Inserts after the last child in braces or brackets, on separate lines if that child is on a separate line. A
    /// comment stays with the child before it.
    fn after_last(&self, start: usize, end: usize, new: &[String]) -> Splice {
        let indent = self.page.before(start);
        let rest = &self.page.0[end..self.page.line_end(end)];
        let is_alone = indent.chars().all(|c| matches!(c, ' ' | '\t'));
        let own_line = is_alone && self.page.line_start(start) > 0 && !rest.contains('#');
        let gap = if own_line {
            format!(",\n{indent}")
        } else {
            ", ".to_owned()
        };
        let new = new.iter().map(|one| format!("{gap}{one}"));
        Splice::insert(end, new.collect::<String>())
    }

    pub(super) fn replace(
        &self,
        node: &Node,
        holder: Holder<'_>,
        value: &Value,
    ) -> Result<Vec<Splice>, EditError> {
        match holder {
            Holder::Root if node.span.is_empty() || node.is_null() => Err(EditError::NotPossible(
                "the template is not a map".to_owned(),
            )),
            Holder::Root => Err(EditError::NotPossible("the template as a whole".to_owned())),
            Holder::Entry { entry, parent } if parent.style == Style::Block => {
                Ok(self.replace_entry(entry, value))
            }
            Holder::Item { item, parent } if parent.style == Style::Block => {
                Ok(self.replace_item(item, value))
            }
            Holder::Entry { entry, .. } if node.span.is_empty() => {
                let colon = if self.page.0[..entry.after_colon].ends_with(':') {
                    ""
                } else {
                    ":"
                };
                Ok(vec![Splice::replace(
                    entry.after_colon..node.span.end.max(entry.after_colon),
                    format!("{colon} {}", self.flow(value)),
                )])
            }
            Holder::Entry { .. } | Holder::Item { .. } => {
                Ok(vec![Splice::replace(node.span.clone(), self.flow(value))])
            }
        }
    }

    fn replace_entry(&self, entry: &Entry, value: &Value) -> Vec<Splice> {
        let old = &entry.value;
        let colon = entry.after_colon;
        let new = write::block(
            value,
            self.page.column(entry.key_span.start) + self.step,
            self.step,
        );
        let own_lines = !old.span.is_empty() && self.page.line_start(old.span.start) > colon;
        if own_lines || old.style == Style::BlockScalar {
            // A comment after the key is kept, and the lines below are removed.
            let cut = if own_lines {
                self.page.line_end(colon)
            } else {
                colon
            };
            let until = self.page.line_end(old.span.end);
            return match new {
                Block::Inline(text) if own_lines => vec![
                    Splice::insert(colon, format!(" {text}")),
                    Splice::delete(cut..until),
                ],
                Block::Inline(text) => vec![Splice::replace(cut..until, format!(" {text}"))],
                Block::Lines { header, body } if own_lines => {
                    let header = if header.is_empty() {
                        header
                    } else {
                        format!(" {header}")
                    };
                    vec![
                        Splice::insert(colon, header),
                        Splice::replace(cut..until, format!("\n{body}")),
                    ]
                }
                Block::Lines { header, body } => {
                    let header = if header.is_empty() {
                        header
                    } else {
                        format!(" {header}")
                    };
                    vec![Splice::replace(cut..until, format!("{header}\n{body}"))]
                }
            };
        }
        match new {
            Block::Inline(text) if old.span.is_empty() => {
                vec![Splice::insert(colon, format!(" {text}"))]
            }
            Block::Inline(text) => vec![Splice::replace(old.span.clone(), text)],
            Block::Lines { header, body } => {
                let header = if header.is_empty() {
                    header
                } else {
                    format!(" {header}")
                };
                let end = old.span.end.max(colon);
                vec![
                    Splice::replace(colon..end, header),
                    Splice::insert(self.page.line_end(end), format!("\n{body}")),
                ]
            }
        }
    }

    fn replace_item(&self, item: &Item, value: &Value) -> Vec<Splice> {
        let old = &item.value;
        let column = self.page.column(item.start);
        let new = write::after_dash(value, column, self.step);
        let plain = !matches!(old.style, Style::Block | Style::BlockScalar) && !old.span.is_empty();
        if plain && !new.contains('\n') {
            return vec![Splice::replace(
                old.span.clone(),
                new.trim_start().to_owned(),
            )];
        }
        let end = old.span.end.max(item.start + 1);
        let end = if new.contains('\n') || old.style != Style::Plain {
            self.page.line_end(end)
        } else {
            end
        };
        vec![Splice::replace(item.start + 1..end, new)]
    }

    fn add_entry(
        &self,
        map: &Node,
        holder: Holder<'_>,
        key: &str,
        value: &Value,
    ) -> Result<Vec<Splice>, EditError> {
        let one = Map::from_iter([(key.to_owned(), value.clone())]);
        self.add_entries(map, holder, &one)
    }

    /// Like [`add_entry`](Self::add_entry), for several entries.
    pub(super) fn add_entries(
        &self,
        map: &Node,
        holder: Holder<'_>,
        new: &Map<String, Value>,
    ) -> Result<Vec<Splice>, EditError> {
        let Kind::Map(entries) = &map.kind else {
            let key = new.keys().next().cloned().unwrap_or_default();
            return Err(EditError::NotFound(key));
        };
        let Some(last) = entries.last() else {
            // `{}` is replaced by block style if possible.
            return match holder {
                Holder::Root if self.is_json => Ok(vec![Splice::replace(
                    map.span.clone(),
                    self.flow(&Value::Object(new.clone())),
                )]),
                Holder::Root => Ok(vec![Splice::replace(
                    map.span.clone(),
                    self.lines_of(new, 0).join("\n"),
                )]),
                holder => self.replace(map, holder, &Value::Object(new.clone())),
            };
        };
        let end = last.value.span.end.max(last.after_colon);
        match map.style {
            Style::Block => {
                let column = self.page.column(entries[0].key_span.start);
                let starts: Vec<usize> = entries.iter().map(|entry| entry.key_span.start).collect();
                Ok(vec![self.new_lines(
                    end,
                    column,
                    &starts,
                    &self.lines_of(new, column),
                )])
            }
            Style::Flow => {
                let new = new.iter();
                let new: Vec<String> = new
                    .map(|(key, value)| self.flow_entry(key, value))
                    .collect();
                Ok(vec![self.after_last(last.key_span.start, end, &new)])
            }
            _ => Err(EditError::NotPossible(
                "the map has no braces of its own".to_owned(),
            )),
        }
    }

    fn add_item(
        &self,
        list: &Node,
        holder: Holder<'_>,
        value: &Value,
    ) -> Result<Vec<Splice>, EditError> {
        self.add_items(list, holder, std::slice::from_ref(value))
    }

    /// Like [`add_item`](Self::add_item), for several items.
    pub(super) fn add_items(
        &self,
        list: &Node,
        holder: Holder<'_>,
        new: &[Value],
    ) -> Result<Vec<Splice>, EditError> {
        let Kind::List(items) = &list.kind else {
            return Err(EditError::NotFound("0".to_owned()));
        };
        let Some(last) = items.last() else {
            return self.replace(list, holder, &Value::Array(new.to_vec()));
        };
        if list.style == Style::Block {
            let column = self.page.column(items[0].start);
            let end = last.value.span.end.max(last.start + 1);
            let starts: Vec<usize> = items.iter().map(|item| item.start).collect();
            let new = new.iter();
            let new: Vec<String> = new
                .map(|value| write::item(value, column, self.step))
                .collect();
            return Ok(vec![self.new_lines(end, column, &starts, &new)]);
        }
        let new: Vec<String> = new.iter().map(|value| self.flow(value)).collect();
        let span = &last.value.span;
        Ok(vec![self.after_last(span.start, span.end, &new)])
    }

    /// Lines of each entry.
    fn lines_of(&self, entries: &Map<String, Value>, column: usize) -> Vec<String> {
        let entries = entries.iter();
        entries
            .map(|(key, value)| write::entry(key, value, column, self.step))
            .collect()
    }

    /// New children after the last one. Each has a blank line before it if there is one between the last two children.
    fn new_lines(
        &self,
        end: usize,
        column: usize,
        starts: &[usize],
        children: &[String],
    ) -> Splice {
        let spaced = matches!(starts, [.., _, last] if {
            let from = self.page.line_start(*last);
            from > 0 && self.page.is_blank_line(from - 1)
        });
        let gap = if spaced { "\n\n" } else { "\n" };
        let text: String = children.iter().flat_map(|child| [gap, child]).collect();
        Splice::insert(self.page.entry_end(end, column), text)
    }
}
