//! Sandboxes in memory: the protocol from its other end, well-behaved and hostile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures::{AsyncReadExt as _, AsyncWriteExt as _, FutureExt, future::poll_fn};
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    net::TcpListener,
    time::timeout,
};
use tokio_util::{compat::TokioAsyncReadCompatExt, sync::CancellationToken};
use yamux::{Connection, Mode};

use super::{
    Host, Job, LineSink, OutputLimits, SandboxError, Sandboxes, Servers, memory::MemoryHost,
    session::run_session,
};
use crate::ssh::{self, Route};

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Output(Vec<String>);

#[async_trait]
impl LineSink for Output {
    async fn lines(&mut self, lines: Vec<String>) {
        self.0.extend(lines);
    }
}

/// The container's end of a session: opens streams, and runs in the background.
struct Inside {
    open: tokio::sync::mpsc::Sender<tokio::sync::oneshot::Sender<yamux::Stream>>,
}

impl Inside {
    fn new(streams: DuplexStream) -> Inside {
        let (open, mut wanted) =
            tokio::sync::mpsc::channel::<tokio::sync::oneshot::Sender<yamux::Stream>>(1);
        tokio::spawn(async move {
            let config = yamux::Config::default();
            let mut connection = Connection::new(streams.compat(), config, Mode::Client);
            loop {
                tokio::select! {
                    inbound = poll_fn(|cx| connection.poll_next_inbound(cx)) => {
                        if !matches!(inbound, Some(Ok(_))) { return; }
                    }
                    answer = wanted.recv() => match answer {
                        Some(answer) => {
                            let stream = poll_fn(|cx| connection.poll_new_outbound(cx)).await;
                            let _gone = answer.send(stream.unwrap());
                        }
                        None => break,
                    }
                }
            }
            let _closed = poll_fn(|cx| connection.poll_close(cx)).await;
        });
        Inside { open }
    }

    async fn stream(&self, purpose: &str) -> yamux::Stream {
        let (answer, stream) = tokio::sync::oneshot::channel();
        self.open.send(answer).await.unwrap();
        let mut stream = stream.await.unwrap();
        stream.write_all(purpose.as_bytes()).await.unwrap();
        stream.write_all(b"\n").await.unwrap();
        stream.flush().await.unwrap();
        stream
    }
}

/// A server's SSH port, in these tests any TCP listener.
async fn port() -> (TcpListener, Route) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut host = ssh::Host::new("web", "127.0.0.1", "");
    host.port = listener.local_addr().unwrap().port();
    let route = Route {
        host,
        bastion: None,
        user: "stackloom".into(),
    };
    (listener, route)
}

/// A job that can connect to these servers.
fn job_with(routes: impl Into<Vec<Route>>) -> Job {
    let servers = Servers {
        routes: routes.into(),
        ..Servers::default()
    };
    Job {
        servers,
        ..Job::default()
    }
}

async fn answer(stream: &mut yamux::Stream) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") && stream.read(&mut byte).await.unwrap() > 0 {
        line.extend(byte);
    }
    String::from_utf8(line).unwrap()
}

#[tokio::test]
async fn a_stalled_connection_delays_no_other_and_takes_a_windows_bytes() {
    let (stalled, stalled_route) = port().await;
    let (lively, lively_route) = port().await;
    let job = job_with([stalled_route, lively_route]);
    let (ours, its) = tokio::io::duplex(4096);
    let session = tokio::spawn(async move {
        run_session(ours, &job, OutputLimits::default(), &mut Output::default()).await
    });
    let inside = Inside::new(its);

    let mut stuck = inside.stream("connect 0").await;
    // Accepted and never read.
    let _held = stalled.accept().await.unwrap();
    assert_eq!(answer(&mut stuck).await, "ok\n");
    let block = vec![0; 64 * 1024];
    let mut sent = 0;
    let filled = async {
        while timeout(Duration::from_secs(1), stuck.write_all(&block))
            .await
            .is_ok()
        {
            sent += block.len();
        }
    };
    timeout(PATIENCE, filled)
        .await
        .expect("it is stopped at last");
    // The kernel's buffers on both sides of the connection hold some megabytes.
    assert!(sent < 64 << 20, "{sent}");

    let mut echo = inside.stream("connect 1").await;
    let (mut server, _) = lively.accept().await.unwrap();
    assert_eq!(answer(&mut echo).await, "ok\n");
    echo.write_all(b"hello").await.unwrap();
    echo.flush().await.unwrap();
    let mut received = [0; 5];
    server.read_exact(&mut received).await.unwrap();
    server.write_all(&received).await.unwrap();
    echo.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"hello");
    session.abort();
}

/// A lease that lasts until it is lost.
struct Lease(AtomicBool);

impl openstack::Permit for Lease {
    fn remaining(&self) -> Option<Duration> {
        self.0.load(Ordering::Relaxed).then_some(PATIENCE)
    }
}

#[tokio::test]
async fn a_sandbox_reaches_no_server_any_more_when_the_lease_is_lost() {
    let (listener, route) = port().await;
    let job = job_with([route]);
    let (ours, its) = tokio::io::duplex(4096);
    let lease = Arc::new(Lease(AtomicBool::new(true)));
    let session = async move {
        run_session(ours, &job, OutputLimits::default(), &mut Output::default()).await
    };
    tokio::spawn(openstack::while_permitted(lease.clone(), session));
    let inside = Inside::new(its);
    let mut stream = inside.stream("connect 0").await;
    let (mut server, _) = listener.accept().await.unwrap();
    assert_eq!(answer(&mut stream).await, "ok\n");
    stream.write_all(b"before").await.unwrap();
    stream.flush().await.unwrap();
    let mut received = [0; 6];
    server.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"before");

    // The program in the container knows nothing of leases, and writes on.
    lease.0.store(false, Ordering::Relaxed);
    stream.write_all(b"after").await.unwrap();
    stream.flush().await.unwrap();
    let mut rest = Vec::new();
    let ended = timeout(PATIENCE, server.read_to_end(&mut rest)).await;
    ended.expect("the connection is closed").unwrap();
    assert_eq!(rest, b"");
    let mut stream = inside.stream("connect 0").await;
    let refused = answer(&mut stream).await;
    assert!(refused.contains("no longer holds the run"), "{refused}");
}

#[tokio::test]
async fn a_server_that_the_step_does_not_have_is_refused_with_a_word() {
    let (_port, route) = port().await;
    let job = job_with([route]);
    let (ours, its) = tokio::io::duplex(4096);
    tokio::spawn(async move {
        run_session(ours, &job, OutputLimits::default(), &mut Output::default()).await
    });
    let inside = Inside::new(its);
    for other in ["1", "-1", "127.0.0.1:22", "", "0 1"] {
        let mut stream = inside.stream(&format!("connect {other}")).await;
        assert_eq!(answer(&mut stream).await, "this step has no such server\n");
    }
}

#[tokio::test]
async fn a_container_ends_with_its_output_and_code_on_the_least_loaded_host() {
    let program = |_: Job, streams: DuplexStream| {
        async move {
            let inside = Inside::new(streams);
            let mut out = inside.stream("out").await;
            out.write_all(b"one\ntwo").await.unwrap();
            out.close().await.unwrap();
            5
        }
        .boxed()
    };
    let hosts = [MemoryHost::new(program), MemoryHost::new(program)];
    let sandboxes = Sandboxes::new(
        hosts.clone().map(|host| host as Arc<dyn Host>),
        4,
        OutputLimits::default(),
    );
    let execute = async || {
        let slot = sandboxes.slot("project").await;
        let (stop, mut output) = (CancellationToken::new(), Output::default());
        let job = Job::default();
        let code = sandboxes.execute(slot, &job, &stop, &mut output).await;
        (code, output.0)
    };
    let ended = tokio::join!(execute(), execute());
    let expected = (Ok(5), vec!["one".to_owned(), "two".to_owned()]);
    assert_eq!(ended, (expected.clone(), expected));
    let started = hosts.map(|host| host.started.load(Ordering::Relaxed));
    assert_eq!(started, [1, 1]);
}

#[tokio::test]
async fn output_above_the_quota_is_dropped_with_a_word() {
    let limits = OutputLimits {
        bytes_max: 1000,
        ..OutputLimits::default()
    };
    let (ours, its) = tokio::io::duplex(4096);
    let session = tokio::spawn(async move {
        let mut output = Output::default();
        let ended = run_session(ours, &Job::default(), limits, &mut output).await;
        (ended, output.0)
    });
    let inside = Inside::new(its);
    let mut out = inside.stream("out").await;
    for _ in 0..100 {
        out.write_all(&[b"x".repeat(99), b"\n".to_vec()].concat())
            .await
            .unwrap();
        out.flush().await.unwrap();
    }
    out.close().await.unwrap();
    drop((out, inside));
    let (ended, lines) = timeout(PATIENCE, session).await.unwrap().unwrap();
    assert_eq!(ended, Ok(()));
    assert!(lines.len() <= 11, "{} lines", lines.len());
    assert!(
        lines
            .last()
            .is_some_and(|line| line.contains("longer than 1000 bytes"))
    );
}

/// The lines of a program that prints a text.
async fn printed(job: Job, limits: OutputLimits, text: String) -> Vec<String> {
    let (ours, its) = tokio::io::duplex(4096);
    let session = tokio::spawn(async move {
        let mut output = Output::default();
        let ended = run_session(ours, &job, limits, &mut output).await;
        (ended, output.0)
    });
    let inside = Inside::new(its);
    let mut out = inside.stream("out").await;
    out.write_all(text.as_bytes()).await.unwrap();
    out.close().await.unwrap();
    drop((out, inside));
    let (ended, lines) = timeout(PATIENCE, session).await.unwrap().unwrap();
    assert_eq!(ended, Ok(()));
    lines
}

#[tokio::test]
async fn neither_a_long_line_nor_the_quota_cuts_a_secret_in_two() {
    let secret = "correct horse battery staple";
    let job = Job::default();
    job.mask.add(secret);
    let whole = OutputLimits::default();
    let long = format!("{}{secret}...", ".".repeat(256 * 1024 - 10));
    let lines = printed(job.clone(), whole, long.clone()).await;
    assert_eq!(lines.len(), 2);
    assert_eq!(lines.concat(), long);
    assert!(lines.iter().any(|line| line.contains(secret)), "{lines:?}");

    // What is read at once ends within the secret at the latest.
    let limits = OutputLimits {
        bytes_max: 64 * 1024,
        ..whole
    };
    let long = format!("{}{secret}...\n", ".".repeat(64 * 1024 - 10));
    let lines = printed(job, limits, long).await;
    assert!(lines.iter().all(|line| !line.contains("corr")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("is not stored")));
}

#[tokio::test]
async fn output_above_the_rate_waits_and_none_is_lost() {
    let limits = OutputLimits {
        bytes_per_second: 4_000_000,
        ..OutputLimits::default()
    };
    let begun = Instant::now();
    let (ours, its) = tokio::io::duplex(4096);
    let session = tokio::spawn(async move {
        let mut output = Output::default();
        let ended = run_session(ours, &Job::default(), limits, &mut output).await;
        (ended, output.0)
    });
    let inside = Inside::new(its);
    let mut out = inside.stream("out").await;
    let line = [b"x".repeat(99), b"\n".to_vec()].concat();
    out.write_all(&line.repeat(10_000)).await.unwrap();
    out.close().await.unwrap();
    drop((out, inside));
    let (ended, lines) = timeout(PATIENCE, session).await.unwrap().unwrap();
    assert_eq!((ended, lines.len()), (Ok(()), 10_000));
    // A megabyte takes a quarter of a second; the last piece is not waited for.
    assert!(begun.elapsed() > Duration::from_millis(200));
}

/// A frame with a plausible header, and often a matching body.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![8 => 0u8..4, 1 => any::<u8>()];
    let flags = prop_oneof![8 => 0u16..16, 1 => any::<u16>()];
    let number = prop_oneof![8 => 0u32..12, 1 => any::<u32>()];
    let length = prop_oneof![8 => 0u32..80, 1 => any::<u32>()];
    let version = prop_oneof![20 => Just(0u8), 1 => any::<u8>()];
    let body = prop_oneof![
        Just(b"out\n".to_vec()),
        Just(b"err\nline\n".to_vec()),
        Just(b"connect 0\nSSH-2.0-x\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..80),
    ];
    (version, kind, flags, number, length, body, any::<bool>()).prop_map(
        |(version, kind, flags, number, length, body, fits)| {
            let length = if fits && kind == 0 {
                body.len() as u32
            } else {
                length
            };
            let mut frame = vec![version, kind];
            frame.extend(flags.to_be_bytes());
            frame.extend(number.to_be_bytes());
            frame.extend(length.to_be_bytes());
            if kind == 0 {
                frame.extend(body);
            }
            frame
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_frames_end_in_output_or_in_an_error(frames in prop::collection::vec(frame(), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, its) = tokio::io::duplex(4096);
            let (mut answers, mut hostile) = tokio::io::split(its);
            let write = async {
                for frame in &frames {
                    // The session can have ended already.
                    if hostile.write_all(frame).await.is_err() {
                        break;
                    }
                }
                hostile.shutdown().await
            };
            let read = tokio::spawn(async move { tokio::io::copy(&mut answers, &mut tokio::io::sink()).await });
            let job = Job::default();
            let mut output = Output::default();
            let session = run_session(ours, &job, OutputLimits::default(), &mut output);
            let session = timeout(PATIENCE, async { tokio::join!(session, write) }).await;
            let (ended, _written) = session.expect("the session ends with its bytes");
            assert!(matches!(ended, Ok(()) | Err(SandboxError::Protocol(_))), "{ended:?}");
            read.abort();
        });
    }
}
