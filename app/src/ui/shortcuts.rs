//! Keyboard shortcuts: one listener for the palette's commands, and the sheet that lists their keys.

use leptos::{ev::KeyboardEvent, html, prelude::*};

use crate::{browser, ui::use_palette};

/// Shortcut sheet on `?` and the listener, part of the frame.
#[component]
pub fn Shortcuts() -> impl IntoView {
    let palette = use_palette();
    let open = RwSignal::new(false);
    let dialog = NodeRef::<html::Dialog>::new();
    let before = StoredValue::new((String::new(), 0.0_f64));

    palette.register(vec![
        crate::ui::Command::new("Help", "keyboard", "Keyboard shortcuts", move || {
            open.try_set(true);
        })
        .keys("?"),
        crate::ui::Command::new("Help", "search", "Commands", move || {
            palette.open.try_set(true);
        })
        .keys("Ctrl+K"),
    ]);
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if open.get() {
            // Opening an open dialog has no effect.
            let _ = dialog.show_modal();
        } else if dialog.open() {
            dialog.close();
        }
    });

    let on_key = move |event: KeyboardEvent| {
        let Some(key) = key_of(&event) else { return };
        if !key.starts_with("Ctrl+") && browser::is_typing(&event) {
            return;
        }
        let now = event.time_stamp();
        let (last, at) = before.get_value();
        let pair = format!("{last} {key}");
        let commands = palette.commands();
        let hit = commands.iter().find(|command| {
            command.listens
                && command
                    .keys
                    .is_some_and(|keys| keys == key || (now - at < 1_000.0 && keys == pair))
        });
        before.set_value((key, now));
        if let Some(command) = hit {
            event.prevent_default();
            command.run.run(());
        }
    };
    Effect::new(move |_| {
        let handle = window_event_listener(leptos::ev::keydown, on_key);
        on_cleanup(move || handle.remove());
    });

    view! {
        <dialog class="dialog sheet" node_ref=dialog aria-label="Keyboard shortcuts" on:close=move |_| { open.try_set(false); }>
            {move || open.get().then(|| {
                let mut groups: Vec<(&'static str, Vec<(String, &'static str)>)> = Vec::new();
                for command in palette.commands() {
                    let Some(keys) = command.keys else { continue };
                    match groups.iter_mut().find(|(group, _)| *group == command.group) {
                        Some((_, rows)) => rows.push((command.name, keys)),
                        None => groups.push((command.group, vec![(command.name, keys)])),
                    }
                }
                view! {
                    <div class="dialog-body">
                        <h2>"Keyboard shortcuts"</h2>
                        <div class="sheet-groups">
                            {groups.into_iter().map(|(group, rows)| view! {
                                <section>
                                    <h3>{group}</h3>
                                    <dl>
                                        {rows.into_iter().map(|(name, keys)| view! {
                                            <div><dt>{name}</dt><dd>{keys_view(keys)}</dd></div>
                                        }).collect_view()}
                                    </dl>
                                </section>
                            }).collect_view()}
                        </div>
                        <div class="dialog-actions">
                            <button type="button" class="button" on:click=move |_| open.set(false)>"Close"</button>
                        </div>
                    </div>
                }
            })}
        </dialog>
    }
}

fn keys_view(keys: &'static str) -> impl IntoView {
    keys.split(' ')
        .map(|key| view! { <kbd>{key}</kbd> })
        .collect_view()
}

/// Name of a key: `Ctrl+K`, `?`, `g`. `None` for modifier keys.
fn key_of(event: &KeyboardEvent) -> Option<String> {
    let key = event.key();
    if matches!(key.as_str(), "Control" | "Shift" | "Alt" | "Meta") || event.alt_key() {
        return None;
    }
    if event.ctrl_key() || event.meta_key() {
        let key = if key.chars().count() == 1 {
            key.to_uppercase()
        } else {
            key
        };
        return Some(if event.shift_key() {
            format!("Ctrl+Shift+{key}")
        } else {
            format!("Ctrl+{key}")
        });
    }
    Some(key)
}
