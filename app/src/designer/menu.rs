//! The context menu of the canvas: by the right button, a long press, or Shift+F10.

use canvas::geometry::ScreenPoint;
use leptos::{ev, html, prelude::*};

use super::{
    clipboard,
    overlay::ContextMenu,
    store::{ALIGNMENTS, DISTRIBUTIONS, Workspace},
    surface,
};
use crate::{browser, ui::Icon};

/// Distance of the menu from the edges of the canvas, in CSS pixels.
const MARGIN: f64 = 8.0;

#[derive(Clone, Copy)]
struct Entry {
    icon: &'static str,
    label: &'static str,
    keys: &'static str,
    run: Callback<()>,
}

impl Workspace {
    /// Opens the context menu at a point, and selects the resource there.
    pub fn open_menu(self, at: ScreenPoint, on: Option<String>) {
        if let Some(name) = &on
            && !self
                .selection
                .with_untracked(|selection| selection.contains(name))
        {
            self.select(name);
        }
        self.picker.set(None);
        self.menu.set(Some(ContextMenu { at, on }));
    }
}

fn entries(workspace: Workspace, menu: &ContextMenu) -> Vec<Vec<Entry>> {
    let entry = |icon, label, keys, run: Callback<()>| Entry {
        icon,
        label,
        keys,
        run,
    };
    let at = menu.at;
    if menu.on.is_none() {
        return vec![
            vec![
                entry(
                    "plus",
                    "Add here",
                    "A",
                    Callback::new(move |()| workspace.pick_item(Some(at), "")),
                ),
                entry(
                    "file-up",
                    "Paste",
                    "Ctrl V",
                    Callback::new(move |()| clipboard::paste(workspace)),
                ),
            ],
            vec![
                entry(
                    "layout-template",
                    "Tidy up all",
                    "",
                    Callback::new(move |()| {
                        workspace.select_none();
                        workspace.tidy();
                    }),
                ),
                entry(
                    "square",
                    "Select all",
                    "Ctrl A",
                    Callback::new(move |()| workspace.select_all()),
                ),
                entry(
                    "maximize",
                    "Fit to screen",
                    "F",
                    Callback::new(move |()| workspace.fit()),
                ),
            ],
        ];
    }
    let delete = entry(
        "trash-2",
        "Delete",
        "Del",
        Callback::new(move |()| workspace.delete_selected()),
    );
    if menu
        .on
        .as_deref()
        .is_some_and(|name| workspace.is_line(name))
    {
        let edit = entry(
            "pencil",
            "Edit",
            "",
            Callback::new(move |()| workspace.edit_connection()),
        );
        return vec![vec![edit], vec![delete]];
    }
    let count = workspace.selected_names().len();
    let mut groups = Vec::new();
    if count == 1 {
        groups.push(vec![
            entry(
                "pencil",
                "Edit",
                "Enter",
                Callback::new(move |()| workspace.edit_selected()),
            ),
            entry(
                "cable",
                "Connect with",
                "C",
                Callback::new(move |()| workspace.pick_end()),
            ),
            entry(
                "plus",
                "Add and connect",
                "Shift C",
                Callback::new(move |()| workspace.pick_connected_to_selected()),
            ),
        ]);
    }
    if let (1, Some(is_folded)) = (
        count,
        menu.on
            .as_deref()
            .and_then(|name| workspace.is_folded(name)),
    ) {
        let (icon, label) = if is_folded {
            ("unfold-vertical", "Unfold")
        } else {
            ("fold-vertical", "Fold")
        };
        let fold = Callback::new(move |()| workspace.fold_selected());
        groups.push(vec![entry(icon, label, "O", fold)]);
    }
    let operations = workspace.operations().into_iter();
    let operations: Vec<Entry> = operations
        .map(|(operation, run)| entry(operation.icon(), operation.label(), "", run))
        .collect();
    if !operations.is_empty() {
        groups.push(operations);
    }
    groups.push(vec![
        entry(
            "copy-plus",
            "Duplicate",
            "Ctrl D",
            Callback::new(move |()| workspace.duplicate_selected()),
        ),
        entry(
            "copy",
            "Copy",
            "Ctrl C",
            Callback::new(move |()| clipboard::copy(workspace)),
        ),
        entry(
            "layers",
            "Select the same type",
            "",
            Callback::new(move |()| workspace.select_same_type()),
        ),
    ]);
    if count > 1 {
        let tidy = entry(
            "layout-template",
            "Tidy up the selection",
            "",
            Callback::new(move |()| workspace.tidy()),
        );
        let align = ALIGNMENTS.map(|(icon, label, to)| {
            entry(
                icon,
                label,
                "",
                Callback::new(move |()| workspace.align(to)),
            )
        });
        groups.push([tidy].into_iter().chain(align).collect());
    }
    if count > 2 {
        let distribute = DISTRIBUTIONS.map(|(icon, label, axis)| {
            entry(
                icon,
                label,
                "",
                Callback::new(move |()| workspace.distribute(axis)),
            )
        });
        groups.push(distribute.to_vec());
    }
    groups.push(vec![delete]);
    groups
}

/// The open menu.
#[component]
pub fn MenuPanel(
    /// The page's state.
    workspace: Workspace,
    /// The menu.
    menu: ContextMenu,
) -> impl IntoView {
    let groups = entries(workspace, &menu);
    let rows: usize = groups.iter().map(Vec::len).sum();
    let root = NodeRef::<html::Div>::new();
    let chosen = RwSignal::new(0_usize);
    let place = RwSignal::new(menu.at);
    let actions: Vec<Callback<()>> = groups.iter().flatten().map(|entry| entry.run).collect();
    let actions = StoredValue::new(actions);
    let focus = move |index: usize| browser::focus(&format!("context-{index}"));
    Effect::new(move |_| {
        let Some(root) = root.get() else { return };
        // Its size follows from the text size, and from the canvas that it may not exceed.
        let canvas = surface::size(workspace.root).unwrap_or_default();
        let fit =
            |at: f64, size: i32, room: f64| at.min(room - f64::from(size) - MARGIN).max(MARGIN);
        place.set(ScreenPoint::new(
            fit(menu.at.x, root.offset_width(), canvas.width),
            fit(menu.at.y, root.offset_height(), canvas.height),
        ));
        focus(0);
    });
    let close = move || {
        workspace.menu.set(None);
        if let Some(canvas) = workspace.root.get_untracked() {
            // The canvas is on the page, so the focus cannot fail.
            let _ = canvas.focus();
        }
    };
    let run = move |index: usize| {
        let action = actions.with_value(|actions| actions.get(index).copied());
        close();
        if let Some(action) = action {
            action.run(());
        }
    };
    let key = move |event: ev::KeyboardEvent| {
        event.stop_propagation();
        let step = |by: usize| {
            chosen.update(|chosen| *chosen = (*chosen + by) % rows);
            focus(chosen.get_untracked());
        };
        match event.key().as_str() {
            "ArrowDown" => step(1),
            "ArrowUp" => step(rows - 1),
            "Enter" | " " => run(chosen.get_untracked()),
            "Escape" | "Tab" => close(),
            _ => return,
        }
        event.prevent_default();
    };
    let mut index = 0;
    let rows = groups.into_iter().map(|group| {
        let entries = group.into_iter().map(|entry| {
            let at = index;
            index += 1;
            view! {
                <button
                    type="button" role="menuitem" class="context-entry" id=format!("context-{at}") tabindex="-1"
                    on:click=move |_| run(at) on:pointermove=move |_| if chosen.get_untracked() != at { chosen.set(at); focus(at) }
                >
                    <Icon name=entry.icon />
                    <span>{entry.label}</span>
                    {(!entry.keys.is_empty()).then(|| view! { <kbd aria-hidden="true">{entry.keys}</kbd> })}
                </button>
            }
        });
        view! { <div class="context-group" role="group">{entries.collect_view()}</div> }
    });
    view! {
        <div
            class="context-menu" role="menu" aria-label="Actions" node_ref=root style:transform=move || format!("translate({}px, {}px)", place.get().x, place.get().y)
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:dblclick=|event| event.stop_propagation() on:wheel=|event| event.stop_propagation() on:keydown=key
            on:contextmenu=|event| { event.prevent_default(); event.stop_propagation() }
        >
            {rows.collect_view()}
        </div>
    }
}
