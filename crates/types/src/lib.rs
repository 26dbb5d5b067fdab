//! Descriptions of resource types, used by forms, checks, the palette and the planner.
//!
//! Each type has one file, each service one folder; the format is in `read`. Names, kinds, defaults, constraints and
//! in-place updates are those of Heat. A template that Heat accepts is therefore valid here, and a refusal has the same
//! reason as in Heat. Files document intended differences. A new type is a file and a line in `files`.

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
pub use rule::{Rule, When};
pub use typed::typed;
