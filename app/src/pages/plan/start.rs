//! The start of the planned run, with the confirmations that it needs.

use api::{DeployRequest, PermissionRequest, Plan, Problem, Severity};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use super::{Page, changes, quota, source::Origin};
use crate::{
    client, consequences,
    load::Loaded,
    ui::{Confirm, Question, ToastList, use_confirm, use_toasts},
};

/// Reaction to an insufficient quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverQuota {
    Refuse,
    DeployAnyway,
}

/// Starts the run and opens its page. Requests a confirmation if resources are removed or something is lost.
pub(super) fn deployer(page: Page) -> Callback<()> {
    let confirm = use_confirm();
    let starter = Starter {
        page,
        confirm,
        toasts: use_toasts(),
        navigate: StoredValue::new_local(Box::new(use_navigate())),
    };
    Callback::new(move |()| {
        if page.busy.get_untracked() || !untrack(|| page.is_deployable()) {
            return;
        }
        let over_quota = if page.despite_quota.get_untracked() {
            OverQuota::DeployAnyway
        } else {
            OverQuota::Refuse
        };
        let (verb, instead_of) = untrack(|| (page.verb(), page.instead_of()));
        let question = page
            .plan
            .with_untracked(|plan| question(verb, plan, instead_of.as_deref()));
        match question {
            Some(question) => confirm.ask(question, move || starter.start(over_quota)),
            None => starter.start(over_quota),
        }
    })
}

/// The question about resources that a plan removes, and about other losses. `None` if there are none. `instead_of` is the
/// active run that the update replaces.
fn question(verb: &str, plan: &Loaded<Plan>, instead_of: Option<&str>) -> Option<Question> {
    let items = changes::destructive(plan);
    let mut body = match plan {
        Loaded::Ready(plan) => consequences::losses(plan),
        _ => Vec::new(),
    };
    let title = match (items.is_empty(), body.is_empty()) {
        (true, true) => return None,
        (true, false) => format!("{verb} and lose data or addresses?"),
        (false, _) => format!("{verb} and remove these resources?"),
    };
    if instead_of.is_some() {
        body.push(String::from(
            "The update is planned again when the active run has ended. Resources on which that run works can then be removed or replaced, too.",
        ));
    }
    Some(Question {
        title,
        body,
        items,
        action: String::from(verb),
        danger: true,
    })
}

/// Function that opens an address.
type Navigate = Box<dyn Fn(&str, NavigateOptions)>;

/// Request for a deployment or an update.
#[derive(Clone, Copy)]
struct Starter {
    page: Page,
    confirm: Confirm,
    toasts: ToastList,
    navigate: StoredValue<Navigate, LocalStorage>,
}

impl Starter {
    /// Starts the run and opens its page. If the quota is insufficient, the user can start the run anyway.
    fn start(self, over_quota: OverQuota) {
        let page = self.page;
        let Some(source) = page.source.peek() else {
            return;
        };
        let target = page.target.get_untracked();
        let (base_run, digest) = page.plan.with_untracked(|plan| match plan {
            Loaded::Ready(plan) => (plan.base_run.clone(), plan.digest.clone()),
            _ => (None, None),
        });
        let instead_of = untrack(|| page.instead_of());
        // The active run changes the plan with each step, and the user has chosen to update what exists at its end. The
        // page says that the plan is made again then.
        let plan_digest = digest.filter(|_| instead_of.is_none());
        let permission = page.permission_untracked();
        if let Some(problem) = permission.as_ref().and_then(PermissionRequest::problem) {
            return self.toasts.warn(format!("Not started: {problem}."));
        }
        page.busy.set(true);
        page.refused.set(None);
        leptos::task::spawn_local(async move {
            let content = match source.origin {
                // The planned template: the design may have a newer version by now.
                Origin::Design { id, version, .. } => DeployRequest {
                    design: Some(id),
                    design_version: Some(version),
                    template: Some(source.template),
                    beside: source.beside,
                    ..DeployRequest::default()
                },
                Origin::Run { run, .. } => DeployRequest {
                    run: Some(run.id),
                    ..DeployRequest::default()
                },
            };
            let request = DeployRequest {
                name: page.name.get_untracked().trim().to_owned(),
                parameters: page.form.values_untracked(),
                on_failure: page.on_failure.get_untracked(),
                base_run,
                plan_digest,
                instead_of: instead_of.clone(),
                despite_quota: over_quota == OverQuota::DeployAnyway,
                ..content
            };
            let answer = match target {
                Some(target) => client::deployment_update(&target, &request).await,
                None => client::deploy(&request).await,
            };
            // A signal that is gone returns the value.
            let is_left = page.busy.try_set(false).is_some();
            match answer {
                Ok(started) => {
                    if instead_of.as_ref() == Some(&started.run) {
                        self.toasts
                            .done("The update begins by itself when the active steps have ended.");
                    }
                    if let Some(permission) = permission {
                        let given = client::permission_give(&started.deployment, &permission);
                        if let Err(problem) = given.await {
                            self.toasts.problem(&problem);
                        }
                    }
                    self.navigate.try_with_value(|navigate| {
                        navigate(&format!("/runs/{}", started.run), Default::default())
                    });
                }
                Err(problem) if is_left => self.toasts.problem(&problem),
                Err(problem) if problem.code == planner::plan::QUOTA_EXCEEDED => {
                    let exceeded = problem.diagnostics.into_iter();
                    let question = Question {
                        title: String::from("The project's quota is too small"),
                        body: exceeded.map(|one| format!("{}.", one.message)).collect(),
                        items: Vec::new(),
                        action: String::from("Deploy anyway"),
                        danger: false,
                    };
                    self.confirm
                        .ask(question, move || self.start(OverQuota::DeployAnyway));
                }
                Err(problem) => {
                    page.refused.try_set(Some(problem));
                }
            }
        });
    }
}

impl Page {
    /// True if there is a workflow for the current form, and the user has decided what it needs: whether to exceed the
    /// quota, and whether to replace the active run.
    pub(super) fn is_deployable(self) -> bool {
        if self.is_planning.get() {
            return false;
        }
        self.plan
            .with(|plan| deployable(plan) && (quota::fits(plan) || self.despite_quota.get()))
            && self.is_free()
    }
}

/// True if the server has refused a plan because it, or its deployment, has changed since.
pub(super) fn is_outdated(refused: Option<&Problem>) -> bool {
    let codes = ["deployment-changed", "plan-changed"];
    refused.is_some_and(|problem| codes.contains(&problem.code.as_str()))
}

fn deployable(plan: &Loaded<Plan>) -> bool {
    matches!(plan, Loaded::Ready(plan) if plan.workflow.is_some() && !plan.diagnostics.iter().any(|it| it.severity == Severity::Error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_loss_without_a_removal_is_confirmed_too() {
        let plan = |property: &str| {
            let plan = json!({
                "diagnostics": [],
                "changes": [{
                    "action": "update", "resource": "db", "type": "Stackloom::Catalog::postgresql", "origin": {"from": "drawn"},
                    "properties": [{"name": property, "old": 1, "new": 2}],
                }],
                "workflow": null,
            });
            Loaded::Ready(serde_json::from_value(plan).unwrap())
        };
        assert!(question("Update", &plan("listen_port"), None).is_none());
        let asked = question("Update", &plan("host"), None).unwrap();
        assert_eq!(asked.title, "Update and lose data or addresses?");
        assert!(asked.items.is_empty());
        assert!(asked.body[0].starts_with("`db`: It is set up on another server."));
    }

    fn plan(action: &str) -> Loaded<Plan> {
        let plan = json!({
            "diagnostics": [],
            "changes": [{"action": action, "resource": "disk", "type": "OS::Cinder::Volume", "origin": {"from": "drawn"}}],
            "workflow": null,
        });
        Loaded::Ready(serde_json::from_value(plan).unwrap())
    }

    #[test]
    fn a_removal_is_confirmed_and_one_in_place_of_a_run_says_that_it_is_planned_again() {
        assert!(question("Update", &plan("create"), None).is_none());
        let asked = question("Update", &plan("delete"), None).unwrap();
        assert_eq!(asked.items, ["disk  OS::Cinder::Volume  removed"]);
        let loss = "`disk`: Its data is lost, and its snapshots with it.";
        assert_eq!(asked.body, [loss]);
        let asked = question("Update", &plan("delete"), Some("run")).unwrap();
        assert_eq!(asked.body[0], loss);
        assert!(
            asked.body[1].starts_with("The update is planned again when the active run has ended.")
        );
    }
}
