//! Distances and costs of lines.

/// Cost of a corner, in canvas pixels of length.
pub(super) const CORNER_COST: f64 = 40.0;
/// Distances of lines from nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    /// Between a line and the border that it runs along.
    pub(super) margin: f64,
    /// Smallest distance between a line and a node.
    pub(super) clearance: f64,
}

impl Spacing {
    /// The usual distances. Cards side by side have a gap of twice the margin.
    pub(super) const ROOMY: Self = Self {
        margin: 8.0,
        clearance: 4.0,
    };
    /// Along the borders, for nodes that are close together.
    pub(super) const TIGHT: Self = Self {
        margin: 0.0,
        clearance: 0.0,
    };
}
