//! An item before it is published, as the designer will show it: its entry in the palette, and its form in the inspector.
//!
//! Both are read-only. The page that shows them belongs to another piece of the program, so it loads the piece of the
//! forms ([`load`]).

use std::sync::Arc;

use api::{Design, Layout, TemplateFiles};
use canvas::{layout::Places, palette};
use leptos::prelude::*;
use planner::preview::Preview;
use types::{Registry, ResourceType, SERVER, catalog::CatalogItem};

use super::{inspector::FormPreview, palette::EntryFace, store::Workspace};
use crate::{client::Types, opening::Missing};

/// Builds the preview of an item.
pub type PreviewFn = fn(CatalogItem) -> AnyView;

#[leptos::wasm_split::wasm_split(forms, wasm_split_path = ::leptos::wasm_split, fallible)]
fn preview_piece() -> Result<PreviewFn, Missing> {
    let build: PreviewFn = preview;
    Ok(build)
}

/// Loads the forms, and returns the builder of previews.
///
/// # Errors
/// The forms could not be loaded.
pub async fn load() -> Result<PreviewFn, Missing> {
    preview_piece().await
}

fn preview(item: CatalogItem) -> AnyView {
    let (name, resource_type) = (item.name.clone(), item.type_name());
    let server = ResourceType {
        name: SERVER.to_owned(),
        title: "Server".to_owned(),
        ..ResourceType::default()
    };
    let types = Registry::of([server, item.resource_type()]);
    let entry = palette::components(&types, "").into_iter().next();
    let design = Design {
        id: String::new(),
        name: item.title,
        template: template(&name, &resource_type),
        beside: TemplateFiles::default(),
        layout: Layout::default(),
        version: 1,
        created: String::new(),
        updated: String::new(),
        author: String::new(),
    };
    let (types, preview) = (Types(Arc::new(types)), Arc::new(Preview::default()));
    let workspace = Workspace::open(&design, Places::new(), types, preview);
    let stage = workspace.stage();
    view! {
        <section class="item-palette" aria-label="Palette">
            <p class="meta">"In the palette"</p>
            {entry.map(|entry| view! { <div class="palette-entry"><EntryFace entry stage /></div> })}
        </section>
        <section aria-label="Form">
            <p class="meta">"In the inspector"</p>
            <FormPreview workspace name resource_type />
        </section>
    }
    .into_any()
}

/// A design with the component on a server.
fn template(name: &str, resource_type: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16\nresources:\n  {name}_server: {{type: {SERVER}}}\n  {name}:\n    type: \
         {resource_type}\n    properties: {{host: {{get_resource: {name}_server}}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use hot::document::Document;

    use super::*;

    #[test]
    fn the_component_of_the_preview_is_on_a_server() {
        let text = template("word-keeper", "Stackloom::Catalog::word-keeper");
        let document = Document::parse(text);
        let component = document.template().resource("word-keeper").unwrap();
        assert_eq!(component.resource_type, "Stackloom::Catalog::word-keeper");
        assert_eq!(component.properties[0].name, "host");
        let server = document.template().resource("word-keeper_server").unwrap();
        assert_eq!(server.resource_type, SERVER);
    }
}
