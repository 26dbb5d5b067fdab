//! Ansible roles without a manifest, as Ansible Galaxy has them: the draft of a manifest, and the missing options.
//!
//! A role says much of itself: name, description and platforms in `meta/main.yml`, its options in
//! `meta/argument_specs.yml`. A person adds the rest, as the head of a [`Recipe`]. Older roles have no
//! `argument_specs.yml`; their options are the variables in `defaults/main.yml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hot::{
    diagnostic::Diagnostic,
    yaml::{self, Node},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recipe::{Protocol, Recipe, RecipePort};

/// The manifest of a role.
pub const MANIFEST_FILE: &str = "item.yml";
/// The options of a role.
pub const SPECS_FILE: &str = "meta/argument_specs.yml";
/// Files with a role's name, description and platforms. The first one that is there counts.
pub const META_FILES: [&str; 2] = ["meta/main.yml", "meta/main.yaml"];
const DEFAULTS_FILES: [&str; 2] = ["defaults/main.yml", "defaults/main.yaml"];

/// The values of a manifest that a role itself contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleDraft {
    /// Name, title, summary and ports. The other values are those of an empty recipe.
    pub recipe: Recipe,
    /// Reasons why the role could fail here, such as another platform. Sentences.
    pub notes: Vec<String>,
    /// The argument specification of the item: the role's own, or one from its defaults.
    #[serde(default)]
    pub specs: String,
}

impl RoleDraft {
    /// The draft of a role with these texts, by path.
    pub fn of(files: &BTreeMap<String, String>) -> RoleDraft {
        let text = |paths: &[&str]| paths.iter().find_map(|path| files.get(*path));
        let root = |paths: &[&str]| text(paths).and_then(|text| yaml::parse(text).root);
        let meta = root(&META_FILES);
        let about = meta.as_ref().and_then(|meta| meta.entry("galaxy_info"));
        let about = about.map(|entry| &entry.value);
        let word = |key: &str| {
            let value = about?.entry(key)?.value.to_json();
            value.as_str().map(|text| text.trim().replace('\n', " "))
        };
        let name = word("role_name").unwrap_or_default();
        let name = name.to_lowercase().replace(['.', ' '], "-");
        let mut notes = Vec::new();
        notes.extend(about.and_then(other_platform));
        notes.extend(meta.as_ref().and_then(needs));
        if !files.contains_key(SPECS_FILE) {
            notes.push(
                "The role describes no options; they are taken from its defaults.".to_owned(),
            );
        }
        let specs = match files.get(SPECS_FILE) {
            Some(specs) => specs.clone(),
            None => specs_of(text(&DEFAULTS_FILES).map_or("", String::as_str)),
        };
        RoleDraft {
            recipe: Recipe {
                title: name.clone(),
                name,
                summary: word("description").unwrap_or_default(),
                ports: ports(&specs),
                ..Recipe::new()
            },
            notes,
            specs,
        }
    }
}

/// A note on a role whose `meta/main.yml` names platforms, and none of them is Debian or made from it.
pub fn platform_note(meta: &str) -> Option<String> {
    let meta = yaml::parse(meta).root?;
    other_platform(&meta.entry("galaxy_info")?.value)
}

/// The problems of a role's manifest in a form: name, version, texts and ports.
pub fn check(recipe: &Recipe) -> Vec<Diagnostic> {
    recipe.check_manifest()
}

/// Adds a manifest and, if they are missing, the options to the texts of a role.
pub fn complete(files: &BTreeMap<String, String>, manifest: &str) -> Vec<(&'static str, String)> {
    let mut added = vec![(MANIFEST_FILE, manifest.to_owned())];
    if !files.contains_key(SPECS_FILE) {
        let defaults = DEFAULTS_FILES.iter().find_map(|path| files.get(*path));
        let specs = specs_of(defaults.map_or("", String::as_str));
        added.push((SPECS_FILE, specs));
    }
    added
}

/// The argument specification for the variables of `defaults/main.yml`. A variable whose default Ansible computes from
/// others, or has none, is left out: the role keeps its own value.
fn specs_of(defaults: &str) -> String {
    let tree = yaml::parse(defaults);
    let entries = tree.root.as_ref().and_then(Node::entries);
    let mut options = String::new();
    for entry in entries.unwrap_or_default() {
        let value = entry.value.to_json();
        let kind = match &value {
            Value::Bool(_) => "bool",
            Value::Number(number) if number.is_f64() => "float",
            Value::Number(_) => "int",
            Value::String(_) => "str",
            Value::Array(_) => "list",
            Value::Object(_) => "dict",
            Value::Null => continue,
        };
        let text = value.to_string();
        if text.contains("{{") || text.contains("{%") || !is_variable(&entry.key) {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = write!(
            options,
            "\n      {}:\n        type: {kind}\n        default: {text}\n        description: \"A variable of the role.\"",
            entry.key
        );
    }
    if options.is_empty() {
        options.push_str(" {}");
    }
    format!("argument_specs:\n  main:\n    options:{options}\n")
}

/// The options that are numbers of ports, by their name.
fn ports(specs: &str) -> Vec<RecipePort> {
    let tree = yaml::parse(specs);
    let options = tree.root.as_ref().and_then(|root| {
        let main = root.entry("argument_specs")?.value.entry("main")?;
        main.value.entry("options")?.value.entries()
    });
    let ports = options.unwrap_or_default().iter().filter_map(|entry| {
        let kind = entry.value.entry("type")?.value.to_json();
        let default = entry.value.entry("default");
        let number = default.and_then(|default| default.value.to_json().as_u64());
        (entry.key.ends_with("port") && kind == "int").then(|| RecipePort {
            option: entry.key.clone(),
            number: number.map(|number| number.to_string()).unwrap_or_default(),
            protocol: Protocol::Tcp,
            capability: String::new(),
        })
    });
    ports.collect()
}

/// A note if the role names platforms, and none of them is Debian or made from it.
fn other_platform(about: &Node) -> Option<String> {
    let platforms = about.entry("platforms")?.value.to_json();
    let names: Vec<String> = platforms
        .as_array()?
        .iter()
        .filter_map(|platform| platform["name"].as_str().map(str::to_owned))
        .collect();
    let is_ours = |name: &String| {
        let name = name.to_lowercase();
        ["debian", "ubuntu", "generic", "all"].contains(&name.as_str())
    };
    (!names.is_empty() && !names.iter().any(is_ours)).then(|| {
        format!(
            "The role supports {}. On Debian and Ubuntu it can fail.",
            names.join(", ")
        )
    })
}

/// A note if the role needs other roles or collections, which the sandbox does not have.
fn needs(meta: &Node) -> Option<String> {
    let mut names = Vec::new();
    for key in ["dependencies", "collections"] {
        let value = meta.entry(key).map(|entry| entry.value.to_json());
        for one in value.iter().filter_map(Value::as_array).flatten() {
            let name = one
                .as_str()
                .or(one["role"].as_str())
                .or(one["name"].as_str());
            names.extend(
                name.filter(|name| *name != "ansible.builtin")
                    .map(str::to_owned),
            );
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "The role needs {}, which are missing when it runs.",
            names.join(", ")
        )
    })
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::CatalogItem;

    fn files(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    const META: &str = "\
galaxy_info:
  role_name: Memcached
  description: Memcached for Linux.
  platforms:
    - {name: EL, versions: [all]}
dependencies:
  - role: geerlingguy.repo
";
    const DEFAULTS: &str = "\
---
memcached_port: 11211
memcached_listen_ip: 127.0.0.1
memcached_log_file: \"{{ memcached_log_folder }}/memcached.log\"
memcached_user:
memcached_options: [\"-k\"]
memcached_fast: yes
";

    #[test]
    fn a_role_of_galaxy_becomes_an_item_with_a_manifest_and_options() {
        let role = files(&[("meta/main.yml", META), ("defaults/main.yml", DEFAULTS)]);
        let draft = RoleDraft::of(&role);
        assert_eq!(draft.recipe.name, "memcached");
        assert_eq!(draft.recipe.summary, "Memcached for Linux.");
        assert_eq!(draft.recipe.ports[0].option, "memcached_port");
        assert_eq!(
            draft.notes,
            [
                "The role supports EL. On Debian and Ubuntu it can fail.",
                "The role needs geerlingguy.repo, which are missing when it runs.",
                "The role describes no options; they are taken from its defaults.",
            ]
        );
        assert_eq!(platform_note(META).as_ref(), draft.notes.first());
        let debian = META.replace("EL", "Debian");
        assert_eq!(platform_note(&debian), None);
        assert_eq!(check(&draft.recipe), []);
        let added: BTreeMap<_, _> = complete(&role, &draft.recipe.manifest())
            .into_iter()
            .collect();
        assert_eq!(draft.specs, added[SPECS_FILE]);
        let item = CatalogItem::parse(&added[MANIFEST_FILE], &added[SPECS_FILE]).unwrap();
        let inputs: Vec<(&str, String)> = item
            .inputs
            .iter()
            .map(|input| {
                (
                    input.name.as_str(),
                    input.default.clone().unwrap().to_string(),
                )
            })
            .collect();
        assert_eq!(
            inputs,
            [
                ("memcached_port", "11211".to_owned()),
                ("memcached_listen_ip", "\"127.0.0.1\"".to_owned()),
                ("memcached_options", "[\"-k\"]".to_owned()),
                ("memcached_fast", "true".to_owned()),
            ]
        );
        assert_eq!(item.listens[0].port, "memcached_port");
    }

    #[test]
    fn a_role_that_describes_its_options_keeps_them() {
        let specs = "argument_specs: {main: {options: {web_port: {type: int}, name: {type: str}}}}";
        let role = files(&[(SPECS_FILE, specs)]);
        let draft = RoleDraft::of(&role);
        assert_eq!(draft.recipe.ports.len(), 1);
        assert!(draft.notes.is_empty());
        assert_eq!(draft.specs, specs);
        assert_eq!(complete(&role, "x").len(), 1);
        let problems = check(&draft.recipe).into_iter().map(|one| one.path);
        assert_eq!(problems.collect::<Vec<_>>(), ["title", "summary", "name"]);
    }

    #[test]
    fn files_that_are_no_yaml_give_an_empty_draft() {
        for text in ["", "[", "- a", "a: {b", "galaxy_info: 3"] {
            let role = files(&[("meta/main.yml", text), ("defaults/main.yml", text)]);
            assert!(RoleDraft::of(&role).recipe.ports.is_empty(), "{text}");
        }
    }
}
