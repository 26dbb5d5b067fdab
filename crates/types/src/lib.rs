//! Resource types: one description each, from which forms, checks, the palette and the planner read.
//!
//! One file a type, in a folder a service; `read` says how they are written. Names, kinds, defaults,
//! constraints and what updates in place are Heat's own, so that a template which Heat takes is right
//! here, and one which it refuses is refused for the same reason. Where we differ on purpose, the file
//! says so. A new type is a file and a line in `files`.

pub mod api;
pub mod catalog;
mod category;
mod component;
mod description;
mod files;
mod names;
mod property;
mod read;
mod registry;
mod rule;
mod typed;

pub use category::{Category, Shape};
pub use description::{Executable, ResourceType, no_driver};
pub use names::*;
pub use property::{
    Attribute, Choices, OnChange, Property, PropertyKind, Reference, ReferenceRole, find, of_kind,
};
pub use registry::Registry;
pub use rule::{OneOf, Rule, When};
pub use typed::typed;
