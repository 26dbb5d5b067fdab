//! Two runs of a deployment side by side: their templates and parameters, their changes, durations of their steps.

mod changes;

use std::collections::{BTreeMap, HashMap, HashSet};

use api::{Change, Run, RunContent, RunStep};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

use crate::{
    browser,
    client::{self, Answer},
    frame::{Crumb, use_frame},
    load::{Load, Loaded},
    time::{self, Ago},
    ui::{
        Empty, ProblemCard, StateBadge, data_table,
        diff::line_diff,
        skeleton,
        state::{RunLook, StepLook, run_title},
    },
};

/// A run with its steps, content and changes.
#[derive(Clone, Debug, PartialEq)]
struct Side {
    run: Run,
    /// `None` for an old run whose content is not kept.
    content: Option<RunContent>,
    /// `None` for an old run whose plan is not kept.
    changes: Option<Vec<Change>>,
}

impl Side {
    async fn load(id: String) -> Answer<Side> {
        let run = client::run(&id).await?;
        let content = if_kept(client::run_content(&id)).await?;
        let plan = if_kept(client::run_plan(&id)).await?;
        let changes = match plan {
            Some(plan) => Some(plan.changes),
            // A command, for example, has no plan.
            None => (!run.kind.changes_resources()).then(Vec::new),
        };
        Ok(Side {
            run,
            content,
            changes,
        })
    }
}

async fn if_kept<T>(answer: impl Future<Output = Answer<T>>) -> Answer<Option<T>> {
    match answer.await {
        Ok(found) => Ok(Some(found)),
        Err(problem) if problem.status == 404 => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The page of `/deployments/:id/compare?from=...&to=...`.
#[component]
pub fn ComparePage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let id = Memo::new(move |_| params.with(|params| params.get("id")).unwrap_or_default());
    let chosen = move |name: &'static str| {
        Memo::new(move |_| query.with(|query| query.get(name)).unwrap_or_default())
    };
    let (from, to) = (chosen("from"), chosen("to"));
    let deployment = Load::new(move || {
        let id = id.get();
        async move { client::deployment(&id).await }
    });
    let name = move || deployment.with(|it| it.map(|it| it.name.clone()));
    let runs = Load::new(move || {
        let id = id.get();
        async move { client::runs(&id).await }
    });
    let [earlier, later] = [from, to].map(|run| Load::new(move || Side::load(run.get())));
    use_frame().crumbs(move || {
        vec![
            Crumb::link("Deployments", "/deployments"),
            Crumb::link(
                name().unwrap_or_else(|| String::from("Deployment")),
                format!("/deployments/{}", id.get()),
            ),
            Crumb::here("Compare runs"),
        ]
    });
    let body = move || match (earlier.state(), later.state()) {
        (Loaded::Ready(earlier), Loaded::Ready(later)) => comparison(earlier, later),
        (Loaded::Failed(problem), _) => {
            view! { <ProblemCard problem retry=Callback::new(move |()| earlier.reload()) /> }
                .into_any()
        }
        (_, Loaded::Failed(problem)) => {
            view! { <ProblemCard problem retry=Callback::new(move |()| later.reload()) /> }
                .into_any()
        }
        _ => skeleton::rows(8),
    };
    view! {
        <Title text="Compare runs" />
        <div class="page">
            <header class="page-head">
                <div>
                    <h1>"Compare runs"</h1>
                    <p>"Their content, their changes, and the durations of their steps."</p>
                </div>
            </header>
            <div class="compare-choice">
                <RunChoice label="Earlier run" runs chosen=from choose=move |run| address(&id.get_untracked(), &run, &to.get_untracked()) />
                <RunChoice label="Later run" runs chosen=to choose=move |run| address(&id.get_untracked(), &from.get_untracked(), &run) />
            </div>
            {body}
        </div>
    }
}

fn address(deployment: &str, from: &str, to: &str) -> String {
    let [deployment, from, to] = [deployment, from, to].map(browser::encode);
    format!("/deployments/{deployment}/compare?from={from}&to={to}")
}

#[component]
fn RunChoice(
    label: &'static str,
    runs: Load<Vec<Run>>,
    chosen: Memo<String>,
    /// Address of the page with another choice.
    choose: impl Fn(String) -> String + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let navigate = StoredValue::new_local(use_navigate());
    let options = move || {
        let runs = runs.with(|runs| runs.cloned().unwrap_or_default());
        let count = runs.len();
        runs.into_iter()
            .enumerate()
            .map(|(at, run)| {
                let begun = time::moment(&run.created);
                let text = format!(
                    "{}. {} by {}, {begun}",
                    count - at,
                    run_title(&run),
                    run.author
                );
                let is_chosen = chosen.with(|chosen| *chosen == run.id);
                view! { <option value=run.id selected=is_chosen>{text}</option> }
            })
            .collect_view()
    };
    view! {
        <label class="compare-run">
            <span>{label}</span>
            <select
                class="input"
                on:change=move |event| {
                    let address = choose(event_target_value(&event));
                    navigate.try_with_value(|navigate| navigate(&address, Default::default()));
                }
            >
                {options}
            </select>
        </label>
    }
}

fn comparison(earlier: Side, later: Side) -> AnyView {
    let heads = [&earlier, &later].map(|side| head(&side.run));
    let content = match (&earlier.content, &later.content) {
        (Some(before), Some(after)) => contents(before, after),
        _ => view! {
            <Empty icon="history" title="The content is not stored" text="A deployment keeps the contents of its newest runs, and at least one of these runs is older. Choose newer runs to compare them." />
        }
        .into_any(),
    };
    let changes = match (&earlier.changes, &later.changes) {
        (Some(before), Some(after)) => changes::changes(before, after),
        _ => view! {
            <Empty icon="history" title="The plan is not stored" text="A deployment keeps the plans of its newest runs, and at least one of these runs is older. Choose newer runs to compare them." />
        }
        .into_any(),
    };
    view! {
        {data_table(["Run", "State", "Started", "Took", "By", "Steps"], heads)}
        <section class="section" aria-label="Changes of the content"><h2>"Template and parameters"</h2>{content}</section>
        <section class="section" aria-label="Changes"><h2>"Changes"</h2>{changes}</section>
        <section class="section" aria-label="Steps"><h2>"Steps"</h2>{steps(&earlier.run, &later.run)}</section>
    }
    .into_any()
}

fn head(run: &Run) -> impl IntoView + use<> {
    let took = time::span(run.started.as_deref(), run.ended.as_deref(), None);
    view! {
        <tr data-link>
            <td><a class="row-link" href=format!("/runs/{}", run.id)>{run_title(run)}</a></td>
            <td class="fit"><StateBadge state=RunLook::from(run) /></td>
            <td class="fit quiet"><Ago time=run.created.clone() /></td>
            <td class="fit quiet">{took}</td>
            <td class="fit quiet">{run.author.clone()}</td>
            <td class="fit quiet">{run.steps.len()}</td>
        </tr>
    }
}

fn contents(before: &RunContent, after: &RunContent) -> AnyView {
    let texts = |content: &RunContent| {
        let files = content.beside.files.clone().unwrap_or_default();
        let mut texts: BTreeMap<String, String> = files;
        texts.insert("Template".to_owned(), content.template.clone());
        if let Some(parameters) = &content.parameters {
            let lines = parameters
                .iter()
                .map(|(name, value)| format!("{name}: {value}\n"));
            texts.insert("Parameters".to_owned(), lines.collect());
        }
        texts
    };
    let (before, after) = (texts(before), texts(after));
    let names: BTreeMap<&String, ()> = before
        .keys()
        .chain(after.keys())
        .map(|name| (name, ()))
        .collect();
    let nothing = String::new();
    let changed: Vec<_> = names
        .into_keys()
        .filter_map(|name| {
            let [one, other] = [&before, &after].map(|texts| texts.get(name).unwrap_or(&nothing));
            (one != other).then(|| {
                view! { <h3 class="compare-file">{name.clone()}</h3> {line_diff(one, other)} }
            })
        })
        .collect();
    if changed.is_empty() {
        return view! { <p class="quiet">"Both runs were started with the same content."</p> }
            .into_any();
    }
    changed.into_any()
}

/// A step in two runs.
#[derive(Debug, PartialEq)]
struct Pair<'a> {
    id: &'a str,
    earlier: Option<&'a RunStep>,
    later: Option<&'a RunStep>,
}

/// The steps of both runs: those of the later one in its order, then those that only the earlier one has.
fn pairs<'a>(earlier: &'a [RunStep], later: &'a [RunStep]) -> Vec<Pair<'a>> {
    let before: HashMap<&str, &RunStep> = earlier
        .iter()
        .map(|step| (step.id.as_str(), step))
        .collect();
    let there: HashSet<&str> = later.iter().map(|step| step.id.as_str()).collect();
    let both = later.iter().map(|step| Pair {
        id: &step.id,
        earlier: before.get(step.id.as_str()).copied(),
        later: Some(step),
    });
    let gone = earlier
        .iter()
        .filter(|step| !there.contains(step.id.as_str()));
    both.chain(gone.map(|step| Pair {
        id: &step.id,
        earlier: Some(step),
        later: None,
    }))
    .collect()
}

/// Duration of a step, in milliseconds.
fn took(step: &RunStep) -> Option<f64> {
    let end = time::parse(step.ended.as_deref()?)?;
    Some(end - time::parse(step.started.as_deref()?)?)
}

/// The difference of two durations as text: `+3.2 s`, `-1:05`. `None` if they are about equal.
fn difference(earlier: f64, later: f64) -> Option<String> {
    let difference = later - earlier;
    let sign = if difference > 0.0 { "+" } else { "-" };
    (difference.abs() >= 100.0).then(|| format!("{sign}{}", time::duration(difference.abs())))
}

fn steps(earlier: &Run, later: &Run) -> impl IntoView + use<> {
    let cell = |step: Option<&RunStep>| {
        match step {
        Some(step) => {
            view! { <StateBadge state=StepLook::from(step) /> " " <span class="quiet">{took(step).map(time::duration)}</span> }.into_any()
        }
        None => view! { <span class="quiet">"Not in this run"</span> }.into_any(),
    }
    };
    let rows = pairs(&earlier.steps, &later.steps)
        .into_iter()
        .map(|pair| {
            let change = pair
                .earlier
                .and_then(took)
                .zip(pair.later.and_then(took))
                .and_then(|(earlier, later)| difference(earlier, later));
            view! {
                <tr data-step=pair.id.to_owned()>
                    <td>{pair.id.to_owned()}</td>
                    <td class="fit">{cell(pair.earlier)}</td>
                    <td class="fit">{cell(pair.later)}</td>
                    <td class="fit quiet">{change}</td>
                </tr>
            }
        })
        .collect_view();
    data_table(["Step", "Earlier run", "Later run", "Difference"], rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps(ids: &[&str]) -> Vec<RunStep> {
        let step = |id: &&str| {
            let step = json!({"id": id, "kind": "create", "state": "succeeded", "after": [], "attempts": 1});
            serde_json::from_value(step).unwrap()
        };
        ids.iter().map(step).collect()
    }

    #[test]
    fn steps_are_paired_by_id_and_removed_ones_come_last() {
        let (earlier, later) = (steps(&["net", "old", "web"]), steps(&["net", "web", "db"]));
        let shown: Vec<(&str, bool, bool)> = pairs(&earlier, &later)
            .into_iter()
            .map(|pair| (pair.id, pair.earlier.is_some(), pair.later.is_some()))
            .collect();
        assert_eq!(
            shown,
            [
                ("net", true, true),
                ("web", true, true),
                ("db", false, true),
                ("old", true, false)
            ]
        );
    }

    #[test]
    fn durations_that_differ_by_less_than_a_tenth_of_a_second_are_equal() {
        assert_eq!(difference(1_000.0, 1_050.0), None);
        assert_eq!(difference(1_000.0, 4_200.0).as_deref(), Some("+3.2 s"));
        assert_eq!(difference(70_000.0, 5_000.0).as_deref(), Some("-1:05"));
    }
}
