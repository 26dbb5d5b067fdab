//! Code for parts of a type that the `api` block cannot describe.

use async_trait::async_trait;
use openstack::collection::Record;
use serde_json::{Map, Value};

use super::Occasion;
use crate::driver::{Abilities, Context, Difference, DriverError};

/// Additions to the driver of a type. All calls must be idempotent.
#[async_trait]
pub(crate) trait Hooks: Send + Sync {
    /// Adds or corrects fields of a body.
    async fn complete(
        &self,
        _context: &Context<'_>,
        _body: &mut Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        Ok(())
    }

    /// Makes further calls after a creation or an update. The record is the service's response.
    async fn after_change(
        &self,
        _context: &Context<'_>,
        _id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        Ok(())
    }

    /// Makes calls before a deletion.
    async fn before_delete(&self, _context: &Context<'_>, _id: &str) -> Result<(), DriverError> {
        Ok(())
    }

    /// Removes the obstacle to a refused deletion, or returns the refusal.
    async fn unblock_deletion(
        &self,
        _context: &Context<'_>,
        _id: &str,
        refusal: openstack::Error,
    ) -> Result<(), DriverError> {
        Err(refusal.into())
    }

    /// Properties with entries that an update can remove:
    /// [`Update::removable_entries`](crate::driver::Update::removable_entries).
    fn removable_entries(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds attributes that are not fields of the record.
    fn attributes(&self, _record: &Record, _attributes: &mut Map<String, Value>) {}

    /// Properties that [`complete`](Hooks::complete) sends in every update, in fields of the same name.
    fn restored(&self) -> &'static [&'static str] {
        &[]
    }

    /// Changes by others in parts that are not fields of the record:
    /// [`Inspect::differences`](crate::driver::Inspect::differences).
    async fn differences(
        &self,
        _context: &Context<'_>,
        _present: &Map<String, Value>,
    ) -> Result<Vec<Difference>, DriverError> {
        Ok(Vec::new())
    }

    /// Optional abilities besides those of the generic driver.
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }
}

/// No additions.
pub(crate) struct NoHooks;

impl Hooks for NoHooks {}
