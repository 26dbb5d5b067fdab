//! Code beside data: what the `api` block of a type cannot say.

use async_trait::async_trait;
use openstack::collection::Record;
use serde_json::{Map, Value};

use super::Occasion;
use crate::driver::{Context, DriverError, Handover, OnDemand};

/// Additions to the driver of a type. Each may run twice.
#[async_trait]
pub(crate) trait Hooks: Send + Sync {
    /// Adds fields to a body, or corrects them.
    async fn complete(
        &self,
        _context: &Context<'_>,
        _body: &mut Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        Ok(())
    }

    /// Makes further calls once the resource is created or changed. The record is the service's answer.
    async fn settle(
        &self,
        _context: &Context<'_>,
        _id: &str,
        _record: &Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        Ok(())
    }

    /// Makes the calls that must come before a removal.
    async fn let_go(&self, _context: &Context<'_>, _id: &str) -> Result<(), DriverError> {
        Ok(())
    }

    /// The cloud refuses a removal: makes it possible, or returns the refusal.
    async fn make_removable(
        &self,
        _context: &Context<'_>,
        _id: &str,
        refusal: openstack::Error,
    ) -> Result<(), DriverError> {
        Err(refusal.into())
    }

    /// Properties of which a change takes away entries: [`Driver::takes_away`](crate::driver::Driver::takes_away).
    fn takes_away(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds attributes that are not fields of the record.
    fn attributes(&self, _record: &Record, _attributes: &mut Map<String, Value>) {}

    /// Attributes that take requests of their own.
    fn on_demand(&self) -> Option<&dyn OnDemand> {
        None
    }

    /// The handover of what only one resource can have.
    fn handover(&self) -> Option<&dyn Handover> {
        None
    }
}

/// No additions.
pub(crate) struct NoHooks;

impl Hooks for NoHooks {}
