//! One catalogue item: README, parameters, outputs, requirements and offers, versions and examples.

mod add;
pub mod changes;
mod draft;
mod examples;
mod inputs;
pub mod lint;
mod relations;

use api::CatalogEntry;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use types::catalog::{CatalogItem, Probe, is_draft};

use self::{
    add::AddToDesign,
    changes::VersionChanges,
    draft::PublishDraft,
    examples::Examples,
    inputs::Inputs,
    lint::{Lint, LintFindings},
    relations::Relations,
};
use crate::{
    browser, client,
    frame::{Crumb, use_frame},
    links,
    load::Load,
    markdown::Markdown,
    pages::item_preview::ItemPreview,
    session::use_session,
    ui::{Icon, ItemIcon, data_table, skeleton},
};

/// The page of `/catalog/:item`, with the newest version or the one in `?version=`.
#[component]
pub fn CatalogItemPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let version = Memo::new(move |_| query.with(|query| query.get("version")));
    let name = Memo::new(move |_| params.with(|params| params.get("item")).unwrap_or_default());
    let item = Load::new(move || {
        let (name, version) = (name.get(), version.get());
        async move { fetch(&name, version.as_deref()).await }
    });
    let title = move || {
        item.with(|fetched| fetched.map(|(entry, _)| entry.item.title.clone()))
            .unwrap_or_else(|| name.get())
    };
    use_frame().crumbs(move || vec![Crumb::link("Catalogue", "/catalog"), Crumb::here(title())]);
    let body = item.view(
        || skeleton::rows(8),
        |(entry, newest): (CatalogEntry, Option<String>)| view! { <Body entry newest /> },
    );
    view! {
        <Title text=title />
        <div class="page">{body}</div>
    }
}

/// The item in a version, or in the newest one, and the newest version in the catalogue. `None` if the catalogue has
/// none: the item is a draft, or the server does not have it any more.
async fn fetch(
    name: &str,
    version: Option<&str>,
) -> client::Answer<(CatalogEntry, Option<String>)> {
    let entry = client::catalog_item(name, version).await?;
    let newest = match (&entry.uploaded, version) {
        (Some(uploaded), _) => uploaded.versions.first().cloned(),
        (None, None) => Some(entry.item.version.clone()),
        (None, Some(_)) => match client::catalog_item(name, None).await {
            Ok(newest) => Some(newest.item.version),
            Err(problem) if problem.status == 404 => None,
            Err(problem) => return Err(problem),
        },
    };
    Ok((entry, newest))
}

#[component]
fn Body(
    entry: CatalogEntry,
    /// The newest version in the catalogue.
    newest: Option<String>,
) -> impl IntoView {
    let CatalogEntry { item, uploaded } = entry;
    let session = use_session();
    let adding = RwSignal::new(false);
    let lint = Lint::default();
    let versions = uploaded.as_ref().map(|it| it.versions.clone());
    let versions = versions.unwrap_or_default();
    // The catalogue can have no version of the item: then this one is a draft, or of an item that is gone.
    let is_newest = newest.as_ref() == Some(&item.version);
    let newest = newest.filter(|newest| *newest != item.version);
    let is_draft = is_draft(&item.version);
    let is_uploaded = uploaded.is_some();
    let fact =
        |term: &'static str, text: String| view! { <div><dt>{term}</dt><dd>{text}</dd></div> };
    let listens = item
        .listens
        .iter()
        .map(|it| {
            let whose = if it.peers { " (for its cluster)" } else { "" };
            format!("{}/{}{whose}", it.port, it.protocol)
        })
        .collect::<Vec<_>>()
        .join(", ");
    let removal = if item.removes {
        "Its software is removed from the server."
    } else {
        "Its software stays on the server."
    };
    let name = item.name.clone();
    let has_form = is_newest && uploaded.as_ref().is_some_and(|it| it.from_form);
    let version_links = versions.iter().map(|version| {
        let is_here = *version == item.version;
        let other = (Some(version) != versions.first()).then_some(version.as_str());
        view! {
            <a class="pill" href=links::item(&name, other) aria-current=is_here.then_some("page")>{version.clone()}</a>
        }
    });
    let version_links = version_links.collect_view();
    let next = has_form.then(|| links::new_item(Some(&name)));
    view! {
        <header class="item-head">
            <ItemIcon icon=item.icon.clone() size="large" />
            <div class="grow">
                <h1>{item.title.clone()}</h1>
                <p class="quiet">{item.summary.clone()}</p>
            </div>
            {next.map(|href| view! {
                <a class="button" href=href>
                    <Icon name="pencil" />
                    "Next version"
                </a>
            })}
            {is_uploaded.then(|| {
                let (name, version) = (name.clone(), item.version.clone());
                let check = move |_| {
                    let (name, version) = (name.clone(), version.clone());
                    lint.run(async move { client::item_lint(&name, &version).await });
                };
                view! {
                    <button type="button" class="button" disabled=move || lint.is_busy.get() on:click=check>
                        <Icon name="wrench" />
                        "Check"
                    </button>
                }
            })}
            {is_draft.then(|| view! { <PublishDraft name=name.clone() version=item.version.clone() /> })}
            {is_newest.then(|| view! {
                <button
                    type="button" class="button" data-look="primary" disabled=move || !session.can_change() on:click=move |_| adding.set(true)
                >
                    <Icon name="plus" />
                    "Add to design"
                </button>
            })}
        </header>
        {is_draft.then(|| view! {
            <p class="quiet">"This version is a draft: it is not published, and no design can contain it."</p>
        })}
        {newest.map(|newest| view! {
            <section class="section" aria-label="Newer version">
                <p>
                    {format!("New components get version {newest}, not this one. ")}
                    <a class="link" href=links::item(&name, None)>"Show the newest version"</a>
                </p>
                <h2>{format!("Changes from {} to {newest}", item.version)}</h2>
                <VersionChanges item=name.clone() from=item.version.clone() to=Signal::stored(newest.clone()) />
            </section>
        })}
        <LintFindings lint />
        <div class="item-columns">
            <div>
                {is_draft.then(|| view! {
                    <section class="section item-preview" aria-label="Preview">
                        <h2>"Preview"</h2>
                        <ItemPreview item=Signal::stored(Some(item.clone())) />
                    </section>
                })}
                {(!item.readme.trim().is_empty()).then(|| view! { <Markdown text=without_title(&item.readme) /> })}
                <Inputs inputs=item.inputs.clone() />
                <Outputs item=item.clone() />
                <Commands item=item.clone() />
                <Health item=item.clone() />
                <Relations item=item.clone() />
                <Examples item=name.clone() />
            </div>
            <div class="item-side">
            <dl class="facts">
                {fact("Version", item.version.clone())}
                {uploaded.map(|it| view! {
                    <div>
                        <dt>"Uploaded by"</dt>
                        <dd>{it.author}", "<time datetime=it.time.clone()>{it.time.chars().take(10).collect::<String>()}</time></dd>
                    </div>
                    {(!versions.is_empty()).then(|| view! {
                        <div>
                            <dt>"Versions"</dt>
                            <dd class="pills">{version_links}</dd>
                        </div>
                    })}
                })}
                {fact("Category", item.category.clone())}
                {fact("Resource type", format!("Stackloom::Catalog::{}", item.name))}
                {(!listens.is_empty()).then(|| fact("Listens on", listens))}
                {fact("Removed from a design", removal.to_owned())}
                {(!item.tested.is_empty()).then(|| view! {
                    <div>
                        <dt>"Tested on"</dt>
                        <dd class="pills">{item.tested.iter().map(|image| view! { <span class="pill">{image.clone()}</span> }).collect_view()}</dd>
                    </div>
                })}
            </dl>
            <Uses item=name.clone() />
            </div>
        </div>
        <AddToDesign name open=adding />
    }
}

/// The deployments that use the item.
#[component]
fn Uses(item: String) -> impl IntoView {
    let name = item.clone();
    let uses = Load::new(move || {
        let item = item.clone();
        async move { client::item_uses(&item).await }
    });
    let list = move |uses: Vec<api::ItemUse>| {
        if uses.is_empty() {
            return view! { <p class="quiet">"No deployment uses it yet."</p> }.into_any();
        }
        let uses = uses.into_iter().map(|one| {
            let href = format!("/deployments/{}", browser::encode(&one.deployment));
            let version = one.version.map(|version| {
                let href = links::item(&name, Some(&version));
                view! { <a class="link" href=href>{version}</a>": " }
            });
            view! {
                <li>
                    <a class="link" href=href>{one.name}</a>
                    <p class="meta">{version}{one.components.join(", ")}</p>
                </li>
            }
        });
        view! { <ul>{uses.collect_view()}</ul> }.into_any()
    };
    view! {
        <section aria-label="Deployments">
            <h2>"Deployments"</h2>
            {uses.view(|| skeleton::rows(2), list)}
        </section>
    }
}

/// README without its title, which is in the head of the page.
fn without_title(readme: &str) -> String {
    let text = readme.trim_start();
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("# ") => rest.to_owned(),
        _ => text.to_owned(),
    }
}

#[component]
fn Outputs(item: CatalogItem) -> impl IntoView {
    (!item.outputs.is_empty()).then(|| {
        let rows = item
            .outputs
            .into_iter()
            .map(|output| view! { <tr><td><code>{output.name}</code></td><td><code>{output.value}</code></td></tr> })
            .collect_view();
        view! {
            <section class="section" aria-label="Outputs">
                <h2>"Outputs"</h2>
                {data_table(["Name", "Value"], rows)}
            </section>
        }
    })
}

/// Commands that can be run on the server of a deployed component.
#[component]
fn Commands(item: CatalogItem) -> impl IntoView {
    (!item.commands.is_empty()).then(|| {
        let rows = item
            .commands
            .into_iter()
            .map(|command| view! { <tr><td><code>{command.name}</code></td><td>{command.summary}</td></tr> })
            .collect_view();
        view! {
            <section class="section" aria-label="Commands">
                <h2>"Commands"</h2>
                {data_table(["Name", "What it does"], rows)}
            </section>
        }
    })
}

/// Checks that a component must pass before its step ends.
#[component]
fn Health(item: CatalogItem) -> impl IntoView {
    (!item.health.is_empty()).then(|| {
        let rows = item
            .health
            .into_iter()
            .map(|check| {
                let deadline = format!("{} s", check.deadline);
                let when = check.when.map(|option| view! { ", if "<code>{option}</code>" is given" });
                view! { <tr><td>{check.title}</td><td>{probe(&check.probe)}{when}</td><td class="fit">{deadline}</td></tr> }
            })
            .collect_view();
        view! {
            <section class="section" aria-label="Health">
                <h2>"Health"</h2>
                <p class="quiet">"A component is done, and what requires it begins, when these checks succeed."</p>
                {data_table(["Check", "How", "Within"], rows)}
            </section>
        }
    })
}

fn probe(probe: &Probe) -> AnyView {
    match probe {
        Probe::Tcp { port } => {
            view! { "The port in "<code>{port.clone()}</code>" accepts a connection" }.into_any()
        }
        Probe::Http {
            port,
            scheme,
            path,
            status,
            contains,
        } => {
            let scheme = scheme.clone();
            let scheme = scheme.map(|scheme| view! { " over "<code>{scheme}</code> });
            let status = status.clone();
            let status = status.unwrap_or_else(|| "less than 500".to_owned());
            let text = contains
                .clone()
                .map(|text| view! { " and contains "<code>{text}</code> });
            view! { "GET "<code>{path.clone()}</code>{scheme}" at the port in "<code>{port.clone()}</code>" answers "{status}{text} }
                .into_any()
        }
        Probe::Dns { port, name, record } => {
            let record = record.to_string();
            view! { "The DNS server at the port in "<code>{port.clone()}</code>" has a record "{record}" of "<code>{name.clone()}</code> }
                .into_any()
        }
        Probe::Command { command } => {
            view! { <code>{command.clone()}</code>" ends with 0" }.into_any()
        }
    }
}
