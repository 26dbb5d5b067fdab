//! Keystone, after login.

use serde::Deserialize;

use crate::session::DomainName;
use crate::{Error, Project, Service, Session, pages};

/// Calls to Keystone.
pub struct Identity<'a>(pub(crate) &'a Session);

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    #[serde(default)]
    domain_id: String,
}

impl Identity<'_> {
    /// The projects that the user has a role in.
    pub async fn my_projects(&self) -> Result<Vec<Project>, Error> {
        let listed: Vec<Listed> = pages::list(
            self.0,
            Service::Identity,
            &["auth", "projects"],
            "projects",
            &[],
            None,
        )
        .await?;
        let projects = listed.into_iter().map(|project| Project {
            id: project.id,
            name: project.name,
            domain: DomainName {
                id: project.domain_id,
                name: String::new(),
            },
        });
        Ok(projects.collect())
    }
}
