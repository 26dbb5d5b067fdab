//! The axum program: configuration, sessions, the REST API, the websocket, pages and files.
//!
//! The modules are thin: a route parses a request, authenticates the caller, calls the engine, the designs' store or
//! the pure `planner`, and returns the response. [`build`] connects them, for `main` and for tests. Read in this order:

// The view types of the pages nest deeply.
#![recursion_limit = "512"]

mod build;
pub mod config;
mod services;

// Authentication and responses.
mod attempts;
mod audit;
mod auth;
mod client;
pub mod codes;
mod doors;
mod extract;
mod origin;
mod problem;
mod rates;
mod session_store;
mod token_logins;
mod unattended;

// Content of responses.
mod catalog;
mod designs;
mod facts;
pub mod routes;

// Common middleware and connections.
mod headers;
mod live_login;
mod metrics;
mod pages;
mod serve;

pub use build::{Server, build};
pub use codes::CODES;
pub use config::Config;
