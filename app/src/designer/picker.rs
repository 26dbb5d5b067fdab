//! A small list at a point of the canvas: an item to add, an item that fits a drawn line, a resource to connect with, or
//! a resource to find.
//!
//! It opens by a double click on the empty canvas or in a network, by a line that is dropped on an empty place, and by
//! the keyboard. Typing searches, the arrow keys choose, and Enter takes the choice.

use std::cmp::Reverse;

use canvas::{
    commands::{self, CommandInput, Item, Proposal},
    drawing::{Drawing, Node},
    geometry::{CanvasPoint, ScreenPoint},
    layout, palette,
};
use leptos::{ev, html, prelude::*};
use types::Category;

use super::{
    overlay::{Picker, Purpose},
    store::Workspace,
    surface,
    type_icon::TypeIcon,
};
use crate::{
    browser,
    ui::{Icon, palette::score},
};

/// Number of choices that are displayed.
const SHOWN_MAX: usize = 40;
/// Size of the list in CSS pixels, to keep it on the canvas.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 340.0;

#[derive(Clone)]
struct Choice {
    title: String,
    detail: String,
    resource_type: String,
    category: Category,
    outcome: Outcome,
}

/// Effect of a choice.
#[derive(Clone)]
enum Outcome {
    /// Adds an item.
    Add(Item, Proposal),
    /// Connects two resources.
    Connect(Proposal),
    /// Shows a resource.
    Show(String),
}

impl Workspace {
    /// Opens the list to add an item at a point, or else at the pointer or in the middle of the canvas.
    pub fn pick_item(self, at: Option<ScreenPoint>, search: &str) {
        self.open_picker(Purpose::Add, at, search);
    }

    /// Opens the list of the items that can be added at a point and connected to a resource.
    pub fn pick_connected_item(self, from: &str, at: ScreenPoint) {
        self.open_picker(Purpose::AddTo(from.to_owned()), Some(at), "");
    }

    /// Opens the list of the items that can be added beside the selected resource and connected to it.
    pub fn pick_connected_to_selected(self) {
        let beside = |node: &Node| {
            let at = node.rect.centre();
            CanvasPoint::new(at.x + node.rect.width / 2.0 + layout::CARD_WIDTH, at.y)
        };
        if let Some((from, at)) = self.connection_start(beside) {
            self.open_picker(Purpose::AddTo(from), at, "");
        }
    }

    /// Opens the list of the resources with which the selected one can be connected.
    pub fn pick_end(self) {
        if let Some((from, at)) = self.connection_start(|node| node.rect.centre()) {
            self.open_picker(Purpose::Connect(from), at, "");
        }
    }

    /// Opens the list of all resources, to select one of them.
    pub fn find(self) {
        self.open_picker(Purpose::Find, None, "");
    }

    /// The selected resource, and a point of its node on the screen. Displays a message if none is selected.
    fn connection_start(
        self,
        point: impl Fn(&Node) -> CanvasPoint,
    ) -> Option<(String, Option<ScreenPoint>)> {
        let lead = self
            .selection
            .with_untracked(|selection| selection.lead().map(str::to_owned));
        let Some(from) = lead.filter(|name| !self.is_line(name)) else {
            self.show_toast("Select a resource to connect first.");
            return None;
        };
        let view = self.view.get_untracked();
        let at = self.drawing.with_untracked(|drawing| {
            let node = drawing.owner(&from)?;
            Some(view.to_screen(point(node)))
        });
        Some((from, at))
    }

    fn open_picker(self, purpose: Purpose, at: Option<ScreenPoint>, search: &str) {
        if purpose != Purpose::Find && self.is_broken() {
            return;
        }
        let middle = || {
            surface::size(self.root)
                .map(|size| ScreenPoint::new(size.width / 2.0, size.height / 2.0))
                .unwrap_or_default()
        };
        self.picker.set(Some(Picker {
            purpose,
            at: at.or(self.pointer.get_value()).unwrap_or_else(middle),
            search: search.to_owned(),
        }));
    }
}

/// The choices for a search.
fn choices(workspace: Workspace, picker: &Picker, search: &str) -> Vec<Choice> {
    let at = workspace.view.get_untracked().to_canvas(picker.at);
    let of_items = |propose: &dyn Fn(&CommandInput<'_>, &Item) -> Option<Proposal>| {
        workspace.with_input(|input| {
            palette::search(input.types, &input.recent.items, search)
                .into_iter()
                .filter_map(|entry| {
                    let proposal = propose(input, &entry.item)?;
                    Some(Choice {
                        title: entry.title,
                        detail: entry.summary,
                        resource_type: entry.resource_type,
                        category: entry.category,
                        outcome: Outcome::Add(entry.item, proposal),
                    })
                })
                .take(SHOWN_MAX)
                .collect()
        })
    };
    let found: Option<Vec<Choice>> = match &picker.purpose {
        Purpose::Add => of_items(&|input, item| {
            let onto = input.drawing.hit(at).map(|node| node.name.clone());
            commands::drop_item(input, item, at)
                .or_else(|_| commands::add(input, item, onto.as_deref()))
                .ok()
        }),
        Purpose::AddTo(from) => {
            of_items(&|input, item| commands::add_to(input, item, from, at).ok())
        }
        Purpose::Connect(from) => workspace.with_input(|input| ends(input, from, search)),
        Purpose::Find => workspace.with_input(|input| resources(input.drawing, search)),
    };
    found.unwrap_or_default()
}

/// All resources whose name or title matches a search, the best first. Those in folded networks are among them.
fn resources(drawing: &Drawing, search: &str) -> Vec<Choice> {
    let nodes = drawing.nodes().iter();
    let all = nodes.flat_map(|node| std::iter::once(node).chain(drawing.hidden_in(&node.name)));
    let all = all.filter(|node| !node.resource_type.is_empty());
    let all = all.flat_map(|node| {
        let own = Choice {
            title: node.name.clone(),
            detail: node.title.clone(),
            resource_type: node.resource_type.clone(),
            category: node.category,
            outcome: Outcome::Show(node.name.clone()),
        };
        let parts = node.parts.iter().map(|part| Choice {
            title: part.name.clone(),
            detail: part.title.clone(),
            resource_type: part.resource_type.clone(),
            category: part.category,
            outcome: Outcome::Show(part.name.clone()),
        });
        std::iter::once(own).chain(parts)
    });
    let mut found: Vec<(u32, Choice)> = all
        .filter_map(|choice| {
            let by_title = || score(search, &choice.detail).map(|points| points / 2);
            let points = score(search, &choice.title).or_else(by_title)?;
            Some((points, choice))
        })
        .collect();
    // Without a search they stay in the order of the drawing.
    if !search.trim().is_empty() {
        found.sort_by_key(|(points, _)| Reverse(*points));
    }
    found.truncate(SHOWN_MAX);
    found.into_iter().map(|(_, choice)| choice).collect()
}

/// Resources, drawn as nodes or parts, with which a resource can be connected.
fn ends(input: &CommandInput<'_>, from: &str, search: &str) -> Vec<Choice> {
    let wanted = search.to_lowercase();
    let nodes = input.drawing.nodes().iter();
    let all = nodes.flat_map(|node| {
        let own = (
            node.name.clone(),
            node.title.clone(),
            node.resource_type.clone(),
            node.category,
        );
        let parts = node.parts.iter().map(|part| {
            (
                part.name.clone(),
                part.title.clone(),
                part.resource_type.clone(),
                part.category,
            )
        });
        std::iter::once(own).chain(parts)
    });
    all.filter(|(name, title, ..)| format!("{name} {title}").to_lowercase().contains(&wanted))
        .filter_map(|(name, title, resource_type, category)| {
            let proposal = commands::connect(input, from, &name).ok()?;
            Some(Choice {
                detail: proposal.label.clone(),
                title: if resource_type.is_empty() {
                    title
                } else {
                    name
                },
                resource_type,
                category,
                outcome: Outcome::Connect(proposal),
            })
        })
        .take(SHOWN_MAX)
        .collect()
}

/// The open list, if there is one.
#[component]
pub fn PickerPanel(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    move || {
        workspace
            .picker
            .get()
            .map(|picker| view! { <Open workspace picker /> })
    }
}

#[component]
fn Open(workspace: Workspace, picker: Picker) -> impl IntoView {
    let stage = workspace.stage();
    let search = RwSignal::new(picker.search.clone());
    let chosen = RwSignal::new(0_usize);
    let input = NodeRef::<html::Input>::new();
    let (label, placeholder) = match &picker.purpose {
        Purpose::Add => ("Add".to_owned(), "Add a resource or software".to_owned()),
        Purpose::AddTo(from) => (
            format!("Add and connect to {from}"),
            format!("Add and connect to {from}"),
        ),
        Purpose::Connect(from) => (format!("Connect {from}"), format!("Connect {from} with")),
        Purpose::Find => (
            "Find".to_owned(),
            "Find a resource of this design".to_owned(),
        ),
    };
    let place = {
        let size = surface::size(workspace.root).unwrap_or_default();
        let x = picker.at.x.min(size.width - WIDTH - 8.0).max(8.0);
        let y = picker.at.y.min(size.height - HEIGHT - 8.0).max(8.0);
        format!("translate({x}px, {y}px)")
    };
    let found = Memo::new_with_compare(
        move |_| choices(workspace, &picker, &search.get()),
        |_, _| true,
    );
    Effect::new(move |_| {
        if let Some(input) = input.get() {
            // The element was created just now, so the focus cannot fail.
            let _ = input.focus();
        }
    });
    let close = move || {
        workspace.picker.set(None);
        if let Some(canvas) = workspace.root.get_untracked() {
            let _ = canvas.focus();
        }
    };
    let take = move |index: usize| {
        let choice = found.with_untracked(|found| found.get(index).cloned());
        if let Some(choice) = choice {
            close();
            match &choice.outcome {
                Outcome::Add(item, proposal) => {
                    if workspace.apply(proposal) {
                        workspace.remember_item(item);
                    }
                }
                Outcome::Connect(proposal) => {
                    workspace.apply(proposal);
                }
                Outcome::Show(name) => {
                    workspace.show(name, None);
                    workspace.announce(&format!("{name} is selected"));
                }
            }
        }
    };
    let to = move |index: usize| {
        chosen.set(index);
        browser::scroll_in_list(&format!("picker-{index}"));
    };
    let key = move |event: ev::KeyboardEvent| {
        event.stop_propagation();
        let count = found.with_untracked(Vec::len).max(1);
        match event.key().as_str() {
            "ArrowDown" => to((chosen.get_untracked() + 1) % count),
            "ArrowUp" => to((chosen.get_untracked() + count - 1) % count),
            "Enter" => take(chosen.get_untracked()),
            "Escape" | "Tab" => close(),
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <div
            class="canvas-picker" role="dialog" aria-label=label style:transform=place
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:dblclick=|event| event.stop_propagation() on:wheel=|event| event.stop_propagation() on:keydown=key
        >
            <label class="canvas-picker-head">
                <Icon name="search" />
                <span class="sr-only">{placeholder.clone()}</span>
                <input
                    type="text" role="combobox" aria-expanded="true" aria-controls="picker-list" autocomplete="off"
                    aria-activedescendant=move || format!("picker-{}", chosen.get())
                    placeholder=placeholder node_ref=input prop:value=move || search.get()
                    on:input=move |event| { search.set(event_target_value(&event)); to(0) }
                />
            </label>
            <ul class="canvas-picker-list" role="listbox" id="picker-list" aria-label="Choices">
                {move || found.get().into_iter().enumerate().map(|(index, choice)| view! {
                    <li
                        class="canvas-picker-choice" role="option" id=format!("picker-{index}")
                        aria-selected=move || (chosen.get() == index).to_string()
                        on:pointermove=move |_| if chosen.get_untracked() != index { chosen.set(index) }
                        on:click=move |_| take(index)
                    >
                        <TypeIcon resource_type=choice.resource_type category=choice.category stage />
                        <span class="canvas-picker-text">
                            <span class="canvas-picker-title">{choice.title}</span>
                            <span class="canvas-picker-detail">{choice.detail}</span>
                        </span>
                    </li>
                }).collect_view()}
            </ul>
            {move || found.with(Vec::is_empty).then(|| view! { <p class="canvas-picker-none" role="status">"Nothing matches."</p> })}
        </div>
    }
}
