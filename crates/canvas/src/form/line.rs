//! The fields of a line that represents a reference.

use super::{Control, Field};

/// The fields of a line among those of its resource: the values of the list entry or of the map that has the reference.
///
/// `reference` is the name of the reference's field, or of its list entry, such as `networks.1`. The field itself is left
/// out, because the ends of the line decide it.
pub fn fields_of_line(fields: &[Field], reference: &str) -> Vec<Field> {
    let is_in = |part: &str| {
        let rest = reference.strip_prefix(part);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    for field in fields {
        let Control::Table(table) = &field.control else {
            continue;
        };
        let mut rows = table.rows.iter().enumerate();
        if let Some((_, row)) = rows.find(|(index, _)| is_in(&format!("{}.{index}", field.name))) {
            let cells = row.cells.iter();
            return cells
                .filter(|cell| cell.name != reference || row.is_text)
                .cloned()
                .collect();
        }
    }
    let Some((map, _)) = reference.rsplit_once('.') else {
        return Vec::new();
    };
    let is_beside = |field: &&Field| {
        let key = field.name.strip_prefix(map);
        key.is_some_and(|key| key.starts_with('.')) && field.name != reference
    };
    fields.iter().filter(is_beside).cloned().collect()
}
