//! Dependencies without a reference.

use std::collections::{HashMap, HashSet};

use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use super::{Exporter, Target};

impl Exporter<'_> {
    /// Adds the dependencies that no reference implies.
    pub(super) fn order(&mut self, name: &str, spec: &ResourceSpec, body: &mut Map<String, Value>) {
        let mut mentioned = HashSet::new();
        for value in spec.properties.values() {
            mentioned.extend(value.resources());
        }
        let implicit_dependencies = spec
            .requires
            .iter()
            .filter(|one| !mentioned.contains(one.as_str()) && one.as_str() != name);
        let mut addresses: Vec<Value> = Vec::new();
        for one in implicit_dependencies.flat_map(|one| self.addresses(one)) {
            let address = json!(one);
            let own = body_of(&address, &self.writer.targets, name);
            if !own && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if !addresses.is_empty() {
            body.insert("depends_on".to_owned(), Value::Array(addresses));
        }
    }

    /// The address of a resource, or the addresses of its members.
    fn addresses(&self, name: &str) -> Vec<String> {
        if let Some(target) = self.writer.targets.get(name) {
            return match target {
                Target::Resource { address, .. } => vec![address.clone()],
                Target::Local(_) => Vec::new(),
            };
        }
        let Some(spec) = self.expanded.get(name) else {
            return Vec::new();
        };
        let below = format!("{name}/");
        let members = spec.requires.iter().filter(|one| one.starts_with(&below));
        members.flat_map(|one| self.addresses(one)).collect()
    }
}

/// Whether an address is the resource's own. Some resources become an argument of another one.
fn body_of(address: &Value, targets: &HashMap<String, Target>, name: &str) -> bool {
    let own = targets.get(name);
    matches!(own, Some(Target::Resource { address: own, .. }) if address == own)
}
