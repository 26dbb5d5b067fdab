//! Stored designs and their versions.
//!
//! Every query takes the tenant: another project's design is not found, it is not forbidden. A save
//! makes a version; the canvas saves often, so only the newest [`VERSIONS_KEPT_MAX`] are kept, and of large ones
//! fewer ([`VERSIONS_BYTES_MAX`]). The
//! version number is also the lock: a save says which version it was made from, and a save from an
//! older one is a conflict that changes nothing.

use api::{Beside, Design, DesignRequest, DesignSummary, DesignVersion};
use engine::Tenant;
use hot::document::Document;
use store::{DesignContent, Outcome, Store, VersionLimits};

use crate::{
    codes,
    problem::{Error, Result},
};

/// How many versions of a design are kept.
pub const VERSIONS_KEPT_MAX: u32 = 200;

/// How much the kept versions may take together: they are listed in one answer.
pub const VERSIONS_BYTES_MAX: u32 = 16 * 1024 * 1024;

const LIMITS: VersionLimits = VersionLimits {
    count: VERSIONS_KEPT_MAX,
    bytes: VERSIONS_BYTES_MAX,
};

const NAME_CHARS_MAX: usize = 200;

/// The store.
#[derive(Clone)]
pub struct Designs {
    store: Store,
}

impl Designs {
    /// Over a database.
    pub fn new(store: Store) -> Designs {
        Designs { store }
    }

    /// The project's designs, the one that was saved last first.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<DesignSummary>> {
        Ok(self.store.design_list(tenant).await?)
    }

    /// Version 1 of a new design.
    pub async fn create(
        &self,
        tenant: &Tenant,
        author: &str,
        request: &DesignRequest,
    ) -> Result<Design> {
        let name = checked_name(&request.name)?;
        let content = content(name, author, request, &request.beside);
        let id = self.store.design_insert(tenant, content).await?;
        self.get(tenant, &id).await
    }

    /// The newest version.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<Design> {
        let found = self.store.design_find(tenant, id).await?;
        found.ok_or_else(|| Error::not_found("design", id))
    }

    /// Save: a new version, unless nothing differs.
    ///
    /// # Errors
    /// `version-conflict` where `base_version` is not the newest.
    pub async fn save(
        &self,
        tenant: &Tenant,
        author: &str,
        id: &str,
        request: &DesignRequest,
    ) -> Result<Design> {
        let name = checked_name(&request.name)?;
        loop {
            let stored = self.get(tenant, id).await?;
            if let Some(base) = request.base_version.filter(|base| *base != stored.version) {
                return Err(conflict(&stored, base));
            }
            // Files that a save does not speak of stay.
            let beside = request.beside.clone().or(&stored.beside);
            if stored.name == name
                && stored.template == request.template
                && stored.beside == beside
                && stored.layout == request.layout
            {
                return Ok(stored);
            }
            let content = content(name, author, request, &beside);
            let saved = self
                .store
                .design_save(tenant, id, stored.version, content, LIMITS);
            // Saved by somebody else since it was read: look again.
            if saved.await? == Outcome::Done {
                return self.get(tenant, id).await;
            }
        }
    }

    /// Remove it with all its versions. Deployments that were made from it stay.
    pub async fn delete(&self, tenant: &Tenant, id: &str) -> Result<()> {
        if self.store.design_delete(tenant, id).await? == Outcome::Conflict {
            Err(Error::not_found("design", id))
        } else {
            Ok(())
        }
    }

    /// The kept versions, newest first.
    pub async fn versions(&self, tenant: &Tenant, id: &str) -> Result<Vec<DesignVersion>> {
        let versions = self.store.design_version_list(tenant, id).await?;
        if versions.is_empty() {
            return Err(Error::not_found("design", id));
        }
        Ok(versions)
    }
}

fn conflict(stored: &Design, base: u32) -> Error {
    Error::new(
        codes::VERSION_CONFLICT,
        format!(
            "`{}` is at version {} by now, saved by {}; yours was made from version {base}.",
            stored.name, stored.version, stored.author
        ),
    )
    .hint("Nothing was overwritten. Load the newer version, or save yours as another design.")
    .path("base_version")
}

fn content<'a>(
    name: &'a str,
    author: &'a str,
    request: &'a DesignRequest,
    beside: &'a Beside,
) -> DesignContent<'a> {
    DesignContent {
        name,
        template: &request.template,
        beside,
        layout: &request.layout,
        resources: resources(&request.template),
        author,
    }
}

/// Any text that a person can read; pages and logs escape it.
fn checked_name(name: &str) -> Result<&str> {
    let name = name.trim();
    if name.is_empty()
        || name.chars().count() > NAME_CHARS_MAX
        || name.chars().any(char::is_control)
    {
        return Err(Error::new(
            codes::INVALID_REQUEST,
            format!("A design's name has 1 to {NAME_CHARS_MAX} characters on one line."),
        )
        .path("name"));
    }
    Ok(name)
}

/// How many resources are drawn; of a half-typed template as many as can be read.
fn resources(template: &str) -> i64 {
    i64::try_from(Document::parse(template).template().resources.len()).unwrap_or(i64::MAX)
}
