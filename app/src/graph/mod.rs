//! The workflow as a graph, left to right: dependencies and parallel steps.

mod view;

pub use view::{GraphStep, WorkflowGraph, step_icon, step_verb};
