//! The command palette on Ctrl K: pages, designs, deployments, and the commands of the open page.
//!
//! Commands are registered once, for the palette, the keyboard and the shortcut sheet.

use std::cmp::Reverse;

use leptos::{ev::KeyboardEvent, html, prelude::*};
use leptos_router::hooks::use_navigate;

use super::{Icon, use_leaving};
use crate::{browser, client};

/// A command of the user interface.
#[derive(Clone)]
pub struct Command {
    /// Name, such as `Deploy` or `Zoom to fit`.
    pub name: String,
    /// Group: `Go to`, `Design`, `Run`.
    pub group: &'static str,
    /// Name of an icon in the sprite.
    pub icon: &'static str,
    /// Keys as displayed: `Ctrl+K`, `?`, `g d` (one after the other). `None` if there are no keys.
    pub keys: Option<&'static str>,
    /// True if the frame handles these keys. False for a page with its own key handling.
    pub listens: bool,
    /// True while the command applies. `None` if it always does.
    pub applies: Option<Signal<bool>>,
    /// Function of the command.
    pub run: Callback<()>,
}

impl Command {
    /// Command without keys.
    pub fn new(
        group: &'static str,
        icon: &'static str,
        name: impl Into<String>,
        run: impl Fn() + Send + Sync + 'static,
    ) -> Command {
        Command {
            name: name.into(),
            group,
            icon,
            keys: None,
            listens: true,
            applies: None,
            run: Callback::new(move |()| run()),
        }
    }

    /// Offers the command only while this is true.
    pub fn when(mut self, applies: impl Fn() -> bool + Send + Sync + 'static) -> Command {
        self.applies = Some(Signal::derive(applies));
        self
    }

    /// Adds keys that the frame handles.
    pub fn keys(mut self, keys: &'static str) -> Command {
        self.keys = Some(keys);
        self
    }

    /// Adds keys that are only displayed. The page handles them itself.
    pub fn own_keys(mut self, keys: &'static str) -> Command {
        self.keys = Some(keys);
        self.listens = false;
        self
    }
}

/// All registered commands.
#[derive(Clone, Copy)]
pub struct Palette {
    sets: RwSignal<Vec<(u32, Vec<Command>)>>,
    next: StoredValue<u32>,
    /// True while the palette is open.
    pub open: RwSignal<bool>,
}

/// Provides the palette, for [`crate::App`].
pub fn provide_palette() {
    provide_context(Palette {
        sets: RwSignal::new(Vec::new()),
        next: StoredValue::new(0),
        open: RwSignal::new(false),
    });
}

/// The page's palette.
pub fn use_palette() -> Palette {
    expect_context()
}

impl Palette {
    /// Adds commands after mount, and removes them with their owner.
    pub fn register(self, commands: Vec<Command>) {
        let Some(id) = self.next.try_get_value() else {
            return;
        };
        self.next.set_value(id + 1);
        Effect::new(move |_| {
            self.sets.try_update(|sets| {
                sets.retain(|(set, _)| *set != id);
                sets.push((id, commands.clone()));
            });
        });
        on_cleanup(move || {
            self.sets
                .try_update(|sets| sets.retain(|(set, _)| *set != id));
        });
    }

    /// All commands that apply, starting with those of the newest page.
    pub fn commands(self) -> Vec<Command> {
        let applies = |command: &&Command| {
            let applies = command.applies.and_then(|applies| applies.try_get());
            applies != Some(false)
        };
        self.sets.with(|sets| {
            let commands = sets.iter().rev().flat_map(|(_, commands)| commands);
            commands.filter(applies).cloned().collect()
        })
    }
}

/// Quality of a match of `text` with `query`: all letters in order, with more points at starts of words. `None` if
/// there is no match.
pub fn score(query: &str, text: &str) -> Option<u32> {
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let (mut at, mut points, mut last) = (0, 0, None);
    for wanted in query
        .chars()
        .flat_map(char::to_lowercase)
        .filter(|letter| !letter.is_whitespace())
    {
        let found = (at..text.len()).find(|&index| text[index] == wanted)?;
        let starts_word = found == 0 || !text[found - 1].is_alphanumeric();
        points += if starts_word { 8 } else { 1 }
            + if last == found.checked_sub(1) && last.is_some() {
                4
            } else {
                0
            };
        last = Some(found);
        at = found + 1;
    }
    Some(points * 16 + 64_u32.saturating_sub(text.len() as u32).min(15))
}

/// Dialog of the palette, part of the frame.
#[component]
pub fn CommandPalette() -> impl IntoView {
    let palette = use_palette();
    let navigate = StoredValue::new_local(use_navigate());
    let leaving = use_leaving();
    let dialog = NodeRef::<html::Dialog>::new();
    let query = RwSignal::new(String::new());
    let chosen = RwSignal::new(0_usize);
    let places = RwSignal::new(Vec::<Command>::new());

    let go = move |href: String| {
        Callback::new(move |()| {
            if leaving.can_leave() {
                navigate.try_with_value(|navigate| navigate(&href, Default::default()));
            }
        })
    };
    let load_places = move || {
        leptos::task::spawn_local(async move {
            let mut found = Vec::new();
            let place = |group, icon, name: String, href: String| Command {
                name,
                group,
                icon,
                keys: None,
                listens: false,
                applies: None,
                run: go(href),
            };
            if let Ok(designs) = client::design_names().await {
                found.extend(designs.into_iter().map(|it| {
                    place(
                        "Design",
                        "pencil-ruler",
                        it.name,
                        format!("/designs/{}", it.id),
                    )
                }));
            }
            if let Ok(deployments) = client::deployment_names().await {
                found.extend(deployments.into_iter().map(|it| {
                    place(
                        "Deployment",
                        "rocket",
                        it.name,
                        format!("/deployments/{}", it.id),
                    )
                }));
            }
            places.try_set(found);
        });
    };
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if palette.open.get() {
            query.set(String::new());
            chosen.set(0);
            load_places();
            if !dialog.open() {
                // Opening an open dialog has no effect.
                let _ = dialog.show_modal();
            }
            browser::focus("palette-query");
        } else if dialog.open() {
            dialog.close();
        }
    });

    let hits = Memo::new_with_compare(
        move |_| {
            let query = query.get();
            let mut hits: Vec<(u32, usize, Command)> = palette
                .commands()
                .into_iter()
                .chain(places.get())
                .enumerate()
                .filter_map(|(index, command)| {
                    let points = score(&query, &command.name).or_else(|| {
                        score(&query, &format!("{} {}", command.group, command.name))
                            .map(|points| points / 2)
                    })?;
                    Some((points, index, command))
                })
                .collect();
            if !query.trim().is_empty() {
                hits.sort_by_key(|(points, index, _)| (Reverse(*points), *index));
            }
            hits.truncate(50);
            hits.into_iter()
                .map(|(_, _, command)| command)
                .collect::<Vec<_>>()
        },
        |_, _| true,
    );
    let run = move |index: usize| {
        if let Some(command) = hits.with_untracked(|hits| hits.get(index).cloned()) {
            palette.open.set(false);
            command.run.run(());
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let count = hits.with_untracked(Vec::len).max(1);
        match event.key().as_str() {
            "ArrowDown" => chosen.update(|index| *index = (*index + 1) % count),
            "ArrowUp" => chosen.update(|index| *index = (*index + count - 1) % count),
            "Enter" => run(chosen.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <dialog
            class="palette" node_ref=dialog aria-label="Commands" on:close=move |_| { palette.open.try_set(false); }
            on:click=move |event| {
                // A click with the dialog itself as target is on the backdrop.
                if let (Some(target), Some(dialog)) = (event.target(), dialog.get_untracked()) && &target == AsRef::<web_sys::EventTarget>::as_ref(&dialog) {
                    palette.open.set(false);
                }
            }
        >
            <div class="palette-body">
                <div class="palette-head">
                    <Icon name="search" />
                    <input
                        id="palette-query" type="text" role="combobox" aria-expanded="true" aria-controls="palette-hits" autocomplete="off"
                        aria-label="Search commands, designs and deployments" placeholder="Search commands, designs and deployments"
                        aria-activedescendant=move || format!("palette-hit-{}", chosen.get())
                        prop:value=move || query.get()
                        on:input=move |event| { query.set(event_target_value(&event)); chosen.set(0) }
                        on:keydown=on_key
                    />
                    <kbd>"Esc"</kbd>
                </div>
                <ul class="palette-hits" id="palette-hits" role="listbox" aria-label="Commands">
                    {move || hits.get().into_iter().enumerate().map(|(index, command)| view! {
                        <li
                            class="palette-hit" role="option" id=format!("palette-hit-{index}")
                            aria-selected=move || (chosen.get() == index).to_string()
                            on:pointermove=move |_| if chosen.get_untracked() != index { chosen.set(index) }
                            on:click=move |_| run(index)
                        >
                            <Icon name=command.icon />
                            <span class="palette-name">{command.name}</span>
                            <span class="palette-group">{command.group}</span>
                            {command.keys.map(|keys| view! { <kbd>{keys}</kbd> })}
                        </li>
                    }).collect_view()}
                </ul>
                {move || hits.with(Vec::is_empty).then(|| view! { <p class="palette-none" role="status">"Nothing matches."</p> })}
            </div>
        </dialog>
    }
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn a_search_matches_letters_in_order_and_prefers_starts_of_words() {
        assert!(score("dpl", "Deployments").is_some());
        assert!(score("xyz", "Deployments").is_none());
        assert!(score("de", "Deployments") > score("ye", "Deployments").or(Some(0)));
        assert!(score("cat", "Go to Catalogue") > score("cat", "Indicate"));
        assert!(score("", "anything").is_some());
    }
}
