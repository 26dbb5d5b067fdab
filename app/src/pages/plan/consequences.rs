//! Consequences of a change for the users of a resource, in words: restarts, lost data, other addresses. Pure.
//!
//! Only what the cloud does by itself is here. The plan says which resources change and why.

use api::{Action, Change};

/// A consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// One sentence.
    pub text: &'static str,
    /// True if data or an address is lost for good.
    pub is_loss: bool,
}

const fn loss(text: &'static str) -> Option<Consequence> {
    Some(Consequence {
        text,
        is_loss: true,
    })
}

const fn note(text: &'static str) -> Option<Consequence> {
    Some(Consequence {
        text,
        is_loss: false,
    })
}

/// The consequences of a change. Empty if there are none to mention.
pub fn of(change: &Change) -> Vec<Consequence> {
    let of_type = match (change.action, change.resource_type.as_str()) {
        (Action::Replace, "OS::Nova::Server") => loss(
            "A new server is created from its image. Data on its own disk is lost; attached volumes stay.",
        ),
        (Action::Delete, "OS::Nova::Server") => {
            loss("Data on its own disk is lost; attached volumes stay.")
        }
        (Action::Replace, "OS::Cinder::Volume") => {
            loss("A new volume takes its place. Its data is lost.")
        }
        (Action::Delete, "OS::Cinder::Volume") => loss("Its data is lost."),
        (Action::Replace, "OS::Neutron::FloatingIP") => loss("The public address changes."),
        (Action::Delete, "OS::Neutron::FloatingIP") => {
            loss("The public address is given back to the cloud.")
        }
        (Action::Replace, "OS::Neutron::Port") => {
            note("Its address changes, unless the port names it.")
        }
        _ => None,
    };
    let of_properties = change
        .properties
        .iter()
        .filter_map(|property| of_property(change, &property.name));
    // A policy keeps the resource or a snapshot of it, and the reason says so.
    let is_kept = |text: &String| text.contains("deletion_policy") || text.contains("external_id");
    if change.action == Action::Delete && change.because.as_ref().is_some_and(is_kept) {
        return Vec::new();
    }
    of_type.into_iter().chain(of_properties).collect()
}

fn of_property(change: &Change, path: &str) -> Option<Consequence> {
    let property = path.split('.').next().unwrap_or(path);
    match (change.action, change.resource_type.as_str(), property) {
        (Action::Update, "OS::Nova::Server", "flavor") => {
            note("The server is resized: it stops and starts again.")
        }
        (Action::Update, "OS::Nova::Server", "networks") => {
            note("Network interfaces are attached or detached; its addresses can change.")
        }
        (Action::Update, "OS::Cinder::Volume", "size") => note(
            "The volume is extended; the file system on it is not. An attached volume may be detached for that.",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(action: &str, resource_type: &str, property: &str) -> Change {
        serde_json::from_value(json!({
            "action": action, "resource": "web", "type": resource_type, "origin": {"from": "drawn"},
            "properties": [{"name": property, "old": 1, "new": 2}],
        }))
        .unwrap()
    }

    #[test]
    fn a_new_flavor_restarts_and_a_replacement_loses_the_disk() {
        let resize = of(&change("update", "OS::Nova::Server", "flavor"));
        assert!(resize[0].text.contains("stops and starts"), "{resize:?}");
        let replace = of(&change("replace", "OS::Nova::Server", "flavor"));
        assert_eq!(replace.len(), 1);
        assert!(replace[0].is_loss && replace[0].text.contains("disk is lost"));
        assert_eq!(of(&change("update", "OS::Neutron::Net", "name")), []);
    }

    #[test]
    fn what_a_policy_keeps_is_not_lost() {
        let mut volume = change("delete", "OS::Cinder::Volume", "size");
        assert_eq!(of(&volume).len(), 1);
        volume.because = Some("`deletion_policy: Retain`: it stays in the cloud".to_owned());
        assert_eq!(of(&volume), []);
    }
}
