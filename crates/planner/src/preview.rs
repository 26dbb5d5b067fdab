//! The plan beside a drawing: for a new deployment, with the parameters' defaults.
//!
//! Planning a large design takes longer than a frame, so the pages leave it to a worker. A [`Question`] and its answer
//! are sent as JSON. The answer has what a drawing shows, and no steps: they would be most of its text.

use std::collections::BTreeMap;

use hot::{bundle::Bundle, document::Document};
use serde::{Deserialize, Serialize};
use types::{Registry, ResourceType};

use crate::{
    cloud::CloudFacts,
    deployed::GroupRequest,
    plan::{self, Deployed, Plan, PlanInput},
    workflow::Origin,
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

/// Types and facts of the questions so far.
#[derive(Default)]
pub struct Previews {
    types: Registry,
    cloud: CloudFacts,
}

impl Previews {
    /// The plan for a template, without its steps and without properties of drawn resources. A text with a syntax error
    /// has problems and no workflow.
    pub fn answer(&mut self, question: Question) -> Plan {
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
        let mut plan = plan::plan(&PlanInput {
            document: &Document::parse(question.template),
            bundle: &Bundle::new(question.files, question.environments),
            parameters: &BTreeMap::new(),
            deployed: &deployed,
            types: &self.types,
            cloud: &self.cloud,
        });
        reduce(&mut plan);
        plan
    }
}

fn reduce(plan: &mut Plan) {
    for change in &mut plan.changes {
        change.properties.clear();
        change.because = None;
    }
    if let Some(workflow) = &mut plan.workflow {
        workflow.steps.clear();
        workflow.outputs.clear();
        for spec in workflow.resources.values_mut() {
            spec.requires.clear();
            spec.depends_on.clear();
            if spec.origin == Origin::Drawn {
                spec.properties.clear();
            }
        }
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
    fn answer(previews: &mut Previews, question: &Question) -> Plan {
        let sent = serde_json::to_string(question).unwrap();
        let plan = previews.answer(serde_json::from_str(&sent).unwrap());
        serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap()
    }

    #[test]
    fn a_drawing_gets_the_resources_that_the_passes_add_and_no_steps() {
        let mut previews = Previews::default();
        let first = Question {
            types: Some(types().iter().cloned().collect()),
            cloud: Some(cloud()),
            ..question(DEMO)
        };
        let plan = answer(&mut previews, &first);
        let workflow = plan.workflow.clone().unwrap();
        assert!(workflow.steps.is_empty());
        assert!(workflow.resources["gate"].properties.is_empty());
        let derived = &workflow.resources["gate_floating_ip"];
        assert!(derived.origin != Origin::Drawn && !derived.properties.is_empty());
        // Types and facts are known from the first question.
        assert_eq!(answer(&mut previews, &question(DEMO)), plan);
    }

    #[test]
    fn a_text_with_a_syntax_error_has_problems_and_no_workflow() {
        let plan = answer(&mut Previews::default(), &question("resources: ["));
        assert!(plan.workflow.is_none());
        assert!(!plan.diagnostics.is_empty());
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
        let plan = answer(&mut Previews::default(), &asked);
        let members: Vec<_> = plan
            .changes
            .iter()
            .filter_map(|change| change.resource.strip_prefix("farm/"))
            .collect();
        assert_eq!(members, present);
    }
}
