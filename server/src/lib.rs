//! The axum program: configuration, sessions, the REST API, the websocket, pages and files.
//!
//! Everything here is thin: a route takes a request apart, finds out who asks, calls the engine, the
//! designs' store or the pure `planner`, and answers. [`build`] puts it together, for `main` and
//! for tests alike. Read in this order:

// The pages' views are types as deep as the pages.
#![recursion_limit = "512"]

mod build;
pub mod config;
mod services;

// Who asks, and how we answer.
mod attempts;
mod auth;
mod client;
pub mod codes;
mod extract;
mod origin;
mod problem;
mod session_store;
mod token_logins;

// What is asked for.
mod catalog;
mod designs;
mod facts;
pub mod routes;

// Around it.
mod headers;
mod live_login;
mod metrics;
mod pages;

pub use build::{Server, build};
pub use codes::CODES;
pub use config::Config;
