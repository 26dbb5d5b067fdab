//! Heat Orchestration Templates, without I/O: read, edit, evaluate.
//!
//! A template's text goes in; a model and diagnostics come out. Nothing here reads a clock, a file or a
//! socket, so the same code runs in the server and, compiled to wasm, in the browser on every keystroke.
//! Parsing never fails: half-typed text still gives a model, and diagnostics beside it.
//!
//! The modules in the order in which they build on each other:

pub mod text;
pub mod version;

pub mod diagnostic;
pub mod yaml;

pub mod constraint;
pub mod parameter;

pub mod expr;
pub mod template;

pub mod document;
pub mod environment;

pub mod bundle;

pub mod merged;
pub mod scope;
