//! The code view: the template's text, editable and synchronised with the canvas.
//!
//! It is a plain text area beside a strip of line numbers, so editing, selection and screen reader support are those of
//! the browser. Typed text is applied to the document at once. A change on the canvas sets the text area's value. Only
//! the visible line numbers are elements, because a user can paste a text longer than the limit for templates and must
//! be able to see and remove it.

use std::collections::BTreeMap;

use api::Severity;
use hot::document::Limits;
use leptos::{ev, html, prelude::*};

use super::{store::Workspace, surface};

/// Height of one line in CSS pixels. The style sheet contains the same value.
const LINE_PX: i32 = 20;

/// Maximum length of text in the text area, in bytes. It is more than the limit for templates, so that a user can
/// shorten a long text here. With much longer texts the browser's layout takes seconds for every key.
const LONG_MAX: usize = 1 << 20;

/// Number of lines in a block of line numbers. Most scrolling then renders no new numbers.
const BLOCK: u32 = 64;

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
    let lines = Memo::new(move |_| {
        text.with(|text| text.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1)
    });
    let room = RwSignal::new(0_i32);
    let seen = Memo::new(move |_| {
        let (top, room) = (scroll.with(|(_, top)| *top), room.get());
        numbers_seen(top, room, lines.get())
    });
    Effect::new(move |_| {
        if let Some(area) = area.get() {
            surface::on_resize_of(&area, move |size| {
                room.try_set(size.height as i32);
            });
        }
    });
    let marks = Memo::new(move |_| {
        workspace.problems.with(|problems| {
            let mut marks: BTreeMap<u32, (Severity, String)> = BTreeMap::new();
            for problem in problems.iter() {
                // Problems in other files refer to lines of these files.
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
    // A resource selected outside the code view is scrolled into view. A selection by the caret is visible already.
    Effect::new(move |_| {
        let (Some((first, last)), Some(area)) = (selected.get(), area.get()) else {
            return;
        };
        if has_focus(&area) {
            return;
        }
        // The text area can be new. It has its text and its size at the next frame.
        crate::browser::on_next_frame(move || {
            let (top, bottom) = ((first as i32 - 1) * LINE_PX, last as i32 * LINE_PX);
            let (from, room) = (area.scroll_top(), area.client_height());
            if top < from || bottom > from + room {
                area.set_scroll_top((top - 2 * LINE_PX).max(0));
            }
        });
    });
    let scrolled = move |_| {
        if let Some(area) = area.get_untracked() {
            scroll.set((area.scroll_left(), area.scroll_top()));
        }
    };
    let refuse = move |bytes: usize| {
        workspace.refuse_drop(&format!(
            "The text has {:.1} MB, but a template may have at most {} KiB. Nothing was inserted.",
            bytes as f64 / 1e6,
            Limits::default().bytes_max / 1024
        ));
    };
    let caret = StoredValue::new((0, 0));
    // Runs before the browser's layout. If an input is refused, the old text stays.
    let before = move |event: ev::InputEvent| {
        if let Some(area) = area.get_untracked() {
            let at = |place: Result<Option<u32>, _>| place.ok().flatten().unwrap_or_default();
            caret.set_value((at(area.selection_start()), at(area.selection_end())));
        }
        let bytes = event.data().map_or(0, |text| text.len());
        if bytes > LONG_MAX {
            event.prevent_default();
            refuse(bytes);
        }
    };
    let typed = move |event: ev::Event| {
        let now = event_target_value(&event);
        // Some inputs send no `beforeinput`, and many small inputs can also result in a long text.
        let was = text.with_untracked(String::len);
        match area.get_untracked() {
            Some(area) if now.len() > LONG_MAX && now.len() > was => {
                area.set_value(&text.get_untracked());
                let (start, end) = caret.get_value();
                // If the browser refuses the caret position, the caret moves to the end.
                let _ = area.set_selection_range(start, end);
                refuse(now.len());
            }
            _ => workspace.type_text(&now),
        }
    };
    // Tab inserts two spaces. Escape and then Tab leaves the field.
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
                // If the browser refuses the range, the text is unchanged.
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
    // Selects the resource at the caret, for the canvas and the form.
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
    let numbers_shift = move || {
        let above = (seen.get().0 as i32 - 1) * LINE_PX;
        format!("translateY({}px)", above - scroll.get().1)
    };
    view! {
        <div class="code">
            <div class="code-gutter" aria-hidden="true">
                <div class="code-numbers" style:transform=numbers_shift style:min-width=move || format!("{}ch", lines.get().to_string().len() + 4)>
                    {move || {
                        let marks = marks.get();
                        let lit = selected.get();
                        let (first, last) = seen.get();
                        (first..=last).map(|number| {
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
                    on:beforeinput=before on:input=typed on:scroll=scrolled on:keydown=key on:keyup=moved_by_key on:click=move |_| follow()
                    on:blur=move |_| workspace.seal()
                ></textarea>
            </div>
        </div>
    }
}

/// First and last line with rendered numbers: the visible lines, extended to whole blocks.
fn numbers_seen(scroll_top_px: i32, height_px: i32, lines: u32) -> (u32, u32) {
    let line_at = |px: i32| (px.max(0) / LINE_PX) as u32;
    let first = line_at(scroll_top_px) / BLOCK * BLOCK;
    let last = (line_at(scroll_top_px + height_px) / BLOCK + 1) * BLOCK;
    (first.min(lines.saturating_sub(1)) + 1, last.min(lines))
}

fn has_focus(area: &web_sys::HtmlTextAreaElement) -> bool {
    let active = crate::browser::document().and_then(|document| document.active_element());
    active.is_some_and(|active| active.is_same_node(Some(area)))
}

#[cfg(test)]
mod tests {
    use super::numbers_seen;

    #[test]
    fn only_visible_line_numbers_are_drawn() {
        assert_eq!(numbers_seen(0, 240, 30), (1, 30));
        assert_eq!(numbers_seen(0, 240, 460_000), (1, 64));
        assert_eq!(numbers_seen(63 * 20, 240, 460_000), (1, 128));
        assert_eq!(numbers_seen(1_000 * 20, 240, 460_000), (961, 1_024));
    }

    #[test]
    fn a_text_that_became_shorter_than_the_scroll_position_has_line_numbers() {
        assert_eq!(numbers_seen(460_000 * 20, 240, 3), (3, 3));
        assert_eq!(numbers_seen(0, 0, 1), (1, 1));
    }
}
