//! Tests with randomly broken templates: every text must be planned or refused.
//!
//! A seeded loop takes a template, breaks it in a few places ([`mutate`]), and tests the result against some laws
//! ([`broken_law`]): no panic, no endless work, an order without cycles or an error with a place. The same seed gives
//! the same texts, so a finding can be reproduced. A finding is reduced to the relevant lines before it is shown.
//!
//! A text can have several files: the lines after `#==> name` are a file of that name beside the template. It is used
//! as an environment if it looks like one ([`files`]). So a mutation can affect any file, and the separator lines. A
//! few texts come from seeds that exceed a limit when expanded ([`HEAVY_EVERY`]). These take a hundred times as long.
//!
//! Each text is tested in a worker thread with a limit of [`PATIENCE`]. If the system reports processor time, the limit
//! applies to it, because a busy machine can pause the thread for a minute. A stack overflow ends the whole program and
//! cannot be caught. Then the tested text is in the file `current` of the folder [`Options::keep`].

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

use crate::laws::{self, EditCounts};
use crate::shapes;

mod mutate;
mod random;

pub use mutate::mutate;
pub use random::Random;

/// Time limit for one text. A template of the largest size takes tenths of a second, and its edits parse it fifty
/// times.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Number of resources per text that are edited.
const EDITED_MAX: usize = 1;

/// One text in this many comes from a seed whose values exceed their limit.
const HEAVY_EVERY: usize = 100;

/// The prefix of a line that starts a file, before the file's name.
const FILE: &str = "#==> ";

/// Number of findings after which a run ends.
const FINDINGS_MAX: usize = 20;

/// Settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Templates below this folder are broken too, beside the built-in seeds.
    pub dir: Option<PathBuf>,
    /// Time limit of the run.
    pub time: Option<Duration>,
    /// Highest number of texts.
    pub texts: Option<u64>,
    /// Seed of the random numbers. Another seed gives other texts.
    pub seed: u64,
    /// Folder for the tested text, the slowest one, and findings.
    pub keep: Option<PathBuf>,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of tested texts.
    pub texts: u64,
    /// Total size of the tested texts, in bytes.
    pub bytes: u64,
    /// Number of texts with a workflow.
    pub planned: u64,
    /// Edits that were made and refused. A law about edits is not tested by refused ones.
    pub edits: EditCounts,
    /// The longest time for one text.
    pub slowest: Duration,
    /// The highest memory use of the program in KiB, if the system reports it.
    pub memory_kib: Option<u64>,
    /// Texts that broke a law.
    pub findings: Vec<Finding>,
}

/// A text that breaks a law.
#[derive(Debug)]
pub struct Finding {
    /// The broken law, one sentence.
    pub what: String,
    /// The text, reduced as far as possible.
    pub text: String,
}

/// Tests texts until a limit of time, texts or findings is reached.
///
/// # Errors
/// A folder cannot be read or written.
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

/// The built-in seeds. Each uses other parts of the language.
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

/// Small texts whose known values exceed the limit when they are substituted.
fn heavy_seeds() -> Vec<String> {
    vec![
        include_str!("seeds/known.yaml").to_owned(),
        include_str!("seeds/levels.yaml").to_owned(),
    ]
}

/// Splits a text into the template and the files beside it.
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

/// The text without lines that are irrelevant for the finding.
fn shortened(text: &str, what: &str, worker: &mut Worker) -> String {
    // Each attempt with a text that hangs takes the whole time limit.
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
    /// The text gave a workflow.
    Planned,
    /// The text gave errors.
    Refused,
    /// The text broke a law.
    Broken(String),
}

/// A thread that tests texts, so that a text without an end can be abandoned.
struct Worker {
    texts: Sender<String>,
    verdicts: Receiver<(Verdict, EditCounts)>,
    /// The file with the thread's processor time, if the system has it.
    account: Option<PathBuf>,
}

/// Number of times that [`PATIENCE`] can pass while the thread hardly runs. It bounds the total time.
const ROUNDS: usize = 10;

impl Worker {
    fn start() -> Worker {
        let (texts, inbox) = mpsc::channel::<String>();
        let (outbox, verdicts) = mpsc::channel();
        let (id_sender, id_receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let thread = fs::read_link("/proc/thread-self").ok();
            // Sent before the first text is taken, so the receiver does not wait forever.
            let _ = id_sender.send(thread.map(|thread| Path::new("/proc").join(thread)));
            let types = Registry::openstack();
            for text in inbox {
                let mut edits = EditCounts::default();
                let tried =
                    panic::catch_unwind(AssertUnwindSafe(|| broken_law(&text, &types, &mut edits)));
                let verdict = match tried {
                    Ok(Ok(Some(_))) => Verdict::Planned,
                    Ok(Ok(None)) => Verdict::Refused,
                    Ok(Err(law)) => Verdict::Broken(law),
                    Err(cause) => {
                        let message = cause.downcast_ref::<String>().cloned().or_else(|| {
                            cause.downcast_ref::<&str>().map(|text| (*text).to_owned())
                        });
                        Verdict::Broken(format!("it panics: {}", message.unwrap_or_default()))
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
            account: id_receiver.recv().ok().flatten(),
        }
    }

    /// Processor time of the thread. Source: `schedstat` of proc(5), in nanoseconds.
    fn spent(&self) -> Option<Duration> {
        let id_receiver = fs::read_to_string(self.account.as_ref()?.join("schedstat")).ok()?;
        let nanoseconds = id_receiver.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanoseconds))
    }

    /// The verdict. `None` if the time limit is reached.
    fn verdict(&self) -> Option<(Verdict, EditCounts)> {
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

    fn try_text(&mut self, text: &str) -> (Verdict, EditCounts) {
        let verdict = match self.texts.send(text.to_owned()) {
            Ok(()) => self.verdict(),
            Err(_) => None,
        };
        verdict.unwrap_or_else(|| {
            *self = Worker::start();
            (Verdict::Broken(TOO_SLOW.to_owned()), EditCounts::default())
        })
    }
}

/// Tests a text against the [`laws`](crate::laws). Returns its workflow, if it has one.
///
/// # Errors
/// The law that it breaks.
pub fn broken_law(
    text: &str,
    types: &Registry,
    edits: &mut EditCounts,
) -> Result<Option<Workflow>, String> {
    let (template, bundle) = files(text);
    let document = Document::parse(template);
    if document.text() != template {
        return Err("the text was changed by parsing".to_owned());
    }
    laws::of_text(&document, EDITED_MAX, edits)?;
    laws::of_plan(&document, &bundle, types)
}

/// The highest memory use of this program so far.
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
            // Escaped, because findings often depend on blanks and line ends.
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

    /// Runs for a few seconds. `cargo xtask fuzz` runs longer.
    #[test]
    fn invalid_templates_keep_the_laws() {
        for seed in 1..=4 {
            let report = run(&Options {
                texts: Some(150),
                seed,
                ..Options::default()
            });
            let report = report.unwrap();
            assert!(report.findings.is_empty(), "seed {seed}: {report}");
            // Many of these texts are broken, and an edit is refused if the text cannot be parsed.
            assert!(report.edits.made > report.edits.refused, "{report}");
        }
    }

    /// The time of a text is processor time, so that a busy machine causes no findings.
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
        let mut edits = EditCounts::default();
        assert!(broken_law(seed, &Registry::openstack(), &mut edits).is_ok());
        assert!(edits.made > 0);
    }

    #[test]
    fn a_template_over_its_budget_is_refused_in_time() {
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
