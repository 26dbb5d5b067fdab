//! The picture of an item's relations: the item in the middle, on the left the items that it can be connected to, on the
//! right those that can be connected to it.

use api::CatalogEntry;
use leptos::prelude::*;
use types::catalog::{Capability, CatalogItem, Need, Requirement};

use crate::{client, links, load::Load, ui::ItemIcon};

/// The picture, or nothing for an item without relations.
#[component]
pub fn Relations(
    /// The item.
    item: CatalogItem,
) -> impl IntoView {
    if item.requires.is_empty() && item.provides.is_empty() {
        return None;
    }
    let catalog = Load::new(client::catalog);
    let needs = item.requires.iter();
    let needs = needs.map(|need| requirement(catalog, need)).collect_view();
    let offers = item.provides.iter();
    let offers = offers
        .map(|offer| capability(catalog, offer))
        .collect_view();
    Some(view! {
        <section class="section" aria-label="Relations">
            <h2>"Relations"</h2>
            {catalog.failure()}
            <div class="panel relations">
                <ul class="relations-side" data-side="needs" aria-label="Needs">{needs}</ul>
                <div class="relations-item">
                    <ItemIcon icon=item.icon.clone() />
                    <span>{item.title.clone()}</span>
                </div>
                <ul class="relations-side" data-side="offers" aria-label="Offers">{offers}</ul>
            </div>
        </section>
    })
}

fn requirement(catalog: Load<Vec<CatalogEntry>>, need: &Requirement) -> impl IntoView + use<> {
    let capability = need.capability.clone();
    let fits = move |item: &CatalogItem| item.capability(&capability).is_some();
    view! {
        <li class="relation">
            <p><span class="pill">{need.name.clone()}</span>" needs "{count(need)}" that offer "<code>{need.capability.clone()}</code></p>
            <p class="meta">{need.summary.clone()}</p>
            {(need.needs == Need::Address).then(|| view! {
                <p class="meta">"It needs only their addresses, and does not wait until they are set up."</p>
            })}
            {partners(catalog, fits)}
        </li>
    }
}

fn capability(catalog: Load<Vec<CatalogEntry>>, offer: &Capability) -> impl IntoView + use<> {
    let name = offer.name.clone();
    let fits = move |item: &CatalogItem| item.requires.iter().any(|need| need.capability == name);
    view! {
        <li class="relation">
            <p><span class="pill">{offer.name.clone()}</span>" offered on the port in "<code>{offer.port.clone()}</code></p>
            {(!offer.shares.is_empty()).then(|| view! {
                <p class="meta">"Hands over "{offer.shares.join(", ")}"."</p>
            })}
            {(!offer.when.is_empty()).then(|| {
                let values = offer.when.iter().map(|(input, value)| format!("{input}: {value}"));
                let values: Vec<String> = values.collect();
                view! { <p class="meta">"Only with "<code>{values.join(", ")}</code>"."</p> }
            })}
            {offer.consumers.is_some().then(|| view! {
                <p class="meta">"Each connected component gets its own secret."</p>
            })}
            {partners(catalog, fits)}
        </li>
    }
}

/// Number of connections that a requirement takes.
fn count(need: &Requirement) -> String {
    match (need.min, need.max) {
        (0, None) => String::from("any number"),
        (min, None) => format!("{min} or more"),
        (min, Some(max)) if min == max => format!("{min}"),
        (min, Some(max)) => format!("{min} to {max}"),
    }
}

/// The items of the catalogue at the other end, with links to their pages.
fn partners(
    catalog: Load<Vec<CatalogEntry>>,
    fits: impl Fn(&CatalogItem) -> bool + Send + Sync + 'static,
) -> impl IntoView {
    move || {
        let found = catalog.with(|all| {
            let items = all?.iter().map(|entry| &entry.item);
            let found = items.filter(|item| fits(item)).map(|item| {
                let href = links::item(&item.name, None);
                (href, item.title.clone(), item.icon.clone())
            });
            Some(found.collect::<Vec<_>>())
        });
        let Some(found) = found else {
            return ().into_any();
        };
        if found.is_empty() {
            return view! { <p class="meta">"No item of the catalogue can be connected."</p> }
                .into_any();
        }
        let found = found.into_iter().map(|(href, title, icon)| {
            view! { <a class="relation-item" href=href><ItemIcon icon />{title}</a> }
        });
        view! { <div class="relation-items">{found.collect_view()}</div> }.into_any()
    }
}
