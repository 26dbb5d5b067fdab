//! One execution of Ansible in a sandbox: its slot, its lines in the log, its result.

use std::collections::BTreeMap;

use api::{LogLevel, LogStream};
use async_trait::async_trait;

use super::{
    access::HOST_KEY_CHANGED,
    ansible::{self, ParsedLine, PlayEvent},
    detached::Detached,
    jobs::{Live, Positions},
    log::{LogSource, StepLog},
    outcome::Ended,
    step::{Attempt, QueueMove, StepResult},
};
use crate::{
    machine::{Failure, FailureClass},
    sandbox::{Job, LineSink, Slot},
    secrets::Mask,
};

/// Ansible's exit code for an unreachable host.
const EXIT_UNREACHABLE: i64 = 4;
/// Maximum length of a role's result in bytes, as it is stored.
const RESULT_BYTES_MAX: usize = 16 * 1024;

impl Attempt {
    /// The output of an execution, after its end.
    pub(super) async fn in_sandbox(
        &self,
        job: &Job,
        takes: &(dyn Fn(&str) -> bool + Send + Sync),
        detached: Option<Detached>,
    ) -> StepResult<Output> {
        let slot = self.slot().await?;
        let (server, stored) = match detached {
            Some(detached) => (Some((detached.client, detached.folder)), detached.stored),
            None => (None, Positions::new()),
        };
        let limits = self.run_context.core.config.output_limits();
        let mut sink = ToLog {
            log: &self.log,
            live: Live::start(self.log.clone(), server, stored, limits),
            source: LogSource {
                host: job
                    .servers
                    .routes
                    .first()
                    .map(|route| route.host.name.clone()),
                ..LogStream::Ansible.into()
            },
            failure: None,
            text: String::new(),
            results: Results {
                takes,
                kept: BTreeMap::new(),
            },
        };
        let sandboxes = &self.run_context.core.sandboxes;
        let code = sandboxes.execute(slot, job, &self.stop, &mut sink).await?;
        // The failure becomes an error, which is stored in clear text.
        let masked = |text: String| self.log.masked(&text);
        Ok(Output {
            code,
            failure: sink.failure.map(masked),
            text: sink.text,
            results: sink.results.kept,
        })
    }

    /// A slot for a sandbox. While all slots are in use, the step's time limit is suspended.
    async fn slot(&self) -> StepResult<Slot> {
        let sandboxes = &self.run_context.core.sandboxes;
        let project = format!(
            "{}/{}",
            self.run_context.tenant.cloud, self.run_context.tenant.project_id
        );
        if let Some(slot) = sandboxes.try_slot(&project) {
            return Ok(slot);
        }
        self.log.info("Waiting for a free sandbox").await;
        (self.report)(QueueMove::In);
        let slot = tokio::select! {
            slot = sandboxes.slot(&project) => slot,
            () = self.stop.cancelled() => return Err(Ended::Stopped),
        };
        (self.report)(QueueMove::Out);
        Ok(slot)
    }
}

/// The error of an execution that failed.
pub(super) fn ended_badly(host: &str, code: i64, failure: Option<&str>) -> Ended {
    let why = failure.unwrap_or("see the log");
    match code {
        _ if ansible::is_changed_host_key(why) => {
            Ended::lasting(format!("`{host}` {HOST_KEY_CHANGED}"))
        }
        EXIT_UNREACHABLE => {
            let message = format!("Ansible could not reach `{host}` (exit code 4): {why}");
            Ended::Failed(Failure::new(FailureClass::HostUnreachable, message))
        }
        137 => Ended::lasting(format!(
            "Ansible was killed on `{host}`: its sandbox had too little memory, or was killed on its Docker host. Resume the run to \
             try once more"
        )),
        // The program's own words are enough; Ansible's exit code says only that a task failed.
        code => Ended::lasting(failure.map_or_else(
            || format!("Ansible ended with exit code {code}; see the log"),
            str::to_owned,
        )),
    }
}

/// The output of a sandbox. Only the failure is masked.
pub(super) struct Output {
    pub code: i64,
    /// The first failure.
    pub failure: Option<String>,
    /// Ansible's own lines, without the output of programs, up to [`RESULT_BYTES_MAX`].
    pub text: String,
    /// Accepted values that a role set by `set_stats`. See [`stored_part`].
    pub results: BTreeMap<String, String>,
}

/// Turns a sandbox's lines into log lines while it runs.
struct ToLog<'a> {
    log: &'a StepLog,
    live: Live,
    /// Server, play and task that Ansible is at.
    source: LogSource,
    failure: Option<String>,
    text: String,
    results: Results<'a>,
}

/// Values that a role set by `set_stats`. A role can set any number of them.
struct Results<'a> {
    /// True for names of results that are outputs. Others are not stored.
    takes: &'a (dyn Fn(&str) -> bool + Send + Sync),
    /// The values of outputs, each as long as a line of the sandbox at most.
    kept: BTreeMap<String, String>,
}

/// The part of a role's result that is stored: its first [`RESULT_BYTES_MAX`] bytes, without a secret that is cut.
pub(super) fn stored_part<'a>(result: &'a str, mask: &Mask) -> &'a str {
    mask.beginning(result, RESULT_BYTES_MAX)
}

impl Results<'_> {
    /// Stores the values of outputs.
    fn keep(&mut self, results: BTreeMap<String, String>) {
        let accepted = results.into_iter().filter(|(name, _)| (self.takes)(name));
        self.kept.extend(accepted);
    }
}

impl ToLog<'_> {
    /// Follows Ansible to the next play or task. The lines of the result come after the rest of its program's output, and
    /// without the output that was followed.
    async fn follow(&mut self, shown: &mut ParsedLine) {
        match shown.event.take() {
            None => {}
            Some(PlayEvent::Play(name)) => {
                (self.source.play, self.source.task) = (Some(name), None)
            }
            Some(PlayEvent::Task { name, key, kind }) => {
                self.source.task = Some(name);
                self.live.begin(&key, self.source.clone(), kind).await;
            }
            Some(PlayEvent::Ended { program }) => {
                let output = std::mem::take(&mut shown.output);
                shown.output = self.live.end(program, output).await;
            }
        }
    }

    async fn flush(&self, lines: &mut Vec<(LogLevel, String)>) {
        self.log.say(self.source.clone(), lines.drain(..)).await;
    }
}

#[async_trait]
impl LineSink for ToLog<'_> {
    async fn lines(&mut self, lines: Vec<String>) {
        let mut shown = Vec::with_capacity(lines.len());
        for line in lines {
            let mut one = ansible::parse_line(&line);
            if one.event.is_some() {
                self.flush(&mut shown).await;
            }
            self.follow(&mut one).await;
            for (_, text) in &one.lines {
                if self.text.len() + text.len() < RESULT_BYTES_MAX {
                    self.text.extend([text, "\n"]);
                }
            }
            shown.extend(one.lines);
            for (stream, level, line) in one.output {
                self.flush(&mut shown).await;
                let source = LogSource {
                    stream,
                    ..self.source.clone()
                };
                self.log.say(source, [(level, line)]).await;
            }
            self.results.keep(one.results);
            // The first failure is the cause, later ones are its consequences.
            if self.failure.is_none() {
                self.failure = one.failure;
            }
        }
        self.flush(&mut shown).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_results_of_a_role_take_no_memory() {
        let mut results = Results {
            takes: &|name: &str| name == "port",
            kept: BTreeMap::new(),
        };
        for number in 0..10_000 {
            let value = "x".repeat(100);
            results.keep(BTreeMap::from([
                (format!("name-{number}"), value),
                ("port".to_owned(), number.to_string()),
            ]));
        }
        let last = BTreeMap::from([("port".to_owned(), "9999".to_owned())]);
        assert_eq!(results.kept, last);
    }
}
