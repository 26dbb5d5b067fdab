//! The code editor: the template, or a file beside it, as text.
//!
//! The editor itself is a script (`web/editor.ts`), loaded when an editor is first shown. Until then the text is shown
//! and cannot be changed, so that nothing typed is lost. The script reports each change, which is applied to the design
//! at once. A change that is made elsewhere is shown by the smallest change of the editor's text, so that its caret and
//! folds stay. Undo is that of the design.

mod assist;
mod module;
mod source;

use api::Problem;
use hot::{expr::functions, template::read::SECTIONS, version::Version};
use leptos::{html, prelude::*, task::spawn_local};
use wasm_bindgen::prelude::*;

use self::module::{Module, Mounted, Options, Page};
use super::{fixes, store::Workspace};
use crate::{script::script, ui::ProblemCard};
pub use source::Source;

/// Maximum length of text in an editor, in bytes. It is more than the limit for templates, so that a user can shorten a
/// long text here.
const LONG_MAX: usize = 1 << 20;

/// Lines that are shown until the script is loaded. More do not fit on a screen.
const LINES_FIRST: usize = 120;

/// An editor.
#[component]
pub fn CodeEditor(
    /// The page's state.
    workspace: Workspace,
    /// The text.
    source: Source,
) -> impl IntoView {
    let place = NodeRef::<html::Div>::new();
    let mounted = RwSignal::new_local(None::<Mounted>);
    let failure = RwSignal::new(None::<Problem>);
    let source = StoredValue::new(source);
    let text = Memo::new(move |_| source.with_value(|source| source.text(workspace)));
    let problems = Memo::new(move |_| source.with_value(|source| source.problems(workspace)));
    let reported = StoredValue::new(String::new());
    let follows = StoredValue::new(false);
    let label = source.with_value(Source::label);

    let show = move |module: &Module, place: &web_sys::HtmlElement| {
        let (now, source) = (text.get_untracked(), source.get_value());
        let is_template = source.is_template(&now);
        let version = Version::default();
        let words: Vec<&str> = if is_template {
            functions(version)
                .chain(SECTIONS.iter().map(|(name, _)| *name))
                .collect()
        } else {
            Vec::new()
        };
        let options = Options {
            label,
            described_by: source.keys_id(),
            file: source.file(),
            text: &now,
            bytes_max: LONG_MAX,
            words: &words,
        };
        let page = page(
            workspace,
            &source,
            is_template,
            State {
                text,
                problems,
                reported,
                follows,
            },
        );
        let editor = module::mount(module, place, &options, page)?;
        reported.set_value(now);
        mounted.set(Some(editor));
        Ok::<(), JsValue>(())
    };
    let show = StoredValue::new_local(show);
    let load = move || {
        failure.set(None);
        spawn_local(async move {
            let failed = match script("editor").await {
                Ok(module) => {
                    let shown = show.try_with_value(|show| {
                        let place = place.get_untracked()?;
                        Some(show(module.unchecked_ref(), &place))
                    });
                    matches!(shown, Some(Some(Err(_)))).then(crate::client::page_missing)
                }
                Err(problem) => Some(problem),
            };
            if failed.is_some() {
                failure.try_set(failed);
            }
        });
    };
    Effect::new(move |_| {
        if place.get().is_some() {
            load();
        }
    });
    // The text first: problems have places in it.
    Effect::new(move |_| {
        let Some(editor) = mounted.get() else { return };
        let text = text.get();
        if reported.with_value(|reported| *reported != text) {
            editor.set_text(&text, follows.get_value());
            reported.set_value(text);
        }
        follows.set_value(false);
        editor.set_problems(&problems.with(|problems| assist::marks(problems)));
    });
    if source.with_value(|source| *source == Source::Template) {
        let selected = workspace.selected_lines();
        Effect::new(move |_| {
            // A new text can have other lines at the same place.
            text.track();
            let (first, last) = selected.get().unwrap_or_default();
            if let Some(editor) = mounted.get() {
                editor.set_marked(first, last);
            }
        });
    }
    on_cleanup(move || {
        let editor = mounted.try_update_untracked(Option::take);
        editor.flatten().iter().for_each(Mounted::destroy);
    });
    let first_lines = move || {
        text.with(|text| {
            let mut lines = text.lines().take(LINES_FIRST).collect::<Vec<_>>();
            lines.push("");
            lines.join("\n")
        })
    };
    let waiting = move || {
        if mounted.with(Option::is_some) {
            return ().into_any();
        }
        let problem = failure.get();
        let is_busy = problem.is_none();
        let card = problem.map(|problem| {
            let retry = Callback::new(move |()| load());
            view! { <ProblemCard problem retry /> }
        });
        view! {
            {card}
            {is_busy.then(|| view! { <p class="sr-only" role="status">"Loading the editor."</p> })}
            <pre class="code-waiting mono" aria-busy=is_busy.to_string()>{first_lines}</pre>
        }
        .into_any()
    };
    view! {
        <div class="code">
            {waiting}
            <div class="code-place" node_ref=place></div>
        </div>
    }
}

/// The most useful keys of an editor, in words.
#[component]
pub fn EditorKeys(
    /// The text of the editor.
    source: Source,
) -> impl IntoView {
    let keys: &[(&[&str], &str)] = match source {
        Source::Template => &[
            (&["Ctrl", "Space"], "proposes"),
            (&["Ctrl", "."], "fixes"),
            (&["Ctrl", "F"], "finds"),
            (&["Esc", "Tab"], "leaves"),
        ],
        Source::File(_) | Source::Value { .. } => &[
            (&["Ctrl", "F"], "finds"),
            (&["Ctrl", "M"], "lets Tab leave"),
            (&["Esc"], "closes"),
        ],
    };
    let keys = keys.iter().map(|(keys, effect)| {
        let keys = keys.iter().map(|key| view! { <kbd>{*key}</kbd>" " });
        view! { <span>{keys.collect_view()}{*effect}"."</span>" " }
    });
    view! { <p class="editor-keys meta" id=source.keys_id()>{keys.collect_view()}</p> }
}

/// State that the calls of the script share with the component.
#[derive(Clone, Copy)]
struct State {
    text: Memo<String>,
    problems: Memo<Vec<api::Diagnostic>>,
    /// The text in the script, unless the design was changed elsewhere since.
    reported: StoredValue<String>,
    /// Whether the caret goes to the change that is shown next.
    follows: StoredValue<bool>,
}

impl State {
    /// Makes a change that the caret goes to.
    fn moving(self, change: impl FnOnce()) {
        self.follows.try_set_value(true);
        change();
        let reported = self.reported.try_get_value();
        let is_same = self.text.try_get_untracked() == reported;
        if is_same {
            self.follows.try_set_value(false);
        }
    }
}

/// Functions that the script calls.
fn page(workspace: Workspace, source: &Source, is_template: bool, state: State) -> Page {
    let State {
        problems, reported, ..
    } = state;
    let own = || source.clone();
    let fixes_of = move |index: usize| {
        let problem = problems
            .try_with_untracked(|problems| problems.get(index).cloned())
            .flatten()?;
        Some(fixes::of(workspace, &problem))
    };
    Page {
        changed: Closure::new({
            let source = own();
            move |text: String| {
                if reported.try_set_value(text.clone()).is_none() {
                    source.type_text(workspace, &text);
                }
            }
        }),
        refused: Closure::new({
            let source = own();
            move |bytes: f64| workspace.refuse_drop(&too_long(&source, bytes))
        }),
        followed: Closure::new({
            let is_followed = *source == Source::Template;
            move |line| {
                if is_followed {
                    workspace.select_at_line(line);
                }
            }
        }),
        seal: Closure::new(move || workspace.seal()),
        undo: Closure::new({
            let source = own();
            move || state.moving(|| source.undo(workspace))
        }),
        redo: Closure::new({
            let source = own();
            move || state.moving(|| source.redo(workspace))
        }),
        assistant: is_template.then(|| {
            let (completed, explained) = (own(), own());
            (
                Closure::new(move |text: String, offset, asked| {
                    assist::complete(workspace, &completed, &text, offset, asked)
                }) as module::Complete,
                Closure::new(move |text: String, offset| {
                    assist::explain(workspace, &explained, &text, offset)
                }) as module::Explain,
            )
        }),
        fixes: Closure::new(move |index| {
            let fixes = fixes_of(index).unwrap_or_default();
            let labels: Vec<&str> = fixes.iter().map(|fix| fix.label.as_str()).collect();
            serde_json::to_string(&labels).unwrap_or_default()
        }),
        fix: Closure::new(move |index, label: String| {
            let fixes = fixes_of(index).unwrap_or_default();
            if let Some(fix) = fixes.iter().find(|fix| fix.label == label) {
                state.moving(|| {
                    workspace.apply(fix);
                });
            }
        }),
    }
}

fn too_long(source: &Source, bytes: f64) -> String {
    let limit = match source {
        Source::Template => format!(
            "a template may have at most {} KiB",
            hot::document::Limits::default().bytes_max / 1024
        ),
        Source::File(_) | Source::Value { .. } => {
            format!("a text here may have at most {} KiB", LONG_MAX / 1024)
        }
    };
    format!(
        "The text has {:.1} MB, but {limit}. Nothing was inserted.",
        bytes / 1e6
    )
}
