//! The catalogue for a template: with the versions of items that it pins, and those of the request.

use std::{collections::BTreeMap, sync::Arc};

use hot::{bundle::Bundle, document::Document};
use planner::pins::{may_pin, pins};

use super::Engine;
use crate::{Error, Result, Tenant, catalog::Catalog};

impl Engine {
    /// The catalogue with the versions that the template pins and that are requested, otherwise with those of the
    /// deployment, if there is one.
    ///
    /// # Errors
    /// If pins contradict each other or the request, or a version does not exist.
    pub(super) async fn catalog_of_template(
        &self,
        tenant: &Tenant,
        deployment: Option<&str>,
        (template, bundle): (&str, Bundle),
        requested: &BTreeMap<String, String>,
    ) -> Result<Arc<Catalog>> {
        let mut versions = BTreeMap::new();
        if may_pin(template, &bundle) {
            let template = template.to_owned();
            let read = move || pins(&Document::parse(template), &bundle);
            let read = self.compute(tenant, read).await?;
            versions = read.map_err(|refused| Error::Refused(vec![refused]))?;
        }
        for (item, version) in requested {
            let pinned = versions.insert(item.clone(), version.clone());
            if let Some(pinned) = pinned.filter(|pinned| pinned != version) {
                return Err(Error::NotPossibleNow(format!(
                    "the template pins `{item}` to version {pinned}; change `metadata.stackloom.version` of its components there"
                )));
            }
        }
        let catalogs = &self.core.catalogs;
        catalogs.with_versions(tenant, deployment, &versions).await
    }
}
