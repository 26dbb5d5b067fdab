//! The content that is planned: the newest version of a design, or what an earlier run of a deployment was started with.

use std::collections::BTreeMap;

use api::{Design, Layout, Run, RunContent, TemplateFiles};
use serde_json::Value;

use crate::client::{self, Answer};

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

/// Where a content comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A design: its id and name.
    Design {
        /// Id.
        id: String,
        /// Name.
        name: String,
    },
    /// An earlier run of the deployment that the plan updates, with the run's parameter values.
    Run {
        /// The run, without its steps.
        run: Box<Run>,
        /// Values of parameters that are not hidden and not left to their default. `None` if they were not stored.
        parameters: Option<BTreeMap<String, Value>>,
    },
}

impl Source {
    /// The newest version of a design.
    ///
    /// # Errors
    /// If the server's answer is a problem.
    pub async fn of_design(id: &str) -> Answer<Source> {
        let Design {
            id,
            name,
            template,
            beside,
            layout,
            ..
        } = client::design(id).await?;
        Ok(Source {
            template,
            beside,
            layout,
            origin: Origin::Design { id, name },
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
            ..
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
            },
        })
    }

    /// Id of the design. `None` for the content of a run, whose places are not those of the design's newest version.
    pub fn design(&self) -> Option<&str> {
        match &self.origin {
            Origin::Design { id, .. } => Some(id),
            Origin::Run { .. } => None,
        }
    }
}
