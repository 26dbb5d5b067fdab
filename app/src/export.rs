//! A design as a file for others: asked of the server, kept by the browser.
//!
//! What an export leaves out is shown before the file is taken; it stands at the top of the file too.

use api::{ExportFormat, Exported};
use leptos::prelude::*;

use crate::{
    browser, client,
    ui::{Confirm, Icon, Question, toast::ToastList},
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

/// Export the stored design and hand the file to the person, who hears first what it does not say.
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
            "{} not quite as drawn. The top of the file says the same.",
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
    // Bytes come from the server; a text is here already.
    if exported.files.is_empty() {
        browser::download(&exported.file_name, &exported.media_type, &exported.content);
    } else {
        browser::fetch_file(&exported.file_name, archive);
    }
    toasts.done(format!("{} is exported.", exported.file_name));
}
