//! The origin of a run: the version of the design, the parameters with secrets covered, and the plan with its
//! reasons. A later change of the deployment or of the design does not change it.

use std::collections::BTreeMap;

use api::RunContent;
use hot::{document::Document, merged::Merged};
use leptos::prelude::*;
use serde_json::Value;

use super::RunView;
use crate::{
    client,
    links::{LinkedDesign, SharedParameters},
    load::{Load, Loaded},
    pages::{
        deployment::design::{DesignVersionLink, known_design},
        plan::Changes,
    },
    ui::{Empty, ProblemCard, covered, skeleton},
};

/// Value of a parameter in a run.
#[derive(Clone, Debug, PartialEq)]
enum Shown {
    /// The value as text.
    Text(String),
    /// The parameter is hidden. Runs do not keep such values.
    Covered,
    /// The parameter has neither a value nor a default.
    Nothing,
}

/// A parameter of a run.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    value: Shown,
    /// Source of the value. `None` if a user entered it.
    source: Option<&'static str>,
}

/// The parameters of a run in the template's order. `None` if their values were not stored.
fn rows(content: &RunContent) -> Option<Vec<Row>> {
    let given = content.parameters.as_ref()?;
    let document = Document::parse(content.template.clone());
    let template = document.template();
    let merged = Merged::of(&content.beside.bundle(), template);
    let values = merged.parameters(template, given);
    let present = |values: &BTreeMap<String, Value>, name: &str| {
        let value = values.get(name);
        value.filter(|value| !value.is_null()).cloned()
    };
    let rows = template.parameters.iter().map(|parameter| {
        let name = parameter.name.clone();
        let is_entered = present(given, &name).is_some() && merged.overridden_by(&name).is_none();
        let found = match present(&values, &name) {
            Some(value) if is_entered => Some((value, None)),
            Some(value) => Some((value, Some("from an environment"))),
            None => {
                let default = parameter.default.clone();
                default.map(|value| (value, Some("the template's default")))
            }
        };
        let (value, source) = match found {
            _ if parameter.hidden => (Shown::Covered, None),
            Some((value, source)) => (Shown::Text(plain(&value)), source),
            None => (Shown::Nothing, None),
        };
        Row {
            name,
            value,
            source,
        }
    });
    Some(rows.collect())
}

/// A value as a user writes it.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The view of the design's version, the parameters and the plan. A change selects the first step of its resource.
#[component]
pub fn RunPlan(
    /// State of the page.
    view: RunView,
) -> impl IntoView {
    view! {
        <div class="run-plan" role="region" aria-label="Plan" tabindex="0">
            <p class="quiet">"The run was started with this content. Later changes of the deployment and of its design are not in it."</p>
            <Content view />
            <Planned view />
        </div>
    }
}

/// The version of the design, and the parameters.
#[component]
fn Content(view: RunView) -> impl IntoView {
    let design = known_design(move || view.content.with(|content| content?.design.clone()));
    move || {
        match view.content.state() {
        Loaded::Loading => skeleton::rows(2),
        Loaded::Ready(content) => {
            let parameters = parameters(&content);
            let version = match content.design {
                Some(id) => {
                    let version = content.design_version;
                    view! { <DesignVersionLink id version known=design /> }.into_any()
                }
                None => view! { <span>"a template that belongs to no design"</span> }
                    .into_any(),
            };
            view! {
                <p>"Made from "{version}</p>
                {parameters}
            }
            .into_any()
        }
        Loaded::Failed(problem) if problem.status == 404 => {
            view! { <p class="quiet">"The template and the parameters of this run were not stored."</p> }
                .into_any()
        }
        Loaded::Failed(problem) => {
            let retry = Callback::new(move |()| view.content.reload());
            view! { <ProblemCard problem retry /> }.into_any()
        }
    }
    }
}

/// The table of parameters, or nothing if the template has none.
fn parameters(content: &RunContent) -> Option<AnyView> {
    let Some(rows) = rows(content) else {
        let text = "The parameters of this run were not stored.";
        return Some(view! { <p class="quiet">{text}</p> }.into_any());
    };
    if rows.is_empty() {
        return None;
    }
    let rows = rows
        .into_iter()
        .map(|row| {
            let value = match row.value {
                Shown::Text(text) => view! { <code>{text}</code> }.into_any(),
                Shown::Covered => covered(),
                Shown::Nothing => view! { <span class="quiet">"no value"</span> }.into_any(),
            };
            view! {
                <dt class="mono">{row.name.clone()}</dt>
                <dd data-parameter=row.name>{value}{row.source.map(|source| view! { " " <span class="quiet">{source}</span> })}</dd>
            }
        })
        .collect_view();
    let table = view! {
        <h2>"Parameters"</h2>
        <dl class="run-parameters">{rows}</dl>
    };
    Some(table.into_any())
}

/// The changes of the plan.
#[component]
fn Planned(view: RunView) -> impl IntoView {
    let plan = Load::new(move || {
        let id = view.id.get();
        async move { client::run_plan(&id).await }
    });
    let types = Load::new(client::resource_types);
    let changes_resources = Memo::new(move |_| {
        view.feed.model.with(|model| {
            let model = model.as_ref();
            model.is_none_or(|model| model.run.kind.changes_resources())
        })
    });
    let design = Memo::new(move |_| {
        let deployment = view.deployment.with(|it| it.map(|it| it.id.clone()));
        view.content.with(|content| {
            let content = content?;
            Some(LinkedDesign {
                id: content.design.clone()?,
                version: content.design_version,
                deployment,
                parameters: SharedParameters::default(),
            })
        })
    });
    move || {
        match plan.state() {
        Loaded::Loading => skeleton::rows(5),
        Loaded::Ready(plan) if plan.changes.is_empty() => view! {
            <Empty icon="circle-check" title="Nothing to change" text="The deployment matched the template when the run started." />
        }
        .into_any(),
        Loaded::Ready(plan) => view! {
            <Changes plan types=types.get().unwrap_or_default() design=design.get() selected=view.selected />
        }
        .into_any(),
        Loaded::Failed(problem) if problem.status == 404 && !changes_resources.get() => view! {
            <Empty icon="info" title="This run has no plan" text="It creates, changes and deletes no resources." />
        }
        .into_any(),
        Loaded::Failed(problem) if problem.status == 404 => view! {
            <Empty
                icon="history" title="The plan of this run is not stored"
                text="A deployment keeps the plans of its newest runs, and this run is older. Its steps and log are complete."
            />
        }
        .into_any(),
        Loaded::Failed(problem) => {
            let retry = Callback::new(move |()| plan.reload());
            view! { <ProblemCard problem retry /> }.into_any()
        }
    }
    }
}

#[cfg(test)]
mod tests {
    use api::TemplateFiles;
    use serde_json::json;

    use super::*;

    const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters:
  label: {type: string}
  size: {type: number, default: 3}
  code: {type: string, hidden: true, default: s3cr3t}
  zone: {type: string}
  none: {type: string}
";

    #[test]
    fn values_say_where_they_come_from_and_secrets_are_covered() {
        let files = [("env.yaml", "parameters: {zone: nova, code: s3cr3t}\n")];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let content = RunContent {
            template: TEMPLATE.to_owned(),
            beside: TemplateFiles {
                files: Some(files.into()),
                environments: Some(vec!["env.yaml".to_owned()]),
            },
            parameters: Some(BTreeMap::from([("label".to_owned(), json!("blue"))])),
            ..RunContent::default()
        };
        let found: Vec<(String, Shown, Option<&str>)> = rows(&content)
            .unwrap()
            .into_iter()
            .map(|row| (row.name, row.value, row.source))
            .collect();
        let text = |text: &str| Shown::Text(text.to_owned());
        let expected = [
            ("label", text("blue"), None),
            ("size", text("3"), Some("the template's default")),
            ("code", Shown::Covered, None),
            ("zone", text("nova"), Some("from an environment")),
            ("none", Shown::Nothing, None),
        ];
        let expected = expected.map(|(name, value, source)| (name.to_owned(), value, source));
        assert_eq!(found, expected);
    }

    #[test]
    fn values_that_were_not_stored_are_not_replaced_by_defaults() {
        let content = RunContent {
            template: TEMPLATE.to_owned(),
            parameters: None,
            ..RunContent::default()
        };
        assert_eq!(rows(&content), None);
    }
}
