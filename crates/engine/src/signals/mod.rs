//! Signals to resources from programs without a login: servers that report to a wait condition, alarms that trigger a
//! policy.
//!
//! The address of a resource is signed with a key that is derived from the server's own key ([`address`]). So nothing
//! has to be stored to refuse a wrong address, and nobody can guess one. It names one creation of the resource: the
//! successor of a replaced resource has another address, and the old one is refused. The signature is apart from the
//! address, as Heat's token is: it is sent as `X-Auth-Token` or in the query, which logs do not contain.
//!
//! On a server without an address for signals, the engine fetches those of wait conditions over SSH ([`spool`]).

mod address;
mod alarm;
mod body;
mod spool;

pub(crate) use address::{address, target};
pub(crate) use alarm::{Alarm, parse as parse_alarm};
pub(crate) use body::parse;
pub(crate) use spool::{command, spool};

/// Largest signal to a handle, in bytes.
pub const SIGNAL_BYTES_MAX: usize = 16 * 1024;
