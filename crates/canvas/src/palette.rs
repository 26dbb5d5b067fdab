//! The palette: items that can be added, in groups.

use types::{Category, Registry};

use crate::commands::Item;

/// One entry of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Title for users.
    pub title: String,
    /// Summary, one sentence.
    pub summary: String,
    /// Category, which decides the hue.
    pub category: Category,
    /// Type of the first resource that the entry adds.
    pub resource_type: String,
    /// Item to drop.
    pub item: Item,
}

/// The entries of one category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Title for users.
    pub title: &'static str,
    /// Category, which decides the hue.
    pub category: Category,
    /// Entries, in order.
    pub entries: Vec<Entry>,
}

/// The order of groups.
const CATEGORIES: [(Category, &str); 6] = [
    (Category::Network, "Network"),
    (Category::Compute, "Compute"),
    (Category::Security, "Security"),
    (Category::Storage, "Storage"),
    (Category::Orchestration, "Orchestration"),
    (Category::Software, "Scripts and signals"),
];

/// Types that are displayed without a search. Networks, routers and servers come before them, with their own entries.
const USUAL: [&str; 16] = [
    "OS::Neutron::FloatingIP",
    "OS::Neutron::Port",
    "OS::Neutron::Subnet",
    "OS::Octavia::LoadBalancer",
    "OS::Octavia::Listener",
    "OS::Octavia::Pool",
    "OS::Designate::Zone",
    "OS::Nova::KeyPair",
    "OS::Neutron::SecurityGroup",
    "OS::Neutron::SecurityGroupRule",
    "OS::Barbican::Secret",
    "OS::Heat::RandomString",
    "OS::Cinder::Volume",
    "OS::Cinder::VolumeAttachment",
    "OS::Swift::Container",
    "OS::Heat::ResourceGroup",
];

/// Resources whose title, type or summary contains all words of `search`, or the usual ones without a search. Networks,
/// routers and servers come first and add more than the bare type.
pub fn resources(registry: &Registry, search: &str) -> Vec<Group> {
    offered(registry, &[], search)
}

/// Like [`resources`], with these items too.
fn offered(registry: &Registry, recent: &[String], search: &str) -> Vec<Group> {
    let entry = |title: &str, summary: &str, category, resource_type: &str, item| Entry {
        title: title.to_owned(),
        summary: summary.to_owned(),
        category,
        resource_type: resource_type.to_owned(),
        item,
    };
    let mut entries = vec![
        entry(
            "Network",
            "A private network with a subnet. Place servers inside it.",
            Category::Network,
            types::NET,
            Item::Network,
        ),
        entry(
            "Router",
            "Joins networks and connects them to the Internet.",
            Category::Network,
            types::ROUTER,
            Item::Router,
        ),
        entry(
            "Public server",
            "A server with a public address.",
            Category::Compute,
            types::SERVER,
            Item::PublicServer,
        ),
        entry(
            "Private server",
            "A server that is reachable from its networks only.",
            Category::Compute,
            types::SERVER,
            Item::PrivateServer,
        ),
    ];
    let known = [
        types::NET,
        types::ROUTER,
        types::SERVER,
        types::ROUTER_INTERFACE,
    ];
    for described in registry
        .iter()
        .filter(|described| described.component.is_none())
    {
        let name = described.name.as_str();
        // Helper types are for the passes, and removed types are for old templates only.
        let offered = !name.starts_with("Stackloom::") && !described.any_property;
        let wanted = !search.trim().is_empty()
            || USUAL.contains(&name)
            || recent.iter().any(|key| key == name);
        if offered && wanted && !known.contains(&name) {
            entries.push(entry(
                &described.title,
                &described.summary,
                described.category,
                &described.name,
                Item::Other(described.name.clone()),
            ));
        }
    }
    entries.retain(|entry| matches(entry, search));
    CATEGORIES
        .iter()
        .map(|(category, title)| Group {
            title,
            category: *category,
            entries: entries
                .iter()
                .filter(|entry| entry.category == *category)
                .cloned()
                .collect(),
        })
        .filter(|group| !group.entries.is_empty())
        .collect()
}

/// Catalogue items that match `search`.
pub fn components(registry: &Registry, search: &str) -> Vec<Entry> {
    registry
        .iter()
        .filter(|described| described.component.is_some())
        .map(|described| Entry {
            title: described.title.clone(),
            summary: described.summary.clone(),
            category: Category::Software,
            resource_type: described.name.clone(),
            item: Item::Component(described.name.clone()),
        })
        .filter(|entry| matches(entry, search))
        .collect()
}

/// Resources and catalogue items that match `search`, the best first. Without a search the recent ones, by their
/// [keys](Item::key), then the usual ones.
///
/// A match in the title comes before one in the type, and that before one in the summary. A match at the start comes
/// before one in the middle, a recent item before others, and a short title before a long one.
pub fn search(registry: &Registry, recent: &[String], search: &str) -> Vec<Entry> {
    let groups = offered(registry, recent, search).into_iter();
    let mut entries: Vec<Entry> = groups
        .flat_map(|group| group.entries)
        .chain(components(registry, search))
        .collect();
    let wanted = search.trim().to_lowercase();
    let age = |entry: &Entry| {
        let mut keys = recent.iter();
        let age = keys.position(|key| key == entry.item.key());
        age.unwrap_or(recent.len())
    };
    if wanted.is_empty() {
        entries.sort_by_key(age);
    } else {
        entries.sort_by_cached_key(|entry| rank(entry, &wanted, age(entry)));
    }
    entries
}

/// Smaller is better.
fn rank(entry: &Entry, wanted: &str, age: usize) -> (usize, usize, bool, usize, String) {
    let title = entry.title.to_lowercase();
    let resource_type = entry.resource_type.to_lowercase();
    let starts_word = |text: &str| {
        text.split(|letter: char| !letter.is_alphanumeric())
            .any(|word| word.starts_with(wanted))
    };
    let place = if title == wanted {
        0
    } else if title.starts_with(wanted) {
        1
    } else if starts_word(&title) {
        2
    } else if title.contains(wanted) {
        3
    } else if resource_type.contains(wanted) {
        4
    } else {
        5
    };
    let is_rare = matches!(&entry.item, Item::Other(name) if !USUAL.contains(&name.as_str()));
    (place, age, is_rare, title.len(), title)
}

fn matches(entry: &Entry, search: &str) -> bool {
    let text = format!("{} {} {}", entry.title, entry.resource_type, entry.summary).to_lowercase();
    search
        .to_lowercase()
        .split_whitespace()
        .all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::tests::registry;

    fn first(wanted: &str) -> String {
        search(&registry(), &[], wanted)
            .first()
            .map(|entry| entry.title.clone())
            .unwrap_or_default()
    }

    #[test]
    fn the_exact_title_comes_first_and_items_are_found_beside_resources() {
        assert_eq!(first("volume"), "Volume");
        assert_eq!(first("security group"), "Security group");
        assert_eq!(first("nginx"), "nginx");
        assert_eq!(first("load"), "Load balancer");
        assert_eq!(first("cinder::volumeatt"), "Volume attachment");
    }

    #[test]
    fn without_a_search_the_usual_entries_are_offered() {
        let entries = search(&registry(), &[], "");
        let has = |title: &str| entries.iter().any(|entry| entry.title == title);
        assert!(has("Network") && has("nginx"));
        assert!(!has("Encrypted volume type"));
        assert!(search(&registry(), &[], "no such thing").is_empty());
    }

    #[test]
    fn recent_items_come_first() {
        let recent = ["OS::Cinder::QoSSpecs", "private-server"].map(str::to_owned);
        let titles = |wanted: &str| -> Vec<String> {
            let found = search(&registry(), &recent, wanted).into_iter();
            found.map(|entry| entry.title).collect()
        };
        let all = search(&registry(), &recent, "");
        assert_eq!(all[0].resource_type, "OS::Cinder::QoSSpecs");
        assert_eq!(all[1].title, "Private server");
        let servers = titles("server");
        let place = |title: &str| servers.iter().position(|one| one == title).expect("it");
        assert!(place("Private server") < place("Public server"));
        assert_eq!(titles("volume")[0], "Volume", "a better match stays first");
    }
}
