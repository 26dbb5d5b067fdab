//! Checks of names against the cloud's facts. Unknown lists cause no errors.

use super::*;
use crate::{
    cloud::Named,
    lookup::{self, Lookup},
};
use types::Choices;

impl Checker<'_> {
    pub(super) fn in_cloud(&mut self, choices: Choices, name: &str, path: &Path<'_>) {
        let cloud = self.cloud;
        let (code, what, known) = match choices {
            Choices::Image => ("unknown-image", "image", of(&cloud.images)),
            Choices::Flavor => {
                let flavors = cloud.flavors.as_ref();
                let known = flavors.map(|all| {
                    all.iter()
                        .map(|one| (one.id.as_str(), one.name.as_str()))
                        .collect()
                });
                ("unknown-flavor", "flavor", known)
            }
            Choices::Network => {
                let both = of(&cloud.networks).map(|mut all| {
                    all.extend(of(&cloud.external_networks).unwrap_or_default());
                    all
                });
                ("unknown-network", "network", both)
            }
            Choices::ExternalNetwork => (
                "unknown-external-network",
                "external network",
                of(&cloud.external_networks),
            ),
            Choices::KeyPair => ("unknown-key-pair", "key pair", of(&cloud.key_pairs)),
            Choices::AvailabilityZone => (
                "unknown-availability-zone",
                "availability zone",
                of(&cloud.availability_zones),
            ),
            Choices::VolumeType => (
                "unknown-volume-type",
                "volume type",
                of(&cloud.volume_types),
            ),
        };
        let Some(known) = known else { return };
        if name.is_empty()
            || known
                .iter()
                .any(|(id, known)| *id == name || *known == name)
            || self.is_drawn(choices, name)
        {
            return;
        }
        self.error(code, path, not_found_message(what, name, &known));
    }

    /// Checks a custom constraint. Names of objects that the template creates are accepted.
    pub(super) fn looked_up(&mut self, constraint: &Lookup, name: &str, path: &Path<'_>) {
        let Some(known) = lookup::known_values(constraint.name, self.cloud) else {
            return;
        };
        if name.is_empty()
            || lookup::is_among(name, &known)
            || self.drawn_name(constraint.made_by, name)
        {
            return;
        }
        let message = not_found_message(constraint.what, name, &known);
        self.error("unknown-in-cloud", path, message);
    }
}

/// Message about a missing object, with similar names.
fn not_found_message(what: &str, name: &str, known: &[(&str, &str)]) -> String {
    let names: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
    let hint = match did_you_mean(name, names.iter().copied()) {
        near if !near.is_empty() => near,
        _ if names.is_empty() => "; it has none".to_owned(),
        _ if names.len() <= 12 => format!("; there are {}", listed(&names)),
        _ => String::new(),
    };
    format!("the cloud has no {what} `{}`{hint}", shown(name))
}

/// Id and name of each object.
fn of(list: &Option<Vec<Named>>) -> Option<Vec<(&str, &str)>> {
    list.as_ref().map(|all| {
        all.iter()
            .map(|one| (one.id.as_str(), one.name.as_str()))
            .collect()
    })
}
