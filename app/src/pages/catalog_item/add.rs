//! Adds an item to a design: choose the design and the server in it, or a new design with a server.

use api::{Design, DesignRequest, Layout, Problem, TemplateFiles};
use hot::document::{Document, Edit};
use leptos::{ev::SubmitEvent, prelude::*};
use leptos_router::hooks::use_navigate;
use serde_json::json;

use crate::{
    client,
    load::Load,
    starters::SERVER,
    ui::{Modal, ProblemNote, skeleton},
};

/// The dialog.
#[component]
pub fn AddToDesign(
    /// Name of the item.
    name: String,
    /// True while the dialog is open.
    open: RwSignal<bool>,
) -> impl IntoView {
    view! {
        <Modal open title="Add to design">
            <Form name=name.clone() open />
        </Modal>
    }
}

#[component]
fn Form(name: String, open: RwSignal<bool>) -> impl IntoView {
    let navigate = StoredValue::new_local(use_navigate());
    let item = StoredValue::new(name);
    let designs = Load::new(client::designs);
    let chosen = RwSignal::new(String::new());
    let host = RwSignal::new(String::new());
    let problem = RwSignal::new(None::<Problem>);
    // The first design, until the user selects another one.
    let design_id = Memo::new(move |_| {
        let chosen = chosen.get();
        if chosen.is_empty() {
            let first = |all: Option<&Vec<api::DesignSummary>>| {
                let first = all?.first().map(|it| it.id.clone());
                Some(first.unwrap_or_else(|| NEW.to_owned()))
            };
            designs.with(first)
        } else {
            Some(chosen)
        }
    });
    let design = Load::new(move || {
        let id = design_id.get();
        async move {
            match id.as_deref() {
                Some(NEW) => Ok(new_design(item.get_value())),
                Some(id) => client::design(id).await,
                // The list of designs is not here yet.
                None => std::future::pending().await,
            }
        }
    });
    let servers = move || design.with(|design| design.map(servers_of).unwrap_or_default());
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let Some(design) = design.peek() else { return };
        let chosen = host.get_untracked();
        let server = if chosen.is_empty() {
            untrack(servers).into_iter().next()
        } else {
            Some(chosen)
        };
        leptos::task::spawn_local(async move {
            match put(&design, &item.get_value(), server.as_deref()).await {
                Ok(id) => {
                    open.try_set(false);
                    navigate.try_with_value(|navigate| {
                        navigate(&format!("/designs/{id}"), Default::default())
                    });
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    let form = move |all: Vec<api::DesignSummary>| {
        view! {
            <form class="dialog-form" on:submit=submit>
                <div class="field">
                    <label for="add-design">"Design"</label>
                    <select
                        class="input" id="add-design" prop:value=move || design_id.get().unwrap_or_default()
                        on:change=move |event| { chosen.set(event_target_value(&event)); host.set(String::new()) }
                    >
                        {all.into_iter().map(|it| view! { <option value=it.id>{it.name}</option> }).collect_view()}
                        <option value=NEW>"A new design with a server"</option>
                    </select>
                </div>
                <div class="field">
                    <label for="add-host">"Server"</label>
                    <select class="input" id="add-host" on:change=move |event| host.set(event_target_value(&event))>
                        {move || servers().into_iter().map(|name| view! { <option value=name.clone()>{name.clone()}</option> }).collect_view()}
                    </select>
                    {move || (design.with(|it| it.is_some()) && servers().is_empty()).then(|| view! {
                        <p class="help">"The design has no server yet. Assign the item to one later."</p>
                    })}
                </div>
                <ProblemNote problem />
                <div class="dialog-actions">
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                    <button type="submit" class="button" data-look="primary" disabled=move || design.with(|it| it.is_none())>"Add"</button>
                </div>
            </form>
        }
    };
    designs.view(|| skeleton::rows(2), form)
}

/// The value of the choice of a new design.
const NEW: &str = "new";

/// A design with a server, not stored yet.
fn new_design(name: String) -> Design {
    Design {
        id: String::new(),
        name,
        template: SERVER.to_owned(),
        beside: TemplateFiles::default(),
        layout: Layout::default(),
        version: 0,
        created: String::new(),
        updated: String::new(),
        author: String::new(),
    }
}

fn servers_of(design: &Design) -> Vec<String> {
    Document::parse(design.template.as_str())
        .template()
        .resources
        .iter()
        .filter(|resource| resource.resource_type == "OS::Nova::Server")
        .map(|resource| resource.name.clone())
        .collect()
}

/// Stores a design with one more component. Returns the design's id.
async fn put(design: &Design, item: &str, server: Option<&str>) -> client::Answer<String> {
    let document = Document::parse(design.template.as_str());
    let taken = |name: &str| document.template().resource(name).is_some();
    let name = std::iter::once(item.to_owned())
        .chain((2..).map(|number| format!("{item}{number}")))
        .find(|name| !taken(name))
        .unwrap_or_else(|| item.to_owned());
    let edit = Edit::AddResource {
        name,
        resource_type: format!("Stackloom::Catalog::{item}"),
        properties: server.map_or_else(
            || json!({}),
            |server| json!({"host": {"get_resource": server}}),
        ),
    };
    let edited = document.edit(&edit).map_err(|error| Problem {
        title: String::from("The design could not be changed"),
        detail: error.to_string(),
        hint: Some(String::from(
            "Open the design and correct it in the code view.",
        )),
        ..Problem::default()
    })?;
    let request = DesignRequest {
        name: design.name.clone(),
        template: edited.text().to_owned(),
        beside: design.beside.clone(),
        layout: design.layout.clone(),
        base_version: (design.version > 0).then_some(design.version),
    };
    let stored = match design.id.as_str() {
        "" => client::design_create(&request).await,
        id => client::design_save(id, &request, client::Page::Stays).await,
    };
    stored.map(|stored| stored.id)
}
