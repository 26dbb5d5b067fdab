//! Outputs of a deployment.
//!
//! An output is an expression. The attributes that it uses are read from the cloud when the output is shown: one read
//! per resource, a few at a time, within a time limit for all of them. If a resource cannot be read in time, the attributes
//! that its last run stored are used. Groups and nested templates have no attributes of their own: theirs are resolved from
//! those of their members. Hidden parameters are not available here, so an output with one has an error.
//!
//! Heat has no word for secret outputs. Here, the origin of a value tells: see [`crate::run::Origins`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use api::OutputValue;
use hot::expr::{Expr, Unresolved};
use planner::{members::is_parent, workflow::ResourceSpec};
use serde_json::{Map, Value};
use store::{DeploymentRow, ResourceRow, now_text};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::read::{Part, Recorded};
use crate::{
    Actor,
    catalog::Catalog,
    compute::in_place,
    resources::{ResourceEntry, ResourceTable},
    run::{Names, Origins, hidden_in, parameters, requested_attributes},
    secrets::RunVault,
    slots::Share,
};

/// The outputs of one deployment, with the known attributes of its resources.
pub(super) struct Outputs {
    row: Arc<DeploymentRow>,
    catalog: Arc<Catalog>,
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
    pub fn of(
        row: Arc<DeploymentRow>,
        resources: Vec<ResourceRow>,
        catalog: Arc<Catalog>,
    ) -> Outputs {
        let times = resources.iter();
        let times = times.map(|resource| (resource.name.clone(), resource.read_at.clone()));
        Outputs {
            read_at: times.collect(),
            known: ResourceTable::of(resources),
            values: parameters(&row, &BTreeMap::new()),
            row,
            catalog,
            read: BTreeSet::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Reads the attributes that the outputs use from the cloud. Attributes that do not arrive in time keep their
    /// stored values. Each read has its turn in the share. The time limit includes the wait for it, because a page waits for
    /// all outputs.
    pub async fn read(&mut self, actor: &Actor, vault: RunVault, patience: Duration, share: Share) {
        let deadline = Instant::now() + patience;
        let vault = Arc::new(vault);
        let mut looks = JoinSet::new();
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        let values = self.row.outputs.values().map(|output| &output.value);
        for (name, names) in self.sources(values) {
            let recorded = Recorded {
                deployment: &self.row.shown,
                resources: &self.known,
                parameters: &self.values,
            };
            let Some(look) = in_place(|| recorded.read_job(&name, actor, &vault)) else {
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
            open.insert(name.clone(), parts.len());
            for part in parts {
                let (name, look, share) = (name.clone(), look.clone(), share.clone());
                looks.spawn(async move {
                    let Ok(_turn) = timeout_at(deadline, share.turn()).await else {
                        let why = "the cloud was not asked, because other requests of the project take too long";
                        return (name, Err(why.to_owned()));
                    };
                    let read = match timeout_at(deadline, look.read(&part)).await {
                        Ok(read) => read.map_err(|error| error.to_string()),
                        Err(_late) => Err("the cloud did not answer in time".to_owned()),
                    };
                    (name, read)
                });
            }
        }
        while let Some(looked) = looks.join_next().await {
            let Ok((name, looked)) = looked else { continue };
            match looked {
                Ok(attributes) => {
                    self.known
                        .change(&name, |thing| thing.attributes.extend(attributes));
                    let left = open.entry(name.clone()).or_default();
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        self.read_at.insert(name.clone(), Some(now_text()));
                        self.read.insert(name);
                    }
                }
                Err(why) => {
                    self.failed.insert(name, why);
                }
            }
        }
        in_place(|| self.resolve_parents());
    }

    /// All outputs, resolved.
    pub fn resolve(&self) -> BTreeMap<String, OutputValue> {
        let scope = self.known.scope(&self.values);
        let specs: BTreeMap<String, ResourceSpec> = self
            .known
            .all()
            .into_iter()
            .map(|(name, entry)| (name, entry.spec))
            .collect();
        let properties = specs.values().flat_map(|spec| spec.properties.values());
        let outputs = self.row.outputs.values().map(|output| &output.value);
        let hidden = hidden_in(properties.chain(outputs), &self.values);
        let spec_of = |name: &str| specs.get(name).cloned();
        let origins = Origins::of(&hidden, &spec_of).with_items(&self.catalog);
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
                secret: origins.is_secret(&output.value),
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
}
