//! Tests a folder of templates. Five questions for each: is it parsed, is it valid, is it planned, can it be deployed,
//! and is its order Heat's?
//!
//! - *parsed*: text and structure have no errors.
//! - *valid*: validation finds no error, without values for parameters. This corresponds to Heat's `validate` call,
//!   which checks names and not values, so values are not checked here either ([`AT_CREATION`]).
//! - *planned*: a plan for a new deployment has no errors, with stand-in values for parameters without a default
//!   ([`crate::stand_in`]) and without look-ups, because no cloud is involved. The refusal
//!   `resource-type-not-deployable` does not count, nor does `software-unsupported`: Heat accepts those templates too, and
//!   this tests the language and the order. The remark mentions it.
//! - *deployable*: it is planned, and every resource can be made.
//! - *edges*: the order between drawn resources, before nested templates are expanded and before passes add anything,
//!   compared with the golden table's.
//!
//! Files that a template includes are searched beside it. Environments are given if Heat needed them according to the
//! golden table. Without a table these are used: the one with the template's name, and the nearest ones with types that
//! the template uses. Files that only look like templates, such as those for Jinja, are listed below the table and not
//! counted.
//!
//! Each template is also tested against the [`laws`](crate::laws), with every type treated as deployable: an edit that
//! is reverted leaves the same bytes, no step waits for itself, and a deployment that matches the plan needs no change.
//! A template that breaks a law has a remark and counts as different.
//!
//! A template that causes a panic, or takes longer than [`PATIENCE`], fails in its line. The others are still tested.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hot::bundle::Bundle;
use hot::diagnostic::Diagnostic;
use hot::document::Document;
use planner::cloud::CloudFacts;
use planner::compose;
use planner::plan::{Deployed, PlanInput, dependencies, plan};
use serde_json::Value;
use types::Registry;

use crate::{laws, stand_in};

mod files;
mod golden;

use files::Missing;

pub use files::templates;
pub use golden::{Edges, Row};

/// Time limit for one template.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Refusals of what Heat accepts: types that are not made, and configurations that need an agent.
const NOT_DEPLOYABLE: [&str; 2] = ["resource-type-not-deployable", "software-unsupported"];

/// The question for an external network, which a cloud answers.
const ASKS_THE_CLOUD: &str = "external-network-unknown";

/// Problems that Heat finds only at creation. Its `validate` call has no values, so it checks names only.
const AT_CREATION: [&str; 8] = [
    "nested-too-deep",
    "property-conflict",
    "property-constraint",
    "parameter-missing",
    "property-missing",
    "property-type",
    "server-without-network",
    "unknown-parameter",
];

/// True if Heat's `validate` call does not find the problem: values, keys within a property's value, and members of
/// groups.
fn at_creation(one: &Diagnostic) -> bool {
    let within = || one.path.starts_with("resources.") && one.path.split('.').count() > 4;
    AT_CREATION.contains(&one.code.as_str())
        || (one.code == "unknown-property" && within())
        || one.path.contains(".properties.resource_def")
        || one.path.contains(".properties.resource.")
}

/// The result for a folder. Displayed as a table with the totals in the last line.
#[derive(Debug)]
pub struct Report {
    lines: Vec<Line>,
    /// True if there was a table to compare with.
    compared: bool,
    /// Paths in the golden table without a template.
    missing: Vec<String>,
    /// Files that are templates only after another program has filled them in.
    unfilled: Vec<String>,
}

#[derive(Debug)]
struct Line {
    path: String,
    tried: TemplateResult,
    golden: Option<Row>,
}

/// The result for one template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateResult {
    /// True if it is parsed without an error.
    pub parsed: bool,
    /// True if it is also valid.
    pub valid: bool,
    /// True if it is also planned.
    pub planned: bool,
    /// The first error of the first failed stage.
    pub error: Option<String>,
    /// Number of resources that are ordered but cannot be deployed.
    pub not_deployable: usize,
    /// Number of resources that exist.
    pub nodes: usize,
    /// Pairs of resources: the first must exist before the second.
    pub edges: Edges,
    /// The broken law, if any.
    pub broken_law: Option<String>,
    /// Number of edits in the tests of laws.
    pub edits: laws::EditCounts,
}

/// Tests all templates below `dir`. Compares with `golden`, else with `dir/golden.csv` if it exists.
pub fn run(dir: &Path, golden: Option<&Path>) -> io::Result<Report> {
    let default = dir.join("golden.csv");
    let golden = golden.or_else(|| default.is_file().then_some(default.as_path()));
    let mut rows = match golden {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            golden::read(&text).map_err(|error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{}: {error}", path.display()),
                )
            })?
        }
        None => BTreeMap::new(),
    };
    // Paths in the table are relative to the folder, or to the table itself if it is above the folder.
    let beside = golden.and_then(Path::parent).map(Path::to_owned);
    let environments = Arc::new(files::environments(dir)?);
    let mut lines = Vec::new();
    let mut unfilled = Vec::new();
    for file in files::templates(dir)? {
        let path = shown(file.strip_prefix(dir).unwrap_or(&file));
        let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        if !rows.contains_key(&path) && files::is_unfilled(&path, &text) {
            unfilled.push(path);
            continue;
        }
        let from_table = beside
            .as_deref()
            .and_then(|beside| file.strip_prefix(beside).ok())
            .map(shown);
        let row = rows
            .remove(&path)
            .or_else(|| rows.remove(from_table.as_deref()?));
        let tried = run_with_timeout(TestInput {
            text,
            named: row
                .iter()
                .flat_map(|row| &row.environments)
                .map(|path| dir.join(path))
                .collect(),
            parameters: row.iter().flat_map(|row| row.parameters.clone()).collect(),
            look: row.as_ref().is_none_or(|row| row.needs_environment),
            missing: match &row {
                Some(row) if row.lacks_files => Missing::Empty,
                _ => Missing::Refused,
            },
            file,
            environments: Arc::clone(&environments),
        });
        lines.push(Line {
            path,
            tried,
            golden: row,
        });
    }
    Ok(Report {
        lines,
        compared: golden.is_some(),
        missing: rows.into_keys().collect(),
        unfilled,
    })
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The input for the test of one template.
struct TestInput {
    file: PathBuf,
    text: String,
    environments: Arc<Vec<files::EnvironmentFile>>,
    /// Environments from the golden table.
    named: Vec<PathBuf>,
    /// True to search for environments: Heat needed some, or there is no table.
    look: bool,
    /// Values from the golden table, used instead of stand-ins.
    parameters: BTreeMap<String, Value>,
    missing: Missing,
}

impl TestInput {
    fn tried(&self) -> TemplateResult {
        let document = Document::parse(self.text.as_str());
        let mut given = self.named.clone();
        if self.look {
            given = files::environments_for(&self.file, &document, &self.environments);
        }
        let bundle = files::bundle(&self.file, &document, &given, self.missing);
        template(&document, &bundle, &self.parameters)
    }
}

/// Runs the test in a separate thread, so that a panic or an endless loop does not stop the other tests.
fn run_with_timeout(given: TestInput) -> TemplateResult {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // The receiver can have timed out.
        let _ = sender.send(given.tried());
    });
    receiver
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|error| TemplateResult {
            error: Some(match error {
                mpsc::RecvTimeoutError::Timeout => format!("no end after {} s", PATIENCE.as_secs()),
                mpsc::RecvTimeoutError::Disconnected => "it made us panic".to_owned(),
            }),
            ..TemplateResult::default()
        })
}

/// Tests one template with the given files and values. Other parameters without a value get stand-ins.
pub fn template(
    document: &Document,
    bundle: &Bundle,
    given: &BTreeMap<String, Value>,
) -> TemplateResult {
    let types = Registry::openstack();
    let cloud = CloudFacts::default();
    let mut parameters = stand_in::values(document.template(), bundle, &types);
    parameters.extend(given.clone());
    let read = first_error(document.diagnostics());
    let mut checks = compose::validate(document, bundle, &types, &cloud, &BTreeMap::new());
    checks.retain(|one| !at_creation(one));
    let checked = first_error(&checks);
    let planned = plan(&PlanInput {
        document,
        bundle,
        parameters: &parameters,
        deployed: &Deployed::default(),
        types: &types,
        cloud: &cloud,
    });
    let not_deployable =
        |one: &&Diagnostic| one.is_error() && NOT_DEPLOYABLE.contains(&one.code.as_str());
    let ordered = dependencies(document, bundle, &parameters);
    let nodes = ordered.len();
    let edges = ordered
        .into_iter()
        .flat_map(|(after, before)| before.into_iter().map(move |one| (one, after.clone())))
        .collect();
    let in_plan = first_error(&planned.diagnostics);
    let made = laws::all_deployable(&types, document, bundle);
    let mut edits = laws::EditCounts::default();
    let laws_hold = laws::of_text(document, laws::EDITED_MAX, &mut edits)
        .and_then(|()| laws::of_plan(document, bundle, &made));
    TemplateResult {
        parsed: read.is_none(),
        valid: read.is_none() && checked.is_none(),
        planned: read.is_none() && checked.is_none() && in_plan.is_none(),
        error: read.or(checked).or(in_plan),
        not_deployable: planned.diagnostics.iter().filter(not_deployable).count(),
        nodes,
        edges,
        broken_law: laws_hold.err(),
        edits,
    }
}

fn first_error(diagnostics: &[Diagnostic]) -> Option<String> {
    let counts = |one: &&Diagnostic| {
        let code = one.code.as_str();
        one.is_error() && !NOT_DEPLOYABLE.contains(&code) && code != ASKS_THE_CLOUD
    };
    let one = diagnostics.iter().find(counts)?;
    let at = one.line.map_or(String::new(), |line| format!("{line}: "));
    Some(format!("{at}{}: {}", one.code, one.message))
}

impl Line {
    fn missing_edges(&self) -> Vec<&(String, String)> {
        let golden = self.golden.iter().flat_map(|row| &row.edges);
        golden
            .filter(|edge| !self.tried.edges.contains(edge))
            .collect()
    }

    /// Edges that Heat does not have. Empty if there is no table.
    fn extra_edges(&self) -> Vec<&(String, String)> {
        let golden = self.golden.as_ref().map(|row| &row.edges);
        let extra = |edge: &&(String, String)| golden.is_some_and(|golden| !golden.contains(*edge));
        self.tried.edges.iter().filter(extra).collect()
    }

    /// The differences from Heat.
    fn differences(&self) -> Vec<String> {
        let Some(golden) = &self.golden else {
            return Vec::new();
        };
        let mut differences = Vec::new();
        match (golden.valid, self.tried.valid) {
            (true, false) => differences.push("Heat validates it".to_owned()),
            (false, true) => differences.push(format!("Heat refuses it: {}", golden.refusal)),
            _ => {}
        }
        match (golden.plans, self.tried.planned) {
            (true, false) if self.tried.valid => differences.push("Heat creates it".to_owned()),
            (false, true) if golden.valid => {
                differences.push(format!("Heat does not create it: {}", golden.refusal));
            }
            _ => {}
        }
        if golden.nodes.is_some_and(|nodes| nodes != self.tried.nodes) {
            differences.push(format!("Heat has {} resources", golden.nodes.unwrap_or(0)));
        }
        let named = |edges: Vec<&(String, String)>| {
            let named = edges
                .iter()
                .map(|(before, after)| format!("{before}>{after}"));
            named.collect::<Vec<_>>().join(" ")
        };
        let (missing, extra) = (named(self.missing_edges()), named(self.extra_edges()));
        if !missing.is_empty() {
            differences.push(format!("missing {missing}"));
        }
        if !extra.is_empty() {
            differences.push(format!("extra {extra}"));
        }
        differences
    }

    fn remark(&self) -> String {
        let mut remarks = self.differences();
        if let Some(error) = &self.tried.error {
            remarks.insert(0, error.clone());
        }
        if let Some(law) = &self.tried.broken_law {
            remarks.push(format!("breaks a law: {law}"));
        }
        if self.tried.not_deployable > 0 {
            remarks.push(format!("{} not deployable", self.tried.not_deployable));
        }
        remarks.join("; ").replace('\n', " ")
    }
}

impl Report {
    /// True if the result differs from the golden table, or without one, if a template is not planned.
    pub fn differs(&self) -> bool {
        let differs = |line: &Line| match line.golden {
            Some(_) => !line.differences().is_empty(),
            None => !line.tried.planned,
        };
        let broken = self.count(|tried| tried.broken_law.is_some()) > 0;
        let edits = self.edits();
        let hardly_edited = edits.refused > edits.made;
        broken || hardly_edited || !self.missing.is_empty() || self.lines.iter().any(differs)
    }

    /// Number of edits over all templates.
    fn edits(&self) -> laws::EditCounts {
        let mut all = laws::EditCounts::default();
        self.lines.iter().for_each(|line| all.add(line.tried.edits));
        all
    }

    fn count(&self, which: impl Fn(&TemplateResult) -> bool) -> usize {
        self.lines.iter().filter(|line| which(&line.tried)).count()
    }
}

/// The table, then one line with the totals.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|line| line.path.len()).max();
        let width = width.unwrap_or(0).max("template".len());
        writeln!(
            f,
            "{:width$} parsed valid planned nodes edges remark",
            "template"
        )?;
        let word = |yes: bool| if yes { "yes" } else { "no" };
        for line in &self.lines {
            let tried = &line.tried;
            let row = format!(
                "{:width$} {:6} {:5} {:7} {:5} {:5} {}",
                line.path,
                word(tried.parsed),
                word(tried.valid),
                word(tried.planned),
                tried.nodes,
                tried.edges.len(),
                line.remark()
            );
            writeln!(f, "{}", row.trim_end())?;
        }
        for path in &self.missing {
            writeln!(f, "{path}: in the golden table, and no template here")?;
        }
        for path in &self.unfilled {
            writeln!(f, "{path}: to be filled in by Jinja first, so not tried")?;
        }
        if self.compared {
            let unknown = self
                .lines
                .iter()
                .filter(|line| line.golden.is_none())
                .count();
            let differ = self
                .lines
                .iter()
                .filter(|line| !line.differences().is_empty());
            writeln!(
                f,
                "{} differ from the golden table, {unknown} are not in it",
                differ.count()
            )?;
        } else {
            writeln!(f, "there is no golden table: nothing is compared")?;
        }
        let broken = self.count(|tried| tried.broken_law.is_some());
        writeln!(
            f,
            "{broken} break a law: edits taken back, an order without circles, no change between a template and itself; {}",
            self.edits()
        )?;
        let golden: usize = self
            .lines
            .iter()
            .filter_map(|line| line.golden.as_ref())
            .map(|row| row.edges.len())
            .sum();
        let missing: usize = self
            .lines
            .iter()
            .map(|line| line.missing_edges().len())
            .sum();
        let extra: usize = self.lines.iter().map(|line| line.extra_edges().len()).sum();
        writeln!(
            f,
            "templates {} parsed {} valid {} planned {} deployable {} edges {}/{golden} extra {extra}",
            self.lines.len(),
            self.count(|tried| tried.parsed),
            self.count(|tried| tried.valid),
            self.count(|tried| tried.planned),
            self.count(|tried| tried.planned && tried.not_deployable == 0),
            golden - missing,
        )
    }
}

#[cfg(test)]
mod tests;
