//! Glance: images.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lookups::{LONG, only};
use crate::wire::id::looks_like_id;
use crate::{Error, Service, Session};

impl Session {
    /// Glance.
    pub fn image(&self) -> ImageService<'_> {
        ImageService(self)
    }
}

/// Calls to Glance.
pub struct ImageService<'a>(pub(crate) &'a Session);

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Image {
    /// Id assigned by Glance.
    pub id: String,
    /// Display name, not unique.
    pub name: Option<String>,
    /// `active` if servers can boot from the image.
    pub status: String,
    /// Minimum root disk in GiB.
    pub min_disk: u32,
    /// Minimum memory in MiB.
    pub min_ram: u32,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl ImageService<'_> {
    /// Images that are visible to the project; `query` contains Glance's filters.
    pub async fn image_list(&self, query: &[(&str, &str)]) -> Result<Vec<Image>, Error> {
        let call = self.0.call(Service::Image, Method::GET, &["images"]);
        call.query(query.iter().copied()).list("images").await
    }

    /// The image with this id.
    pub async fn image_get(&self, id: &str) -> Result<Image, Error> {
        let call = self.0.call(Service::Image, Method::GET, &["images", id]);
        call.send().await?.json()
    }

    /// An image by its id, or by a unique name; cached for 30 s.
    pub async fn image_find(&self, name_or_id: &str) -> Result<Image, Error> {
        let lookups = self.0.lookups();
        let fetch = || self.image_fetch(name_or_id);
        lookups.find("image", name_or_id, |_| LONG, fetch).await
    }

    /// Deletes an image. A missing image is an error of status 404.
    pub async fn image_delete(&self, id: &str) -> Result<(), Error> {
        let call = self.0.call(Service::Image, Method::DELETE, &["images", id]);
        call.send().await.map(drop)
    }

    async fn image_fetch(&self, name_or_id: &str) -> Result<Image, Error> {
        if looks_like_id(name_or_id) {
            match self.image_get(name_or_id).await {
                Err(error) if error.is_not_found() => {}
                other => return other,
            }
        }
        let mut named = self.image_list(&[("name", name_or_id)]).await?;
        named.retain(|image| image.name.as_deref() == Some(name_or_id));
        only(named, "image", name_or_id, |image| &image.id)
    }
}
