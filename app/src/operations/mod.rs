//! Operations on a deployment: scaling, checks, repairs, commands, consoles, and the standing permission. Also what is known
//! of a resource beside its operations: the last check's finding, and its service.
//!
//! The page of a deployment shows them all. The designer offers them for a design that was opened from a deployment, and
//! both use the same dialogs.

pub mod check;
pub mod command;
pub mod console;
pub mod groups;
pub mod permission;
pub mod permission_form;
pub mod proposal;
pub mod resource;
pub mod service;
