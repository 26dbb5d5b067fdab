//! The workflow as a graph, left to right: what waits for what, and what happens side by side.

mod view;

pub use view::{GraphStep, WorkflowGraph, step_icon, step_verb};
