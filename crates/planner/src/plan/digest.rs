//! The digest of a plan's changes. With it, a request names the plan that its user has reviewed. Pure.
//!
//! It covers what a user sees of the changes: the resources, the actions and the properties. Problems, quotas, steps and
//! reasons are left out, because they can differ for the same changes. No part is random: hidden parameters and generated
//! values are expressions in a plan, and ids of a new deployment are not in it.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Action, Change, Plan};
use crate::workflow::ResourceSpec;
use hot::{expr::Expr, template::DeletionPolicy};

/// The reviewed part of a change.
#[derive(Serialize)]
struct Reviewed<'a> {
    action: Action,
    resource: &'a str,
    resource_type: &'a str,
    may: bool,
    old_goes_first: bool,
    properties: Vec<Difference<'a>>,
    /// The resource after the run. `None` for a deletion.
    planned: Option<Planned<'a>>,
}

/// Name, old value, new value, and whether it replaces the resource.
type Difference<'a> = (&'a str, Option<&'a Value>, Option<&'a Value>, bool);

/// The planned content of a resource.
#[derive(Serialize)]
struct Planned<'a> {
    properties: Vec<(&'a str, &'a Expr)>,
    deletion_policy: DeletionPolicy,
    external_id: Option<&'a Expr>,
    version: Option<&'a str>,
}

impl Plan {
    /// SHA-256 of the changes, in hexadecimal. Plans with the same changes have the same digest. Unchanged resources do not
    /// count.
    pub fn digest_of_changes(&self) -> String {
        let changed = self.changes.iter();
        let changed = changed.filter(|change| change.action != Action::None);
        let reviewed: Vec<Reviewed<'_>> = changed.map(|change| self.reviewed(change)).collect();
        // Names of map keys are text, so this does not fail.
        let text = serde_json::to_vec(&reviewed).unwrap_or_default();
        format!("{:x}", Sha256::digest(text))
    }

    fn reviewed<'a>(&'a self, change: &'a Change) -> Reviewed<'a> {
        let resources = self.workflow.as_ref().map(|workflow| &workflow.resources);
        let spec = resources.and_then(|resources| resources.get(&change.resource));
        let properties = change.properties.iter();
        let properties = properties.map(|one| {
            let (old, new) = (one.old.as_ref(), one.new.as_ref());
            (one.name.as_str(), old, new, one.replaces)
        });
        Reviewed {
            action: change.action,
            resource: &change.resource,
            resource_type: &change.resource_type,
            may: change.may,
            old_goes_first: change.old_goes_first,
            properties: properties.collect(),
            planned: spec
                .filter(|_| change.action != Action::Delete)
                .map(planned),
        }
    }
}

fn planned(spec: &ResourceSpec) -> Planned<'_> {
    let properties = spec.properties.iter();
    Planned {
        properties: properties
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        deletion_policy: spec.deletion_policy,
        external_id: spec.external_id.as_ref(),
        version: spec.version.as_deref(),
    }
}
