//! Steps that run a catalogue item's role on a server, by Ansible in a sandbox.

use std::{collections::BTreeMap, sync::Arc};

use api::ResourceState;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};
use store::{Health, ResourceChange};
use types::catalog::{
    CONSUMER_KEY, CatalogItem, SECRET_KEY,
    role::{META_FILES, platform_note},
};
use zeroize::Zeroizing;

use super::{
    ansible::{self, Tasks},
    context::RunContext,
    detached::Detached,
    execution::{ended_badly, stored_part},
    health::HealthWait,
    hosts,
    outcome::Ended,
    registry,
    step::{Attempt, StepResult},
};
use crate::{
    catalog::{Files, Item},
    resources::{Addresses, address},
    sandbox::{Job, Servers},
    ssh::Route,
};
use drivers::Earlier;

/// Variable with the address of the component's own server, as in its outputs: the public one, else the private one.
const ADDRESS: &str = "stackloom_address";

impl Attempt {
    /// Runs a component's role on its host.
    pub(super) async fn configure(&self) -> StepResult {
        let name = self.name()?.to_owned();
        let spec = self.run_context.workflow.resources.get(&name).cloned();
        let spec =
            spec.ok_or_else(|| Ended::lasting(format!("the workflow does not describe `{name}`")))?;
        let item = self.item_of(&name, &spec)?;
        let host = self.host(&spec)?;
        let given = self.given(&spec, &item.described)?;
        let (mut files, route, private_key) = self
            .role_on_host((&name, &spec), &item, &given, Tasks::Main)
            .await?;
        if self.was_interrupted {
            files.extend([ansible::interruption()]);
        }
        let role = &item.described.name;
        let platform_note = other_platform(&files, role);
        let detached = self.detach(&name, &route, &private_key).await?;
        self.log
            .info(format!("Running role `{role}` on `{host}`"))
            .await;
        let described = &item.described;
        let wait = HealthWait::new(&name, described, &given, route.clone(), private_key.clone());
        let job = self.job(
            files,
            ansible::playbook_command(),
            (route, private_key),
            detached.as_ref(),
        );
        let takes = |result: &str| address::takes_result(&item.described, result);
        let output = self.in_sandbox(&job, &takes, detached).await?;
        if output.code != 0 {
            self.note_state(&name, ResourceState::Failed).await?;
        }
        match output.code {
            0 => {
                self.until_healthy(&name, wait).await?;
                // An output is stored in clear text.
                let stored = |value: &str| {
                    let value = stored_part(value, &self.run_context.mask);
                    self.log.masked(value)
                };
                let results = output.results.into_iter();
                let results = results.map(|(name, value)| (name, stored(&value)));
                self.configured(&name, &host, &item.described, &given, &results.collect())
                    .await
            }
            code => {
                let note = platform_note.map(|note| format!(" {note}"));
                let note = note.unwrap_or_default();
                let failure = output.failure.map(|failure| failure + &note);
                Err(ended_badly(&host, code, failure.as_deref()))
            }
        }
    }

    /// The catalogue item of a component.
    pub(super) fn item_of(&self, name: &str, spec: &ResourceSpec) -> StepResult<Arc<Item>> {
        let item = self.run_context.catalog.of_type(&spec.resource_type);
        item.cloned().ok_or_else(|| {
            Ended::lasting(format!(
                "the catalogue has no item for `{}` in the version that this was made with; add it again, or take `{name}` out",
                spec.resource_type
            ))
        })
    }

    /// The files of a sandbox that runs tasks of a component's role on its host, and the way there.
    pub(super) async fn role_on_host(
        &self,
        (name, spec): (&str, &ResourceSpec),
        item: &Arc<Item>,
        given: &Map<String, Value>,
        tasks: Tasks<'_>,
    ) -> StepResult<(Files, Route, Zeroizing<String>)> {
        let host = self.host(spec)?;
        let mut variables = given.clone();
        for requirement in &item.described.requires {
            if let Some(value) = spec.properties.get(&requirement.name) {
                let endpoints = address::targets(value)
                    .into_iter()
                    .map(|target| self.endpoint(name, target, &requirement.capability));
                variables.insert(
                    requirement.name.clone(),
                    Value::Array(endpoints.collect::<StepResult<_>>()?),
                );
            }
        }
        variables.extend(self.consumers(spec, &item.described)?);
        let route = self.route(&host)?;
        let role = item.described.name.clone();
        let private_key = self.private_key().await?;
        let reader = item.clone();
        let read = move || {
            reader.files().map(|files| {
                let uses = |variable: &str| registry::is_used(&files, variable);
                (uses(registry::VARIABLE), uses(ADDRESS), files)
            })
        };
        let read = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| Ended::lasting(error.to_string()))?;
        let (names_services, names_address, role_files) = read.map_err(|error| {
            Ended::lasting(format!(
                "the files of item `{role}` cannot be read ({error}); upload the same version of it again"
            ))
        })?;
        if names_address {
            let RunContext {
                known, parameters, ..
            } = &*self.run_context;
            let addresses = Addresses::of(known, &known.scope(parameters), &host);
            variables.insert(ADDRESS.to_owned(), json!(addresses.best()));
        }
        let services = names_services.then(|| self.services());
        let (host_names, remarks) = self.host_names(spec, services.as_ref(), tasks);
        for remark in remarks {
            self.log.warn(remark).await;
        }
        let services = services.map(|list| (registry::VARIABLE.to_owned(), list));
        variables.extend(services);
        let mut files = ansible::ssh_files(&route, &private_key);
        files.extend(ansible::play(
            (&role, tasks),
            name,
            &host,
            &variables,
            &host_names,
        ));
        files.extend(
            role_files
                .into_iter()
                .map(|(path, bytes)| (format!("roles/{role}/{path}"), bytes)),
        );
        Ok((files, route, private_key))
    }

    /// The services of the deployment, for a role.
    fn services(&self) -> Value {
        let RunContext {
            known,
            parameters,
            catalog,
            ..
        } = &*self.run_context;
        registry::services(known, &known.scope(parameters), |resource_type| {
            let item = catalog.of_type(resource_type);
            item.map(|item| &item.described)
        })
    }

    /// The tasks that write the component's names in `/etc/hosts`, with remarks on names that are left out.
    fn host_names(
        &self,
        spec: &ResourceSpec,
        services: Option<&Value>,
        tasks: Tasks<'_>,
    ) -> (Vec<Value>, Vec<String>) {
        match tasks {
            Tasks::Main => {}
            removal if removal == Tasks::REMOVAL => {
                return (hosts::tasks(&BTreeMap::new()), Vec::new());
            }
            Tasks::File(_) => return (Vec::new(), Vec::new()),
        }
        let RunContext {
            known,
            parameters,
            catalog,
            workflow,
            ..
        } = &*self.run_context;
        let is_component = |resource_type: &str| catalog.of_type(resource_type).is_some();
        let names = hosts::names(
            spec,
            known,
            &known.scope(parameters),
            services,
            |name| {
                let planned = workflow.resources.get(name).cloned();
                planned.or_else(|| Some(known.get(name)?.spec))
            },
            is_component,
        );
        // An earlier set-up can have left names.
        let tasks = if names.addresses.is_empty() && self.earlier == Earlier::None {
            Vec::new()
        } else {
            hosts::tasks(&names.addresses)
        };
        (tasks, names.remarks)
    }

    /// A sandbox's execution for this step on one server, whose programs are in the folder of `detached`.
    pub(super) fn job(
        &self,
        mut files: Files,
        argv: Vec<String>,
        (route, private_key): (Route, Zeroizing<String>),
        detached: Option<&Detached>,
    ) -> Job {
        files.extend([ansible::lock_rule()]);
        files.extend(detached.map(|detached| {
            let folder = detached.folder.path();
            ("jobs".to_owned(), folder.into_bytes())
        }));
        Job {
            run: self.run_context.run.clone(),
            step: self.step.id.clone(),
            files,
            argv,
            servers: Servers {
                routes: vec![route],
                private_key,
            },
            mask: self.run_context.mask.clone(),
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
        self.run_context.known.change(name, |entry| {
            entry.reference = Some(reference.clone());
            entry.attributes.clone_from(&attributes);
            entry.state = ResourceState::Ready;
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
                // The step has waited for it.
                health: (!item.health.is_empty()).then_some(Health::Healthy),
            },
        )
        .await?;
        self.log
            .info(format!("Configured `{name}` on `{host}`"))
            .await;
        Ok(())
    }

    /// The values that a later plan compares: the host, the peers, and the results that the component got from others.
    pub(super) fn component_made_from(&self, name: &str) -> BTreeMap<String, Value> {
        let Some(entry) = self.run_context.known.get(name) else {
            return BTreeMap::new();
        };
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let resolved = entry.spec.properties.iter();
        let resolved =
            resolved.filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)));
        self.made_from(name, &resolved.collect())
    }

    /// A component's given inputs, resolved. References to others are not inputs.
    pub(super) fn given(
        &self,
        spec: &ResourceSpec,
        item: &CatalogItem,
    ) -> StepResult<Map<String, Value>> {
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

    pub(super) fn host(&self, spec: &ResourceSpec) -> StepResult<String> {
        let host = spec
            .properties
            .get("host")
            .map(address::targets)
            .unwrap_or_default();
        host.first()
            .map(|host| (*host).to_owned())
            .ok_or_else(|| Ended::lasting("it has no `host`; drop it on a server"))
    }

    /// The role variables with the components that are connected to this one, each with its secret.
    fn consumers(&self, spec: &ResourceSpec, item: &CatalogItem) -> StepResult<Map<String, Value>> {
        let mut lists = spec.clone();
        let is_list = |variable: &String| {
            let mut lists = item
                .provides
                .iter()
                .filter_map(|one| one.consumers.as_ref());
            lists.any(|list| list == variable)
        };
        lists.properties.retain(|variable, _| is_list(variable));
        self.resolve(&lists)
    }

    /// The endpoint of the component `target`, for the component `consumer` that connects to it.
    fn endpoint(&self, consumer: &str, target: &str, capability: &str) -> StepResult<Value> {
        let missing = || Ended::lasting(format!("`{target}` is not created yet"));
        // The provider may not be set up yet: its endpoint is the one that it gets in this run.
        let planned = self.run_context.workflow.resources.get(target).cloned();
        let known = || Some(self.run_context.known.get(target)?.spec);
        let mut spec = planned.or_else(known).ok_or_else(missing)?;
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
        let offered = item.and_then(|item| item.capability(capability));
        let list = offered.and_then(|offered| offered.consumers.as_deref());
        let secret = list
            .and_then(|list| spec.secret_of(consumer, list))
            .cloned();
        // Its other inputs may refer to what comes after this component.
        spec.properties.retain(|name, _| {
            offered.is_some_and(|offered| offered.endpoint_inputs().any(|input| input == name))
        });
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
        let mut endpoint = address::endpoint(target, item, capability, &given, &address);
        if let Some(secret) = secret {
            let scope = self.run_context.known.scope(&self.run_context.parameters);
            let secret = secret.resolve(&scope);
            endpoint[CONSUMER_KEY] = consumer.into();
            endpoint[SECRET_KEY] = secret.map_err(|error| {
                Ended::lasting(format!(
                    "the secret of the connection to `{target}`: {error}"
                ))
            })?;
        }
        Ok(endpoint)
    }
}

/// The note on a role that was made for another platform, which is the likely reason of its failure.
fn other_platform(files: &Files, role: &str) -> Option<String> {
    let mut paths = META_FILES.iter();
    let meta = paths.find_map(|path| files.get(&format!("roles/{role}/{path}")))?;
    platform_note(std::str::from_utf8(meta).ok()?)
}
