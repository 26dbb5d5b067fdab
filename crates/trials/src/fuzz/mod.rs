//! Templates broken on purpose: whatever the text, there is an answer.
//!
//! A seeded loop takes a template, breaks it in a few places ([`mutate`]), and holds what comes out against some laws
//! ([`broken_law`]): no panic, no endless work, an order without circles or an error that says where. The same seed tries the
//! same texts, so a finding can be repeated; what is found is cut down to the lines that matter before it is shown.
//!
//! A text may be several: what follows a line `#==> name` is the file of that name beside the template, an environment where it
//! reads like one ([`files`]). So a change may fall on any of them, and on the lines between. A few texts are of seeds that come
//! to more than there is room for ([`HEAVY_EVERY`]): these cost a hundred times as much.
//!
//! Each text is tried in a worker thread that is given [`PATIENCE`], of the processor's time where the system tells it: on a
//! machine that is busy with others a minute may pass without a step. A stack that overflows ends the whole program and can be
//! caught by nobody: the text that was being tried is then found in the file `current` of the folder that [`Options::keep`]
//! names.

use std::fmt;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use hot::bundle::{Bundle, is_environment};
use hot::document::Document;
use planner::workflow::Workflow;
use types::Registry;

use crate::laws::{self, Tried};
use crate::shapes;

mod mutate;
mod random;

pub use mutate::mutate;
pub use random::Random;

/// How long one text may take. A template of the largest size takes tenths of a second, and its edits read it fifty times.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Resources of one text that are edited.
const EDITED_MAX: usize = 1;

/// Of so many texts one is made of a seed whose values outgrow their budget.
const HEAVY_EVERY: usize = 100;

/// What stands before the name of a file, at the beginning of a line.
const FILE: &str = "#==> ";

/// Findings after which a run ends: the first few tell enough.
const FINDINGS_MAX: usize = 20;

/// What to try, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Templates below it are broken too, beside our own.
    pub dir: Option<PathBuf>,
    /// Ends after this time.
    pub time: Option<Duration>,
    /// Ends after so many texts.
    pub texts: Option<u64>,
    /// Another seed, other texts.
    pub seed: u64,
    /// A folder for the text that is being tried, the slowest one, and findings.
    pub keep: Option<PathBuf>,
}

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// Texts tried.
    pub texts: u64,
    /// Bytes tried.
    pub bytes: u64,
    /// Texts that gave a workflow.
    pub planned: u64,
    /// Edits made and refused: a law about edits says nothing of those that are refused.
    pub edits: Tried,
    /// The longest that one text took.
    pub slowest: Duration,
    /// The most memory that this program has ever held, in KiB, where the system tells it.
    pub memory_kib: Option<u64>,
    /// What broke a law.
    pub findings: Vec<Finding>,
}

/// A text that breaks a law.
#[derive(Debug)]
pub struct Finding {
    /// Which, in a sentence.
    pub what: String,
    /// As short as we could make it.
    pub text: String,
}

/// Tries texts until time, number or findings end it.
///
/// # Errors
/// When a folder cannot be read or written.
pub fn run(options: &Options) -> std::io::Result<Report> {
    let mut seeds = own_seeds();
    if let Some(dir) = &options.dir {
        for file in crate::corpus::templates(dir)? {
            seeds.push(String::from_utf8_lossy(&fs::read(file)?).into_owned());
        }
    }
    if let Some(keep) = &options.keep {
        fs::create_dir_all(keep)?;
    }
    let heavy = heavy_seeds();
    let mut random = Random::new(options.seed);
    let mut report = Report::default();
    let mut worker = Worker::start();
    let begin = Instant::now();
    let over = |report: &Report| {
        options.time.is_some_and(|time| begin.elapsed() >= time)
            || options.texts.is_some_and(|texts| report.texts >= texts)
            || report.findings.len() >= FINDINGS_MAX
    };
    while !over(&report) {
        let text = match random.below(HEAVY_EVERY) {
            0 => mutate(&heavy, &mut random),
            _ => mutate(&seeds, &mut random),
        };
        if let Some(keep) = &options.keep {
            fs::write(keep.join("current"), &text)?;
        }
        report.texts += 1;
        report.bytes += text.len() as u64;
        let started = Instant::now();
        let (verdict, edits) = worker.try_text(&text);
        report.edits.add(edits);
        let took = started.elapsed();
        if took > report.slowest {
            report.slowest = took;
            if let Some(keep) = &options.keep {
                fs::write(keep.join("slowest"), &text)?;
            }
        }
        match verdict {
            Verdict::Planned => report.planned += 1,
            Verdict::Refused => {}
            Verdict::Broken(what) => {
                let finding = Finding {
                    text: shortened(&text, &what, &mut worker),
                    what,
                };
                if let Some(keep) = &options.keep {
                    let file = format!("finding-{}", report.findings.len());
                    fs::write(keep.join(file), &finding.text)?;
                }
                report.findings.push(finding);
            }
        }
    }
    report.memory_kib = memory_kib();
    Ok(report)
}

/// Ours: each uses other parts of the language.
pub(crate) fn own_seeds() -> Vec<String> {
    vec![
        shapes::network_stack(2),
        shapes::plain_servers(2),
        shapes::drawn(8),
        include_str!("seeds/language.yaml").to_owned(),
        include_str!("seeds/software.yaml").to_owned(),
        include_str!("seeds/template.json").to_owned(),
        include_str!("seeds/nested.yaml").to_owned(),
    ]
}

/// Small texts whose known values, put in, come to more than there is room for.
fn heavy_seeds() -> Vec<String> {
    vec![
        include_str!("seeds/known.yaml").to_owned(),
        include_str!("seeds/levels.yaml").to_owned(),
    ]
}

/// The template, and the files beside it.
pub(crate) fn files(text: &str) -> (&str, Bundle) {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut at = 0;
    while let Some(found) = rest[at..].find(FILE) {
        let start = at + found;
        if start > 0 && !rest[..start].ends_with('\n') {
            at = start + FILE.len();
            continue;
        }
        parts.push(&rest[..start]);
        rest = &rest[start + FILE.len()..];
        at = 0;
    }
    parts.push(rest);
    let named = parts[1..].iter().map(|part| {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        (name.trim().to_owned(), text.to_owned())
    });
    let named: Vec<(String, String)> = named.collect();
    let environments = named.iter().filter(|(_, text)| is_environment(text));
    let environments: Vec<String> = environments.map(|(name, _)| name.clone()).collect();
    (parts[0], Bundle::new(named, environments))
}

/// Without the lines that do not matter to a finding.
fn shortened(text: &str, what: &str, worker: &mut Worker) -> String {
    // A text that hangs costs the whole patience each time.
    if what == TOO_SLOW {
        return text.to_owned();
    }
    let kind = |what: &str| what.split(':').next().map(str::to_owned);
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut size = lines.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < lines.len() {
            let mut fewer = lines.clone();
            fewer.drain(at..(at + size).min(lines.len()));
            match worker.try_text(&fewer.concat()).0 {
                Verdict::Broken(other) if kind(&other) == kind(what) => lines = fewer,
                _ => at += size,
            }
        }
        size /= 2;
    }
    lines.concat()
}

const TOO_SLOW: &str = "it took too long";

enum Verdict {
    /// It gave a workflow.
    Planned,
    /// It gave errors.
    Refused,
    /// It broke a law.
    Broken(String),
}

/// A thread that tries texts, so that one without an end can be left behind.
struct Worker {
    texts: Sender<String>,
    verdicts: Receiver<(Verdict, Tried)>,
    /// Where the system says how long the thread has run.
    account: Option<PathBuf>,
}

/// How often [`PATIENCE`] may pass while the thread hardly runs: it may wait for something that never comes.
const ROUNDS: usize = 10;

impl Worker {
    fn start() -> Worker {
        let (texts, inbox) = mpsc::channel::<String>();
        let (outbox, verdicts) = mpsc::channel();
        let (teller, told) = mpsc::channel();
        std::thread::spawn(move || {
            let thread = fs::read_link("/proc/thread-self").ok();
            // Nobody waits in vain: it is told before the first text is taken.
            let _ = teller.send(thread.map(|thread| Path::new("/proc").join(thread)));
            let types = Registry::openstack();
            for text in inbox {
                let mut edits = Tried::default();
                let tried =
                    panic::catch_unwind(AssertUnwindSafe(|| broken_law(&text, &types, &mut edits)));
                let verdict = match tried {
                    Ok(Ok(Some(_))) => Verdict::Planned,
                    Ok(Ok(None)) => Verdict::Refused,
                    Ok(Err(law)) => Verdict::Broken(law),
                    Err(cause) => {
                        let said = cause.downcast_ref::<String>().cloned().or_else(|| {
                            cause.downcast_ref::<&str>().map(|text| (*text).to_owned())
                        });
                        Verdict::Broken(format!("it panics: {}", said.unwrap_or_default()))
                    }
                };
                if outbox.send((verdict, edits)).is_err() {
                    return;
                }
            }
        });
        Worker {
            texts,
            verdicts,
            account: told.recv().ok().flatten(),
        }
    }

    /// How long it has run on a processor. Source: `schedstat` of proc(5), in nanoseconds.
    fn spent(&self) -> Option<Duration> {
        let told = fs::read_to_string(self.account.as_ref()?.join("schedstat")).ok()?;
        let nanoseconds = told.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanoseconds))
    }

    /// Nothing where patience ends.
    fn verdict(&self) -> Option<(Verdict, Tried)> {
        let before = self.spent();
        for _ in 0..ROUNDS {
            match self.verdicts.recv_timeout(PATIENCE) {
                Ok(verdict) => return Some(verdict),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let spent = self.spent()?.saturating_sub(before?);
            if spent >= PATIENCE {
                return None;
            }
        }
        None
    }

    fn try_text(&mut self, text: &str) -> (Verdict, Tried) {
        let verdict = match self.texts.send(text.to_owned()) {
            Ok(()) => self.verdict(),
            Err(_) => None,
        };
        verdict.unwrap_or_else(|| {
            *self = Worker::start();
            (Verdict::Broken(TOO_SLOW.to_owned()), Tried::default())
        })
    }
}

/// Holds a text against the laws ([`laws`](crate::laws)). A workflow where it has one.
///
/// # Errors
/// Names the law that it breaks.
pub fn broken_law(
    text: &str,
    types: &Registry,
    edits: &mut Tried,
) -> Result<Option<Workflow>, String> {
    let (template, bundle) = files(text);
    let document = Document::parse(template);
    if document.text() != template {
        return Err("the text was changed by parsing".to_owned());
    }
    laws::of_text(&document, EDITED_MAX, edits)?;
    laws::of_plan(&document, &bundle, types)
}

/// The most that this program has ever held in memory.
fn memory_kib() -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            // Blanks and odd line ends are what it often hangs on.
            let shown = finding.text.escape_debug().to_string();
            let shown = shown.replace("\\n", "\\n\n").replace("\\\"", "\"");
            writeln!(f, "--- {}\n{shown}", finding.what)?;
        }
        let memory = self
            .memory_kib
            .map_or(String::new(), |kib| format!(" memory {} MiB", kib / 1024));
        write!(
            f,
            "texts {} bytes {} planned {} {} slowest {:.0} ms{memory} findings {}",
            self.texts,
            self.bytes,
            self.planned,
            self.edits,
            self.slowest.as_secs_f64() * 1000.0,
            self.findings.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few seconds' worth; `cargo xtask fuzz` goes on for longer.
    #[test]
    fn broken_templates_keep_the_laws() {
        for seed in 1..=4 {
            let report = run(&Options {
                texts: Some(150),
                seed,
                ..Options::default()
            });
            let report = report.unwrap();
            assert!(report.findings.is_empty(), "seed {seed}: {report}");
            // Many of these texts are broken, and an edit is refused where the whole cannot be read.
            assert!(report.edits.made > report.edits.refused, "{report}");
        }
    }

    /// What a text costs is what it takes of the processor, so that a busy machine makes no finding.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_worker_knows_how_long_it_ran() {
        let mut worker = Worker::start();
        let before = worker.spent().unwrap();
        worker.try_text(&own_seeds()[0]);
        assert!(worker.spent().unwrap() > before);
    }

    #[test]
    fn our_own_seeds_can_be_read() {
        for seed in own_seeds().iter().chain(&heavy_seeds()) {
            let document = Document::parse(files(seed).0);
            assert!(document.is_readable(), "{seed}");
            assert!(!document.template().resources.is_empty(), "{seed}");
        }
    }

    #[test]
    fn files_stand_beside_their_template() {
        let seed = include_str!("seeds/nested.yaml");
        let (template, bundle) = files(seed);
        assert!(template.ends_with("size]}}\n"));
        let names: Vec<&str> = bundle.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["box.yaml", "env.yaml", "site.yaml", "words.txt"]);
        assert_eq!(bundle.environments(), ["env.yaml"]);
        let mut edits = Tried::default();
        assert!(broken_law(seed, &Registry::openstack(), &mut edits).is_ok());
        assert!(edits.made > 0);
    }

    #[test]
    fn what_outgrows_its_budget_is_refused_in_time() {
        for seed in heavy_seeds() {
            let mut worker = Worker::start();
            let before = worker.spent();
            assert!(
                matches!(worker.try_text(&seed).0, Verdict::Refused),
                "{seed}"
            );
            let spent = worker.spent().zip(before).map(|(now, before)| now - before);
            assert!(spent.is_none_or(|spent| spent < PATIENCE / 2), "{spent:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_texts() {
        let texts = |seed: u64| {
            let mut random = Random::new(seed);
            let seeds = own_seeds();
            (0..20)
                .map(|_| mutate(&seeds, &mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(7), texts(7));
        assert_ne!(texts(7), texts(8));
    }
}
