//! The template language, without I/O.
//!
//! A template's text goes in; a model, diagnostics, a plan and a workflow come out. Nothing here
//! reads a clock, a file or a socket, so the same code runs in the server and, compiled to wasm, in
//! the browser on every keystroke. Parsing never fails: half-typed text still gives a model, and
//! diagnostics beside it.
//!
//! Read in this order: `diagnostic`, `yaml`, `expr`, `template`, `document`, `types`, `catalog`,
//! `cloud`, `validate`, `passes`, `plan`, `workflow`.

pub mod bundle;
pub mod catalog;
pub mod cloud;
pub mod compose;
mod constraint;
pub mod conversion;
pub mod diagnostic;
pub mod document;
pub mod environment;
pub mod expr;
mod graph;
mod parameters;
pub mod passes;
pub mod plan;
mod range;
mod scope;
mod services;
pub mod template;
mod text;
pub mod types;
pub mod validate;
pub mod version;
pub mod workflow;
mod yaml;

#[cfg(test)]
mod testing;
