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
        let catalogs = &self.core.catalogs;
        let mut versions = BTreeMap::new();
        if may_pin(template, &bundle) {
            let template = template.to_owned();
            let read = move || pins(&Document::parse(template), &bundle);
            let read = self.compute(tenant, read).await?;
            if !read.problems.is_empty() {
                return Err(Error::Refused(read.problems));
            }
            let mut pinned = read.versions;
            let written = pinned.iter();
            versions = written
                .map(|(item, pin)| (item.clone(), pin.version.clone()))
                .collect();
            if let Some(item) = catalogs.missing(tenant, &versions).await?
                && let Some(pin) = pinned.remove(item)
            {
                let all = catalogs.versions(tenant).await?;
                let others = all.get(item).map_or(&[][..], Vec::as_slice);
                return Err(Error::Refused(vec![pin.missing(item, others)]));
            }
        }
        for (item, version) in requested {
            let pinned = versions.insert(item.clone(), version.clone());
            if let Some(pinned) = pinned.filter(|pinned| pinned != version) {
                return Err(Error::NotPossibleNow(format!(
                    "the template pins `{item}` to version {pinned}; change `metadata.stackloom.version` of its components there"
                )));
            }
        }
        catalogs.with_versions(tenant, deployment, &versions).await
    }
}
