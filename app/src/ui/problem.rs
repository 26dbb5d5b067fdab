//! Problems with their next step, and the content of empty pages.

use api::{Diagnostic, Problem, Severity};
use leptos::prelude::*;

use crate::{
    links::{LinkedDesign, place_of},
    ui::{Icon, prose},
};

/// A problem in place of the content that could not be loaded.
#[component]
pub fn ProblemCard(
    /// The problem.
    problem: Problem,
    /// Called for another attempt. `None` if that cannot help.
    #[prop(optional, into)]
    retry: Option<Callback<()>>,
    /// True if the card is the whole page, so that its title is the page's heading.
    #[prop(optional)]
    is_page: bool,
) -> impl IntoView {
    view! {
        <section class="problem-card" role="alert">
            <Icon name=if problem.code == crate::client::OFFLINE { "wifi-off" } else { "circle-alert" } />
            <div>
                {if is_page {
                    view! { <h1>{problem.title}</h1> }.into_any()
                } else {
                    view! { <h2>{problem.title}</h2> }.into_any()
                }}
                <p>{prose(&problem.detail)}</p>
                {problem.hint.map(|hint| view! { <p class="quiet">{prose(&hint)}</p> })}
                {retry.map(|retry| view! {
                    <button type="button" class="button" on:click=move |_| retry.run(())>
                        <Icon name="rotate-cw" />
                        "Try again"
                    </button>
                })}
            </div>
        </section>
    }
}

/// A problem beside the form that caused it, or nothing if there is none.
#[component]
pub fn ProblemNote(
    /// The problem.
    #[prop(into)]
    problem: Signal<Option<Problem>>,
) -> impl IntoView {
    view! {
        <div role="alert" class="problem-note-place">
            {move || problem.get().map(|problem| view! {
                <div class="problem-note">
                    <Icon name="circle-alert" />
                    <div>
                        <p><strong>{problem.title}</strong></p>
                        <p>{prose(&problem.detail)}</p>
                        {problem.hint.map(|hint| view! { <p class="quiet">{prose(&hint)}</p> })}
                        <Diagnostics diagnostics=problem.diagnostics />
                    </div>
                </div>
            })}
        </div>
    }
}

/// List of a template's problems, each with its position.
#[component]
pub fn Diagnostics(
    /// The problems.
    diagnostics: Vec<Diagnostic>,
    /// The design of the template, for links to the problems' places.
    #[prop(optional_no_strip)]
    design: Option<LinkedDesign>,
) -> impl IntoView {
    let href = move |path: &str| {
        let (resource, property) = place_of(path)?;
        Some(design.as_ref()?.resource(resource, property))
    };
    (!diagnostics.is_empty()).then(|| {
        view! {
            <ul class="diagnostics">
                {diagnostics.into_iter().map(|diagnostic| {
                    let (severity, icon, word) = match diagnostic.severity {
                        Severity::Error => ("error", "circle-alert", "Error"),
                        Severity::Warning => ("warning", "triangle-alert", "Warning"),
                        Severity::Info => ("info", "info", "Note"),
                    };
                    view! {
                        <li data-severity=severity>
                            <Icon name=icon />
                            <span class="sr-only">{word}</span>
                            <div>
                                <p>{prose(&diagnostic.message)}</p>
                                <p class="meta mono">
                                    {match href(&diagnostic.path) {
                                        Some(href) => view! { <a class="link" href=href title="Open in the design">{diagnostic.path}</a> }.into_any(),
                                        None => diagnostic.path.into_any(),
                                    }}
                                    {diagnostic.line.map(|line| format!("  line {line}"))}
                                </p>
                            </div>
                        </li>
                    }
                }).collect_view()}
            </ul>
        }
    })
}

/// Explanation of an empty page, with the first action.
#[component]
pub fn Empty(
    /// Name of the icon.
    icon: &'static str,
    /// A title of a few words.
    #[prop(into)]
    title: String,
    /// An explanation of one or two sentences.
    #[prop(into)]
    text: String,
    /// True if this is the whole page, so that its title is the page's heading.
    #[prop(optional)]
    is_page: bool,
    /// The primary action.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <section class="empty">
            <span class="empty-icon"><Icon name=icon /></span>
            {if is_page {
                view! { <h1>{title}</h1> }.into_any()
            } else {
                view! { <h2>{title}</h2> }.into_any()
            }}
            <p>{prose(&text)}</p>
            {children.map(|children| view! { <div class="empty-actions">{children()}</div> })}
        </section>
    }
}
