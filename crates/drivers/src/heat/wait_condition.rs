//! `OS::Heat::WaitCondition` and `OS::Heat::SwiftSignal`: waits for signals to a handle.
//!
//! It is ready when `count` different ids have signalled a success, and fails at once when one has signalled a failure.
//! The id contains the end of the wait, in seconds since 1970, so that the time continues after a restart. Signals are kept
//! when the condition is removed: they belong to the handle. Only failures are deleted, so that another wait on the same
//! handle can succeed. Source: Heat's `wait_condition.py`.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};
use store::{SIGNALS_MAX, Signal, SignalStatus};

use super::{
    Context, Driver, DriverError, Duplicates, Progress, Properties, Ready, local_id, now_seconds,
};
use crate::driver::{Abilities, Received, Update};

pub(super) struct WaitCondition;

/// Heat's limit, in seconds.
const TIMEOUT_MAX: f64 = 43_200.0;

#[async_trait]
impl Driver for WaitCondition {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::None
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        count(context)?;
        Ok(local_id(context, timeout(context)?))
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let handle = context.properties.get("handle").unwrap_or(&Json::Null);
        let received = context.signals.received(handle).await?;
        let received = received.ok_or_else(|| DriverError::Property {
            property: "handle".to_owned(),
            message: "it must be `get_resource` of a wait condition handle of this deployment"
                .to_owned(),
        })?;
        let signals = match received {
            Received::NotAwaited => return Ok(ready(physical_id, &[])),
            Received::Signals(signals) => signals,
        };
        let failures = signals
            .iter()
            .filter(|one| one.status == SignalStatus::Failure);
        let reasons: Vec<&str> = failures.map(|one| one.reason.as_str()).collect();
        if !reasons.is_empty() {
            return Ok(Progress::GaveUp(format!(
                "was signalled a failure: {}. Correct its cause, then update or resume: the wait begins again",
                reasons.join("; ")
            )));
        }
        let count = count(context)?;
        if signals.len() >= count {
            return Ok(ready(physical_id, &signals));
        }
        let end = end_of(physical_id);
        let so_far = format!("{} of {count} signals", signals.len());
        if end <= now_seconds() {
            return Ok(Progress::GaveUp(timed_out(context, &so_far, &signals)?));
        }
        let until =
            Timestamp::from_second(i64::try_from(end).unwrap_or(i64::MAX)).unwrap_or_default();
        Ok(Progress::Pending(format!(
            "{so_far}; it waits until {until}"
        )))
    }

    async fn delete(&self, context: &Context<'_>, _: Option<&str>) -> Result<(), DriverError> {
        match context.properties.get("handle") {
            Some(handle) => context.signals.forget_failures(handle).await,
            None => Ok(()),
        }
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

#[async_trait]
impl Update for WaitCondition {
    async fn update(&self, context: &Context<'_>, _: &str) -> Result<(), DriverError> {
        count(context).map(drop)
    }

    /// Each update waits again.
    async fn id_after_update(&self, context: &Context<'_>, _: &str) -> Result<String, DriverError> {
        Ok(local_id(context, timeout(context)?))
    }
}

fn count(context: &Context<'_>) -> Result<usize, DriverError> {
    let count = Properties::of(context.properties).integer("count")?;
    let count = count.unwrap_or(1);
    let fits = (1..=i64::from(SIGNALS_MAX)).contains(&count);
    let count = usize::try_from(count).ok().filter(|_| fits);
    count.ok_or_else(|| DriverError::Property {
        property: "count".to_owned(),
        message: format!("it must be from 1 to {SIGNALS_MAX}, the signals that a handle keeps"),
    })
}

fn timeout(context: &Context<'_>) -> Result<u64, DriverError> {
    let timeout = context.properties.get("timeout").and_then(Json::as_f64);
    let timeout = timeout.filter(|timeout| (1.0..=TIMEOUT_MAX).contains(timeout));
    let timeout = timeout.ok_or_else(|| DriverError::Property {
        property: "timeout".to_owned(),
        message: format!("it must be a number of seconds, from 1 to {TIMEOUT_MAX}"),
    })?;
    Ok(timeout.ceil() as u64)
}

/// The end of the wait in a physical id.
fn end_of(physical_id: &str) -> u64 {
    let end = physical_id.rsplit_once('@').map(|(_, end)| end.parse());
    end.and_then(Result::ok).unwrap_or_default()
}

fn timed_out(
    context: &Context<'_>,
    so_far: &str,
    signals: &[Signal],
) -> Result<String, DriverError> {
    let ids: Vec<String> = signals.iter().map(|one| format!("`{}`", one.id)).collect();
    let who = if ids.is_empty() {
        String::new()
    } else {
        format!(" ({})", ids.join(", "))
    };
    Ok(format!(
        "got {so_far}{who} in {} s. `/var/log/cloud-init-output.log` on the servers that did not signal says why; resume the \
         run to wait again",
        timeout(context)?
    ))
}

fn ready(physical_id: &str, signals: &[Signal]) -> Progress {
    let data = signals.iter().map(|one| (one.id.clone(), one.data.clone()));
    let data: Map<String, Json> = data.collect();
    let data = json!(Json::Object(data).to_string());
    Progress::Ready(Ready {
        reference: json!(physical_id),
        attributes: Map::from_iter([("data".to_owned(), data)]),
    })
}
