//! Errors of the engine's operations. An error inside a run is an event of that run instead.

use hot::diagnostic::Diagnostic;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Codes of [`Error`], one page each under `docs/errors/`.
pub const CODES: &[&str] = &[
    "not-found",
    "name-taken",
    "bad-name",
    "template-refused",
    "run-in-progress",
    "not-possible-now",
    "no-vault",
    "cloud-refused",
    "project-full",
    "deployment-changed",
    "plan-changed",
    "engine-unavailable",
    "disk-almost-full",
    "project-busy",
    "server-busy",
    "takes-too-long",
    "computation-failed",
    "storage",
    "database-unavailable",
    "item-refused",
    "repository-refused",
    "item-name-taken",
    "item-version-taken",
    "item-owned",
    "catalog-full",
    "group-size",
    "group-cooldown",
    "command-invalid",
    "signal-refused",
    "signal-invalid",
    "not-permitted",
];

/// The reason why an operation was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object does not exist, or it belongs to another project.
    #[error("there is no {what} `{id}` in this project")]
    NotFound {
        /// The kind: `deployment` or `run`.
        what: &'static str,
        /// The id in the request.
        id: String,
    },
    /// A live deployment already has this name.
    #[error("a deployment named `{0}` exists already")]
    NameTaken(String),
    /// The text is not a valid name.
    #[error("`{0}` cannot be a deployment's name")]
    BadName(String),
    /// The template has errors.
    #[error("the template has {} error(s), so nothing was started", .0.iter().filter(|d| d.severity == hot::diagnostic::Severity::Error).count())]
    Refused(Vec<Diagnostic>),
    /// The plan exceeds a quota of the project. One diagnostic per quota.
    #[error("the project's quota is too small for this, so nothing was started")]
    QuotaExceeded(Vec<Diagnostic>),
    /// A run is active on the deployment.
    #[error("run `{0}` works on this deployment")]
    Busy(String),
    /// The state of the run or deployment does not allow the operation.
    #[error("{0}")]
    NotPossibleNow(String),
    /// Stored hidden values are missing or cannot be decrypted, permanently.
    #[error("{0}")]
    Lost(String),
    /// Secrets cannot be stored.
    #[error(
        "there is no place for this deployment's secrets: the cloud has no key manager, and a login by token cannot seal them"
    )]
    NoVault,
    /// The cloud refused before anything was started.
    #[error("the cloud refused: {0}")]
    Cloud(#[from] openstack::Error),
    /// The archive is not a catalogue item.
    #[error("the archive is not a catalogue item that can be used; {} problem(s)", .0.len())]
    ItemRefused(Vec<Diagnostic>),
    /// A git repository may not be read, or cannot be.
    #[error("the repository cannot be read: {0}")]
    RepositoryRefused(String),
    /// One of the server's own items has this name.
    #[error("`{0}` is one of the server's own items")]
    ItemNameTaken(String),
    /// The version exists with other files.
    #[error("version {version} of `{name}` exists already, with other files; raise the version")]
    ItemVersionTaken {
        /// The item's name.
        name: String,
        /// The version.
        version: String,
    },
    /// Another user published the item first.
    #[error("`{name}` was published by {owner}, who alone publishes its versions")]
    ItemOwned {
        /// The item's name.
        name: String,
        /// The user who published its first version.
        owner: String,
    },
    /// An item has the maximum number of versions.
    #[error("`{name}` has {limit} versions already; no more are kept")]
    TooManyVersions {
        /// The item's name.
        name: String,
        /// The maximum number.
        limit: usize,
    },
    /// The project's items would exceed this many MiB together.
    #[error("this project's items would have more than {0} MiB together, all versions counted")]
    CatalogFull(i64),
    /// Another user has started a run since the user looked.
    #[error("`{name}` has changed since you looked: {author} started a run ({}) at {created}", store::to_text(.kind))]
    Changed {
        /// The deployment's name.
        name: String,
        /// The kind of the newer run.
        kind: api::RunKind,
        /// The user who started it.
        author: String,
        /// Time of the run's start, in RFC 3339.
        created: String,
    },
    /// The change has another plan than the one that the user has reviewed.
    #[error("the plan is no longer the one that you reviewed: its changes differ")]
    PlanChanged,
    /// A command cannot be run as it was requested.
    #[error("{0}")]
    CommandInvalid(String),
    /// A scaling group cannot have this size.
    #[error("`{group}` cannot have the size {size}: its template allows {min} to {max}")]
    GroupSize {
        /// The group.
        group: String,
        /// The requested size.
        size: u64,
        /// The smallest size.
        min: u64,
        /// The largest size.
        max: u64,
    },
    /// A scaling group was scaled a short time ago.
    #[error(
        "`{group}` was scaled a short time ago; its policies are applied again from {until} on"
    )]
    Cooldown {
        /// The group.
        group: String,
        /// The end of the cooldown, in RFC 3339.
        until: String,
    },
    /// The project has reached the server's limit.
    #[error("this project has {limit} {what}, which is the limit of this server")]
    ProjectFull {
        /// The kind, in the plural.
        what: &'static str,
        /// The maximum number.
        limit: u32,
    },
    /// The address of a signal was not signed by this server, or its resource is gone. Both get the same response.
    #[error("this address accepts no signals")]
    SignalRefused,
    /// The body of a signal is not one, or the resource takes no more.
    #[error("{0}")]
    SignalInvalid(String),
    /// No standing permission lets the server do it while nobody is logged in.
    #[error("{0}")]
    NotPermitted(String),
    /// The engine is stopping, or something that it needs is missing.
    #[error("{0}")]
    Unavailable(String),
    /// The free space of the server's disk is reserved for active runs.
    #[error("the disk of the server is almost full; the free space is reserved for active runs")]
    DiskAlmostFull,
    /// No slot for the project's computations became free in time.
    #[error("this project has reached its limit of concurrent computations on templates")]
    ProjectComputes,
    /// No slot for the server's computations became free in time.
    #[error("the server has reached its limit of concurrent computations on templates")]
    ServerComputes,
    /// A computation did not end in time.
    #[error("the template takes more than {} s to compute", .0.as_secs_f64())]
    ComputesTooLong(std::time::Duration),
    /// A computation panicked.
    #[error("the server failed while computing on the template")]
    ComputationBroke,
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] store::Error),
}

impl Error {
    /// The error code: stable, in kebab-case, with a page under `docs/errors/`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotFound { .. } => "not-found",
            Error::NameTaken(_) => "name-taken",
            Error::BadName(_) => "bad-name",
            Error::Refused(_) => "template-refused",
            Error::QuotaExceeded(_) => planner::plan::QUOTA_EXCEEDED,
            Error::Busy(_) => "run-in-progress",
            Error::NotPossibleNow(_) | Error::Lost(_) => "not-possible-now",
            Error::NoVault => "no-vault",
            Error::ItemRefused(_) => "item-refused",
            Error::RepositoryRefused(_) => "repository-refused",
            Error::ItemNameTaken(_) => "item-name-taken",
            Error::ItemVersionTaken { .. } => "item-version-taken",
            Error::ItemOwned { .. } => "item-owned",
            Error::TooManyVersions { .. } | Error::CatalogFull(_) => "catalog-full",
            Error::ProjectFull { .. } => "project-full",
            Error::Changed { .. } => "deployment-changed",
            Error::PlanChanged => "plan-changed",
            Error::CommandInvalid(_) => "command-invalid",
            Error::GroupSize { .. } => "group-size",
            Error::Cooldown { .. } => "group-cooldown",
            Error::SignalRefused => "signal-refused",
            Error::SignalInvalid(_) => "signal-invalid",
            Error::NotPermitted(_) => "not-permitted",
            Error::Cloud(_) => "cloud-refused",
            Error::Unavailable(_) => "engine-unavailable",
            Error::DiskAlmostFull => "disk-almost-full",
            Error::ProjectComputes => "project-busy",
            Error::ServerComputes => "server-busy",
            Error::ComputesTooLong(_) => "takes-too-long",
            Error::ComputationBroke => "computation-failed",
            Error::Storage(error) if error.is_transient() => "database-unavailable",
            Error::Storage(_) => "storage",
        }
    }

    /// The HTTP status of the error.
    pub fn status(&self) -> u16 {
        match self {
            Error::NotFound { .. } | Error::SignalRefused => 404,
            Error::ItemOwned { .. } | Error::NotPermitted(_) => 403,
            Error::NameTaken(_)
            | Error::QuotaExceeded(_)
            | Error::Busy(_)
            | Error::NotPossibleNow(_)
            | Error::Lost(_)
            | Error::NoVault
            | Error::ItemNameTaken(_)
            | Error::ItemVersionTaken { .. }
            | Error::TooManyVersions { .. }
            | Error::CatalogFull(_)
            | Error::ProjectFull { .. }
            | Error::Cooldown { .. }
            | Error::Changed { .. }
            | Error::PlanChanged => 409,
            Error::BadName(_)
            | Error::Refused(_)
            | Error::GroupSize { .. }
            | Error::CommandInvalid(_)
            | Error::ItemRefused(_)
            | Error::RepositoryRefused(_)
            | Error::SignalInvalid(_)
            | Error::ComputesTooLong(_) => 422,
            Error::ProjectComputes => 429,
            Error::Cloud(_) => 502,
            Error::Unavailable(_) | Error::DiskAlmostFull | Error::ServerComputes => 503,
            Error::Storage(error) if error.is_transient() => 503,
            Error::Storage(_) | Error::ComputationBroke => 500,
        }
    }

    /// The next step for the user.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Error::NotFound { .. } => return None,
            Error::NameTaken(_) => "Choose another name, or undeploy the other one first.",
            Error::BadName(_) => {
                "Use 1 to 63 letters, digits, `-` and `_`, and begin with a letter or digit."
            }
            Error::Refused(_) => "Correct the problems that are listed and try again.",
            Error::QuotaExceeded(_) => {
                "Free what the project no longer uses, ask for a higher quota, or deploy anyway with `despite_quota`."
            }
            Error::Busy(_) => {
                "A deployment has one change at a time. Wait until the run ends, or cancel it."
            }
            Error::NotPossibleNow(_) | Error::Lost(_) | Error::NotPermitted(_) => return None,
            Error::NoVault => "Log in with a password or an application credential.",
            Error::ItemRefused(_) => {
                "Correct the problems that are listed, pack it and upload it again."
            }
            Error::RepositoryRefused(_) => {
                "Correct the address, or pack the item's folder as tar.gz or zip and upload it."
            }
            Error::ItemNameTaken(_) => "Give your item another `name` in `item.yml`.",
            Error::ItemVersionTaken { .. } => {
                "Raise `version` in `item.yml`: deployments rely on a version to stay as it is."
            }
            Error::ItemOwned { .. } => {
                "Ask the owner or an administrator of the project to publish it, or give your item another `name`."
            }
            Error::TooManyVersions { .. } | Error::CatalogFull(_) => {
                "Ask the server's operator to remove versions that nobody uses."
            }
            Error::Changed { .. } => {
                "Nothing was started. Look at the deployment and make a new plan, then decide again."
            }
            Error::PlanChanged => {
                "Nothing was started. The cloud, the deployment or a catalogue item has changed since. Look at the new plan, then decide again."
            }
            Error::CommandInvalid(_) => {
                "Nothing was started. Correct the request, then send it again."
            }
            Error::GroupSize { .. } => {
                "Ask for a size between, or change `min_size` or `max_size` in the template."
            }
            Error::Cooldown { .. } => "Wait until then, or apply the policy anyway with `force`.",
            Error::ProjectFull { .. } => {
                "Remove what is no longer used, or ask the server's operator for a higher limit."
            }
            Error::SignalRefused => {
                "Its resource may have been replaced or removed since: the deployment's servers get the new address when they are created."
            }
            Error::SignalInvalid(_) => "Send `{\"status\": \"SUCCESS\"}`, as Heat's servers do.",
            Error::Cloud(_) => "Nothing was started. Try again, or ask the cloud's administrator.",
            Error::Unavailable(_) => "Try again in a minute.",
            Error::DiskAlmostFull => {
                "Nothing was changed. Ask the server's operator to free space, then try again. Meanwhile, deployments can be undeployed, and runs can be cancelled and resumed."
            }
            Error::ProjectComputes => "Wait until the others are done, then try again.",
            Error::ServerComputes => "Nothing was started. Try again in a few seconds.",
            Error::ComputesTooLong(_) => {
                "Give `yaql` expressions and patterns less text, or make the template smaller."
            }
            Error::ComputationBroke => {
                "Try again. If the error stays, send the server's operator the `x-request-id` of this response."
            }
            Error::Storage(error) if error.is_transient() => {
                "Try again in a few seconds. Logins stay valid, and runs continue when the database is available again."
            }
            Error::Storage(_) => "Ask the server's operator: the server's log has the cause.",
        })
    }
}
