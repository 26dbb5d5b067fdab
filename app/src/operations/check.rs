//! The comparison of a deployment with the cloud, and the repair of what it finds.
//!
//! A repair starts after a confirmation that lists the changes of its plan.

use api::{
    Action, ChangedProperty, Check, Deployment, DeploymentState, Finding, FindingKind, Plan,
    PlanRequest, RepairRequest,
};
use hot::text::counted;
use leptos::prelude::*;
use serde_json::Value;

use super::proposal::{Proposals, changed, problems};
use crate::{
    client, consequences,
    load::Load,
    session::use_session,
    time::Ago,
    ui::{Icon, Question, data_table, prose, state::StateBadge, use_toasts},
};

/// The section with the last check. Nothing for a deployment without resources in the cloud.
#[component]
pub fn CheckSection(deployment: Load<Deployment>) -> impl IntoView {
    let session = use_session();
    let toasts = use_toasts();
    let is_checking = RwSignal::new(false);
    let shown = Memo::new(move |_| {
        deployment.with(|it| {
            it.filter(|it| it.state != DeploymentState::Undeployed)
                .map(|it| {
                    let is_present = it.present_check().is_some();
                    (it.check.clone(), is_present, it.state)
                })
        })
    });
    let check = move |_| {
        let Some(it) = deployment.peek() else { return };
        is_checking.set(true);
        leptos::task::spawn_local(async move {
            let checked = client::check(&it.id).await;
            let _gone = is_checking.try_set(false);
            match checked {
                Ok(_) => deployment.reload(),
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    let repair = repairer(deployment);
    move || {
        let (last, is_present, state) = shown.get()?;
        let is_busy = state == DeploymentState::Busy;
        let locked = move || is_checking.get() || !session.can_change();
        let is_suspended = state == DeploymentState::Suspended;
        let has_damage =
            is_present && !is_suspended && last.as_ref().is_some_and(Check::has_damage);
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
            None => quiet("Not checked yet. A check compares each resource with the cloud: it finds resources that are gone, broken, or changed by hand. It also runs the health checks of the software. It changes nothing."),
            Some(_) if !is_present => quiet("A run began after the last check. Check again to compare with the cloud."),
            Some(check) if check.findings.is_empty() => view! {
                <p class="check-whole"><Icon name="circle-check" />"All compared resources are as deployed."</p>
            }
            .into_any(),
            Some(check) => findings(check.findings),
        };
        Some(view! {
            <section class="section" aria-label="Check">
                <div class="section-head">
                    <h2>"Check"</h2>
                    {about}
                    <button type="button" class="button" data-size="small" disabled=locked on:click=check>
                        {move || if is_checking.get() {
                            view! { <span data-look="running"><Icon name="loader-circle" /></span>"Checking…" }.into_any()
                        } else {
                            view! { <Icon name="refresh-cw" />"Check now" }.into_any()
                        }}
                    </button>
                    {has_damage.then(|| view! {
                        <button
                            type="button" class="button" data-look="primary" data-size="small" disabled=move || is_busy || locked()
                            on:click=move |_| repair.run(())
                        >
                            <Icon name="wrench" />
                            "Repair"
                        </button>
                    })}
                </div>
                {result}
            </section>
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

fn findings(findings: Vec<Finding>) -> AnyView {
    let rows = findings
        .into_iter()
        .map(|finding| {
            let changed = finding.differences.iter().map(difference).collect_view();
            let text = match (finding.kind, finding.text.as_str()) {
                (FindingKind::Gone, "") => "It no longer exists.",
                (_, text) => text,
            };
            let text = prose(text);
            view! {
                <tr data-finding=finding.resource.clone()>
                    <td>{finding.resource.clone()}</td>
                    <td class="quiet">{finding.resource_type.clone()}</td>
                    <td class="fit"><StateBadge state=finding.kind /></td>
                    <td>{text}{changed}</td>
                </tr>
            }
        })
        .collect_view();
    data_table(["Resource", "Type", "Found", "Difference"], rows).into_any()
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

/// Shows the plan of a repair, and starts it.
fn repairer(deployment: Load<Deployment>) -> Callback<()> {
    let proposals = Proposals::new();
    Callback::new(move |()| {
        let Some(it) = deployment.peek() else { return };
        let Some(check) = it.present_check().map(|check| check.id.clone()) else {
            return;
        };
        let request = PlanRequest {
            repair: true,
            ..it.plan_request()
        };
        let name = it.name.clone();
        proposals.propose(
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
    })
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
        format!("{}: {}", change.resource, because.replace('`', ""))
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
