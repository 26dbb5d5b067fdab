//! Time, processor time and calls, measured in the same way for both sides.
//!
//! Calls are counted in the access logs of the receiving services. So calls among services, and Heat's calls on our
//! behalf, are counted too. Keystone and Octavia have no such log here.
//!
//! Other jobs on the machine affect the services' processor time least. Wall time and the machine's processor time need
//! a quiet machine.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The start of a measurement.
pub struct Meter {
    begun: Instant,
    client: Duration,
    services: BTreeMap<&'static str, Duration>,
    machine: Duration,
    logs: BTreeMap<PathBuf, u64>,
}

/// The result of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// True if the run succeeded.
    pub well: bool,
    pub wall: Duration,
    /// Processor time of the orchestrator: our own process, or Heat's engine and API together with the command line.
    pub client: Duration,
    /// Processor time of the services on this machine, including their databases and queues.
    pub services: BTreeMap<&'static str, Duration>,
    /// Processor time of all processes of the machine.
    pub machine: Duration,
    /// Calls that services received, by kind. `None` if their logs are not available.
    pub calls: Option<BTreeMap<String, usize>>,
}

impl Taken {
    /// Processor time of all services together.
    pub fn all_services(&self) -> Duration {
        self.services.values().sum()
    }

    /// Number of all received calls.
    pub fn all_calls(&self) -> Option<usize> {
        Some(self.calls.as_ref()?.values().sum())
    }
}

/// Services, and words in the command lines of their processes.
const SERVICES: [(&str, &[&str]); 8] = [
    ("keystone", &["keystone-wsgi"]),
    ("glance", &["glance-api"]),
    ("placement", &["placement-api"]),
    (
        "nova",
        &[
            "nova-api",
            "nova-conductor",
            "nova-scheduler",
            "nova-compute",
        ],
    ),
    ("neutron", &["neutron-server"]),
    ("database", &["mariadbd", "mysqld"]),
    ("broker", &["beam.smp"]),
    ("memcached", &["memcached"]),
];

/// The orchestrator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Us,
    Heat,
}

impl Meter {
    /// Starts a measurement. `logs` is the folder of the services' logs.
    pub fn start(who: Who, logs: Option<&Path>) -> Meter {
        Meter {
            client: client(who),
            services: services(),
            machine: machine(),
            logs: logs.map(lengths).unwrap_or_default(),
            begun: Instant::now(),
        }
    }

    /// The measurement up to now.
    pub fn stop(self, who: Who, well: bool) -> Taken {
        let wall = self.begun.elapsed();
        let mut services = services();
        for (name, spent) in &mut services {
            let before = self.services.get(name).copied().unwrap_or_default();
            *spent = spent.saturating_sub(before);
        }
        Taken {
            well,
            wall,
            client: client(who).saturating_sub(self.client),
            services,
            machine: machine().saturating_sub(self.machine),
            calls: (!self.logs.is_empty()).then(|| kinds(&self.logs)),
        }
    }
}

fn client(who: Who) -> Duration {
    match who {
        Who::Us => time(ticks("self").map_or(0, |ticks| ticks.0)),
        Who::Heat => time(ticks("self").map_or(0, |ticks| ticks.1)) + of_heat(),
    }
}

/// Ticks of a process: its own, and those of its ended children.
fn ticks(process: &str) -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some((field(11)? + field(12)?, field(13)? + field(14)?))
}

/// Linux counts a hundred ticks a second on every machine.
fn time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

/// Processor time of Heat's processes on this machine: engine and API.
fn of_heat() -> Duration {
    let lines = processes();
    spent(&lines, &["heat-engine", "heat-api"])
}

fn services() -> BTreeMap<&'static str, Duration> {
    let lines = processes();
    let each = SERVICES.iter();
    each.map(|(name, words)| (*name, spent(&lines, words)))
        .collect()
}

/// Ids and command lines of processes.
fn processes() -> Vec<(String, String)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let with_line = entries.filter_map(|entry| {
        let id = entry.file_name().into_string().ok()?;
        id.parse::<u32>().ok()?;
        let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        Some((id, line))
    });
    with_line.collect()
}

/// Processor time of the processes whose command line contains one of the words.
fn spent(lines: &[(String, String)], words: &[&str]) -> Duration {
    let meant = lines
        .iter()
        .filter(|(_, line)| words.iter().any(|word| line.contains(word)));
    time(meant.filter_map(|(id, _)| Some(ticks(id)?.0)).sum())
}

/// Processor time of all processes: user, nice, system, interrupts.
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

/// Numbers of access lines in all logs by kind, each log from its offset on.
fn kinds(logs: &BTreeMap<PathBuf, u64>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for (file, from) in logs {
        let mut added = Vec::new();
        let read = std::fs::File::open(file).and_then(|mut file| {
            file.seek(SeekFrom::Start(*from))?;
            file.read_to_end(&mut added)
        });
        if read.is_err() {
            continue;
        }
        let service = file.file_stem().unwrap_or_default().to_string_lossy();
        for line in String::from_utf8_lossy(&added).lines() {
            if let Some(kind) = kind(line) {
                *counted.entry(format!("{service} {kind}")).or_default() += 1;
            }
        }
    }
    counted
}

/// The kind of a call: `GET /v2.0/ports/*` for `"GET /v2.0/ports/3b0f...?fields=id HTTP/1.1" status: 200`, or
/// Barbican's form `Processed request: 200 OK - GET http://...`.
fn kind(line: &str) -> Option<String> {
    const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    if line.contains("Processed request: ") {
        return Some("all".to_owned());
    }
    let request = |method: &&str| {
        let (_, path) = line.split_once(&format!("\"{method} /"))?;
        let path = path.split(['?', ' ', '"']).next()?;
        let is_id = |word: &str| openstack::looks_like_id(word);
        let words: Vec<&str> = path
            .split('/')
            .map(|word| if is_id(word) { "*" } else { word })
            .collect();
        Some(format!("{method} /{}", words.join("/")))
    };
    METHODS.iter().find_map(request)
}
