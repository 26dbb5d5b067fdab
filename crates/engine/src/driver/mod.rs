//! What the engine asks of a resource type's driver.
//!
//! A driver is the I/O half of a type's description: it makes one thing in the cloud and removes it.
//! Every call may be made twice: the engine repeats after a crash, a timeout or a retry. So `create`
//! looks for what carries the [`Marker`] before it makes anything, and `delete` counts "not there"
//! as done. Drivers do not wait, retry or sleep: they answer what is, and the engine decides.

use std::{sync::LazyLock, time::Duration};

use async_trait::async_trait;
use hot::template::Marks;
use serde_json::{Map, Value};
pub use store::Namesakes;

pub use abilities::{ByName, Handover, OnDemand, Release, Snapshot};
pub use accepted::{Accepted, Request};

mod abilities;
mod accepted;

/// How a thing in the cloud is known as ours: unique per deployment and resource, and readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Id of the deployment.
    pub deployment: String,
    /// Its name, for names that people see.
    pub deployment_name: String,
    /// Name in the template, or the name that a pass gave; of a successor with `#` and its number, so that
    /// it is told from what it replaces.
    pub resource: String,
}

impl Marker {
    /// The mark of the things that a creation made.
    pub fn of(creation: &store::Creation, deployment: &str, deployment_name: &str) -> Marker {
        let key = &creation.key;
        Marker {
            deployment: deployment.to_owned(),
            deployment_name: deployment_name.to_owned(),
            resource: Marker::resource_of(&key.name, key.incarnation),
        }
    }

    /// What marks say of a resource: its name, and for a successor which one it is of all that had the name.
    pub fn resource_of(name: &str, incarnation: u32) -> String {
        match incarnation {
            0 => name.to_owned(),
            number => format!("{name}#{number}"),
        }
    }
}

/// The input of a driver's call.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The user's session in the cloud.
    pub session: &'a openstack::Session,
    /// The mark of the resource.
    pub marker: &'a Marker,
    /// Properties, resolved and in the types of their description ([`types::typed`]).
    pub properties: &'a Map<String, Value>,
    /// On an update, the properties that it was made from, as far as they are known; else none.
    pub before: &'a Map<String, Value>,
    /// Of [`Driver::takes_away`], the values of changes that did not end: any of it may be there, and any of what was there
    /// before may be gone.
    pub tried: &'a Map<String, Value>,
    /// On an update, names of the properties that differ from what it was made from.
    pub changed: &'a [String],
    /// `public`, `bastion`.
    pub marks: &'a Marks,
    /// The store of private keys.
    pub vault: &'a dyn Vault,
    /// What a server needs so that we can log in to it; `None` where no software step will.
    pub login: Option<&'a Login>,
    /// Requests of this attempt that a service carries out later.
    pub accepted: &'a Accepted,
    /// Whether an attempt before this one may have created the resource.
    pub earlier: Earlier,
    /// Whether the run leads back to what worked: what cannot be turned back stays as it is.
    pub goes_back: bool,
}

impl<'a> Context<'a> {
    /// A context for a call that changes nothing, and a base for others.
    pub fn of(
        session: &'a openstack::Session,
        vault: &'a dyn Vault,
        accepted: &'a Accepted,
        marker: &'a Marker,
        properties: &'a Map<String, Value>,
    ) -> Context<'a> {
        static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        static NO_MARKS: Marks = Marks {
            public: false,
            bastion: false,
        };
        Context {
            session,
            marker,
            properties,
            before: &NOTHING,
            tried: &NOTHING,
            changed: &[],
            marks: &NO_MARKS,
            vault,
            login: None,
            accepted,
            earlier: Earlier::Possible,
            goes_back: false,
        }
    }
}

/// How the engine logs in to the deployment's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Made by cloud-init.
    pub user: String,
    /// OpenSSH format.
    pub public_key: String,
}

/// Whether an attempt before this one may have created the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// A call of ours may have been carried out whose end we do not know: the driver looks for the mark first.
    Possible,
    /// The journal has never known the resource, which saves the look.
    None,
}

/// Where private keys are kept: the cloud's key manager, else a store sealed with the user's own key.
#[async_trait]
pub trait Vault: Send + Sync {
    /// Keep `secret` under `name`; the same name again replaces it. Returns a reference to it.
    async fn put(&self, name: &str, secret: &str) -> Result<String, DriverError>;
    /// What is kept under `name`.
    async fn get(&self, name: &str) -> Result<Option<String>, DriverError>;
    /// Forget it; not there is fine.
    async fn forget(&self, name: &str) -> Result<(), DriverError>;
}

/// How far a thing is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The cloud works on it; a few words that a person may read.
    Pending(String),
    /// It is there.
    Ready(Ready),
    /// The cloud gave up on it, in its words. It is of no use as it is.
    Failed(String),
    /// A change that the cloud had accepted was not carried out; the thing is as it was, and usable. The text follows the
    /// resource's name: "was not resized to `m1.huge`: ...".
    Unchanged(String),
}

/// What others can refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ready {
    /// What `get_resource` gives.
    pub reference: Value,
    /// What `get_attr` gives. Stored in clear, but for those of [`Driver::secrets`].
    pub attributes: Map<String, Value>,
}

/// What becomes of a second thing of one creation. A request whose answer was lost may be carried out after the engine has looked
/// for the mark and created another.
pub enum Duplicates<'a> {
    /// It is found by its mark.
    Listed(&'a dyn ListMarked),
    /// The service refuses it, or takes it for the first: a name, a content or a pair of ends is there once.
    Refused,
    /// It lives inside another thing of the deployment, and goes with it.
    Inside,
    /// Nothing of it is in a cloud.
    Nowhere,
}

/// A search for everything that carries marks of a deployment, whatever the journal knows.
#[async_trait]
pub trait ListMarked: Send + Sync {
    /// Things of this type that carry one of the marks, in the project and wherever else its user sees them. Each kind is listed
    /// once, for all marks together. What is being deleted is left out.
    ///
    /// # Errors
    /// Where the service cannot be asked.
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError>;
}

/// What a search works with.
pub struct Search<'a> {
    /// The user's session in the cloud.
    pub session: &'a openstack::Session,
    /// Where private keys are kept.
    pub vault: &'a dyn Vault,
    /// Id of the deployment.
    pub deployment: &'a str,
    /// The marks, all of the deployment.
    pub markers: &'a [Marker],
    /// Of those things that have no mark but a name from the template: [`Marker::resource`], and who had the name before.
    pub names: &'a [(String, Namesakes)],
    /// Requests of this search that a service carries out later.
    pub accepted: Accepted,
}

impl Search<'_> {
    /// The context of a call where nothing but the mark is known.
    pub fn context<'a>(&'a self, marker: &'a Marker) -> Context<'a> {
        static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        Context::of(self.session, self.vault, &self.accepted, marker, &NOTHING)
    }
}

/// A thing that carries a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    /// [`Marker::resource`] of its mark.
    pub resource: String,
    /// As [`Driver::create`] returns it.
    pub physical_id: String,
    /// Its name in the cloud, for people.
    pub name: Option<String>,
    /// Whether the mark alone proves where it comes from.
    pub proof: Proof,
}

/// What proves that a thing comes from a creation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Proof {
    /// Its mark.
    Mark,
    /// Its mark and its age: the cloud copies marks, to restored volumes for instance. The time at which the cloud
    /// created it, where it says so.
    MarkAndAge(Option<jiff::Timestamp>),
    /// Nothing: it has the name that the template gives, which somebody else may have given to a thing of theirs.
    NameOnly,
}

/// One file per resource type implements this.
#[async_trait]
pub trait Driver: Send + Sync {
    /// What becomes of a second thing of one creation.
    fn duplicates(&self) -> Duplicates<'_>;

    /// Attributes that take requests of their own; `None` for types without any.
    fn on_demand(&self) -> Option<&dyn OnDemand> {
        None
    }

    /// The handover of what only one resource can have; `None` for types that have no such thing.
    fn handover(&self) -> Option<&dyn Handover> {
        None
    }

    /// Snapshots before a removal; `None` for types that the cloud takes none of.
    fn snapshots(&self) -> Option<&dyn Snapshot> {
        None
    }

    /// The release of retained resources; `None` for types whose resources no other removal takes along.
    fn releases(&self) -> Option<&dyn Release> {
        None
    }

    /// Recognition by name; `None` for types whose resources carry a marker.
    fn by_name(&self) -> Option<&dyn ByName> {
        None
    }

    /// Attributes that the driver makes up itself and that nobody else may read. They are sealed in the
    /// journal and masked in logs, the reference too; once they are stored, the driver is not asked again.
    fn secrets(&self) -> &'static [&'static str] {
        &[]
    }

    /// Find what carries the marker, else make it. Returns the cloud's id at once, without waiting
    /// until it is ready.
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError>;

    /// How far it is. A thing that is gone is `Failed`. What this attempt asked for ([`Context::accepted`]) is compared with
    /// what is there.
    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError>;

    /// All attributes but those [on demand](OnDemand), as they are in the cloud now. Changes nothing. `None` where the thing is gone, or in a
    /// state in which the driver cannot tell them.
    ///
    /// # Errors
    /// The cloud refuses the request.
    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        Ok(match self.progress(context, physical_id).await? {
            Progress::Ready(ready) => Some(ready.attributes),
            Progress::Pending(_) | Progress::Failed(_) | Progress::Unchanged(_) => None,
        })
    }

    /// Change it to the present properties; it keeps its id. Only types with properties that update in place have it.
    async fn update(&self, _context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        Err(DriverError::Other(format!(
            "`{physical_id}` cannot be changed in place; remove it from the template, and add it again"
        )))
    }

    /// Properties of which a change takes away what they said before: lists and maps. What a change tries is noted before it
    /// begins, for [`Context::tried`].
    fn takes_away(&self) -> &'static [&'static str] {
        &[]
    }

    /// Its id once it is updated; another one where a thing is known by what it says or joins.
    async fn id_after_update(
        &self,
        _context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        Ok(physical_id.to_owned())
    }

    /// How long to wait before it is removed; nothing for most.
    async fn waits_before_delete(&self, _context: &Context<'_>) -> Result<Duration, DriverError> {
        Ok(Duration::ZERO)
    }

    /// Remove it. Without an id, look for the marker first (a crash may have come between the
    /// creation and the journal). Not there is success.
    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError>;

    /// Whether more of it may come to be while it is removed: then that is said again until it is gone.
    fn grows_while_it_goes(&self) -> bool {
        false
    }

    /// Whether nothing is left of it.
    ///
    /// # Errors
    ///
    /// Also when the cloud has given up on its deletion.
    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError>;
}

impl dyn Driver + '_ {
    /// Names of the attributes on demand.
    pub fn names_on_demand(&self) -> &'static [&'static str] {
        self.on_demand().map(OnDemand::names).unwrap_or_default()
    }
}

impl Progress {
    /// The end of a call that leaves nothing to refer to.
    pub fn done() -> Progress {
        Progress::Ready(Ready::default())
    }
}

impl DriverError {
    /// Whether the cloud may still carry out a creation whose attempt ended with this: the request was sent and not answered, or
    /// the service failed in the middle of it. A refusal is an answer, and a call that only looks creates nothing.
    pub fn may_still_commit(&self) -> bool {
        match self {
            DriverError::Cloud(error) => error.may_still_commit(),
            DriverError::Property { .. } | DriverError::Storage(_) | DriverError::Other(_) => false,
        }
    }
}

/// Why a call failed; the engine chooses by the variant whether to repeat.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The cloud said so. Retry rules read the status.
    #[error(transparent)]
    Cloud(#[from] openstack::Error),
    /// A property that the cloud cannot be asked with; repeating is useless.
    #[error("property `{property}`: {message}")]
    Property {
        /// Its name.
        property: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// Our own database did not do its work; it says nothing of what it has.
    #[error("the sealed store failed: {0}")]
    Storage(store::Error),
    /// Anything else; a sentence for the person.
    #[error("{0}")]
    Other(String),
}
