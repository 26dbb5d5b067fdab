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
        let wanted = !search.trim().is_empty() || USUAL.contains(&name);
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

fn matches(entry: &Entry, search: &str) -> bool {
    let text = format!("{} {} {}", entry.title, entry.resource_type, entry.summary).to_lowercase();
    search
        .to_lowercase()
        .split_whitespace()
        .all(|word| text.contains(word))
}
