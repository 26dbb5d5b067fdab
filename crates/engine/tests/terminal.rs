//! Terminals on servers of a lab on Docker, through the bastion. Needs Docker and the lab's images:
//! `cargo test -p engine --test terminal -- --ignored`.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

#[path = "lab/bench.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests in memory, which use more of it"
)]
mod bench;
#[path = "lab/docker.rs"]
#[expect(dead_code, reason = "shared with tests that use more of it")]
mod docker;

use std::time::Duration;

use api::RunState;
use bench::Bench;
use docker::{BOOT, all_goes, on_docker};
use engine::terminal::{Size, Terminal, TerminalEnd, TerminalEvent, TerminalInput};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

/// Time limit for expected output.
const PATIENCE: Duration = Duration::from_secs(120);
/// Lines of the flood: 200 MB.
const LINES: u64 = 23_500_000;

/// A bastion, and a private server with a script.
const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.54.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      networks: [{network: {get_resource: front}}]
  greet:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'echo hello'}
  greeted:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: greet}, server: {get_resource: web}}
";

/// A terminal, and what it showed so far.
struct Screen {
    terminal: Terminal,
    seen: Vec<u8>,
}

impl Screen {
    async fn open(bench: &Bench, deployment: &str, server: &str) -> Screen {
        let size = Size {
            columns: 80,
            rows: 24,
        };
        let opened = bench
            .engine
            .open_terminal(&bench.actor, deployment, server, size)
            .await;
        let mut screen = Screen {
            terminal: opened.unwrap(),
            seen: Vec::new(),
        };
        assert_eq!(screen.event().await, TerminalEvent::Opened);
        screen
    }

    async fn event(&mut self) -> TerminalEvent {
        let event = timeout(PATIENCE, self.terminal.next()).await;
        event.expect("the terminal answers").unwrap()
    }

    async fn send(&self, input: TerminalInput) {
        self.terminal.input().send(input).await.unwrap();
    }

    async fn write(&self, text: &str) {
        let bytes = text.as_bytes().to_vec();
        self.send(TerminalInput::Bytes(bytes.into())).await;
    }

    /// Reads until the output contains a text, and returns the output after it.
    async fn until(&mut self, text: &str) {
        loop {
            let mut windows = self.seen.windows(text.len());
            if let Some(at) = windows.position(|window| window == text.as_bytes()) {
                self.seen.drain(..at + text.len());
                return;
            }
            match self.event().await {
                TerminalEvent::Output(bytes) => self.seen.extend_from_slice(&bytes),
                other => panic!("{other:?} after {}", String::from_utf8_lossy(&self.seen)),
            }
        }
    }

    async fn end(&mut self) -> TerminalEnd {
        loop {
            if let TerminalEvent::Ended(end) = self.event().await {
                return end;
            }
        }
    }
}

fn rules(bench: &Bench) -> usize {
    bench.lab.model(|model| {
        let rules = model.security_group_rules.iter();
        let of_bastions = rules.filter(|rule| format!("{rule:?}").contains("ssh for the run"));
        of_bastions.count()
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_person_works_on_servers_behind_the_bastion() {
    let bench = on_docker("engine-terminal", "172.31.54.0/24", BOOT).await;
    let (started, run) = bench.deploy(TEMPLATE).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(rules(&bench), 0);

    works(&bench, &started.deployment).await;
    slow_viewers_lose_nothing(&bench, &started.deployment).await;

    all_goes(bench, &started.deployment).await;
}

async fn works(bench: &Bench, deployment: &str) {
    let begun = Instant::now();
    let mut web = Screen::open(bench, deployment, "web").await;
    web.until("$ ").await;
    println!("prompt after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(rules(bench), 1);
    let mut gate = Screen::open(bench, deployment, "gate").await;
    gate.until("$ ").await;

    // The marks are written so that the echo of the command does not contain them.
    web.write("stty size; echo do''ne\r").await;
    web.until("24 80\r\ndone\r\n").await;
    web.send(TerminalInput::Resize(Size {
        columns: 132,
        rows: 50,
    }))
    .await;
    web.write("stty size; tput colors; who''ami\r").await;
    web.until("50 132\r\n256\r\nstackloom\r\n").await;
    // A program is interrupted from the keyboard, bytes are carried as they are.
    web.write("cat\r").await;
    web.write("gr\u{fc}\u{df}e \u{1f44b}\r").await;
    web.until("gr\u{fc}\u{df}e \u{1f44b}\r\n").await;
    web.write("\u{3}").await;
    web.until("^C").await;
    web.write("exit 7\r").await;
    assert_eq!(web.end().await, TerminalEnd::Exited(Some(7)));
    assert_eq!(rules(bench), 1, "the other terminal is open");
    drop(gate);
    bench
        .eventually("the bastion is closed", async || rules(bench) == 0)
        .await;
}

/// A viewer reads a flood after a pause in which the program waits for it.
async fn slow_viewers_lose_nothing(bench: &Bench, deployment: &str) {
    let mut screen = Screen::open(bench, deployment, "web").await;
    screen.until("$ ").await;
    let flood = format!("stty -opost; echo BE''GIN; exec seq 1 {LINES}\r");
    screen.write(&flood).await;
    screen.until("BEGIN\n").await;
    let (before, memory) = (Instant::now(), resident_kib());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let held = resident_kib().saturating_sub(memory) / 1024;
    let begun = Instant::now();
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = std::mem::take(&mut screen.seen);
    let end = loop {
        hash.update(&piece);
        bytes += piece.len();
        match screen.event().await {
            TerminalEvent::Output(next) => piece = next.to_vec(),
            TerminalEvent::Ended(end) => break end,
            TerminalEvent::Opened => panic!("it is open"),
        }
    };
    assert_eq!(end, TerminalEnd::Exited(Some(0)));
    let seconds = begun.elapsed().as_secs_f64();
    let (mut expected, mut length) = (Sha256::new(), 0);
    for line in 1..=LINES {
        let line = format!("{line}\n");
        length += line.len();
        expected.update(line.as_bytes());
    }
    // The shell's farewell follows the flood.
    let farewell = bytes - length;
    println!(
        "{bytes} bytes in {seconds:.1} s; {held} MiB held during a pause of {:.1} s",
        (begun - before).as_secs_f64()
    );
    assert_eq!(farewell, 0, "nothing but the flood");
    assert_eq!(hash.finalize(), expected.finalize());
    assert!(held < 64, "{held} MiB wait for the viewer");
}

/// Resident memory of this process in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap()
}
