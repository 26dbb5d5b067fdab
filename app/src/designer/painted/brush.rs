//! The picture on a canvas element.

use std::collections::{BTreeMap, HashSet};

use canvas::{
    drawing::{Drawing, Edge, EdgeKind, Node, NodeKind},
    geometry::{CanvasPoint, Rect, Size},
    viewport::Viewport,
};
use wasm_bindgen::JsCast;
use web_sys::{
    CanvasRenderingContext2d, HtmlCanvasElement, ImageBitmapRenderingContext, OffscreenCanvas,
};

use super::eye::{Eye, Look, Rank};
use crate::{
    browser,
    designer::{
        icons::hue,
        inks::Inks,
        scene::{Dragged, Scene},
        stage::Aim,
    },
};

/// Smallest width of a frame with a name, in CSS pixels.
const NAMED_FROM_PX: f64 = 56.0;
/// Width of the border of selected nodes and of a drag's target, in CSS pixels.
const THICK_PX: f64 = 2.5;
/// Radius of the mark of a problem, in CSS pixels.
const MARK_PX: f64 = 4.0;

/// The elements of the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Nodes and lines that no drag moves.
    Still,
    /// Nodes and lines that a drag moves, the outlines of frames that grow around them, and the border of its target.
    Moving,
}

/// A context in the space of the canvas.
pub struct Brush<'a> {
    context: CanvasRenderingContext2d,
    /// Where the layer is painted, and the element that shows it as an image. `None` if it is painted on its element.
    image: Option<(OffscreenCanvas, ImageBitmapRenderingContext)>,
    inks: &'a Inks,
    view: Viewport,
    visible: Rect,
}

impl<'a> Brush<'a> {
    /// A brush on the cleared element, which is larger than the view by a margin in CSS pixels.
    ///
    /// The still layer is an image: without a graphics processor, the browser copies an element with a context of its own
    /// at each frame.
    pub fn on(
        canvas: &HtmlCanvasElement,
        layer: Layer,
        view: Viewport,
        size: Size,
        margin: f64,
        inks: &'a Inks,
    ) -> Option<Self> {
        let dense = browser::window().map_or(1.0, |window| window.device_pixel_ratio());
        // The casts are of whole numbers of pixels, far below the limit.
        let pixels = |length: f64| (length * dense).round() as u32;
        let (width, height) = (
            pixels(size.width + 2.0 * margin),
            pixels(size.height + 2.0 * margin),
        );
        let (context, image) = if layer == Layer::Still {
            let shown = canvas.get_context("bitmaprenderer").ok()??;
            let unseen = OffscreenCanvas::new(width, height).ok()?;
            let context = unseen.get_context("2d").ok()??;
            (context, Some((unseen, shown.dyn_into().ok()?)))
        } else {
            if canvas.width() != width || canvas.height() != height {
                canvas.set_width(width);
                canvas.set_height(height);
            }
            (canvas.get_context("2d").ok()??, None)
        };
        // Both kinds of context have the same methods.
        let context: CanvasRenderingContext2d = context.unchecked_into();
        // Neither call can fail with finite numbers.
        let _ = context.set_transform(1.0, 0.0, 0.0, 1.0, 0.0, 0.0);
        context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
        let scale = view.zoom * dense;
        let (x, y) = (
            (view.shift.x + margin) * dense,
            (view.shift.y + margin) * dense,
        );
        let _ = context.set_transform(scale, 0.0, 0.0, scale, x, y);
        Some(Self {
            context,
            image,
            inks,
            view,
            visible: view.visible(size).grown(margin / view.zoom),
        })
    }

    /// Shows what is painted.
    pub fn show(&self) {
        if let Some((unseen, shown)) = &self.image
            && let Ok(bitmap) = unseen.transfer_to_image_bitmap()
        {
            shown.transfer_from_image_bitmap(&bitmap);
        }
    }

    /// Paints the nodes and lines of a layer.
    pub fn paint(
        &self,
        scene: Scene,
        drawing: &Drawing,
        dragged: Option<&Dragged>,
        layer: Layer,
        eye: &Eye<'_>,
    ) {
        let mut looks: BTreeMap<Look, Vec<Rect>> = BTreeMap::new();
        let mut icons: BTreeMap<&str, Vec<Rect>> = BTreeMap::new();
        let mut marks: BTreeMap<&str, Vec<CanvasPoint>> = BTreeMap::new();
        let mut frames = Vec::new();
        let nodes: Vec<&Node> = match (dragged, layer) {
            (Some(dragged), Layer::Moving) => {
                let carried = dragged.what.carried();
                carried.filter_map(|name| drawing.node(name)).collect()
            }
            _ => {
                let carries =
                    |node: &Node| dragged.is_some_and(|dragged| dragged.what.carries(&node.name));
                let nodes = drawing.nodes().iter();
                nodes.filter(|node| !carries(node)).collect()
            }
        };
        for node in nodes {
            let rect = dragged.map_or(node.rect, |dragged| dragged.rect(node));
            if !rect.overlaps(self.visible) {
                continue;
            }
            let look = eye.look(node);
            looks.entry(look).or_default().push(rect);
            if look.rank == Rank::Frame {
                frames.push((node.name.as_str(), rect));
            } else if node.kind != NodeKind::Internet {
                icons
                    .entry(hue(node.category))
                    .or_default()
                    .push(icon(rect));
            }
            if let Some(ink) = eye.mark(node) {
                marks.entry(ink).or_default().push(rect.corner());
            }
        }
        let (below, above): (Vec<_>, Vec<_>) =
            looks.iter().partition(|(look, _)| look.rank == Rank::Frame);
        self.rects(&below);
        match (dragged, layer) {
            (Some(dragged), Layer::Moving) => {
                self.outlines(dragged.grown().into_values(), "accent", 1.0);
                self.lines(scene, drawing, Some(dragged), dragged.what.lines(), eye);
            }
            (Some(dragged), Layer::Still) => {
                let moving: HashSet<&str> =
                    dragged.what.lines().iter().map(|edge| &*edge.id).collect();
                let still = drawing
                    .edges()
                    .iter()
                    .filter(|edge| !moving.contains(&*edge.id));
                self.lines(scene, drawing, None, still, eye);
            }
            (None, _) => self.lines(scene, drawing, None, drawing.edges(), eye),
        }
        self.rects(&above);
        for (ink, rects) in icons {
            self.context.set_fill_style_str(self.inks.get(ink));
            self.context.begin_path();
            for rect in rects {
                self.context.rect(rect.x, rect.y, rect.width, rect.height);
            }
            self.context.fill();
        }
        self.marks(marks);
        self.names(&frames);
    }

    fn marks(&self, marks: BTreeMap<&str, Vec<CanvasPoint>>) {
        let radius = MARK_PX / self.view.zoom;
        for (ink, points) in marks {
            self.context.set_fill_style_str(self.inks.get(ink));
            self.context.begin_path();
            for point in points {
                self.context.move_to(point.x + radius, point.y);
                // The radius is positive, so the call cannot fail.
                let _ = self
                    .context
                    .arc(point.x, point.y, radius, 0.0, std::f64::consts::TAU);
            }
            self.context.fill();
        }
    }

    /// Names of frames, above them, in letters that keep their size on the screen.
    fn names(&self, frames: &[(&str, Rect)]) {
        let (context, zoom) = (&self.context, self.view.zoom);
        // A font with fractions of a pixel would be rounded, so the letters are scaled.
        context.set_font("600 10px Inter, sans-serif");
        context.set_fill_style_str(self.inks.get("text-quiet"));
        context.save();
        let _ = context.scale(1.0 / zoom, 1.0 / zoom);
        for (name, rect) in frames {
            let width = rect.width * zoom;
            if width >= NAMED_FROM_PX {
                // Finite numbers cannot fail.
                let (x, y) = (rect.x * zoom, rect.y * zoom - 2.0);
                let _ = context.fill_text_with_max_width(name, x, y, width);
            }
        }
        context.restore();
    }

    fn rects(&self, looks: &[(&Look, &Vec<Rect>)]) {
        let context = &self.context;
        for (look, rects) in looks {
            context.begin_path();
            for rect in *rects {
                context.rect(rect.x, rect.y, rect.width, rect.height);
            }
            let shown = if look.is_faded { 0.4 } else { 1.0 };
            context.set_global_alpha(shown);
            context.set_fill_style_str(self.inks.get("surface-raised"));
            context.fill();
            context.set_global_alpha(shown * f64::from(look.strength) / 100.0);
            context.set_fill_style_str(self.inks.get(look.fill));
            context.fill();
            let is_quiet = look.rank == Rank::Frame && !look.is_thick;
            context.set_global_alpha(if is_quiet { shown * 0.5 } else { shown });
            context.set_stroke_style_str(self.inks.get(look.border));
            let width = if look.is_thick { THICK_PX } else { 1.0 };
            context.set_line_width(width / self.view.zoom);
            context.stroke();
            context.set_global_alpha(1.0);
        }
    }

    /// The border of the node that a drop would change.
    pub fn target(&self, drawing: &Drawing, dragged: Option<&Dragged>, aim: &Aim) {
        let Some(node) = aim.target.as_deref().and_then(|name| drawing.node(name)) else {
            return;
        };
        let grown = dragged.and_then(|dragged| dragged.grown().remove(node.name.as_str()));
        let ink = if aim.refused { "danger" } else { "accent" };
        self.outlines([grown.unwrap_or(node.rect)], ink, THICK_PX);
    }

    /// Outlines in one colour, with a width in CSS pixels.
    fn outlines(&self, rects: impl IntoIterator<Item = Rect>, ink: &str, width: f64) {
        let context = &self.context;
        context.begin_path();
        for rect in rects {
            context.rect(rect.x, rect.y, rect.width, rect.height);
        }
        context.set_stroke_style_str(self.inks.get(ink));
        context.set_line_width(width / self.view.zoom);
        context.stroke();
    }

    fn lines<'e>(
        &self,
        scene: Scene,
        drawing: &Drawing,
        dragged: Option<&Dragged>,
        edges: impl IntoIterator<Item = &'e Edge>,
        eye: &Eye<'_>,
    ) {
        let context = &self.context;
        let mut inks: BTreeMap<(&str, bool), Vec<Vec<CanvasPoint>>> = BTreeMap::new();
        for edge in edges {
            let ink = match edge.kind {
                EdgeKind::Interface | EdgeKind::RouterInterface | EdgeKind::Gateway => "network",
                EdgeKind::Relation => "software",
                EdgeKind::Reference | EdgeKind::Order => "text-faint",
            };
            let is_touched = [&edge.from, &edge.to]
                .into_iter()
                .chain(&edge.resource)
                .any(|name| eye.selection.contains(name));
            let points = scene.points(drawing, dragged, edge);
            inks.entry((ink, is_touched)).or_default().push(points);
        }
        for ((ink, is_touched), lines) in inks {
            context.set_stroke_style_str(self.inks.get(ink));
            context.set_global_alpha(if is_touched { 1.0 } else { 0.6 });
            context.set_line_width(if is_touched { 2.0 } else { 1.0 } / self.view.zoom);
            context.begin_path();
            for line in lines {
                let mut points = line.into_iter();
                if let Some(start) = points.next() {
                    context.move_to(start.x, start.y);
                }
                for point in points {
                    context.line_to(point.x, point.y);
                }
            }
            context.stroke();
        }
        context.set_global_alpha(1.0);
    }
}

/// The square in the place of a card's icon.
fn icon(rect: Rect) -> Rect {
    let side = (rect.height.min(56.0) - 24.0).max(12.0);
    Rect {
        x: rect.x + 12.0,
        y: rect.y + 12.0,
        width: side,
        height: side,
    }
}
