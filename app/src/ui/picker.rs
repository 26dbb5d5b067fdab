//! A button that opens a list with a search field. Arrow keys and Enter choose, Escape closes.

use std::cmp::Reverse;

use leptos::{ev, html, prelude::*};

use super::{Icon, menu, palette::score};
use crate::browser;

/// Maximum number of displayed entries. The search finds the others.
const SHOWN_MAX: usize = 100;

/// Entry of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// Group of the entry. Empty for none.
    pub group: &'static str,
    /// Name of an icon in the sprite. Empty for none.
    pub icon: &'static str,
    /// Label, which is searched first.
    pub label: String,
    /// Facts about the entry, which are searched too.
    pub facts: String,
}

/// Indices of the entries that match a query, the best first.
fn matches(picks: &[Pick], query: &str) -> Vec<usize> {
    let points = |pick: &Pick| {
        let all = || format!("{} {} {}", pick.group, pick.label, pick.facts);
        score(query, &pick.label).or_else(|| score(query, &all()).map(|points| points / 2))
    };
    let mut found: Vec<(u32, usize)> = picks
        .iter()
        .enumerate()
        .filter_map(|(index, pick)| Some((points(pick)?, index)))
        .collect();
    if !query.trim().is_empty() {
        found.sort_by_key(|(points, index)| (Reverse(*points), *index));
    }
    found
        .into_iter()
        .map(|(_, index)| index)
        .take(SHOWN_MAX)
        .collect()
}

/// The button and its list. The entries are made when the list opens.
#[component]
pub fn Picker(
    /// Id, unique on the page.
    id: String,
    /// The button's and the list's label.
    label: String,
    /// Classes of the button.
    class: &'static str,
    /// The button's content.
    button: AnyView,
    /// Makes the entries.
    picks: Callback<(), Vec<Pick>>,
    /// Called with the index of the chosen entry.
    run: Callback<usize>,
) -> impl IntoView {
    let anchor = format!("--{}", id.replace(['.', ':'], "-"));
    let list = format!("{id}-list");
    let popover = NodeRef::<html::Div>::new();
    let shown = RwSignal::new(None::<Vec<Pick>>);
    let ids = StoredValue::new(id.clone());
    let toggled = move |_: ev::Event| {
        let is_open = popover
            .get_untracked()
            .is_some_and(|element| element.matches(":popover-open").unwrap_or(false));
        if is_open {
            shown.set(Some(picks.run(())));
            let id = ids.with_value(|id| format!("{id}-query"));
            browser::on_next_frame(move || browser::focus(&id));
        } else {
            shown.set(None);
        }
    };
    let choose = move |index: usize| {
        ids.with_value(|id| menu::close(&format!("{id}-menu")));
        run.run(index);
    };
    view! {
        <button
            type="button" class=class data-look="ghost" data-size="icon-small" aria-label=label.clone() title=label.clone() id=id.clone()
            popovertarget=format!("{id}-menu") style=("anchor-name", anchor.clone())
        >
            {button}
        </button>
        <div class="menu picker" popover="auto" id=format!("{id}-menu") node_ref=popover on:toggle=toggled style=("position-anchor", anchor)>
            {move || shown.get().map(|picks| view! {
                <PickList id=ids.get_value() list=list.clone() label=label.clone() picks choose=Callback::new(choose) />
            })}
        </div>
    }
}

#[component]
fn PickList(
    id: String,
    list: String,
    label: String,
    picks: Vec<Pick>,
    choose: Callback<usize>,
) -> impl IntoView {
    let query = RwSignal::new(String::new());
    let at = RwSignal::new(0_usize);
    let picks = StoredValue::new(picks);
    let hits = Memo::new(move |_| picks.with_value(|picks| matches(picks, &query.get())));
    let option_id = {
        let list = list.clone();
        StoredValue::new(move |index: usize| format!("{list}-{index}"))
    };
    let to = move |index: usize| {
        at.set(index);
        let id = option_id.with_value(|id| id(index));
        browser::scroll_in_list(&id);
    };
    let key = move |event: ev::KeyboardEvent| {
        let count = hits.with_untracked(Vec::len);
        match event.key().as_str() {
            "ArrowDown" if count > 0 => to((at.get_untracked() + 1) % count),
            "ArrowUp" if count > 0 => to((at.get_untracked() + count - 1) % count),
            "Enter" => {
                let index = at.get_untracked();
                if let Some(hit) = hits.with_untracked(|hits| hits.get(index).copied()) {
                    choose.run(hit);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <input
            class="input" type="text" role="combobox" aria-expanded="true" autocomplete="off" spellcheck="false" placeholder="Search"
            id=format!("{id}-query") aria-controls=list.clone() aria-label=format!("Search: {label}")
            aria-activedescendant=move || option_id.with_value(|id| id(at.get()))
            on:input=move |event| { query.set(event_target_value(&event)); at.set(0) } on:keydown=key
        />
        <ul class="picker-list" role="listbox" id=list aria-label=label>
            {move || hits.get().into_iter().enumerate().map(|(place, index)| {
                let pick = picks.with_value(|picks| picks[index].clone());
                view! {
                    <li
                        class="picker-item" role="option" id=option_id.with_value(|id| id(place))
                        aria-selected=move || (at.get() == place).to_string()
                        on:pointermove=move |_| if at.get_untracked() != place { at.set(place) }
                        on:click=move |_| choose.run(index)
                    >
                        {(!pick.icon.is_empty()).then(|| view! { <Icon name=pick.icon /> })}
                        <span class="picker-label">{pick.label}</span>
                        <span class="picker-facts">{pick.facts}</span>
                    </li>
                }
            }).collect_view()}
        </ul>
        {move || hits.with(Vec::is_empty).then(|| view! { <p class="picker-none" role="status">"Nothing matches."</p> })}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(label: &str, facts: &str) -> Pick {
        Pick {
            group: "",
            icon: "",
            label: label.to_owned(),
            facts: facts.to_owned(),
        }
    }

    #[test]
    fn a_search_finds_labels_before_facts() {
        let picks = [
            pick("m1.large", "8 GiB small disk"),
            pick("m1.small", "1 GiB"),
        ];
        assert_eq!(matches(&picks, ""), [0, 1]);
        assert_eq!(matches(&picks, "small"), [1, 0]);
        assert_eq!(matches(&picks, "8 gib"), [0]);
        assert!(matches(&picks, "zzz").is_empty());
    }
}
