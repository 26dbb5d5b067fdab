//! Calls for catalogue items and resource types.

use std::sync::Arc;

use api::{CatalogEntry, ItemComparison, ItemUse};
use serde::de::DeserializeOwned;
use types::{
    Registry, ResourceType,
    catalog::{recipe::Recipe, role::RoleDraft},
};
use wasm_bindgen::JsValue;

use super::transport::{Answer, Body, Page, call, get, send, unreadable};
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

/// `GET /catalog/{item}`.
pub async fn catalog_item(name: &str) -> Answer<CatalogEntry> {
    get(&format!("/catalog/{}", browser::encode(name))).await
}

/// `POST /catalog`: uploads a tar.gz from the user's disk, with the manifest of a role that has none.
pub async fn catalog_upload(
    archive: &web_sys::File,
    manifest: Option<&str>,
) -> Answer<CatalogEntry> {
    let query = manifest.map(|text| format!("?manifest={}", browser::encode(text)));
    send_archive(&format!("/catalog{}", query.unwrap_or_default()), archive).await
}

/// `GET /catalog/{item}/deployments`.
pub async fn item_uses(item: &str) -> Answer<Vec<ItemUse>> {
    get(&format!("/catalog/{}/deployments", browser::encode(item))).await
}

/// `POST /roles`: the draft of a manifest for a role that has none.
pub async fn role_draft(archive: &web_sys::File) -> Answer<RoleDraft> {
    send_archive("/roles", archive).await
}

async fn send_archive<T: DeserializeOwned>(path: &str, archive: &web_sys::File) -> Answer<T> {
    let body = Body {
        kind: "application/gzip",
        is_short: false,
        value: JsValue::from(archive.clone()),
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
