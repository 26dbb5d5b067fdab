//! Parser of `item.yml` and `meta/argument_specs.yml`, with error messages for authors of items.

mod health;

use serde_json::Value;

use super::{
    Capability, CatalogItem, ENDPOINT_KEYS, ItemCommand, Listen, Output, Requirement, STATS, TASKS,
};
use crate::property::{Property, PropertyKind};
use hot::{
    constraint::Constraint,
    diagnostic::Diagnostic,
    text::{Lines, did_you_mean, listed},
    yaml::{self, Entry, Kind, Node},
};
use yaql::shown;

const MANIFEST: &str = "item.yml";
const SPECS: &str = "argument_specs.yml";
/// Maximum time that a health check waits, in seconds: half of a step's time limit, of which the role needs a part.
const WAIT_SECONDS_MAX: u32 = 900;
/// Maximum length of a name and of a version, in bytes.
const NAME_BYTES_MAX: usize = 63;
pub(super) const MANIFEST_KEYS: [&str; 12] = [
    "name", "title", "version", "summary", "category", "listens", "provides", "requires",
    "outputs", "commands", "health", "tested",
];
const OPTION_KEYS: [&str; 13] = [
    "type",
    "required",
    "default",
    "choices",
    "description",
    "elements",
    "options",
    "no_log",
    "version_added",
    "aliases",
    "required_one_of",
    "mutually_exclusive",
    "removed_in_version",
];
const OPTION_TYPES: [&str; 8] = ["str", "int", "bool", "list", "dict", "float", "path", "raw"];

/// Parses the item from both texts.
pub(super) fn item(manifest: &str, specs: &str) -> Result<CatalogItem, Vec<Diagnostic>> {
    let mut manifest_reader = Reader::new(MANIFEST, manifest);
    let mut item = manifest_reader.manifest();
    let mut specs_reader = Reader::new(SPECS, specs);
    let inputs = specs_reader.specs();
    // A requirement that is also an option gets its value from connections, not from input.
    item.inputs = inputs
        .into_iter()
        .filter(|input| {
            !item
                .requires
                .iter()
                .any(|requirement| requirement.name == input.name)
        })
        .collect();
    specs_reader.reserved(&item);
    manifest_reader.ports(&item);
    let mut diagnostics = manifest_reader.diagnostics;
    diagnostics.extend(specs_reader.diagnostics);
    if diagnostics.is_empty() {
        Ok(item)
    } else {
        Err(diagnostics)
    }
}

struct Reader<'t> {
    file: &'static str,
    text: &'t str,
    lines: Lines,
    root: Option<Node>,
    diagnostics: Vec<Diagnostic>,
}

impl<'t> Reader<'t> {
    fn new(file: &'static str, text: &'t str) -> Reader<'t> {
        let tree = yaml::parse(text);
        let mut reader = Reader {
            file,
            text,
            lines: Lines::of(text),
            root: None,
            diagnostics: Vec::new(),
        };
        for problem in &tree.problems {
            let mut one =
                Diagnostic::error(problem.code, file, format!("{file}: {}", problem.message));
            let position = reader.lines.position(text, problem.at);
            (one.line, one.column) = (Some(position.line), Some(position.column));
            reader.diagnostics.push(one);
        }
        reader.root = tree.root;
        reader
    }

    fn error(&mut self, path: &str, at: usize, message: String) {
        let path = if path.is_empty() {
            self.file.to_owned()
        } else {
            format!("{}.{path}", self.file)
        };
        let mut one = Diagnostic::error("item-invalid", path, format!("{}: {message}", self.file));
        let position = self.lines.position(self.text, at);
        (one.line, one.column) = (Some(position.line), Some(position.column));
        self.diagnostics.push(one);
    }

    fn unknown_keys(&mut self, path: &str, entries: &[Entry], known: &[&str]) {
        for entry in entries
            .iter()
            .filter(|entry| !known.contains(&entry.key.as_str()))
        {
            let near = did_you_mean(&entry.key, known.iter().copied());
            self.error(
                path,
                entry.key_span.start,
                format!(
                    "`{}` is no key here{near}; there are {}",
                    shown(&entry.key),
                    listed(known)
                ),
            );
        }
    }

    fn text(&mut self, node: &Node, key: &str, at: &str) -> Option<String> {
        let entry = node.entry(key)?;
        match &entry.value.target().kind {
            Kind::Scalar(text) if !text.is_empty() => Some(text.clone()),
            _ => {
                self.error(at, entry.key_span.start, format!("`{key}` takes text"));
                None
            }
        }
    }

    fn required(&mut self, node: &Node, key: &str, at: &str) -> String {
        if node.entry(key).is_none() {
            self.error(at, node.span.start, format!("`{key}` is missing"));
        }
        self.text(node, key, at).unwrap_or_default()
    }

    fn items<'n>(&mut self, node: &'n Node, key: &str) -> Vec<&'n Node> {
        let Some(entry) = node.entry(key).filter(|entry| !entry.value.is_null()) else {
            return Vec::new();
        };
        match entry.value.items() {
            Some(items) => items.iter().map(|item| &item.value).collect(),
            None => {
                self.error(key, entry.value.span.start, format!("`{key}` takes a list"));
                Vec::new()
            }
        }
    }

    fn texts(&mut self, node: &Node, key: &str, at: &str, what: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for item in self.items(node, key) {
            match &item.kind {
                Kind::Scalar(text) => texts.push(text.clone()),
                _ => self.error(at, item.span.start, format!("`{key}` takes {what}")),
            }
        }
        texts
    }

    fn number(&mut self, node: &Node, key: &str, at: &str) -> Option<u32> {
        let entry = node.entry(key)?;
        let number = entry
            .value
            .scalar()
            .and_then(|value| value.as_u64())
            .and_then(|number| u32::try_from(number).ok());
        if number.is_none() {
            self.error(
                at,
                entry.value.span.start,
                format!("`{key}` takes a whole number from 0 up"),
            );
        }
        number
    }

    fn manifest(&mut self) -> CatalogItem {
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
                &["port", "protocol"],
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
            item.listens.push(Listen { port, protocol });
        }
        for (index, node) in self.items(&root, "provides").into_iter().enumerate() {
            let path = format!("provides.{index}");
            let entries = node.entries().unwrap_or_default();
            self.unknown_keys(&path, entries, &["name", "port", "shares"]);
            item.provides.push(Capability {
                name: self.required(node, "name", &path),
                port: self.required(node, "port", &path),
                shares: self.texts(node, "shares", &path, "options of the role"),
            });
        }
        for (index, node) in self.items(&root, "requires").into_iter().enumerate() {
            let path = format!("requires.{index}");
            self.unknown_keys(
                &path,
                node.entries().unwrap_or_default(),
                &["name", "capability", "min", "max", "summary"],
            );
            item.requires.push(Requirement {
                name: self.required(node, "name", &path),
                capability: self.required(node, "capability", &path),
                min: self.number(node, "min", &path).unwrap_or(0),
                max: self.number(node, "max", &path),
                summary: self.text(node, "summary", &path).unwrap_or_default(),
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

    /// Checks that ports and placeholders of outputs refer to inputs.
    fn ports(&mut self, item: &CatalogItem) {
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
            for shared in &capability.shares {
                let problem = if ENDPOINT_KEYS.contains(&shared.as_str()) {
                    ": every connected component gets that anyway".to_owned()
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
        self.health_inputs(item, at("health"));
        for output in &item.outputs {
            for word in words(&output.value) {
                let is_told = word
                    .strip_prefix(STATS)
                    .is_some_and(|name| !name.is_empty());
                if !matches!(word, "address" | "private_address")
                    && !is_told
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
                            "`{{{}}}` is neither an address, an option of the role, nor told by it (`{{stats.<name>}}`){near}",
                            shown(word)
                        ),
                    );
                }
            }
        }
    }

    fn reserved(&mut self, item: &CatalogItem) {
        if item.inputs.iter().any(|input| input.name == "host") {
            self.error(
                "",
                0,
                "an option cannot be named `host`: that is the server that the role runs on"
                    .to_owned(),
            );
        }
    }

    fn specs(&mut self) -> Vec<Property> {
        let Some(root) = self.root.take() else {
            if self.diagnostics.is_empty() {
                self.error("", 0, "`argument_specs` is missing".to_owned());
            }
            return Vec::new();
        };
        let main = root
            .entry("argument_specs")
            .and_then(|specs| specs.value.entry("main"));
        let Some(main) = main else {
            self.error(
                "",
                root.span.start,
                "`argument_specs.main` is missing: the options of the role's entry point"
                    .to_owned(),
            );
            return Vec::new();
        };
        self.options(&main.value, "main")
    }

    fn options(&mut self, node: &Node, path: &str) -> Vec<Property> {
        let Some(options) = node.entry("options").filter(|entry| !entry.value.is_null()) else {
            return Vec::new();
        };
        let Some(entries) = options.value.entries() else {
            self.error(
                path,
                options.value.span.start,
                "`options` takes a map from names to options".to_owned(),
            );
            return Vec::new();
        };
        entries
            .iter()
            .filter_map(|entry| self.option(entry, &format!("{path}.{}", entry.key)))
            .collect()
    }

    fn option(&mut self, entry: &Entry, path: &str) -> Option<Property> {
        let node = &entry.value;
        let Some(keys) = node.entries() else {
            self.error(
                path,
                entry.key_span.start,
                format!(
                    "the option `{}` takes a map with `type` and `description`",
                    shown(&entry.key)
                ),
            );
            return None;
        };
        self.unknown_keys(path, keys, &OPTION_KEYS);
        let kind_name = self
            .text(node, "type", path)
            .unwrap_or_else(|| "str".to_owned());
        let kind = self.kind(node, &kind_name, path)?;
        let mut property = crate::property::of_kind(&entry.key, kind).updates();
        property.required = self.flag(node, "required", path);
        property.secret = self.flag(node, "no_log", path);
        property.default = node
            .entry("default")
            .map(|entry| entry.value.to_json())
            .filter(|value| !value.is_null());
        property.summary = self.description(node);
        if let Some(choices) = node.entry("choices") {
            match choices.value.to_json() {
                Value::Array(values) => {
                    property.constraints.push(Constraint::AllowedValues(values))
                }
                _ => self.error(
                    path,
                    choices.value.span.start,
                    "`choices` takes a list".to_owned(),
                ),
            }
        }
        if kind_name == "int" && entry.key.ends_with("port") {
            property = property.range(1.0, 65535.0);
        }
        property.multiline = kind_name == "str"
            && property
                .default
                .as_ref()
                .and_then(Value::as_str)
                .is_some_and(|text| text.contains('\n'));
        Some(property)
    }

    fn flag(&mut self, node: &Node, key: &str, path: &str) -> bool {
        let Some(entry) = node.entry(key) else {
            return false;
        };
        match entry.value.scalar() {
            Some(Value::Bool(value)) => value,
            _ => {
                self.error(
                    path,
                    entry.value.span.start,
                    format!("`{key}` takes `true` or `false`"),
                );
                false
            }
        }
    }

    /// A string, or a list of paragraphs.
    fn description(&mut self, node: &Node) -> String {
        match node.entry("description").map(|entry| entry.value.to_json()) {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            _ => String::new(),
        }
    }

    fn kind(&mut self, node: &Node, name: &str, path: &str) -> Option<PropertyKind> {
        Some(match name {
            "str" | "path" => PropertyKind::String,
            "int" => PropertyKind::Integer,
            "float" => PropertyKind::Number,
            "bool" => PropertyKind::Boolean,
            "raw" => PropertyKind::Any,
            "dict" => PropertyKind::Map {
                of: self.options(node, path),
            },
            "list" => {
                let elements = self.text(node, "elements", path);
                let of = match elements {
                    // An argument specification cannot describe the items of inner lists.
                    Some(elements) if elements == "list" => Some(Box::new(
                        crate::property::of_kind("item", PropertyKind::List { of: None }),
                    )),
                    Some(elements) => Some(Box::new(crate::property::of_kind(
                        "item",
                        self.kind(node, &elements, path)?,
                    ))),
                    None => None,
                };
                PropertyKind::List { of }
            }
            other => {
                let at = node
                    .entry("type")
                    .map_or(node.span.start, |entry| entry.value.span.start);
                let near = did_you_mean(other, OPTION_TYPES);
                self.error(
                    path,
                    at,
                    format!(
                        "`{}` is no type of option{near}; there are {}",
                        shown(other),
                        listed(&OPTION_TYPES)
                    ),
                );
                return None;
            }
        })
    }
}

/// Whether the text is valid as the name of an item. It becomes a folder name, here and in the sandbox.
fn is_item_name(name: &str) -> bool {
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

fn is_version(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let is_number =
        |part: &&str| (1..=9).contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    version.len() <= NAME_BYTES_MAX
        && version.chars().all(is_plain)
        && parts.len() == 3
        && parts.iter().all(is_number)
}

/// The placeholders of a text, without braces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}').map(|(word, _)| word))
}
