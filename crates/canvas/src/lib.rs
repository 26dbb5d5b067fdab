//! The headless canvas editor.
//!
//! Everything that the Design page knows about drawing is here, without a browser: what a template
//! looks like ([`drawing`]), where nodes stand ([`layout`]), what a drop, a connection or a deletion
//! means ([`commands`]), and how to take it back ([`history`]). So is the drawing of a workflow ([`layered`]). The Leptos side
//! measures pointers and paints rectangles; every decision is a pure function that is tested natively.
//!
//! ```text
//! template text --Document--> Template --drawing::draw(places)--> Drawing --> the page paints it
//!       ^                                                           |
//!       +--- Vec<Edit> + places <--- commands::{drop, connect, ...} <- pointer, keyboard
//! ```
//!
//! Positions never enter the template: they live beside it as [`layout::Places`].

pub mod commands;
pub mod drawing;
pub mod edges;
pub mod editor;
pub mod form;
pub mod geometry;
pub mod history;
pub mod layered;
pub mod layout;
mod node;
pub mod palette;
pub mod selection;
pub mod snap;
pub mod typing;
pub mod viewport;
