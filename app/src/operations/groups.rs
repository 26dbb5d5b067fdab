//! Groups that scale: their sizes, their policies as buttons, and a field for another size.
//!
//! A scaling starts after a confirmation that lists the changes of its plan.

use std::collections::BTreeMap;

use api::{Action, Deployment, DeploymentState, Plan, PlanRequest, ScaleRequest, ScalingGroup};
use leptos::{ev::SubmitEvent, prelude::*};

use super::proposal::{Proposals, changed, problems};
use crate::{
    client, consequences,
    load::Load,
    session::use_session,
    time::moment,
    ui::{Icon, Modal, Question, data_table},
};

/// The section of the deployment's scaling groups, or nothing if it has none.
#[component]
pub fn Groups(
    /// The deployment.
    deployment: Load<Deployment>,
) -> impl IntoView {
    let scale = scaler(deployment);
    let has_groups =
        Memo::new(move |_| deployment.with(|it| it.is_some_and(|it| !it.groups.is_empty())));
    move || {
        has_groups.get().then(|| {
            view! {
                <section class="section" aria-label="Groups">
                    <h2>"Groups"</h2>
                    <GroupTable deployment only=None scale />
                </section>
            }
        })
    }
}

/// The dialog that scales one group. Its plan is confirmed as on the deployment's page.
#[component]
pub fn ScaleDialog(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Name of the group. `None` while the dialog is closed.
    group: RwSignal<Option<String>>,
) -> impl IntoView {
    let scale = scaler(deployment);
    move || {
        let name = group.get()?;
        let open = RwSignal::new(true);
        Effect::new(move |_| {
            if !open.get() {
                group.set(None);
            }
        });
        let close_and_scale = Callback::new(move |wanted: (ScalingGroup, Option<String>, u64)| {
            open.set(false);
            scale.run(wanted);
        });
        let title = format!("Scale {name}");
        let name = StoredValue::new(name);
        Some(view! {
            <Modal open title size="large">
                <GroupTable deployment only=Some(name.get_value()) scale=close_and_scale />
                <div class="dialog-actions">
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                </div>
            </Modal>
        })
    }
}

/// The groups with their policies and a field for another size.
#[component]
fn GroupTable(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Name of the only group to show. `None` for all.
    only: Option<String>,
    /// Shows the plan of a scaling: the group, the policy, and the new size.
    scale: Callback<(ScalingGroup, Option<String>, u64)>,
) -> impl IntoView {
    let groups = Memo::new(move |_| {
        deployment.with(|it| {
            let groups = it.map(|it| it.groups.iter()).into_iter().flatten();
            let shown = groups.filter(|group| only.as_ref().is_none_or(|only| group.name == *only));
            let state = it.map_or(DeploymentState::Running, |it| it.state);
            (shown.cloned().collect::<Vec<_>>(), is_locked(state))
        })
    });
    move || {
        let (groups, is_busy) = groups.get();
        let rows = groups
            .into_iter()
            .map(|group| view! { <GroupRow group is_busy scale /> })
            .collect_view();
        data_table(
            ["Group", "Members", "Limits", "Policies", "Set the size"],
            rows,
        )
    }
}

/// True in the states in which no group can be scaled.
pub(super) fn is_locked(state: DeploymentState) -> bool {
    !matches!(state, DeploymentState::Deployed | DeploymentState::Failed)
}

#[component]
fn GroupRow(
    group: ScalingGroup,
    /// True while a run is active on the deployment, or it is suspended.
    is_busy: bool,
    scale: Callback<(ScalingGroup, Option<String>, u64)>,
) -> impl IntoView {
    let session = use_session();
    let locked = move || is_busy || !session.can_change();
    let group = StoredValue::new(group);
    let ScalingGroup {
        name,
        size,
        min_size,
        max_size,
        policies,
        cooldown_until,
    } = group.get_value();
    let wanted = RwSignal::new(size.to_string());
    let is_other_size = move || wanted.with(|wanted| wanted.trim().parse() != Ok(size));
    let policies = policies
        .into_iter()
        .map(|policy| {
            let to = policy.new_size;
            let label = policy.name.clone();
            view! {
                <button
                    type="button" class="button" data-size="small" disabled=move || locked() || to == size
                    title=if to == size { "Changes nothing now".to_owned() } else { format!("Scale to {to}") }
                    on:click=move |_| scale.run((group.get_value(), Some(policy.name.clone()), to))
                >
                    {format!("{label} → {to}")}
                </button>
            }
        })
        .collect_view();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if let Ok(to) = wanted.get_untracked().trim().parse() {
            scale.run((group.get_value(), None, to));
        }
    };
    view! {
        <tr data-group=name.clone()>
            <td>{name.clone()}</td>
            <td class="fit" data-size-now>{size}</td>
            <td class="fit quiet">{format!("{min_size} to {max_size}")}</td>
            <td>
                <span class="group-policies">{policies}</span>
                {cooldown_until.map(|until| view! { <span class="meta">{format!("Cooldown until {}", moment(&until))}</span> })}
            </td>
            <td class="fit">
                <form class="group-size" on:submit=submit>
                    <input
                        class="input" type="number" required=true step="1" min=min_size.to_string() max=max_size.to_string()
                        aria-label=format!("Size of {name}") prop:value=wanted disabled=locked
                        on:input=move |event| wanted.set(event_target_value(&event))
                    />
                    <button type="submit" class="button" data-size="small" disabled=move || locked() || !is_other_size()>
                        <Icon name="layers" />
                        "Scale"
                    </button>
                </form>
            </td>
        </tr>
    }
}

/// Shows the plan of a scaling, and starts it: the group, the policy, and the new size.
fn scaler(deployment: Load<Deployment>) -> Callback<(ScalingGroup, Option<String>, u64)> {
    let proposals = Proposals::new();
    Callback::new(
        move |(group, policy, to): (ScalingGroup, Option<String>, u64)| {
            let Some(it) = deployment.peek() else { return };
            let request = PlanRequest {
                groups: BTreeMap::from([(group.name.clone(), to)]),
                ..it.plan_request()
            };
            let scaling = move |group: &ScalingGroup, plan: &Plan| ScaleRequest {
                size: policy.is_none().then_some(to),
                force: policy.is_some() && group.cooldown_until.is_some(),
                policy: policy.clone(),
                base_run: plan.base_run.clone(),
                plan_digest: plan.digest.clone(),
                despite_quota: plan.exceeds_quota(),
            };
            let (asked, requested) = (group.clone(), scaling.clone());
            proposals.propose(
                request,
                move |plan| question(&asked, &requested(&asked, plan), to, plan),
                move |plan| {
                    let (id, group, scaling) =
                        (it.id.clone(), group.name.clone(), scaling(&group, &plan));
                    async move { client::scale(&id, &group, &scaling).await }
                },
            );
        },
    )
}

/// The confirmation with the plan's problems and changes.
fn question(group: &ScalingGroup, scaling: &ScaleRequest, to: u64, plan: &Plan) -> Question {
    let count = |wanted: Action| {
        let changes = plan.changes.iter();
        changes.filter(|change| change.action == wanted).count()
    };
    let mut body = vec![format!(
        "{} to create, {} to update, {} to replace, {} to remove. Failed members go first, then the oldest.",
        count(Action::Create),
        count(Action::Update),
        count(Action::Replace),
        count(Action::Delete)
    )];
    if let Some(until) = group.cooldown_until.as_ref().filter(|_| scaling.force) {
        body.push(format!(
            "The group was scaled a short time ago. Its cooldown ends at {}; the policy is applied anyway.",
            moment(until)
        ));
    }
    body.extend(consequences::losses(plan));
    body.extend(problems(plan));
    let items = changed(plan)
        .filter(|change| change.action != Action::Update)
        .map(consequences::line);
    Question {
        title: format!("Scale {}: {} → {to}?", group.name, group.size),
        body,
        items: items.collect(),
        action: if plan.exceeds_quota() {
            "Scale anyway"
        } else {
            "Scale"
        }
        .to_owned(),
        danger: count(Action::Delete) + count(Action::Replace) > 0,
    }
}
