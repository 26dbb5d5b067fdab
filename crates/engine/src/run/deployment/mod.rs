//! Steps of software deployments: a configuration that runs on a server, by Ansible in a sandbox.
//!
//! A configuration of the group `script` is copied to the server and runs there, by our role. One of the group
//! `ansible` is a playbook: it runs in the sandbox, and its host `localhost` is the server, because Heat's agent would
//! run it there. For every other tool, our program (`role/tools.py`) runs on the server like a script: it does what the
//! hook of Heat's agent does, and refuses before anything runs if the tool is missing. All write outputs into files on the
//! server. There is no agent, so nothing signals: the step's own SSH connection brings the outputs back.
//!
//! With `signal_transport: NO_SIGNAL` a script is started and not waited for. Then the deployment has no outputs.

use std::collections::BTreeMap;

use api::ResourceState;
use planner::{
    software::{Tool, config_of},
    workflow::{ResourceSpec, StepKind},
};
use serde_json::{Map, Value, json};
use store::ResourceChange;

use super::{
    ansible::{self, Tasks},
    driver_input::DriverInput,
    execution::ended_badly,
    outcome::Ended,
    snapshot::short_run,
    step::{Attempt, StepResult},
};
use crate::resources::ResourceEntry;
use configuration::{Configuration, environment, playbook_results};

mod configuration;
mod structured;

const CREATE: &str = "CREATE";
const UPDATE: &str = "UPDATE";
const DELETE: &str = "DELETE";

/// The `signal_transport` of a deployment that is started and not waited for.
const NO_SIGNAL: &str = "NO_SIGNAL";

const ROLE: &str = "software_deployment";
const SCRIPT_TASKS: &str = include_str!("role/script.yml");
const FOLDER_TASKS: &str = include_str!("role/folder.yml");
const OUTPUT_TASKS: &str = include_str!("role/outputs.yml");
const TOOLS: &str = include_str!("role/tools.py");

impl Attempt {
    /// Runs a deployment's configuration on its server, for its creation or its change.
    pub(super) async fn deploy_software(&self) -> StepResult {
        let name = self.name()?.to_owned();
        let spec = self.spec()?;
        let work = self.planned_input(&name, spec)?;
        let before = self.run_context.known.get(&name);
        let before = before.filter(|entry| entry.reference.is_some());
        if let Some(entry) = &before
            && self.step.kind == StepKind::Update
            && self.step.if_changed
            && self.has_same_values(entry, &work)
        {
            self.log
                .info(format!(
                    "`{name}` does not run again: its values are unchanged"
                ))
                .await;
            return self
                .deployed(&name, &work.spec, entry.attributes.clone())
                .await;
        }
        if self.step.kind == StepKind::Update {
            self.begin_change(&name, &work.spec).await?;
        }
        let config = self.config(&work)?;
        let action = match &before {
            Some(entry) if !self.is_made_anew(&name, entry, &work, &config)? => UPDATE,
            _ => CREATE,
        };
        let mut attributes = before.map(|entry| entry.attributes).unwrap_or_default();
        match configuration(&work, &config, action)? {
            Some(configuration) => {
                let outcome = self.execute(&name, &work, &configuration, action).await;
                if outcome.is_err() {
                    self.note_state(&name, ResourceState::Failed).await?;
                }
                attributes = outcome?;
            }
            None => {
                let message =
                    format!("`{name}` does not run on {action}, which is not among its `actions`");
                self.log.info(message).await;
            }
        }
        self.deployed(&name, &work.spec, attributes).await
    }

    /// Runs the configuration for the removal of a deployment whose server stays.
    pub(super) async fn act_on_delete(&self, name: &str, spec: &ResourceSpec) -> StepResult {
        let work = self.recorded_input(name, spec.clone());
        let config = self.config(&work)?;
        let Some(configuration) = configuration(&work, &config, DELETE)? else {
            return Ok(());
        };
        if !self.is_led_to_server(spec, work.properties.get("server")) {
            let message =
                format!("`{name}` does not run on DELETE, because its server is deleted too");
            self.log.info(message).await;
            return Ok(());
        }
        self.execute(name, &work, &configuration, DELETE).await?;
        Ok(())
    }

    /// Runs the configuration of an existing deployment for SUSPEND or RESUME, if it acts on it. Its outputs stay those of its
    /// creation or last change, which other resources were made from.
    pub(super) async fn act_on(&self, name: &str, spec: &ResourceSpec, action: &str) -> StepResult {
        let work = self.recorded_input(name, spec.clone());
        let config = self.config(&work)?;
        if let Some(configuration) = configuration(&work, &config, action)? {
            self.execute(name, &work, &configuration, action).await?;
        }
        Ok(())
    }

    /// True if no value differs from those that the deployment ran with.
    fn has_same_values(&self, entry: &ResourceEntry, work: &DriverInput) -> bool {
        let names = entry.spec.properties.keys();
        let mut names = names.chain(work.spec.properties.keys());
        names.all(|name| self.is_same(entry, name, &work.spec, &work.resolved))
    }

    /// True if the deployment runs as for the first time: on another server, or with another value of an input that
    /// says so.
    fn is_made_anew(
        &self,
        name: &str,
        entry: &ResourceEntry,
        work: &DriverInput,
        config: &Map<String, Value>,
    ) -> StepResult<bool> {
        let before = self.recorded_input(name, entry.spec.clone()).properties;
        if before.get("server") != work.properties.get("server") {
            return Ok(true);
        }
        let Some(of) = configuration(work, config, UPDATE)? else {
            return Ok(false);
        };
        let (before, now) = (of.inputs(&before, []), of.inputs(&work.properties, []));
        Ok(of
            .replacing
            .iter()
            .any(|input| before.get(input) != now.get(input)))
    }

    /// Records the new description of a deployed deployment.
    async fn begin_change(&self, name: &str, spec: &ResourceSpec) -> StepResult {
        let known = self.run_context.known.get(name);
        self.run_context.known.change(name, |entry| {
            entry.spec = spec.clone();
            entry.state = ResourceState::Updating;
        });
        self.note(
            name,
            ResourceChange::Begin {
                spec: Box::new(spec.clone()),
                state: ResourceState::Updating,
                incarnation: known.map_or(0, |entry| entry.incarnation),
            },
        )
        .await
    }

    /// The properties of the configuration that a deployment was made with.
    fn config(&self, work: &DriverInput) -> StepResult<Map<String, Value>> {
        let missing = || Ended::lasting("its configuration is not there");
        let config = config_of(&work.spec).ok_or_else(missing)?;
        let known = &self.run_context.known;
        // An update that replaces the configuration leaves the older one as a copy until the end.
        let copies = known.copies(config);
        let mut names = std::iter::once(config).chain(copies.iter().map(String::as_str));
        let is_it = |name: &&str| {
            let entry = known.get(name);
            entry.is_some_and(|entry| entry.reference.as_ref() == work.resolved.get("config"))
        };
        let name = names.find(is_it).unwrap_or(config);
        let entry = known.get(name).ok_or_else(missing)?;
        Ok(self.recorded_input(name, entry.spec).properties)
    }

    /// Runs a configuration on the server. Returns the deployment's attributes.
    async fn execute(
        &self,
        name: &str,
        work: &DriverInput,
        configuration: &Configuration,
        action: &str,
    ) -> StepResult<Map<String, Value>> {
        let host = work
            .spec
            .host()
            .ok_or_else(|| Ended::lasting("it names no server of this template"))?;
        let waits =
            signal_transport(&work.properties) != NO_SIGNAL || configuration.tool != Tool::Script;
        let folder = self.folder(name);
        let inputs = self.deployment_inputs((name, action), work, configuration, &folder);
        let route = self.route(host)?;
        let private_key = self.private_key().await?;
        let mut files = ansible::ssh_files(&route, &private_key);
        let own = json!({
            "stackloom_folder": folder, "stackloom_outputs": configuration.outputs, "stackloom_waits": waits,
        });
        let variables = own.as_object().cloned().unwrap_or_default();
        if configuration.tool == Tool::Script {
            self.warn_of_left_out(&inputs).await;
        }
        let (play, argv) = play_of((name, host, action), configuration, inputs, variables);
        files.extend(play);
        let detached = self.detach(name, &route, &private_key).await?;
        self.log
            .info(format!("Running `{name}` on `{host}` for {action}"))
            .await;
        let job = self.job(files, argv, (route, private_key), detached.as_ref());
        let takes = |result: &str| configuration.takes(result);
        let mut output = self.in_sandbox(&job, &takes, detached).await?;
        if output.code != 0 {
            let failure = output.failure.as_deref();
            return Err(ended_badly(host, output.code, failure));
        }
        if !waits {
            return Ok(Map::new());
        }
        if configuration.tool == Tool::Ansible {
            playbook_results(&output.text, &mut output.results);
        }
        let outcome = configuration.outcome(&output.results, &self.run_context.mask);
        outcome.map_err(|why| {
            let why = self.log.masked(&why);
            Ended::lasting(format!("`{name}` failed on `{host}`: {why}"))
        })
    }

    /// The inputs of a configuration, and those that Heat adds for every deployment.
    fn deployment_inputs(
        &self,
        (name, action): (&str, &str),
        work: &DriverInput,
        configuration: &Configuration,
        folder: &str,
    ) -> Map<String, Value> {
        let properties = &work.properties;
        let stack = format!(
            "{}/{}",
            self.run_context.deployment_name, self.run_context.deployment
        );
        configuration.inputs(
            properties,
            [
                ("deploy_server_id", text_of(properties, "server").to_owned()),
                ("deploy_action", action.to_owned()),
                ("deploy_stack_id", stack),
                ("deploy_resource_name", name.to_owned()),
                (
                    "deploy_signal_transport",
                    signal_transport(properties).to_owned(),
                ),
                ("heat_outputs_path", format!("{folder}/output")),
            ],
        )
    }

    /// Warns about inputs that a script does not get, because they cannot be environment variables.
    async fn warn_of_left_out(&self, inputs: &Map<String, Value>) {
        let (_, left_out) = environment(inputs);
        for input in left_out {
            let message = format!(
                "Input `{input}` is left out: its name is not valid for an environment variable"
            );
            self.log.warn(message).await;
        }
    }

    /// The folder on the server: of the deployment, for this run.
    fn folder(&self, name: &str) -> String {
        let run = short_run(&self.run_context.run);
        format!("/var/lib/heat-config/{}-{run}", file_name(name))
    }

    /// Records the end of a deployment's step, and its attributes.
    async fn deployed(
        &self,
        name: &str,
        spec: &ResourceSpec,
        attributes: Map<String, Value>,
    ) -> StepResult {
        let reference = Value::String(name.to_owned());
        self.run_context.known.change(name, |entry| {
            entry.spec = spec.clone();
            entry.reference = Some(reference.clone());
            entry.attributes.clone_from(&attributes);
            entry.state = ResourceState::Ready;
        });
        let made_from = self.component_made_from(name);
        self.run_context
            .known
            .change(name, |entry| entry.made_from.clone_from(&made_from));
        let (reference, attributes) = self.to_store(name, &reference, &attributes);
        self.note(
            name,
            ResourceChange::Ready {
                reference,
                attributes,
                physical_id: None,
                made_from,
                made_with: self.made_with(name),
                health: None,
            },
        )
        .await
    }
}

/// The text of a deployment's property. Empty if it has none.
fn text_of<'a>(properties: &'a Map<String, Value>, property: &str) -> &'a str {
    let value = properties.get(property).and_then(Value::as_str);
    value.unwrap_or_default()
}

/// The way in which a deployment signals its end, or Heat's default.
fn signal_transport(properties: &Map<String, Value>) -> &str {
    match text_of(properties, "signal_transport") {
        "" => "CFN_SIGNAL",
        given => given,
    }
}

/// The configuration that a deployment runs on an action. Structured deployments have inputs in it.
fn configuration(
    work: &DriverInput,
    config: &Map<String, Value>,
    action: &str,
) -> StepResult<Option<Configuration>> {
    let mut deployment = work.properties.clone();
    if work.spec.resource_type == types::STRUCTURED_DEPLOYMENT {
        let key = deployment.entry("input_key");
        key.or_insert_with(|| "get_input".into());
    }
    Configuration::of(&deployment, config, action).map_err(Ended::lasting)
}

/// The files with which Ansible runs a configuration, and its command.
fn play_of(
    (name, host, action): (&str, &str, &str),
    configuration: &Configuration,
    inputs: Map<String, Value>,
    mut variables: Map<String, Value>,
) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let play = |variables: &Map<String, Value>| {
        ansible::play((ROLE, Tasks::Main), name, host, variables, &[])
    };
    if configuration.tool == Tool::Ansible {
        variables.extend(inputs);
        let mut files = play(&variables);
        files.extend(playbook_files(name, host, &configuration.text()));
        return (files, playbook_command(&configuration.options));
    }
    let (commands, _) = environment(&inputs);
    let is_script = configuration.tool == Tool::Script;
    let (program, input) = if is_script {
        (configuration.text(), String::new())
    } else {
        let input = configuration.for_tool(&file_name(name), action, &inputs);
        (TOOLS.to_owned(), input)
    };
    let names: &[&str] = if is_script {
        &["environment"]
    } else {
        &["environment", "input.json"]
    };
    variables.insert("stackloom_inputs".to_owned(), json!(names));
    let mut files = play(&variables);
    let role = [
        ("tasks/main.yml", SCRIPT_TASKS),
        ("tasks/outputs.yml", OUTPUT_TASKS),
        ("files/config", program.as_str()),
        ("files/environment", commands.as_str()),
        ("files/input.json", input.as_str()),
    ];
    files.extend(
        role.map(|(path, text)| (format!("roles/{ROLE}/{path}"), text.as_bytes().to_vec())),
    );
    (files, ansible::playbook_command())
}

/// A resource's name as the name of a file.
fn file_name(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            other => format!("_{other:02x}"),
        })
        .collect()
}

/// The user's playbook, between one that makes the folder for outputs and one that reads them. The host is `localhost`,
/// as for Heat's agent, and a connection variable leads to the server, whatever connection the playbook names.
fn playbook_files(name: &str, host: &str, playbook: &str) -> BTreeMap<String, Vec<u8>> {
    let localhost = json!({
        "ansible_connection": "ssh", "ansible_host": host, "ansible_become": true,
    });
    let inventory = json!({"all": {"hosts": {"localhost": localhost}}});
    let around = |title: &str, tasks: &str| {
        json!([{
            "name": title, "hosts": "all", "gather_facts": false, "tasks": [{"import_tasks": tasks}],
        }])
    };
    let before = around(&format!("folder of {name}"), "folder.yml");
    let after = around(&format!("outputs of {name}"), "outputs.yml");
    [
        ("inventory.json", inventory.to_string()),
        ("before.json", before.to_string()),
        ("after.json", after.to_string()),
        ("config.yml", playbook.to_owned()),
        ("folder.yml", FOLDER_TASKS.to_owned()),
        ("outputs.yml", OUTPUT_TASKS.to_owned()),
    ]
    .map(|(path, text)| (path.to_owned(), text.into_bytes()))
    .into()
}

/// The command for [`playbook_files`], with the options `tags` and `skip_tags`.
fn playbook_command(options: &Map<String, Value>) -> Vec<String> {
    let mut command: Vec<String> = [
        "ansible-playbook",
        "-i",
        "inventory.json",
        "-e",
        "@variables.json",
    ]
    .map(str::to_owned)
    .into();
    for (option, flag) in [("tags", "--tags"), ("skip_tags", "--skip-tags")] {
        if let Some(tags) = options.get(option).and_then(Value::as_str) {
            command.extend([flag.to_owned(), tags.to_owned()]);
        }
    }
    command.extend(["before.json", "config.yml", "after.json"].map(str::to_owned));
    command
}
