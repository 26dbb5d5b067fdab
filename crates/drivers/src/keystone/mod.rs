//! Hooks and drivers of Keystone's types. On most clouds, only administrators can create them. A property accepts an
//! id, a name, or a name with its domain (`ops{acme}`), as in Heat.

pub(super) mod domain;
pub(super) mod group;
pub(super) mod project;
pub(super) mod role_assignment;
mod roles;
pub(super) mod user;
