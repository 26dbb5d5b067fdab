//! Optional abilities of drivers.
//!
//! A driver with an ability implements its trait and lists itself in [`Driver::abilities`]. The rules of all drivers
//! apply: calls are idempotent and do not wait.

use std::time::Duration;

use async_trait::async_trait;
use openstack::Session;
use serde_json::{Map, Value};
use store::Namesakes;

use super::{Context, Difference, Driver, DriverError, Inspection, Progress};

/// The abilities of a driver. Most types have few.
#[derive(Clone, Copy, Default)]
pub struct Abilities<'a> {
    /// Updates in place.
    pub update: Option<&'a dyn Update>,
    /// Reads outside of a run, for types whose [`Driver::progress`] does more than read.
    pub inspection: Option<&'a dyn Inspect>,
    /// Attributes that need separate requests.
    pub on_demand: Option<&'a dyn OnDemand>,
    /// Handover of exclusive parts.
    pub handover: Option<&'a dyn Handover>,
    /// Snapshots: before a deletion, and of the deployment if the type can restore them, too.
    pub snapshots: Option<&'a dyn Snapshot>,
    /// Restoration from snapshots. Types without it are no part of a deployment's snapshots.
    pub restoration: Option<&'a dyn Restore>,
    /// Suspension with the deployment. Types without it stay as they are.
    pub suspension: Option<&'a dyn Suspend>,
    /// Release of retained resources, for types that are deleted along with others.
    pub release: Option<&'a dyn Release>,
    /// Recognition by name, for types without another field for a marker.
    pub by_name: Option<&'a dyn ByName>,
    /// A wait before the deletion.
    pub delayed_deletion: Option<&'a dyn DelayedDeletion>,
    /// Whether the cloud can add parts to the resource during its deletion, or refuses it for a while. Then the deletion is
    /// repeated until the resource is gone.
    pub repeats_deletion: bool,
    /// Generated secret attributes. The journal encrypts them and logs mask them, including the reference. Once they
    /// are stored, the driver does not generate them again.
    pub secrets: &'static [&'static str],
}

/// Updates in place, for types with properties that update in place.
#[async_trait]
pub trait Update: Send + Sync {
    /// Updates a resource to the current properties.
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError>;

    /// Lists and maps with entries that an update can remove. The engine journals the values of an update before it
    /// starts, for [`Context::tried`].
    fn removable_entries(&self) -> &'static [&'static str] {
        &[]
    }

    /// The id after an update. It changes for resources that are identified by their content.
    async fn id_after_update(
        &self,
        _context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        Ok(physical_id.to_owned())
    }
}

/// Reads outside of a run.
#[async_trait]
pub trait Inspect: Driver {
    /// Current values of all attributes except those [on demand](OnDemand). `None` if the resource is gone, or in a
    /// state without attributes.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError>;

    /// The state of a resource.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn inspect(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Inspection, DriverError> {
        inspect_by_progress(self, context, physical_id).await
    }

    /// Properties that were changed in the cloud, from the attributes after the last step (`recorded`) and the present
    /// ones. Only properties with a value in the template, which an update can restore. Types without this comparison
    /// return none.
    ///
    /// # Errors
    /// The cloud refuses a further request.
    async fn differences(
        &self,
        _context: &Context<'_>,
        _recorded: &Map<String, Value>,
        _present: &Map<String, Value>,
    ) -> Result<Vec<Difference>, DriverError> {
        Ok(Vec::new())
    }
}

/// The state of a resource, from its progress.
async fn inspect_by_progress<D: Driver + ?Sized>(
    driver: &D,
    context: &Context<'_>,
    physical_id: &str,
) -> Result<Inspection, DriverError> {
    Ok(match driver.progress(context, physical_id).await? {
        Progress::Ready(ready) => Inspection::Usable(ready.attributes),
        Progress::Pending(why) => Inspection::InTransition(why),
        Progress::Failed(_) if driver.is_gone(context, physical_id).await? => Inspection::Gone,
        Progress::Failed(why) | Progress::Unchanged(why) | Progress::GaveUp(why) => {
            Inspection::Broken(why)
        }
    })
}

/// A wait before the deletion.
#[async_trait]
pub trait DelayedDeletion: Send + Sync {
    /// The time to wait.
    async fn waits_before_delete(&self, context: &Context<'_>) -> Result<Duration, DriverError>;
}

/// The abilities, with what applies to types without them.
impl dyn Driver + '_ {
    /// Updates a resource to the current properties.
    ///
    /// # Errors
    /// The type has no update in place, or the call failed.
    pub async fn update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<(), DriverError> {
        match self.abilities().update {
            Some(update) => update.update(context, physical_id).await,
            None => Err(DriverError::Other(format!(
                "`{physical_id}` cannot be changed in place; remove it from the template, and add it again"
            ))),
        }
    }

    /// The id after an update.
    pub async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        match self.abilities().update {
            Some(update) => update.id_after_update(context, physical_id).await,
            None => Ok(physical_id.to_owned()),
        }
    }

    /// Current values of all attributes except those on demand: [`Inspect::attributes`].
    pub async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        if let Some(inspection) = self.abilities().inspection {
            return inspection.attributes(context, physical_id).await;
        }
        Ok(match self.progress(context, physical_id).await? {
            Progress::Ready(ready) => Some(ready.attributes),
            _ => None,
        })
    }

    /// The state of a resource outside of a run.
    pub async fn inspect(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Inspection, DriverError> {
        match self.abilities().inspection {
            Some(inspection) => inspection.inspect(context, physical_id).await,
            None => inspect_by_progress(self, context, physical_id).await,
        }
    }

    /// Names of the attributes on demand.
    pub fn names_on_demand(&self) -> &'static [&'static str] {
        let on_demand = self.abilities().on_demand;
        on_demand.map(OnDemand::names).unwrap_or_default()
    }
}

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
/// Both calls return the progress of the handover. [`Update::update`] takes back the parts. For
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

/// Snapshots: before a deletion (`deletion_policy: Snapshot`), and of a deployment.
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

/// Restoration of a resource's data from its snapshots. The resource keeps its id.
#[async_trait]
pub trait Restore: Snapshot {
    /// Takes a part of the deployment's snapshot, or returns its progress, by the rules of [`Snapshot::snapshot`]. The size
    /// in bytes is the attribute `size`, if the cloud knows it.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn take(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError> {
        self.snapshot(context, physical_id, occasion).await
    }

    /// True if a resource returns to its newest snapshot only, and only at the size that it had then.
    fn restores_newest_only(&self) -> bool {
        false
    }

    /// True if the cloud deletes no resource that has snapshots. They are deleted before it then, else after it.
    fn snapshots_block_deletion(&self) -> bool {
        false
    }

    /// The reason why a snapshot of this resource would not have its data, as in "it boots from a volume". `None` if it
    /// has.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn obstacle(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<String>, DriverError>;

    /// Restores a resource from a snapshot, given by its id, or returns the progress. The occasion is the same for all
    /// attempts of a run, and differs from those of other runs.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn restore(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        snapshot: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError>;

    /// Deletes what [`Restore::take`] created on an occasion, also without the id: the response to a request can
    /// have been lost. A missing snapshot is success. False if the cloud still works on the snapshot, so that it can only be
    /// deleted later.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn remove_snapshot(
        &self,
        session: &Session,
        physical_id: &str,
        occasion: &str,
        snapshot: Option<&str>,
    ) -> Result<bool, DriverError>;
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
    /// The suspension or resumption is done.
    Done,
    /// The resource is in a state without a way to the wanted one, such as switched off, and stays as it is. The text is
    /// displayed after the resource's name: "it is SHUTOFF".
    NotPossible(String),
    /// The cloud accepted the request and did not execute it. The text is displayed after the resource's name: "was not
    /// suspended: ...".
    Refused(String),
}
