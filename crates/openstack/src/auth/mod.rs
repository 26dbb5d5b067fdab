//! Clouds and logins: configuration, credentials, the login, the session that it gives.

pub(crate) mod catalog;
pub mod clouds;
pub mod config;
pub mod credentials;
mod extensions;
mod login;
pub mod session;
