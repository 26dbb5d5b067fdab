//! Tests of the language on whole templates, with files and clocks.
//!
//! The language crates do no I/O, so everything that reads folders, measures times or runs for minutes is here: the
//! corpus with Heat's own answers ([`corpus`]), times from text to workflow ([`times`]), and randomly broken templates
//! ([`fuzz`]). Corpus and fuzz test the same [`laws`]. `cargo xtask corpus`, `bench` and `fuzz` start this crate's one
//! program. It is its own crate so that neither `xtask` nor the language's unit tests have to compile it.

pub mod corpus;
pub mod fuzz;
pub mod laws;
pub mod shapes;
pub mod stand_in;
pub mod times;
