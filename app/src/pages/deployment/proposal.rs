//! A change of the deployment that is planned, shown to the user, and started after a confirmation: scaling, repair,
//! other versions of items, roll-back.
//!
//! The request for the start names the plan by its digest, so that no other plan is carried out than the one that was shown.

use std::future::Future;

use api::{Action, Change, Plan, PlanRequest, Severity, Started};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::{
    client::{self, Answer},
    ui::{Confirm, Question, ToastList, use_confirm, use_toasts},
};

/// Plans, asks and starts. Created with the page, because it uses the page's context.
#[derive(Clone, Copy)]
pub struct Proposals {
    confirm: Confirm,
    toasts: ToastList,
    navigate: StoredValue<Callback<String>>,
}

impl Proposals {
    /// For the present page.
    pub fn new() -> Proposals {
        let navigate = StoredValue::new_local(use_navigate());
        let open = move |address: String| {
            navigate.try_with_value(|navigate| navigate(&address, NavigateOptions::default()));
        };
        Proposals {
            confirm: use_confirm(),
            toasts: use_toasts(),
            navigate: StoredValue::new(Callback::new(open)),
        }
    }

    /// Plans `request`, asks the `question` about the plan, and calls `start` if the user agrees. Then the run is shown.
    pub fn propose<F: Future<Output = Answer<Started>> + 'static>(
        self,
        request: PlanRequest,
        question: impl FnOnce(&Plan) -> Question + 'static,
        start: impl Fn(Plan) -> F + Send + Sync + 'static,
    ) {
        let plan = async move { client::plan(&request).await };
        self.propose_plan(plan, question, start);
    }

    /// As [`propose`](Self::propose), for a plan from another call.
    pub fn propose_plan<F: Future<Output = Answer<Started>> + 'static>(
        self,
        plan: impl Future<Output = Answer<Plan>> + 'static,
        question: impl FnOnce(&Plan) -> Question + 'static,
        start: impl Fn(Plan) -> F + Send + Sync + 'static,
    ) {
        leptos::task::spawn_local(async move {
            let plan = match plan.await {
                Ok(plan) => plan,
                Err(problem) => return self.toasts.problem(&problem),
            };
            self.confirm.ask(question(&plan), move || {
                let started = start(plan.clone());
                leptos::task::spawn_local(async move {
                    match started.await {
                        Ok(started) => {
                            let address = format!("/runs/{}", started.run);
                            self.navigate
                                .try_with_value(|navigate| navigate.run(address));
                        }
                        Err(problem) => self.toasts.problem(&problem),
                    }
                });
            });
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
