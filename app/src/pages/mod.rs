//! The pages, one file each.

pub mod audit;
pub mod catalog;
pub mod catalog_item;
pub mod deployment;
pub mod deployments;
pub mod designs;
pub mod item_preview;
pub mod item_test;
pub mod login;
pub mod new_item;
pub mod not_found;
pub mod plan;
pub mod sessions;
pub mod terminal;
