//! Forwards the output of a test runner, and reads the totals from its last lines.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::children::{self, Child};
use crate::shell;

/// Time limit for the output after the end of the runner.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for a runner without output: a test hangs. Longer than the longest silence of a test.
const SILENCE: Duration = Duration::from_secs(15 * 60);

/// Numbers of tests.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Passed tests.
    pub passed: u64,
    /// Browser tests that failed, and passed when they were repeated.
    pub flaky: u64,
    /// Failed tests.
    pub failed: u64,
    /// Checks that could not be made on this machine.
    pub unchecked: u64,
}

impl Counts {
    /// The sum of two counts.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            passed: self.passed + other.passed,
            flaky: self.flaky + other.flaky,
            failed: self.failed + other.failed,
            unchecked: self.unchecked + other.unchecked,
        }
    }
}

/// A runner that failed, with the counts so far.
#[derive(Debug)]
pub struct Failed(pub Counts, String);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for Failed {}

/// Counts from the output of a test runner so far.
struct Progress {
    counts: Counts,
    last_line: String,
    last_output: Instant,
}

/// Runs a test runner. Ends it early if `stop` is set, and if it prints nothing for [`SILENCE`].
pub fn run(mut command: Command, stop: &AtomicBool) -> Result<Counts> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let shown: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = shown.join(" ");
    let mut child = Child::start(
        "test runner",
        command.stdin(Stdio::null()).stdout(Stdio::piped()),
    )?;
    let output = child.take_output().context("the runner has no output")?;
    let progress = Arc::new(Mutex::new(Progress {
        counts: Counts::default(),
        last_line: String::new(),
        last_output: Instant::now(),
    }));
    let reader = {
        let progress = Arc::clone(&progress);
        std::thread::spawn(move || forward_output(BufReader::new(output), &progress))
    };
    let read = || progress.lock().unwrap_or_else(PoisonError::into_inner);
    let status = loop {
        if let Some(status) = child.exit_status() {
            break status;
        }
        if children::is_raised(stop) {
            drop(child);
            bail!("`{shown}` was stopped");
        }
        let hangs = {
            let progress = read();
            (progress.last_output.elapsed() > SILENCE).then(|| progress.last_line.clone())
        };
        if let Some(last_line) = hangs {
            drop(child);
            let error = format!("`{shown}` hangs; its last line: {last_line}");
            return Err(Failed(read().counts, error).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    // A process that a test left running can hold the pipe open. The totals have been read by then.
    if !shell::wait_until(OUTPUT_TIMEOUT, || reader.is_finished()) {
        eprintln!("something that `{shown}` started is still there");
    }
    let counts = read().counts;
    if status.success() {
        Ok(counts)
    } else {
        Err(Failed(counts, format!("`{shown}` ended with {status}")).into())
    }
}

fn forward_output(mut output: impl BufRead, progress: &Mutex<Progress>) {
    let mut line = Vec::new();
    while output
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        // A closed standard output must not block the runner.
        let _ = std::io::stdout().write_all(&line);
        let text = String::from_utf8_lossy(&line);
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.counts = progress.counts.plus(totals(&text));
        progress.last_line = text.trim_end().to_owned();
        progress.last_output = Instant::now();
        drop(progress);
        line.clear();
    }
    let _ = std::io::stdout().flush();
}

/// Parses `test result: ok. 12 passed; 0 failed; ...` of cargo, and `  12 passed (1.2m)`, `  1 flaky` and `  1 failed`
/// of Playwright.
fn totals(line: &str) -> Counts {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number_before = |name: &str| {
        words
            .windows(2)
            .find(|pair| pair[1].trim_end_matches(';') == name)
            .and_then(|pair| pair[0].parse().ok())
    };
    let is_cargo = line.starts_with("test result:");
    let is_playwright = matches!(words.as_slice(), [number, "passed" | "flaky" | "failed", ..] if number.parse::<u64>().is_ok());
    if !is_cargo && !is_playwright {
        return Counts::default();
    }
    Counts {
        passed: number_before("passed").unwrap_or(0),
        flaky: number_before("flaky").unwrap_or(0),
        failed: number_before("failed").unwrap_or(0),
        unchecked: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_both_runners_and_of_no_other_line() {
        let counts = |passed, flaky, failed| Counts {
            passed,
            flaky,
            failed,
            unchecked: 0,
        };
        let line = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(totals(line), counts(12, 0, 2));
        assert_eq!(totals("  7 passed (1.2m)\n"), counts(7, 0, 0));
        assert_eq!(totals("  2 flaky\n"), counts(0, 2, 0));
        assert_eq!(totals("  1 failed\n"), counts(0, 0, 1));
        assert_eq!(totals("all 3 checks passed\n"), Counts::default());
    }
}
