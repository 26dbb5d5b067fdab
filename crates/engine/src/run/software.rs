//! Steps that log in to servers: the check over SSH, and roles. Both connect from a sandbox through the bastion, with both host
//! keys pinned.

use std::collections::BTreeMap;

use api::{LogLevel, LogStream, ResourceState};
use async_trait::async_trait;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value};
use store::ResourceChange;
use types::catalog::CatalogItem;

use super::{
    ansible::{self, Connection, Host},
    log::StepLog,
    outcome::Ended,
    step::{Attempt, LOGIN_USER, StepResult},
};
use crate::{
    machine::{Failure, FailureClass},
    resources::{Addresses, address},
    sandbox::{Job, LineSink},
};

/// Exit code of `wait_ssh.py`: timeout.
const EXIT_TIME_IS_UP: i64 = 75;
/// Exit code of `wait_ssh.py`: another host key.
const EXIT_HOST_KEY: i64 = 76;
/// Exit code of Ansible: a host could not be reached.
const EXIT_UNREACHABLE: i64 = 4;
/// Number of lines of the console log in an error.
const CONSOLE_LINES: u32 = 40;

const HOST_KEY_CHANGED: &str = "showed another SSH host key than the one that we gave it when it was made. Either it was rebuilt or its keys were \
    changed on it, or somebody stands in between. Nothing was sent to it. If you changed it yourself, deploy the server anew";

impl Attempt {
    /// Tries to log in until it works. An active server that does not answer has a broken cloud-init.
    pub(super) async fn wait_for_ssh(&self) -> StepResult {
        let server = self.name()?.to_owned();
        let connection = self.connection(&server)?;
        let seconds = self.run_context.core.config.ssh_timeout.as_secs().max(1);
        self.log
            .info(format!(
                "waiting until `{server}` ({}) answers over SSH",
                connection.host.address
            ))
            .await;
        let argv = [
            "python3",
            "/opt/stackloom/wait_ssh.py",
            &server,
            &seconds.to_string(),
        ]
        .map(str::to_owned)
        .to_vec();
        let mut files = connection.files(&self.private_key().await?);
        let output = self.in_sandbox(&mut files, argv, LogStream::Engine).await?;
        let last = output.failure;
        match output.code {
            0 => {
                self.log.info(format!("`{server}` answers over SSH")).await;
                Ok(())
            }
            EXIT_HOST_KEY => Err(Ended::lasting(format!("`{server}` {HOST_KEY_CHANGED}"))),
            EXIT_TIME_IS_UP => {
                self.show_console(&server).await;
                let last = last
                    .map(|last| format!(" (last: {last})"))
                    .unwrap_or_default();
                let message = format!(
                    "`{server}` is active but could not be reached over SSH within {seconds} s{last}. Log in to the VM, by the cloud's console \
                     for instance, and see why cloud-init failed: `cloud-init status --long`, `/var/log/cloud-init-output.log`. The end \
                     of its console log is in this step's log. If it only boots slowly, start the server of Stackloom with a longer \
                     `--ssh-timeout` (`STACKLOOM_SSH_TIMEOUT`, in seconds) and deploy again"
                );
                Err(Ended::Failed(Failure::new(
                    FailureClass::SshTimeout,
                    message,
                )))
            }
            code => Err(Ended::lasting(format!(
                "the check over SSH ended with exit code {code}: {}",
                last.unwrap_or_default()
            ))),
        }
    }

    async fn show_console(&self, server: &str) {
        let Some(id) = self
            .run_context
            .known
            .get(server)
            .and_then(|thing| thing.physical_id)
        else {
            return;
        };
        match self
            .run_context
            .session
            .compute()
            .server_console(&id, CONSOLE_LINES)
            .await
        {
            Ok(text) => {
                let lines: Vec<&str> = text.lines().collect();
                let end = lines.len().saturating_sub(CONSOLE_LINES as usize);
                self.log
                    .say(
                        LogStream::Console,
                        lines[end..].iter().map(|line| (LogLevel::Info, *line)),
                    )
                    .await;
            }
            Err(error) => {
                self.log
                    .warn(format!("the console log cannot be read: {error}"))
                    .await
            }
        }
    }

    /// Runs a component's role on its host.
    pub(super) async fn configure(&self) -> StepResult {
        let name = self.name()?.to_owned();
        let spec = self.run_context.workflow.resources.get(&name).cloned();
        let spec =
            spec.ok_or_else(|| Ended::lasting(format!("the workflow does not describe `{name}`")))?;
        let item = self
            .run_context
            .catalog
            .of_type(&spec.resource_type)
            .cloned();
        let item = item.ok_or_else(|| {
            Ended::lasting(format!(
                "the catalogue has no item for `{}` in the version that this was made with; add it again, or take `{name}` out",
                spec.resource_type
            ))
        })?;
        let host = self.host(&spec)?;
        let given = self.given(&spec, &item.described)?;
        let mut variables = given.clone();
        for requirement in &item.described.requires {
            if let Some(value) = spec.properties.get(&requirement.name) {
                let endpoints = address::targets(value)
                    .into_iter()
                    .map(|target| self.endpoint(target, &requirement.capability));
                variables.insert(
                    requirement.name.clone(),
                    Value::Array(endpoints.collect::<StepResult<_>>()?),
                );
            }
        }

        let connection = self.connection(&host)?;
        let role = item.described.name.clone();
        let mut files = connection.files(&self.private_key().await?);
        files.extend(ansible::play(&role, &name, &host, &variables));
        let role_files =
            tokio::task::spawn_blocking(move || item.files().map(|files| (item, files)))
                .await
                .map_err(|error| Ended::lasting(error.to_string()))?;
        let (item, role_files) = role_files.map_err(|error| {
            Ended::lasting(format!(
                "the files of item `{role}` cannot be read ({error}); upload the same version of it again"
            ))
        })?;
        files.extend(
            role_files
                .into_iter()
                .map(|(path, bytes)| (format!("roles/{role}/{path}"), bytes)),
        );
        self.log
            .info(format!("running role `{role}` on `{host}`"))
            .await;
        let output = self
            .in_sandbox(&mut files, ansible::playbook_command(), LogStream::Ansible)
            .await?;
        let why = output.failure.unwrap_or_else(|| "see the log".into());
        if output.code != 0 {
            self.note_state(&name, ResourceState::Failed).await?;
        }
        match output.code {
            0 => {
                self.configured(&name, &host, &item.described, &given, &output.results)
                    .await
            }
            _ if ansible::is_changed_host_key(&why) => {
                Err(Ended::lasting(format!("`{host}` {HOST_KEY_CHANGED}")))
            }
            EXIT_UNREACHABLE => {
                let message = format!("Ansible could not reach `{host}` (exit code 4): {why}");
                Err(Ended::Failed(Failure::new(
                    FailureClass::HostUnreachable,
                    message,
                )))
            }
            137 => Err(Ended::lasting(format!(
                "Ansible was killed on `{host}`: the sandbox had too little memory"
            ))),
            code => Err(Ended::lasting(format!(
                "Ansible ended with exit code {code}: {why}"
            ))),
        }
    }

    async fn configured(
        &self,
        name: &str,
        host: &str,
        item: &CatalogItem,
        given: &Map<String, Value>,
        results: &BTreeMap<String, String>,
    ) -> StepResult {
        let addresses = Addresses::of(
            &self.run_context.known,
            &self.run_context.known.scope(&self.run_context.parameters),
            host,
        );
        let attributes = address::outputs(item, given, &addresses, results);
        let reference = Value::String(name.to_owned());
        self.run_context.known.change(name, |thing| {
            thing.reference = Some(reference.clone());
            thing.attributes.clone_from(&attributes);
            thing.state = ResourceState::Ready;
        });
        let made_from = self.component_made_from(name);
        let (reference, attributes) = self.to_store(name, &reference, &attributes);
        self.note(
            name,
            ResourceChange::Ready {
                reference,
                attributes,
                physical_id: None,
                made_from,
                made_with: self.made_with(name),
            },
        )
        .await?;
        self.log.info(format!("`{name}` runs on `{host}`")).await;
        Ok(())
    }

    /// The values that a later plan compares: the host, the peers, and the results that the component got from others.
    fn component_made_from(&self, name: &str) -> BTreeMap<String, Value> {
        let Some(thing) = self.run_context.known.get(name) else {
            return BTreeMap::new();
        };
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let resolved = thing.spec.properties.iter();
        let resolved =
            resolved.filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)));
        self.made_from(name, &resolved.collect())
    }

    /// A component's given inputs, resolved. References to others are not inputs.
    fn given(&self, spec: &ResourceSpec, item: &CatalogItem) -> StepResult<Map<String, Value>> {
        let is_input = |name: &str| item.inputs.iter().any(|input| input.name == name);
        let mut inputs = spec.clone();
        inputs.properties.retain(|name, _| is_input(name));
        let given = self.resolve(&inputs)?;
        for input in item.inputs.iter().filter(|input| input.secret) {
            if let Some(value) = given.get(&input.name) {
                self.run_context.mask.add_value(value);
            }
        }
        Ok(given)
    }

    fn host(&self, spec: &ResourceSpec) -> StepResult<String> {
        let host = spec
            .properties
            .get("host")
            .map(address::targets)
            .unwrap_or_default();
        host.first()
            .map(|host| (*host).to_owned())
            .ok_or_else(|| Ended::lasting("it has no `host`; drop it on a server"))
    }

    /// The `{name, address, port}` of the component that this one connects to.
    fn endpoint(&self, target: &str, capability: &str) -> StepResult<Value> {
        let missing = || Ended::lasting(format!("`{target}` is not there yet"));
        let planned = self.run_context.workflow.resources.get(target).cloned();
        let spec = self
            .run_context
            .known
            .get(target)
            .map(|thing| thing.spec)
            .or(planned)
            .ok_or_else(missing)?;
        let item = self
            .run_context
            .catalog
            .of_type(&spec.resource_type)
            .map(|item| &item.described);
        let server = if item.is_some() {
            self.host(&spec)?
        } else {
            target.to_owned()
        };
        let given = item
            .map(|item| self.given(&spec, item))
            .transpose()?
            .unwrap_or_default();
        let addresses = Addresses::of(
            &self.run_context.known,
            &self.run_context.known.scope(&self.run_context.parameters),
            &server,
        );
        let address = addresses.private.or(addresses.public).ok_or_else(missing)?;
        Ok(address::endpoint(
            target, item, capability, &given, &address,
        ))
    }

    /// The connection to a server.
    fn connection(&self, server: &str) -> StepResult<Connection> {
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let bastion = self.bastion().ok_or_else(|| {
            Ended::lasting("no server of this deployment is the bastion; mark one as public")
        })?;
        let public = bastion.address.clone().ok_or_else(|| {
            Ended::lasting(format!(
                "the bastion `{}` has no public address",
                bastion.server
            ))
        })?;
        let key = |server: &str| {
            let thing = self.run_context.known.get(server);
            let key = thing.and_then(|thing| {
                thing
                    .attributes
                    .get("host_key")
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            });
            key.ok_or_else(|| {
                Ended::lasting(format!("the SSH host key of `{server}` is not known: the server was created without Stackloom's login. Deploy it again"))
            })
        };
        let gate = Host {
            name: bastion.server.clone(),
            address: public,
            host_key: key(&bastion.server)?,
        };
        if server == bastion.server {
            return Ok(Connection {
                host: gate,
                bastion: None,
                user: LOGIN_USER.into(),
            });
        }
        let addresses = Addresses::of(&self.run_context.known, &scope, server);
        let address = addresses
            .private
            .ok_or_else(|| Ended::lasting(format!("`{server}` has no address in a network")))?;
        let host = Host {
            name: server.to_owned(),
            address,
            host_key: key(server)?,
        };
        Ok(Connection {
            host,
            bastion: Some(gate),
            user: LOGIN_USER.into(),
        })
    }

    /// The output of an execution, after its end.
    async fn in_sandbox(
        &self,
        files: &mut BTreeMap<String, Vec<u8>>,
        argv: Vec<String>,
        stream: LogStream,
    ) -> StepResult<Output> {
        let job = Job {
            run: self.run_context.run.clone(),
            step: self.step.id.clone(),
            files: std::mem::take(files),
            argv,
        };
        let mut sink = ToLog {
            log: &self.log,
            stream,
            failure: None,
            results: BTreeMap::new(),
        };
        let code = self
            .run_context
            .core
            .sandboxes
            .execute(&job, &self.stop, &mut sink)
            .await?;
        // The output becomes an error and attributes, which are stored in clear text.
        let masked = |text: String| self.log.masked(&text);
        Ok(Output {
            code,
            failure: sink.failure.map(masked),
            results: sink
                .results
                .into_iter()
                .map(|(name, value)| (name, masked(value)))
                .collect(),
        })
    }
}

/// The output of a sandbox. Secrets are masked.
struct Output {
    code: i64,
    /// The first failure.
    failure: Option<String>,
    /// Values that a role set, for its item's outputs.
    results: BTreeMap<String, String>,
}

/// Turns a sandbox's lines into log lines while it runs.
struct ToLog<'a> {
    log: &'a StepLog,
    stream: LogStream,
    failure: Option<String>,
    results: BTreeMap<String, String>,
}

#[async_trait]
impl LineSink for ToLog<'_> {
    async fn lines(&mut self, lines: Vec<String>) {
        let mut shown = Vec::with_capacity(lines.len());
        for line in lines {
            let one = ansible::show(&line);
            shown.extend(one.lines);
            self.results.extend(one.results);
            // The first failure is the cause, later ones are its consequences.
            if self.failure.is_none() || self.stream == LogStream::Engine {
                self.failure = one.failure.or(self.failure.take());
            }
        }
        self.log.say(self.stream, shown).await;
    }
}
