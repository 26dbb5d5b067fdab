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

/// A workflow that runs a command once on each of these servers, given by name and id in the cloud, through this bastion. The
/// time limit is that of one server.
pub fn workflow<'a>(
    servers: impl IntoIterator<Item = (&'a str, &'a str)>,
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
    steps.extend(servers.into_iter().map(|(server, id)| Step {
        server_id: Some(id.to_owned()),
        ..Step::new(
            format!("{server}:command"),
            StepKind::Command,
            Some(server),
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
        let made = workflow([("app", "1"), ("gate", "2"), ("web", "3")], "gate", 30);
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
