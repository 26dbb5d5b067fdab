//! The service catalogue: software that can be dropped on a server.

mod drafts;
mod repository;
mod role;
mod upload;

use api::CatalogEntry;
use leptos::prelude::*;
use leptos_meta::Title;
use types::catalog::CatalogItem;

use self::{
    drafts::Drafts,
    repository::RepositoryButton,
    role::DescribeRole,
    upload::{Upload, UploadButton, UploadState},
};
use crate::{
    browser, client,
    frame::{Crumb, use_frame},
    links,
    load::Load,
    pages::item_test::TestDialog,
    ui::{Empty, Icon, ItemIcon, skeleton},
};

/// All items, by category.
#[component]
pub fn CatalogPage() -> impl IntoView {
    use_frame().crumbs(|| vec![Crumb::here("Catalogue")]);
    let items = Load::new(client::catalog);
    let drafts = Load::new(client::item_drafts);
    let upload = Upload::new(items, drafts);
    let over = RwSignal::new(false);
    let query = RwSignal::new(String::new());
    let category = RwSignal::new(None::<String>);
    let only_own = RwSignal::new(false);
    let list = items.view(
        || skeleton::cards(6),
        move |items: Vec<CatalogEntry>| {
            if items.is_empty() {
                return view! {
                    <Empty
                        icon="blocks" title="The catalogue is empty"
                        text="An item is an Ansible role with a small manifest, `item.yml`. Make one from packages and files, or pack the folder of a role as tar.gz or zip and drop it here."
                    />
                }
                .into_any();
            }
            view! { <Cards items query category only_own /> }.into_any()
        },
    );
    view! {
        <Title text="Catalogue" />
        <div
            class="page" data-drop=move || over.get().then_some("true")
            on:dragover=move |event| if browser::drags_files(&event) { event.prevent_default(); over.set(true) }
            on:dragleave=move |_| over.set(false)
            on:drop=move |event| {
                over.set(false);
                if let Some(files) = browser::dropped(&event) {
                    event.prevent_default();
                    upload.send(files);
                }
            }
        >
            <header class="page-head">
                <div>
                    <h1>"Catalogue"</h1>
                    <p>"Software for your servers: Ansible roles, installed over SSH, without an agent."</p>
                </div>
                <div class="page-actions">
                    <a class="button" href=links::new_item(None)>
                        <Icon name="plus" />
                        "Make an item"
                    </a>
                    <RepositoryButton upload />
                    <UploadButton upload />
                </div>
            </header>
            <UploadState upload />
            <TestDialog test=upload.test />
            <DescribeRole upload />
            {list}
            <Drafts drafts />
        </div>
    }
}

#[component]
fn Cards(
    items: Vec<CatalogEntry>,
    query: RwSignal<String>,
    category: RwSignal<Option<String>>,
    /// True while only the project's own items are shown.
    only_own: RwSignal<bool>,
) -> impl IntoView {
    let has_own = items.iter().any(|it| it.uploaded.is_some());
    let mut categories: Vec<String> = items.iter().map(|it| it.item.category.clone()).collect();
    categories.sort();
    categories.dedup();
    let items = StoredValue::new(items);
    let shown = move || {
        let (query, category) = (query.get(), category.get());
        let only_own = only_own.get();
        items.with_value(|items| {
            items
                .iter()
                .filter(|it| it.uploaded.is_some() || !only_own)
                .filter(|CatalogEntry { item, .. }| {
                    category
                        .as_ref()
                        .is_none_or(|category| item.category == *category)
                })
                .filter(|CatalogEntry { item, .. }| matches(item, &query))
                .cloned()
                .collect::<Vec<_>>()
        })
    };
    let chips = categories
        .into_iter()
        .map(|name| {
            let own = name.clone();
            let is_on = move || category.with(|category| category.as_ref() == Some(&own));
            let pressed = is_on.clone();
            let label = name.clone();
            view! {
                <button
                    type="button" class="button" data-look="ghost" data-size="small" aria-pressed=move || pressed().to_string()
                    on:click=move |_| category.set((!is_on()).then(|| name.clone()))
                >
                    {label}
                </button>
            }
        })
        .collect_view();
    view! {
        <div class="page-tools">
            <label class="search">
                <Icon name="search" />
                <input
                    class="input" type="search" aria-label="Search the catalogue" placeholder="Search" prop:value=move || query.get()
                    on:input=move |event| query.set(event_target_value(&event))
                />
            </label>
            {has_own.then(|| view! {
                <button
                    type="button" class="button" data-look="ghost" data-size="small" aria-pressed=move || only_own.get().to_string()
                    on:click=move |_| only_own.update(|only| *only = !*only)
                >
                    "This project's"
                </button>
            })}
            {chips}
        </div>
        <div class="cards">
            <For each=shown key=|it| (it.item.name.clone(), it.item.version.clone()) let(CatalogEntry { item, uploaded })>
                <article class="card" data-item=item.name.clone()>
                    <div class="card-head">
                        <ItemIcon icon=item.icon.clone() />
                        <div class="grow">
                            <h2 class="card-title">
                                <a class="card-link" href=format!("/catalog/{}", browser::encode(&item.name))>{item.title.clone()}</a>
                            </h2>
                            <p class="meta">{item.category.clone()}</p>
                        </div>
                        <span class="pill">{item.version.clone()}</span>
                    </div>
                    <p class="card-text">{item.summary.clone()}</p>
                    <div class="card-foot">
                        {uploaded.is_some().then(|| view! { <span class="pill">"this project's"</span> })}
                        {(!item.requires.is_empty()).then(|| view! { <span class="pill">"needs others"</span> })}
                        {item.tested.iter().map(|image| view! { <span class="pill">{format!("tested on {image}")}</span> }).collect_view()}
                    </div>
                </article>
            </For>
        </div>
        {move || shown().is_empty().then(|| view! { <p class="table-none" role="status">"Nothing matches."</p> })}
    }
}

/// True if each word of the query is part of the item's texts, capabilities or tested images.
fn matches(item: &CatalogItem, query: &str) -> bool {
    let about = [&item.name, &item.title, &item.summary, &item.category].into_iter();
    let offers = item.provides.iter().map(|offer| &offer.name);
    let needs = item.requires.iter().map(|need| &need.capability);
    let texts = about.chain(offers).chain(needs).chain(&item.tested);
    let texts: Vec<String> = texts.map(|text| text.to_lowercase()).collect();
    query
        .to_lowercase()
        .split_whitespace()
        .all(|word| texts.iter().any(|text| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_found_by_its_texts_capabilities_and_images() {
        let manifest = "{name: mariadb, title: MariaDB, version: 1.0.0, summary: A database., category: databases, \
                        provides: [{name: mysql, port: port}], tested: [debian-12]}";
        let specs = "argument_specs: {main: {options: {port: {type: int, default: 3306}}}}";
        let item = CatalogItem::parse(manifest, specs).unwrap();
        for query in ["", "maria", "MySQL", "database debian"] {
            assert!(matches(&item, query), "{query}");
        }
        for query in ["postgres", "mysql ubuntu"] {
            assert!(!matches(&item, query), "{query}");
        }
    }
}
