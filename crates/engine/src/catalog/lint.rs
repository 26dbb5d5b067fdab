//! Ansible's linter on the files of an item: its order to a sandbox, and its findings. Pure.

use std::collections::BTreeMap;

use api::{LintFinding, LintLevel};
use serde::Deserialize;

use super::Files;
use crate::sandbox::Job;

/// Findings that are shown. A role with more has other problems.
const FINDINGS_MAX: usize = 200;
/// The folder of the role. The linter takes its name for that of the role.
const FOLDER: &str = "roles";

/// The order: `ansible-lint` of Debian 12, on the role alone. `--offline` keeps it from asking for collections.
///
/// Rules of Ansible Galaxy are left out, where the item is not published: names without `-`, author and licence. So is the
/// rule `schema`, whose copy of Galaxy's schema is as old as the program, and refuses platforms that came later.
pub fn job(item: &str, files: &Files) -> Job {
    let files = files.iter();
    let files = files.map(|(path, content)| (format!("{FOLDER}/{item}/{path}"), content.clone()));
    let role = format!("{FOLDER}/{item}");
    let argv = [
        "ansible-lint",
        "--offline",
        "-q",
        "--nocolor",
        "-f",
        "json",
        "-x",
        "schema,role-name,meta-no-info",
        &role,
    ];
    Job {
        run: "lint".to_owned(),
        step: item.to_owned(),
        files: files.collect::<BTreeMap<_, _>>(),
        argv: argv.map(str::to_owned).to_vec(),
        ..Job::default()
    }
}

/// The findings in the linter's output, with paths inside the item. `None` if it has written none.
pub fn findings(item: &str, output: &[String]) -> Option<Vec<LintFinding>> {
    let folder = format!("{FOLDER}/{item}/");
    let mut lines = output.iter().filter(|line| line.starts_with('['));
    let issues: Vec<Issue> = lines.find_map(|line| serde_json::from_str(line).ok())?;
    let findings = issues.into_iter().take(FINDINGS_MAX).map(|issue| {
        let path = issue.location.path;
        let line = match issue.location.lines {
            Some(lines) => Some(lines.begin),
            None => issue.location.positions.map(|at| at.begin.line),
        };
        LintFinding {
            rule: issue.check_name,
            level: match issue.level.as_str() {
                "error" => LintLevel::Error,
                _ => LintLevel::Warning,
            },
            message: issue.description,
            path: path.strip_prefix(&folder).unwrap_or(&path).to_owned(),
            line,
        }
    });
    Some(findings.collect())
}

/// An issue in the format of Code Climate.
#[derive(Deserialize)]
struct Issue {
    check_name: String,
    #[serde(default)]
    level: String,
    description: String,
    location: Location,
}

#[derive(Deserialize)]
struct Location {
    path: String,
    lines: Option<Lines>,
    positions: Option<Positions>,
}

#[derive(Deserialize)]
struct Lines {
    begin: u32,
}

#[derive(Deserialize)]
struct Positions {
    begin: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_its_place_inside_the_item() {
        let output = [
            "WARNING  Listing 2 violations",
            r#"[{"check_name": "name[missing]", "level": "warning", "description": "All tasks should be named.", "location": {"path": "roles/web/tasks/main.yml", "lines": {"begin": 3}}}, {"check_name": "yaml[octal-values]", "level": "error", "description": "Octal.", "location": {"path": "roles/web/defaults/main.yml", "positions": {"begin": {"line": 7, "column": 2}}}}]"#,
        ];
        let found = findings("web", &output.map(str::to_owned)).unwrap();
        let places = found
            .iter()
            .map(|one| (one.path.as_str(), one.line, one.level));
        let expected = [
            ("tasks/main.yml", Some(3), LintLevel::Warning),
            ("defaults/main.yml", Some(7), LintLevel::Error),
        ];
        assert_eq!(places.collect::<Vec<_>>(), expected);
        assert_eq!(found[0].rule, "name[missing]");
        assert_eq!(findings("web", &["[]".to_owned()]), Some(Vec::new()));
        assert_eq!(findings("web", &["Traceback".to_owned()]), None);
    }

    #[test]
    fn the_role_has_its_own_name_in_the_sandbox() {
        let files = Files::from([("tasks/main.yml".to_owned(), b"[]".to_vec())]);
        let job = job("web", &files);
        assert!(job.files.contains_key("roles/web/tasks/main.yml"));
        assert_eq!(job.argv.last().map(String::as_str), Some("roles/web"));
    }
}
