//! Time limits of steps, in seconds. A step's limit covers all its attempts.

/// Creation, change or deletion of a resource.
pub(super) const RESOURCE_SECONDS: u32 = 600;

/// Creation or change of a server.
pub(super) const SERVER_SECONDS: u32 = 1200;

/// Wait for SSH on a new server.
pub(super) const SSH_SECONDS: u32 = 120;

/// Opening or closing of the bastion.
pub(super) const BASTION_SECONDS: u32 = 120;

/// A role or a software deployment on a server.
pub(super) const CONFIGURE_SECONDS: u32 = 1800;

/// A snapshot or its restoration: the cloud copies the whole disk.
pub(super) const SNAPSHOT_SECONDS: u32 = 7200;

/// A wait condition: more than its longest `timeout`, with which it ends its wait itself.
pub(super) const WAIT_SECONDS: u32 = 43_200 + 600;

/// The wait of a hook for a person: a week.
pub(super) const HOOK_SECONDS: u32 = 7 * 86_400;
