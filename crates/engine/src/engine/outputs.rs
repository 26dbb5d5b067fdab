//! Outputs of a deployment.
//!
//! An output is an expression. The attributes that it uses are read from the cloud when the output is shown: one read
//! per resource, a few at a time, within a time limit. If a resource cannot be read in time, the attributes that its
//! last run stored are used. Groups and nested templates have no attributes of their own: theirs are resolved from
//! those of their members. Hidden parameters are not available here, so an output with one has an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use api::OutputValue;
use hot::expr::{Expr, Unresolved};
use openstack::Session;
use planner::{members::is_parent, workflow::copy_of};
use serde_json::{Map, Value};
use store::{DeploymentRow, ResourceRow, now_text};
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    Actor,
    compute::in_place,
    resources::{ResourceEntry, ResourceTable},
    run::{Names, parameters, requested_attributes},
    secrets::RunVault,
};
use drivers::{Accepted, Context, Driver, DriverError, Marker};

/// Maximum number of parallel requests to the cloud.
const PARALLEL_READS: usize = 8;

/// The outputs of one deployment, with the known attributes of its resources.
pub(super) struct Outputs {
    row: Arc<DeploymentRow>,
    known: ResourceTable,
    values: BTreeMap<String, Value>,
    /// Time when the attributes of a resource were read. `None` if unknown.
    read_at: BTreeMap<String, Option<String>>,
    /// Resources that were read for this response.
    read: BTreeSet<String>,
    /// Resources that could not be read, with the reason.
    failed: BTreeMap<String, String>,
}

impl Outputs {
    /// Outputs from stored attributes.
    pub fn of(row: Arc<DeploymentRow>, resources: Vec<ResourceRow>) -> Outputs {
        let times = resources.iter();
        let times = times.map(|resource| (resource.name.clone(), resource.read_at.clone()));
        Outputs {
            read_at: times.collect(),
            known: ResourceTable::of(resources),
            values: parameters(&row, &BTreeMap::new()),
            row,
            read: BTreeSet::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Reads the attributes that the outputs use from the cloud. Attributes that do not arrive in time keep their
    /// stored values.
    pub async fn read(&mut self, actor: &Actor, vault: RunVault, patience: Duration) {
        let vault = Arc::new(vault);
        let gate = Arc::new(Semaphore::new(PARALLEL_READS));
        let mut looks = JoinSet::new();
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        let values = self.row.outputs.values().map(|output| &output.value);
        for (name, names) in self.sources(values) {
            let Some(look) = in_place(|| self.look(&name, actor, &vault)) else {
                continue;
            };
            let look = Arc::new(look);
            let on_demand = names.on_demand(look.driver);
            let mut parts = Vec::new();
            if names.has_others(look.driver) {
                parts.push(Part::Stored);
            }
            if !on_demand.is_empty() {
                parts.push(Part::OnDemand(on_demand));
            }
            let late = "the cloud did not answer in time";
            self.failed.insert(name.clone(), late.to_owned());
            open.insert(name.clone(), parts.len());
            for part in parts {
                let (name, look, gate) = (name.clone(), look.clone(), gate.clone());
                looks.spawn(async move {
                    let _permit = gate.acquire_owned().await;
                    (name, look.read(&part).await)
                });
            }
        }
        let gather = async {
            while let Some(looked) = looks.join_next().await {
                let Ok((name, looked)) = looked else { continue };
                match looked {
                    Ok(attributes) => {
                        self.known
                            .change(&name, |thing| thing.attributes.extend(attributes));
                        let left = open.entry(name.clone()).or_default();
                        *left = left.saturating_sub(1);
                        if *left == 0 {
                            self.failed.remove(&name);
                            self.read_at.insert(name.clone(), Some(now_text()));
                            self.read.insert(name);
                        }
                    }
                    Err(why) => {
                        self.failed.insert(name, why.to_string());
                    }
                }
            }
        };
        // Resources without a response by then already have a reason in `failed`.
        let _in_time = timeout(patience, gather).await;
        in_place(|| self.resolve_parents());
    }

    /// All outputs, resolved.
    pub fn resolve(&self) -> BTreeMap<String, OutputValue> {
        let scope = self.known.scope(&self.values);
        let resolved = self.row.outputs.iter().map(|(name, output)| {
            let (value, error) = match output.value.resolve(&scope) {
                Ok(value) => (Some(value), None),
                Err(error) => (None, Some(self.explained(&error))),
            };
            let sources = self.sources([&output.value]);
            let times = sources.keys().map(|name| self.read_at.get(name).cloned());
            // Times of one format sort as text.
            let times: Option<Vec<String>> = times.map(Option::flatten).collect();
            let value = OutputValue {
                description: output.description.clone(),
                value,
                error,
                read_at: times.and_then(|times| times.into_iter().min()),
                live: !sources.is_empty() && sources.keys().all(|name| self.read.contains(name)),
            };
            (name.clone(), value)
        });
        resolved.collect()
    }

    fn explained(&self, error: &Unresolved) -> String {
        let Unresolved::Attribute {
            resource,
            attribute,
        } = error
        else {
            return error.to_string();
        };
        if let Some(why) = self.failed.get(resource) {
            return format!("`{resource}` could not be read: {why}. Refresh to try again");
        }
        let driver = self.known.get(resource);
        let driver = driver.and_then(|thing| drivers::driver_for(&thing.spec.resource_type));
        match driver.is_some_and(|driver| driver.names_on_demand().contains(&attribute.as_str())) {
            true if !self.read.contains(resource) => format!(
                "`{attribute}` of `{resource}` is not stored: it is read from the cloud when no run is at work"
            ),
            _ => error.to_string(),
        }
    }

    /// The resources whose attributes the expressions use. Groups and nested templates are replaced by their members.
    fn sources<'e>(&self, values: impl IntoIterator<Item = &'e Expr>) -> BTreeMap<String, Names> {
        let mut open = vec![requested_attributes(values)];
        let mut found: BTreeMap<String, Names> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            for (name, names) in next {
                let Some(thing) = self.known.get(&name) else {
                    continue;
                };
                if !is_parent(&thing.spec.resource_type) {
                    found.entry(name).or_default().extend(names);
                    continue;
                }
                for (property, value) in &thing.spec.properties {
                    if names.include(property) && seen.insert((name.clone(), property.clone())) {
                        open.push(requested_attributes([value]));
                    }
                }
            }
        }
        found
    }

    /// Resolves the attributes of groups and nested templates from their members' current ones. Inner ones come first.
    fn resolve_parents(&self) {
        let mut parents: Vec<(String, ResourceEntry)> = self
            .known
            .all()
            .into_iter()
            .filter(|(_, thing)| thing.reference.is_some() && is_parent(&thing.spec.resource_type))
            .collect();
        parents.sort_by_key(|(name, _)| std::cmp::Reverse(name.matches('/').count()));
        for (name, parent) in parents {
            let scope = self.known.scope(&self.values);
            let properties = parent.spec.properties.iter();
            let resolved: Map<String, Value> = properties
                .filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)))
                .collect();
            self.known
                .change(&name, |thing| thing.attributes.extend(resolved));
        }
    }

    /// The input of a resource's read. `None` if it has no attributes to read in the cloud.
    fn look(&self, name: &str, actor: &Actor, vault: &Arc<RunVault>) -> Option<ReadJob> {
        let thing = self.known.get(name)?;
        let kind = &thing.spec.resource_type;
        let driver = drivers::driver_for(kind)?;
        if drivers::is_of_the_language(kind) || !driver.secrets().is_empty() {
            return None;
        }
        thing.reference.as_ref()?;
        let id = thing.physical_id.clone()?;
        let scope = self.known.scope(&self.values);
        let resolved = thing.spec.properties.iter();
        let resolved =
            resolved.filter_map(|(name, value)| Some((name.clone(), value.resolve(&scope).ok()?)));
        let mut properties: Map<String, Value> = resolved.collect();
        properties.extend(thing.made_from.clone());
        if let Some(described) = types::Registry::shared().get(kind) {
            properties = types::typed(&described.properties, &properties);
        }
        let resource = copy_of(name).unwrap_or(name);
        let marker = Marker {
            deployment: self.row.shown.id.clone(),
            deployment_name: self.row.shown.name.clone(),
            resource: match thing.incarnation {
                0 => resource.to_owned(),
                number => format!("{resource}#{number}"),
            },
        };
        Some(ReadJob {
            id,
            driver,
            thing,
            properties,
            marker,
            session: actor.session.clone(),
            vault: vault.clone(),
        })
    }
}

/// A set of attributes that are read together.
enum Part {
    /// Attributes that a run stores.
    Stored,
    /// Attributes that need requests of their own.
    OnDemand(Vec<&'static str>),
}

/// The inputs of one resource's read.
struct ReadJob {
    id: String,
    driver: &'static dyn Driver,
    thing: ResourceEntry,
    properties: Map<String, Value>,
    marker: Marker,
    session: Session,
    vault: Arc<RunVault>,
}

impl ReadJob {
    async fn read(&self, part: &Part) -> Result<Map<String, Value>, DriverError> {
        let accepted = Accepted::default();
        let vault = self.vault.as_ref();
        let base = Context::of(
            &self.session,
            vault,
            &accepted,
            &self.marker,
            &self.properties,
        );
        let context = Context {
            marks: &self.thing.spec.marks,
            ..base
        };
        let mut read = match part {
            Part::OnDemand(names) => match self.driver.on_demand() {
                Some(on_demand) => on_demand.read(&context, &self.id, names).await?,
                None => Map::new(),
            },
            Part::Stored => {
                let attributes = self.driver.attributes(&context, &self.id).await?;
                attributes.ok_or_else(|| {
                    DriverError::Other(
                        "it is gone from the cloud, or is being changed there".into(),
                    )
                })?
            }
        };
        drivers::marker::hide(&mut read);
        Ok(read)
    }
}
