//! A client that asks whether the server is alive while a test attacks it.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::stack::Stack;

/// The longest time that `/healthz` may take. The aim is 50 ms on a machine of our own; tests share theirs.
const ALIVE_WITHIN: Duration = Duration::from_millis(500);

/// Asks for `/healthz` again and again, from a thread of its own.
pub struct Pulse {
    stop: Arc<AtomicBool>,
    beats: std::thread::JoinHandle<Vec<Duration>>,
}

impl Pulse {
    /// Begins.
    pub fn of(stack: &Stack) -> Pulse {
        let address = stack.base.strip_prefix("http://").unwrap().to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let beats = std::thread::spawn(move || {
            let mut beats = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let mut stream = TcpStream::connect(&address).unwrap();
                let request =
                    "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
                stream.write_all(request.as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                beats.push(begun.elapsed());
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
        let [median, longest] = [beats[beats.len() / 2], beats[beats.len() - 1]];
        println!(
            "{attack}: /healthz {} times, median {median:?}, longest {longest:?}",
            beats.len()
        );
        assert!(longest < ALIVE_WITHIN, "{attack}: {longest:?}");
    }
}
