//! Keystone's types, as far as they are more than data: most clouds let administrators alone create them. A property that names
//! one takes an id, a name, or a name with its domain (`ops{acme}`), as in Heat.

pub(super) mod domain;
pub(super) mod group;
pub(super) mod project;
pub(super) mod role_assignment;
mod roles;
pub(super) mod user;
