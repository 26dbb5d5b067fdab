//! The plan: the changes of a deployment, and the workflow for them. The Deploy button starts it.
//!
//! The server computes the plan from the template, the cloud's facts and the current deployment. The page requests a
//! new plan when a parameter or the deployment to update changes. The template is a version of a design, or that of an
//! earlier run to which a deployment is rolled back.
//!
//! The page's address has all of it, so that others who open it see the same plan. It only names hidden and long
//! parameters, and the page says whose values are missing. Deploy starts what was reviewed: the version is sent with its
//! text, and the digest of the plan's changes. An update that replaces the active run is planned again when that run has
//! ended, which the page says before it is started.

mod address;
mod change_row;
mod changes;
mod head;
mod obstacle;
mod parameters;
mod permission;
mod quota;
mod sharing;
mod source;
mod start;
mod values;
mod version;

use api::{CatalogEntry, Deployment, OnFailure, Plan, PlanRequest, Problem, Run};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

pub use self::changes::Changes;
use self::{
    address::OmittedNote,
    head::Head,
    parameters::{Form, Parameters},
    permission::PermissionQuestion,
    source::{Origin, Source},
    start::deployer,
};
use super::designs::file_stem;
use crate::{
    client::{self, Types},
    connection::use_connection,
    frame::{Crumb, use_frame},
    graph::{GraphStep, WorkflowGraph},
    links::{LinkedDesign, SharedParameters},
    load::{Load, Loaded},
    operations::permission_form::PermissionForm,
    session::use_session,
    ui::{Command, Diagnostics, Empty, ProblemCard, ProblemNote, skeleton, use_palette},
};

/// State shared by the parts of this page.
#[derive(Clone, Copy)]
struct Page {
    source: Load<Source>,
    deployments: Load<Vec<Deployment>>,
    types: Load<Types>,
    /// The catalogue, with the versions of items that the plan uses.
    catalog: Load<Vec<CatalogEntry>>,
    plan: RwSignal<Loaded<Plan>>,
    /// True while a plan of the present inputs is not there yet.
    is_planning: RwSignal<bool>,
    /// Number of the requests for a new plan of the same inputs.
    requested: RwSignal<u32>,
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
    /// True if the update replaces the active run.
    replaces: RwSignal<bool>,
    /// True for the drawing, false for the workflow.
    shows_drawing: RwSignal<bool>,
}

/// The page of `/designs/:id/plan`.
#[component]
pub fn PlanPage() -> impl IntoView {
    let (id, query) = (id_of_page(), use_query_map());
    // A text that is no number leads to the server's answer that there is no such version.
    let version = Memo::new(move |_| {
        let version = query.with(|query| query.get("version"))?;
        Some(version.parse().unwrap_or(0))
    });
    let page = Page::new(Load::new(move || {
        let (id, version) = (id.get(), version.get());
        async move { Source::of_design(&id, version).await }
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
        let query = use_query_map();
        let plan = RwSignal::new(Loaded::<Plan>::Loading);
        let versions = Memo::new(move |_| plan.with(changes::item_versions));
        let page = Page {
            source,
            deployments: Load::new(client::deployments),
            types: Load::new(client::resource_types),
            catalog: Load::new(move || {
                let versions = versions.get();
                async move { client::catalog_with(&versions).await }
            }),
            plan,
            is_planning: RwSignal::new(true),
            requested: RwSignal::new(0),
            form: Form::new(),
            target: RwSignal::new(None),
            name: RwSignal::new(String::new()),
            refused: RwSignal::new(None),
            busy: RwSignal::new(false),
            on_failure: RwSignal::new(OnFailure::Stop),
            permission: PermissionForm::empty(),
            despite_quota: RwSignal::new(false),
            replaces: RwSignal::new(false),
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
                page.form
                    .fill(SharedParameters::of_query(&query.get_untracked()));
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
        let session = use_session();
        let start = Command::new("Plan", "rocket", "Start what is planned", move || {
            deploy.run(());
        });
        use_palette().register(vec![
            start
                .keys("Ctrl+Enter")
                .when(move || session.can_change() && self.is_deployable()),
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

    /// The design for links to places in it, also if the content of a run is planned. Tracks.
    fn linked_design(self) -> Option<LinkedDesign> {
        self.source.with(|source| {
            let link = source?.link()?;
            Some(LinkedDesign {
                id: link.design.to_owned(),
                version: link.version,
                deployment: self.target.get(),
                // A new plan follows each change of them.
                parameters: self.form.shared(),
            })
        })
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

    /// Requests a new plan of the same inputs, after the present one has turned out to be outdated.
    fn plan_again(self) {
        self.refused.set(None);
        self.plan.set(Loaded::Loading);
        self.deployments.reload();
        self.requested.update(|number| *number += 1);
    }

    /// The run whose content is planned. Tracks.
    fn run(self) -> Option<Run> {
        self.source.with(|source| match &source?.origin {
            Origin::Run { run, .. } => Some((**run).clone()),
            Origin::Design { .. } => None,
        })
    }
}

/// Requests a new plan shortly after a change of its inputs, and when a lost connection is back.
fn keep_planned(page: Page) {
    let request_number = StoredValue::new(0_u32);
    use_connection().on_return(move || {
        page.deployments.reload();
        page.requested.update(|number| *number += 1);
    });
    // At the end of a run, there is something else to plan from. A user who replaces a run reviews the present plan.
    let basis = Memo::new(move |_| (page.obstacle().is_none(), page.instead_of()));
    Effect::new(move |before: Option<bool>| {
        let Some((template, beside)) = page
            .source
            .with(|source| source.map(|source| (source.template.clone(), source.beside.clone())))
        else {
            // The plan of another version is not shown beside this one.
            page.plan.set(Loaded::Loading);
            return false;
        };
        page.is_planning.set(true);
        basis.track();
        page.requested.track();
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
            page.show_address();
            leptos::task::spawn_local(async move {
                let answer = client::plan(&request).await;
                if request_number.try_get_value() != Some(number) {
                    return;
                }
                match answer {
                    Ok(plan) => page.plan.try_set(Loaded::Ready(plan)),
                    Err(problem) if client::outage_of(&problem).is_some() => {
                        // The plan of earlier inputs stays visible. It cannot be deployed.
                        let is_shown = |plan: &Loaded<Plan>| matches!(plan, Loaded::Ready(_));
                        if page.plan.try_with_untracked(is_shown) != Some(true) {
                            page.plan.try_set(Loaded::Failed(problem));
                        }
                        return;
                    }
                    Err(problem) => page.plan.try_set(Loaded::Failed(problem)),
                };
                page.is_planning.try_set(false);
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
    let left = move || {
        page.plan.with(|plan| match plan {
            Loaded::Loading => skeleton::rows(7),
            Loaded::Failed(problem) => view! { <PlanProblem problem=problem.clone() /> }.into_any(),
            Loaded::Ready(plan) => view! {
                <Diagnostics diagnostics=plan.diagnostics.clone() design=page.linked_design() />
                <Changes
                    plan=plan.clone() types=page.types.get().unwrap_or_default() catalog=page.catalog.get().unwrap_or_default()
                    design=page.linked_design() selected
                />
            }
            .into_any(),
        })
    };
    view! {
        <Head page deploy />
        <div class="plan-body">
            <section class="plan-side" aria-label="Changes">
                <Parameters form=page.form />
                <OmittedNote page />
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

#[component]
fn PlanProblem(problem: Problem) -> impl IntoView {
    let problem = Signal::derive(move || Some(problem.clone()));
    view! { <ProblemNote problem /> }
}
