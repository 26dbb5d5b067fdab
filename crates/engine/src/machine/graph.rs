//! The steps of a workflow for the machine: by index, with their predecessors.

use std::{collections::HashMap, time::Duration};

use planner::workflow::{Step, StepKind, Workflow};

/// A step's index in the workflow.
pub type StepIndex = usize;

/// The immutable part of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    /// The steps that wait for a step, by index.
    followers: Vec<Vec<StepIndex>>,
    by_id: HashMap<String, StepIndex>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The step's id in the workflow.
    pub id: String,
    /// The step's kind in the workflow.
    pub kind: StepKind,
    /// The steps that it waits for. All are smaller than its own index.
    pub after: Vec<StepIndex>,
    /// The length of the longest chain of steps before it.
    pub depth: u32,
    /// True if it runs on every ending.
    pub always_run: bool,
    /// Time limit, from the first start and over all attempts.
    pub timeout: Duration,
    /// False for a step that only waits, for signals, for a person or until a server has booted. The number of waiting steps is not limited:
    /// the steps that send the signals may need the slots, and all servers boot at once. Attempts to log in have a limit of
    /// their own.
    pub takes_slot: bool,
}

/// A workflow that no run can execute. The planner does not produce such workflows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWorkflow {
    /// Two steps have the same id.
    #[error("two steps are named `{0}`")]
    Twice(String),
    /// A step waits for a later step, or for one that does not exist.
    #[error("step `{step}` waits for `{after}`, which does not come before it")]
    Order {
        /// The step.
        step: String,
        /// The step that it waits for.
        after: String,
    },
}

impl Graph {
    /// The graph of a workflow.
    ///
    /// The effect of `bastion:open` is undone at each ending, so the step runs again when a run is resumed. Steps that
    /// follow it only through succeeded steps must still wait for it, so here they wait for it directly. A sweep that
    /// runs on every ending waits for all steps before it: its predecessors in the workflow can be skipped while other
    /// steps are still running.
    ///
    /// # Errors
    /// If a step does not come after all steps that it waits for.
    pub fn of(workflow: &Workflow) -> Result<Graph, BadWorkflow> {
        let mut nodes: Vec<Node> = Vec::with_capacity(workflow.steps.len());
        let mut by_id = HashMap::with_capacity(workflow.steps.len());
        let mut opens_before: Vec<Vec<StepIndex>> = Vec::with_capacity(workflow.steps.len());
        for (index, step) in workflow.steps.iter().enumerate() {
            let mut after = Vec::with_capacity(step.after.len());
            for id in &step.after {
                let known = by_id.get(id).copied();
                after.push(known.ok_or_else(|| BadWorkflow::Order {
                    step: step.id.clone(),
                    after: id.clone(),
                })?);
            }
            if step.kind == StepKind::Sweep && step.always_run {
                after = (0..index).collect();
            }
            let mut opens: Vec<StepIndex> = Vec::new();
            for &before in &after {
                let before: StepIndex = before;
                opens.extend(&opens_before[before]);
                opens.extend((nodes[before].kind == StepKind::OpenBastion).then_some(before));
            }
            opens.sort_unstable();
            opens.dedup();
            after.extend(&opens);
            after.sort_unstable();
            after.dedup();
            opens_before.push(opens);
            nodes.push(Node {
                id: step.id.clone(),
                kind: step.kind,
                depth: depth_behind(&nodes, &after),
                after,
                always_run: step.always_run,
                timeout: Duration::from_secs(step.timeout_seconds.into()),
                takes_slot: !waits(workflow, step),
            });
            if by_id.insert(step.id.clone(), index).is_some() {
                return Err(BadWorkflow::Twice(step.id.clone()));
            }
        }
        let mut followers = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            for &before in &node.after {
                followers[before].push(index);
            }
        }
        Ok(Graph {
            nodes,
            followers,
            by_id,
        })
    }

    /// All steps, in the workflow's order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The steps that wait for this one.
    pub fn followers(&self, step: StepIndex) -> &[StepIndex] {
        &self.followers[step]
    }

    /// The step with this id.
    pub fn index(&self, id: &str) -> Option<StepIndex> {
        self.by_id.get(id).copied()
    }
}

/// True for steps that only wait: for signals, for SSH, for a person, or until time has passed.
fn waits(workflow: &Workflow, step: &Step) -> bool {
    if let StepKind::WaitForSsh | StepKind::Hook | StepKind::Pause = step.kind {
        return true;
    }
    let resource = step.resource.as_ref();
    let spec = resource.and_then(|name| workflow.resources.get(name));
    spec.is_some_and(|spec| types::is_wait_condition(&spec.resource_type))
        && matches!(step.kind, StepKind::Create | StepKind::Update)
}

fn depth_behind(nodes: &[Node], after: &[StepIndex]) -> u32 {
    let before = after.iter().map(|&before| nodes[before].depth);
    before.max().map_or(0, |deepest| deepest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{step, workflow};

    #[test]
    fn steps_behind_a_bastion_depend_on_its_opening() {
        let graph = Graph::of(&workflow([
            step("bastion:open", StepKind::OpenBastion, &[]),
            step("web:ssh", StepKind::WaitForSsh, &["bastion:open"]),
            step("nginx:configure", StepKind::Configure, &["web:ssh"]),
        ]))
        .unwrap();
        assert_eq!(graph.nodes()[2].after, [0, 1]);
        let depths: Vec<u32> = graph.nodes().iter().map(|node| node.depth).collect();
        assert_eq!(depths, [0, 1, 2]);
    }

    #[test]
    fn a_cyclic_or_incomplete_graph_is_refused() {
        let forward = workflow([
            step("a:create", StepKind::Create, &["b:create"]),
            step("b:create", StepKind::Create, &[]),
        ]);
        assert_eq!(
            Graph::of(&forward),
            Err(BadWorkflow::Order {
                step: "a:create".into(),
                after: "b:create".into()
            })
        );
        let twice = workflow([
            step("a:create", StepKind::Create, &[]),
            step("a:create", StepKind::Create, &[]),
        ]);
        assert_eq!(
            Graph::of(&twice),
            Err(BadWorkflow::Twice("a:create".into()))
        );
    }
}
