//! Image and flavor of a new server: the design's, the last used, or the usual ones of the cloud.

use hot::expr::Expr;
use planner::cloud::CloudFacts;
use serde_json::{Value, json};

use super::{CommandInput, Item};

/// The user's last choices, in any design.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// Name or id of an image.
    pub image: Option<String>,
    /// Name or id of a flavor.
    pub flavor: Option<String>,
    /// Keys of the items that were added last, the newest first.
    pub items: Vec<String>,
}

/// Number of items in [`Recent::items`].
const ITEMS_MAX: usize = 8;

impl Recent {
    /// Makes an item the newest one.
    pub fn add_item(&mut self, item: &Item) {
        self.items.retain(|key| key != item.key());
        self.items.insert(0, item.key().to_owned());
        self.items.truncate(ITEMS_MAX);
    }
}

/// Distributions that most servers run, the usual one first.
const DISTRIBUTIONS: [&str; 7] = [
    "ubuntu",
    "debian",
    "rocky",
    "almalinux",
    "centos",
    "fedora",
    "opensuse",
];

/// The image for a new server. `None` if the cloud's images are unknown and nothing was used before.
pub(super) fn image_for(input: &CommandInput<'_>) -> Option<Value> {
    let images = input.cloud.images.as_deref();
    let is_there = |name: &String| {
        images.is_none_or(|images| {
            images
                .iter()
                .any(|one| one.name == *name || one.id == *name)
        })
    };
    let recent = input.recent.image.clone().filter(is_there);
    used(input, "image").or_else(|| {
        recent
            .or_else(|| usual_image(input.cloud))
            .map(|name| json!(name))
    })
}

/// The flavor for a new server. `None` if the cloud's flavors are unknown and nothing was used before.
pub(super) fn flavor_for(input: &CommandInput<'_>) -> Option<Value> {
    let flavors = input.cloud.flavors.as_deref();
    let is_there = |name: &String| {
        flavors.is_none_or(|flavors| {
            flavors
                .iter()
                .any(|one| one.name == *name || one.id == *name)
        })
    };
    let recent = input.recent.flavor.clone().filter(is_there);
    used(input, "flavor").or_else(|| {
        recent
            .or_else(|| usual_flavor(input.cloud))
            .map(|name| json!(name))
    })
}

/// The value of a property that most servers of the design have: a name or a parameter.
fn used(input: &CommandInput<'_>, property: &str) -> Option<Value> {
    let servers = input.template.resources.iter();
    let servers = servers.filter(|one| one.resource_type == types::SERVER);
    let values: Vec<Value> = servers
        .filter_map(|server| server.property(property))
        .filter(|value| matches!(value, Expr::Literal(Value::String(_)) | Expr::GetParam(..)))
        .map(Expr::to_json)
        .collect();
    let count = |value: &Value| values.iter().filter(|one| *one == value).count();
    // Of equally frequent ones the last is used.
    values.iter().max_by_key(|value| count(value)).cloned()
}

/// The newest image of the most usual distribution. The first image if no name has a distribution.
pub fn usual_image(cloud: &CloudFacts) -> Option<String> {
    let images = cloud.images.as_deref()?;
    let of = |distribution: &str| {
        let images = images.iter().map(|one| &one.name);
        let images = images.filter(|name| name.to_lowercase().contains(distribution));
        images.max_by_key(|name| numbers(name))
    };
    let usual = DISTRIBUTIONS.into_iter().find_map(of);
    usual.or(images.first().map(|one| &one.name)).cloned()
}

/// Numbers in a name: `[24, 4]` for `ubuntu-24.04-server`.
fn numbers(name: &str) -> Vec<u64> {
    let words = name.split(|letter: char| !letter.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The smallest flavor on which common software runs.
pub fn usual_flavor(cloud: &CloudFacts) -> Option<String> {
    let flavors = cloud.flavors.as_deref()?;
    let enough = flavors
        .iter()
        .filter(|flavor| flavor.ram_mib >= 512)
        .min_by_key(|flavor| (flavor.ram_mib, flavor.vcpus));
    let flavor = enough.or_else(|| flavors.first());
    flavor.map(|flavor| flavor.name.clone())
}

#[cfg(test)]
mod tests {
    use planner::cloud::Named;

    use super::*;

    fn usual(names: &[&str]) -> Option<String> {
        let named = |name: &&str| Named {
            id: format!("id-of-{name}"),
            name: (*name).to_owned(),
        };
        usual_image(&CloudFacts {
            images: Some(names.iter().map(named).collect()),
            ..CloudFacts::default()
        })
    }

    #[test]
    fn the_newest_image_of_the_usual_distribution_is_taken() {
        let all = [
            "cirros",
            "ubuntu-22.04",
            "Ubuntu 24.04 LTS",
            "debian-12",
            "windows-2025",
        ];
        assert_eq!(usual(&all).as_deref(), Some("Ubuntu 24.04 LTS"));
        assert_eq!(
            usual(&["debian-9", "debian-12", "cirros"]).as_deref(),
            Some("debian-12")
        );
        assert_eq!(
            usual(&["cirros", "windows-2025"]).as_deref(),
            Some("cirros")
        );
        assert_eq!(usual(&[]), None);
    }

    #[test]
    fn only_the_newest_items_are_kept_and_each_once() {
        let mut recent = Recent::default();
        for number in 0..ITEMS_MAX + 2 {
            recent.add_item(&Item::Other(format!("type_{number}")));
        }
        recent.add_item(&Item::Other("type_5".to_owned()));
        assert_eq!(recent.items[..2], ["type_5", "type_9"]);
        assert_eq!(recent.items.len(), ITEMS_MAX);
    }
}
