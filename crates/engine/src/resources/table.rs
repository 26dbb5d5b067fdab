//! The resources of a run's deployment, and the resolution of expressions from them. Pure.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use api::ResourceState;
use hot::expr::{Budget, Expr, Scope};
use planner::workflow::{ResourceSpec, copy_of};
use serde_json::{Map, Value};
use store::ResourceRow;
use types::{Executable, Registry};

/// Resources by name, shared by the steps of a run. Steps add new facts after the journal has stored them. Older copies
/// have names of their own.
#[derive(Debug, Default)]
pub struct ResourceTable(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    by_name: BTreeMap<String, ResourceEntry>,
    /// Index of names by cloud id, and by host of software, for the look-ups of thousands of steps.
    by_id: HashMap<String, BTreeSet<String>>,
    by_host: HashMap<String, BTreeSet<String>>,
    /// Names of removed resources and copies. A resource is put aside for its successor only once.
    gone: BTreeSet<String>,
    /// The last incarnation of each name. The next resource of the name is another incarnation: the previous one can
    /// still be in the cloud, because it is retained or its deletion takes time.
    last: BTreeMap<String, u32>,
    /// Retained resources in the cloud, as texts for users.
    retained: Vec<String>,
    /// Other remarks for the end of the run.
    remarks: Vec<String>,
}

/// The facts about one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceEntry {
    /// The resource's description at its creation.
    pub spec: ResourceSpec,
    /// The cloud's id. `None` until the resource is created.
    pub physical_id: Option<String>,
    /// The result of `get_resource`. `None` until it is ready.
    pub reference: Option<Value>,
    /// The results of `get_attr`.
    pub attributes: Map<String, Value>,
    /// State of the resource.
    pub state: ResourceState,
    /// Number of the resource among all that had the name.
    pub incarnation: u32,
    /// Values, at its creation or last change, of the properties that refer to other resources.
    pub made_from: BTreeMap<String, Value>,
    /// Values that unfinished changes may have written into it, by property.
    pub tried: Map<String, Value>,
}

impl ResourceEntry {
    fn of(row: ResourceRow) -> ResourceEntry {
        ResourceEntry {
            spec: row.spec,
            physical_id: row.physical_id,
            reference: row.reference,
            attributes: row.attributes,
            state: row.state,
            incarnation: row.incarnation,
            made_from: row.made_from,
            tried: row.tried,
        }
    }

    /// True if resources of its type have the attribute in the cloud. For groups, nested templates and Heat's helper
    /// types a missing value resolves to null, as in Heat.
    fn should_give(&self, attribute: &str) -> bool {
        let described = Registry::shared().get(&self.spec.resource_type);
        described.is_some_and(|described| {
            described.executable == Executable::Driver
                && described.attributes.iter().any(|one| one.name == attribute)
        })
    }
}

impl ResourceTable {
    /// The table of stored rows, including deleted resources.
    pub fn of(rows: Vec<ResourceRow>) -> ResourceTable {
        let mut tables = Tables::default();
        for row in rows {
            tables.record_incarnation(&row.name, row.incarnation);
            if row.state != ResourceState::Removed {
                tables.put(row.name.clone(), ResourceEntry::of(row));
            } else {
                tables.gone.insert(row.name);
            }
        }
        ResourceTable(Mutex::new(tables))
    }

    /// Adds the last incarnations of names that possibly have no row any more.
    pub fn with_incarnations(self, last: BTreeMap<String, u32>) -> ResourceTable {
        let mut tables = self.lock();
        for (name, last) in last {
            tables.record_incarnation(&name, last);
        }
        drop(tables);
        self
    }

    /// A resource by name.
    pub fn get(&self, name: &str) -> Option<ResourceEntry> {
        self.lock().by_name.get(name).cloned()
    }

    /// The id in the cloud of a server, or of the server that a component is on.
    pub fn server_id_of(&self, name: &str) -> Option<String> {
        let entry = self.get(name)?;
        match entry.spec.host() {
            Some(host) => self.get(host)?.physical_id,
            None => entry.physical_id,
        }
    }

    /// All resources by name, without older copies.
    pub fn all(&self) -> BTreeMap<String, ResourceEntry> {
        let mut all = self.with_copies();
        all.retain(|name, _| copy_of(name).is_none());
        all
    }

    /// All resources by name, with older copies.
    pub fn with_copies(&self) -> BTreeMap<String, ResourceEntry> {
        self.lock().by_name.clone()
    }

    /// The first resource or older copy that fits, by name.
    pub fn find(&self, fits: impl Fn(&ResourceEntry) -> bool) -> Option<(String, ResourceEntry)> {
        let tables = self.lock();
        let found = tables.by_name.iter().find(|(_, entry)| fits(entry));
        found.map(|(name, entry)| (name.clone(), entry.clone()))
    }

    /// The names of a resource's older copies, in order.
    pub fn copies(&self, name: &str) -> Vec<String> {
        let tables = self.lock();
        let first = format!("{name}@");
        let names = tables.by_name.range(first.clone()..);
        names
            .map(|(other, _)| other)
            .take_while(|other| other.starts_with(&first))
            .filter(|other| copy_of(other) == Some(name))
            .cloned()
            .collect()
    }

    /// The names of resources with this cloud id, including older copies, in order.
    pub fn with_id(&self, id: &str) -> Vec<String> {
        let tables = self.lock();
        tables
            .by_id
            .get(id)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// The names of software on this server, including older copies, in order.
    pub fn on_host(&self, host: &str) -> Vec<String> {
        let tables = self.lock();
        let names = tables.by_host.get(host);
        names.into_iter().flatten().cloned().collect()
    }

    /// Records a description for the resource's creation. An existing resource keeps its id. Returns the incarnation.
    pub fn begin(&self, name: &str, spec: &ResourceSpec) -> u32 {
        let mut tables = self.lock();
        let before = tables.by_name.get(name);
        let physical_id = before.and_then(|entry| entry.physical_id.clone());
        let incarnation = match before {
            Some(entry) => entry.incarnation,
            None => tables.last.get(name).map_or(0, |last| last + 1),
        };
        let entry = ResourceEntry {
            spec: spec.clone(),
            physical_id,
            reference: None,
            attributes: Map::new(),
            state: ResourceState::Creating,
            incarnation,
            made_from: BTreeMap::new(),
            tried: Map::new(),
        };
        tables.put(name.to_owned(), entry);
        tables.gone.remove(name);
        tables.record_incarnation(name, incarnation);
        incarnation
    }

    /// True if a copy of this name was put aside already.
    pub fn was_put_aside(&self, copy: &str) -> bool {
        let tables = self.lock();
        tables.by_name.contains_key(copy) || tables.gone.contains(copy)
    }

    /// Moves the resource of a name to the copy's name.
    pub fn put_aside(&self, name: &str, copy: &str) {
        let mut tables = self.lock();
        if let Some(entry) = tables.take(name) {
            tables.put(copy.to_owned(), entry);
        }
    }

    /// Changes a resource, if it exists.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut ResourceEntry)) {
        let mut tables = self.lock();
        if let Some(mut entry) = tables.take(name) {
            change(&mut entry);
            tables.put(name.to_owned(), entry);
        }
    }

    /// Removes a resource.
    pub fn remove(&self, name: &str) {
        let mut tables = self.lock();
        if tables.take(name).is_some() {
            tables.gone.insert(name.to_owned());
        }
    }

    /// Replaces all facts by those of another table.
    pub fn replace(&self, by: ResourceTable) {
        let tables = by.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.lock() = tables;
    }

    /// Records a resource that stays in the cloud.
    pub fn keep(&self, what: String) {
        self.lock().retained.push(what);
    }

    /// Resources that stay in the cloud, recorded since this run was started or recovered.
    pub fn retained(&self) -> Vec<String> {
        self.lock().retained.clone()
    }

    /// Records a remark for the end of the run.
    pub fn remark(&self, remark: String) {
        let mut tables = self.lock();
        if !tables.remarks.contains(&remark) {
            tables.remarks.push(remark);
        }
    }

    /// The remarks for the end of the run.
    pub fn remarks(&self) -> Vec<String> {
        self.lock().remarks.clone()
    }

    /// The scope in which expressions are resolved.
    pub fn scope<'a>(&'a self, parameters: &'a BTreeMap<String, Value>) -> RunScope<'a> {
        RunScope {
            known: self,
            parameters,
            budget: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a name from a key, and the key with its last name.
fn forget(index: &mut HashMap<String, BTreeSet<String>>, key: Option<&str>, name: &str) {
    let Some(key) = key else { return };
    if let Some(names) = index.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            index.remove(key);
        }
    }
}

impl Tables {
    fn put(&mut self, name: String, entry: ResourceEntry) {
        self.take(&name);
        let of = |index: &mut HashMap<String, BTreeSet<String>>, key: Option<&str>| {
            if let Some(key) = key {
                index
                    .entry(key.to_owned())
                    .or_default()
                    .insert(name.clone());
            }
        };
        of(&mut self.by_id, entry.physical_id.as_deref());
        of(&mut self.by_host, host_of(&entry));
        self.by_name.insert(name, entry);
    }

    fn take(&mut self, name: &str) -> Option<ResourceEntry> {
        let entry = self.by_name.remove(name)?;
        forget(&mut self.by_id, entry.physical_id.as_deref(), name);
        forget(&mut self.by_host, host_of(&entry), name);
        Some(entry)
    }

    fn record_incarnation(&mut self, name: &str, incarnation: u32) {
        let last = self
            .last
            .entry(copy_of(name).unwrap_or(name).to_owned())
            .or_default();
        *last = incarnation.max(*last);
    }
}

/// The name of the server that software runs on.
fn host_of(entry: &ResourceEntry) -> Option<&str> {
    let property = types::host_property(&entry.spec.resource_type);
    reference_name(entry.spec.properties.get(property)?)
}

/// The resource that a value refers to by its name.
pub fn reference_name(value: &Expr) -> Option<&str> {
    match value {
        Expr::GetResource(name) => Some(name),
        Expr::Literal(Value::String(name)) => Some(name),
        _ => None,
    }
}

/// Values that a later plan compares: those of properties with references to other resources and to no parameter.
/// During a run, only hidden parameters are still expressions.
pub fn made_from(spec: &ResourceSpec, resolved: &Map<String, Value>) -> BTreeMap<String, Value> {
    let tells = |value: &Expr| {
        let mut hidden = false;
        value.walk(&mut |expr| {
            hidden |= matches!(expr, Expr::GetParam(name, _) if !name.starts_with("OS::"));
        });
        !hidden && !value.resources().is_empty()
    };
    spec.properties
        .iter()
        .filter(|(_, value)| tells(value))
        .map(|(name, _)| {
            (
                name.clone(),
                resolved.get(name).cloned().unwrap_or_default(),
            )
        })
        .collect()
}

/// Two values combined: the items of lists, the keys of maps.
pub fn together(one: Option<&Value>, other: &Value) -> Value {
    match (one, other) {
        (Some(Value::Array(one)), Value::Array(other)) => {
            let more = other.iter().filter(|item| !one.contains(item));
            one.iter().chain(more).cloned().collect()
        }
        (Some(Value::Object(one)), Value::Object(other)) => {
            let mut all = other.clone();
            all.extend(one.clone());
            Value::Object(all)
        }
        (Some(one), Value::Null) => one.clone(),
        _ => other.clone(),
    }
}

/// Digests of the values of hidden parameters at a resource's creation, by parameter. Nothing else of the values is
/// stored with it.
pub fn made_with(
    spec: &ResourceSpec,
    hidden: &BTreeSet<String>,
    digest: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for value in spec.properties.values() {
        value.walk(&mut |expr| {
            if let Expr::GetParam(name, _) = expr
                && hidden.contains(name)
                && !all.contains_key(name)
            {
                all.extend(digest(name).map(|digest| (name.clone(), digest)));
            }
        });
    }
    all
}

/// The scope of expressions during a run.
pub struct RunScope<'a> {
    known: &'a ResourceTable,
    parameters: &'a BTreeMap<String, Value>,
    budget: Arc<Budget>,
}

impl Scope for RunScope<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.parameters.get(name).cloned()
    }

    fn parameter_ref(&self, name: &str) -> Option<&Value> {
        self.parameters.get(name)
    }

    fn budget(&self) -> Option<&Arc<Budget>> {
        Some(&self.budget)
    }

    fn reference(&self, resource: &str) -> Option<Value> {
        self.known.lock().by_name.get(resource)?.reference.clone()
    }

    fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
        let tables = self.known.lock();
        let entry = tables.by_name.get(resource)?;
        entry.reference.as_ref()?;
        match entry.attributes.get(name) {
            Some(value) => Some(value.clone()),
            None if entry.should_give(name) => None,
            None => Some(Value::Null),
        }
    }

    fn lacks_attribute(&self, resource: &str, name: &str) -> bool {
        let tables = self.known.lock();
        tables.by_name.get(resource).is_some_and(|entry| {
            let is_there = entry.reference.is_some();
            is_there && !entry.attributes.contains_key(name) && entry.should_give(name)
        })
    }

    fn attributes(&self, resource: &str) -> Option<Value> {
        let tables = self.known.lock();
        let entry = tables.by_name.get(resource)?;
        entry.reference.as_ref()?;
        Some(Value::Object(entry.attributes.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn attempted_values_are_recorded_beside_the_former_ones() {
        for (one, other, both) in [
            (json!(["a", "b"]), json!(["b", "c"]), json!(["a", "b", "c"])),
            (
                json!({"a": 1}),
                json!({"a": 2, "b": 3}),
                json!({"a": 1, "b": 3}),
            ),
            (json!(["a"]), json!(null), json!(["a"])),
        ] {
            assert_eq!(together(Some(&one), &other), both);
        }
        assert_eq!(together(None, &json!(["a"])), json!(["a"]));
    }
}
