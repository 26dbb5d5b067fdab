//! Tables of rows with ids, in the order of their creation.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A row with an id.
pub trait Keyed {
    /// The id, unique within its table.
    fn key(&self) -> &str;
}

/// A table, serialised as a list, like the lists of the API.
#[derive(Debug, Clone)]
pub struct Table<T> {
    rows: BTreeMap<u64, T>,
    index: HashMap<String, u64>,
    next: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            index: HashMap::new(),
            next: 0,
        }
    }
}

impl<T: Keyed> Table<T> {
    /// Appends a row, or replaces the row with the same id.
    pub fn insert(&mut self, row: T) {
        let place = *self.index.entry(row.key().to_owned()).or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.rows.insert(place, row);
    }

    /// The row with this id.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.index.get(key).and_then(|place| self.rows.get(place))
    }

    /// The row with this id, mutable. The id itself must not change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        self.index
            .get(key)
            .and_then(|place| self.rows.get_mut(place))
    }

    /// Removes a row.
    pub fn remove(&mut self, key: &str) -> Option<T> {
        self.index
            .remove(key)
            .and_then(|place| self.rows.remove(&place))
    }

    /// Removes the rows for which `is_gone` is true.
    pub fn remove_where(&mut self, is_gone: impl Fn(&T) -> bool) {
        self.rows.retain(|_, row| !is_gone(row));
        let rows = &self.rows;
        self.index.retain(|_, place| rows.contains_key(place));
    }

    /// The position of the row with this id.
    pub fn place(&self, key: &str) -> Option<u64> {
        self.index.get(key).copied()
    }

    /// The row at a position.
    pub fn at(&self, place: u64) -> Option<&T> {
        self.rows.get(&place)
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.values()
    }

    /// All rows, mutable. The ids must not change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.values_mut()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl<T: Serialize> Serialize for Table<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.values())
    }
}

impl<'de, T: Keyed + Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::default();
        for row in Vec::<T>::deserialize(deserializer)? {
            table.insert(row);
        }
        Ok(table)
    }
}

/// Implements [`Keyed`] with the field `id`.
macro_rules! keyed_by_id {
    ($($kind:ty),*) => {$(impl $crate::kit::table::Keyed for $kind {
        fn key(&self) -> &str {
            &self.id
        }
    })*};
}
pub(crate) use keyed_by_id;
