//! Drawn lines: from a node or a tag to another one, or an end of an existing line.

use canvas::{
    commands::{self, LineEnd, Proposal, Refusal},
    drawing::Edge,
    edges::Routes,
    geometry::{CanvasPoint, ScreenPoint},
};
use leptos::prelude::*;

use super::Pointer;
use crate::designer::surface;

impl Pointer {
    pub(super) fn over(self, at: ScreenPoint) -> Option<String> {
        let at = self.workspace.view.get_untracked().to_canvas(at);
        self.workspace
            .drawing
            .with_untracked(|drawing| drawing.hit(at).map(|node| node.name.clone()))
    }

    pub(super) fn prepare_routes(self) {
        let routes = self
            .workspace
            .drawing
            .with_untracked(|drawing| Routes::around(drawing.nodes()));
        self.routes.set_value(Some(routes));
    }

    /// Draws the line from a node to the pointer.
    pub(super) fn draw_line(self, from: &str, to: CanvasPoint) {
        let line = self
            .routes
            .with_value(|routes| routes.as_ref().map(|routes| routes.loose(from, to)));
        self.connection_line.set(line);
    }

    pub(super) fn reconnection(
        self,
        edge: &Edge,
        end: LineEnd,
        at: ScreenPoint,
    ) -> Option<Result<Proposal, Refusal>> {
        let over = self
            .over(at)
            .filter(|name| *name != edge.from && *name != edge.to)?;
        self.workspace
            .with_input(|input| commands::reconnect(input, edge, end, &over))
    }

    /// The node of a resource, or the node that it is a part of.
    pub(super) fn owner(self, name: &str) -> Option<String> {
        self.workspace
            .drawing
            .with_untracked(|drawing| drawing.owner(name).map(|node| node.name.clone()))
    }

    pub(super) fn connection(
        self,
        from: &str,
        at: ScreenPoint,
    ) -> Option<Result<Proposal, Refusal>> {
        let tag = surface::tag_at(self.workspace.root, at).filter(|name| name != from);
        let over = self.over(at).filter(|name| name != from)?;
        self.workspace.with_input(|input| {
            // A tag under the pointer, such as a port, is a better end than the card that it is on.
            let by_tag = tag.and_then(|tag| commands::connect(input, from, &tag).ok());
            if let Some(proposal) = by_tag {
                return Ok(proposal);
            }
            // A drag from one server to another connects their software, or the server with the frame around the
            // target.
            let frame = input
                .drawing
                .node(&over)
                .and_then(|node| node.parent.clone());
            commands::connect(input, from, &over).or_else(|refusal| match frame {
                Some(frame) if frame != from => {
                    commands::connect(input, from, &frame).map_err(|_| refusal)
                }
                _ => Err(refusal),
            })
        })
    }
}
