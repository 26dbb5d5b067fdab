//! The inspector of a line that represents a reference: its ends, which can be changed, and the way to its field.

use canvas::{
    commands::LineEnd,
    drawing::{Edge, EdgeKind},
};
use leptos::{ev, prelude::*};

use crate::{designer::store::Workspace, ui::Icon};

/// The inspector of a line.
#[component]
pub fn ConnectionInspector(
    /// The page's state.
    workspace: Workspace,
    /// Id of the line.
    id: String,
) -> impl IntoView {
    let edge = Memo::new(move |_| workspace.drawing.with(|drawing| drawing.edge(&id).cloned()));
    move || {
        edge.get()
            .map(|edge| view! { <Connection workspace edge /> })
    }
}

#[component]
fn Connection(workspace: Workspace, edge: Edge) -> impl IntoView {
    let title = format!("Connection: {} to {}", edge.from, edge.end_name());
    let meaning = match edge.kind {
        EdgeKind::Interface => "An additional network of the server.",
        EdgeKind::RouterInterface => "An interface of the router in the network.",
        EdgeKind::Gateway => "The external gateway of the router.",
        EdgeKind::Relation => "Software that uses other software.",
        EdgeKind::Reference => "A property that refers to the other resource.",
        EdgeKind::Order => "The first one is created after the second one.",
    };
    let ends = {
        let edge = edge.clone();
        [("From", LineEnd::From), ("To", LineEnd::To)].map(|(label, end)| {
            let edge = edge.clone();
            view! { <EndChoice workspace edge label end /> }
        })
    };
    let connection = Memo::new(move |_| {
        workspace.drawing.track();
        workspace.connection(&edge)
    });
    let place = move || {
        connection.get().map(|connection| {
            let field = connection.field.unwrap_or_else(|| "depends_on".to_owned());
            view! { <p class="meta mono">{format!("{}.{field}", connection.resource)}</p> }
        })
    };
    let open = move || {
        connection.get().map(|connection| {
            let words = format!("Open in the form of {}", connection.resource);
            view! {
                <button type="button" class="button" on:click=move |_| workspace.edit_connection()>
                    <Icon name="arrow-right" />{words}
                </button>
            }
        })
    };
    view! {
        <div class="inspector-body">
            <header class="inspector-head">
                <Icon name="cable" />
                <div class="grow"><h2>{title}</h2>{place}</div>
            </header>
            <p class="quiet">{meaning}</p>
            {ends}
            <div class="inspector-buttons">
                {open}
                <button type="button" class="button" data-look="danger-quiet" on:click=move |_| workspace.delete_selected()>
                    <Icon name="trash-2" />"Delete"
                </button>
            </div>
        </div>
    }
}

/// A select with the resource at one end of a line, and the others that fit there.
#[component]
fn EndChoice(workspace: Workspace, edge: Edge, label: &'static str, end: LineEnd) -> impl IntoView {
    let id = format!("line-{}", label.to_lowercase());
    let now = match end {
        LineEnd::From => edge.from.clone(),
        LineEnd::To => edge.end_name().to_owned(),
    };
    let edge = StoredValue::new(edge);
    let others = Memo::new(move |_| {
        workspace.drawing.track();
        workspace.other_ends(&edge.get_value(), end)
    });
    let chosen = move |event: ev::Event| {
        let name = event_target_value(&event);
        if !name.is_empty() {
            workspace.reconnect(&edge.get_value(), end, &name);
        }
    };
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <select class="input" id=id disabled=move || others.with(Vec::is_empty) on:change=chosen>
                <option value="">{now}</option>
                {move || others.get().into_iter().map(|name| view! { <option value=name.clone()>{name.clone()}</option> }).collect_view()}
            </select>
        </div>
    }
}
