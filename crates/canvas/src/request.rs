//! Requests of the pages to the worker beside them: what takes longer than a frame for a large design.
//!
//! Requests and answers are sent as JSON.

use planner::preview::Question;
use serde::{Deserialize, Serialize};

use crate::{arrangement::Arrangement, edges::Routing};

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// The part of a template's plan that its drawing shows. The answer is a [`planner::preview::Preview`].
    Plan(Box<Question>),
    /// The rectangle of each node of an arrangement. See [`Arrangement::rects`].
    Arrange(Arrangement),
    /// The lines of a drawing. See [`Routing::lines`].
    Route(Routing),
}
