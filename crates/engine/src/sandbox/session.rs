//! The protocol with a sandbox over its standard streams.
//!
//! A sandbox has no network. Its standard input and output carry many streams: the program's output, and a connection
//! for each of its SSH clients. The engine connects them only to servers of the step, which the sandbox selects by
//! number. The protocol has no addresses.
//!
//! # Why Yamux
//!
//! The protocol needs a window per stream, so that a stalled stream does not delay others. Three were considered:
//!
//! - SSH itself, with russh as its server and `ssh -W` over a master connection inside: the least code inside. But
//!   russh stops a whole connection when one channel's reader stalls, bytes are encrypted twice, and each sandbox needs
//!   a host key.
//! - HTTP/2 with CONNECT (`h2` here, `python3-h2` inside): unneeded header compression and priorities, exposed to a
//!   possibly hostile peer.
//! - Yamux: frames with headers of twelve bytes, and windows. The crate of libp2p is made for hostile peers and is
//!   small; the other side is 80 lines of Python in `entry.py`.
//!
//! # Limits
//!
//! A role runs beside `entry.py` under the same user, so each frame can be hostile. The crate refuses frames above 1
//! MiB, data beyond a window, unknown versions and streams above [`STREAMS_MAX`]. Then the session ends, and the
//! container with it. At most [`STREAMS_MAX`] windows of 256 KiB are unread. (With frames of one byte, that is about
//! 100 MB.) Output above the rate waits in the window, which finally blocks the program. Output above the quota is
//! dropped, and a line reports this.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, future::poll_fn, stream::FuturesUnordered};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    sync::{Mutex, mpsc},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use tokio_util::sync::CancellationToken;
use yamux::{Connection, ConnectionError, Mode};

use super::{Job, LineSink, SandboxError, ignore_write_errors::IgnoreWriteErrors, lines::Lines};
use crate::ssh::{self, ByteStream, Route};

/// Maximum number of streams of a session.
const STREAMS_MAX: usize = 8;
/// Maximum length of a stream's first line.
const PURPOSE_BYTES_MAX: usize = 64;
/// Time limit for a stream's first line.
const PURPOSE: Duration = Duration::from_secs(10);
/// Number of bytes of output that are read at once.
const PIECE: usize = 64 * 1024;

type Stream = Compat<yamux::Stream>;

/// Limits of a sandbox's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Maximum number of bytes of an execution. The rest is dropped, and a line reports this.
    pub bytes_max: u64,
    /// Maximum number of bytes per second. The rest is delayed.
    pub bytes_per_second: u64,
}

impl Default for OutputLimits {
    fn default() -> OutputLimits {
        OutputLimits {
            bytes_max: 64 << 20,
            bytes_per_second: 4 << 20,
        }
    }
}

/// The servers that a sandbox can connect to. It selects them by their index here.
#[derive(Clone, Default)]
pub struct Servers {
    /// The routes to them.
    pub routes: Vec<Route>,
    /// The key for the bastion.
    pub private_key: zeroize::Zeroizing<String>,
}

impl Servers {
    async fn connect(&self, number: &str) -> Result<Box<dyn ByteStream>, String> {
        let route = number
            .parse()
            .ok()
            .and_then(|number: usize| self.routes.get(number));
        let route = route.ok_or("this step has no such server")?;
        ssh::dial(route, &self.private_key)
            .await
            .map_err(|error| error.to_string())
    }
}

/// Communicates with a job's sandbox until its output ends.
///
/// # Errors
/// [`SandboxError::Protocol`] if the sandbox violates the protocol.
pub async fn run_session(
    streams: impl AsyncRead + AsyncWrite + Unpin + Send,
    job: &Job,
    limits: OutputLimits,
    sink: &mut (dyn LineSink + Send),
) -> Result<(), SandboxError> {
    let (lines, mut printed) = mpsc::channel(1);
    let conversation = carry(streams, job, limits, lines);
    // The sink can wait for the disk; SSH continues meanwhile.
    let print = async {
        while let Some(lines) = printed.recv().await {
            sink.lines(lines).await;
        }
    };
    tokio::join!(conversation, print).0
}

async fn carry(
    streams: impl AsyncRead + AsyncWrite + Unpin + Send,
    job: &Job,
    limits: OutputLimits,
    lines: mpsc::Sender<Vec<String>>,
) -> Result<(), SandboxError> {
    let mut config = yamux::Config::default();
    config.set_max_num_streams(STREAMS_MAX);
    config.set_max_connection_receive_window(Some(STREAMS_MAX * yamux::DEFAULT_CREDIT as usize));
    let mut connection = Connection::new(IgnoreWriteErrors(streams).compat(), config, Mode::Server);
    let meter = Arc::new(Mutex::new(Meter::new(limits)));
    let over = CancellationToken::new();
    let mut served = FuturesUnordered::new();
    let ended = loop {
        tokio::select! {
            inbound = poll_fn(|cx| connection.poll_next_inbound(cx)) => match inbound {
                Some(Ok(stream)) => served.push(serve(stream.compat(), job, lines.clone(), meter.clone(), &over)),
                None | Some(Err(ConnectionError::Closed)) => break Ok(()),
                // The container has ended in the middle of a frame: its exit code has the reason.
                Some(Err(ConnectionError::Io(_))) => break Ok(()),
                Some(Err(error)) => break Err(SandboxError::Protocol(error.to_string())),
            },
            Some(()) = served.next() => {}
        }
    };
    drop(connection);
    over.cancel();
    // Received output is read to its end.
    while ended.is_ok() && served.next().await.is_some() {}
    ended
}

/// Handles one stream, depending on its first line.
async fn serve(
    mut stream: Stream,
    job: &Job,
    lines: mpsc::Sender<Vec<String>>,
    meter: Arc<Mutex<Meter>>,
    over: &CancellationToken,
) {
    let Ok(Some(purpose)) = timeout(PURPOSE, purpose(&mut stream)).await else {
        return;
    };
    match purpose.split_once(' ') {
        Some(("connect", number)) => tokio::select! {
            () = connect(stream, &job.servers, number) => {}
            () = over.cancelled() => {}
        },
        None if purpose == "out" || purpose == "err" => {
            print(stream, Lines::masked(job.mask.clone()), lines, meter).await;
        }
        _ => tracing::debug!(
            purpose,
            "a sandbox opened a stream for nothing that we know"
        ),
    }
}

/// A stream's first line.
async fn purpose(stream: &mut Stream) -> Option<String> {
    let mut line = Vec::new();
    while line.len() < PURPOSE_BYTES_MAX {
        match stream.read_u8().await.ok()? {
            b'\n' => return String::from_utf8(line).ok(),
            byte => line.push(byte),
        }
    }
    None
}

async fn connect(mut stream: Stream, servers: &Servers, number: &str) {
    // A broken connection on either side ends both; ssh in the sandbox reports the error.
    let _ended = match servers.connect(number).await {
        Ok(mut server) => match stream.write_all(b"ok\n").await {
            Ok(()) => copy_bidirectional(&mut stream, &mut server).await.map(drop),
            gone => gone,
        },
        Err(why) => {
            let why = why.replace('\n', " ") + "\n";
            match stream.write_all(why.as_bytes()).await {
                Ok(()) => stream.shutdown().await,
                gone => gone,
            }
        }
    };
}

/// Passes a program's output on, in lines.
async fn print(
    mut stream: Stream,
    mut lines: Lines,
    sink: mpsc::Sender<Vec<String>>,
    meter: Arc<Mutex<Meter>>,
) {
    let mut piece = vec![0; PIECE];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        let permit = meter.lock().await.take(count).await;
        if !matches!(permit, Permit::Whole) {
            // The limit can be within a secret of this line.
            lines.rest();
        }
        let complete = match permit {
            Permit::Whole => lines.take(&piece[..count]),
            Permit::Last(notice) => vec![notice],
            Permit::Nothing => continue,
        };
        if !complete.is_empty() && sink.send(complete).await.is_err() {
            return;
        }
    }
    if let Some(rest) = lines.rest() {
        // The reader is dropped with the execution.
        let _ = sink.send(vec![rest]).await;
    }
}

/// Measures the outputs of an execution together.
pub struct Meter {
    limits: OutputLimits,
    bytes: u64,
    /// Time until which reading is paused.
    free_at: Instant,
}

/// A meter's answer for a piece of output.
pub enum Permit {
    /// The output is within the limits.
    Whole,
    /// The output is the first above the limit. The text is a log line about that.
    Last(String),
    /// The output is above the limit, as was earlier output.
    Nothing,
}

impl Meter {
    /// A meter that has measured nothing yet.
    pub fn new(limits: OutputLimits) -> Meter {
        Meter {
            limits,
            bytes: 0,
            free_at: Instant::now(),
        }
    }

    /// Counts a number of bytes, and waits while the rate is too high.
    pub async fn take(&mut self, count: usize) -> Permit {
        let (before, count) = (self.bytes, count as u64);
        self.bytes = before.saturating_add(count);
        let max = self.limits.bytes_max;
        if before > max {
            return Permit::Nothing;
        }
        if self.bytes > max {
            return Permit::Last(format!(
                "[WARNING]: the output is longer than {max} bytes, the limit of a step. The rest is not stored; the program continues"
            ));
        }
        sleep_until(self.free_at).await;
        let cost = Duration::from_secs_f64(count as f64 / self.limits.bytes_per_second as f64);
        self.free_at = self.free_at.max(Instant::now()) + cost;
        Permit::Whole
    }
}
