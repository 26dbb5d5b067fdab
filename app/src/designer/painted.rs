//! Many small nodes and their lines, painted.
//!
//! Where a name cannot be read any more, an element for each node costs much and shows nothing more than a rectangle
//! with its colours. The picture has the same places, selection, states and problems. Presses find the node by the
//! drawing's index. The keyboard and screen readers find elements, see `scene::view`.
//!
//! Gestures paint little. The picture is larger than the view and follows it by a CSS transform; it is painted again when
//! the view rests, or leaves what is painted. What a drag moves, and the border of its target, are painted on a second
//! element above.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use canvas::{
    drawing::{Drawing, Edge, EdgeKind, Node, NodeKind},
    geometry::{CanvasPoint, Rect, ScreenPoint, Size},
    selection::Selection,
    viewport::Viewport,
};
use leptos::{html, leptos_dom::helpers::debounce, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::{
    nodes::hue,
    scene::{Dragged, Scene},
    stage::{Aim, Stage, Tally},
};
use crate::{browser, ui::state::look_of};

/// Colours of the picture, by the name of their custom property. The page's style decides their values.
const INKS: [&str; 17] = [
    "surface-raised",
    "border-strong",
    "text",
    "text-quiet",
    "text-faint",
    "accent",
    "danger",
    "compute",
    "network",
    "security",
    "storage",
    "software",
    "orchestration",
    "state-running",
    "state-retrying",
    "state-succeeded",
    "state-failed",
];

/// Width of the picture's margin around the view, in CSS pixels.
const MARGIN_PX: f64 = 200.0;
/// Largest factor between the zoom of the view and that of the picture.
const STRETCH_MAX: f64 = 1.3;
/// Time without a change after which the view rests.
const REST: Duration = Duration::from_millis(150);
/// Smallest width of a frame with a name, in CSS pixels.
const NAMED_FROM_PX: f64 = 56.0;
/// Width of the border of selected nodes and of a drag's target, in CSS pixels.
const THICK_PX: f64 = 2.5;
/// Radius of the mark of a problem, in CSS pixels.
const MARK_PX: f64 = 4.0;

/// The picture, if the scene is painted.
#[component]
pub fn Painted(
    /// The drawing.
    scene: Scene,
    /// Selection, states and problems.
    stage: Stage,
    /// The viewport.
    view: RwSignal<Viewport>,
    /// Size of the surface.
    size: RwSignal<Size>,
) -> impl IntoView {
    move || {
        let is_painted = scene.painted.get();
        is_painted.then(|| view! { <Picture scene stage view size /> })
    }
}

#[component]
fn Picture(
    scene: Scene,
    stage: Stage,
    view: RwSignal<Viewport>,
    size: RwSignal<Size>,
) -> impl IntoView {
    let still = NodeRef::<html::Canvas>::new();
    let moving = NodeRef::<html::Canvas>::new();
    let probes = NodeRef::<html::Div>::new();
    let inks = RwSignal::new(Inks::default());
    let read = move || {
        if let Some(probes) = probes.get_untracked() {
            inks.try_set(Inks::of(&probes));
        }
    };
    Effect::new(move |_| {
        if probes.get().is_some() {
            read();
        }
    });
    // The view for which the picture is painted.
    let painted = RwSignal::new(view.get_untracked());
    let mut paint_at_rest = debounce(REST, move |()| {
        if let Some(now) = view.try_get_untracked() {
            painted.try_set(now);
        }
    });
    Effect::new(move |_| {
        let (now, size) = (view.get(), size.get());
        match painted.get_untracked() {
            same if same == now => {}
            before if covers(before, now, size) => paint_at_rest(()),
            _ => painted.set(now),
        }
    });
    let paint = move |canvas: NodeRef<html::Canvas>, layer: Layer| {
        let (Some(canvas), Some((drawing, dragged))) = (canvas.get(), scene.picture()) else {
            return;
        };
        let aim = match layer {
            Layer::Still => Aim::default(),
            Layer::Moving => stage.aim.get(),
        };
        let (view, margin) = match layer {
            Layer::Still => (painted.get(), MARGIN_PX),
            Layer::Moving if dragged.is_some() || aim.target.is_some() => (view.get(), 0.0),
            // It is only cleared.
            Layer::Moving => (view.get_untracked(), 0.0),
        };
        let size = size.get();
        inks.with(|inks| {
            let Some(brush) = Brush::on(&canvas, view, size, margin, inks) else {
                return;
            };
            if layer == Layer::Still || dragged.is_some() {
                Eye::open(stage, |eye| {
                    brush.paint(scene, &drawing, dragged.as_ref(), layer, eye);
                });
            }
            brush.target(&drawing, dragged.as_ref(), &aim);
        });
    };
    Effect::new(move |_| {
        scene.outdated.track();
        paint(still, Layer::Still);
    });
    Effect::new(move |_| {
        scene.outdated.track();
        scene.moved.track();
        paint(moving, Layer::Moving);
    });
    view! {
        <div
            class="painted" aria-hidden="true" style:inset=format!("-{MARGIN_PX}px")
            style:transform=move || following(painted.get(), view.get())
        >
            <canvas node_ref=still></canvas>
        </div>
        <canvas class="painted-moving" aria-hidden="true" node_ref=moving></canvas>
        // Their colours change with the theme, by a transition.
        <div class="painted-inks" aria-hidden="true" node_ref=probes on:transitionend=move |_| read()>
            {INKS.map(|ink| view! { <i style=format!("color: var(--{ink})")></i> })}
        </div>
    }
}

/// True if a picture that is painted for one view can be shown for another.
fn covers(painted: Viewport, now: Viewport, size: Size) -> bool {
    let stretch = now.zoom / painted.zoom;
    let area = painted.visible(size).grown(MARGIN_PX / painted.zoom);
    let seen = now.visible(size);
    let is_inside = seen.x >= area.x
        && seen.y >= area.y
        && seen.right() <= area.right()
        && seen.bottom() <= area.bottom();
    (1.0 / STRETCH_MAX..=STRETCH_MAX).contains(&stretch) && is_inside
}

/// The CSS transform of a picture that is painted for one view and shown for another. Its origin is the picture's corner.
fn following(painted: Viewport, now: Viewport) -> String {
    let stretch = now.zoom / painted.zoom;
    let corner = ScreenPoint::new(-MARGIN_PX, -MARGIN_PX);
    let there = now.to_screen(painted.to_canvas(corner));
    let (x, y) = (there.x - corner.x, there.y - corner.y);
    format!("translate({x}px, {y}px) scale({stretch})")
}

/// The elements of the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// Nodes and lines that no drag moves.
    Still,
    /// Nodes and lines that a drag moves, the outlines of frames that grow around them, and the border of its target.
    Moving,
}

/// Values of the colours.
#[derive(Clone, Default)]
struct Inks(BTreeMap<&'static str, String>);

impl Inks {
    fn of(probes: &web_sys::Element) -> Self {
        let Some(window) = browser::window() else {
            return Self::default();
        };
        let children = probes.children();
        let value = |at: usize| {
            let probe = children.item(u32::try_from(at).ok()?)?;
            let style = window.get_computed_style(&probe).ok()??;
            style.get_property_value("color").ok()
        };
        let inks = INKS.iter().enumerate();
        Self(
            inks.filter_map(|(at, ink)| Some((*ink, value(at)?)))
                .collect(),
        )
    }

    fn get(&self, ink: &str) -> &str {
        self.0.get(ink).map_or("gray", String::as_str)
    }
}

/// Order of painting. Lines are above frames and below all other nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Frame,
    Card,
    Chip,
}

/// Look of a node's rectangle. Nodes with the same look are painted at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    rank: Rank,
    fill: &'static str,
    /// Share of the fill, in per cent.
    strength: u8,
    border: &'static str,
    is_thick: bool,
    is_faded: bool,
}

/// A context in the space of the canvas.
struct Brush<'a> {
    context: CanvasRenderingContext2d,
    inks: &'a Inks,
    view: Viewport,
    visible: Rect,
}

impl<'a> Brush<'a> {
    /// A brush on the cleared element, which is larger than the view by a margin in CSS pixels.
    fn on(
        canvas: &HtmlCanvasElement,
        view: Viewport,
        size: Size,
        margin: f64,
        inks: &'a Inks,
    ) -> Option<Self> {
        let context = canvas.get_context("2d").ok()??;
        let context: CanvasRenderingContext2d = context.dyn_into().ok()?;
        let dense = browser::window().map_or(1.0, |window| window.device_pixel_ratio());
        // The casts are of whole numbers of pixels, far below the limit.
        let pixels = |length: f64| (length * dense).round() as u32;
        let (width, height) = (
            pixels(size.width + 2.0 * margin),
            pixels(size.height + 2.0 * margin),
        );
        if canvas.width() != width || canvas.height() != height {
            canvas.set_width(width);
            canvas.set_height(height);
        }
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
            inks,
            view,
            visible: view.visible(size).grown(margin / view.zoom),
        })
    }

    fn paint(
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
    fn target(&self, drawing: &Drawing, dragged: Option<&Dragged>, aim: &Aim) {
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

/// The parts of the stage on which the look of nodes and lines depends.
struct Eye<'a> {
    selection: &'a Selection,
    states: &'a HashMap<String, String>,
    problems: &'a HashMap<String, Tally>,
    related: Option<&'a HashSet<String>>,
    eligible: Option<&'a HashSet<String>>,
}

impl Eye<'_> {
    /// Reads the stage, so that an effect follows it.
    fn open(stage: Stage, look: impl FnOnce(&Eye<'_>)) {
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

    fn look(&self, node: &Node) -> Look {
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
    fn mark(&self, node: &Node) -> Option<&'static str> {
        let tally = self.problems.get(&node.name)?;
        match (tally.errors, tally.warnings) {
            (0, 0) => None,
            (0, _) => Some("state-retrying"),
            _ => Some("danger"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_serves_the_views_within_its_margin() {
        let size = Size {
            width: 1280.3,
            height: 720.7,
        };
        // Far from the origin, sums of coordinates are rounded.
        let painted = Viewport {
            shift: ScreenPoint::new(-3_000_000.1, 700_000.7),
            zoom: 0.3,
        };
        let near = painted.panned(MARGIN_PX - 1.0, 1.0 - MARGIN_PX);
        assert!(covers(painted, near, size));
        assert!(!covers(painted, painted.panned(MARGIN_PX + 1.0, 0.0), size));
        let middle = ScreenPoint::new(640.0, 360.0);
        assert!(covers(painted, painted.zoomed(1.2, middle), size));
        assert!(!covers(painted, painted.zoomed(0.5, middle), size));
    }
}
