//! The language put to the test on whole templates, with files and clocks around it.
//!
//! The language crates have no I/O, so what reads folders, measures times or runs for minutes stands here: the corpus with
//! Heat's own answers beside ours ([`corpus`]), times from text to workflow ([`times`]), and templates broken on
//! purpose ([`fuzz`]), both held against the same [`laws`]. `cargo xtask corpus`, `bench` and `fuzz` start this crate's one
//! program; it is a crate of its own so that neither `xtask` nor the tests of the language pay for it.

pub mod corpus;
pub mod fuzz;
pub mod laws;
pub mod shapes;
pub mod stand_in;
pub mod times;
