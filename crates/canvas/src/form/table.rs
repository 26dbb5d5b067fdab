//! Lists of maps as tables: one row for each entry, one cell for each key.
//!
//! A cell is a field like any other, so its control follows from the key's description. An entry that is not a map (a
//! function, for instance) is a row with its text, and a key without a description is a cell at the end: nothing is
//! hidden. A value that is not a list has no table.

use hot::{document::Edit, expr::Expr};
use serde_json::{Value, json};
use types::{Property, PropertyKind, ReferenceRole, Rule};

use super::{
    Control, Field, label,
    maker::{Maker, Values, linked, mark_alone, pairs, pretty},
};

/// A list of maps.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Columns in the order of the description, then keys without a description.
    pub columns: Vec<Column>,
    /// Entries of the list, in order.
    pub rows: Vec<Row>,
    /// Entries that can be added.
    pub presets: Vec<NewRow>,
}

/// Column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Key in the entries.
    pub key: String,
    /// Label for users.
    pub label: String,
    /// True if each entry needs a value.
    pub required: bool,
    /// True if an entry or a preset uses the key, or entries need it.
    pub is_used: bool,
    /// Help text, one sentence.
    pub help: String,
}

/// Row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Values in short, such as `tcp · 22`.
    pub summary: String,
    /// Cells in the order of the columns. One field with the whole text, if the entry is not a map.
    pub cells: Vec<Field>,
    /// True for an entry that is not a map.
    pub is_text: bool,
}

/// Entry that can be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRow {
    /// Label for users.
    pub label: String,
    /// The entry.
    pub value: Value,
}

impl Maker<'_> {
    /// The table of a list of maps. `None` if the value is not a list.
    pub(super) fn table(
        &self,
        property: &Property,
        keys: &[Property],
        value: Option<&Expr>,
        name: &str,
        path: &[String],
    ) -> Option<Table> {
        let items: &[Expr] = match value {
            None => &[],
            Some(Expr::List(items)) => items,
            Some(_) => return None,
        };
        let rules = match &property.kind {
            PropertyKind::List { of: Some(of) } => &of.rules[..],
            _ => &[],
        };
        let rows: Vec<Row> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.row((keys, rules), item, name, path, index))
            .collect();
        let presets = self.presets(property, keys, items);
        let mut columns: Vec<Column> = keys
            .iter()
            .filter(|key| !(key.hidden || key.unsupported))
            .map(|key| {
                let has = |value: &Value| value.get(&key.name).is_some();
                let is_in = |item: &Expr| {
                    let names = [Some(&key.name), key.formerly.as_ref()];
                    names
                        .into_iter()
                        .flatten()
                        .any(|name| item.get(name).is_some())
                };
                Column {
                    key: key.name.clone(),
                    label: label(&key.name),
                    required: key.required,
                    is_used: key.required
                        || presets.iter().any(|preset| has(&preset.value))
                        || items.iter().any(is_in),
                    help: key.summary.clone(),
                }
            })
            .collect();
        for (key, _) in items.iter().filter_map(as_map).flatten() {
            let is_known = types::find(keys, key).is_some();
            if !is_known && columns.iter().all(|column| column.key != *key) {
                columns.push(Column {
                    key: key.clone(),
                    label: label(key),
                    required: false,
                    is_used: true,
                    help: String::new(),
                });
            }
        }
        Some(Table {
            columns,
            rows,
            presets,
        })
    }

    fn row(
        &self,
        (keys, rules): (&[Property], &[Rule]),
        item: &Expr,
        name: &str,
        path: &[String],
        index: usize,
    ) -> Row {
        let path: Vec<String> = path.iter().cloned().chain([index.to_string()]).collect();
        let is_empty = item.is_null();
        let Some(entries) = as_map(item).or(is_empty.then_some(&[][..])) else {
            let text = pretty(&item.to_json());
            return Row {
                summary: item.to_json().to_string(),
                cells: vec![Field {
                    name: format!("{name}.{index}"),
                    path,
                    label: format!("Entry {}", index + 1),
                    control: Control::Json,
                    text,
                    required: false,
                    is_alone: false,
                    help: "This entry is computed. It is edited as JSON.".to_owned(),
                    placeholder: String::new(),
                    proposals: Vec::new(),
                    is_mixed: false,
                }],
                is_text: true,
            };
        };
        let values = Values {
            entries: pairs(entries),
            path,
            prefix: format!("{name}.{index}."),
        };
        let mut cells = self.map(keys, rules, &values);
        mark_alone(&mut cells, item, values.path.len());
        Row {
            summary: summary(entries),
            cells,
            is_text: false,
        }
    }

    /// The presets of the description, usual pools of a subnet, and a reference to each fitting resource that is not
    /// used yet. An entry without values if the description has no presets.
    fn presets(&self, property: &Property, keys: &[Property], items: &[Expr]) -> Vec<NewRow> {
        let mut presets: Vec<NewRow> = property
            .presets
            .iter()
            .map(|(label, value)| NewRow {
                label: label.clone(),
                value: value.clone(),
            })
            .collect();
        presets.extend(self.pools(property));
        let nesting = keys.iter().find_map(|key| {
            let reference = key.reference.as_ref()?;
            (reference.role == ReferenceRole::Nests).then_some((key, reference))
        });
        if let Some((key, reference)) = nesting {
            let is_used = |name: &str| {
                let mut values = items.iter().filter_map(|item| item.get(&key.name));
                values.any(|value| matches!(value, Expr::GetResource(used) if used == name))
            };
            let names = self.fitting(&reference.to).filter(|name| !is_used(name));
            presets.extend(names.map(|name| NewRow {
                label: name.to_owned(),
                value: json!({ &key.name: { "get_resource": name } }),
            }));
        }
        if property.presets.is_empty() {
            presets.push(NewRow {
                label: "Empty row".to_owned(),
                value: json!({}),
            });
        }
        presets
    }
}

fn as_map(item: &Expr) -> Option<&[(String, Expr)]> {
    match item {
        Expr::Map(entries) => Some(entries),
        _ => None,
    }
}

/// A value in a few words.
fn word(value: &Expr) -> String {
    match value {
        Expr::Literal(Value::Bool(on)) => on.to_string(),
        Expr::GetAttr(..) | Expr::GetParam(..) => {
            linked(value).map_or("…".to_owned(), |(_, text)| text)
        }
        Expr::List(items) => items.iter().map(word).collect::<Vec<_>>().join(", "),
        Expr::Map(entries) => {
            let entries = entries.iter();
            let words = entries.map(|(key, value)| format!("{key} {}", word(value)));
            words.collect::<Vec<_>>().join(", ")
        }
        _ => crate::drawing::shown(value).unwrap_or_else(|| "…".to_owned()),
    }
}

/// Values of an entry in one line. The two ends of a range are one value.
fn summary(entries: &[(String, Expr)]) -> String {
    let value_of = |name: &str| entries.iter().find(|(key, _)| key == name);
    let mut words = Vec::new();
    for (key, value) in entries {
        let start = key.strip_suffix("_min");
        let end = key.strip_suffix("_max");
        let other = |stem: &str, end: &str| value_of(&format!("{stem}{end}"));
        match (start, end) {
            (Some(stem), _) => match other(stem, "_max") {
                Some((_, max)) if word(max) != word(value) => {
                    words.push(format!("{}–{}", word(value), word(max)));
                }
                _ => words.push(word(value)),
            },
            (_, Some(stem)) if other(stem, "_min").is_some() => {}
            _ if matches!(value, Expr::List(_) | Expr::Map(_)) => {
                words.push(format!("{}: {}", label(key).to_lowercase(), word(value)));
            }
            _ => words.push(word(value)),
        }
    }
    words.join(" · ")
}

/// The edit that appends an entry to a table.
pub fn add_row(field: &Field, value: &Value) -> Option<Edit> {
    let Control::Table(table) = &field.control else {
        return None;
    };
    let mut path = field.path.clone();
    Some(if table.rows.is_empty() {
        Edit::Set {
            path,
            value: json!([value]),
        }
    } else {
        path.push(table.rows.len().to_string());
        Edit::Set {
            path,
            value: value.clone(),
        }
    })
}

/// The edit that removes an entry.
pub fn remove_row(field: &Field, index: usize) -> Edit {
    let mut path = field.path.clone();
    path.push(index.to_string());
    Edit::Remove { path }
}

/// The edit that moves an entry up by one.
pub fn move_up(field: &Field, index: usize) -> Option<Edit> {
    Some(Edit::SwapItems {
        path: field.path.clone(),
        items: (index.checked_sub(1)?, index),
    })
}
