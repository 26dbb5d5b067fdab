//! The work of runs that a check leaves out: it runs beside them, and must not record their work as damage.
//!
//! A check compares the records of one moment with what the cloud and the servers answer during a minute. It locks nothing
//! and waits for nothing, because it changes no resource. Instead it leaves out:
//!
//! - at its beginning, the resources that unfinished steps of the change at work make, change, delete, suspend or resume;
//! - at its end, all such resources of the last change, if that has begun, ended or gone on in the meantime, and those of a
//!   restoration at work;
//! - both times, software on servers among these and on servers that a step has locked, such as a command that restarts it,
//!   and attachments of volumes among these, which a restoration detaches for a while.

use std::collections::BTreeSet;

use api::{RunKind, StepState};
use planner::workflow::StepKind;
use store::{DeploymentRow, ResourceRow};
use types::VOLUME_ATTACHMENT;

use super::Engine;
use crate::Result;

/// Resources and servers that runs work on.
#[derive(Debug, Default)]
pub(super) struct AtWork {
    /// Names of the resources that a change works on.
    resources: BTreeSet<String>,
    /// Names of the servers that steps have locked.
    locked: BTreeSet<String>,
}

impl AtWork {
    /// Names of the resources that a check leaves out.
    pub(super) fn left_out(self, all: &[ResourceRow]) -> BTreeSet<String> {
        let AtWork {
            mut resources,
            locked,
        } = self;
        let is_at_work = |server: &str| resources.contains(server) || locked.contains(server);
        let software: Vec<String> = all
            .iter()
            .filter(|one| one.spec.host().is_some_and(is_at_work))
            .map(|one| one.name.clone())
            .collect();
        let ids: BTreeSet<&str> = all
            .iter()
            .filter(|one| resources.contains(&one.name))
            .filter_map(|one| one.physical_id.as_deref())
            .collect();
        let has_volume_at_work = |one: &&ResourceRow| {
            let id = one.physical_id.as_deref().and_then(|id| id.split_once(':'));
            one.spec.resource_type == VOLUME_ATTACHMENT
                && id.is_some_and(|(_, volume)| ids.contains(volume))
        };
        let attachments = all.iter().filter(has_volume_at_work);
        let attachments: Vec<String> = attachments.map(|one| one.name.clone()).collect();
        resources.extend(software);
        resources.extend(attachments);
        resources
    }
}

impl Engine {
    /// The work of runs at the beginning of a check. The resources must be read after it, so that they show what is not in
    /// it.
    pub(super) async fn at_work(&self, row: &DeploymentRow) -> Result<AtWork> {
        let resources = match self.change_at_work(row).await? {
            Some(change) => {
                let is_open = |state: StepState| !state.is_final();
                self.changed_by(row, &change.shown.id, is_open).await?
            }
            None => BTreeSet::new(),
        };
        self.with_locks(row, resources).await
    }

    /// The work of runs since the deployment was read, for the end of a check.
    pub(super) async fn was_at_work(&self, before: &DeploymentRow) -> Result<AtWork> {
        let now = self.deployment_row(&before.tenant, &before.shown.id);
        let now = now.await?.shown;
        let mut resources = match now.last_run {
            Some(last) if now.updated != before.shown.updated => {
                self.changed_by(before, &last, |_| true).await?
            }
            _ => BTreeSet::new(),
        };
        // It is no last change of the deployment.
        if let Some(run) = self.change_at_work(before).await?
            && run.shown.kind == RunKind::Restore
        {
            resources.extend(self.changed_by(before, &run.shown.id, |_| true).await?);
        }
        self.with_locks(before, resources).await
    }

    /// Names of the resources of the steps that change something, among those in these states.
    async fn changed_by(
        &self,
        row: &DeploymentRow,
        run: &str,
        counts: impl Fn(StepState) -> bool,
    ) -> Result<BTreeSet<String>> {
        let steps = self.core.store.step_list(&row.tenant, run).await?;
        let changing = steps
            .into_iter()
            .filter(|step| changes(step.kind) && counts(step.state));
        Ok(changing.filter_map(|step| step.resource).collect())
    }

    async fn with_locks(&self, row: &DeploymentRow, resources: BTreeSet<String>) -> Result<AtWork> {
        let store = &self.core.store;
        let locked = store.step_list_locks(&row.tenant, &row.shown.id).await?;
        Ok(AtWork {
            resources,
            locked: locked.into_iter().collect(),
        })
    }
}

/// True for steps after which their resource is another one or in another state.
fn changes(kind: StepKind) -> bool {
    match kind {
        StepKind::Create
        | StepKind::Update
        | StepKind::Delete
        | StepKind::Install
        | StepKind::Configure
        | StepKind::Suspend
        | StepKind::Resume
        | StepKind::Snapshot
        | StepKind::Restore => true,
        StepKind::WaitForSsh
        | StepKind::OpenBastion
        | StepKind::CloseBastion
        | StepKind::Pause
        | StepKind::Hook
        | StepKind::Sweep
        | StepKind::Command => false,
    }
}

#[cfg(test)]
mod tests {
    use hot::expr::Expr;

    use super::*;
    use crate::testing::{self, resource};

    fn row(name: &str, host: Option<&str>) -> ResourceRow {
        let host = host.map(|host| ("host", Expr::GetResource(host.into())));
        testing::row(name, resource("Stackloom::Catalog::nginx", host))
    }

    #[test]
    fn software_on_a_server_that_a_run_works_on_is_left_out_and_a_locked_server_is_not() {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let at_work = AtWork {
            resources: set(&["new"]),
            locked: set(&["busy"]),
        };
        let all = [
            row("new", None),
            row("on_new", Some("new")),
            row("busy", None),
            row("on_busy", Some("busy")),
            row("quiet", None),
            row("on_quiet", Some("quiet")),
        ];
        let left_out: BTreeSet<String> = set(&["new", "on_new", "on_busy"]);
        assert_eq!(at_work.left_out(&all), left_out);
    }

    #[test]
    fn the_attachment_of_a_volume_that_is_restored_is_left_out() {
        let with_id = |name: &str, id: &str, resource_type: &str| {
            let mut row = row(name, None);
            row.physical_id = Some(id.to_owned());
            row.spec.resource_type = resource_type.to_owned();
            row
        };
        let all = [
            with_id("disk", "v1", types::VOLUME),
            with_id("log", "v2", types::VOLUME),
            with_id("plug", "s:v1", VOLUME_ATTACHMENT),
            with_id("log_plug", "s:v2", VOLUME_ATTACHMENT),
        ];
        let at_work = AtWork {
            resources: BTreeSet::from(["disk".to_owned()]),
            locked: BTreeSet::new(),
        };
        let left_out = at_work.left_out(&all).into_iter().collect::<Vec<_>>();
        assert_eq!(left_out, ["disk", "plug"]);
    }
}
