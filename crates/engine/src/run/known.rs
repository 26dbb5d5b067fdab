//! What a run knows of its deployment's resources, and how expressions are resolved from it. Pure.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use api::ResourceState;
use serde_json::{Map, Value};
use topology::{expr::Scope, workflow::ResourceSpec};

use crate::journal::ResourceRow;

/// Resources by name, shared by the steps of a run. Steps put in what they learn; the journal has
/// had it before.
#[derive(Debug, Default)]
pub struct Known(Mutex<BTreeMap<String, Thing>>);

/// What is known of one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Thing {
    /// As it was made, or shall be.
    pub spec: ResourceSpec,
    /// The cloud's id, once there is one.
    pub physical_id: Option<String>,
    /// What `get_resource` gives, once it is there.
    pub reference: Option<Value>,
    /// What `get_attr` gives.
    pub attributes: Map<String, Value>,
    /// What it is in.
    pub state: ResourceState,
}

impl Known {
    /// As stored.
    pub fn of(rows: Vec<ResourceRow>) -> Known {
        let things = rows.into_iter().map(|row| {
            let thing = Thing {
                spec: row.spec,
                physical_id: row.physical_id,
                reference: row.reference,
                attributes: row.attributes,
                state: row.state,
            };
            (row.name, thing)
        });
        Known(Mutex::new(things.collect()))
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<Thing> {
        self.lock().get(name).cloned()
    }

    /// All, by name.
    pub fn all(&self) -> BTreeMap<String, Thing> {
        self.lock().clone()
    }

    /// It will be made by this description; what exists under the name keeps its id.
    pub fn begin(&self, name: &str, spec: &ResourceSpec) {
        let mut things = self.lock();
        let physical_id = things.get(name).and_then(|thing| thing.physical_id.clone());
        let thing = Thing {
            spec: spec.clone(),
            physical_id,
            reference: None,
            attributes: Map::new(),
            state: ResourceState::Creating,
        };
        things.insert(name.to_owned(), thing);
    }

    /// Changes one, if it is known.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Thing)) {
        if let Some(thing) = self.lock().get_mut(name) {
            change(thing);
        }
    }

    /// It is gone.
    pub fn remove(&self, name: &str) {
        self.lock().remove(name);
    }

    /// To resolve expressions with.
    pub fn scope<'a>(&'a self, parameters: &'a BTreeMap<String, Value>) -> RunScope<'a> {
        RunScope {
            known: self,
            parameters,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Thing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What expressions can ask while a run lasts.
pub struct RunScope<'a> {
    known: &'a Known,
    parameters: &'a BTreeMap<String, Value>,
}

impl Scope for RunScope<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.parameters.get(name).cloned()
    }

    fn reference(&self, resource: &str) -> Option<Value> {
        self.known.lock().get(resource)?.reference.clone()
    }

    fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
        let things = self.known.lock();
        let thing = things.get(resource)?;
        thing.reference.as_ref()?;
        Some(thing.attributes.get(name).cloned().unwrap_or(Value::Null))
    }

    fn attributes(&self, resource: &str) -> Option<Value> {
        let things = self.known.lock();
        let thing = things.get(resource)?;
        thing.reference.as_ref()?;
        Some(Value::Object(thing.attributes.clone()))
    }
}
