//! The template language, without I/O.
//!
//! A template's text goes in; a model, diagnostics, a plan and a workflow come out. Nothing here
//! reads a clock, a file or a socket, so the same code runs in the server and, compiled to wasm, in
//! the browser on every keystroke. Parsing never fails: half-typed text still gives a model, and
//! diagnostics beside it.
//!
//! Read in this order:

pub mod diagnostic;
mod text;
mod yaml;
pub mod expr;
pub mod template;
pub mod document;
pub mod types;
mod constraint;
pub mod catalog;
pub mod cloud;
mod graph;
pub mod validate;
pub mod passes;
pub mod plan;
pub mod workflow;

#[cfg(test)]
mod testing;
