//! The inspector of a line that represents a reference: its ends and values, which can be changed, and the way to the
//! form of its resource.

use std::collections::HashSet;

use canvas::{
    commands::{Connection, LineEnd},
    drawing::{Edge, EdgeKind},
    form::{Field, fields_of_line},
};
use leptos::{ev, prelude::*};

use super::{context::FormContext, field::field_view, field_list::FieldList, form::fields_of};
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
    let connection = Memo::new(move |_| {
        workspace.drawing.track();
        workspace.connection(&edge.get()?)
    });
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
        <form class="inspector-body" on:submit=|event| event.prevent_default() on:focusout=move |_| workspace.seal()>
            {move || edge.get().map(|edge| view! { <Ends workspace edge connection /> })}
            // The label of a line can change with each letter in its values, which stay for that.
            {move || connection.get().map(|connection| view! { <Values workspace connection /> })}
            <div class="inspector-buttons">
                {open}
                <button type="button" class="button" data-look="danger-quiet" on:click=move |_| workspace.delete_selected()>
                    <Icon name="trash-2" />"Delete"
                </button>
            </div>
        </form>
    }
}

/// The values of the list entry or of the map that has the reference.
#[component]
fn Values(workspace: Workspace, connection: Connection) -> impl IntoView {
    let form = FormContext::of_resource(workspace, &connection.resource, field_view);
    let all = fields_of(workspace, form.title);
    let reference = connection.field.unwrap_or_default();
    let fields = Memo::new(move |_| all.with(|all| fields_of_line(all, &reference)));
    let depth = |field: &Field| field.name.matches('.').count();
    let below: HashSet<String> = fields.with_untracked(|fields| {
        let least = fields.iter().map(depth).min().unwrap_or_default();
        let rare = fields
            .iter()
            .filter(|field| depth(field) > least && field.text.is_empty());
        rare.map(|field| field.name.clone()).collect()
    });
    view! { <FieldList form fields below /> }
}

/// The title of a line, its place in the template, and its ends.
#[component]
fn Ends(workspace: Workspace, edge: Edge, connection: Memo<Option<Connection>>) -> impl IntoView {
    let title = format!("Connection: {} to {}", edge.from, edge.end_name());
    let meaning = match edge.kind {
        EdgeKind::Interface => "An additional network of the server.",
        EdgeKind::RouterInterface => "An interface of the router in the network.",
        EdgeKind::Gateway => "The external gateway of the router.",
        EdgeKind::Relation => "Software that uses other software.",
        EdgeKind::Reference => "A property that refers to the other resource.",
        EdgeKind::Order => "The first one is created after the second one.",
    };
    let ends = [("From", LineEnd::From), ("To", LineEnd::To)].map(|(label, end)| {
        let edge = edge.clone();
        view! { <EndChoice workspace edge label end /> }
    });
    let place = move || {
        connection.get().map(|connection| {
            let field = connection.field.unwrap_or_else(|| "depends_on".to_owned());
            view! { <p class="meta mono">{format!("{}.{field}", connection.resource)}</p> }
        })
    };
    view! {
        <header class="inspector-head">
            <Icon name="cable" />
            <div class="grow"><h2>{title}</h2>{place}</div>
        </header>
        <p class="quiet">{meaning}</p>
        {ends}
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
