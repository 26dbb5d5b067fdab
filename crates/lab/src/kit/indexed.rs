//! A table whose rows can also be found by index words other than the id.
//!
//! Ports are looked up by server, IP address and MAC address. In a lab with ten thousand servers, a scan of all ports
//! in each call would make the total time quadratic. Rows change only in [`Indexed::change`], which updates the index.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kit::table::{Keyed, Table};

/// A row with index words.
pub trait IndexKeys: Keyed {
    /// Index words, such as `device:<id>`.
    fn index_keys(&self) -> Vec<String>;
}

/// A table with an index of words.
#[derive(Debug, Clone)]
pub struct Indexed<T> {
    table: Table<T>,
    index_keys: HashMap<String, BTreeSet<u64>>,
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self {
            table: Table::default(),
            index_keys: HashMap::new(),
        }
    }
}

impl<T: IndexKeys> Indexed<T> {
    fn note(&mut self, place: u64) {
        let index_keys = self
            .table
            .at(place)
            .map(IndexKeys::index_keys)
            .unwrap_or_default();
        for word in index_keys {
            self.index_keys.entry(word).or_default().insert(place);
        }
    }

    fn forget(&mut self, place: u64) {
        let index_keys = self
            .table
            .at(place)
            .map(IndexKeys::index_keys)
            .unwrap_or_default();
        for word in index_keys {
            if let Some(places) = self.index_keys.get_mut(&word) {
                places.remove(&place);
                if places.is_empty() {
                    self.index_keys.remove(&word);
                }
            }
        }
    }

    /// Appends a row, or replaces the row with the same id.
    pub fn insert(&mut self, row: T) {
        if let Some(place) = self.table.place(row.key()) {
            self.forget(place);
        }
        let key = row.key().to_owned();
        self.table.insert(row);
        if let Some(place) = self.table.place(&key) {
            self.note(place);
        }
    }

    /// The row with this id.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.table.get(key)
    }

    /// Changes the row with this id; the id itself must not change. `None` if there is no such row.
    pub fn change<R>(&mut self, key: &str, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let place = self.table.place(key)?;
        self.forget(place);
        let result = self.table.get_mut(key).map(change);
        self.note(place);
        result
    }

    /// Removes a row.
    pub fn remove(&mut self, key: &str) -> Option<T> {
        let place = self.table.place(key)?;
        self.forget(place);
        self.table.remove(key)
    }

    /// All rows, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.table.iter()
    }

    /// The rows with this word, oldest first.
    pub fn having(&self, word: &str) -> impl Iterator<Item = &T> + use<'_, T> {
        let places = self.index_keys.get(word).into_iter().flatten();
        places.filter_map(|place| self.table.at(*place))
    }

    /// Whether a row has this word.
    pub fn has(&self, word: &str) -> bool {
        self.index_keys.contains_key(word)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

impl<T: Serialize> Serialize for Indexed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table.serialize(serializer)
    }
}

impl<'de, T: IndexKeys + Deserialize<'de>> Deserialize<'de> for Indexed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Indexed::default();
        for row in Vec::<T>::deserialize(deserializer)? {
            all.insert(row);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::indexed::*;
    use crate::kit::table::keyed_by_id;

    struct Thing {
        id: String,
        owner: String,
    }

    keyed_by_id!(Thing);

    impl IndexKeys for Thing {
        fn index_keys(&self) -> Vec<String> {
            vec![format!("owner:{}", self.owner)]
        }
    }

    #[test]
    fn an_index_follows_changes_of_its_rows() {
        let mut things = Indexed::default();
        for (id, owner) in [("1", "a"), ("2", "b"), ("3", "a")] {
            things.insert(Thing {
                id: id.into(),
                owner: owner.into(),
            });
        }
        let of = |things: &Indexed<Thing>, word: &str| -> Vec<String> {
            things.having(word).map(|thing| thing.id.clone()).collect()
        };
        assert_eq!(of(&things, "owner:a"), ["1", "3"]);
        things.change("3", |thing| thing.owner = "b".into());
        assert_eq!(of(&things, "owner:b"), ["2", "3"]);
        things.remove("1");
        assert!(!things.has("owner:a"));
    }
}
