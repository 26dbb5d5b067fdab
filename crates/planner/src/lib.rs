//! From a template to a workflow, without I/O: validation, passes, plan.
//!
//! Read in this order: `cloud`, `workflow`, `validate`, `compose`, `passes`, `plan`.

pub mod cloud;
pub mod compose;
pub mod deployed;
mod graph;
pub mod lookup;
pub mod members;
mod parameters;
pub mod passes;
pub mod plan;
mod range;
mod services;
pub mod validate;
pub mod workflow;

#[cfg(test)]
mod testing;
