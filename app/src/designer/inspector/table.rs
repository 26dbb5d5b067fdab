//! The table of a list of maps: a line for each entry in the inspector, and all columns in a dialog.

use canvas::form::{self, Control, Field, NewRow, Row, Table};
use leptos::{ev, prelude::*};

use super::{context::FormContext, fold::Fold};
use crate::{
    browser,
    ui::{Icon, Modal},
};

/// Entries of a list, with buttons that move and remove them, and a select that adds one.
#[component]
pub(super) fn TableControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
) -> AnyView {
    let table = move |look: fn(&Table) -> Vec<NewRow>| {
        now.with(|field| match &field.control {
            Control::Table(table) => look(table),
            _ => Vec::new(),
        })
    };
    let presets = Memo::new(move |_| table(|table| table.presets.clone()));
    let count = Memo::new(move |_| now.with(|field| rows_of(field).len()));
    let is_wide = RwSignal::new(false);
    let (name, label) =
        now.with_untracked(|field| (field.name.clone(), field.label.to_lowercase()));
    // The entry that was just added opens, and its first cell gets the focus.
    let opened = RwSignal::new(None::<usize>);
    let add = {
        let name = name.clone();
        Callback::new(move |label: String| {
            let presets = presets.get_untracked();
            let Some(preset) = presets.into_iter().find(|one| one.label == label) else {
                return;
            };
            let index = count.get_untracked();
            let field = now.get_untracked();
            if let Some(edit) = form::add_row(&field, &preset.value)
                && form.apply(&field, edit)
            {
                opened.set(Some(index));
                browser::focus_later(form.id_of(&format!("{name}.{index}")), 50);
            }
        })
    };
    let wide = FormContext {
        ids: StoredValue::new(format!("cell-{}", form.ids.get_value())),
        ..form
    };
    let title = format!(
        "{} of {}",
        now.with_untracked(|field| field.label.clone()),
        form.title.get_value()
    );
    view! {
        <div class="rows">
            <ol class="row-list">
                <For each=move || 0..count.get() key=|index| *index let:index>
                    <RowView form now index count opened name=name.clone() />
                </For>
            </ol>
            <div class="rows-foot">
                <AddRow id described presets add />
                <button
                    type="button" class="button" data-size="icon" title="Open as a table"
                    aria-label=format!("Open {label} as a table") disabled=move || count.get() == 0
                    on:click=move |_| is_wide.set(true)
                >
                    <Icon name="maximize" />
                </button>
            </div>
            <Modal open=is_wide title=title size="wide">
                <WideTable form=wide now count presets add open=is_wide />
            </Modal>
        </div>
    }
    .into_any()
}

#[component]
fn AddRow(
    id: String,
    described: String,
    presets: Memo<Vec<NewRow>>,
    add: Callback<String>,
) -> impl IntoView {
    let chosen = move |event: ev::Event| {
        add.run(event_target_value(&event));
        // The select shows its first option again.
        event_target::<web_sys::HtmlSelectElement>(&event).set_value("");
    };
    view! {
        <select class="input" id=id aria-describedby=described on:change=chosen>
            <option value="">"Add…"</option>
            {move || presets.get().into_iter().map(|preset| view! { <option value=preset.label.clone()>{preset.label.clone()}</option> }).collect_view()}
        </select>
    }
}

fn rows_of(field: &Field) -> &[Row] {
    match &field.control {
        Control::Table(table) => &table.rows,
        _ => &[],
    }
}

/// Cells of an entry.
fn cells(now: Memo<Field>, index: usize) -> Memo<Vec<Field>> {
    Memo::new(move |_| {
        now.with(|field| rows_of(field).get(index).map(|row| row.cells.clone()))
            .unwrap_or_default()
    })
}

#[component]
fn RowView(
    form: FormContext,
    now: Memo<Field>,
    index: usize,
    count: Memo<usize>,
    opened: RwSignal<Option<usize>>,
    name: String,
) -> impl IntoView {
    let name = format!("{name}.{index}");
    let summary = Memo::new(move |_| {
        let text = now.with(|field| rows_of(field).get(index).map(|row| row.summary.clone()));
        text.filter(|text| !text.is_empty())
    });
    let cells = cells(now, index);
    let asked = form.workspace.asked;
    let is_asked = {
        let path = format!("{}.", form.path_of(&name));
        move || asked.with(|asked| asked.as_ref().is_some_and(|asked| asked.starts_with(&path)))
    };
    let is_wanted = Memo::new(move |_| opened.get() == Some(index) || is_asked());
    let fold = Fold::new(is_wanted);
    let move_up = move |index: usize| {
        let field = now.get_untracked();
        if let Some(edit) = form::move_up(&field, index) {
            form.apply(&field, edit);
        }
    };
    let remove = move |_| {
        let field = now.get_untracked();
        form.apply(&field, form::remove_row(&field, index));
    };
    let number = index + 1;
    let is_last = move || number >= count.get();
    view! {
        <li>
            <details open=fold.is_open on:toggle=move |event| fold.toggled(&event)>
                <summary id=form.id_of(&name)>
                    <Icon name="chevron-right" />
                    <span class="mono truncate">{move || summary.get().unwrap_or_else(|| "no values yet".to_owned())}</span>
                </summary>
                {move || fold.is_built.get().then(|| view! {
                    <div class="row-cells">
                        <For each=move || cells.get() key=|cell| (cell.name.clone(), std::mem::discriminant(&cell.control)) let:field>
                            {(form.field)(form, cells, field, false)}
                        </For>
                    </div>
                })}
            </details>
            <span class="row-buttons">
                <button
                    type="button" class="button" data-look="ghost" data-size="icon-small" aria-label=format!("Move row {number} up")
                    disabled=index == 0 on:click=move |_| move_up(index)
                >
                    <Icon name="chevron-up" />
                </button>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon-small" aria-label=format!("Move row {number} down")
                    disabled=is_last on:click=move |_| move_up(index + 1)
                >
                    <Icon name="chevron-down" />
                </button>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon-small" aria-label=format!("Remove row {number}")
                    on:click=remove
                >
                    <Icon name="x" />
                </button>
            </span>
        </li>
    }
}

/// All entries with a column for each key that is used.
#[component]
fn WideTable(
    form: FormContext,
    now: Memo<Field>,
    count: Memo<usize>,
    presets: Memo<Vec<NewRow>>,
    add: Callback<String>,
    /// True while the dialog is open.
    open: RwSignal<bool>,
) -> impl IntoView {
    let columns = Memo::new(move |_| {
        now.with(|field| match &field.control {
            Control::Table(table) => table.columns.clone(),
            _ => Vec::new(),
        })
    });
    let used = move || {
        let columns = columns.get().into_iter();
        columns.filter(|column| column.is_used).collect::<Vec<_>>()
    };
    let name = now.with_untracked(|field| field.name.clone());
    view! {
        <div class="wide-table">
            <table>
                <thead>
                    <tr>
                        {move || used().into_iter().map(|column| view! {
                            <th scope="col" title=column.help data-required=column.required.then_some("true")>{column.label}</th>
                        }).collect_view()}
                        <th><span class="sr-only">"Actions"</span></th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || 0..count.get() key=|index| *index let:index>
                        {
                            let name = format!("{name}.{index}");
                            let cells = cells(now, index);
                            let remove = move |_| {
                                let field = now.get_untracked();
                                form.apply(&field, form::remove_row(&field, index));
                            };
                            let is_text = move || now.with(|field| rows_of(field).get(index).is_some_and(|row| row.is_text));
                            view! {
                                <tr>
                                    {move || {
                                        let columns = used();
                                        if is_text() {
                                            return view! { <td colspan=columns.len().to_string()><Cells form cells of=name.clone() /></td> }.into_any();
                                        }
                                        columns.into_iter().map(|column| view! {
                                            <td><Cells form cells of=format!("{name}.{}", column.key) /></td>
                                        }).collect_view().into_any()
                                    }}
                                    <td>
                                        <button
                                            type="button" class="button" data-look="ghost" data-size="icon-small"
                                            aria-label=format!("Remove row {}", index + 1) on:click=remove
                                        >
                                            <Icon name="x" />
                                        </button>
                                    </td>
                                </tr>
                            }
                        }
                    </For>
                </tbody>
            </table>
        </div>
        <div class="dialog-actions">
            <label class="sr-only" for="wide-table-add">"Add a row"</label>
            <AddRow id="wide-table-add".to_owned() described=String::new() presets add />
            <button type="button" class="button" data-look="primary" on:click=move |_| open.set(false)>"Done"</button>
        </div>
    }
}

/// Cells of one column: one, or one for each key of a map.
#[component]
fn Cells(form: FormContext, cells: Memo<Vec<Field>>, of: String) -> impl IntoView {
    let below = format!("{of}.");
    let mine = move || {
        cells.with(|cells| {
            let cells = cells.iter();
            let mine = cells.filter(|cell| cell.name == of || cell.name.starts_with(&below));
            mine.cloned().collect::<Vec<_>>()
        })
    };
    view! {
        <For each=mine key=|cell| (cell.name.clone(), std::mem::discriminant(&cell.control)) let:field>
            {(form.field)(form, cells, field, true)}
        </For>
    }
}
