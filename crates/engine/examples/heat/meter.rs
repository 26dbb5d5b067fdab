//! Time, processors and calls, taken in the same way for both.
//!
//! Calls are counted where they arrive: in the access logs that the services write. So what a service asks of
//! another is counted, too, and so is what Heat asks in our place. Keystone and Octavia keep no such log here.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where something begins.
pub struct Meter {
    begun: Instant,
    client: Duration,
    machine: Duration,
    logs: BTreeMap<PathBuf, u64>,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Whether it ended well.
    pub well: bool,
    pub wall: Duration,
    /// Of whoever orchestrates: our own process; Heat's engine and API, and the command line.
    pub client: Duration,
    /// Of all processes of the machine.
    pub machine: Duration,
    /// Calls that arrived at services; none where their logs cannot be seen.
    pub calls: Option<usize>,
}

/// Who orchestrates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Us,
    Heat,
}

impl Meter {
    /// Starts to measure; `logs` is the folder of the services' logs.
    pub fn start(who: Who, logs: Option<&Path>) -> Meter {
        Meter {
            client: client(who),
            machine: machine(),
            logs: logs.map(lengths).unwrap_or_default(),
            begun: Instant::now(),
        }
    }

    /// What it took until now.
    pub fn stop(self, who: Who, well: bool) -> Taken {
        let wall = self.begun.elapsed();
        let count = || {
            self.logs
                .iter()
                .map(|(file, from)| calls(file, *from))
                .sum()
        };
        Taken {
            well,
            wall,
            client: client(who).saturating_sub(self.client),
            machine: machine().saturating_sub(self.machine),
            calls: (!self.logs.is_empty()).then(count),
        }
    }
}

fn client(who: Who) -> Duration {
    match who {
        Who::Us => time(ticks("self").map_or(0, |ticks| ticks.0)),
        Who::Heat => time(ticks("self").map_or(0, |ticks| ticks.1)) + of_heat(),
    }
}

/// Of a process, in ticks: its own time, and that of its ended children.
fn ticks(process: &str) -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some((field(11)? + field(12)?, field(13)? + field(14)?))
}

/// Linux counts them a hundred times a second, whatever the machine.
fn time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

/// Of Heat's processes on this machine: engine and API.
fn of_heat() -> Duration {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_heat = processes.filter_map(|entry| {
        let id = entry.file_name().into_string().ok()?;
        id.parse::<u32>().ok()?;
        let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let heat = ["heat-engine", "heat-api"];
        heat.iter().any(|name| line.contains(name)).then_some(id)
    });
    time(of_heat.filter_map(|id| Some(ticks(&id)?.0)).sum())
}

/// Of all processes: user, nice, system, interrupts.
fn machine() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let fields = all.split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
    let busy = [0, 1, 2, 5, 6].iter().filter_map(|index| ticks.get(*index));
    time(busy.sum())
}

fn lengths(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = files.map(|file| file.path());
    logs.filter(|path| path.extension().is_some_and(|ending| ending == "log"))
        .filter_map(|path| {
            let length = path.metadata().ok()?.len();
            Some((path, length))
        })
        .collect()
}

/// Access lines of a log from a place on.
fn calls(file: &Path, from: u64) -> usize {
    let mut added = Vec::new();
    let read = std::fs::File::open(file).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut added)
    });
    if read.is_err() {
        return 0;
    }
    let text = String::from_utf8_lossy(&added);
    text.lines().filter(|line| is_access(line)).count()
}

/// `"GET /v2.0/ports HTTP/1.1" status: 200`, or as Barbican has it `Processed request: 200 OK - GET http://...`.
fn is_access(line: &str) -> bool {
    const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    let quoted = |method: &&str| line.contains(&format!("\"{method} /"));
    METHODS.iter().any(quoted) || line.contains("Processed request: ")
}
