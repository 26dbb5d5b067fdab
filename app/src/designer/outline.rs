//! The outline of the design in the palette: all its resources, and the lines between them, as rows that select them.

use canvas::drawing::{Drawing, Edge, Node, Part};
use leptos::prelude::*;

use super::{
    icons::{hue, icon_name},
    store::Workspace,
};
use crate::ui::Icon;

/// All resources, each below the one that contains or owns it.
#[component]
pub fn Outline(
    /// The page's state.
    workspace: Workspace,
    /// Text that the shown resources contain.
    search: RwSignal<String>,
) -> impl IntoView {
    let rows = Memo::new(move |_| {
        let wanted = search.get();
        workspace.drawing.with(|drawing| rows_of(drawing, &wanted))
    });
    let stage = workspace.stage();
    view! {
        <ul class="outline">
            <For each=move || rows.get() key=|row| row.clone() let:row>
                {
                    let name = row.name.clone();
                    let selected = stage.selected(&row.name);
                    let tally = stage.tally(&row.name);
                    view! {
                        <li>
                            <button
                                type="button" class="outline-row" data-category=row.hue data-ghost=row.ghost.then_some("true")
                                aria-pressed=move || selected.get().to_string() title=row.title
                                style=format!("--depth: {}", row.depth)
                                on:click=move |_| open(workspace, &name)
                            >
                                <Icon name=row.icon />
                                <span class="truncate">{row.label}</span>
                                {move || (tally.get().all() > 0).then(|| view! { <span class="outline-problems">{tally.get().all()}</span> })}
                            </button>
                        </li>
                    }
                }
            </For>
        </ul>
        {move || rows.with(Vec::is_empty).then(|| {
            let text = if search.with(String::is_empty) { "Nothing here yet." } else { "Nothing matches." };
            view! { <p class="panel-none" role="status">{text}</p> }
        })}
    }
}

/// Selects the first row that contains a text. Nothing if there is none.
pub fn open_first(workspace: Workspace, wanted: &str) {
    let first = workspace
        .drawing
        .with_untracked(|drawing| rows_of(drawing, wanted).into_iter().next());
    if let Some(first) = first {
        open(workspace, &first.name);
    }
}

/// Selects the resource or line of a row, and moves it into view.
fn open(workspace: Workspace, name: &str) {
    workspace.unhide(name);
    workspace.select(name);
    workspace.reveal_selected();
}

/// The rows that contain a text.
fn rows_of(drawing: &Drawing, wanted: &str) -> Vec<Row> {
    let wanted = wanted.trim().to_lowercase();
    let mut rows: Vec<Row> = Vec::new();
    let mut stack: Vec<(String, usize)> = drawing
        .nodes()
        .iter()
        .rev()
        .filter(|node| node.parent.is_none() && !node.resource_type.is_empty())
        .map(|node| (node.name.clone(), 0))
        .collect();
    while let Some((name, depth)) = stack.pop() {
        let Some(node) = drawing.node(&name) else {
            continue;
        };
        rows.push(node_row(node, depth));
        let lines = drawing
            .edges_of(&name)
            .filter(|edge| edge.from == name)
            .filter(|edge| edge.resource.is_some() || !edge.ghost)
            .map(|edge| line_row(edge, depth + 1));
        rows.extend(node.parts.iter().map(|part| part_row(part, depth + 1)));
        rows.extend(lines);
        for hidden in drawing.hidden_in(&name) {
            let is_direct = hidden.parent.as_deref() == Some(&name);
            let depth = depth + if is_direct { 1 } else { 2 };
            rows.push(node_row(hidden, depth));
            rows.extend(hidden.parts.iter().map(|part| part_row(part, depth + 1)));
        }
        let mut children: Vec<_> = drawing
            .children(&name)
            .map(|child| (child.name.clone(), depth + 1))
            .collect();
        children.reverse();
        stack.extend(children);
    }
    rows.retain(|row| {
        wanted.is_empty()
            || row.label.to_lowercase().contains(&wanted)
            || row.title.to_lowercase().contains(&wanted)
    });
    rows
}

fn node_row(node: &Node, depth: usize) -> Row {
    Row {
        label: node.name.clone(),
        name: node.name.clone(),
        title: node.title.clone(),
        depth,
        icon: icon_name(&node.resource_type, node.category),
        hue: hue(node.category),
        ghost: node.ghost.is_some(),
    }
}

fn part_row(part: &Part, depth: usize) -> Row {
    Row {
        label: part.name.clone(),
        name: part.name.clone(),
        title: part.title.clone(),
        depth,
        icon: icon_name(&part.resource_type, part.category),
        hue: hue(part.category),
        ghost: part.ghost.is_some(),
    }
}

/// The row of a line: a router's interface, or a reference.
fn line_row(edge: &Edge, depth: usize) -> Row {
    match &edge.resource {
        Some(resource) => Row {
            name: resource.clone(),
            label: resource.clone(),
            title: "Router interface".to_owned(),
            depth,
            icon: "router",
            hue: "network",
            ghost: edge.ghost,
        },
        None => Row {
            name: edge.id.clone(),
            label: match edge.label.as_str() {
                "" => format!("to {}", edge.end_name()),
                label => format!("to {} ({label})", edge.end_name()),
            },
            title: "Connection".to_owned(),
            depth,
            icon: "cable",
            hue: "orchestration",
            ghost: false,
        },
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Row {
    /// Name of the resource, or id of the line.
    name: String,
    /// Text of the row.
    label: String,
    title: String,
    depth: usize,
    icon: &'static str,
    hue: &'static str,
    ghost: bool,
}
