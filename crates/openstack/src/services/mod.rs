//! The services of a cloud. Each adds its own entry point to [`Session`](crate::Session).

pub mod alarming;
pub mod application_credentials;
pub mod block_storage;
pub mod collection;
pub mod compute;
pub mod dns;
pub mod identity;
pub mod image;
pub mod key_manager;
pub mod load_balancer;
mod lookups;
pub mod network;
pub mod object_store;
pub mod quota_sets;
