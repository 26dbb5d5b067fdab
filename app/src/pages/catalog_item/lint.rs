//! Ansible's linter on an item: the state of a check, and its findings.

use std::future::Future;

use api::{LintFinding, LintLevel, Problem};
use leptos::prelude::*;

use crate::{
    client::Answer,
    ui::{Icon, ProblemNote},
};

/// A check by the linter.
#[derive(Clone, Copy, Default)]
pub struct Lint {
    /// True while it runs.
    pub is_busy: RwSignal<bool>,
    findings: RwSignal<Option<Vec<LintFinding>>>,
    problem: RwSignal<Option<Problem>>,
}

impl Lint {
    /// Starts a check with this call.
    pub fn run(self, call: impl Future<Output = Answer<Vec<LintFinding>>> + 'static) {
        self.is_busy.set(true);
        self.problem.set(None);
        leptos::task::spawn_local(async move {
            let answer = call.await;
            self.is_busy.try_set(false);
            let (findings, problem) = match answer {
                Ok(findings) => (Some(findings), None),
                Err(problem) => (None, Some(problem)),
            };
            self.findings.try_set(findings);
            self.problem.try_set(problem);
        });
    }
}

/// The findings of a check. Empty before the first.
#[component]
pub fn LintFindings(
    /// The check.
    lint: Lint,
) -> impl IntoView {
    let list = |findings: Vec<LintFinding>| {
        if findings.is_empty() {
            return view! { <p class="quiet">"ansible-lint found no problems."</p> }.into_any();
        }
        let rows = findings.into_iter().map(|finding| {
            let icon = match finding.level {
                LintLevel::Error => "circle-alert",
                LintLevel::Warning => "triangle-alert",
            };
            let place = match finding.line {
                Some(line) => format!("{}:{line}", finding.path),
                None => finding.path,
            };
            view! {
                <li>
                    <Icon name=icon />
                    <span>{finding.message}" "<span class="meta"><code>{place}</code>" "{finding.rule}</span></span>
                </li>
            }
        });
        view! { <ul class="role-notes">{rows.collect_view()}</ul> }.into_any()
    };
    view! {
        <div role="status">
            {move || lint.is_busy.get().then(|| view! {
                <p class="upload-state"><progress aria-label="Check"></progress>"Checking with ansible-lint"</p>
            })}
            {move || (!lint.is_busy.get()).then(|| lint.findings.get().map(|findings| view! {
                <section class="section" aria-label="Findings of ansible-lint">
                    <h2>"Findings of ansible-lint"</h2>
                    {list(findings)}
                </section>
            }))}
        </div>
        <ProblemNote problem=lint.problem />
    }
}
