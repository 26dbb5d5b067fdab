//! A picture of the drawing: nodes, lines and tags as on the canvas, in colours for print.
//!
//! It is one file without external references: styles are inline, and text uses the viewer's own font. Names come from
//! templates, so all text is escaped and the picture is safe to embed in a page. Ghosts are left out.

use std::fmt::Write;

use canvas::drawing::{Edge, EdgeKind, Node, NodeKind, Part, draw};
use canvas::edges::{Line, Routing};
use canvas::geometry::Rect;
use types::Category;

use crate::export::{Report, Source};

/// Margin around the drawing, in canvas pixels.
const MARGIN: f64 = 32.0;
/// Height of a tag, and the gap between two tags, in canvas pixels.
const TAG: f64 = 20.0;
const TAG_GAP: f64 = 4.0;
/// Approximate width of a letter in a tag, in canvas pixels.
const LETTER: f64 = 6.4;
/// Approximate width of a letter in a name, in canvas pixels.
const NAME_LETTER: f64 = 7.5;

/// Note in the file and in the report.
const LEFT_OUT: &str = "The picture shows drawn resources with their image, flavor and address range. Other values, and resources that a deployment adds, are not in it";

const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1c2330}\
.name{font-size:13px;font-weight:600}.detail{font-size:11px;fill:#5b6472}.tag{font-size:10px;fill:#3d4656}\
.frame{fill-opacity:.06;stroke-opacity:.55}.card{fill:#fff}.line{fill:none;stroke:#7a8494;stroke-width:1.5}\
.relation{stroke:#7048c8}.order{stroke-dasharray:4 4}.reference{stroke:#a3abb8}";

pub(crate) fn export(source: &Source<'_>) -> (String, Report) {
    let mut report = Report::default();
    report.left_out("", LEFT_OUT);
    let drawing = draw(
        source.document.template(),
        None,
        source.types,
        source.places,
    );
    let bounds = drawing.bounds().unwrap_or_default().grown(MARGIN);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{:.0} {:.0} {:.0} {:.0}\" width=\"{:.0}\" height=\"{:.0}\" role=\"img\">\n\
         <title>{}</title>\n<desc>Exported by Stackloom. {LEFT_OUT}.</desc>\n<style>{STYLE}</style>\n",
        bounds.x,
        bounds.y,
        bounds.width,
        bounds.height,
        bounds.width,
        bounds.height,
        escaped(source.name)
    );
    let _ = writeln!(
        out,
        "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\" fill=\"#fbfcfe\"/>",
        bounds.x, bounds.y, bounds.width, bounds.height
    );
    for node in drawing
        .nodes()
        .iter()
        .filter(|node| node.kind == NodeKind::Frame)
    {
        frame(&mut out, node);
    }
    let lines = Routing::of(&drawing).lines();
    for (edge, routed) in drawing.edges().iter().zip(&lines) {
        line(&mut out, edge, routed);
    }
    for node in drawing
        .nodes()
        .iter()
        .filter(|node| node.kind != NodeKind::Frame)
    {
        card(&mut out, node);
    }
    out.push_str("</svg>\n");
    (out, report)
}

fn hue(category: Category) -> &'static str {
    match category {
        Category::Compute => "#2563c9",
        Category::Network => "#0d8a6a",
        Category::Security => "#b26a00",
        Category::Storage => "#8a5a2b",
        Category::Software => "#7048c8",
        Category::Orchestration => "#5b6472",
    }
}

fn rect(out: &mut String, at: Rect, radius: f64, class: &str, fill: &str, stroke: &str) {
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
        at.x, at.y, at.width, at.height
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escaped(words)
    );
}

/// The text shortened to a width, for letters of a size.
fn fitting(words: &str, width: f64, letter: f64) -> String {
    let letters = (width / letter).max(3.0) as usize;
    if words.chars().count() <= letters {
        return words.to_owned();
    }
    words.chars().take(letters - 1).chain(['…']).collect()
}

fn frame(out: &mut String, node: &Node) {
    let (at, colour) = (node.rect, hue(node.category));
    rect(out, at, 12.0, "frame", colour, colour);
    let name = fitting(&node.name, at.width / 2.0, NAME_LETTER);
    text(out, at.x + 14.0, at.y + 28.0, "name", &name);
    let start = at.x + 26.0 + name.chars().count() as f64 * NAME_LETTER;
    tags(
        out,
        &node.parts,
        start,
        at.y + 14.0,
        at.right() - 14.0 - start,
    );
}

fn card(out: &mut String, node: &Node) {
    let colour = hue(node.category);
    let at = node.rect;
    match node.kind {
        NodeKind::Chip => {
            rect(out, at, 6.0, "chip", "#f4effc", colour);
            let detail = node.detail.join(" ");
            let room = at.width - 20.0 - detail.chars().count() as f64 * LETTER;
            text(
                out,
                at.x + 10.0,
                at.y + 20.0,
                "name",
                &fitting(&node.name, room, NAME_LETTER),
            );
            let start = at.right() - 10.0 - detail.chars().count() as f64 * LETTER;
            text(out, start.max(at.x + 10.0), at.y + 20.0, "detail", &detail);
        }
        NodeKind::Router | NodeKind::Internet => {
            rect(out, at, at.height / 2.0, "card", "#fff", colour);
            let name = if node.kind == NodeKind::Internet {
                &node.title
            } else {
                &node.name
            };
            let detail = match (node.kind, node.detail.is_empty()) {
                (NodeKind::Internet, true) => String::new(),
                (_, true) => node.title.clone(),
                _ => node.detail.join(" · "),
            };
            // A name without details is centred vertically.
            let below = if detail.is_empty() { 5.0 } else { -3.0 };
            text(
                out,
                at.x + 18.0,
                at.y + at.height / 2.0 + below,
                "name",
                &fitting(name, at.width - 36.0, NAME_LETTER),
            );
            text(
                out,
                at.x + 18.0,
                at.y + 36.0,
                "detail",
                &fitting(&detail, at.width - 36.0, LETTER),
            );
        }
        _ => {
            rect(out, at, 10.0, "card", "#fff", colour);
            let mut name = node.name.clone();
            if node.marks.public {
                name.push_str(" · public");
            }
            if node.marks.bastion {
                name.push_str(" · bastion");
            }
            text(
                out,
                at.x + 14.0,
                at.y + 23.0,
                "name",
                &fitting(&name, at.width - 28.0, NAME_LETTER),
            );
            let detail = match node.members.filter(|_| node.is_folded) {
                Some(count) => format!("{} · {count} inside", node.title),
                None if node.detail.is_empty() => node.title.clone(),
                None => node.detail.join(" · "),
            };
            text(
                out,
                at.x + 14.0,
                at.y + 41.0,
                "detail",
                &fitting(&detail, at.width - 28.0, LETTER),
            );
            if !node.parts.is_empty() {
                tags(
                    out,
                    &node.parts,
                    at.x + 12.0,
                    at.bottom() - TAG - 6.0,
                    at.width - 24.0,
                );
            }
        }
    }
}

/// Tags in one row. The last one counts those that do not fit.
fn tags(out: &mut String, parts: &[Part], x: f64, y: f64, width: f64) {
    let drawn: Vec<&Part> = parts.iter().filter(|part| part.ghost.is_none()).collect();
    let mut at = x;
    for (index, part) in drawn.iter().enumerate() {
        let words = fitting(&part.label, 140.0, LETTER);
        let wide = words.chars().count() as f64 * LETTER + 12.0;
        if at + wide > x + width && index > 0 {
            text(
                out,
                at,
                y + 14.0,
                "tag",
                &format!("+{}", drawn.len() - index),
            );
            return;
        }
        let place = Rect {
            x: at,
            y,
            width: wide,
            height: TAG,
        };
        rect(out, place, 5.0, "card", "#fff", hue(part.category));
        text(out, at + 6.0, y + 14.0, "tag", &words);
        at += wide + TAG_GAP;
    }
}

fn line(out: &mut String, edge: &Edge, line: &Line) {
    let class = match edge.kind {
        EdgeKind::Relation => "line relation",
        EdgeKind::Order => "line order",
        EdgeKind::Reference => "line reference",
        EdgeKind::Interface | EdgeKind::RouterInterface | EdgeKind::Gateway => "line",
    };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{}\"/>", line.path);
    let _ = writeln!(
        out,
        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"#7a8494\"/>",
        line.end().x,
        line.end().y
    );
}

/// Escapes text for XML. Control characters, which XML does not allow, are dropped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
