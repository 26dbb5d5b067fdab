//! Signals, for the drivers that a step calls.

use std::sync::Arc;

use async_trait::async_trait;
use drivers::{DriverError, Received, SignalAddress, Signals};
use hot::expr::Expr;
use planner::workflow::copy_of;
use serde_json::Value;
use store::{SignalStatus, SignalTarget, Store};

use super::context::RunContext;
use crate::{
    resources::{ResourceEntry, ResourceTable},
    signals::{address, command, spool},
};

/// Signals to the resource of a step, and to the handles of its deployment.
pub(super) struct StepSignals {
    store: Store,
    known: Arc<ResourceTable>,
    /// The step's resource.
    target: SignalTarget,
    address: Option<SignalAddress>,
    command: Option<String>,
}

impl StepSignals {
    /// Signals of the resource or older copy of this name.
    pub fn of(run_context: &RunContext, name: &str) -> StepSignals {
        let entry = run_context.known.get(name);
        let incarnation = entry.as_ref().map_or(0, |entry| entry.incarnation);
        let target = target(run_context, name, incarnation);
        let planned = run_context.workflow.resources.get(name);
        let spec = planned.or(entry.as_ref().map(|entry| &entry.spec));
        let is_fetched = spec.is_some_and(|spec| {
            spec.marks.signals_over_ssh && types::is_wait_condition_handle(&spec.resource_type)
        });
        let core = &run_context.core;
        let base = core.config.signal_url.as_deref();
        StepSignals {
            address: base.map(|base| address(&core.keys, base, &target)),
            command: is_fetched.then(|| command(&spool(&target))),
            store: core.store.clone(),
            known: run_context.known.clone(),
            target,
        }
    }

    /// The handle with this reference, and its name.
    fn handle(&self, reference: &Value) -> Option<(ResourceEntry, SignalTarget)> {
        let (name, entry) = self.known.find(|entry| {
            types::is_wait_condition_handle(&entry.spec.resource_type)
                && entry.reference.as_ref() == Some(reference)
        })?;
        let target = SignalTarget {
            resource: copy_of(&name).unwrap_or(&name).to_owned(),
            incarnation: entry.incarnation,
            ..self.target.clone()
        };
        Some((entry, target))
    }
}

/// One creation of the resource or older copy of this name.
pub(super) fn target(run_context: &RunContext, name: &str, incarnation: u32) -> SignalTarget {
    SignalTarget {
        tenant: run_context.tenant.clone(),
        deployment: run_context.deployment.clone(),
        resource: copy_of(name).unwrap_or(name).to_owned(),
        incarnation,
    }
}

#[async_trait]
impl Signals for StepSignals {
    fn address(&self) -> Option<SignalAddress> {
        self.address.clone()
    }

    fn command(&self) -> Option<String> {
        self.command.clone()
    }

    async fn received(&self, handle: &Value) -> Result<Option<Received>, DriverError> {
        let Some((entry, target)) = self.handle(handle) else {
            return Ok(None);
        };
        let transport = entry.spec.properties.get("signal_transport");
        if transport.and_then(Expr::as_str) == Some("NO_SIGNAL") {
            return Ok(Some(Received::NotAwaited));
        }
        let signals = self.store.signal_list(&target).await;
        let signals = signals.map_err(DriverError::Storage)?;
        Ok(Some(Received::Signals(signals)))
    }

    async fn forget_failures(&self, handle: &Value) -> Result<(), DriverError> {
        let Some((_, target)) = self.handle(handle) else {
            return Ok(());
        };
        let failures = Some(SignalStatus::Failure);
        let deleted = self.store.signal_delete(&target, failures).await;
        deleted.map_err(DriverError::Storage)
    }

    async fn forget(&self) -> Result<(), DriverError> {
        let deleted = self.store.signal_delete(&self.target, None).await;
        deleted.map_err(DriverError::Storage)
    }
}
