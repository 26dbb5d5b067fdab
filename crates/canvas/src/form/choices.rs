//! The choices of a property: resources of the design, objects of the cloud, and values that the type allows.

use hot::constraint::Constraint;
use planner::cloud::{CloudFacts, ImageFacts};
use serde_json::json;
use types::{Choices, Property, PropertyKind};

use crate::commands::free_cidrs;

use super::{
    Choice, NewRow,
    addresses::Range,
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

    /// Values to propose in a field of text. Any other text is possible too.
    pub(super) fn proposals(&self, property: &Property, path: &[String]) -> Vec<String> {
        let keys: Vec<&str> = path.iter().skip(3).map(String::as_str).collect();
        match &keys[..] {
            ["cidr"]
                if property
                    .constraints
                    .contains(&Constraint::Custom("net_cidr".to_owned())) =>
            {
                free_cidrs(self.template)
            }
            ["gateway_ip"] | ["host_routes", _, "nexthop"] => {
                self.own_range().map(Range::gateways).unwrap_or_default()
            }
            ["allocation_pools", _, end] => {
                let pools = self.own_range().map(Range::pools).unwrap_or_default();
                let mut proposals: Vec<String> = pools
                    .into_iter()
                    .map(|pool| {
                        if *end == "start" {
                            pool.start
                        } else {
                            pool.end
                        }
                    })
                    .collect();
                let mut seen = std::collections::BTreeSet::new();
                proposals.retain(|address| seen.insert(address.clone()));
                proposals
            }
            _ => Vec::new(),
        }
    }

    /// The range of the form's subnet.
    fn own_range(&self) -> Option<Range> {
        let subnet = self.template.resource(self.own)?;
        Range::parse(subnet.property("cidr")?.as_str()?)
    }

    /// Pools of the form's subnet as entries of its list.
    pub(super) fn pools(&self, property: &Property) -> Vec<NewRow> {
        if property.name != "allocation_pools" {
            return Vec::new();
        }
        let pools = self.own_range().map(Range::pools).unwrap_or_default();
        pools
            .into_iter()
            .map(|pool| NewRow {
                label: format!("{}: {} to {}", pool.label, pool.start, pool.end),
                value: json!({ "start": pool.start, "end": pool.end }),
            })
            .collect()
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
        let named = |name: &str, facts: String| Choice {
            key: name.to_owned(),
            label: name.to_owned(),
            facts,
            value: json!(name),
        };
        if let Some(reference) = &property.reference {
            choices.extend(self.fitting(&reference.to).map(|name| Choice {
                key: format!("@{name}"),
                label: name.to_owned(),
                facts: "in this design".to_owned(),
                value: match &reference.attribute {
                    Some(attribute) => json!({ "get_attr": [name, attribute] }),
                    None => json!({ "get_resource": name }),
                },
            }));
        }
        if let Some(live) = property.choices {
            let names = |list: &Option<Vec<planner::cloud::Named>>| {
                list.iter()
                    .flatten()
                    .map(|one| named(&one.name, String::new()))
                    .collect::<Vec<_>>()
            };
            choices.extend(match live {
                Choices::Image => {
                    let images = self.cloud.images.iter().flatten();
                    let facts = |id: &str| self.cloud.image_facts.get(id).map(image_facts);
                    images
                        .map(|one| named(&one.name, facts(&one.id).unwrap_or_default()))
                        .collect()
                }
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
                    .map(|flavor| named(&flavor.name, flavor_facts(flavor)))
                    .collect(),
            });
        }
        for constraint in &property.constraints {
            if let Constraint::AllowedValues(values) = constraint {
                choices.extend(values.iter().map(|value| Choice {
                    key: plain(value),
                    label: plain(value),
                    facts: String::new(),
                    value: value.clone(),
                }));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        choices.retain(|choice| seen.insert(choice.key.clone()));
        choices
    }
}

fn image_facts(image: &ImageFacts) -> String {
    let size = image.size_mib.map(|mib| match mib {
        mib if mib >= 1024 => format!("{:.1} GiB", mib as f64 / 1024.0),
        mib => format!("{mib} MiB"),
    });
    let disk = (image.disk_gib_min > 0).then(|| format!("disk from {} GiB", image.disk_gib_min));
    let facts = [image.os.clone(), size, disk].into_iter().flatten();
    facts.collect::<Vec<_>>().join(" · ")
}

fn flavor_facts(flavor: &planner::cloud::Flavor) -> String {
    let memory = match flavor.ram_mib {
        mib if mib >= 1024 && mib % 1024 == 0 => format!("{} GiB", mib / 1024),
        mib if mib >= 1024 => format!("{:.1} GiB", f64::from(mib) / 1024.0),
        mib => format!("{mib} MiB"),
    };
    format!(
        "{} vCPU · {memory} RAM · {} GiB disk",
        flavor.vcpus, flavor.disk_gib
    )
}
