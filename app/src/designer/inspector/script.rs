//! Scripts: a text with an editor in a dialog, a file beside the template, and a text with words that are replaced.

use canvas::form::{Control, Field};
use leptos::{ev, prelude::*};

use super::context::FormContext;
use crate::{
    designer::{
        code_editor::{EditorKeys, Source},
        file_editor::{FileEditor, Opened},
        later::CodeEditor,
    },
    ui::{Icon, Modal},
};

/// Smallest and largest number of lines of a text area.
const LINES: (usize, usize) = (4, 16);

/// Lines of text, with a button that opens them in a code editor.
#[component]
pub(super) fn AreaControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
    placeholder: Signal<String>,
    set: Callback<String>,
    invalid: Signal<bool>,
) -> AnyView {
    let is_open = RwSignal::new(false);
    let text = move || now.with(|field| field.text.clone());
    let lines = move || {
        let lines = now.with(|field| field.text.matches('\n').count() + 1);
        lines.clamp(LINES.0, LINES.1).to_string()
    };
    let label = now.with_untracked(|field| field.label.clone());
    let title = format!("{label} of {}", form.title.get_value());
    let source = move || {
        let field = now.get_untracked();
        Source::Value {
            change: form.change_of(&field),
            path: field.path,
        }
    };
    view! {
        <div class="rows">
            <textarea class="input mono" id=id rows=lines spellcheck="false" placeholder=move || placeholder.get()
                aria-describedby=described aria-invalid=move || invalid.get().then_some("true") prop:value=text
                on:input=move |event: ev::Event| set.run(event_target_value(&event))></textarea>
            // The editor changes one text.
            {(!form.is_of_several()).then(|| view! {
                <button type="button" class="button" data-size="small" on:click=move |_| is_open.set(true)>
                    <Icon name="maximize" />"Edit in a larger window"
                </button>
            })}
            <Modal open=is_open title=title size="large">
                <div class="file-text"><CodeEditor workspace=form.workspace source=source() /></div>
                <EditorKeys source=source() />
                <div class="dialog-actions">
                    <button type="button" class="button" data-look="primary" on:click=move |_| is_open.set(false)>"Done"</button>
                </div>
            </Modal>
        </div>
    }
    .into_any()
}

/// The content of a file, with a button that opens the file.
#[component]
pub(super) fn FileControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
) -> AnyView {
    let workspace = form.workspace;
    let name = move || now.with(file_of);
    let opened = Opened::new();
    let is_there = move || {
        workspace
            .bundle
            .with(|bundle| bundle.find(None, &name()).is_some())
    };
    // A file at an address is fetched when the design is deployed.
    let is_remote = move || {
        name()
            .split_once("://")
            .is_some_and(|(kind, _)| kind != "file")
    };
    view! {
        <div class="linked">
            <span class="linked-icon"><Icon name="file-text" /></span>
            <input class="input mono" id=id aria-describedby=described readonly prop:value=name />
            {move || (!is_remote()).then(|| view! {
                <button type="button" class="button" data-size="small" on:click=move |_| opened.open_or_create(workspace, &now.with_untracked(file_of))>
                    {move || if is_there() { "Open" } else { "Create" }}
                </button>
            })}
            <FileEditor workspace opened />
        </div>
    }
    .into_any()
}

fn file_of(field: &Field) -> String {
    match &field.control {
        Control::File(name) => name.clone(),
        _ => String::new(),
    }
}

/// A text with words that are replaced.
#[component]
pub(super) fn ReplaceControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
) -> AnyView {
    let parts = Memo::new(move |_| {
        now.with(|field| match &field.control {
            Control::Replace(parts) => parts.clone(),
            _ => Vec::new(),
        })
    });
    let label = now.with_untracked(|field| field.label.clone());
    view! {
        <div class="rows" role="group" id=id aria-label=label aria-describedby=described>
            <For each=move || parts.get() key=|part| (part.name.clone(), std::mem::discriminant(&part.control)) let:part>
                {(form.field)(form, parts, part, false)}
            </For>
        </div>
    }
    .into_any()
}
