//! The look of nodes in the picture: from selection, states and problems.

use std::collections::{HashMap, HashSet};

use canvas::{
    drawing::{Node, NodeKind},
    selection::Selection,
};
use leptos::prelude::*;

use crate::{
    designer::{
        icons::hue,
        stage::{Stage, Tally},
    },
    ui::state::look_of,
};

/// Order of painting. Lines are above frames and below all other nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Networks.
    Frame,
    /// Other nodes outside of servers.
    Card,
    /// Software and volumes in servers.
    Chip,
}

/// Look of a node's rectangle. Nodes with the same look are painted at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Look {
    /// Order of painting.
    pub rank: Rank,
    /// Colour of the fill, a name in `INKS`.
    pub fill: &'static str,
    /// Share of the fill, in per cent.
    pub strength: u8,
    /// Colour of the border, a name in `INKS`.
    pub border: &'static str,
    /// True for the border of a selected node.
    pub is_thick: bool,
    /// True for a node that is not related, not eligible, or not there.
    pub is_faded: bool,
}

/// The parts of the stage on which the look of nodes and lines depends.
pub struct Eye<'a> {
    /// The selection.
    pub selection: &'a Selection,
    states: &'a HashMap<String, String>,
    problems: &'a HashMap<String, Tally>,
    related: Option<&'a HashSet<String>>,
    eligible: Option<&'a HashSet<String>>,
}

impl Eye<'_> {
    /// Reads the stage, so that an effect follows it.
    pub fn open(stage: Stage, look: impl FnOnce(&Eye<'_>)) {
        let (related, eligible) = (stage.related.get(), stage.eligible.get());
        let problems = stage.problems.get();
        stage.selection.with(|selection| {
            stage.states.with(|states| {
                look(&Eye {
                    selection,
                    states,
                    problems: &problems,
                    related: related.as_deref(),
                    eligible: eligible.as_deref(),
                });
            });
        });
    }

    /// Look of a node's rectangle.
    pub fn look(&self, node: &Node) -> Look {
        let name = node.name.as_str();
        let is_frame = node.kind == NodeKind::Frame;
        let state = self.states.get(name).map_or("idle", String::as_str);
        let (fill, strength) = match (look_of(state).0, state) {
            ("running", _) => ("state-running", 30),
            ("retrying", _) | (_, "plan-update") => ("state-retrying", 30),
            ("succeeded", _) | (_, "plan-create") => ("state-succeeded", 30),
            ("failed", _) => ("state-failed", 30),
            _ if node.kind == NodeKind::Internet => ("text", 100),
            _ if is_frame => (hue(node.category), 8),
            _ => ("surface-raised", 100),
        };
        let is_selected = self.selection.contains(name);
        let border = match self.mark(node) {
            _ if is_selected => "accent",
            Some(ink) => ink,
            None if is_frame => hue(node.category),
            None => "border-strong",
        };
        let lacks = |names: Option<&HashSet<String>>| names.is_some_and(|all| !all.contains(name));
        Look {
            rank: match node.kind {
                NodeKind::Frame => Rank::Frame,
                NodeKind::Chip => Rank::Chip,
                _ => Rank::Card,
            },
            fill,
            strength,
            border,
            is_thick: is_selected,
            is_faded: lacks(self.related)
                || lacks(self.eligible)
                || node.off.is_some()
                || node.ghost.is_some(),
        }
    }

    /// Colour of the mark of a node with problems.
    pub fn mark(&self, node: &Node) -> Option<&'static str> {
        let tally = self.problems.get(&node.name)?;
        match (tally.errors, tally.warnings) {
            (0, 0) => None,
            (0, _) => Some("state-retrying"),
            _ => Some("danger"),
        }
    }
}
