//! The cause of a failed run: the step, the last lines of its program, the reason, and the next actions. A cancelled run
//! has next actions too.

use api::{RunKind, RunState, RunStep, StepKind};
use hot::document::Document;
use leptos::prelude::*;

use super::{
    RunView,
    chain::{Chain, server_of},
    header::ResumeButton,
};
use crate::{
    client::Force,
    links::DesignLink,
    operations::console::ConsoleDialog,
    pages::deployment::{
        design::{KnownDesign, known_design},
        runs::{can_roll_back_to, roll_back_href},
        undeploy,
    },
    session::use_session,
    time::Ago,
    ui::{
        Icon,
        menu::Menu,
        prose,
        state::{DisplayState, icon_of, run_title},
    },
};

/// Number of log lines in the card.
const LINES: usize = 6;

/// The card of a run that failed or is paused, and of a cancelled one that nothing has followed. Nothing for other runs.
#[component]
pub fn CauseCard(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    let cause = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            let is_bad = matches!(
                model.run.state,
                RunState::Failed | RunState::Failing | RunState::Paused | RunState::Cancelled
            );
            is_bad.then(|| {
                // Several servers can have failed: the run names them all.
                let is_cause = |step: &&RunStep| {
                    step.kind != StepKind::Command && model.run.state != RunState::Cancelled
                };
                let cause = model.cause().filter(is_cause);
                let step = cause.map(|step| (step.id.clone(), step.error.clone()));
                (
                    model.run.state,
                    model.run.reason.clone(),
                    step,
                    model.run.kind,
                )
            })
        })
    });
    let allows_follow_up = Memo::new(move |_| view.allows_follow_up());
    // An update that takes the place of a cancelled run begins by itself.
    let is_open_ended = Memo::new(move |_| {
        let id = view.id.get();
        let is_replaced = view.runs.with(|runs| {
            let run = runs?.iter().find(|run| run.id == id)?;
            Some(run.replaced_by.is_some())
        });
        allows_follow_up.get() && is_replaced == Some(false)
    });
    let closed = RwSignal::new(false);
    // Another failure, as after a resume, opens the card again.
    Effect::new(move |_| {
        cause.track();
        closed.set(false);
    });
    move || {
        let (state, reason, step, kind) = cause.get()?;
        if closed.get() || (state == RunState::Cancelled && !is_open_ended.get()) {
            return None;
        }
        let id = step.as_ref().map(|(id, _)| id.clone());
        let error = step
            .and_then(|(_, error)| error)
            .or_else(|| reason.clone())
            .unwrap_or_default();
        let lines = {
            let id = id.clone();
            let reason_above = error.clone();
            move || {
                view.feed.log_version.track();
                let lines = id.as_ref().and_then(|id| {
                    view.feed
                        .log
                        .try_with_value(|log| log.excerpt(id, &reason_above, LINES))
                })?;
                (!lines.is_empty())
                    .then(|| view! { <pre class="cause-lines">{lines.join("\n")}</pre> })
            }
        };
        // Neither a suspension nor a resumption depends on the design.
        let edit = (allows_follow_up.get() && kind.changes_resources()).then(|| {
            // A removal fails for reasons outside of the properties.
            let step = id.clone().filter(|_| kind != RunKind::Undeploy);
            view! { <EditButtons view step error=error.clone() /> }
        });
        let title = match (state, &id) {
            (RunState::Paused, _) => String::from("The run is paused"),
            (RunState::Cancelled, _) => String::from("The run was cancelled"),
            (_, Some(id)) => format!("{id} failed"),
            (RunState::Failing, None) => String::from("The run is failing"),
            (_, None) => String::from("The run failed"),
        };
        let show_log = {
            let id = id.clone();
            move |_| {
                view.selected.set(id.clone());
            }
        };
        let chain = id.clone().map(|id| view! { <ChainView view id /> });
        let console = id.clone().map(|id| view! { <ConsoleButton view id /> });
        let retried = id.clone();
        let log_button = id.map(|id| view! {
            <button type="button" class="button" on:click=show_log><Icon name="terminal" />{format!("Log of {id}")}</button>
        });
        // A run in state Failing cannot be resumed, nor one that a newer run has replaced.
        let allows_follow_up = allows_follow_up.get();
        // No run follows from these, but their advice is about the deployment's page.
        let is_advised = allows_follow_up || matches!(kind, RunKind::Snapshot | RunKind::Restore);
        let force = match (state, kind) {
            (RunState::Failed, RunKind::Undeploy) => Force::Yes,
            _ => Force::No,
        };
        let buttons = (allows_follow_up && state.is_final()).then(
            || view! { <ResumeButton view step=retried /><RollBack view /><UndeployButton view force /> },
        );
        let is_paused = allows_follow_up && state == RunState::Paused;
        let resume_paused = is_paused.then(|| view! { <ResumeButton view step=None /> });
        let undeploy_paused = (is_paused && matches!(kind, RunKind::Deploy | RunKind::Update))
            .then(|| view! { <UndeployButton view force /> });
        Some(view! {
            <section
                class="cause" data-testid="cause" data-look=state.look()
                role=if state == RunState::Cancelled { "status" } else { "alert" }
            >
                <Icon name=icon_of(state.look()) />
                <div class="cause-body">
                    <h2>{title}</h2>
                    {lines}
                    {(!error.is_empty()).then(|| view! { <p class="cause-reason">{prose(&error)}</p> })}
                    {chain}
                    {is_advised.then(|| view! { <p class="quiet">{advice(state, kind)}</p> })}
                    <div class="cause-actions">{resume_paused}{edit}{buttons}{undeploy_paused}{log_button}{console}</div>
                </div>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon" aria-label="Close" on:click=move |_| closed.set(true)
                >
                    <Icon name="x" />
                </button>
            </section>
        })
    }
}

/// Links to the property at fault, and to the plan that continues with the changed design.
#[component]
fn EditButtons(view: RunView, step: Option<String>, error: String) -> impl IntoView {
    let design = known_design(move || view.content.with(|content| content?.design.clone()));
    move || {
        if design.with(|known| known == Some(&Some(KnownDesign::Deleted))) {
            return None;
        }
        let resource = step.as_ref().and_then(|step| {
            view.feed.model.with_untracked(|model| {
                let step = model.as_ref()?.step(step)?;
                Some((step.resource.clone()?, step.kind))
            })
        });
        let is_over = view.is_over();
        view.content.with(|content| {
            let content = content?;
            // Without it, the links would lead to a new deployment.
            let deployment = view.deployment.with(|it| it.map(|it| it.id.clone()))?;
            let link = DesignLink {
                design: content.design.as_deref()?,
                deployment: Some(&deployment),
                ..DesignLink::default()
            };
            let document = Document::parse(content.template.clone());
            let edit = resource.as_ref().and_then(|(name, kind)| {
                let name = planner::members::drawn(name);
                let drawn = document.template().resource(name)?;
                let properties: Vec<&str> =
                    drawn.properties.iter().map(|one| one.name.as_str()).collect();
                let property = property_at_fault(&error, *kind, &properties);
                let href = DesignLink { resource: Some(name), property, ..link }.editor();
                let what = property.unwrap_or(name).to_owned();
                Some(view! { <a class="button" href=href><Icon name="pencil" />"Edit "<code>{what}</code></a> })
            });
            // The plan of an update of this deployment. The design may have a newer version by now.
            let go_on = is_over.then(|| view! {
                <a class="button" href=link.plan()><Icon name="rocket" />"Update and continue"</a>
            });
            Some(view! { {edit}{go_on} })
        })
    }
}

/// The property that an error names in backticks, otherwise the one that usually is at fault for this kind of step.
fn property_at_fault<'a>(error: &str, kind: StepKind, properties: &[&'a str]) -> Option<&'a str> {
    let known = |name: &str| properties.iter().find(|one| **one == name).copied();
    let named = error.split('`').skip(1).step_by(2);
    let usual = match kind {
        StepKind::Configure => known("script"),
        StepKind::WaitForSsh => known("user_data"),
        _ => None,
    };
    named
        .filter_map(|name| known(name.split('.').next().unwrap_or(name)))
        .next()
        .or(usual)
}

fn advice(state: RunState, kind: RunKind) -> &'static str {
    match (state, kind) {
        (RunState::Paused, RunKind::Deploy | RunKind::Update) => {
            "Your session with the cloud has ended. Log in again, then resume. Completed steps are not repeated. Or undeploy to remove all resources of the deployment."
        }
        (RunState::Paused, _) => {
            "Your session with the cloud has ended. Log in again, then resume. Completed steps are not repeated."
        }
        (RunState::Failed | RunState::Cancelled, RunKind::Snapshot) => {
            "The deployment is as before. What is complete can be restored on its page. Or delete the snapshot there, and take another."
        }
        (RunState::Failed | RunState::Cancelled, RunKind::Restore) => {
            "Servers and volumes whose step did not succeed can have old or new data, be in state ERROR, or be detached from each other. Check the deployment, repair it if needed, then restore it again."
        }
        (RunState::Cancelled, RunKind::Update) => {
            "Created resources stay. Resume: completed steps are not repeated. Or update to something else, or roll back to the state before the change."
        }
        (RunState::Cancelled, RunKind::Deploy) => {
            "Created resources stay. Resume: completed steps are not repeated. Or edit the design, then update. Or undeploy to remove the created resources."
        }
        (RunState::Cancelled, _) => "Resume: completed steps are not repeated.",
        (RunState::Failing, _) => {
            "Running steps may still end, and the bastion is closed. No new steps start."
        }
        (_, RunKind::Update) => {
            "Was the cause outside, such as a quota? Resume: completed steps are not repeated. Was it in the design? Edit it, then update. Or roll back to the state before the change."
        }
        (_, RunKind::Undeploy) => {
            "Is the cause corrected? Resume: removed resources are skipped. To keep the deployment, update it. A forced undeploy skips the resources that cannot be removed, and the run lists them."
        }
        (_, RunKind::Suspend | RunKind::Resume) => {
            "Is the cause corrected? Resume: completed steps are not repeated. On its page, the deployment can also be suspended or resumed as a whole."
        }
        (_, RunKind::Deploy | RunKind::Command | RunKind::Snapshot | RunKind::Restore) => {
            "Was the cause outside, such as a quota? Resume: completed steps are not repeated. Was it in the design? Edit it, then update. Or undeploy to remove the created resources."
        }
    }
}

/// Links to the plans of roll-backs: to the last good state, and a menu of all earlier ones.
#[component]
fn RollBack(view: RunView) -> impl IntoView {
    let goals = Memo::new(move |_| {
        let goals = view.runs.with(|runs| {
            let runs = runs?;
            let mut goals: Vec<_> = runs
                .iter()
                .filter(|run| can_roll_back_to(run, runs))
                .cloned()
                .collect();
            goals.sort_by(|one, other| other.created.cmp(&one.created));
            Some(goals)
        });
        goals.filter(|_| view.can_change()).unwrap_or_default()
    });
    move || {
        let goals = goals.get();
        let last = goals.first()?;
        let title = "Plan a roll-back to the state before this run";
        let back = view! {
            <a class="button" href=roll_back_href(last) title=title><Icon name="undo-2" />"Roll back"</a>
        };
        let others = (goals.len() > 1).then(|| {
            let items = goals
                .iter()
                .map(|run| {
                    let what = run_title(run).into_owned();
                    view! {
                        <a class="menu-item" href=roll_back_href(run)>
                            <Icon name="undo-2" />{what}" by "{run.author.clone()}", "<Ago time=run.created.clone() />
                        </a>
                    }
                })
                .collect_view();
            let button = view! { <Icon name="chevron-down" /> }.into_any();
            view! { <Menu id="roll-back" label="Roll back to an earlier state" button>{items}</Menu> }
        });
        Some(view! { {back}{others} })
    }
}

/// Number of skipped steps that the card names. The rest is counted.
const SKIPPED: usize = 6;

/// The chain around the failed step.
#[component]
fn ChainView(
    view: RunView,
    /// Id of the failed step.
    id: String,
) -> impl IntoView {
    let chain = Memo::new(move |_| {
        view.feed
            .model
            .with(|model| Chain::around(model.as_ref()?, &id))
    });
    move || {
        let Chain {
            path,
            waited,
            done,
            skipped,
            others,
        } = chain.get()?;
        let place = (path.len() > 1).then(|| {
            let path = path.join(" › ");
            view! { <dt>"Place"</dt><dd><code>{path}</code></dd> }
        });
        let before = match (waited, done) {
            (0, _) => None,
            (1, 1) => Some(String::from("The step that it waited for succeeded.")),
            (all, done) if all == done => {
                Some(format!("All {all} steps that it waited for succeeded."))
            }
            (all, done) => Some(format!(
                "{done} of {all} steps that it waited for succeeded."
            )),
        };
        let before = before.map(|before| view! { <dt>"Before it"</dt><dd>{before}</dd> });
        let rest = skipped.len().saturating_sub(SKIPPED);
        let rest = (rest > 0).then(|| format!("and {rest} more"));
        let after = (!skipped.is_empty()).then(|| {
            let steps = skipped.iter().take(SKIPPED).map(|id| view! { <StepLink view id=id.clone() /> });
            view! { <dt>"Not started because of it"</dt><dd class="cause-steps">{steps.collect_view()}{rest}</dd> }
        });
        let others = (others > 0).then(|| {
            let steps = if others == 1 { "step" } else { "steps" };
            let text = format!("{others} other {steps}, because the run ended");
            view! { <dt>"Not started either"</dt><dd>{text}</dd> }
        });
        let is_alone = place.is_none() && before.is_none() && after.is_none() && others.is_none();
        (!is_alone).then(|| view! { <dl class="cause-chain" data-testid="chain">{place}{before}{after}{others}</dl> })
    }
}

/// Button that selects a step.
#[component]
fn StepLink(view: RunView, id: String) -> impl IntoView {
    let chosen = id.clone();
    view! {
        <button type="button" class="link mono" on:click=move |_| view.selected.set(Some(chosen.clone()))>{id}</button>
    }
}

/// Button that shows the console of the server that the failed step worked on.
#[component]
fn ConsoleButton(
    view: RunView,
    /// Id of the failed step.
    id: String,
) -> impl IntoView {
    let session = use_session();
    let shown = RwSignal::new(None::<String>);
    let server = Memo::new(move |_| {
        view.feed.model.with(|model| {
            let model = model.as_ref()?;
            let step = model.step(&id)?;
            view.deployment.with(|deployment| {
                let deployment = deployment?;
                let server = server_of(model, step, &deployment.resources)?;
                Some((deployment.id.clone(), server))
            })
        })
    });
    move || {
        // A later run can have replaced the server.
        let is_offered = session.can_change() && view.is_current();
        let (deployment, server) = server.get().filter(|_| is_offered)?;
        let label = format!("Console log of {server}");
        Some(view! {
            <button type="button" class="button" on:click=move |_| shown.set(Some(server.clone()))><Icon name="monitor" />{label}</button>
            <ConsoleDialog deployment server=shown />
        })
    }
}

/// Button that undeploys the deployment.
#[component]
fn UndeployButton(
    view: RunView,
    /// Treatment of resources that cannot be removed.
    force: Force,
) -> impl IntoView {
    let session = use_session();
    let undeploy = undeploy::undeploy_action();
    let (look, label) = match force {
        Force::Yes => ("danger", "Force undeploy"),
        Force::No => ("danger-quiet", "Undeploy"),
    };
    view! {
        <button
            type="button" class="button" data-look=look
            disabled=move || !session.can_change() || view.deployment.with(|it| it.is_none())
            on:click=move |_| if let Some(deployment) = view.deployment.peek() { undeploy.run((deployment, force)) }
        >
            <Icon name="trash-2" />
            {label}
        </button>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_fits_the_kind_of_the_run() {
        let of = |kind| advice(RunState::Failed, kind);
        assert!(of(RunKind::Update).contains("roll back"));
        assert!(of(RunKind::Deploy).contains("undeploy to remove"));
        assert!(of(RunKind::Undeploy).contains("forced undeploy"));
        assert!(!of(RunKind::Suspend).contains("design"));
        assert!(!of(RunKind::Snapshot).contains("Resume"));
        assert!(advice(RunState::Cancelled, RunKind::Update).contains("Created resources stay"));
        assert!(advice(RunState::Paused, RunKind::Undeploy).contains("Log in again"));
        assert!(advice(RunState::Paused, RunKind::Deploy).contains("undeploy to remove"));
    }

    #[test]
    fn the_property_at_fault_is_named_or_usual() {
        let of = |error, kind| property_at_fault(error, kind, &["flavor", "networks", "script"]);
        let create = StepKind::Create;
        assert_eq!(of("`web` has no `flavor`", create), Some("flavor"));
        assert_eq!(of("`networks.0.port`: gone", create), Some("networks"));
        assert_eq!(of("no host has room", create), None);
        assert_eq!(of("it ended with 3", StepKind::Configure), Some("script"));
    }
}
