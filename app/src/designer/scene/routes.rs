//! The routes of lines: at once, or in the worker if there are many.

use std::collections::HashSet;

use canvas::{
    drawing::Drawing,
    edges::{self, Line, Routing},
    geometry::Rect,
};
use leptos::prelude::*;

use super::{LineSignals, NodeKey, Scene, view};
use crate::worker;

/// Number of lines above which the worker routes them: fewer take less than a frame.
const ROUTED_AT_ONCE: usize = 150;

/// State after an answer of the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Routed {
    /// The lines are routed, or will be after a drag.
    Done,
    /// The drawing has changed since the request.
    Outdated,
}

impl Scene {
    /// Routes the lines of a drawing, if its nodes or edges differ from the last ones. Returns true if there are so many
    /// that the worker routes them. Until then, new lines and those of moved nodes are direct.
    pub(super) fn route(self, drawing: &Drawing) -> bool {
        let nodes: Vec<(NodeKey, Rect)> = drawing
            .nodes()
            .iter()
            .map(|node| ((node.name.clone(), node.kind), node.rect))
            .collect();
        let same_edges = self
            .edges
            .with_untracked(|now| now.as_slice() == drawing.edges());
        let same_nodes = self
            .routed
            .try_with_value(|routed| routed.as_ref() == Some(&nodes));
        if same_edges && same_nodes != Some(false) {
            return false;
        }
        let loose = self.loose.try_update_value(std::mem::take);
        let is_large = drawing.edges().len() > ROUTED_AT_ONCE;
        let lines = if is_large {
            self.passing_lines(drawing, &loose.unwrap_or_default())
        } else {
            Routing::of(drawing).lines()
        };
        self.set_lines(drawing, lines);
        self.routed.try_set_value(Some(nodes));
        is_large
    }

    /// Lines until the worker has routed them: the last ones, and direct ones where an end is new or has moved.
    fn passing_lines(self, drawing: &Drawing, loose: &HashSet<String>) -> Vec<Line> {
        let before = self.drawing.try_get_value().unwrap_or_default();
        let stays = |name: &str| {
            let rect = |drawing: &Drawing| drawing.node(name).map(|node| node.rect);
            rect(&before) == rect(drawing)
        };
        let lines = drawing.edges().iter().map(|edge| {
            let last = self
                .line(&edge.id)
                .filter(|_| !loose.contains(&edge.id) && stays(&edge.from) && stays(&edge.to));
            if let Some(last) = last {
                return last.line.get_untracked();
            }
            let end = |name: &str| drawing.node(name).map(|node| (node.kind, node.rect));
            match (end(&edge.from), end(&edge.to)) {
                (Some(from), Some(to)) => edges::quick(edge.kind, from, to),
                _ => Line::default(),
            }
        });
        lines.collect()
    }

    /// Lets the worker route the lines of the last drawing. One request is open at a time.
    pub(super) fn route_in_worker(self) {
        if self.is_routing.try_get_untracked() != Some(false) {
            return;
        }
        self.is_routing.set(true);
        leptos::task::spawn_local(async move {
            while self.route_once().await == Some(Routed::Outdated) {}
            self.is_routing.try_set(false);
        });
    }

    /// Asks once and shows the answer. `None` if the page is left.
    async fn route_once(self) -> Option<Routed> {
        let drawing = self.drawing.try_get_value()?;
        let routing = Routing::of(&drawing);
        let lines = worker::routed(&routing).await;
        let drawing = self.drawing.try_get_value()?;
        // A drag has its own lines. They are routed after it.
        if self.routed.try_with_value(Option::is_none)? {
            return Some(Routed::Done);
        }
        if Routing::of(&drawing) != routing {
            return Some(Routed::Outdated);
        }
        self.set_lines(&drawing, lines);
        self.choose();
        self.outdated.notify();
        Some(Routed::Done)
    }

    fn set_lines(self, drawing: &Drawing, routed: Vec<Line>) {
        self.segments.try_set_value(view::segments(&routed));
        self.lines.try_update_value(|lines| {
            let ids: HashSet<&str> = drawing
                .edges()
                .iter()
                .map(|edge| edge.id.as_str())
                .collect();
            lines.retain(|id, _| ids.contains(id.as_str()));
            for (edge, line) in drawing.edges().iter().zip(routed) {
                match lines.get(&edge.id).map(|signals| &signals.line) {
                    Some(signal) if signal.with_untracked(|now| *now == line) => {}
                    Some(signal) => signal.set(line),
                    None => {
                        let signals = LineSignals {
                            line: ArcRwSignal::new(line),
                            shown: ArcRwSignal::new(false),
                        };
                        lines.insert(edge.id.clone(), signals);
                    }
                }
            }
        });
    }
}
