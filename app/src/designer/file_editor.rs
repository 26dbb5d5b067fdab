//! The dialog that edits the path and the text of a file beside the template.
//!
//! Typed text is applied to the design at once, as in the code view, so closing the dialog loses nothing. The exception
//! is an invalid path: the dialog stays open until the path is corrected or discarded.

use hot::bundle::Bundle;
use leptos::{ev, prelude::*};

use super::{
    bundle::with_file,
    code_editor::{EditorKeys, Source},
    later::CodeEditor,
    store::Workspace,
};
use crate::ui::{Icon, Modal, prose};

/// State of the dialog: the path of the open file.
#[derive(Clone, Copy)]
pub struct Opened {
    open: RwSignal<bool>,
    path: RwSignal<String>,
    refused: RwSignal<Option<String>>,
}

impl Opened {
    /// The state without an open file.
    pub fn new() -> Self {
        Self {
            open: RwSignal::new(false),
            path: RwSignal::new(String::new()),
            refused: RwSignal::new(None),
        }
    }

    /// Opens a file.
    pub fn open(self, path: &str) {
        self.refused.set(None);
        self.path.set(path.to_owned());
        self.open.set(true);
    }

    /// Opens the file that the template names. A missing one is created without content.
    pub fn open_or_create(self, workspace: Workspace, name: &str) {
        let bundle = workspace.bundle.get_untracked();
        if let Some(path) = bundle.find(None, name) {
            self.open(path);
            return;
        }
        let bundle = with_file(&bundle, name, String::new());
        workspace.set_bundle(bundle, &format!("Added {name}"));
        self.open(name);
    }

    /// Creates an empty file and opens it.
    pub fn start(self, workspace: Workspace) {
        let bundle = workspace.bundle.get_untracked();
        let is_free = |path: &str| bundle.files().all(|(taken, _)| taken != path);
        let path = (1..)
            .map(|number| match number {
                1 => "nested.yaml".to_owned(),
                number => format!("nested_{number}.yaml"),
            })
            .find(|path| is_free(path))
            .unwrap_or_default();
        workspace.set_bundle(
            with_file(&bundle, &path, String::new()),
            &format!("Added {path}"),
        );
        self.open(&path);
    }
}

/// Bundle with a file under another path.
///
/// # Errors
/// The reason why the new path is invalid.
fn renamed(bundle: &Bundle, from: &str, to: &str) -> Result<Bundle, String> {
    if to.is_empty() || to.starts_with('/') || to.contains("..") || to.contains("://") {
        return Err(
            "The path must be relative to the template, such as `lib/web.yaml`.".to_owned(),
        );
    }
    if bundle.files().any(|(path, _)| path == to) {
        return Err(format!("The file `{to}` exists already."));
    }
    let was_environment = bundle.is_environment(from);
    let files = bundle.files().map(|(path, text)| {
        let path = if path == from { to } else { path };
        (path.to_owned(), text.to_owned())
    });
    let environments = bundle.environments().iter().map(|name| {
        let is_this = was_environment && bundle.find(None, name) == Some(from);
        if is_this { to.to_owned() } else { name.clone() }
    });
    Ok(Bundle::new(files, environments))
}

/// The dialog.
#[component]
pub fn FileEditor(workspace: Workspace, opened: Opened) -> impl IntoView {
    let path = opened.path;
    let rename = move |event: ev::Event| {
        let (to, from) = (
            event_target_value(&event).trim().to_owned(),
            path.get_untracked(),
        );
        if to == from {
            opened.refused.set(None);
            return;
        }
        match renamed(&workspace.bundle.get_untracked(), &from, &to) {
            Ok(bundle) => {
                opened.refused.set(None);
                path.set(to.clone());
                workspace.set_bundle(bundle, &format!("Renamed {from} to {to}"));
            }
            Err(reason) => opened.refused.set(Some(reason)),
        }
    };
    let faults = Memo::new(move |_| {
        let path = path.get();
        workspace.problems.with(|problems| {
            let here = problems
                .iter()
                .filter(|one| one.file.as_ref() == Some(&path));
            here.map(|one| match one.line {
                Some(line) => format!("Line {line}: {}", one.message),
                None => one.message.clone(),
            })
            .collect::<Vec<_>>()
        })
    });
    // The path was checked when the focus moved to this button.
    let done = move |_| {
        if opened.refused.with_untracked(Option::is_none) {
            opened.open.set(false);
        }
    };
    view! {
        <Modal open=opened.open title="File" size="large">
            <div class="field">
                <label for="file-path">"Path"</label>
                <input
                    class="input mono" id="file-path" autocomplete="off" spellcheck="false" prop:value=move || path.get()
                    aria-invalid=move || opened.refused.with(Option::is_some).then_some("true") on:change=rename
                />
                {move || opened.refused.get().map(|reason| view! { <p class="fault" role="alert"><Icon name="circle-alert" /><span>{prose(&reason)}</span></p> })}
            </div>
            <div class="field">
                <span class="label" aria-hidden="true">"Content"</span>
                <div class="file-text">{move || view! { <CodeEditor workspace source=Source::File(path.get()) /> }}</div>
                <EditorKeys source=Source::File(String::new()) />
            </div>
            {move || faults.get().into_iter().map(|fault| view! { <p class="fault"><Icon name="circle-alert" /><span>{prose(&fault)}</span></p> }).collect_view()}
            <div class="dialog-actions">
                <button type="button" class="button" data-look="primary" on:click=done>"Done"</button>
            </div>
        </Modal>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        let file = |path: &str| (path.to_owned(), format!("text of {path}"));
        Bundle::new(
            [file("web.yaml"), file("env.yaml")],
            ["env.yaml".to_owned()],
        )
    }

    #[test]
    fn a_file_that_is_renamed_stays_an_environment() {
        let renamed = renamed(&bundle(), "env.yaml", "lib/prod.yaml").expect("a good name");
        assert!(renamed.is_environment("lib/prod.yaml"));
        let paths: Vec<_> = renamed.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["lib/prod.yaml", "web.yaml"]);
    }

    #[test]
    fn file_names_outside_the_design_or_in_use_are_refused() {
        for name in ["", "/etc/passwd", "../web.yaml", "http://a/b", "env.yaml"] {
            assert!(renamed(&bundle(), "web.yaml", name).is_err(), "{name}");
        }
    }

    #[test]
    fn editing_one_file_changes_no_other() {
        let bundle = with_file(&bundle(), "env.yaml", "new".to_owned());
        assert!(bundle.is_environment("env.yaml"));
        let texts: Vec<_> = bundle.files().map(|(_, text)| text).collect();
        assert_eq!(texts, ["new", "text of web.yaml"]);
    }
}
