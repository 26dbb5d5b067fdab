//! Optional abilities of drivers.
//!
//! Most types have none of these. A driver that has one implements its trait and returns itself from the method of
//! [`Driver`](super::Driver) that leads to it. The rules of all drivers apply: every call may be made twice, and no call waits.

use async_trait::async_trait;
use serde_json::{Map, Value};
use store::Namesakes;

use super::{Context, DriverError, Progress};

/// Attributes that take requests of their own. The engine reads them when a property or an output uses one, and does not store
/// them.
#[async_trait]
pub trait OnDemand: Send + Sync {
    /// Names of the attributes.
    fn names(&self) -> &'static [&'static str];

    /// Present values of some of the attributes.
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

/// The handover of something that the cloud gives to one resource only: an address, a port, a volume.
///
/// Both calls also tell how far the handover is. [`Driver::update`](super::Driver::update) takes back what was handed over. A
/// resource that is gone has handed over all.
#[async_trait]
pub trait Handover: Send + Sync {
    /// Hands over to a successor, before the successor is created. Both exist until the successor works.
    async fn make_room(
        &self,
        _context: &Context<'_>,
        _physical_id: &str,
    ) -> Result<Progress, DriverError> {
        Ok(Progress::done())
    }

    /// Hands over to another resource of the deployment, with the properties `taker`. The taker is changed first, this resource
    /// after it.
    async fn give_up(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError>;
}

/// Snapshots before a removal: `deletion_policy: Snapshot`.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// Takes a snapshot of a resource, or tells how far it is. The reference of a ready snapshot is its id.
    ///
    /// Calls with the same `occasion` get the same snapshot. A call with another one never gets an older snapshot, because
    /// people may have worked on the resource since.
    async fn snapshot(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError>;
}

/// The release of a resource that stays in the cloud when its deployment forgets it: `deletion_policy: Retain`.
///
/// A type needs it if the removal of another resource would remove this one too.
#[async_trait]
pub trait Release: Send + Sync {
    /// Marks a resource in the cloud as retained. Without an id, its marker leads to it. A resource that is gone is success.
    async fn release(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError>;
}

/// Recognition by name, for types whose resources have no place for a marker but their name.
#[async_trait]
pub trait ByName: Send + Sync {
    /// Resources with the name that the template gives; `None` if it gives none, and the name is the marker. The engine
    /// journals them before the first request. By them, it finds what an interrupted attempt created.
    ///
    /// # Errors
    /// The service cannot be asked.
    async fn namesakes(&self, context: &Context<'_>) -> Result<Option<Namesakes>, DriverError>;
}
