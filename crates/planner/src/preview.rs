//! The part of a plan that a drawing shows: for a new deployment, with the parameters' defaults.
//!
//! Planning a large design takes longer than a frame, so the pages leave it to a worker. A [`Question`] and the [`Preview`]
//! that answers it are sent as JSON. A preview has no steps and no properties of drawn resources: they would be most of
//! its text, and the pages that draw would need the code of plans.

use std::collections::BTreeMap;

use hot::{
    bundle::Bundle, diagnostic::Diagnostic, document::Document, expr::Expr, template::Marks,
};
use serde::{Deserialize, Serialize};
use types::{Registry, ResourceType};

use crate::{
    cloud::CloudFacts,
    deployed::GroupRequest,
    plan::{self, Deployed, Plan, PlanInput},
    workflow::{Origin, ResourceSpec},
};

/// A template to plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Resource types. `None` if they are those of the last question.
    pub types: Option<Vec<ResourceType>>,
    /// Facts about the cloud. `None` if they are those of the last question.
    pub cloud: Option<CloudFacts>,
    /// Text of the template.
    pub template: String,
    /// Files beside it, by name.
    pub files: BTreeMap<String, String>,
    /// Names of the environments among the files, in merge order.
    pub environments: Vec<String>,
    /// Names of the present members of scaling groups, by group. Other groups have their desired size.
    pub members: BTreeMap<String, Vec<String>>,
}

/// The part of a plan that a drawing shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Problems of the template, and the decisions of the passes.
    pub diagnostics: Vec<Diagnostic>,
    /// The resources of the deployment, in the order of the plan. Those with a false condition are not among them.
    pub resources: Vec<Planned>,
    /// Resources that the passes add, by name. `None` if the template has an error.
    pub ghosts: Option<BTreeMap<String, Ghost>>,
}

/// A resource of the deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Name in the template, or the name that a pass chose. Names of members contain their parent: `farm/0`.
    pub name: String,
    /// The type, for example `OS::Nova::Server`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// True if a pass adds it.
    pub is_added: bool,
}

/// A resource that a pass adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ghost {
    /// The type, for example `OS::Neutron::FloatingIP`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Values or expressions by property.
    pub properties: BTreeMap<String, Expr>,
    /// Marks for drivers.
    pub marks: Marks,
    /// Reason, as one sentence.
    pub why: String,
    /// Drawn resource that needs this one.
    pub serves: Option<String>,
}

impl Preview {
    /// The preview of a plan for a new deployment.
    pub fn of(plan: Plan) -> Preview {
        let changes = plan.changes.into_iter();
        let resources = changes.map(|change| Planned {
            is_added: change.origin != Origin::Drawn,
            name: change.resource,
            resource_type: change.resource_type,
        });
        let ghost = |spec: ResourceSpec| match spec.origin {
            Origin::Drawn => None,
            Origin::Derived { why, serves, .. } => Some(Ghost {
                resource_type: spec.resource_type,
                properties: spec.properties,
                marks: spec.marks,
                why,
                serves,
            }),
        };
        let ghosts = plan.workflow.map(|workflow| {
            let specs = workflow.resources.into_iter();
            specs
                .filter_map(|(name, spec)| Some((name, ghost(spec)?)))
                .collect()
        });
        Preview {
            diagnostics: plan.diagnostics,
            resources: resources.collect(),
            ghosts,
        }
    }
}

/// Types and facts of the questions so far.
#[derive(Default)]
pub struct Previews {
    types: Registry,
    cloud: CloudFacts,
}

impl Previews {
    /// The preview of a template. A text with a syntax error has problems and nothing else.
    pub fn answer(&mut self, question: Question) -> Preview {
        if let Some(types) = question.types {
            self.types = Registry::of(types);
        }
        if let Some(cloud) = question.cloud {
            self.cloud = cloud;
        }
        let members = question.members.into_iter();
        let deployed = Deployed {
            groups: members
                .map(|(group, names)| (group, GroupRequest::Members(names)))
                .collect(),
            ..Deployed::default()
        };
        Preview::of(plan::plan(&PlanInput {
            document: &Document::parse(question.template),
            bundle: &Bundle::new(question.files, question.environments),
            parameters: &BTreeMap::new(),
            deployed: &deployed,
            types: &self.types,
            cloud: &self.cloud,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DEMO, cloud, types};

    fn question(template: &str) -> Question {
        Question {
            template: template.to_owned(),
            ..Question::default()
        }
    }

    /// The answer to a question as it arrives on the page.
    fn answer(previews: &mut Previews, question: &Question) -> Preview {
        let sent = serde_json::to_string(question).unwrap();
        let preview = previews.answer(serde_json::from_str(&sent).unwrap());
        serde_json::from_str(&serde_json::to_string(&preview).unwrap()).unwrap()
    }

    #[test]
    fn a_drawing_gets_the_resources_that_the_passes_add() {
        let mut previews = Previews::default();
        let first = Question {
            types: Some(types().iter().cloned().collect()),
            cloud: Some(cloud()),
            ..question(DEMO)
        };
        let preview = answer(&mut previews, &first);
        let is_added = |name: &str| {
            let mut resources = preview.resources.iter();
            resources.find(|one| one.name == name).unwrap().is_added
        };
        assert!(!is_added("gate") && is_added("gate_floating_ip"));
        let ghosts = preview.ghosts.clone().unwrap();
        assert!(!ghosts.contains_key("gate"));
        assert!(!ghosts["gate_floating_ip"].properties.is_empty());
        // Types and facts are known from the first question.
        assert_eq!(answer(&mut previews, &question(DEMO)), preview);
    }

    #[test]
    fn a_text_with_a_syntax_error_has_problems_and_nothing_else() {
        let preview = answer(&mut Previews::default(), &question("resources: ["));
        assert!(preview.ghosts.is_none() && preview.resources.is_empty());
        assert!(!preview.diagnostics.is_empty());
    }

    #[test]
    fn a_group_has_the_members_that_are_present() {
        let text = "heat_template_version: 2021-04-16
resources:
  farm:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 5
      desired_capacity: 1
      resource: {type: OS::Heat::RandomString}
";
        let present = ["0".to_owned(), "2".to_owned()];
        let asked = Question {
            types: Some(types().iter().cloned().collect()),
            members: BTreeMap::from([("farm".to_owned(), present.to_vec())]),
            ..question(text)
        };
        let preview = answer(&mut Previews::default(), &asked);
        let members: Vec<_> = preview
            .resources
            .iter()
            .filter_map(|resource| resource.name.strip_prefix("farm/"))
            .collect();
        assert_eq!(members, present);
    }
}
