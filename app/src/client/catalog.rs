//! Calls for catalogue items and resource types.

use std::{collections::BTreeSet, sync::Arc};

use api::{
    CatalogEntry, DeployedItem, ItemComparison, ItemDraft, ItemUse, LintFinding, Repository,
};
use serde::de::DeserializeOwned;
use types::{
    Registry, ResourceType,
    catalog::{recipe::Recipe, role::RoleDraft},
};
use wasm_bindgen::JsValue;

use super::transport::{Answer, Body, Page, call, done, get, send, unreadable};
use crate::browser;

/// `GET /catalog/{item}/compare`.
pub async fn item_comparison(item: &str, from: &str, to: &str) -> Answer<ItemComparison> {
    let [item, from, to] = [item, from, to].map(browser::encode);
    get(&format!("/catalog/{item}/compare?from={from}&to={to}")).await
}

/// `GET /catalog`.
pub async fn catalog() -> Answer<Vec<CatalogEntry>> {
    get("/catalog").await
}

/// `GET /catalog/{item}`: the newest version, or the named one.
pub async fn catalog_item(name: &str, version: Option<&str>) -> Answer<CatalogEntry> {
    let name = browser::encode(name);
    let query = version.map(|version| format!("?version={}", browser::encode(version)));
    get(&format!("/catalog/{name}{}", query.unwrap_or_default())).await
}

/// `GET /drafts`.
pub async fn item_drafts() -> Answer<Vec<ItemDraft>> {
    get("/drafts").await
}

/// `DELETE /catalog/{item}?version=...`: deletes a draft.
pub async fn item_draft_delete(item: &str, version: &str) -> Answer<()> {
    let [item, version] = [item, version].map(browser::encode);
    done("DELETE", &format!("/catalog/{item}?version={version}")).await
}

/// `POST /catalog/{item}/publish?version=...`: publishes a draft.
pub async fn item_draft_publish(item: &str, version: &str) -> Answer<CatalogEntry> {
    let [item, version] = [item, version].map(browser::encode);
    let path = format!("/catalog/{item}/publish?version={version}");
    send("POST", &path, None::<&()>).await
}

/// The catalogue as a deployment has it: with the versions that it uses, which can be older ones and drafts.
pub async fn catalog_of(items: &[DeployedItem]) -> Answer<Vec<CatalogEntry>> {
    let used = items.iter();
    let used = used.map(|item| (item.name.clone(), item.version.clone()));
    let mut entries = catalog_with(&used.collect()).await?;
    entries.retain(|entry| {
        let used = items.iter().find(|item| item.name == entry.item.name);
        used.is_none_or(|used| used.version == entry.item.version)
    });
    Ok(entries)
}

/// The catalogue, and these versions of items, by name. A deleted version has nothing to offer and is left out.
pub async fn catalog_with(versions: &BTreeSet<(String, String)>) -> Answer<Vec<CatalogEntry>> {
    let mut entries = catalog().await?;
    for (name, version) in versions {
        let is_it =
            |entry: &CatalogEntry| entry.item.name == *name && entry.item.version == *version;
        if entries.iter().any(is_it) {
            continue;
        }
        match catalog_item(name, Some(version)).await {
            Ok(entry) => entries.push(entry),
            Err(problem) if problem.status == 404 => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(entries)
}

/// The place of an item's files.
#[derive(Clone)]
pub enum ItemSource {
    /// A tar.gz or zip on the user's disk.
    File(web_sys::File),
    /// A git repository.
    Repository(Repository),
}

impl ItemSource {
    /// Name of the source, for users.
    pub fn name(&self) -> String {
        match self {
            ItemSource::File(file) => file.name(),
            ItemSource::Repository(repository) => repository.url.clone(),
        }
    }
}

/// `POST /catalog`: publishes an item, with the manifest of a role that has none.
pub async fn item_publish(source: &ItemSource, manifest: Option<&str>) -> Answer<CatalogEntry> {
    let query = manifest.map(|text| format!("?manifest={}", browser::encode(text)));
    send_source(&format!("/catalog{}", query.unwrap_or_default()), source).await
}

/// `POST /catalog?draft=true`: stores a draft, with the manifest of a role that has none.
pub async fn item_draft(source: &ItemSource, manifest: Option<&str>) -> Answer<CatalogEntry> {
    let query = manifest.map(|text| format!("&manifest={}", browser::encode(text)));
    let path = format!("/catalog?draft=true{}", query.unwrap_or_default());
    send_source(&path, source).await
}

/// `GET /catalog/{item}/deployments`.
pub async fn item_uses(item: &str) -> Answer<Vec<ItemUse>> {
    get(&format!("/catalog/{}/deployments", browser::encode(item))).await
}

/// `POST /roles`: the draft of a manifest for a role that has none.
pub async fn role_draft(source: &ItemSource) -> Answer<RoleDraft> {
    send_source("/roles", source).await
}

/// `GET /catalog/{item}/lint?version=...`.
pub async fn item_lint(item: &str, version: &str) -> Answer<Vec<LintFinding>> {
    let [item, version] = [item, version].map(browser::encode);
    get(&format!("/catalog/{item}/lint?version={version}")).await
}

/// `POST /recipes/lint`.
pub async fn recipe_lint(recipe: &Recipe) -> Answer<Vec<LintFinding>> {
    send("POST", "/recipes/lint", Some(recipe)).await
}

/// `GET /git-hosts`: hosts of repositories that the server reads.
pub async fn git_hosts() -> Answer<Vec<String>> {
    get("/git-hosts").await
}

async fn send_source<T: DeserializeOwned>(path: &str, source: &ItemSource) -> Answer<T> {
    let file = match source {
        ItemSource::File(file) => file,
        ItemSource::Repository(repository) => return send("POST", path, Some(repository)).await,
    };
    let body = Body {
        kind: if file.name().to_lowercase().ends_with(".zip") {
            "application/zip"
        } else {
            "application/gzip"
        },
        is_short: false,
        value: JsValue::from(file.clone()),
    };
    let text = call("POST", path, Some(body), Page::Stays).await?;
    serde_json::from_str(&text).map_err(|error| unreadable(path, &error.to_string()))
}

/// `GET /catalog/{item}/recipe`.
pub async fn recipe(item: &str) -> Answer<Recipe> {
    get(&format!("/catalog/{}/recipe", browser::encode(item))).await
}

/// `POST /recipes`: publishes the item of a form.
pub async fn recipe_publish(recipe: &Recipe) -> Answer<CatalogEntry> {
    send("POST", "/recipes", Some(recipe)).await
}

/// `POST /recipes?draft=true`: stores the item of a form as a draft.
pub async fn recipe_draft(recipe: &Recipe) -> Answer<CatalogEntry> {
    send("POST", "/recipes?draft=true", Some(recipe)).await
}

/// `GET /resource-types`, including those of the catalogue. The browser caches the response and revalidates it.
pub async fn resource_types() -> Answer<Types> {
    let types: Vec<ResourceType> = get("/resource-types").await?;
    Ok(Types(Arc::new(Registry::of(types))))
}

/// Resource type descriptions of one response. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Types(pub Arc<Registry>);

impl PartialEq for Types {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
