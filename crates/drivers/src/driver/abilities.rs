//! Optional abilities of drivers.
//!
//! Most types have none of these. A driver with an ability implements its trait and returns itself from the
//! corresponding method of [`Driver`](super::Driver). The rules of all drivers apply: calls are idempotent and do not
//! wait.

use async_trait::async_trait;
use serde_json::{Map, Value};
use store::Namesakes;

use super::{Context, DriverError, Progress};

/// Attributes that need separate requests. The engine reads them when a property or an output uses one, and does not
/// store them.
#[async_trait]
pub trait OnDemand: Send + Sync {
    /// Names of the attributes.
    fn names(&self) -> &'static [&'static str];

    /// Current values of some of the attributes.
    ///
    /// # Errors
    /// The cloud refuses the request, or the resource is gone.
    async fn read(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        names: &[&str],
    ) -> Result<Map<String, Value>, DriverError>;
}

/// The handover of an exclusive part: an address, a port, a volume.
///
/// Both calls return the progress of the handover. [`Driver::update`](super::Driver::update) takes back the parts. For
/// a missing resource, the handover is complete.
#[async_trait]
pub trait Handover: Send + Sync {
    /// Hands over to a successor, before its creation. Both exist until the successor is ready.
    async fn hand_over_to_successor(
        &self,
        _context: &Context<'_>,
        _physical_id: &str,
    ) -> Result<Progress, DriverError> {
        Ok(Progress::done())
    }

    /// Hands over to another resource of the deployment, with the properties `taker`. The taker is updated first, then
    /// this resource.
    async fn hand_over(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError>;
}

/// Snapshots before a deletion: `deletion_policy: Snapshot`.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// Takes a snapshot of a resource, or returns its progress. The reference of a ready snapshot is its id.
    ///
    /// Calls with the same `occasion` return the same snapshot. A call with another one never returns an older
    /// snapshot, because the resource can have changed since.
    async fn snapshot(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError>;
}

/// The release of a resource that is removed from its deployment and stays in the cloud: `deletion_policy: Retain`.
///
/// A type needs it if the deletion of another resource would delete this one too.
#[async_trait]
pub trait Release: Send + Sync {
    /// Marks a resource in the cloud as retained. Without an id, the resource is found by its marker. A missing
    /// resource is success.
    async fn release(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError>;
}

/// Recognition by name, for types whose only field for a marker is the name.
#[async_trait]
pub trait ByName: Send + Sync {
    /// Existing resources with the name in the template. `None` if the template has no name, so that the name is the
    /// marker. The engine journals them before the first request, to recognize a resource created by an interrupted
    /// attempt.
    ///
    /// # Errors
    /// The service is unreachable or refuses.
    async fn namesakes(&self, context: &Context<'_>) -> Result<Option<Namesakes>, DriverError>;
}

/// Suspension of a resource with its deployment, and its end.
///
/// Both calls are repeated until they are no longer under way.
#[async_trait]
pub trait Suspend: Send + Sync {
    /// Suspends a resource, or returns the progress.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn suspend(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Suspension, DriverError>;

    /// Resumes a suspended resource, or returns the progress.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn resume(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Suspension, DriverError>;
}

/// The progress of a suspension, or of its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// The cloud is working on it. The text is shown to users.
    UnderWay(String),
    /// It is done.
    Done,
    /// The resource is in a state without a way to the wanted one, such as switched off, and stays as it is. The text is
    /// displayed after the resource's name: "it is SHUTOFF".
    NotPossible(String),
    /// The cloud accepted the request and did not execute it. The text is displayed after the resource's name: "was not
    /// suspended: ...".
    Refused(String),
}
