//! Templates broken on purpose: whatever the text, there is an answer.
//!
//! A seeded loop takes a template, breaks it in a few places ([`mutate`]), and holds what comes out against some laws
//! ([`broken_law`]): no panic, no endless work, an order without circles or an error that says where. The same seed tries the
//! same texts, so a finding can be repeated; what is found is cut down to the lines that matter before it is shown.
//!
//! Each text is tried in a worker thread that is given [`PATIENCE`], of the processor's time where the system tells it: on a machine that is
//! busy with others a minute may pass without a step. A stack that overflows ends the whole program and can be
//! caught by nobody: the text that was being tried is then found in the file `current` of the folder that [`Options::keep`] names.

use std::fmt;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use topology::bundle::Bundle;
use topology::document::Document;
use topology::types::Registry;
use topology::workflow::Workflow;

use crate::{laws, shapes};

mod mutate;
mod random;

pub use mutate::mutate;
pub use random::Random;

/// How long one text may take. A template of the largest size takes tenths of a second, and its edits read it fifty times.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Resources of one text that are edited.
const EDITED_MAX: usize = 1;

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
        let text = mutate(&seeds, &mut random);
        if let Some(keep) = &options.keep {
            fs::write(keep.join("current"), &text)?;
        }
        report.texts += 1;
        report.bytes += text.len() as u64;
        let started = Instant::now();
        let verdict = worker.try_text(&text);
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
    ]
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
            match worker.try_text(&fewer.concat()) {
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
    verdicts: Receiver<Verdict>,
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
                let tried = panic::catch_unwind(AssertUnwindSafe(|| broken_law(&text, &types)));
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
                if outbox.send(verdict).is_err() {
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
    fn verdict(&self) -> Option<Verdict> {
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

    fn try_text(&mut self, text: &str) -> Verdict {
        let verdict = match self.texts.send(text.to_owned()) {
            Ok(()) => self.verdict(),
            Err(_) => None,
        };
        verdict.unwrap_or_else(|| {
            *self = Worker::start();
            Verdict::Broken(TOO_SLOW.to_owned())
        })
    }
}

/// Holds a text against the laws ([`laws`](crate::laws)). A workflow where it has one.
///
/// # Errors
/// Names the law that it breaks.
pub fn broken_law(text: &str, types: &Registry) -> Result<Option<Workflow>, String> {
    let document = Document::parse(text);
    if document.text() != text {
        return Err("the text was changed by parsing".to_owned());
    }
    laws::of_text(&document, EDITED_MAX)?;
    laws::of_plan(&document, &Bundle::default(), types)
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
            "texts {} bytes {} planned {} slowest {:.0} ms{memory} findings {}",
            self.texts,
            self.bytes,
            self.planned,
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
        for seed in own_seeds() {
            let document = Document::parse(seed.as_str());
            assert!(document.is_readable(), "{seed}");
            assert!(!document.template().resources.is_empty(), "{seed}");
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
