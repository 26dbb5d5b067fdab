//! The files of the role that a recipe becomes.
//!
//! Texts of the form stand in YAML as JSON strings, which YAML reads alike, so that none can end its string. The role
//! keeps the rules of `docs/items.md`: it waits for the package manager's lock, changes nothing when it runs again, and
//! has tasks that take it off the server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{OptionKind, Protocol, RECIPE_FILE, Recipe, RecipeFile, RecipePort, uses};

/// Lines of a task that installs or removes packages: it waits for the lock of the package manager.
const LOCK: &str = "    lock_timeout: 300
  register: item_packages
  # `apt-get` itself does not wait for the lock of a package manager that runs at first boot.
  until: item_packages is succeeded or 'lock' not in item_packages.msg | default('')
  retries: 30
  delay: 10
";

/// The directory of systemd's units, which systemd reads again after a change.
const UNITS: &str = "/etc/systemd/system/";

/// An option in the role's argument specification.
struct Spec<'r> {
    name: &'r str,
    kind: &'static str,
    summary: String,
    /// The default as YAML. `None` if the option is required.
    default: Option<String>,
    is_secret: bool,
}

impl Recipe {
    /// The files of the role, by path. Call it for a recipe without problems.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::from([
            ("item.yml".to_owned(), self.manifest()),
            ("README.md".to_owned(), self.readme()),
            ("meta/argument_specs.yml".to_owned(), self.argument_specs()),
            ("meta/main.yml".to_owned(), self.galaxy()),
            ("defaults/main.yml".to_owned(), self.defaults()),
            ("tasks/main.yml".to_owned(), self.tasks()),
            ("tasks/remove.yml".to_owned(), self.removal()),
        ]);
        // A recipe consists of texts and lists, so serialisation cannot fail.
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        files.insert(RECIPE_FILE.to_owned(), json + "\n");
        if !self.service.is_empty() {
            files.insert("handlers/main.yml".to_owned(), self.restart());
            files.insert("tasks/restart.yml".to_owned(), self.restart());
        }
        for (index, file) in self.files.iter().enumerate() {
            files.insert(template(index, file), file.content.clone());
        }
        files
    }

    fn specs(&self) -> Vec<Spec<'_>> {
        let ports = self.ports.iter().map(|port| Spec {
            name: &port.option,
            kind: "int",
            summary: format!(
                "The {} port that it listens on.",
                port.protocol.name().to_uppercase()
            ),
            default: (!port.number.is_empty()).then(|| port.number.clone()),
            is_secret: false,
        });
        let options = self.options.iter().map(|option| {
            let (kind, default) = match option.kind {
                OptionKind::Text => ("str", Some(quoted(&option.default))),
                OptionKind::Number => ("int", Some(option.default.clone())),
                OptionKind::Switch => ("bool", Some(option.default.clone())),
                OptionKind::Secret => ("str", None),
            };
            Spec {
                name: &option.name,
                kind,
                summary: option.summary.clone(),
                default: default.filter(|default| !default.is_empty()),
                is_secret: option.kind == OptionKind::Secret,
            }
        });
        ports.chain(options).collect()
    }

    /// The text of `item.yml`.
    pub fn manifest(&self) -> String {
        let mut text = String::new();
        for (key, value) in [
            ("name", &self.name),
            ("title", &self.title),
            ("version", &self.version),
            ("summary", &self.summary),
            ("category", &self.category),
        ] {
            line(&mut text, format_args!("{key}: {}", quoted(value)));
        }
        section(&mut text, "listens", &self.ports, |port| {
            let protocol = port.protocol.name();
            format!("- {{port: {}, protocol: {protocol}}}", port.option)
        });
        section(&mut text, "provides", self.offers(), |port| {
            format!("- {{name: {}, port: {}}}", port.capability, port.option)
        });
        section(&mut text, "outputs", &self.ports, |port| {
            let stem = port.option.strip_suffix("_port").unwrap_or("");
            let stem = match stem {
                "" | "listen" => String::new(),
                stem => format!("{stem}_"),
            };
            if port.capability == "http" {
                format!("{stem}url: \"http://{{address}}:{{{}}}/\"", port.option)
            } else {
                format!("{stem}endpoint: \"{{address}}:{{{}}}\"", port.option)
            }
        });
        if !self.service.is_empty() {
            text.push_str("commands:\n  - {name: restart, summary: Restarts the service., tasks: tasks/restart.yml}\n");
        }
        let mut listening = self.tcp_ports().peekable();
        if listening.peek().is_some() {
            section(&mut text, "health", listening, |port| {
                let title = quoted(&format!("Accepts connections at {}", port.option));
                format!("- {{title: {title}, tcp: {}}}", port.option)
            });
        } else if !self.service.is_empty() {
            let command = quoted(&format!("systemctl is-active {}", self.service));
            section(&mut text, "health", [command], |command| {
                format!("- {{title: The service runs, command: {command}}}")
            });
        }
        text
    }

    fn readme(&self) -> String {
        let mut text = format!("# {}\n\n{}\n", self.title, self.summary);
        let mut part = |title: &str, rows: Vec<String>| {
            if !rows.is_empty() {
                line(&mut text, format_args!("\n## {title}\n"));
                for row in rows {
                    line(&mut text, format_args!("- {row}"));
                }
            }
        };
        let coded = |name: &String| format!("`{name}`");
        part("Packages", self.packages.iter().map(coded).collect());
        let paths = self.files.iter().map(|file| coded(&file.path));
        part("Files", paths.collect());
        let service = Some(&self.service).filter(|name| !name.is_empty());
        part("Service", service.map(coded).into_iter().collect());
        text.push_str("\nWhen the component is removed from the design, its service, files and packages are removed from the server.\n");
        text
    }

    fn argument_specs(&self) -> String {
        let mut text = format!(
            "argument_specs:\n  main:\n    short_description: {}\n    options:\n",
            quoted(&self.title)
        );
        let specs = self.specs();
        if specs.is_empty() {
            text.insert_str(text.len() - 1, " {}");
        }
        for spec in specs {
            line(
                &mut text,
                format_args!("      {}:\n        type: {}", spec.name, spec.kind),
            );
            match &spec.default {
                Some(default) => line(&mut text, format_args!("        default: {default}")),
                None => line(&mut text, format_args!("        required: true")),
            }
            if spec.is_secret {
                line(&mut text, format_args!("        no_log: true"));
            }
            let summary = quoted(&spec.summary);
            line(&mut text, format_args!("        description: {summary}"));
        }
        text
    }

    fn galaxy(&self) -> String {
        format!(
            "galaxy_info:\n  role_name: {}\n  description: {}\n  min_ansible_version: \"2.14\"\n  platforms:\n    - name: Debian\n      versions: [all]\ndependencies: []\n",
            quoted(&self.name),
            quoted(&self.summary)
        )
    }

    fn defaults(&self) -> String {
        let mut text = String::from("---\n");
        for spec in self.specs() {
            if let Some(default) = spec.default {
                line(&mut text, format_args!("{}: {default}", spec.name));
            }
        }
        text
    }

    fn tasks(&self) -> String {
        let mut text = String::new();
        if !self.ports.is_empty() {
            text.push_str("- name: Validate the ports\n  ansible.builtin.assert:\n    that:\n");
            for RecipePort { option, .. } in &self.ports {
                line(
                    &mut text,
                    format_args!("      - {option} | int > 0 and {option} | int < 65536"),
                );
            }
            text.push_str("    fail_msg: A port must be from 1 to 65535.\n    quiet: true\n\n");
        }
        if !self.packages.is_empty() {
            let packages = quoted_list(&self.packages);
            line(
                &mut text,
                format_args!(
                    "- name: Install the packages\n  ansible.builtin.apt:\n    name: {packages}\n    state: present\n    update_cache: true\n    install_recommends: false\n{LOCK}"
                ),
            );
        }
        for (index, file) in self.files.iter().enumerate() {
            self.write_file(&mut text, index, file);
        }
        if !self.service.is_empty() {
            line(
                &mut text,
                format_args!(
                    "- name: Start and enable the service\n  ansible.builtin.service:\n    name: {}\n    state: started\n    enabled: true\n\n- name: Restart after changes\n  ansible.builtin.meta: flush_handlers\n",
                    quoted(&self.service)
                ),
            );
        }
        for RecipePort { option, .. } in self.tcp_ports() {
            line(
                &mut text,
                format_args!(
                    "- name: Wait until {option} accepts connections\n  ansible.builtin.wait_for:\n    port: \"{{{{ {option} }}}}\"\n    timeout: 60\n"
                ),
            );
        }
        one_end(text)
    }

    fn write_file(&self, text: &mut String, index: usize, file: &RecipeFile) {
        let folder = match file.path.rsplit_once('/') {
            Some((folder, _)) if !folder.is_empty() => folder,
            _ => "/",
        };
        let (named, source) = (
            quoted(&format!("Write {}", file.path)),
            quoted(&template(index, file)["templates/".len()..]),
        );
        line(
            text,
            format_args!(
                // An existing folder keeps its mode.
                "- name: {} # noqa risky-file-permissions\n  ansible.builtin.file:\n    path: {}\n    state: directory\n",
                quoted(&format!("Create the directory of {}", file.path)),
                quoted(folder)
            ),
        );
        line(
            text,
            format_args!(
                "- name: {named}\n  ansible.builtin.template:\n    src: {source}\n    dest: {}\n    owner: root\n    group: root\n    mode: {}",
                quoted(&file.path),
                quoted(&file.mode)
            ),
        );
        if self.secrets().any(|secret| uses(&file.content, secret)) {
            text.push_str("  no_log: true\n");
        }
        if !self.service.is_empty() {
            text.push_str("  notify: Restart the service\n");
        }
        text.push('\n');
    }

    fn removal(&self) -> String {
        let mut text = String::new();
        if !self.service.is_empty() {
            line(
                &mut text,
                format_args!(
                    "- name: Stop and disable the service\n  ansible.builtin.service:\n    name: {}\n    state: stopped\n    enabled: false\n  register: item_stopped\n  # After an interrupted removal the service can be missing.\n  failed_when: item_stopped is failed and 'ould not find' not in item_stopped.msg\n",
                    quoted(&self.service)
                ),
            );
        }
        if !self.files.is_empty() {
            text.push_str("- name: Remove the files\n  ansible.builtin.file:\n    path: \"{{ item }}\"\n    state: absent\n  loop:\n");
            for file in &self.files {
                line(&mut text, format_args!("    - {}", quoted(&file.path)));
            }
            text.push('\n');
            if self.files.iter().any(|file| file.path.starts_with(UNITS)) {
                text.push_str("- name: Reload systemd\n  ansible.builtin.systemd:\n    daemon_reload: true\n\n");
            }
        }
        if !self.packages.is_empty() {
            let packages = quoted_list(&self.packages);
            line(
                &mut text,
                format_args!(
                    "- name: Remove the packages\n  ansible.builtin.apt:\n    name: {packages}\n    state: absent\n    purge: true\n{LOCK}"
                ),
            );
        }
        one_end(text)
    }

    fn restart(&self) -> String {
        let service = quoted(&self.service);
        format!(
            "- name: Restart the service\n  ansible.builtin.systemd:\n    name: {service}\n    state: restarted\n    daemon_reload: true\n"
        )
    }

    fn offers(&self) -> impl Iterator<Item = &RecipePort> {
        self.ports.iter().filter(|port| !port.capability.is_empty())
    }

    fn tcp_ports(&self) -> impl Iterator<Item = &RecipePort> {
        self.ports
            .iter()
            .filter(|port| port.protocol == Protocol::Tcp)
    }
}

/// The path of a file's template in the role. The number keeps files of the same name apart.
fn template(index: usize, file: &RecipeFile) -> String {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .take(80)
        .collect();
    format!("templates/{index}-{name}.j2")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn quoted_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// A key with rows, or nothing if there are no rows.
fn section<T>(
    text: &mut String,
    key: &str,
    rows: impl IntoIterator<Item = T>,
    row: impl Fn(T) -> String,
) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_some() {
        line(text, format_args!("{key}:"));
        for one in rows {
            line(text, format_args!("  {}", row(one)));
        }
    }
}

/// The text with a single line break at its end; a list of no tasks is `[]`.
fn one_end(text: String) -> String {
    match text.trim_end() {
        "" => "[]\n".to_owned(),
        text => format!("{text}\n"),
    }
}
