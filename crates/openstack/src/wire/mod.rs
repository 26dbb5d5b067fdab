//! HTTP calls to a cloud: transport, version discovery, pagination, errors.

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod client;
pub(crate) mod concurrency;
mod discovery;
pub(crate) mod endpoint;
pub(crate) mod error;
mod failure;
pub(crate) mod id;
mod pages;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod transport;
