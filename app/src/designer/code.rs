//! The template's text, live in both directions.
//!
//! A plain text area over a strip of line numbers: the browser's own editing, selection and screen
//! reader support, nothing between the person and the text. What is typed goes into the document at once; what
//! the canvas changes comes back as the text area's value.

use std::collections::BTreeMap;

use api::Severity;
use leptos::{ev, html, prelude::*};

use super::store::Workspace;

/// CSS pixels of one line; the style sheet says the same.
const LINE_PX: i32 = 20;

/// The code view.
#[component]
pub fn Code(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let area = NodeRef::<html::Textarea>::new();
    let scroll = RwSignal::new((0_i32, 0_i32));
    let text = Memo::new(move |_| {
        workspace
            .editor
            .with(|editor| editor.document().text().to_owned())
    });
    let lines = Memo::new(move |_| text.with(|text| text.split('\n').count()));
    let marks = Memo::new(move |_| {
        workspace.problems.with(|problems| {
            let mut marks: BTreeMap<u32, (Severity, String)> = BTreeMap::new();
            for problem in problems.iter() {
                // Lines of other files are not these lines.
                let Some(line) = problem.line.filter(|_| problem.file.is_none()) else {
                    continue;
                };
                let mark = marks
                    .entry(line)
                    .or_insert((problem.severity, String::new()));
                mark.0 = mark.0.min(problem.severity);
                if !mark.1.is_empty() {
                    mark.1.push('\n');
                }
                mark.1.push_str(&problem.message);
            }
            marks
        })
    });
    let selected = Memo::new(move |_| {
        let name = workspace
            .selection
            .with(|selection| selection.lead().map(str::to_owned))?;
        workspace
            .editor
            .with(|editor| editor.document().lines(&["resources", &name]))
    });
    // A selection made elsewhere is brought into sight; one made here by the caret is in sight already.
    Effect::new(move |_| {
        let (Some((first, last)), Some(area)) = (selected.get(), area.get()) else {
            return;
        };
        if has_focus(&area) {
            return;
        }
        let (top, bottom) = ((first as i32 - 1) * LINE_PX, last as i32 * LINE_PX);
        let (from, room) = (area.scroll_top(), area.client_height());
        if top < from || bottom > from + room {
            area.set_scroll_top((top - 2 * LINE_PX).max(0));
        }
    });
    let scrolled = move |_| {
        if let Some(area) = area.get_untracked() {
            scroll.set((area.scroll_left(), area.scroll_top()));
        }
    };
    let typed = move |event: ev::Event| workspace.type_text(&event_target_value(&event));
    // Tab writes two spaces; Escape, then Tab, leaves.
    let leaves = StoredValue::new(false);
    let key = move |event: ev::KeyboardEvent| {
        if event.key() == "Escape" {
            leaves.set_value(true);
            return;
        }
        if event.key() == "Tab" && !event.shift_key() && !leaves.get_value() {
            event.prevent_default();
            if let Some(area) = area.get_untracked() {
                let start = area.selection_start().ok().flatten().unwrap_or_default();
                let end = area.selection_end().ok().flatten().unwrap_or(start);
                // A range that the browser does not know leaves the text as it is.
                if area
                    .set_range_text_with_start_and_end("  ", start, end)
                    .is_ok()
                {
                    let _ = area.set_selection_range(start + 2, start + 2);
                    workspace.type_text(&area.value());
                }
            }
        }
        if event.key() != "Tab" {
            leaves.set_value(false);
        }
    };
    // The caret's resource is selected, so the canvas and the form follow.
    let follow = move || {
        let Some(area) = area.get_untracked() else {
            return;
        };
        let Some(at) = area.selection_start().ok().flatten() else {
            return;
        };
        let line = area
            .value()
            .encode_utf16()
            .take(at as usize)
            .filter(|unit| *unit == u16::from(b'\n'))
            .count() as u32
            + 1;
        let name = workspace.editor.with_untracked(|editor| {
            let document = editor.document();
            document.template().resources.iter().find_map(|resource| {
                let (first, last) = document.lines(&["resources", &resource.name])?;
                (first <= line && line <= last).then(|| resource.name.clone())
            })
        });
        if let Some(name) = name
            && workspace
                .drawing
                .with_untracked(|drawing| drawing.owner(&name).is_some())
        {
            workspace.select(&name);
        }
    };
    let moved_by_key = move |event: ev::KeyboardEvent| {
        if matches!(
            event.key().as_str(),
            "ArrowUp" | "ArrowDown" | "PageUp" | "PageDown" | "Home" | "End"
        ) {
            follow();
        }
    };
    let shift = move || format!("translateY({}px)", -scroll.get().1);
    view! {
        <div class="code">
            <div class="code-gutter" aria-hidden="true">
                <div class="code-numbers" style:transform=shift>
                    {move || {
                        let marks = marks.get();
                        let lit = selected.get();
                        (1..=lines.get() as u32).map(|number| {
                            let mark = marks.get(&number);
                            let word = mark.map(|(severity, _)| match severity {
                                Severity::Error => "error",
                                Severity::Warning => "warning",
                                Severity::Info => "info",
                            });
                            let lit = lit.is_some_and(|(first, last)| first <= number && number <= last);
                            view! {
                                <span data-mark=word data-lit=lit.then_some("true") title=mark.map(|(_, text)| text.clone())>{number}</span>
                            }
                        }).collect_view()
                    }}
                </div>
            </div>
            <div class="code-paper">
                <div class="code-lit" aria-hidden="true" style:transform=shift>
                    {move || selected.get().map(|(first, last)| view! {
                        <div
                            style:top=format!("{}px", (first as i32 - 1) * LINE_PX + 8)
                            style:height=format!("{}px", (last as i32 - first as i32 + 1) * LINE_PX)
                        ></div>
                    })}
                </div>
                <textarea
                    class="code-text mono" aria-label="Template" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="off"
                    node_ref=area prop:value=move || text.get()
                    on:input=typed on:scroll=scrolled on:keydown=key on:keyup=moved_by_key on:click=move |_| follow()
                    on:blur=move |_| workspace.seal()
                ></textarea>
            </div>
        </div>
    }
}

fn has_focus(area: &web_sys::HtmlTextAreaElement) -> bool {
    let active = crate::browser::document().and_then(|document| document.active_element());
    active.is_some_and(|active| active.is_same_node(Some(area)))
}
