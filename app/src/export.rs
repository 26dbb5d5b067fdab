//! Exports a design as a file in another format.
//!
//! The server creates the export. Omitted parts are listed before the download, and at the top of the file.

use api::{ExportFormat, Exported};
use leptos::prelude::*;

use crate::{
    browser, client,
    ui::{Confirm, Icon, Question, toast::ToastList},
};

/// A kind of file that a design is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportKind {
    /// A file that the server writes.
    Format(ExportFormat),
    /// A picture of pixels, which the browser makes from the SVG picture.
    Png,
}

/// Each kind with its icon and text.
const KINDS: [(ExportKind, &str, &str); 5] = [
    (
        ExportKind::Format(ExportFormat::Hot),
        "layout-template",
        "Heat template",
    ),
    (
        ExportKind::Format(ExportFormat::Terraform),
        "code",
        "Terraform JSON",
    ),
    (ExportKind::Format(ExportFormat::Tosca), "blocks", "TOSCA"),
    (
        ExportKind::Format(ExportFormat::Svg),
        "pencil-ruler",
        "Picture (SVG)",
    ),
    (ExportKind::Png, "pencil-ruler", "Picture (PNG)"),
];

/// A menu item for each kind.
#[component]
pub fn ExportItems(
    /// Called with the selected kind.
    #[prop(into)]
    on_pick: Callback<ExportKind>,
) -> impl IntoView {
    KINDS
        .map(|(kind, icon, label)| {
            view! {
                <button type="button" class="menu-item" on:click=move |_| on_pick.run(kind)>
                    <Icon name=icon />{format!("Export as {label}")}
                </button>
            }
        })
        .into_iter()
        .collect_view()
}

/// Exports the stored design and downloads it. First lists the omitted parts.
pub async fn save(id: &str, kind: ExportKind, toasts: ToastList, confirm: Confirm) {
    let format = match kind {
        ExportKind::Format(format) => format,
        ExportKind::Png => ExportFormat::Svg,
    };
    let mut exported = match client::design_export(id, format).await {
        Ok(exported) => exported,
        Err(problem) => return toasts.problem(&problem),
    };
    if kind == ExportKind::Png
        && let Some(stem) = exported.file_name.strip_suffix(".svg")
    {
        exported.file_name = format!("{stem}.png");
    }
    let archive = client::design_archive(id, format);
    if exported.report.is_empty() {
        return hand_over(kind, exported, archive, toasts);
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
        hand_over(kind, exported.clone(), archive.clone(), toasts)
    });
}

fn hand_over(kind: ExportKind, exported: Exported, archive: String, toasts: ToastList) {
    let done = format!("{} is exported.", exported.file_name);
    if kind == ExportKind::Png {
        leptos::task::spawn_local(async move {
            match browser::png_of(&exported.content).await {
                Some(picture) => {
                    browser::download_blob(&exported.file_name, &picture);
                    toasts.done(done);
                }
                None => toasts.warn("The browser could not paint the picture. Export it as SVG."),
            }
        });
        return;
    }
    // The server provides archives. A single text is in the response already.
    if exported.files.is_empty() {
        browser::download(&exported.file_name, &exported.media_type, &exported.content);
    } else {
        browser::fetch_file(&exported.file_name, &archive);
    }
    toasts.done(done);
}
