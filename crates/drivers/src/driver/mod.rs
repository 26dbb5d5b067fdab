//! Drivers of resource types: the interface between the engine and a type.
//!
//! A driver is the I/O half of a type's description: it creates a resource in the cloud, changes it and deletes it.
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

/// The marker that a resource carries in the cloud: unique for each deployment and resource, and readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Id of the deployment.
    pub deployment: String,
    /// Its name, for names that people see.
    pub deployment_name: String,
    /// Name in the template, or the name that a pass gave; of a successor with `#` and its number, so that
    /// it is distinguished from its predecessor.
    pub resource: String,
}

impl Marker {
    /// The marker of a creation's resources.
    pub fn of(creation: &store::Creation, deployment: &str, deployment_name: &str) -> Marker {
        let key = &creation.key;
        Marker {
            deployment: deployment.to_owned(),
            deployment_name: deployment_name.to_owned(),
            resource: Marker::resource_of(&key.name, key.incarnation),
        }
    }

    /// The resource part of a marker: the name, and the number of a successor among all that had the name.
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
    /// On an update, the properties before it, as far as they are known. Empty on other calls.
    pub before: &'a Map<String, Value>,
    /// Values of [`Driver::takes_away`] from unfinished changes. Any of their entries may exist in the cloud, and any entry from
    /// before may be gone.
    pub tried: &'a Map<String, Value>,
    /// On an update, names of the properties that differ from those before it.
    pub changed: &'a [String],
    /// `public`, `bastion`.
    pub marks: &'a Marks,
    /// The store of private keys.
    pub vault: &'a dyn Vault,
    /// The login that a new server gets; `None` if no software step uses one.
    pub login: Option<&'a Login>,
    /// Requests of this attempt that a service carries out later.
    pub accepted: &'a Accepted,
    /// Whether an attempt before this one may have created the resource.
    pub earlier: Earlier,
    /// Whether the run is a roll-back. In a roll-back, irreversible changes stay as they are.
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
    /// Possibly: the driver looks for the marker first.
    Possible,
    /// No: the journal has never had the resource, so the driver need not look.
    None,
}

/// A store of private keys: the cloud's key manager, else a store sealed with the user's own key.
#[async_trait]
pub trait Vault: Send + Sync {
    /// Stores a secret, and replaces an older one with the same name. Returns a reference to it.
    async fn put(&self, name: &str, secret: &str) -> Result<String, DriverError>;
    /// The secret with this name.
    async fn get(&self, name: &str) -> Result<Option<String>, DriverError>;
    /// Deletes a secret. A missing one is success.
    async fn forget(&self, name: &str) -> Result<(), DriverError>;
}

/// The state of a resource during a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The cloud works on it. The text is for people.
    Pending(String),
    /// It exists and can be used.
    Ready(Ready),
    /// The cloud failed to create it, and it cannot be used. The text is the cloud's reason.
    Failed(String),
    /// The cloud accepted a change and did not carry it out. The resource is as before, and usable. The text follows the
    /// resource's name: "was not resized to `m1.huge`: ...".
    Unchanged(String),
}

/// Values of a ready resource that other resources can refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ready {
    /// The value of `get_resource`.
    pub reference: Value,
    /// The values of `get_attr`. The journal stores them in clear, except those of [`Driver::secrets`].
    pub attributes: Map<String, Value>,
}

/// The fate of a duplicate. A request whose answer was lost may be carried out after the engine has looked for the marker and
/// created another resource.
pub enum Duplicates<'a> {
    /// A search finds it by its marker.
    Listed(&'a dyn ListMarked),
    /// The service refuses it, or answers with the first one: a name, a content or an association exists once.
    Refused,
    /// It is part of another resource of the deployment, and is deleted with it.
    Inside,
    /// There is none: the type has no resources in a cloud.
    Nowhere,
}

/// A search for everything that carries marks of a deployment, whatever the journal knows.
#[async_trait]
pub trait ListMarked: Send + Sync {
    /// Resources of this type that carry one of the markers, in the project and wherever else its user sees them. One request
    /// serves all markers. Resources that are being deleted are left out.
    ///
    /// # Errors
    /// The service cannot be asked.
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError>;
}

/// The input of a search.
pub struct Search<'a> {
    /// The user's session in the cloud.
    pub session: &'a openstack::Session,
    /// The store of private keys.
    pub vault: &'a dyn Vault,
    /// Id of the deployment.
    pub deployment: &'a str,
    /// The marks, all of the deployment.
    pub markers: &'a [Marker],
    /// For resources without a marker, whose name is from the template: [`Marker::resource`], and the earlier namesakes.
    pub names: &'a [(String, Namesakes)],
    /// Requests of this search that a service carries out later.
    pub accepted: Accepted,
}

impl Search<'_> {
    /// The context of a call that has a marker and no properties.
    pub fn context<'a>(&'a self, marker: &'a Marker) -> Context<'a> {
        static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        Context::of(self.session, self.vault, &self.accepted, marker, &NOTHING)
    }
}

/// A resource that carries a marker.
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

/// The proof that a resource comes from a creation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Proof {
    /// Its mark.
    Mark,
    /// Its mark and its age: the cloud copies marks, to restored volumes for instance. The time at which the cloud
    /// created it, where it says so.
    MarkAndAge(Option<jiff::Timestamp>),
    /// No proof: it has the name from the template, and so may a resource of somebody else.
    NameOnly,
}

/// The driver of a resource type.
#[async_trait]
pub trait Driver: Send + Sync {
    /// The fate of duplicates.
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

    /// Secret attributes that the driver generates itself. The journal seals them and logs mask them, the reference too. Once they
    /// are stored, the driver does not generate them again.
    fn secrets(&self) -> &'static [&'static str] {
        &[]
    }

    /// Finds the resource that carries the marker, or creates it. Returns the cloud's id at once, without waiting until the
    /// resource is ready.
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError>;

    /// The state of a resource; `Failed` if it is gone. The requests of this attempt ([`Context::accepted`]) are compared with
    /// the resource.
    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError>;

    /// Present values of all attributes but those [on demand](OnDemand). Changes nothing. `None` if the resource is gone, or in a
    /// state without attributes.
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

    /// Changes a resource to the present properties. Only types with properties that update in place implement it.
    async fn update(&self, _context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        Err(DriverError::Other(format!(
            "`{physical_id}` cannot be changed in place; remove it from the template, and add it again"
        )))
    }

    /// Lists and maps of which a change removes entries. The engine journals the values of a change before it begins, for
    /// [`Context::tried`].
    fn takes_away(&self) -> &'static [&'static str] {
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

    /// Time to wait before the deletion. Zero for most types.
    async fn waits_before_delete(&self, _context: &Context<'_>) -> Result<Duration, DriverError> {
        Ok(Duration::ZERO)
    }

    /// Deletes a resource. Without an id, the marker leads to it: a crash may have come between the creation and the journal. A
    /// resource that is gone is success.
    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError>;

    /// Whether the cloud may add to the resource during its deletion. Then the deletion is repeated until it is gone.
    fn grows_while_it_goes(&self) -> bool {
        false
    }

    /// Whether the resource is gone.
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

/// The failure of a call. The variant decides whether the engine repeats the call.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The cloud refused the call or did not answer. Retry rules read the status.
    #[error(transparent)]
    Cloud(#[from] openstack::Error),
    /// A property with an unusable value. Repeating is useless.
    #[error("property `{property}`: {message}")]
    Property {
        /// Its name.
        property: String,
        /// The problem and the remedy.
        message: String,
    },
    /// A failure of our own database. The text contains no stored values.
    #[error("the sealed store failed: {0}")]
    Storage(store::Error),
    /// Any other failure, as a sentence for people.
    #[error("{0}")]
    Other(String),
}
