//! The choices of a property: resources of the design, objects of the cloud, and values that the type allows.

use hot::constraint::Constraint;
use planner::cloud::CloudFacts;
use serde_json::json;
use types::{Choices, Property, PropertyKind};

use super::{
    Choice,
    maker::{Maker, plain},
};

impl Maker<'_> {
    /// True if the facts about the cloud are known, but without the list for this property.
    pub(super) fn lacks_list(&self, property: &Property) -> bool {
        let cloud = self.cloud;
        *cloud != CloudFacts::default()
            && match property.choices {
                Some(Choices::Image) => cloud.images.is_none(),
                Some(Choices::Flavor) => cloud.flavors.is_none(),
                Some(Choices::Network) => cloud.networks.is_none(),
                Some(Choices::ExternalNetwork) => cloud.external_networks.is_none(),
                Some(Choices::KeyPair) => cloud.key_pairs.is_none(),
                Some(Choices::AvailabilityZone) => cloud.availability_zones.is_none(),
                Some(Choices::VolumeType) => cloud.volume_types.is_none(),
                None => false,
            }
    }

    /// All choices of a property.
    pub(super) fn choices(&self, property: &Property) -> Vec<Choice> {
        if !matches!(
            property.kind,
            PropertyKind::String | PropertyKind::Any | PropertyKind::Integer | PropertyKind::Number
        ) {
            return Vec::new();
        }
        let mut choices: Vec<Choice> = Vec::new();
        let named = |name: &str, label: String| Choice {
            key: name.to_owned(),
            label,
            value: json!(name),
        };
        if let Some(reference) = &property.reference {
            choices.extend(self.fitting(&reference.to).map(|name| Choice {
                key: format!("@{name}"),
                label: name.to_owned(),
                value: json!({ "get_resource": name }),
            }));
        }
        if let Some(live) = property.choices {
            let names = |list: &Option<Vec<planner::cloud::Named>>| {
                list.iter()
                    .flatten()
                    .map(|one| named(&one.name, one.name.clone()))
                    .collect::<Vec<_>>()
            };
            choices.extend(match live {
                Choices::Image => names(&self.cloud.images),
                Choices::Network => names(&self.cloud.networks),
                Choices::ExternalNetwork => names(&self.cloud.external_networks),
                Choices::KeyPair => names(&self.cloud.key_pairs),
                Choices::AvailabilityZone => names(&self.cloud.availability_zones),
                Choices::VolumeType => names(&self.cloud.volume_types),
                Choices::Flavor => self
                    .cloud
                    .flavors
                    .iter()
                    .flatten()
                    .map(|flavor| named(&flavor.name, flavor_label(flavor)))
                    .collect(),
            });
        }
        for constraint in &property.constraints {
            if let Constraint::AllowedValues(values) = constraint {
                choices.extend(values.iter().map(|value| Choice {
                    key: plain(value),
                    label: plain(value),
                    value: value.clone(),
                }));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        choices.retain(|choice| seen.insert(choice.key.clone()));
        choices
    }
}

fn flavor_label(flavor: &planner::cloud::Flavor) -> String {
    let memory = match flavor.ram_mib {
        mib if mib >= 1024 && mib % 1024 == 0 => format!("{} GiB", mib / 1024),
        mib if mib >= 1024 => format!("{:.1} GiB", f64::from(mib) / 1024.0),
        mib => format!("{mib} MiB"),
    };
    format!("{} · {} vCPU · {memory}", flavor.name, flavor.vcpus)
}
