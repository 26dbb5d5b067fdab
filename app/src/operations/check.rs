//! The comparison of a deployment with the cloud, and the repair of what it finds.
//!
//! A repair starts after a confirmation that lists the changes of its plan.

use std::collections::{BTreeMap, HashMap};

use api::{
    Action, ChangedProperty, Check, Deployment, DeploymentState, Finding, FindingKind, Following,
    Named as _, Plan, PlanRequest, RepairRequest,
};
use hot::text::{counted, few};
use leptos::prelude::*;
use serde_json::Value;

use super::proposal::{Proposals, changed, problems};
use crate::{
    client, consequences,
    load::Load,
    session::{Session, use_session},
    time::Ago,
    ui::{Icon, Question, StateBadge, ToastList, data_table, plain_text, prose, use_toasts},
};

/// The check of a deployment and its repair, on a page that offers them.
#[derive(Clone, Copy)]
pub struct Checking {
    deployment: Load<Deployment>,
    session: Session,
    toasts: ToastList,
    proposals: Proposals,
    /// True while the check that this page has started is running.
    is_running: RwSignal<bool>,
}

impl Checking {
    /// The check of the current page's deployment.
    pub fn new(deployment: Load<Deployment>) -> Checking {
        Checking {
            deployment,
            session: use_session(),
            toasts: use_toasts(),
            proposals: Proposals::new(),
            is_running: RwSignal::new(false),
        }
    }

    /// True if the user can start a check now. Tracks.
    pub fn can_check(self) -> bool {
        let is_possible = self.deployment.with(|it| it.is_some_and(has_resources));
        is_possible && !self.is_running.get() && self.session.can_change()
    }

    /// Starts a check and shows its result.
    pub fn check(self) {
        let Some(it) = self.deployment.peek() else {
            return;
        };
        self.is_running.set(true);
        leptos::task::spawn_local(async move {
            let checked = client::check(&it.id).await;
            let _gone = self.is_running.try_set(false);
            match checked {
                Ok(_) => self.deployment.reload(),
                Err(problem) => self.toasts.problem(&problem),
            }
        });
    }

    /// True if the last check has found damage that a repair mends. Tracks.
    fn finds_damage(self) -> bool {
        self.deployment.with(|it| {
            it.is_some_and(|it| {
                let is_suspended = it.state == DeploymentState::Suspended;
                has_resources(it) && !is_suspended && !damage(it).is_empty()
            })
        })
    }

    /// True if the user can start a repair now. Tracks.
    pub fn can_repair(self) -> bool {
        let is_busy = self
            .deployment
            .with(|it| it.is_none_or(|it| it.state == DeploymentState::Running));
        self.finds_damage() && !is_busy && self.can_check()
    }

    /// Shows the plan of a repair, and starts it.
    pub fn repair(self) {
        let Some(it) = self.deployment.peek() else {
            return;
        };
        let Some(check) = it.present_check().map(|check| check.id.clone()) else {
            return;
        };
        let request = PlanRequest {
            repair: true,
            ..it.plan_request()
        };
        let name = it.name.clone();
        self.proposals.propose(
            request,
            move |plan| question(&name, plan),
            move |plan| {
                let request = RepairRequest {
                    check: check.clone(),
                    plan_digest: plan.digest.clone(),
                    despite_quota: plan.exceeds_quota(),
                };
                let id = it.id.clone();
                async move { client::repair(&id, &request).await }
            },
        );
    }
}

fn has_resources(deployment: &Deployment) -> bool {
    deployment.state != DeploymentState::Undeployed
}

/// Damage that the last check has found, by resource name.
pub fn damage(it: &Deployment) -> HashMap<&str, FindingKind> {
    let findings = it.present_check().map(|check| check.findings.iter());
    let damaged = findings
        .into_iter()
        .flatten()
        .filter(|finding| finding.kind.is_damage());
    damaged
        .map(|finding| (finding.resource.as_str(), finding.kind))
        .collect()
}

/// The section with the last check. Nothing for a deployment without resources in the cloud.
#[component]
pub fn CheckSection(
    /// The deployment's check.
    checking: Checking,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        checking.deployment.with(|it| {
            it.filter(|it| has_resources(it)).map(|it| {
                let is_present = it.present_check().is_some();
                (it.check.clone(), is_present, it.state)
            })
        })
    });
    move || {
        let (last, is_present, state) = shown.get()?;
        let is_busy = state == DeploymentState::Running;
        let about = last.as_ref().map(|check| {
            view! {
                <span class="meta">
                    {format!("{}, by {} ", extent(check), check.author)}
                    <Ago time=check.time.clone() />
                </span>
            }
        });
        let result = match last {
            _ if is_busy && !is_present => quiet("A run works on this deployment. A check leaves out what the run works on."),
            None => quiet("Not checked yet. A check compares each resource with the cloud: it finds resources that are gone, broken, or changed by hand. It also runs the health checks of the software. It changes no resource; software that uses a server that is gone is configured without it."),
            Some(_) if !is_present => quiet("A run began after the last check. Check again to compare with the cloud."),
            Some(check) if check.findings.is_empty() => view! {
                <p class="check-whole"><Icon name="circle-check" />"All compared resources are as deployed."</p>
            }
            .into_any(),
            Some(Check { findings, following, .. }) => {
                view! { {findings_table(findings)}{following.filter(|it| !it.without.is_empty()).map(followed)} }.into_any()
            }
        };
        Some(view! {
            <section class="section" aria-label="Check">
                <div class="section-head">
                    <h2>"Check"</h2>
                    {about}
                    <CheckButtons checking />
                </div>
                {result}
            </section>
        })
    }
}

/// The button that checks the deployment, and after damage the one that repairs it.
#[component]
pub fn CheckButtons(
    /// The deployment's check.
    checking: Checking,
) -> impl IntoView {
    let has_damage = Memo::new(move |_| checking.finds_damage());
    view! {
        <button
            type="button" class="button" data-size="small" disabled=move || !checking.can_check()
            on:click=move |_| checking.check()
        >
            {move || if checking.is_running.get() {
                view! { <span data-look="running"><Icon name="loader-circle" /></span>"Checking…" }.into_any()
            } else {
                view! { <Icon name="refresh-cw" />"Check now" }.into_any()
            }}
        </button>
        {move || has_damage.get().then(|| view! {
            <button
                type="button" class="button" data-look="primary" data-size="small" disabled=move || !checking.can_repair()
                on:click=move |_| checking.repair()
            >
                <Icon name="wrench" />
                "Repair"
            </button>
        })}
    }
}

/// The result of the last check in a few words. Nothing for a deployment without resources in the cloud.
#[component]
pub fn CheckNote(
    /// The deployment's check.
    checking: Checking,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        checking.deployment.with(|it| {
            let it = it.filter(|it| has_resources(it))?;
            let time = it.present_check().map(|check| check.time.clone());
            Some((verdict(it), time))
        })
    });
    move || {
        let (verdict, time) = shown.get()?;
        let time = time.map(|time| view! { ", "<Ago time /> });
        Some(view! { <span class="meta">{verdict}{time}</span> })
    }
}

/// The result of the last check: the number of findings of each kind, the worst first.
fn verdict(deployment: &Deployment) -> String {
    let Some(check) = deployment.present_check() else {
        let text = match deployment.check {
            Some(_) => "Not checked since the last run",
            None => "Not checked yet",
        };
        return text.to_owned();
    };
    if check.findings.is_empty() {
        return "Checked: as deployed".to_owned();
    }
    let mut kinds: BTreeMap<FindingKind, usize> = BTreeMap::new();
    for finding in &check.findings {
        *kinds.entry(finding.kind).or_default() += 1;
    }
    let kinds = kinds.into_iter();
    let counts: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {}", kind.title().to_lowercase()))
        .collect();
    format!("Checked: {}", counts.join(", "))
}

/// The finding of the last check on a resource. Nothing without one.
#[component]
pub fn FindingNote(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Name of the resource.
    #[prop(into)]
    name: Signal<String>,
) -> impl IntoView {
    let found = Memo::new(move |_| {
        deployment.with(|it| {
            let mut findings = it?.present_check()?.findings.iter();
            findings
                .find(|finding| name.with(|name| finding.resource == *name))
                .cloned()
        })
    });
    move || {
        let finding = found.get()?;
        Some(view! {
            <div class="check-finding" data-finding=finding.resource.clone()>
                <StateBadge state=finding.kind />
                <div>{details(&finding)}</div>
            </div>
        })
    }
}

/// The number of resources that a check has compared, and of those that it has left out.
fn extent(check: &Check) -> String {
    let compared = counted(check.checked.into(), "resource");
    match check.left_out {
        0 => compared,
        left_out => format!("{compared}, without {left_out} that a run worked on"),
    }
}

fn quiet(text: &'static str) -> AnyView {
    view! { <p class="quiet">{text}</p> }.into_any()
}

fn findings_table(findings: Vec<Finding>) -> AnyView {
    let rows = findings
        .into_iter()
        .map(|finding| {
            view! {
                <tr data-finding=finding.resource.clone()>
                    <td>{finding.resource.clone()}</td>
                    <td class="quiet">{finding.resource_type.clone()}</td>
                    <td class="fit"><StateBadge state=finding.kind /></td>
                    <td>{details(&finding)}</td>
                </tr>
            }
        })
        .collect_view();
    data_table(["Resource", "Type", "Found", "Difference"], rows).into_any()
}

/// The components that are configured without servers that are gone.
fn followed(following: Following) -> AnyView {
    let components = following.without.iter().map(|(component, lost)| {
        let lost: Vec<&str> = lost.iter().map(String::as_str).collect();
        format!("`{component}` without {}", few(&lost))
    });
    let components: Vec<String> = components.collect();
    view! {
        <p class="quiet check-followed">
            "Software is configured without servers that are gone: "{prose(&components.join("; "))}". "
            <a class="link" href=format!("/runs/{}", following.run)>"See the run"</a>
        </p>
    }
    .into_any()
}

/// The reason of a finding, and the changed properties.
fn details(finding: &Finding) -> AnyView {
    let text = match (finding.kind, finding.text.as_str()) {
        (FindingKind::Gone, "") => "It no longer exists.",
        (_, text) => text,
    };
    let changed = finding.differences.iter().map(difference).collect_view();
    view! { {prose(text)}{changed} }.into_any()
}

/// `property: value after the last run → value in the cloud`.
fn difference(one: &ChangedProperty) -> AnyView {
    let value = |value: &Option<Value>| match value {
        None => String::from("(secret)"),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    view! {
        <div class="check-difference">
            <code>{one.property.clone()}</code>
            <span><del>{value(&one.recorded)}</del>" → "<ins>{value(&one.found)}</ins></span>
        </div>
    }
    .into_any()
}

/// The confirmation with the plan's changes and problems.
fn question(name: &str, plan: &Plan) -> Question {
    let replaces = changed(plan).any(|change| change.action == Action::Replace);
    let mut body = vec![String::from(
        "The template stays as it is. These resources are restored to it:",
    )];
    body.extend(consequences::losses(plan));
    body.extend(problems(plan));
    let items = changed(plan).map(|change| {
        let because = change.because.as_deref().unwrap_or("changed");
        format!("{}: {}", change.resource, plain_text(because))
    });
    Question {
        title: format!("Repair {name}?"),
        body,
        items: items.collect(),
        action: if plan.exceeds_quota() {
            String::from("Repair anyway")
        } else {
            String::from("Repair")
        },
        danger: replaces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_findings_are_counted_by_kind_the_worst_first() {
        let deployment = |check: serde_json::Value| -> Deployment {
            let deployment = serde_json::json!({
                "id": "d", "name": "shop", "state": "deployed", "created": "", "updated": "", "author": "ann",
                "last_run": "r", "check": check,
            });
            serde_json::from_value(deployment).unwrap()
        };
        let checked = |run: &str, kinds: &[&str]| {
            let finding = |kind: &&str| serde_json::json!({"resource": "web", "type": "OS::Nova::Server", "kind": kind});
            let findings: Vec<_> = kinds.iter().map(finding).collect();
            deployment(serde_json::json!({
                "id": "c", "time": "2026-01-01T00:00:00Z", "author": "ann", "run": run, "checked": 3, "findings": findings,
            }))
        };
        assert_eq!(
            verdict(&deployment(serde_json::Value::Null)),
            "Not checked yet"
        );
        assert_eq!(verdict(&checked("r", &[])), "Checked: as deployed");
        let damaged = checked("r", &["changed", "not_compared", "gone", "changed"]);
        assert_eq!(
            verdict(&damaged),
            "Checked: 1 gone, 2 changed, 1 not compared"
        );
        assert_eq!(damage(&damaged).len(), 1, "one resource");
        let older = checked("before", &["gone"]);
        assert_eq!(verdict(&older), "Not checked since the last run");
        assert!(damage(&older).is_empty());
    }

    #[test]
    fn the_extent_of_a_check_of_one_resource_is_singular() {
        let extent_of = |checked: u32, left_out: u32| {
            let check = serde_json::json!({
                "id": "c", "time": "2026-01-01T00:00:00Z", "author": "ann", "checked": checked, "left_out": left_out, "findings": [],
            });
            extent(&serde_json::from_value(check).unwrap())
        };
        assert_eq!(extent_of(1, 0), "1 resource");
        assert_eq!(extent_of(3, 0), "3 resources");
        assert_eq!(
            extent_of(1, 2),
            "1 resource, without 2 that a run worked on"
        );
    }
}
