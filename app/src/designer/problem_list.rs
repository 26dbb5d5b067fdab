//! The problems of the design in the drawer: each leads to its place, and offers its quick fixes.

use api::{Diagnostic, Severity};
use leptos::prelude::*;

use super::{
    fixes::Fixes,
    store::{Drawer, Workspace},
};
use crate::{
    links::place_of,
    ui::{Icon, prose},
};

/// The list of problems.
#[component]
pub fn ProblemList(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let jump = move |problem: Diagnostic| {
        let property = place_of(&problem.path).and_then(|(_, property)| property);
        let is_shown = problem
            .resource()
            .is_some_and(|name| workspace.show(name, property));
        if !is_shown && !workspace.show_entry_at(&problem.path) {
            workspace.drawer.set(Drawer::Code);
        }
    };
    move || {
        let problems = workspace.problems.get();
        if problems.is_empty() {
            return view! { <p class="panel-none"><Icon name="circle-check" />"No problems. This can be deployed."</p> }.into_any();
        }
        view! {
            <ul class="problem-list">
                {problems.iter().cloned().map(|problem| {
                    let (word, icon, severity_text) = match problem.severity {
                        Severity::Error => ("error", "circle-alert", "Error"),
                        Severity::Warning => ("warning", "triangle-alert", "Warning"),
                        Severity::Info => ("info", "info", "Note"),
                    };
                    // The line number comes first, because narrow windows truncate the end.
                    let line = problem.line.map(|line| match &problem.file {
                        Some(file) => format!("{file}, line {line}"),
                        None => format!("line {line}"),
                    });
                    let path = Some(problem.path.clone()).filter(|path| !path.is_empty());
                    let place = [line, path].into_iter().flatten().collect::<Vec<_>>().join(", ");
                    let message = problem.message.clone();
                    let fixable = problem.clone();
                    view! {
                        <li data-severity=word>
                            <button type="button" on:click=move |_| jump(problem.clone())>
                                <Icon name=icon />
                                <span class="sr-only">{severity_text}": "</span>
                                <span class="problem-text">{prose(&message)}</span>
                                <span class="meta mono">{place}</span>
                            </button>
                            <Fixes workspace problem=fixable />
                        </li>
                    }
                }).collect_view()}
            </ul>
        }
        .into_any()
    }
}
