//! A design as a file for others: asked of the server, kept by the browser.
//!
//! What an export leaves out stands at the top of the file, so a message only says that there is something to read.

use api::ExportFormat;
use leptos::prelude::*;

use crate::{
    browser, client,
    ui::{Icon, toast::ToastList},
};

/// Each form with its icon and words.
pub const FORMATS: [(ExportFormat, &str, &str); 4] = [
    (ExportFormat::Hot, "layout-template", "Heat template"),
    (ExportFormat::Terraform, "code", "Terraform JSON"),
    (ExportFormat::Tosca, "blocks", "TOSCA"),
    (ExportFormat::Svg, "pencil-ruler", "Picture (SVG)"),
];

/// Menu items, one a form.
#[component]
pub fn ExportItems(
    /// Told what was chosen.
    #[prop(into)]
    on_pick: Callback<ExportFormat>,
) -> impl IntoView {
    FORMATS
        .map(|(format, icon, label)| {
            view! {
                <button type="button" class="menu-item" on:click=move |_| on_pick.run(format)>
                    <Icon name=icon />{format!("Export as {label}")}
                </button>
            }
        })
        .into_iter()
        .collect_view()
}

/// Export the stored design and hand the file to the person.
pub async fn save(id: &str, format: ExportFormat, toasts: ToastList) {
    match client::design_export(id, format).await {
        Ok(exported) => {
            browser::download(&exported.file_name, &exported.media_type, &exported.content);
            match exported.report.len() {
                0 => toasts.done(format!("{} is exported.", exported.file_name)),
                count => toasts.warn(format!(
                    "{} is exported. {count} {} not quite as drawn; the top of the file lists {}.",
                    exported.file_name,
                    if count == 1 { "thing is" } else { "things are" },
                    if count == 1 { "it" } else { "them" },
                )),
            }
        }
        Err(problem) => toasts.problem(&problem),
    }
}
