//! A map with any keys: a line for each, and a field that adds one.

use canvas::form::{self, Control, Field};
use hot::document::Edit;
use leptos::{ev, html, prelude::*};

use super::context::FormContext;
use crate::{browser, ui::Icon};

/// Keys and values, with buttons that remove and add one.
#[component]
pub(super) fn PairsControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
) -> AnyView {
    let pairs = Memo::new(move |_| {
        now.with(|field| match &field.control {
            Control::Pairs(pairs) => pairs.clone(),
            _ => Vec::new(),
        })
    });
    let input = NodeRef::<html::Input>::new();
    let add = move || {
        let Some(input) = input.get_untracked() else {
            return;
        };
        let field = now.get_untracked();
        let key = input.value().trim().to_owned();
        if let Some(edit) = form::add_key(&field, &key)
            && form.apply(&field, edit)
        {
            input.set_value("");
            browser::focus_later(form.id_of(&format!("{}.{key}", field.name)), 50);
        }
    };
    let on_key = move |event: ev::KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            add();
        }
    };
    view! {
        <div class="rows">
            <ul class="pair-list">
                <For each=move || pairs.get() key=|pair| (pair.name.clone(), std::mem::discriminant(&pair.control)) let:pair>
                    {
                        let key = pair.label.clone();
                        let path = pair.path.clone();
                        let remove = move |_| {
                            form.apply(&now.get_untracked(), Edit::Remove { path: path.clone() });
                        };
                        view! {
                            <li>
                                <span class="mono truncate" title=key.clone()>{key.clone()}</span>
                                {(form.field)(form, pairs, pair, true)}
                                <button
                                    type="button" class="button" data-look="ghost" data-size="icon-small"
                                    aria-label=format!("Remove {key}") on:click=remove
                                >
                                    <Icon name="x" />
                                </button>
                            </li>
                        }
                    }
                </For>
            </ul>
            <div class="rows-foot">
                <input
                    class="input mono" id=id placeholder="New key" autocomplete="off" spellcheck="false" aria-describedby=described
                    node_ref=input on:keydown=on_key
                />
                <button type="button" class="button" data-size="icon" title="Add the key" aria-label="Add the key" on:click=move |_| add()>
                    <Icon name="plus" />
                </button>
            </div>
        </div>
    }
    .into_any()
}
