//! Exports a design as a file in another format.
//!
//! The server creates the export. Omitted parts are listed before the download, and at the top of the file.

use api::{ExportFormat, Exported};
use leptos::prelude::*;

use crate::{
    browser, client,
    ui::{Confirm, Icon, Question, toast::ToastList},
};

/// Each format with its icon and texts.
pub const FORMATS: [(ExportFormat, &str, &str); 4] = [
    (ExportFormat::Hot, "layout-template", "Heat template"),
    (ExportFormat::Terraform, "code", "Terraform JSON"),
    (ExportFormat::Tosca, "blocks", "TOSCA"),
    (ExportFormat::Svg, "pencil-ruler", "Picture (SVG)"),
];

/// A menu item for each format.
#[component]
pub fn ExportItems(
    /// Called with the selected format.
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

/// Exports the stored design and downloads it. First lists the omitted parts.
pub async fn save(id: &str, format: ExportFormat, toasts: ToastList, confirm: Confirm) {
    let exported = match client::design_export(id, format).await {
        Ok(exported) => exported,
        Err(problem) => return toasts.problem(&problem),
    };
    let archive = client::design_archive(id, format);
    if exported.report.is_empty() {
        return hand_over(&exported, &archive, toasts);
    }
    let count = exported.report.len();
    let question = Question {
        title: format!("Export as {}?", exported.file_name),
        body: vec![format!(
            "{} not exported exactly as drawn. The top of the file lists the same.",
            if count == 1 {
                "One thing is".to_owned()
            } else {
                format!("{count} things are")
            },
        )],
        items: Vec::new(),
        action: String::from("Download"),
        danger: false,
    };
    let notes = exported.report.clone();
    confirm.ask_with(notes, question, move || {
        hand_over(&exported, &archive, toasts)
    });
}

fn hand_over(exported: &Exported, archive: &str, toasts: ToastList) {
    // The server provides archives. A single text is in the response already.
    if exported.files.is_empty() {
        browser::download(&exported.file_name, &exported.media_type, &exported.content);
    } else {
        browser::fetch_file(&exported.file_name, archive);
    }
    toasts.done(format!("{} is exported.", exported.file_name));
}
