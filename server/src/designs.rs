//! Stored designs and their versions.
//!
//! Every query takes the tenant, so another project's design is not found instead of forbidden. A save creates a
//! version. The canvas saves often, so of older versions only the last of each author's ten minutes is kept, at most
//! [`VERSIONS_KEPT_MAX`] in all, and fewer of large designs ([`VERSIONS_BYTES_MAX`]). A version with a label is kept.
//!
//! The version number is also an optimistic lock: a save contains its base version, and a save from an older version is
//! a conflict that changes nothing.

use api::{
    Design, DesignRequest, DesignSummary, DesignVersion, DesignVersionSummary, DesignViewer,
    DesignWatch, TemplateFiles, ViewerRequest,
};
use engine::{Actor, Engine, Page, Tenant};
use hot::document::Document;
use store::{DesignContent, Outcome, Store, VersionLimits, ViewerRow};

use crate::{
    codes,
    problem::{Error, Result},
};

/// Maximum number of kept versions per design.
pub const VERSIONS_KEPT_MAX: u32 = 200;

/// Number of the newest versions of a design that are all kept.
const VERSIONS_RECENT: u32 = 50;

/// Maximum number of versions of a design that have a label.
const LABELS_MAX: u32 = 20;

/// Total size of the kept versions of a design, in bytes.
pub const VERSIONS_BYTES_MAX: u32 = 16 * 1024 * 1024;

const LIMITS: VersionLimits = VersionLimits {
    recent: VERSIONS_RECENT,
    count: VERSIONS_KEPT_MAX,
    bytes: VERSIONS_BYTES_MAX,
};

const NAME_CHARS_MAX: usize = 200;

const LABEL_CHARS_MAX: usize = 100;

/// Seconds after which a page that does not renew its entry is no viewer of a design.
const VIEWER_SECONDS: i64 = 20;

/// Age in seconds from which an unchanged entry is renewed. Pages ask every five seconds.
const VIEWER_RENEWAL_SECONDS: i64 = 8;

/// Maximum number of pages on which a design is open, and known to be.
const VIEWERS_MAX: u32 = 50;

const PAGE_CHARS_MAX: usize = 64;

/// Maximum number of resources that a viewer has selected.
const SELECTED_MAX: usize = 20;

/// The design store.
#[derive(Clone)]
pub struct Designs {
    store: Store,
    engine: Engine,
    /// Maximum number of designs of a project.
    per_project: u32,
    /// Maximum size of the kept versions of a project's designs, in MiB.
    project_mib: u32,
}

impl Designs {
    /// The designs in this database. The engine parses their templates.
    pub fn new(store: Store, engine: Engine, per_project: u32, project_mib: u32) -> Designs {
        Designs {
            store,
            engine,
            per_project,
            project_mib,
        }
    }

    /// A page of the project's designs, the last saved first.
    pub async fn list(&self, tenant: &Tenant, page: Page) -> Result<Vec<DesignSummary>> {
        Ok(self.store.design_list(tenant, page).await?)
    }

    /// Creates a design with version 1.
    pub async fn create(
        &self,
        tenant: &Tenant,
        author: &str,
        request: &DesignRequest,
    ) -> Result<Design> {
        let name = checked_name(&request.name)?;
        self.check_room(tenant).await?;
        let resources = self.resources(tenant, &request.template).await?;
        let content = content(name, author, request, &request.beside, resources);
        let limit = self.per_project;
        let inserted = self.store.design_insert(tenant, content, limit).await?;
        let id = inserted.ok_or(engine::Error::ProjectFull {
            what: "designs",
            limit,
        })?;
        self.get(tenant, &id).await
    }

    /// The newest version.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<Design> {
        let found = self.store.design_find(tenant, id).await?;
        found.ok_or_else(|| Error::not_found("design", id))
    }

    /// Notes that a user has a design open, or leaves it. Returns the number of its newest version, and who else has it open.
    ///
    /// # Errors
    /// `invalid-request` if the page's id is not one, or if it names too many resources.
    pub async fn watch(
        &self,
        actor: &Actor,
        id: &str,
        request: ViewerRequest,
    ) -> Result<DesignWatch> {
        let (tenant, user_id) = (&actor.tenant, &actor.session.user().id);
        let ViewerRequest {
            page,
            selected,
            leaves,
        } = request;
        if !is_line(&page, PAGE_CHARS_MAX) {
            let text = format!("A page's id has 1 to {PAGE_CHARS_MAX} characters on one line.");
            return Err(Error::new(codes::INVALID_REQUEST, text).path("page"));
        }
        if selected.len() > SELECTED_MAX || !selected.iter().all(|name| is_line(name, 255)) {
            let text =
                format!("At most {SELECTED_MAX} names, of 1 to 255 characters on one line each.");
            return Err(Error::new(codes::INVALID_REQUEST, text).path("selected"));
        }
        let version = self.newest(tenant, id).await?;
        let now = jiff::Timestamp::now().as_second();
        let since = now - VIEWER_SECONDS;
        let open = self.store.design_viewer_list(tenant, id, since).await?;
        let own = open.iter().find(|one| one.page == page);
        let is_stored = own.is_some_and(|own| {
            own.user_id == *user_id
                && own.selected == selected
                && own.seen > now - VIEWER_RENEWAL_SECONDS
        });
        if leaves {
            let left = self.store.design_viewer_delete(tenant, id, &page, user_id);
            left.await?;
        } else if !is_stored {
            let viewer = ViewerRow {
                page: page.clone(),
                user_id: user_id.clone(),
                name: actor.user.clone(),
                selected,
                seen: now,
            };
            let put = self
                .store
                .design_viewer_put(tenant, id, &viewer, since, VIEWERS_MAX);
            put.await?;
        }
        let others = open.into_iter().filter(|one| one.page != page);
        let others = others.map(|one| DesignViewer {
            is_caller: one.user_id == *user_id,
            user: one.name,
            selected: one.selected,
        });
        Ok(DesignWatch {
            version,
            others: others.collect(),
        })
    }

    /// Number of the newest version.
    async fn newest(&self, tenant: &Tenant, id: &str) -> Result<u32> {
        let found = self.store.design_newest(tenant, id).await?;
        found.ok_or_else(|| Error::not_found("design", id))
    }

    /// Saves a new version, if it differs from the newest.
    ///
    /// # Errors
    /// `version-conflict` if `base_version` is not the newest, `project-full` if the project's designs are too large,
    /// `disk-almost-full`.
    pub async fn save(
        &self,
        tenant: &Tenant,
        author: &str,
        id: &str,
        request: &DesignRequest,
    ) -> Result<Design> {
        let name = checked_name(&request.name)?;
        let resources = self.resources(tenant, &request.template).await?;
        loop {
            let stored = self.get(tenant, id).await?;
            if let Some(base) = request.base_version.filter(|base| *base != stored.version) {
                return Err(conflict(&stored, base));
            }
            // A save without files keeps the stored files.
            let beside = request.beside.clone().or(&stored.beside);
            if stored.name == name
                && stored.template == request.template
                && stored.beside == beside
                && stored.layout == request.layout
            {
                return Ok(stored);
            }
            self.check_room(tenant).await?;
            let content = content(name, author, request, &beside, resources);
            let saved = self
                .store
                .design_save(tenant, id, stored.version, content, LIMITS);
            // Another user has saved in between: read again.
            if saved.await? == Outcome::Done {
                return self.get(tenant, id).await;
            }
        }
    }

    /// Deletes the design with all its versions. Deployments from it stay.
    pub async fn delete(&self, tenant: &Tenant, id: &str) -> Result<()> {
        if self.store.design_delete(tenant, id).await? == Outcome::Conflict {
            Err(Error::not_found("design", id))
        } else {
            Ok(())
        }
    }

    /// The kept versions, newest first.
    pub async fn versions(&self, tenant: &Tenant, id: &str) -> Result<Vec<DesignVersionSummary>> {
        let versions = self.store.design_version_list(tenant, id).await?;
        if versions.is_empty() {
            return Err(Error::not_found("design", id));
        }
        Ok(versions)
    }

    /// A kept version.
    pub async fn version(&self, tenant: &Tenant, id: &str, number: u32) -> Result<DesignVersion> {
        let found = self.store.design_version_find(tenant, id, number).await?;
        found.ok_or_else(|| Error::not_found("version", &number.to_string()))
    }

    /// Labels a version. An empty label is removed.
    pub async fn label(&self, tenant: &Tenant, id: &str, number: u32, label: &str) -> Result<()> {
        let label = Some(label.trim()).filter(|label| !label.is_empty());
        if label.is_some_and(|label| !is_line(label, LABEL_CHARS_MAX)) {
            return Err(Error::new(
                codes::INVALID_REQUEST,
                format!("A version's label has at most {LABEL_CHARS_MAX} characters on one line."),
            )
            .path("label"));
        }
        let labelled = self
            .store
            .design_version_label(tenant, id, number, label, LABELS_MAX);
        match labelled.await? {
            Some(Outcome::Done) => Ok(()),
            Some(Outcome::Conflict) => Err(Error::not_found("version", &number.to_string())),
            None => Err(Error::new(
                codes::INVALID_REQUEST,
                format!("{LABELS_MAX} versions of the design have a label already."),
            )
            .hint("Remove the label of another version first.")
            .path("label")),
        }
    }

    /// Checks that the disk and the project have room for another version of a design.
    async fn check_room(&self, tenant: &Tenant) -> Result<()> {
        self.engine.check_database_disk()?;
        let limit = self.project_mib;
        if self.store.design_bytes(tenant).await? < i64::from(limit) << 20 {
            return Ok(());
        }
        let what = "MiB of designs with their versions";
        Err(engine::Error::ProjectFull { what, limit }.into())
    }

    /// Number of resources in the template. In an invalid template, of the readable ones.
    async fn resources(&self, tenant: &Tenant, template: &str) -> Result<i64> {
        let template = template.to_owned();
        let work = move || Document::parse(template).template().resources.len();
        let resources = self.engine.compute(tenant, work).await?;
        Ok(i64::try_from(resources).unwrap_or(i64::MAX))
    }
}

fn conflict(stored: &Design, base: u32) -> Error {
    Error::new(
        codes::VERSION_CONFLICT,
        format!(
            "`{}` has version {} in the meantime, saved by {}. Yours is based on version {base}.",
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
    beside: &'a TemplateFiles,
    resources: i64,
) -> DesignContent<'a> {
    DesignContent {
        name,
        template: &request.template,
        beside,
        layout: &request.layout,
        resources,
        author,
    }
}

/// Accepts any readable text. Pages and logs escape it.
fn checked_name(name: &str) -> Result<&str> {
    let name = name.trim();
    if !is_line(name, NAME_CHARS_MAX) {
        return Err(Error::new(
            codes::INVALID_REQUEST,
            format!("A design's name has 1 to {NAME_CHARS_MAX} characters on one line."),
        )
        .path("name"));
    }
    Ok(name)
}

/// True if a text has one line of at most this many characters, and is not empty.
fn is_line(text: &str, chars_max: usize) -> bool {
    !text.is_empty() && text.chars().count() <= chars_max && !text.chars().any(char::is_control)
}
