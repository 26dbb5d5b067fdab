//! Software deployments: configurations that run on a server of the template, over SSH.
//!
//! Heat leaves the work to an agent in the server's image, which has a hook for each group of configurations. Here the
//! engine does it without an agent, in the same way as it runs catalogue items: so the deployment's server gets a login,
//! a security group and a bastion from the passes. The groups of [`Tool`] can run; others are refused by the plan, before
//! anything exists. A tool whose program the image may lack is a warning.
//!
//! A deployment acts on CREATE and UPDATE by default. DELETE runs if the deployment is removed and its server stays;
//! SUSPEND runs before its server is suspended, and RESUME after it is resumed.
//!
//! `connections` checks the connections between catalogue items, and `images` the images of their servers.

use std::collections::BTreeMap;

use hot::{diagnostic::Diagnostic, expr::Expr};
use serde_json::Value;
use types::{
    Registry, ResourceType, SERVER, SOFTWARE_COMPONENT, SOFTWARE_CONFIG, STRUCTURED_CONFIG,
    is_software_deployment,
};
use yaql::shown;

use crate::{deployed::Deployed, graph::target, passes::Model, workflow::ResourceSpec};

pub(crate) use connections::{
    CONNECTION_COUNT, connection_count, not_provided, wrong_count, wrong_counts,
};
pub(crate) use images::untested;
pub use tool::Tool;

mod connections;
mod images;
mod tool;

/// Code of the refusals: what cannot run over SSH.
const UNSUPPORTED: &str = "software-unsupported";
/// Code of the warnings: what runs at other times than with Heat.
const NOT_RUN: &str = "software-not-run";
/// Code of the warnings: what needs a program in the server's image.
const TOOL_NEEDED: &str = "software-tool-needed";

/// Group of a configuration that names none.
pub const UNGROUPED: &str = "Heat::Ungrouped";

/// The configuration that a deployment names.
pub fn config_of(deployment: &ResourceSpec) -> Option<&str> {
    target(deployment.properties.get("config")?)
}

/// True if a deployment with this configuration runs something on an action, such as `CREATE` or `SUSPEND`. A
/// component's configurations have actions of their own, and the deployment's do not count.
pub fn acts_on(deployment: &ResourceSpec, config: Option<&ResourceSpec>, action: &str) -> bool {
    actions(deployment, config).iter().any(|one| one == action)
}

fn actions(deployment: &ResourceSpec, config: Option<&ResourceSpec>) -> Vec<String> {
    let listed = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| Some(item.as_str()?.to_owned()))
            .collect(),
        _ => vec!["CREATE".to_owned(), "UPDATE".to_owned()],
    };
    match config.filter(|config| config.resource_type == SOFTWARE_COMPONENT) {
        None => listed(
            deployment
                .properties
                .get("actions")
                .map(Expr::to_json)
                .as_ref(),
        ),
        Some(component) => {
            let configs = component.properties.get("configs").map(Expr::to_json);
            let configs = configs.as_ref().and_then(Value::as_array);
            let of_each = configs.into_iter().flatten();
            of_each.flat_map(|one| listed(one.get("actions"))).collect()
        }
    }
}

/// Deployed software that a plan removes and that runs once more, with its server, which stays: software deployments
/// that act on DELETE, and components whose item brings a removal.
pub(crate) fn last_runs(
    model: &Model,
    deployed: &Deployed,
    types: &Registry,
) -> Vec<(String, String)> {
    let resources = &deployed.resources;
    let last = resources.iter().filter_map(|(name, spec)| {
        let server = spec.host().filter(|_| model.get(name).is_none())?;
        let stays = model.get(server)?.resource_type == SERVER;
        (stays && has_removal(spec, resources, types)).then(|| (name.clone(), server.to_owned()))
    });
    last.collect()
}

fn has_removal(
    spec: &ResourceSpec,
    resources: &BTreeMap<String, ResourceSpec>,
    types: &Registry,
) -> bool {
    if is_software_deployment(&spec.resource_type) {
        let config = config_of(spec).and_then(|config| resources.get(config));
        return acts_on(spec, config, "DELETE");
    }
    let described = types.get(&spec.resource_type);
    described.is_some_and(ResourceType::has_removal)
}

/// Errors for deployments that cannot run, and warnings for actions that do not.
pub(crate) fn problems(model: &Model) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, spec) in model.iter() {
        if spec.resource_type == SOFTWARE_COMPONENT {
            found.extend(double_action(name, spec));
        }
        if !is_software_deployment(&spec.resource_type) {
            continue;
        }
        found.extend(of_server(model, name, spec));
        let config = of_config(model, name, spec, &mut found);
        found.extend(of_actions(name, spec, config));
    }
    found
}

fn refusal(path: String, message: String) -> Diagnostic {
    Diagnostic::error(UNSUPPORTED, path, message)
}

fn of_server(model: &Model, name: &str, spec: &ResourceSpec) -> Option<Diagnostic> {
    let value = spec.properties.get("server")?;
    let server = target(value);
    let drawn = server.and_then(|server| model.get(server));
    if server.is_some() && drawn.is_none() {
        // Its condition is off; references report that.
        return None;
    }
    let is_ours =
        drawn.is_some_and(|server| server.resource_type == SERVER && server.external_id.is_none());
    let message = || {
        format!(
            "`{}` runs over SSH, with a login that a server gets when it is created; its `server` must be `get_resource` of an \
             {SERVER} in this template",
            shown(name)
        )
    };
    (!is_ours).then(|| refusal(format!("resources.{name}.properties.server"), message()))
}

/// The deployment's configuration. Adds the errors of a configuration that cannot run.
fn of_config<'m>(
    model: &'m Model,
    name: &str,
    spec: &ResourceSpec,
    found: &mut Vec<Diagnostic>,
) -> Option<&'m ResourceSpec> {
    let mut add = |one: Diagnostic| {
        // Several deployments can have one configuration.
        if !found.contains(&one) {
            found.push(one);
        }
    };
    let Some(config) = config_of(spec) else {
        let message = format!(
            "`{}` names no configuration of this template; set `config` to `get_resource` of an {SOFTWARE_CONFIG}",
            shown(name)
        );
        let path = if spec.properties.contains_key("config") {
            format!("resources.{name}.properties.config")
        } else {
            format!("resources.{name}")
        };
        add(refusal(path, message));
        return None;
    };
    let drawn = model.get(config)?;
    let named = |property: &str| drawn.properties.get(property).map(Expr::to_json);
    match drawn.resource_type.as_str() {
        SOFTWARE_CONFIG | STRUCTURED_CONFIG => {
            let path = if drawn.properties.contains_key("group") {
                format!("resources.{config}.properties.group")
            } else {
                format!("resources.{config}")
            };
            let group = named("group").unwrap_or_else(|| UNGROUPED.into());
            // A value that is known only during the run is checked there.
            let Some(group) = group.as_str() else {
                return Some(drawn);
            };
            match Tool::of_group(group) {
                Some(tool) if !tool.takes_map() && drawn.resource_type == STRUCTURED_CONFIG => {
                    let message = format!(
                        "`{}` is a map, and the group `{group}` runs a text; make it an {SOFTWARE_CONFIG}",
                        shown(config),
                    );
                    add(refusal(format!("resources.{config}.type"), message));
                }
                Some(Tool::Ungrouped) if drawn.resource_type == SOFTWARE_CONFIG => {
                    let message = format!(
                        "`{}` names no group, so nothing would run it; set `group`, to `script` for a program",
                        shown(config)
                    );
                    add(refusal(path, message));
                }
                _ => of_group(config, group, path).into_iter().for_each(add),
            }
        }
        SOFTWARE_COMPONENT => {
            let configs = named("configs");
            let configs = configs.as_ref().and_then(Value::as_array);
            for (index, one) in configs.into_iter().flatten().enumerate() {
                let tool = one.get("tool").and_then(Value::as_str);
                let path = format!("resources.{config}.properties.configs.{index}.tool");
                let found = tool.and_then(|tool| of_group(config, tool, path));
                found.into_iter().for_each(&mut add);
            }
        }
        other => {
            let message = format!(
                "`{}` would run `{}`, which is an `{}` for a server's first boot; use an {SOFTWARE_CONFIG}, or give it to the \
                 server as `user_data`",
                shown(name),
                shown(config),
                shown(other)
            );
            add(refusal(
                format!("resources.{name}.properties.config"),
                message,
            ));
        }
    }
    Some(drawn)
}

/// The problem of a group: no tool runs it, or the image may lack the tool.
fn of_group(config: &str, group: &str, path: String) -> Option<Diagnostic> {
    let config = shown(config);
    let Some(tool) = Tool::of_group(group) else {
        let groups: Vec<String> = Tool::GROUPS
            .into_iter()
            .map(|(group, _)| format!("`{group}`"))
            .collect();
        let message = format!(
            "`{config}` is of the group `{}`, which only an agent in the image could run; Stackloom runs the groups {} over SSH: \
             write it for one of them, use an item of the catalogue, or deploy it with Heat",
            shown(group),
            groups.join(", ")
        );
        return Some(refusal(path, message));
    };
    let program = tool.program_in_words()?;
    let message = format!(
        "`{config}` runs by {program}, which the server's image must have, or an earlier deployment install; where it is missing, \
         the step fails before anything runs"
    );
    Some(Diagnostic::warning(TOOL_NEEDED, path, message))
}

/// In Heat, each action of a component has one configuration, because two would have no order.
fn double_action(name: &str, component: &ResourceSpec) -> Option<Diagnostic> {
    let all = actions(component, Some(component));
    let (_, double) = all
        .iter()
        .enumerate()
        .find(|(index, action)| all[..*index].contains(action))?;
    let message = format!(
        "`{}` has two configurations for the action {double}; give each action one",
        shown(name)
    );
    let path = format!("resources.{name}.properties.configs");
    Some(Diagnostic::error("property-conflict", path, message))
}

fn of_actions(
    name: &str,
    spec: &ResourceSpec,
    config: Option<&ResourceSpec>,
) -> impl Iterator<Item = Diagnostic> {
    let all = actions(spec, config);
    let path = format!("resources.{name}");
    let mut found = Vec::new();
    if all.iter().any(|one| one == "DELETE") {
        let message = format!(
            "`{}` acts on DELETE if it is removed and its server stays; if the server is deleted too, nothing runs",
            shown(name)
        );
        found.push(Diagnostic::info(NOT_RUN, &path, message));
    }
    let transport = spec
        .properties
        .get("signal_transport")
        .and_then(Expr::as_str);
    let group = config.and_then(|config| config.properties.get("group"));
    let is_script = config.is_some_and(|config| config.resource_type == SOFTWARE_COMPONENT)
        || group.and_then(Expr::as_str) == Some(Tool::Script.group());
    if transport == Some("NO_SIGNAL") && is_script {
        let message = format!(
            "`{}` has NO_SIGNAL: the deployment starts it and does not wait, so its outputs stay empty and its failure is not seen",
            shown(name)
        );
        found.push(Diagnostic::info(NOT_RUN, &path, message));
    }
    found.into_iter()
}
