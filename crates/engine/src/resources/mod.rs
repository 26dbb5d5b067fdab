//! The resources of a deployment during a run: their table, and the addresses of its servers. Pure.

pub mod address;
mod table;

pub use address::Addresses;
pub use table::{ResourceEntry, ResourceTable, made_from, made_with, together};
