//! A change of the deployment that is planned, shown to the user, and started after a confirmation: scaling, repair,
//! other versions of items, roll-back.
//!
//! The request for the start names the plan by its digest, so that no other plan is carried out than the one that was shown.
//! If the plan has changed since, the new one is shown. A question comes up only on the page where the change was requested.

use std::{future::Future, pin::Pin, sync::Arc};

use api::{Action, Change, Plan, PlanRequest, Severity, Started};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::{
    browser,
    client::{self, Answer},
    ui::{Confirm, Question, ToastList, use_confirm, use_leaving, use_toasts},
};

/// Note on a plan that is shown in the place of another one.
const CHANGED: &str =
    "Nothing was started: the plan has changed since it was shown. This is the new plan.";

type Pending<T> = Pin<Box<dyn Future<Output = Answer<T>>>>;

/// A change that can be planned again.
struct Proposal {
    /// Path of the page where the change was requested.
    page: String,
    plan: Box<dyn Fn() -> Pending<Plan> + Send + Sync>,
    question: Box<dyn Fn(&Plan) -> Question + Send + Sync>,
    start: Box<dyn Fn(Plan) -> Pending<Started> + Send + Sync>,
}

impl Proposal {
    fn is_on_page(&self) -> bool {
        browser::path() == self.page
    }
}

/// Plans, asks and starts. Created with the page, because it uses the page's context.
#[derive(Clone, Copy)]
pub struct Proposals {
    confirm: Confirm,
    toasts: ToastList,
    navigate: StoredValue<Callback<String>>,
}

impl Proposals {
    /// Proposals of the current page.
    pub(crate) fn new() -> Proposals {
        let navigate = StoredValue::new_local(use_navigate());
        let leaving = use_leaving();
        let open = move |address: String| {
            if leaving.can_leave() {
                navigate.try_with_value(|navigate| navigate(&address, NavigateOptions::default()));
            }
        };
        Proposals {
            confirm: use_confirm(),
            toasts: use_toasts(),
            navigate: StoredValue::new(Callback::new(open)),
        }
    }

    /// Plans `request`, asks the `question` about the plan, and calls `start` if the user agrees. Then the run is shown.
    pub fn propose<S: Future<Output = Answer<Started>> + 'static>(
        self,
        request: PlanRequest,
        question: impl Fn(&Plan) -> Question + Send + Sync + 'static,
        start: impl Fn(Plan) -> S + Send + Sync + 'static,
    ) {
        let plan = move || {
            let request = request.clone();
            async move { client::plan(&request).await }
        };
        self.propose_plan(plan, question, start);
    }

    /// Like [`propose`](Self::propose), for a plan from another request.
    pub fn propose_plan<
        P: Future<Output = Answer<Plan>> + 'static,
        S: Future<Output = Answer<Started>> + 'static,
    >(
        self,
        plan: impl Fn() -> P + Send + Sync + 'static,
        question: impl Fn(&Plan) -> Question + Send + Sync + 'static,
        start: impl Fn(Plan) -> S + Send + Sync + 'static,
    ) {
        let proposal = Proposal {
            page: browser::path(),
            plan: Box::new(move || Box::pin(plan())),
            question: Box::new(question),
            start: Box::new(move |reviewed| Box::pin(start(reviewed))),
        };
        self.show(Arc::new(proposal), None);
    }

    /// Plans and asks. The note comes first in the question.
    fn show(self, proposal: Arc<Proposal>, note: Option<&'static str>) {
        leptos::task::spawn_local(async move {
            let answer = (proposal.plan)().await;
            if !proposal.is_on_page() {
                return;
            }
            let plan = match answer {
                Ok(plan) => plan,
                Err(problem) => return self.toasts.problem(&problem),
            };
            let mut question = (proposal.question)(&plan);
            if let Some(note) = note {
                question.body.insert(0, note.to_owned());
            }
            self.confirm.ask(question, move || {
                self.start(proposal.clone(), plan.clone());
            });
        });
    }

    /// Starts what was shown. If its plan has changed, the new one is shown.
    fn start(self, proposal: Arc<Proposal>, plan: Plan) {
        leptos::task::spawn_local(async move {
            match (proposal.start)(plan).await {
                Ok(started) => {
                    let address = format!("/runs/{}", started.run);
                    self.navigate
                        .try_with_value(|navigate| navigate.run(address));
                }
                Err(problem) if problem.code == "plan-changed" && proposal.is_on_page() => {
                    self.show(proposal, Some(CHANGED));
                }
                Err(problem) => self.toasts.problem(&problem),
            }
        });
    }
}

/// The resources that a plan changes.
pub fn changed(plan: &Plan) -> impl Iterator<Item = &Change> {
    let changes = plan.changes.iter();
    changes.filter(|change| change.action != Action::None)
}

/// Warnings and errors of a plan as sentences.
pub fn problems(plan: &Plan) -> impl Iterator<Item = String> + '_ {
    let problems = plan.diagnostics.iter();
    problems
        .filter(|one| one.severity != Severity::Info)
        .map(|one| format!("{}.", one.message))
}
