//! The workflow of a command on servers of a deployment.
//!
//! ```text
//! bastion:open -> gate:ssh -> web:command -> bastion:close
//!                         \-> app:command -/
//! ```
//! The bastion is checked first, because the other servers are reached through it. The number of servers at the same time and of
//! failures are rules of the machine, not of the graph. No resource changes, so the workflow describes none.

use crate::workflow::{Step, StepKind, Workflow};

use super::time_limits::{BASTION_SECONDS, SSH_SECONDS};

/// The place of a command's step.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Name of the server, or of a component on it.
    pub name: &'a str,
    /// Name of the server.
    pub server: &'a str,
    /// Id of the server in the cloud.
    pub id: &'a str,
}

/// Id of the step at the target with this name.
pub fn step_id(target: &str) -> String {
    format!("{target}:command")
}

/// A workflow that runs a command once at each of these targets, through this bastion. The time limit is that of one target.
pub fn workflow<'a>(
    targets: impl IntoIterator<Item = Target<'a>>,
    bastion: &str,
    timeout_seconds: u32,
) -> Workflow {
    let open = Step::new(
        "bastion:open".to_owned(),
        StepKind::OpenBastion,
        Some(bastion),
        Vec::new(),
        BASTION_SECONDS,
    );
    let ssh = Step::new(
        format!("{bastion}:ssh"),
        StepKind::WaitForSsh,
        Some(bastion),
        vec![open.id.clone()],
        SSH_SECONDS,
    );
    let after = ssh.id.clone();
    let mut steps = vec![open, ssh];
    steps.extend(targets.into_iter().map(|target| Step {
        server_id: Some(target.id.to_owned()),
        ..Step::new(
            step_id(target.name),
            StepKind::Command,
            Some(target.server),
            vec![after.clone()],
            timeout_seconds,
        )
    }));
    let users = steps.iter().skip(1).map(|step| step.id.clone()).collect();
    steps.push(Step {
        always_run: true,
        ..Step::new(
            "bastion:close".to_owned(),
            StepKind::CloseBastion,
            Some(bastion),
            users,
            BASTION_SECONDS,
        )
    });
    Workflow {
        steps,
        ..Workflow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_a_step_between_the_opening_and_the_closing_of_the_bastion() {
        let targets = [("app", "1"), ("gate", "2"), ("web", "3")].map(|(name, id)| Target {
            name,
            server: name,
            id,
        });
        let made = workflow(targets, "gate", 30);
        let steps: Vec<_> = made
            .steps
            .iter()
            .map(|step| (step.id.as_str(), step.after.join(" "), step.always_run))
            .collect();
        let of = |id, after: &str, always_run| (id, after.to_owned(), always_run);
        let after_all = "gate:ssh app:command gate:command web:command";
        assert_eq!(
            steps,
            [
                of("bastion:open", "", false),
                of("gate:ssh", "bastion:open", false),
                of("app:command", "gate:ssh", false),
                of("gate:command", "gate:ssh", false),
                of("web:command", "gate:ssh", false),
                of("bastion:close", after_all, true),
            ]
        );
        assert_eq!(made.steps[2].kind, StepKind::Command);
        assert_eq!(made.steps[2].resource.as_deref(), Some("app"));
        assert_eq!(made.steps[2].timeout_seconds, 30);
        assert_eq!(made.steps[2].server_id.as_deref(), Some("1"));
        assert!(made.resources.is_empty() && made.outputs.is_empty());
    }
}
