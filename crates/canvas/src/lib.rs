//! The headless canvas editor.
//!
//! All drawing logic of the Design page is here, without a browser: the drawing of a template ([`drawing`]), the
//! positions of nodes ([`layout`]), the meaning of a drop, a connection or a deletion ([`commands`]), and undo
//! ([`history`]). The Leptos side reads pointer positions and renders rectangles. Every decision is a pure function
//! with native tests.
//!
//! ```text
//! template text --Document--> Template --drawing::draw(places)--> Drawing --> the page paints it
//!       ^                                                           |
//!       +--- Vec<Edit> + places <--- commands::{drop, connect, ...} <- pointer, keyboard
//! ```
//!
//! Positions are not part of the template. They are stored beside it as [`layout::Places`].

pub mod areas;
pub mod arrangement;
pub mod commands;
pub mod compare;
pub mod completion;
pub mod drawing;
pub mod edges;
pub mod editor;
pub mod fixes;
pub mod form;
pub mod geometry;
pub mod history;
pub mod layered;
pub mod layout;
pub mod moving;
mod node;
pub mod palette;
pub mod request;
pub mod routing;
pub mod selection;
pub mod snap;
pub mod texts;
pub mod typing;
pub mod viewport;
