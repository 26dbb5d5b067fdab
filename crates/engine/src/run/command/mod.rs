//! Steps of commands: a script, a playbook, a command of a catalogue item on one server, or the role of a component without
//! providers that are gone, by Ansible in a sandbox.
//!
//! A command runs beside a change of its deployment: its step locks its server first ([`super::lock`]).
//!
//! A command runs like a role: detached on the server, followed live, and found again after a crash. Unlike a role it is not made to be
//! repeated. So all attempts of a step share one folder of programs, in which each program is started once, and the machine treats
//! each failure as final.
//!
//! A script that writes too much is ended on the server itself (`guard.sh`). Its processes are limited where systemd or the user's
//! limits can do so, and all of its session is ended by a cancellation or at the time limit.

use std::{collections::BTreeMap, sync::Arc};

use api::ResourceState;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hot::{expr::Expr, text::few};
use planner::workflow::ResourceSpec;
use serde_json::{Map, json};
use types::catalog::CatalogItem;
use zeroize::Zeroizing;

use super::{
    ansible::{self, Tasks},
    detached::Detached,
    execution::{Output, ended_badly},
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::{
    catalog::{Files, Item},
    resources::{ResourceEntry, ResourceTable, address::targets},
    secrets::{CommandContent, Configuration, Mask},
    ssh::Route,
};

const ROLE: &str = "command";
const TASKS: &str = include_str!("script.yml");
/// Number of tries to reach the server before anything is started there.
const TRIES: u32 = 3;
/// Maximum number of bytes of a script's errors in the step's error.
const ERROR_BYTES_MAX: usize = 300;
/// Results of the role.
const STATUS: &str = "command_status";
const ERRORS: &str = "command_errors";

/// The input of a sandbox for one server.
struct Prepared {
    files: Files,
    argv: Vec<String>,
    route: Route,
    private_key: Zeroizing<String>,
}

impl Attempt {
    /// Runs the run's command on the step's server.
    pub(super) async fn command(&self) -> StepResult {
        let server = self.name()?.to_owned();
        let content = self.run_context.command.as_deref().ok_or_else(|| {
            Ended::lasting(
                "its content is not stored any more, because the run was paused for too long; run the command again",
            )
        })?;
        self.check_target(&server, content).await?;
        let configuration = content
            .configuration(&self.step.id)
            .map(|given| still_needed(given, &self.run_context.known));
        let configuration = configuration.as_ref();
        let mut prepared = self.prepare(&server, content, configuration).await?;
        let target = configuration.map_or(&server, |one| &one.component);
        let detached = self.reach(target, &server, &prepared).await?;
        let folder = detached.folder.path();
        if let CommandContent::Script { .. } = content {
            self.add_script(&server, content, &folder, &mut prepared.files);
        }
        self.log.info(beginning(&server, configuration)).await;
        let Prepared {
            files,
            argv,
            route,
            private_key,
        } = prepared;
        let job = self.job(files, argv, (route, private_key), Some(&detached));
        let takes = |result: &str| matches!(result, STATUS | ERRORS);
        let output = self.in_sandbox(&job, &takes, Some(detached)).await?;
        if output.code != 0 {
            return Err(ended_badly(&server, output.code, output.failure.as_deref()));
        }
        match content {
            CommandContent::Script { .. } => script_outcome(&output, &self.run_context.mask)
                .map_err(|why| Ended::lasting(self.log.masked(&why))),
            CommandContent::Playbook { .. }
            | CommandContent::Item { .. }
            | CommandContent::Configure(_) => Ok(()),
        }
    }

    async fn prepare(
        &self,
        server: &str,
        content: &CommandContent,
        configuration: Option<&Configuration>,
    ) -> StepResult<Prepared> {
        if let CommandContent::Item { component, command } = content {
            return self.prepare_item(component, command).await;
        }
        if let Some(configuration) = configuration {
            return self.prepare_configuration(configuration).await;
        }
        let route = self.route(server)?;
        let private_key = self.private_key().await?;
        let mut files = ansible::ssh_files(&route, &private_key);
        let mut argv = ansible::playbook_command();
        if let CommandContent::Playbook { text, as_root } = content {
            let hosts = Map::from_iter([(server.to_owned(), json!({"ansible_become": as_root}))]);
            let inventory = json!({"all": {"hosts": hosts}}).to_string();
            files.insert("inventory.json".into(), inventory.into_bytes());
            files.insert("playbook.yml".into(), text.as_bytes().to_vec());
            argv = ["ansible-playbook", "-i", "inventory.json", "playbook.yml"]
                .map(str::to_owned)
                .into();
        }
        Ok(Prepared {
            files,
            argv,
            route,
            private_key,
        })
    }

    async fn prepare_item(&self, component: &str, command: &str) -> StepResult<Prepared> {
        let (spec, item) = self.component(component)?;
        let described = item
            .described
            .command(command)
            .ok_or_else(|| Ended::lasting(format!("`{component}` has no command `{command}`")))?;
        let tasks = Tasks::File(described.tasks_from());
        self.prepare_role((component, &spec), &item, tasks).await
    }

    async fn prepare_configuration(&self, configuration: &Configuration) -> StepResult<Prepared> {
        let name = &configuration.component;
        let (mut spec, item) = self.component(name)?;
        leave_out(&mut spec, &item.described, &configuration.without);
        self.prepare_role((name, &spec), &item, Tasks::Main).await
    }

    fn component(&self, name: &str) -> StepResult<(ResourceSpec, Arc<Item>)> {
        let known = self.run_context.known.get(name);
        let spec = known.map(|entry| entry.spec).ok_or_else(|| {
            Ended::lasting(format!(
                "`{name}` is not there any more; nothing was started"
            ))
        })?;
        let item = self.item_of(name, &spec)?;
        Ok((spec, item))
    }

    async fn prepare_role(
        &self,
        (name, spec): (&str, &ResourceSpec),
        item: &Arc<Item>,
        tasks: Tasks<'_>,
    ) -> StepResult<Prepared> {
        let given = self.given(spec, &item.described)?;
        let (files, route, private_key) =
            self.role_on_host((name, spec), item, &given, tasks).await?;
        Ok(Prepared {
            files,
            argv: ansible::playbook_command(),
            route,
            private_key,
        })
    }

    /// Adds the role that runs a script in a folder of the server.
    fn add_script(&self, server: &str, content: &CommandContent, folder: &str, files: &mut Files) {
        let CommandContent::Script {
            text,
            interpreter,
            as_root,
        } = content
        else {
            return;
        };
        let script = format!("{folder}/script");
        let argv: Vec<&str> = interpreter
            .as_deref()
            .into_iter()
            .chain([script.as_str()])
            .collect();
        let variables = json!({
            "stackloom_folder": folder, "stackloom_argv": argv, "stackloom_as_root": as_root,
        });
        let variables = variables.as_object().cloned().unwrap_or_default();
        files.extend(ansible::play(
            (ROLE, Tasks::Main),
            ROLE,
            server,
            &variables,
            &[],
        ));
        for (path, text) in [("tasks/main.yml", TASKS), ("files/script", text)] {
            files.insert(format!("roles/{ROLE}/{path}"), text.as_bytes().to_vec());
        }
    }

    /// The folder of the command's program. A command is not run without it: after a crash it could be started twice.
    async fn reach(&self, target: &str, server: &str, prepared: &Prepared) -> StepResult<Detached> {
        // Programs of components have folders of their own.
        let place = format!("command on {target}");
        for number in 1..=TRIES {
            let reached = self.detach(&place, &prepared.route, &prepared.private_key);
            if let Some(detached) = reached.await? {
                return Ok(detached);
            }
            if number < TRIES {
                self.pause(self.run_context.core.config.retry_pause).await?;
            }
        }
        Err(Ended::lasting(format!(
            "`{server}` cannot be reached over SSH as Stackloom needs it; the log says why. The command was not started by this attempt. \
             Servers that were made before the deployment had software have no login for Stackloom"
        )))
    }
}

/// The first line of a step's log.
fn beginning(server: &str, configuration: Option<&Configuration>) -> String {
    let Some(Configuration { component, without }) = configuration else {
        return format!("Running the command on `{server}`");
    };
    let without: Vec<&str> = without.keys().map(String::as_str).collect();
    if without.is_empty() {
        format!("Configuring `{component}` with all its connections: no server is missing any more")
    } else {
        let verb = if without.len() == 1 { "is" } else { "are" };
        format!(
            "Configuring `{component}` without {}, which {verb} gone",
            few(&without)
        )
    }
}

/// A configuration without the providers that a run has set up on other servers since it was given.
fn still_needed(given: &Configuration, known: &ResourceTable) -> Configuration {
    let is_ready = |entry: &ResourceEntry| entry.state == ResourceState::Ready;
    let is_back = |name: &str, id: &Option<String>| {
        let Some(entry) = known.get(name).filter(is_ready) else {
            return false;
        };
        let Some(host) = entry.spec.host() else {
            return entry.physical_id != *id;
        };
        known.get(host).filter(is_ready).is_some_and(|server| {
            let host = entry.made_from.get("host");
            server.physical_id != *id && host == server.reference.as_ref()
        })
    };
    let mut configuration = given.clone();
    configuration.without.retain(|name, id| !is_back(name, id));
    configuration
}

/// Takes providers out of a component's connections.
fn leave_out(
    spec: &mut ResourceSpec,
    item: &CatalogItem,
    without: &BTreeMap<String, Option<String>>,
) {
    for requirement in &item.requires {
        if let Some(Expr::List(providers)) = spec.properties.get_mut(&requirement.name) {
            providers.retain(|one| targets(one).iter().all(|name| !without.contains_key(*name)));
        }
    }
}

/// An error in words, if the script failed.
fn script_outcome(output: &Output, mask: &Mask) -> Result<(), String> {
    let result = |name: &str| {
        let decoded = output
            .results
            .get(name)
            .and_then(|text| STANDARD.decode(text).ok());
        decoded.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    match result(STATUS).as_deref() {
        Some("0") => Ok(()),
        Some(code) => {
            let errors = result(ERRORS).unwrap_or_default();
            let last = errors.lines().next_back().unwrap_or_default();
            let last = mask.beginning(last, ERROR_BYTES_MAX);
            let why = if last.is_empty() {
                String::new()
            } else {
                format!(": {last}")
            };
            Err(format!("it ended with exit code {code}{why}"))
        }
        None => Err("its exit code did not arrive; see the log".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use store::ResourceRow;

    use super::*;
    use crate::testing::{resource, row};

    fn ended(status: &str, errors: &str) -> Result<(), String> {
        let results = [(STATUS, status), (ERRORS, errors)];
        let output = Output {
            code: 0,
            failure: None,
            text: String::new(),
            results: results
                .map(|(name, text)| (name.to_owned(), STANDARD.encode(text)))
                .into(),
        };
        let mask = Mask::default();
        mask.add("hunter2");
        script_outcome(&output, &mask)
    }

    /// A web server's page and its server, with this id.
    fn page_on(id: &str, state: ResourceState, made_from: &str) -> ResourceTable {
        let host = ("host", Expr::GetResource("web".into()));
        let nginx = resource("Stackloom::Catalog::nginx", [host]);
        ResourceTable::of(vec![
            ResourceRow {
                physical_id: Some(id.into()),
                reference: Some(json!(id)),
                state,
                ..row("web", resource("OS::Nova::Server", []))
            },
            ResourceRow {
                made_from: BTreeMap::from([("host".to_owned(), json!(made_from))]),
                ..row("page", nginx)
            },
        ])
    }

    #[test]
    fn a_provider_is_missing_until_a_run_has_set_it_up_on_another_server() {
        let given = Configuration {
            component: "proxy".into(),
            without: BTreeMap::from([("page".to_owned(), Some("1".to_owned()))]),
        };
        let is_missing = |known| !still_needed(&given, &known).without.is_empty();
        assert!(is_missing(page_on("1", ResourceState::Ready, "1")));
        assert!(is_missing(page_on("2", ResourceState::Creating, "1")));
        let is_set_up_later = page_on("2", ResourceState::Ready, "1");
        assert!(is_missing(is_set_up_later));
        assert!(!is_missing(page_on("2", ResourceState::Ready, "2")));
    }

    #[test]
    fn a_component_is_configured_without_what_is_missing() {
        let item = CatalogItem::parse(
            "name: proxy\ntitle: Proxy\nversion: 1.0.0\nsummary: A proxy.\ncategory: web\n\
             requires: [{name: backends, capability: http}]\n",
            "argument_specs: {main: {options: {backends: {type: list, elements: dict, description: Servers.}}}}\n",
        )
        .unwrap();
        let of = |names: &[&str]| {
            let names = names.iter().map(|&name| Expr::GetResource(name.into()));
            Expr::List(names.collect())
        };
        let mut spec = resource(
            "Stackloom::Catalog::proxy",
            [("backends", of(&["one", "two"]))],
        );
        let missing = BTreeMap::from([("two".to_owned(), None), ("other".to_owned(), None)]);
        leave_out(&mut spec, &item, &missing);
        assert_eq!(spec.properties["backends"], of(&["one"]));
    }

    #[test]
    fn the_error_of_a_script_is_its_exit_code_and_its_last_line() {
        assert_eq!(ended("0", "careful"), Ok(()));
        let why = ended("3", "first\nno disk\n").unwrap_err();
        assert_eq!(why, "it ended with exit code 3: no disk");
        assert_eq!(ended("3", "").unwrap_err(), "it ended with exit code 3");
        let long = ended("1", &"x".repeat(5000)).unwrap_err();
        assert!(long.len() < 400, "{long}");
        let secret = ended("1", &format!("{}hunter2", ".".repeat(295))).unwrap_err();
        assert!(
            secret.ends_with("...") && !secret.contains("hunt"),
            "it is not cut in two"
        );
    }

    #[test]
    fn a_script_without_an_exit_code_has_failed() {
        let output = Output {
            code: 0,
            failure: None,
            text: String::new(),
            results: Default::default(),
        };
        assert!(script_outcome(&output, &Mask::default()).is_err());
    }
}
