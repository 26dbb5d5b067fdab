//! Commands on servers: a run that changes no resource.
//!
//! A command does not become its deployment's last run: what is deployed, whether it was good, and what a roll-back returns to stay as
//! they are. It runs beside a change of its deployment, and beside other commands: its step on a server waits while a step of
//! another run works there, and the other way round ([`crate::run`], module `lock`). A server that was deleted or replaced in
//! the meantime gets no command.
//!
//! The content of a command can contain secrets. It is sealed with the run's secrets and removed when the run ends; the run itself has
//! a summary only ([`RunCommand`]).

use std::collections::BTreeSet;

use api::{
    CommandKind, CommandRequest, CommandServers, ResourceState, RunCommand, RunKind, Started,
};
use hot::text::{did_you_mean, listed};
use planner::plan::command::{Target, workflow};
use store::DeploymentRow;
use types::SERVER;

use super::{Engine, start::NewRun, terminals::no_bastion};
use crate::{
    Actor, Error, Result,
    bastion::Bastion,
    catalog::Catalog,
    resources::ResourceTable,
    run::parameters,
    secrets::{CommandContent, RunSecrets, attributes},
};

/// Maximum size of a script or a playbook in bytes.
const CONTENT_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of servers of a command.
const SERVERS_MAX: usize = 500;
/// Maximum number of servers at the same time.
const PARALLEL_MAX: u32 = 50;
/// Maximum time limit on a server in seconds.
const TIMEOUT_SECONDS_MAX: u32 = 6 * 3600;
/// Maximum length of a title in characters.
const TITLE_CHARS_MAX: usize = 80;
/// Maximum number of servers that an error lists.
const NAMED_MAX: usize = 10;
/// Maximum length of an interpreter's path in bytes.
const INTERPRETER_BYTES_MAX: usize = 200;

/// A request that was checked against its deployment.
#[derive(Debug)]
struct Checked {
    /// Names and ids in the cloud.
    servers: Vec<(String, String)>,
    content: CommandContent,
    shown: RunCommand,
}

impl Engine {
    /// Runs a command on servers of a deployment. The resources stay as they are.
    ///
    /// # Errors
    /// If there is no such deployment, the request is invalid, or the deployment is suspended.
    pub async fn command(
        &self,
        actor: &Actor,
        deployment: &str,
        request: CommandRequest,
    ) -> Result<Started> {
        let (engine, actor, id) = (self.clone(), actor.clone(), deployment.to_owned());
        let begun = async move { engine.begin_command(&actor, &id, request).await };
        self.run_to_completion(Box::pin(begun)).await
    }

    async fn begin_command(
        &self,
        actor: &Actor,
        deployment: &str,
        request: CommandRequest,
    ) -> Result<Started> {
        self.core.check_running()?;
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, deployment).await?;
        let store = &self.core.store;
        let there = store.resource_list_all(tenant, deployment).await?;
        let known = ResourceTable::of(attributes::open(&self.core.keys, deployment, there));
        let catalog = self.catalog_for(tenant, deployment).await?;
        let timeout = request.timeout_seconds;
        let Checked {
            servers,
            content,
            shown,
        } = check(request, &known, &catalog)?;
        let targets = servers.iter().map(|(name, id)| Target {
            name,
            server: name,
            id,
        });
        let targets: Vec<Target<'_>> = targets.collect();
        let run = self.start_command(actor, &row, &known, (content, &shown), (&targets, timeout));
        Ok(Started {
            deployment: deployment.to_owned(),
            run: run.await?,
        })
    }

    /// Stores and starts the run of a command, with its time limit at each target in seconds. Returns its id.
    pub(super) async fn start_command(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        known: &ResourceTable,
        (content, shown): (CommandContent, &RunCommand),
        (targets, timeout): (&[Target<'_>], u32),
    ) -> Result<String> {
        self.check_not_suspended(row).await?;
        let values = parameters(row, &Default::default());
        let bastion = Bastion::of(known, &known.scope(&values), None);
        let bastion =
            bastion.ok_or_else(|| no_bastion(targets.first().map_or("", |one| one.server)))?;
        let workflow = workflow(targets.iter().copied(), &bastion.server, timeout);
        // Also for a script, so that hidden values are masked in its output.
        let hidden = self.stored_hidden(actor, row).await?;
        let token = actor.session.token().expose();
        let secrets = RunSecrets::new(token, hidden, actor.vault_key.as_ref());
        let secrets = secrets.with_command(Some(Box::new(content)));
        let run = NewRun {
            command: Some(shown),
            ..NewRun::of(actor, &row.shown.id, RunKind::Command, workflow, secrets)
        };
        let mut transaction = self.core.store.begin("storing a command").await?;
        let run = self.store_run(&mut transaction, &run).await?;
        transaction.commit().await?;
        self.start_stored(actor, &run).await?;
        Ok(run)
    }
}

/// Checks a request. Pure.
fn check(request: CommandRequest, known: &ResourceTable, catalog: &Catalog) -> Result<Checked> {
    let invalid = |why: String| Err(Error::CommandInvalid(why));
    let parallel = request.parallel;
    if !(1..=PARALLEL_MAX).contains(&parallel) {
        return invalid(format!(
            "`parallel` is {parallel}; it must be from 1 to {PARALLEL_MAX}"
        ));
    }
    let timeout = request.timeout_seconds;
    if !(1..=TIMEOUT_SECONDS_MAX).contains(&timeout) {
        return invalid(format!(
            "`timeout_seconds` is {timeout}; it must be from 1 to {TIMEOUT_SECONDS_MAX}"
        ));
    }
    if request.max_failures == Some(0) {
        return invalid("`max_failures` is 0; it must be at least 1, or left out".into());
    }
    let title = request.title.as_deref().map(str::trim).unwrap_or_default();
    if title.chars().count() > TITLE_CHARS_MAX || title.chars().any(char::is_control) {
        return invalid(format!(
            "`title` has more than {TITLE_CHARS_MAX} characters, or more than one line"
        ));
    }
    let title = title.to_owned();
    let (servers, content, kind, default_title) = of_kind(&request, known, catalog)?;
    let bytes = match &content {
        CommandContent::Script { text, .. } | CommandContent::Playbook { text, .. } => text.len(),
        CommandContent::Item { .. } | CommandContent::Configure(_) => 0,
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Checked {
        shown: RunCommand {
            title: if title.is_empty() {
                default_title
            } else {
                title
            },
            kind,
            servers: count(servers.len()),
            bytes: count(bytes),
            parallel,
            max_failures: request.max_failures,
        },
        servers: with_ids(servers, known)?,
        content,
    })
}

/// Servers with their ids in the cloud.
fn with_ids(names: Vec<String>, known: &ResourceTable) -> Result<Vec<(String, String)>> {
    let with_id = |name: String| match known.get(&name).and_then(|server| server.physical_id) {
        Some(id) => Ok((name, id)),
        None => Err(Error::CommandInvalid(format!(
            "the server `{name}` is not created yet"
        ))),
    };
    names.into_iter().map(with_id).collect()
}

fn of_kind(
    request: &CommandRequest,
    known: &ResourceTable,
    catalog: &Catalog,
) -> Result<(Vec<String>, CommandContent, CommandKind, String)> {
    let invalid = |why: &str| Err(Error::CommandInvalid(why.to_owned()));
    if request.interpreter.is_some() && request.script.is_none() {
        return invalid("`interpreter` is only for a `script`");
    }
    let as_root = request.as_root;
    match (
        &request.script,
        &request.playbook,
        &request.component,
        &request.command,
    ) {
        (Some(text), None, None, None) => {
            check_text("script", text)?;
            let interpreter = interpreter(request.interpreter.as_deref(), text)?;
            let content = CommandContent::Script {
                text: text.clone(),
                interpreter,
                as_root,
            };
            let servers = choose(request.servers.as_ref(), known)?;
            Ok((servers, content, CommandKind::Script, "Script".into()))
        }
        (None, Some(text), None, None) => {
            check_text("playbook", text)?;
            let content = CommandContent::Playbook {
                text: text.clone(),
                as_root,
            };
            let servers = choose(request.servers.as_ref(), known)?;
            Ok((servers, content, CommandKind::Playbook, "Playbook".into()))
        }
        (None, None, Some(component), Some(command)) => {
            if request.servers.is_some() {
                return invalid("a command of a component runs on its host: leave `servers` out");
            }
            let host = host_of(component, command, known, catalog)?;
            let content = CommandContent::Item {
                component: component.clone(),
                command: command.clone(),
            };
            let title = format!("{component}: {command}");
            Ok((vec![host], content, CommandKind::Item, title))
        }
        _ => invalid("give exactly one of `script`, `playbook`, and `component` with `command`"),
    }
}

fn check_text(what: &str, text: &str) -> Result<()> {
    let why = if text.trim().is_empty() {
        format!("the {what} is empty")
    } else if text.len() > CONTENT_BYTES_MAX {
        format!(
            "the {what} has {} bytes; at most {CONTENT_BYTES_MAX} are possible. Have it fetch what is large",
            text.len()
        )
    } else if text.contains('\0') {
        format!("the {what} contains a zero byte")
    } else {
        return Ok(());
    };
    Err(Error::CommandInvalid(why))
}

/// The interpreter of a script. `None` if the script names its own.
fn interpreter(given: Option<&str>, script: &str) -> Result<Option<String>> {
    let Some(path) = given.filter(|given| !given.is_empty()) else {
        let own = script.starts_with("#!");
        return Ok((!own).then(|| "/bin/sh".to_owned()));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let is_path = path.starts_with('/') && path.len() <= INTERPRETER_BYTES_MAX;
    if is_path && path.chars().all(is_plain) {
        Ok(Some(path.to_owned()))
    } else {
        Err(Error::CommandInvalid(
            "`interpreter` is no path of a program, such as `/usr/bin/python3`".into(),
        ))
    }
}

/// The chosen servers, by name and each once.
fn choose(chosen: Option<&CommandServers>, known: &ResourceTable) -> Result<Vec<String>> {
    let is_server =
        |state: ResourceState| !matches!(state, ResourceState::Creating | ResourceState::Removing);
    let all: Vec<String> = known
        .all()
        .into_iter()
        .filter(|(_, thing)| {
            thing.spec.resource_type == SERVER
                && thing.physical_id.is_some()
                && is_server(thing.state)
        })
        .map(|(name, _)| name)
        .collect();
    let names: BTreeSet<String> = match chosen {
        None => {
            return Err(Error::CommandInvalid(
                "`servers` is missing: give a list of names, or `all`".into(),
            ));
        }
        Some(CommandServers::All(_)) => all.into_iter().collect(),
        Some(CommandServers::Named(names)) => {
            if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
                if let Some(changing) = known.get(unknown).filter(|thing| !is_server(thing.state)) {
                    return Err(Error::CommandInvalid(format!(
                        "`{unknown}` is {} by a run; leave it out, or wait until that has ended",
                        match changing.state {
                            ResourceState::Creating => "being made",
                            _ => "being deleted",
                        }
                    )));
                }
                let near = did_you_mean(unknown, all.iter().map(String::as_str));
                return Err(Error::CommandInvalid(format!(
                    "`{unknown}` is no server of this deployment{near}; it has {}",
                    listed(&all[..all.len().min(NAMED_MAX)])
                )));
            }
            names.iter().cloned().collect()
        }
    };
    match names.len() {
        0 => Err(Error::CommandInvalid(
            "no server is chosen, or the deployment has none".into(),
        )),
        count if count > SERVERS_MAX => Err(Error::CommandInvalid(format!(
            "{count} servers are chosen; at most {SERVERS_MAX} are possible at once"
        ))),
        _ => Ok(names.into_iter().collect()),
    }
}

/// The server of a component whose item has this command.
fn host_of(
    component: &str,
    command: &str,
    known: &ResourceTable,
    catalog: &Catalog,
) -> Result<String> {
    let invalid = |why: String| Error::CommandInvalid(why);
    let thing = known
        .get(component)
        .ok_or_else(|| invalid(format!("`{component}` is no component of this deployment")))?;
    let item = catalog.of_type(&thing.spec.resource_type);
    let commands = item.map(|item| item.described.commands.as_slice());
    let commands = commands.unwrap_or_default();
    if !commands.iter().any(|one| one.name == command) {
        let names = commands.iter().map(|one| one.name.as_str());
        let near = did_you_mean(command, names.clone());
        return Err(invalid(format!(
            "`{component}` has no command `{command}`{near}; it has {}",
            listed(&names.collect::<Vec<_>>())
        )));
    }
    let host = thing.spec.host().filter(|host| known.get(host).is_some());
    let host =
        host.ok_or_else(|| invalid(format!("the server of `{component}` is not created yet")))?;
    Ok(host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_the_given_one_or_the_scripts_own_or_the_shell() {
        let of = |given, script| interpreter(given, script).ok().flatten();
        assert_eq!(of(None, "echo").as_deref(), Some("/bin/sh"));
        assert_eq!(of(None, "#!/usr/bin/env python3\n"), None);
        let python = Some("/usr/bin/python3");
        assert_eq!(of(python, "#!/bin/sh\n").as_deref(), python);
        for bad in ["python3", "/bin/sh -c", "/bin/$(id)", "/bin/sh\n"] {
            assert!(interpreter(Some(bad), "echo").is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_have_limits() {
        assert!(check_text("script", "echo hello").is_ok());
        for bad in ["", " \n", "a\0b", &"x".repeat(CONTENT_BYTES_MAX + 1)] {
            assert!(check_text("script", bad).is_err());
        }
    }
}
