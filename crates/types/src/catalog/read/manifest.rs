//! Parser of `item.yml`: what the item is called, needs, offers and can do.

use std::collections::BTreeMap;

use super::Reader;
use crate::PropertyKind;
use crate::catalog::{
    CONSUMER_KEY, Capability, CatalogItem, ENDPOINT_KEYS, ItemCommand, Listen, Need, Output,
    Requirement, SECRET_KEY, STATS, TASKS, is_draft,
};
use hot::{
    text::{did_you_mean, listed},
    yaml::{Entry, Node},
};
use yaql::shown;

/// Maximum length of a name and of a version, in bytes.
const NAME_BYTES_MAX: usize = 63;
pub(in crate::catalog) const MANIFEST_KEYS: [&str; 12] = [
    "name", "title", "version", "summary", "category", "listens", "provides", "requires",
    "outputs", "commands", "health", "tested",
];

impl Reader<'_> {
    pub(super) fn manifest(&mut self) -> CatalogItem {
        let mut item = CatalogItem {
            name: String::new(),
            title: String::new(),
            version: String::new(),
            summary: String::new(),
            category: String::new(),
            icon: String::new(),
            readme: String::new(),
            inputs: Vec::new(),
            listens: Vec::new(),
            provides: Vec::new(),
            requires: Vec::new(),
            outputs: Vec::new(),
            commands: Vec::new(),
            health: Vec::new(),
            removes: false,
            installs: false,
            tested: Vec::new(),
        };
        let Some(root) = self.root.take().filter(|root| root.entries().is_some()) else {
            if self.diagnostics.is_empty() {
                self.error(
                    "",
                    0,
                    format!("a map with {} belongs here", listed(&MANIFEST_KEYS)),
                );
            }
            return item;
        };
        self.unknown_keys("", root.entries().unwrap_or_default(), &MANIFEST_KEYS);
        item.name = self.required(&root, "name", "name");
        item.title = self.required(&root, "title", "title");
        item.version = self.required(&root, "version", "version");
        item.summary = self.required(&root, "summary", "summary");
        item.category = self.required(&root, "category", "category");
        let at = |key: &str| root.entry(key).map_or(0, |entry| entry.value.span.start);
        if !item.name.is_empty() && !is_item_name(&item.name) {
            self.error(
                "name",
                at("name"),
                format!(
                    "`{}` cannot name an item: use at most 63 lower case letters, digits, `_` and `-`",
                    shown(&item.name)
                ),
            );
        }
        if !item.version.is_empty() && !is_version(&item.version) {
            self.error(
                "version",
                at("version"),
                format!("`{}` is no version such as `1.0.0`", shown(&item.version)),
            );
        }
        for (index, node) in self.items(&root, "listens").into_iter().enumerate() {
            let path = format!("listens.{index}");
            self.unknown_keys(
                &path,
                node.entries().unwrap_or_default(),
                &["port", "protocol", "peers"],
            );
            let port = self.required(node, "port", &path);
            let protocol = self
                .text(node, "protocol", &path)
                .unwrap_or_else(|| "tcp".to_owned());
            if !matches!(protocol.as_str(), "tcp" | "udp") {
                self.error(
                    &path,
                    node.span.start,
                    format!("`{}` is not one of `tcp` and `udp`", shown(&protocol)),
                );
            }
            let peers = self.flag(node, "peers", &path);
            item.listens.push(Listen {
                port,
                protocol,
                peers,
            });
        }
        for (index, node) in self.items(&root, "provides").into_iter().enumerate() {
            let path = format!("provides.{index}");
            let entries = node.entries().unwrap_or_default();
            let known = ["name", "port", "shares", "when", "consumers"];
            self.unknown_keys(&path, entries, &known);
            item.provides.push(Capability {
                name: self.required(node, "name", &path),
                port: self.required(node, "port", &path),
                shares: self.texts(node, "shares", &path, "options of the role"),
                when: self.condition(node, &path),
                consumers: self.text(node, "consumers", &path),
            });
        }
        for (index, node) in self.items(&root, "requires").into_iter().enumerate() {
            let path = format!("requires.{index}");
            self.unknown_keys(
                &path,
                node.entries().unwrap_or_default(),
                &[
                    "name",
                    "capability",
                    "min",
                    "max",
                    "summary",
                    "opens",
                    "needs",
                ],
            );
            item.requires.push(Requirement {
                name: self.required(node, "name", &path),
                capability: self.required(node, "capability", &path),
                min: self.number(node, "min", &path).unwrap_or(0),
                max: self.number(node, "max", &path),
                summary: self.text(node, "summary", &path).unwrap_or_default(),
                opens: node.entry("opens").is_none() || self.flag(node, "opens", &path),
                needs: self.need(node, &path),
            });
        }
        item.commands = self.commands(&root);
        item.health = self.health(&root);
        if let Some(outputs) = root.entry("outputs").filter(|entry| !entry.value.is_null()) {
            let Some(entries) = outputs.value.entries() else {
                self.error(
                    "outputs",
                    outputs.value.span.start,
                    "`outputs` takes a map from names to texts".to_owned(),
                );
                return item;
            };
            for Entry { key, .. } in entries {
                let value = self
                    .text(&outputs.value, key, &format!("outputs.{key}"))
                    .unwrap_or_default();
                item.outputs.push(Output {
                    name: key.clone(),
                    value,
                });
            }
        }
        item.tested = self.texts(&root, "tested", "tested", "names of images");
        self.root = Some(root);
        item
    }

    /// The values of options with which a component provides a capability.
    fn condition(&mut self, capability: &Node, path: &str) -> BTreeMap<String, String> {
        let Some(when) = capability.entry("when") else {
            return BTreeMap::new();
        };
        let Some(entries) = when.value.entries() else {
            let message = "`when` takes a map from options to values".to_owned();
            self.error(path, when.value.span.start, message);
            return BTreeMap::new();
        };
        let values = entries.iter().filter_map(|Entry { key, .. }| {
            let value = self.text(&when.value, key, path)?;
            Some((key.clone(), value))
        });
        values.collect()
    }

    fn commands(&mut self, root: &Node) -> Vec<ItemCommand> {
        let mut commands: Vec<ItemCommand> = Vec::new();
        for (index, node) in self.items(root, "commands").into_iter().enumerate() {
            let (path, at) = (format!("commands.{index}"), node.span.start);
            let entries = node.entries().unwrap_or_default();
            self.unknown_keys(&path, entries, &["name", "summary", "tasks"]);
            let command = ItemCommand {
                name: self.required(node, "name", &path),
                summary: self.required(node, "summary", &path),
                tasks: self.required(node, "tasks", &path),
            };
            if !command.name.is_empty() && !is_item_name(&command.name) {
                let message = format!(
                    "`{}` cannot name a command: use at most 63 lower case letters, digits, `_` and `-`",
                    shown(&command.name)
                );
                self.error(&path, at, message);
            }
            if commands.iter().any(|other| other.name == command.name) {
                let message = format!("there are two commands `{}`", shown(&command.name));
                self.error(&path, at, message);
            }
            if !command.tasks.is_empty() && !is_tasks_file(&command.tasks) {
                let message = format!(
                    "`{}` is no file of tasks such as `tasks/reload.yml`",
                    shown(&command.tasks)
                );
                self.error(&path, at, message);
            }
            commands.push(command);
        }
        commands
    }

    fn need(&mut self, requirement: &Node, path: &str) -> Need {
        let word = self.text(requirement, "needs", path);
        match word.as_deref() {
            None | Some("health") => Need::Health,
            Some("address") => Need::Address,
            Some(other) => {
                let at = requirement.entry("needs");
                let at = at.map_or(requirement.span.start, |entry| entry.value.span.start);
                let message = format!(
                    "`{}` is not one of `health` and `address`; with `address` the role runs before the others are set up",
                    shown(other)
                );
                self.error(path, at, message);
                Need::Health
            }
        }
    }

    /// Checks that conditions of capabilities refer to inputs with a text.
    fn condition_inputs(&mut self, item: &CatalogItem, at: usize) {
        for (index, capability) in item.provides.iter().enumerate() {
            for option in capability.when.keys() {
                let input = item.inputs.iter().find(|input| input.name == *option);
                let near = match input {
                    Some(input) if matches!(input.kind, PropertyKind::String) => continue,
                    Some(_) => String::new(),
                    None => did_you_mean(option, item.inputs.iter().map(|one| one.name.as_str())),
                };
                let message = format!(
                    "`{}` is no option of the role that takes a text{near}",
                    shown(option)
                );
                self.error(&format!("provides.{index}.when"), at, message);
            }
        }
    }

    /// Checks that ports and placeholders of outputs refer to inputs.
    pub(super) fn ports(&mut self, item: &CatalogItem) {
        let Some(root) = self.root.take() else { return };
        let inputs: Vec<&str> = item
            .inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect();
        let at = |section: &str| root.entry(section).map_or(0, |entry| entry.key_span.start);
        let listens = item.listens.iter().map(|listen| ("listens", &listen.port));
        let provides = item
            .provides
            .iter()
            .map(|capability| ("provides", &capability.port));
        for (section, port) in listens.chain(provides).filter(|(_, port)| !port.is_empty()) {
            if !inputs.contains(&port.as_str()) {
                let near = did_you_mean(port, inputs.iter().copied());
                self.error(section, at(section), format!("`{}` is no option of the role{near}; `port` names the option that holds the number", shown(port)));
            }
        }
        for (index, capability) in item.provides.iter().enumerate() {
            let consumers = capability.consumers.as_deref();
            let is_taken = |variable: &&str| {
                *variable == "host" || item.requires.iter().any(|one| one.name == *variable)
            };
            if let Some(variable) = consumers.filter(is_taken) {
                self.error(
                    &format!("provides.{index}.consumers"),
                    at("provides"),
                    format!(
                        "`{}` is taken; `consumers` names a separate option, which gets the list of connected components",
                        shown(variable)
                    ),
                );
            }
            for shared in &capability.shares {
                let problem = if ENDPOINT_KEYS.contains(&shared.as_str()) {
                    ": every connected component gets that anyway".to_owned()
                } else if consumers.is_some()
                    && [CONSUMER_KEY, SECRET_KEY].contains(&shared.as_str())
                {
                    ": every connected component gets its own".to_owned()
                } else if inputs.contains(&shared.as_str()) {
                    continue;
                } else {
                    did_you_mean(shared, inputs.iter().copied())
                };
                self.error(
                    &format!("provides.{index}.shares"),
                    at("provides"),
                    format!(
                        "`{}` is no option of the role that can be shared{problem}",
                        shown(shared)
                    ),
                );
            }
        }
        self.condition_inputs(item, at("provides"));
        self.health_inputs(item, at("health"));
        for output in &item.outputs {
            for word in words(&output.value) {
                let is_result = word
                    .strip_prefix(STATS)
                    .is_some_and(|name| !name.is_empty());
                if !matches!(word, "address" | "private_address")
                    && !is_result
                    && !inputs.contains(&word)
                {
                    let near = did_you_mean(
                        word,
                        inputs.iter().copied().chain(["address", "private_address"]),
                    );
                    self.error(
                        &format!("outputs.{}", output.name),
                        at("outputs"),
                        format!(
                            "`{{{}}}` is neither an address, an option of the role, nor a value that the role sets (`{{stats.<name>}}`){near}",
                            shown(word)
                        ),
                    );
                }
            }
        }
    }
}

/// Whether the text is valid as the name of an item. It becomes a folder name, here and in the sandbox.
pub(in crate::catalog) fn is_item_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}

/// Whether the text names a YAML file directly in the folder of a role's tasks.
fn is_tasks_file(path: &str) -> bool {
    let name = path.strip_prefix(TASKS);
    let stem = name.and_then(|name| name.strip_suffix(".yml").or(name.strip_suffix(".yaml")));
    stem.is_some_and(is_item_name)
}

pub(in crate::catalog) fn is_version(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let is_number =
        |part: &&str| (1..=9).contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    version.len() <= NAME_BYTES_MAX
        && version.chars().all(is_plain)
        && parts.len() == 3
        && parts.iter().all(is_number)
        && !is_draft(version)
}

/// The placeholders of a text, without braces.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}').map(|(word, _)| word))
}
