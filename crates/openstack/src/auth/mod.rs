//! Clouds and logins: configuration, credentials, login, and the resulting session.

pub(crate) mod catalog;
pub mod clouds;
pub mod config;
pub mod credentials;
mod extensions;
mod login;
pub mod session;
