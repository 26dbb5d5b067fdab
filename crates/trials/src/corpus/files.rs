//! Finds the templates below a folder, and the files that a client would send with each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hot::bundle::{Bundle, is_environment};
use hot::document::Document;
use hot::environment::Environment;
use serde_json::Value;
use types::Registry;

const ENDINGS: [&str; 7] = ["yaml", "yml", "template", "json", "hot", "heat", "env"];

/// All HOT templates below a folder, sorted. A file without `heat_template_version` at its top is an environment, a
/// payload or something else.
pub fn templates(dir: &Path) -> io::Result<Vec<PathBuf>> {
    matching(dir, is_template)
}

/// An environment, and the types that it maps.
#[derive(Debug)]
pub struct EnvironmentFile {
    pub path: PathBuf,
    names: BTreeSet<String>,
}

/// All environments below a folder, sorted.
pub fn environments(dir: &Path) -> io::Result<Vec<EnvironmentFile>> {
    let known = |path: PathBuf| {
        let text = fs::read(&path)?;
        let environment = Environment::parse("", &String::from_utf8_lossy(&text));
        let aliases = environment.registry.into_iter();
        Ok(EnvironmentFile {
            path,
            names: aliases.map(|alias| alias.name).collect(),
        })
    };
    matching(dir, is_environment)?
        .into_iter()
        .map(known)
        .collect()
}

fn matching(dir: &Path, fits: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
                continue;
            }
            let ending = path.extension().and_then(|ending| ending.to_str());
            if ending.is_some_and(|ending| ENDINGS.contains(&ending))
                && fits(&String::from_utf8_lossy(&fs::read(&path)?))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// True if the text has a version of HOT at its top: in YAML on a line with the same indentation as the first one, in
/// JSON anywhere.
pub fn is_template(text: &str) -> bool {
    const KEY: &str = "heat_template_version";
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') && !text.trim_start().starts_with("{%") {
        return text.contains(KEY);
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let content = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !["#", "---", "%", "{%", "{{", "{#"]
                .iter()
                .any(|no| line.starts_with(no))
    };
    let top = text.lines().find(content).map_or(0, indent);
    text.lines().filter(|line| indent(line) == top).any(|line| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        line.strip_prefix(KEY)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    })
}

/// True if Jinja must fill the file in first: by its name, or because it has Jinja's statements and is not YAML as it
/// is. (`{{ }}` within texts is common in templates that write configuration.)
pub fn is_unfilled(path: &str, text: &str) -> bool {
    let named = path.contains(".j2.") || path.ends_with(".j2");
    let statements = text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("{%") || line.starts_with("{{") || line.starts_with("{#")
    });
    let broken = || !Document::parse(text).is_readable();
    (named || statements) && broken()
}

/// The environments for a template: the one of the same name followed by `env`, and the smallest set that maps the
/// unknown types in it and its files, the nearest first.
pub fn environments_for(
    template: &Path,
    document: &Document,
    all: &[EnvironmentFile],
) -> Vec<PathBuf> {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let own = stem(template).unwrap_or_default();
    let wanted =
        ["_env", "-env", ".env", "_environment", "-environment"].map(|end| format!("{own}{end}"));
    let by_name = all.iter().find(|known| {
        let path = known.path.as_path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let stem = stem(path).unwrap_or_default();
        path.parent() == template.parent()
            && (wanted.contains(&stem) || (ending == Some("env") && stem == own))
    });
    let mut chosen: Vec<&EnvironmentFile> = by_name.into_iter().collect();
    let mut open = unknown_types(template, document);
    let distance = |path: &Path| {
        let folders = |path: &Path| -> Vec<PathBuf> {
            let folder = path.parent().unwrap_or(Path::new(""));
            folder.ancestors().map(Path::to_owned).collect()
        };
        let (ours, theirs) = (folders(template), folders(path));
        let shared = ours.iter().filter(|one| theirs.contains(one)).count();
        ours.len() + theirs.len() - 2 * shared
    };
    loop {
        open.retain(|name| !chosen.iter().any(|known| known.names.contains(name)));
        let names = |known: &&EnvironmentFile| known.names.intersection(&open).count();
        let best = all
            .iter()
            .filter(|known| names(known) > 0)
            .min_by_key(|known| (std::cmp::Reverse(names(known)), distance(&known.path)));
        match best {
            Some(best) => chosen.push(best),
            None => return chosen.iter().map(|known| known.path.clone()).collect(),
        }
    }
}

/// Types in a template and its files that Heat does not have.
fn unknown_types(template: &Path, document: &Document) -> BTreeSet<String> {
    fn walk(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(map) => {
                let written = map.get("type").and_then(Value::as_str);
                found.extend(written.map(str::to_owned));
                map.values().for_each(|value| walk(value, found));
            }
            _ => {}
        }
    }
    let known = Registry::openstack();
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(template.to_owned(), document.clone())];
    while let Some((path, document)) = waiting.pop() {
        if let Some(resources) = document.value(&["resources"]) {
            walk(&resources, &mut found);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for name in mentioned(&document) {
            let path = folder.join(name);
            if let Ok(bytes) = fs::read(&path)
                && seen.insert(path.clone())
            {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if is_template(&text) {
                    waiting.push((path, Document::parse(text)));
                }
            }
        }
    }
    found.retain(|name| known.get(name).is_none() && !is_file_name(name));
    found
}

/// Treatment of missing included files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The file is left out, which causes an error.
    Refused,
    /// The file is replaced by an empty text.
    Empty,
}

/// The files to send with a template: the files that it includes, directly or through others, and environments, in
/// order.
pub fn bundle(template: &Path, document: &Document, given: &[PathBuf], missing: Missing) -> Bundle {
    let folder = template.parent().unwrap_or(Path::new(""));
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    // Pairs of the name in the bundle and the path on the disk.
    let mut waiting: Vec<(String, PathBuf)> = Vec::new();
    let mut environments = Vec::new();
    for path in given {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if let Ok(bytes) = fs::read(path)
            && !files.contains_key(&name)
        {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let beside = path.parent().unwrap_or(Path::new(""));
            for alias in Environment::parse(&name, &text).registry {
                if let Some(target) = alias.target.filter(|target| is_file_name(target)) {
                    waiting.push((target.clone(), beside.join(&target)));
                }
            }
            files.insert(name.clone(), text);
            environments.push(name);
        }
    }
    for name in mentioned(document) {
        waiting.push((name.clone(), folder.join(&name)));
    }
    while let Some((name, path)) = waiting.pop() {
        if files.contains_key(&name) {
            continue;
        }
        let text = match (fs::read(&path), missing) {
            (Ok(bytes), _) => String::from_utf8_lossy(&bytes).into_owned(),
            (Err(_), Missing::Empty) => String::new(),
            (Err(_), Missing::Refused) => continue,
        };
        if is_template(&text) {
            let beside = path.parent().unwrap_or(Path::new(""));
            let prefix = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            for other in mentioned(&Document::parse(text.as_str())) {
                let path = if prefix.is_empty() {
                    other.clone()
                } else {
                    format!("{prefix}/{other}")
                };
                waiting.push((path, beside.join(&other)));
            }
        }
        files.insert(name, text);
    }
    Bundle::new(files, environments)
}

fn is_file_name(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".template")
}

/// Files that a template names, by `get_file` and as types.
fn mentioned(document: &Document) -> BTreeSet<String> {
    fn walk(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(map) => {
                for (key, value) in map {
                    match value.as_str() {
                        Some(name) if key == "get_file" => {
                            found.insert(name.to_owned());
                        }
                        Some(name) if key == "type" && is_file_name(name) => {
                            found.insert(name.to_owned());
                        }
                        _ => walk(value, found),
                    }
                }
            }
            Value::String(name) if is_file_name(name) && !name.contains(char::is_whitespace) => {
                // A chain lists types without a key.
                found.insert(name.clone());
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    if let Some(resources) = document.value(&["resources"]) {
        walk(&resources, &mut found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_its_version_at_the_top() {
        assert!(is_template("# note\nheat_template_version: 2013-05-23\n"));
        assert!(is_template("\"heat_template_version\" : rocky\n"));
        assert!(is_template("{\"heat_template_version\": \"rocky\"}"));
        assert!(is_template("---\n# note\n  heat_template_version: rocky\n"));
        assert!(!is_template("resource_registry: {}\n"));
        assert!(!is_template("config: |\n  heat_template_version: rocky\n"));
    }

    #[test]
    fn a_jinja_template_is_not_a_heat_template() {
        let text = "heat_template_version: rocky\nresources:\n{% for role in roles %}\n  {{role}}: {}\n{% endfor %}\n";
        assert!(is_template(text) && is_unfilled("a.yaml", text));
        assert!(is_unfilled("a.j2.yaml", text));
        let filled = "heat_template_version: rocky\ndescription: '{{ x }}'\n";
        assert!(!is_unfilled("a.yaml", filled) && !is_unfilled("a.j2.yaml", filled));
    }

    #[test]
    fn files_of_files_are_sent_too_and_the_environment_that_names_a_type() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let main = "heat_template_version: 2013-05-23\nresources:\n  a: {type: My::Server}\n  b: {type: lib/b.yaml}\n";
        let main = write("main.yaml", main);
        write(
            "lib/b.yaml",
            "heat_template_version: 2013-05-23\nresources:\n  c: {type: OS::Heat::Value, properties: {value: {get_file: c.sh}}}\n",
        );
        write("lib/c.sh", "echo\n");
        write("other_env.yaml", "parameters: {x: 1}\n");
        write(
            "envs/my.yaml",
            "resource_registry: {My::Server: server.yaml}\n",
        );
        write("envs/server.yaml", "heat_template_version: 2013-05-23\n");
        let environments = environments(dir.path()).unwrap();
        let document = Document::parse(fs::read_to_string(&main).unwrap());
        let chosen = environments_for(&main, &document, &environments);
        assert_eq!(chosen, [dir.path().join("envs/my.yaml")]);
        let bundle = bundle(&main, &document, &chosen, Missing::Refused);
        let names: Vec<&str> = bundle.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["lib/b.yaml", "lib/c.sh", "my.yaml", "server.yaml"]);
        assert_eq!(bundle.environments(), ["my.yaml"]);
    }
}
