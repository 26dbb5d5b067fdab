//! The plan: the changes of a deployment, and the workflow for them. The Deploy button starts it.
//!
//! The server computes the plan from the template, the cloud's facts and the current deployment. The page requests a
//! new plan when a parameter or the deployment to update changes. The template is a design's, or that of an earlier run to
//! which a deployment is rolled back.

mod change_row;
mod changes;
mod consequences;
mod parameters;
mod quota;
mod source;
mod values;

use api::{
    DeployRequest, Deployment, DeploymentState, OnFailure, PermissionRequest, Plan, PlanRequest,
    Problem, Run, Severity,
};
use leptos::{ev::SubmitEvent, prelude::*};
use leptos_meta::Title;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_params_map, use_query_map},
};

use self::{
    changes::Changes,
    parameters::{Form, Parameters},
    quota::QuotaLine,
    source::{Origin, Source},
};
use super::{
    designs::file_stem,
    permission::{PermissionForm, PermissionNotes, can_give},
};
use crate::{
    client::{self, Types},
    frame::{Crumb, use_frame},
    graph::{GraphStep, WorkflowGraph},
    load::{Load, Loaded},
    session::use_session,
    time::Ago,
    ui::{
        Command, Confirm, Diagnostics, Empty, Icon, ProblemCard, ProblemNote, Question, ToastList,
        skeleton, state::run_title, use_confirm, use_palette, use_toasts,
    },
};

/// State shared by the parts of this page.
#[derive(Clone, Copy)]
struct Page {
    source: Load<Source>,
    deployments: Load<Vec<Deployment>>,
    types: Load<Types>,
    plan: RwSignal<Loaded<Plan>>,
    form: Form,
    /// Id of the deployment to update. `None` for a new deployment.
    target: RwSignal<Option<String>>,
    name: RwSignal<String>,
    refused: RwSignal<Option<Problem>>,
    busy: RwSignal<bool>,
    /// Reaction to a failed update.
    on_failure: RwSignal<OnFailure>,
    /// The standing permission that is given with the deployment, if the design needs one.
    permission: PermissionForm,
    /// True if the run shall start although a quota is too small.
    despite_quota: RwSignal<bool>,
    /// True for the drawing, false for the workflow.
    shows_drawing: RwSignal<bool>,
}

/// The page of `/designs/:id/plan`.
#[component]
pub fn PlanPage() -> impl IntoView {
    let (id, query) = (id_of_page(), use_query_map());
    let page = Page::new(Load::new(move || {
        let id = id.get();
        async move { Source::of_design(&id).await }
    }));
    Effect::new(move |_| page.target.set(query.with(|query| query.get("deployment"))));
    let name = Memo::new(move |_| page.source_name());
    use_frame().crumbs(move || {
        vec![
            Crumb::link("Designs", "/designs"),
            Crumb::link(
                name.get().unwrap_or_else(|| String::from("Design")),
                format!("/designs/{}", id.get()),
            ),
            Crumb::here("Plan"),
        ]
    });
    view! { <Title text=move || format!("Plan: {}", name.get().unwrap_or_default()) /> {page.view()} }
}

/// The page of `/deployments/:id/plan?run=...`: the plan of a roll-back to the content of an earlier run.
#[component]
pub fn RollBackPlanPage() -> impl IntoView {
    let (id, query) = (id_of_page(), use_query_map());
    let run = Memo::new(move |_| query.with(|query| query.get("run")).unwrap_or_default());
    let page = Page::new(Load::new(move || {
        let run = run.get();
        async move { Source::of_run(&run).await }
    }));
    Effect::new(move |_| page.target.set(Some(id.get())));
    let name = Memo::new(move |_| {
        let id = id.get();
        page.deployments.with(|all| {
            let found = all?.iter().find(|one| one.id == id)?;
            Some(found.name.clone())
        })
    });
    use_frame().crumbs(move || {
        vec![
            Crumb::link("Deployments", "/deployments"),
            Crumb::link(
                name.get().unwrap_or_else(|| String::from("Deployment")),
                format!("/deployments/{}", id.get()),
            ),
            Crumb::here("Roll back"),
        ]
    });
    view! { <Title text=move || format!("Roll back: {}", name.get().unwrap_or_default()) /> {page.view()} }
}

/// The parameter `id` of the page's address.
fn id_of_page() -> Memo<String> {
    let params = use_params_map();
    Memo::new(move |_| params.with(|params| params.get("id")).unwrap_or_default())
}

impl Page {
    fn new(source: Load<Source>) -> Page {
        let page = Page {
            source,
            deployments: Load::new(client::deployments),
            types: Load::new(client::resource_types),
            plan: RwSignal::new(Loaded::Loading),
            form: Form::new(),
            target: RwSignal::new(None),
            name: RwSignal::new(String::new()),
            refused: RwSignal::new(None),
            busy: RwSignal::new(false),
            on_failure: RwSignal::new(OnFailure::Stop),
            permission: PermissionForm::empty(),
            despite_quota: RwSignal::new(false),
            shows_drawing: RwSignal::new(false),
        };
        // The name and the parameters are first those of the source. The user can then change them.
        Effect::new(move |_| {
            page.source.with(|source| {
                let Some(source) = source else { return };
                page.form.read(&source.template, &source.beside.bundle());
                match &source.origin {
                    Origin::Design { name, .. } => {
                        if page.name.with_untracked(String::is_empty) {
                            page.name.set(file_stem(name));
                        }
                    }
                    Origin::Run { parameters, .. } => {
                        page.form.preset(parameters.clone().unwrap_or_default());
                    }
                }
            });
        });
        keep_planned(page);
        // A confirmation is about one plan.
        Effect::new(move |_| {
            page.plan.track();
            page.despite_quota.set(false);
        });
        page
    }

    fn view(self) -> impl IntoView {
        let deploy = deployer(self);
        use_palette().register(vec![
            Command::new("Plan", "rocket", "Deploy", move || deploy.run(())).keys("Ctrl+Enter"),
        ]);
        let body = move || {
            match self.source.state() {
            Loaded::Loading => view! { <div class="plan-body"><div class="plan-side">{skeleton::rows(7)}</div>{skeleton::panel()}</div> }.into_any(),
            Loaded::Failed(problem) => {
                view! { <ProblemCard problem retry=Callback::new(move |()| self.source.reload()) /> }.into_any()
            }
            Loaded::Ready(_) => view! { <Body page=self deploy /> }.into_any(),
        }
        };
        view! { <div class="plan">{body}</div> }
    }

    /// Name of the design. Tracks.
    fn source_name(self) -> Option<String> {
        self.source.with(|source| match &source?.origin {
            Origin::Design { name, .. } => Some(name.clone()),
            Origin::Run { .. } => None,
        })
    }

    /// Id of the design. `None` for the content of a run. Tracks.
    fn design(self) -> Option<String> {
        self.source
            .with(|source| source?.design().map(str::to_owned))
    }

    /// Name of what the plan is for. Tracks.
    fn verb(self) -> &'static str {
        if self.run().is_some() {
            "Roll back"
        } else if self.target.with(Option::is_none) {
            "Deploy"
        } else {
            "Update"
        }
    }

    /// The run whose content is planned. Tracks.
    fn run(self) -> Option<Run> {
        self.source.with(|source| match &source?.origin {
            Origin::Run { run, .. } => Some((**run).clone()),
            Origin::Design { .. } => None,
        })
    }
}

impl Page {
    /// True if the plan hands out the address of a policy. Tracks.
    fn needs_permission(self) -> bool {
        self.plan.with(|plan| match plan {
            Loaded::Ready(plan) => plan
                .workflow
                .as_ref()
                .is_some_and(planner::scaling::passes_addresses_on),
            _ => false,
        })
    }

    /// The permission that is given with the deployment.
    fn permission_untracked(self) -> Option<PermissionRequest> {
        untrack(|| self.needs_permission().then(|| self.permission.request())?)
    }
}

/// Reaction to an insufficient quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverQuota {
    Refuse,
    DeployAnyway,
}

/// Requests a new plan shortly after a change of its inputs.
fn keep_planned(page: Page) {
    let request_number = StoredValue::new(0_u32);
    Effect::new(move |before: Option<bool>| {
        let Some((template, beside)) = page
            .source
            .with(|source| source.map(|source| (source.template.clone(), source.beside.clone())))
        else {
            return false;
        };
        let request = PlanRequest {
            template,
            beside,
            parameters: page.form.values(),
            deployment: page.target.get(),
            ..PlanRequest::default()
        };
        let number = request_number.get_value() + 1;
        request_number.set_value(number);
        let pause_ms = if before == Some(true) { 300 } else { 0 };
        let ask = move || {
            if request_number.try_get_value() != Some(number) {
                return;
            }
            leptos::task::spawn_local(async move {
                let answer = client::plan(&request).await;
                if request_number.try_get_value() == Some(number) {
                    page.plan.try_set(match answer {
                        Ok(plan) => Loaded::Ready(plan),
                        Err(problem) => Loaded::Failed(problem),
                    });
                }
            });
        };
        if pause_ms == 0 {
            ask()
        } else {
            crate::browser::after_ms(pause_ms, ask)
        }
        true
    });
}

/// Starts the run and opens its page. Requests a confirmation if resources are removed.
fn deployer(page: Page) -> Callback<()> {
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
        let going = page.plan.with_untracked(changes::destructive);
        if going.is_empty() {
            return starter.start(over_quota);
        }
        let verb = untrack(|| page.verb());
        let question = Question {
            title: format!("{verb} and lose the data of these resources?"),
            body: vec![String::from(
                "They are removed from the cloud, with all their data. A replaced resource is removed after its replacement exists.",
            )],
            items: going,
            action: String::from(verb),
            danger: true,
        };
        confirm.ask(question, move || starter.start(over_quota));
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
        let base_run = page.plan.with_untracked(|plan| match plan {
            Loaded::Ready(plan) => plan.base_run.clone(),
            _ => None,
        });
        let permission = page.permission_untracked();
        if let Some(problem) = permission.as_ref().and_then(PermissionRequest::problem) {
            return self.toasts.warn(format!("Not started: {problem}."));
        }
        page.busy.set(true);
        page.refused.set(None);
        leptos::task::spawn_local(async move {
            let content = match source.origin {
                // The planned template: the design may have a newer version by now.
                Origin::Design { id, .. } => DeployRequest {
                    design: Some(id),
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
                despite_quota: over_quota == OverQuota::DeployAnyway,
                ..content
            };
            let answer = match target {
                Some(target) => client::deployment_update(&target, &request).await,
                None => client::deploy(&request).await,
            };
            page.busy.try_set(false);
            match answer {
                Ok(started) => {
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
    /// True if there is a workflow for the current form, and if it fits the quota or the user has confirmed that it does
    /// not.
    fn is_deployable(self) -> bool {
        self.plan
            .with(|plan| deployable(plan) && (quota::fits(plan) || self.despite_quota.get()))
    }
}

fn deployable(plan: &Loaded<Plan>) -> bool {
    matches!(plan, Loaded::Ready(plan) if plan.workflow.is_some() && !plan.diagnostics.iter().any(|it| it.severity == Severity::Error))
}

#[component]
fn Body(page: Page, deploy: Callback<()>) -> impl IntoView {
    let selected = RwSignal::new(None::<String>);
    let right = move || {
        if page.shows_drawing.get() {
            return view! { <changes::Drawn plan=page.plan source=page.source selected /> }
                .into_any();
        }
        page.plan.with(|plan| match plan {
            Loaded::Loading => skeleton::panel(),
            Loaded::Failed(_) => ().into_any(),
            Loaded::Ready(plan) => match &plan.workflow {
                Some(workflow) if workflow.steps.is_empty() => view! {
                    <Empty icon="circle-check" title="Nothing to do" text="The deployment matches the design." />
                }
                .into_any(),
                Some(workflow) => {
                    let steps = workflow
                        .steps
                        .iter()
                        .map(|step| GraphStep {
                            id: step.id.clone(),
                            kind: step.kind,
                            resource: step.resource.clone(),
                            after: step.after.clone(),
                            always_run: step.always_run,
                        })
                        .collect::<Vec<_>>();
                    view! { <WorkflowGraph steps selected /> }.into_any()
                }
                None => view! {
                    <Empty
                        icon="triangle-alert" title="There is no workflow yet"
                        text="The template has errors, listed on the left. Correct them in the design, then plan again."
                    />
                }
                .into_any(),
            },
        })
    };
    let link = move || Some((page.design()?, page.target.get()));
    let left = move || {
        page.plan.with(|plan| match plan {
            Loaded::Loading => skeleton::rows(7),
            Loaded::Failed(problem) => view! { <PlanProblem problem=problem.clone() /> }.into_any(),
            Loaded::Ready(plan) => view! {
                <Diagnostics diagnostics=plan.diagnostics.clone() design=link() />
                <Changes plan=plan.clone() types=page.types.get().unwrap_or_default() link=link() selected />
            }
            .into_any(),
        })
    };
    view! {
        <Head page deploy />
        <div class="plan-body">
            <section class="plan-side" aria-label="Changes">
                <Parameters form=page.form />
                <PermissionQuestion page />
                {left}
            </section>
            <section class="plan-graph" aria-label=move || if page.shows_drawing.get() { "Drawing" } else { "Workflow" }>
                <div class="segmented plan-view" role="group" aria-label="Show">
                    <button
                        type="button" aria-pressed=move || (!page.shows_drawing.get()).to_string()
                        on:click=move |_| page.shows_drawing.set(false)
                    >
                        "Workflow"
                    </button>
                    <button
                        type="button" aria-pressed=move || page.shows_drawing.get().to_string()
                        on:click=move |_| page.shows_drawing.set(true)
                    >
                        "Drawing"
                    </button>
                </div>
                {right}
            </section>
        </div>
    }
}

/// Asks for a standing permission if the plan passes the address of a policy on, to whatever is to signal it.
#[component]
fn PermissionQuestion(page: Page) -> impl IntoView {
    let session = use_session();
    let is_needed = Memo::new(move |_| page.needs_permission());
    let locked = Signal::derive(move || page.busy.get() || !can_give(session));
    move || {
        is_needed.get().then(|| {
            view! {
                <fieldset class="parameters permission">
                    <legend>"While nobody is here"</legend>
                    <p>"This design hands out the address of a scaling policy. Signals to it are refused unless you permit the deployment to scale by itself."</p>
                    <PermissionNotes />
                    {page.permission.fields(locked)}
                </fieldset>
            }
        })
    }
}

#[component]
fn PlanProblem(problem: Problem) -> impl IntoView {
    let problem = Signal::derive(move || Some(problem.clone()));
    view! { <ProblemNote problem /> }
}

#[component]
fn Head(page: Page, deploy: Callback<()>) -> impl IntoView {
    let session = use_session();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        deploy.run(());
    };
    // A design can be deployed again, or update one of its deployments.
    let targets = move || {
        let (design, target) = (page.design(), page.target.get());
        page.deployments.with(|deployments| {
            deployments
                .into_iter()
                .flatten()
                .filter(|it| {
                    (design.is_some() && it.design == design) || target.as_ref() == Some(&it.id)
                })
                .filter(|it| {
                    matches!(
                        it.state,
                        DeploymentState::Deployed | DeploymentState::Failed
                    )
                })
                .map(|it| (it.id.clone(), it.name.clone()))
                .collect::<Vec<_>>()
        })
    };
    let choice = move || {
        let targets = targets();
        (!targets.is_empty() && page.design().is_some()).then(|| view! {
            <label class="sr-only" for="plan-target">"Deploy as"</label>
            <select
                class="input" id="plan-target"
                on:change=move |event| {
                    let value = event_target_value(&event);
                    page.target.set((!value.is_empty()).then_some(value));
                }
            >
                <option value="">"New deployment"</option>
                {targets.into_iter().map(|(id, name)| {
                    let chosen = page.target.with_untracked(|target| target.as_ref() == Some(&id));
                    view! { <option value=id selected=chosen>{format!("Update {name}")}</option> }
                }).collect_view()}
            </select>
        })
    };
    let is_new = move || page.target.with(Option::is_none);
    let disabled = move || page.busy.get() || !session.can_change() || !page.is_deployable();
    let back_to = move || {
        page.run().map(|run| view! {
            <p class="meta">
                "To the content of "<a class="link" href=format!("/runs/{}", run.id)>{run_title(&run)}" by "{run.author.clone()}</a>
                ", "<Ago time=run.created />". Hidden parameters keep their present values."
            </p>
        })
    };
    view! {
        <header class="plan-head">
            <div class="plan-summary">
                <h1>"Plan"</h1>
                <Counts page />
                <QuotaLine plan=page.plan />
                {back_to}
            </div>
            <form class="plan-deploy" on:submit=submit>
                {choice}
                <div class="plan-name" hidden=move || !is_new()>
                    <label for="deployment-name">"Deployment name"</label>
                    <input
                        class="input" id="deployment-name" autocomplete="off" spellcheck="false" maxlength="63" pattern="[A-Za-z0-9_\\-]+"
                        title="Letters, digits, - and _" required=is_new prop:value=move || page.name.get()
                        on:input=move |event| page.name.set(event_target_value(&event))
                    />
                </div>
                <label class="plan-on-failure" hidden=is_new>
                    <input
                        type="checkbox" prop:checked=move || page.on_failure.get() == OnFailure::Rollback
                        on:change=move |event| page.on_failure.set(if event_target_checked(&event) {
                            OnFailure::Rollback
                        } else {
                            OnFailure::Stop
                        })
                    />
                    "Roll back if it fails"
                </label>
                <label class="plan-on-failure" hidden=move || page.plan.with(quota::fits)>
                    <input
                        type="checkbox" prop:checked=move || page.despite_quota.get()
                        on:change=move |event| page.despite_quota.set(event_target_checked(&event))
                    />
                    "Deploy despite the quota"
                </label>
                <button type="submit" class="button" data-look="primary" data-size="large" disabled=disabled>
                    <Icon name="rocket" />
                    {move || page.verb()}
                </button>
            </form>
        </header>
        <ProblemNote problem=page.refused />
    }
}

#[component]
fn Counts(page: Page) -> impl IntoView {
    move || {
        page.plan.with(|plan| {
            let Loaded::Ready(plan) = plan else {
                return ().into_any();
            };
            let steps = plan
                .workflow
                .as_ref()
                .map_or(0, |workflow| workflow.steps.len());
            let counts = changes::counts(plan);
            view! {
                <ul class="plan-counts" aria-label="Changes">
                    {counts.into_iter().map(|(word, look, count)| view! {
                        <li data-action=look><strong>{count}</strong>" "{word}</li>
                    }).collect_view()}
                    <li><strong>{steps}</strong>" steps"</li>
                </ul>
            }
            .into_any()
        })
    }
}
