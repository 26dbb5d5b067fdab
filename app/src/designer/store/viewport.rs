//! The viewport: fit, zoom, and the shortest pan that makes a rectangle visible.

use canvas::{
    drawing::Drawing,
    geometry::{Rect, ScreenPoint, Size},
};
use leptos::prelude::*;

use super::Workspace;
use crate::designer::surface;

impl Workspace {
    /// Fits the whole drawing on the screen.
    pub fn fit(self) {
        let bounds = self.drawing.with_untracked(|drawing| drawing.bounds());
        if let Some(view) = bounds.and_then(|bounds| surface::fit(self.root, bounds)) {
            self.fitted.set_value(Some(view));
            self.view.try_set(view);
        }
    }

    /// True if the viewport is unchanged since it was fitted, or if the drawing was empty.
    pub(super) fn is_fitted(self) -> bool {
        let view = self.view.try_get_untracked();
        let was_empty = self
            .drawing
            .with_untracked(|drawing| drawing.nodes().is_empty());
        was_empty || view.is_some() && self.fitted.try_get_value() == Some(view)
    }

    /// Handles a new canvas size. A fitted view is fitted again; otherwise the selection stays visible.
    pub fn resized(self) {
        if self.is_fitted() {
            self.fit();
        } else {
            self.reveal_selected();
        }
    }

    /// Zooms around the middle of the screen.
    pub fn zoom(self, factor: f64) {
        if let Some(Size { width, height }) = surface::size(self.root) {
            let middle = ScreenPoint::new(width / 2.0, height / 2.0);
            self.view
                .try_update(|view| *view = view.zoomed(factor, middle));
        }
    }

    /// Zooms to 100 % around the middle of the screen.
    pub fn zoom_to_full(self) {
        self.zoom(1.0 / self.view.get_untracked().zoom);
    }

    /// Fits the selection on the screen, or the whole drawing if nothing is selected.
    pub fn fit_selected(self) {
        match self.selected_area() {
            Some(area) => {
                if let Some(view) = surface::fit(self.root, area) {
                    self.view.try_set(view);
                }
            }
            None => self.fit(),
        }
    }

    /// The rectangle around the selection. For a line it is the one around its ends.
    fn selected_area(self) -> Option<Rect> {
        self.selection.with_untracked(|selection| {
            self.drawing.with_untracked(|drawing| {
                let ends = |line: &str| {
                    let edge = drawing.edge(line).into_iter();
                    let names = edge.flat_map(|edge| [&edge.from, &edge.to]);
                    names
                        .filter_map(|name| drawing.owner(name))
                        .collect::<Vec<_>>()
                };
                let nodes = selection
                    .names()
                    .flat_map(|name| match drawing.owner(name) {
                        Some(node) => vec![node],
                        None => ends(name),
                    });
                Rect::around(nodes.map(|node| node.rect))
            })
        })
    }

    /// Pans by the shortest distance that makes the selection visible.
    pub fn reveal_selected(self) {
        if let (Some(rect), Some(screen)) = (self.selected_area(), surface::size(self.root)) {
            let now = self.view.get_untracked();
            let next = now.revealing(rect, screen);
            if next != now {
                self.view.set(next);
            }
        }
    }

    /// Pans by the shortest distance that makes nodes visible that are not in `before`, if they fit.
    pub(super) fn reveal_new(self, before: &Drawing) {
        let new = self.drawing.with_untracked(|drawing| {
            Rect::around(
                drawing
                    .nodes()
                    .iter()
                    .filter(|node| before.node(&node.name).is_none())
                    .map(|node| node.rect),
            )
        });
        if let (Some(rect), Some(screen)) = (new, surface::size(self.root)) {
            let now = self.view.get_untracked();
            if rect.width * now.zoom < screen.width && rect.height * now.zoom < screen.height {
                let next = now.revealing(rect, screen);
                if next != now {
                    self.view.set(next);
                }
            }
        }
    }
}
