//! A client that asks whether the server is alive while a test attacks it. `cargo xtask bench attacks` prints its figures.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
    runtime,
};

use crate::stack::Stack;

/// The longest time that `/healthz` may take. The aim is 50 ms on a machine of our own; tests share theirs.
const ALIVE_WITHIN: Duration = Duration::from_millis(500);

/// Pause between two requests, so that a long answer weighs as much as it lasted.
const EVERY: Duration = Duration::from_millis(2);

/// An address of this machine that no attacker has.
const ADDRESS: &str = "127.0.0.3:0";

/// Asks for `/healthz` again and again, from a thread and an address of its own.
pub struct Pulse {
    stop: Arc<AtomicBool>,
    beats: std::thread::JoinHandle<Vec<Duration>>,
}

impl Pulse {
    /// Begins.
    pub fn of(stack: &Stack) -> Pulse {
        let server = stack.base.strip_prefix("http://").unwrap().parse().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let beats = std::thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.unwrap();
            let mut beats = Vec::new();
            while beats.is_empty() || !stopped.load(Ordering::Relaxed) {
                let begun = Instant::now();
                runtime.block_on(beat(server));
                beats.push(begun.elapsed());
                std::thread::sleep(EVERY);
            }
            beats
        });
        Pulse { stop, beats }
    }

    /// Ends and prints the beats. The longest must be short enough.
    pub fn check(self, attack: &str) {
        self.stop.store(true, Ordering::Relaxed);
        let mut beats = self.beats.join().unwrap();
        beats.sort();
        let part = |of_hundred: usize| beats[(beats.len() - 1) * of_hundred / 100];
        let [median, p99, worst] = [50, 99, 100].map(part);
        println!(
            "server, longest answer of /healthz during {attack}\t{:.1}\tms (median {median:.1?}, p99 {p99:.1?}, {} answers)\t50",
            worst.as_secs_f64() * 1e3,
            beats.len()
        );
        assert!(worst < ALIVE_WITHIN, "{attack}: {worst:?}");
    }
}

async fn beat(server: SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(ADDRESS.parse().unwrap()).unwrap();
    let mut stream = socket.connect(server).await.unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
