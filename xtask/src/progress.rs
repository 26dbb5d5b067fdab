//! Concurrent work with a progress display: the state of each part, its elapsed time, and its usual time.
//!
//! Compilation leaves a core idle at its end, and images wait for the network. So all parts together take little longer
//! than the longest.

use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell;

/// Time between two lines without a terminal.
const PAUSE: Duration = Duration::from_secs(60);

/// A part of the work.
pub struct Part {
    name: &'static str,
    usual_minutes: u64,
    work: Work,
}

type Work = Box<dyn FnOnce(&Step<'_>) -> Result<()> + Send>;

impl Part {
    /// `usual_minutes`: time on a fresh machine with two cores, rounded up, while the other parts run.
    pub fn new(
        name: &'static str,
        usual_minutes: u64,
        work: impl FnOnce(&Step<'_>) -> Result<()> + Send + 'static,
    ) -> Part {
        Part {
            name,
            usual_minutes,
            work: Box::new(work),
        }
    }
}

/// A part's handle to report progress.
pub struct Step<'p> {
    note: Mutex<String>,
    has_failed: &'p AtomicBool,
}

impl Step<'_> {
    /// Sets the progress note, a few words.
    pub fn note(&self, text: impl Into<String>) {
        *self.lock() = text.into();
    }

    /// Runs a cargo command, and shows the number of compiled crates. Its output is shown only in the error.
    ///
    /// # Errors
    /// The command fails, or another part has failed.
    pub fn cargo(&self, command: &mut Command) -> Result<()> {
        command
            .env("CARGO_TERM_PROGRESS_WHEN", "always")
            .env("CARGO_TERM_PROGRESS_WIDTH", "80")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start `{}`", shell::shown(command)))?;
        let output = child.stderr.take().context("cargo has no output")?;
        let mut printed = Vec::new();
        for line in BufReader::new(output).split(b'\n') {
            for text in String::from_utf8_lossy(&line?).split('\r') {
                match crates_of(text) {
                    Some(crates) => self.note(crates),
                    None => printed.push(text.to_owned()),
                }
            }
            if self.has_failed.load(Ordering::Relaxed) {
                // Fails only if it has ended in the meantime.
                let _ = child.kill();
            }
        }
        let status = child.wait()?;
        if !status.success() {
            let (command, output) = (shell::shown(command), printed.join("\n"));
            bail!("`{command}` ended with {status}:\n{}", output.trim_end());
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a progress line of cargo, `Building [==>   ] 12/345: serde, tokio`, to `12 of 345 crates`.
fn crates_of(line: &str) -> Option<String> {
    let (_, rest) = line
        .trim_start()
        .strip_prefix("Building [")?
        .split_once("] ")?;
    let (done, all) = rest.split(':').next()?.split_once('/')?;
    Some(format!("{done} of {all} crates"))
}

/// Runs all parts concurrently.
///
/// # Errors
/// The first failure. The other parts stop at their next step.
pub fn run_concurrently(parts: Vec<Part>) -> Result<()> {
    let begin = Instant::now();
    let has_failed = AtomicBool::new(false);
    let lines: Vec<(&str, u64)> = parts.iter().map(|it| (it.name, it.usual_minutes)).collect();
    let steps: Vec<Step<'_>> = parts
        .iter()
        .map(|_| Step {
            note: Mutex::default(),
            has_failed: &has_failed,
        })
        .collect();
    let first_failure = Mutex::new(None);
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for ((part, step), (name, _)) in parts.into_iter().zip(&steps).zip(&lines) {
            let first_failure = &first_failure;
            running.push(scope.spawn(move || {
                let Err(error) = (part.work)(step) else {
                    step.note("done");
                    return;
                };
                step.note("failed");
                step.has_failed.store(true, Ordering::Relaxed);
                let mut first = first_failure.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error.context(format!("the {name} failed")));
            }));
        }
        let mut screen = Screen::default();
        let mut took = vec![None; running.len()];
        loop {
            for (took, handle) in took.iter_mut().zip(&running) {
                if took.is_none() && handle.is_finished() {
                    *took = Some(begin.elapsed());
                }
            }
            let is_over = took.iter().all(Option::is_some);
            let states = lines.iter().zip(&steps).zip(&took);
            let states = states.map(|(((name, usual), step), took)| {
                line(name, &step.lock(), *took, begin.elapsed(), *usual)
            });
            screen.show(&states.collect::<Vec<_>>(), took.iter().flatten().count());
            if is_over {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let first = first_failure.into_inner();
    match first.unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The line of a part: `pages      120 of 305 crates       1 m 03 s (on a fresh machine usually 5 min)`.
fn line(name: &str, note: &str, took: Option<Duration>, so_far: Duration, usual: u64) -> String {
    let time = shell::duration(took.unwrap_or(so_far));
    let usually = match took {
        Some(_) => String::new(),
        None => format!(" (on a fresh machine usually {usual} min)"),
    };
    format!("  {name:<10} {note:<22} {time:>9}{usually}")
}

/// Lines that are redrawn in place on a terminal, and printed at intervals elsewhere.
#[derive(Default)]
struct Screen {
    /// The time of the last lines, the number of lines, and the number of ended parts.
    last: Option<(Instant, usize, usize)>,
}

impl Screen {
    fn show(&mut self, lines: &[String], ended: usize) {
        let is_terminal = std::io::stderr().is_terminal();
        if let Some((time, drawn, had_ended)) = self.last {
            if is_terminal {
                eprint!("\x1b[{drawn}A\x1b[J");
            } else if ended == had_ended && time.elapsed() < PAUSE {
                return;
            }
        }
        for line in lines {
            eprintln!("{line}");
        }
        self.last = Some((Instant::now(), lines.len(), ended));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_counted_by_cargos_own_line() {
        let drawn = "    Building [======>      ] 12/345: serde, tokio";
        assert_eq!(crates_of(drawn).as_deref(), Some("12 of 345 crates"));
        assert_eq!(crates_of("   Compiling serde v1.0.229"), None);
    }

    #[test]
    fn the_first_failure_is_shown_with_its_part() {
        let parts = vec![
            Part::new("pages", 1, |_| bail!("no compiler")),
            Part::new("images", 1, |step| {
                step.note("1 of 4");
                Ok(())
            }),
        ];
        let error = run_concurrently(parts).unwrap_err();
        assert_eq!(format!("{error:#}"), "the pages failed: no compiler");
    }

    #[test]
    fn a_line_has_the_usual_time_until_the_part_is_done() {
        let minute = Duration::from_secs(63);
        let running = line("pages", "3 of 9 crates", None, minute, 5);
        assert!(
            running.contains("1 m 03 s (on a fresh machine usually 5 min)"),
            "{running}"
        );
        let done = line("pages", "done", Some(minute), minute * 2, 5);
        assert!(done.ends_with("1 m 03 s"), "{done}");
    }
}
