//! The inspector of a line that stands for a reference: its ends, and the way to its field.

use canvas::drawing::{Edge, EdgeKind};
use leptos::prelude::*;

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
            let words = match connection.field {
                Some(_) => format!("Open in the form of {}", connection.resource),
                None => format!("Show {}", connection.resource),
            };
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
            <div class="inspector-buttons">
                {open}
                <button type="button" class="button" data-look="danger-quiet" on:click=move |_| workspace.delete_selected()>
                    <Icon name="trash-2" />"Delete"
                </button>
            </div>
        </div>
    }
}
