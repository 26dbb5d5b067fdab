//! The input files of a sandbox, and a parser for its output lines. Pure.

use std::collections::BTreeMap;

use api::{LogLevel, LogStream};
use serde_json::{Map, Value, json};

use super::{
    guard::guard,
    jobs::{APT_CONFIG, LOCK_SECONDS, ResultLine, TaskKind},
};
use crate::ssh::Route;

/// `ssh_config`, `known_hosts` and `key` for the first server of a job. The sandbox has no network: the engine makes
/// the connection, through the bastion if there is one. The host key is pinned by the server's name.
pub fn ssh_files(route: &Route, private_key: &str) -> BTreeMap<String, Vec<u8>> {
    let name = &route.host.name;
    let config = format!(
        "Host *\n  User {}\n  HostKeyAlias {name}\n  ProxyCommand /usr/bin/python3 -I -S /opt/stackloom/connect.py 0\n  \
         ProxyUseFdpass yes\n  IdentityFile /work/key\n  IdentitiesOnly yes\n  BatchMode yes\n  StrictHostKeyChecking yes\n  \
         UserKnownHostsFile /work/known_hosts\n  GlobalKnownHostsFile /dev/null\n  UpdateHostKeys no\n  \
         HostKeyAlgorithms ssh-ed25519\n  ConnectTimeout 20\n  ServerAliveInterval 15\n  ServerAliveCountMax 4\n  LogLevel ERROR\n",
        route.user
    );
    let keys = route.host.host_key.lines();
    let known: String = keys.map(|key| format!("{name} {key}\n")).collect();
    let key = format!("{}\n", private_key.trim_end());
    BTreeMap::from([
        ("ssh_config".to_owned(), config.into_bytes()),
        ("known_hosts".to_owned(), known.into_bytes()),
        ("key".to_owned(), key.into_bytes()),
    ])
}

/// The name and content of the file by which package managers wait for their lock in any playbook (`locks.py` in the sandbox).
pub fn lock_rule() -> (String, Vec<u8>) {
    let rule = json!({"lock_timeout": LOCK_SECONDS, "apt_config": APT_CONFIG});
    ("locks.json".to_owned(), rule.to_string().into_bytes())
}

/// The name and content of the file by which tasks notify their handlers without a change: an earlier attempt can have ended
/// between a change and its handler (`interrupted.py` in the sandbox).
pub fn interruption() -> (String, Vec<u8>) {
    ("interrupted".to_owned(), Vec::new())
}

/// The tasks of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks<'a> {
    /// `tasks/main.yml`.
    Main,
    /// Another file in `tasks`.
    File(&'a str),
}

impl Tasks<'static> {
    /// The file of `types::catalog::REMOVAL_TASKS`, as Ansible's `tasks_from` names it.
    pub const REMOVAL: Tasks<'static> = Tasks::File("remove.yml");
    /// The file of `types::catalog::INSTALLATION_TASKS`.
    pub const INSTALLATION: Tasks<'static> = Tasks::File("install.yml");
}

/// The inventory, play and variables that run one role on one host.
///
/// Variables are user input. Ansible must not evaluate them, so that a script's `${#list[@]}` or a page's `{{ x }}`
/// arrives unchanged. The role gets its component's name as `stackloom_component`, and as `stackloom_guard` the words before a
/// program that run it with limits. `before` are tasks of ours that run before those of the role. Ansible evaluates templates
/// in them.
pub fn play(
    (role, tasks): (&str, Tasks<'_>),
    component: &str,
    host: &str,
    variables: &Map<String, Value>,
    before: &[Value],
) -> BTreeMap<String, Vec<u8>> {
    let hosts = Map::from_iter([(host.to_owned(), json!({}))]);
    let inventory = json!({"all": {"hosts": hosts}});
    let mut play = json!({
        "name": format!("{component} on {host}"), "hosts": "all", "become": true,
    });
    match tasks {
        Tasks::Main => play["roles"] = json!([role]),
        Tasks::File(file) => {
            play["tasks"] =
                json!([{"ansible.builtin.import_role": {"name": role, "tasks_from": file}}]);
        }
    }
    if !before.is_empty() {
        play["pre_tasks"] = json!(before);
    }
    let play = json!([play]);
    let mut given: Map<String, Value> = variables
        .iter()
        .map(|(name, value)| (name.clone(), mark_unsafe(value)))
        .collect();
    let own = [
        ("stackloom_component", json!(component)),
        ("stackloom_guard", json!(guard())),
    ];
    given.extend(own.map(|(name, value)| (name.to_owned(), mark_unsafe(&value))));
    BTreeMap::from([
        (
            "inventory.json".to_owned(),
            inventory.to_string().into_bytes(),
        ),
        ("play.json".to_owned(), play.to_string().into_bytes()),
        (
            "variables.json".to_owned(),
            Value::Object(given).to_string().into_bytes(),
        ),
    ])
}

/// The value with every text marked as unsafe in Ansible's JSON, so that it is not a template.
fn mark_unsafe(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"__ansible_unsafe": text}),
        Value::Array(items) => items.iter().map(mark_unsafe).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), mark_unsafe(value)))
            .collect(),
        plain => plain.clone(),
    }
}

/// The command for [`play`]'s files.
pub fn playbook_command() -> Vec<String> {
    [
        "ansible-playbook",
        "-i",
        "inventory.json",
        "-e",
        "@variables.json",
        "play.json",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The meaning of a line of the callback plugin. Other lines are shown unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedLine {
    /// Lines for the log.
    pub lines: Vec<(LogLevel, String)>,
    /// The failure in the line, for the step's error.
    pub failure: Option<String>,
    /// Values that the role set by `set_stats`, for its item's outputs.
    pub results: BTreeMap<String, String>,
    /// The event behind the line, if it is one of a play.
    pub event: Option<PlayEvent>,
    /// Output in a task's result. What was followed live has been shown already.
    pub output: Vec<ResultLine>,
}

/// An event of a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayEvent {
    /// A play begins.
    Play(String),
    /// A task begins.
    Task {
        /// Name of the task.
        name: String,
        /// Key of the task, the same in a repetition of the play.
        key: String,
        /// The output that it has while it runs.
        kind: TaskKind,
    },
    /// A task has ended, or an item of its loop.
    Ended {
        /// The task's program, if it ran one that is followed.
        program: Option<String>,
    },
}

/// Parses a line.
pub fn parse_line(line: &str) -> ParsedLine {
    let event: Option<Map<String, Value>> = line
        .starts_with('{')
        .then(|| serde_json::from_str(line).ok())
        .flatten();
    let Some(event) = event.filter(|event| event.get("event").is_some_and(Value::is_string)) else {
        let level = if line.contains("[WARNING]") {
            LogLevel::Warning
        } else if line.starts_with("ERROR!") || line.contains("fatal:") {
            LogLevel::Error
        } else {
            LogLevel::Info
        };
        let failure = line.strip_prefix("ERROR! ").map(str::to_owned);
        return ParsedLine {
            lines: if line.trim().is_empty() {
                Vec::new()
            } else {
                vec![(level, line.to_owned())]
            },
            failure,
            ..ParsedLine::default()
        };
    };
    let text = |key: &str| {
        event
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim_end()
    };
    match text("event") {
        "play" => ParsedLine {
            lines: vec![(LogLevel::Info, format!("PLAY [{}]", text("name")))],
            event: Some(PlayEvent::Play(text("name").to_owned())),
            ..ParsedLine::default()
        },
        "task" => ParsedLine {
            lines: vec![(LogLevel::Info, format!("TASK [{}]", text("name")))],
            event: Some(PlayEvent::Task {
                name: text("name").to_owned(),
                key: text("key").to_owned(),
                kind: match text("kind") {
                    "package" => TaskKind::Package,
                    _ => TaskKind::Other,
                },
            }),
            ..ParsedLine::default()
        },
        "result" => show_result(&event),
        "stats" => ParsedLine {
            lines: stats(&event),
            results: results(&event),
            ..ParsedLine::default()
        },
        _ => ParsedLine {
            lines: vec![(LogLevel::Warning, text("msg").to_owned())],
            ..ParsedLine::default()
        },
    }
}

fn show_result(event: &Map<String, Value>) -> ParsedLine {
    let text = |key: &str| {
        event
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim_end()
    };
    let status = text("status");
    let ignored = event.contains_key("ignored");
    let bad = matches!(status, "failed" | "unreachable");
    let level = match status {
        "failed" | "unreachable" if ignored => LogLevel::Warning,
        "failed" | "unreachable" => LogLevel::Error,
        "retrying" => LogLevel::Warning,
        "changed" => LogLevel::Info,
        _ => LogLevel::Debug,
    };
    let item = if text("item").is_empty() {
        String::new()
    } else {
        format!(" => (item={})", text("item"))
    };
    let ignored_text = if ignored { " ...ignoring" } else { "" };
    let mut lines = vec![(
        level,
        format!("{status}: [{}]{item}{ignored_text}", text("host")),
    )];
    for key in ["msg", "module_stdout", "module_stderr"] {
        lines.extend(text(key).lines().map(|line| (level, format!("    {line}"))));
    }
    let mut output = Vec::new();
    for (key, stream) in [("stdout", LogStream::Stdout), ("stderr", LogStream::Stderr)] {
        // Ansible sometimes repeats the message in `stderr`; it is shown once.
        let is_said = key == "stderr" && text("stderr") == text("msg");
        if !is_said {
            output.extend(
                text(key)
                    .lines()
                    .map(|line| (stream, level, line.to_owned())),
            );
        }
    }
    let program = event.get("program").and_then(Value::as_str);
    let failure = (bad && !ignored).then(|| {
        let why = ["msg", "module_stderr", "stderr", "stdout"]
            .into_iter()
            .map(text)
            .find(|why| !why.is_empty());
        // The program's own words first.
        format!(
            "{}\nTask `{}` {status} on `{}`.",
            why.unwrap_or("The task gave no reason."),
            text("task"),
            text("host"),
        )
    });
    ParsedLine {
        lines,
        failure,
        event: Some(PlayEvent::Ended {
            program: program.map(str::to_owned),
        }),
        output,
        ..ParsedLine::default()
    }
}

fn results(event: &Map<String, Value>) -> BTreeMap<String, String> {
    let results = event.get("told").and_then(Value::as_object);
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    results.into_iter().flatten().filter_map(text).collect()
}

fn stats(event: &Map<String, Value>) -> Vec<(LogLevel, String)> {
    let hosts = event.get("hosts").and_then(Value::as_object);
    let line = |(host, counts): (&String, &Value)| {
        let counts = counts.as_object().map(|counts| {
            counts
                .iter()
                .map(|(what, count)| format!("{what}={count}"))
                .collect::<Vec<_>>()
                .join(" ")
        });
        (
            LogLevel::Info,
            format!("RECAP {host}: {}", counts.unwrap_or_default()),
        )
    };
    hosts.into_iter().flatten().map(line).collect()
}

/// True if ssh refused because the server's host key is not the pinned one.
pub fn is_changed_host_key(text: &str) -> bool {
    [
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "Host key verification failed",
        "No ED25519 host key is known",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh::Host;

    fn host(name: &str, address: &str) -> Host {
        Host::new(name, address, format!("ssh-ed25519 {name}"))
    }

    #[test]
    fn ssh_in_the_sandbox_has_no_way_but_the_engines_and_one_pinned_key() {
        let route = Route {
            host: host("web", "10.0.0.5"),
            bastion: Some(host("gate", "172.30.0.7")),
            user: "stackloom".into(),
        };
        let files = ssh_files(&route, "KEY\n\n");
        let config = String::from_utf8(files["ssh_config"].clone()).unwrap();
        assert!(config.contains("ProxyCommand") && config.contains("HostKeyAlias web\n"));
        assert!(config.contains("StrictHostKeyChecking yes"));
        assert!(!config.contains("10.0.0.5") && !config.contains("gate"));
        assert_eq!(files["known_hosts"], b"web ssh-ed25519 web\n");
        assert_eq!(files["key"], b"KEY\n");
    }

    #[test]
    fn results_read_like_ansible() {
        let shown = parse_line(
            r#"{"event": "result", "host": "web", "status": "changed", "task": "install", "item": "curl"}"#,
        );
        assert_eq!(
            shown.lines,
            [(LogLevel::Info, "changed: [web] => (item=curl)".to_owned())]
        );
        let shown = parse_line(
            r#"{"event": "result", "host": "web", "status": "failed", "task": "install", "msg": "no such package\nreally"}"#,
        );
        assert_eq!(shown.lines.len(), 3);
        assert_eq!(
            shown.failure.as_deref(),
            Some("no such package\nreally\nTask `install` failed on `web`.")
        );
        let shown = parse_line(
            r#"{"event": "result", "host": "web", "status": "failed", "task": "t", "msg": "no", "ignored": true}"#,
        );
        assert_eq!((shown.lines[0].0, shown.failure), (LogLevel::Warning, None));
    }

    #[test]
    fn values_of_users_are_not_ansible_templates() {
        let variables = json!({"script": "echo ${#list[@]} {{ x }}", "names": ["{% a %}"], "of": {"a": {"b": "c"}}, "port": 80});
        let files = play(
            ("script", Tasks::Main),
            "hello",
            "web",
            variables.as_object().unwrap(),
            &[],
        );
        let variables: Value = serde_json::from_slice(&files["variables.json"]).unwrap();
        assert_eq!(
            variables,
            json!({
                "script": {"__ansible_unsafe": "echo ${#list[@]} {{ x }}"},
                "names": [{"__ansible_unsafe": "{% a %}"}],
                "of": {"a": {"b": {"__ansible_unsafe": "c"}}},
                "port": 80,
                "stackloom_component": {"__ansible_unsafe": "hello"},
                "stackloom_guard": mark_unsafe(&json!(guard())),
            })
        );
    }

    #[test]
    fn the_rule_for_package_managers_is_what_the_sandbox_reads() {
        let (name, rule) = lock_rule();
        let rule: Value = serde_json::from_slice(&rule).unwrap();
        assert_eq!(rule["lock_timeout"], LOCK_SECONDS);
        assert_eq!(rule["apt_config"], APT_CONFIG);
        let reader = include_str!("../../images/sandbox/locks.py");
        for word in [name.as_str(), "\"lock_timeout\"", "\"apt_config\""] {
            assert!(reader.contains(word), "{word}");
        }
    }

    #[test]
    fn the_file_for_handlers_is_what_the_sandbox_looks_for() {
        let (name, _) = interruption();
        let reader = include_str!("../../images/sandbox/interrupted.py");
        assert!(reader.contains(&format!("\"/work/{name}\"")));
    }

    #[test]
    fn output_of_a_program_is_apart_from_the_lines_of_its_result() {
        let shown = parse_line(
            r#"{"event": "result", "host": "web", "status": "changed", "task": "t", "program": "ab-1", "stdout": "one\ntwo", "stderr": "oh"}"#,
        );
        assert_eq!(shown.lines, [(LogLevel::Info, "changed: [web]".to_owned())]);
        let output = |stream, text: &str| (stream, LogLevel::Info, text.to_owned());
        assert_eq!(
            shown.output,
            [
                output(LogStream::Stdout, "one"),
                output(LogStream::Stdout, "two"),
                output(LogStream::Stderr, "oh"),
            ]
        );
        let program = Some("ab-1".to_owned());
        assert_eq!(shown.event, Some(PlayEvent::Ended { program }));
    }

    #[test]
    fn outputs_of_a_role_come_with_the_statistics() {
        let shown = parse_line(
            r#"{"event": "stats", "hosts": {"web": {"ok": 1}}, "told": {"stdout": "a\nb", "odd": 1}}"#,
        );
        assert_eq!(shown.lines.len(), 1);
        assert_eq!(
            shown.results,
            BTreeMap::from([("stdout".to_owned(), "a\nb".to_owned())])
        );
    }

    #[test]
    fn other_lines_are_shown_as_they_are() {
        assert_eq!(
            parse_line("hello").lines,
            [(LogLevel::Info, "hello".to_owned())]
        );
        assert_eq!(parse_line("{not json").lines.len(), 1);
        assert_eq!(parse_line("  ").lines.len(), 0);
        assert_eq!(
            parse_line("[WARNING]: beware").lines[0].0,
            LogLevel::Warning
        );
        assert_eq!(
            parse_line("ERROR! the role was not found")
                .failure
                .as_deref(),
            Some("the role was not found")
        );
    }
}
