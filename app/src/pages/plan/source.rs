//! The content that is planned: a version of a design, or what an earlier run of a deployment was started with.

use std::collections::BTreeMap;

use api::{Design, DesignVersion, Layout, Run, RunContent, TemplateFiles};
use serde_json::Value;

use crate::{
    client::{self, Answer},
    links::DesignLink,
};

/// A template with what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The template's text.
    pub template: String,
    /// Files and environments beside the template.
    pub beside: TemplateFiles,
    /// Positions of the nodes.
    pub layout: Layout,
    /// The content's origin.
    pub origin: Origin,
}

/// Origin of the planned content.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A version of a design.
    Design {
        /// Id of the design.
        id: String,
        /// Name of the design.
        name: String,
        /// Number of the version.
        version: u32,
    },
    /// An earlier run of the deployment that the plan updates, with the run's parameter values.
    Run {
        /// The run, without its steps.
        run: Box<Run>,
        /// Values of parameters that are not hidden and not left to their default. `None` if they were not stored.
        parameters: Option<BTreeMap<String, Value>>,
        /// Id of the design that the run deployed.
        design: Option<String>,
        /// Version of that design.
        design_version: Option<u32>,
    },
}

impl Source {
    /// A version of a design. `None` for the newest.
    ///
    /// # Errors
    /// If the server's answer is a problem, such as that the version is no longer stored.
    pub async fn of_design(id: &str, version: Option<u32>) -> Answer<Source> {
        let Design {
            id,
            name,
            template,
            beside,
            layout,
            version: newest,
            ..
        } = client::design(id).await?;
        let version = version.unwrap_or(newest);
        let (template, beside, layout) = if version == newest {
            (template, beside, layout)
        } else {
            let DesignVersion {
                template,
                beside,
                layout,
                ..
            } = client::design_version(&id, version).await?;
            (template, beside, layout)
        };
        Ok(Source {
            template,
            beside,
            layout,
            origin: Origin::Design { id, name, version },
        })
    }

    /// The content of a run.
    ///
    /// # Errors
    /// If the server's answer is a problem.
    pub async fn of_run(id: &str) -> Answer<Source> {
        let RunContent {
            template,
            beside,
            layout,
            parameters,
            design,
            design_version,
        } = client::run_content(id).await?;
        let run = client::run(id).await?;
        Ok(Source {
            template,
            // All files, so that none of the present ones stays.
            beside: TemplateFiles::of(&beside.bundle()),
            layout,
            origin: Origin::Run {
                run: Box::new(Run {
                    steps: Vec::new(),
                    ..run
                }),
                parameters,
                design,
                design_version,
            },
        })
    }

    /// Id of the planned design. `None` for the content of a run.
    pub fn design(&self) -> Option<&str> {
        match &self.origin {
            Origin::Design { id, .. } => Some(id),
            Origin::Run { .. } => None,
        }
    }

    /// The content's version in the designer, also for the content of a run.
    pub fn link(&self) -> Option<DesignLink<'_>> {
        let (design, version) = match &self.origin {
            Origin::Design { id, version, .. } => (id, Some(*version)),
            Origin::Run {
                design,
                design_version,
                ..
            } => (design.as_ref()?, *design_version),
        };
        Some(DesignLink {
            design,
            version,
            ..DesignLink::default()
        })
    }
}
