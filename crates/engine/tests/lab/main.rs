//! The engine against the lab cloud in memory: everything but software.

mod bench;
mod endings;
mod faults;
mod life;
