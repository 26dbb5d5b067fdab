//! Starts the server, and shuts it down gracefully.

use std::{io::IsTerminal, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::Parser;
use futures::future::{OptionFuture, join};
use rustix::{
    fs::Mode,
    process::{Resource, getrlimit, setrlimit, umask},
};
use server::{Config, config::LogFormat};
use tokio::{net::TcpListener, signal::unix};
use tracing_subscriber::EnvFilter;

/// Time limit of open requests at shutdown.
const DRAIN: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    match run(Config::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stackloom: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.log)
        .with_context(|| format!("`{}` is not a log filter", config.log))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match config.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    config.check()?;
    let listener = TcpListener::bind(config.addr)
        .await
        .with_context(|| format!("cannot listen on {}", config.addr))?;
    let address = listener.local_addr()?;
    let signal_listener = match config.signal_addr {
        Some(address) => Some(
            TcpListener::bind(address)
                .await
                .with_context(|| format!("cannot listen on {address} for signals"))?,
        ),
        None => None,
    };
    raise_descriptors();
    // Files of this process are private, regardless of the shell's umask.
    umask(Mode::RWXG | Mode::RWXO);
    let server = server::build(config).await?;
    println!("stackloom: listening on http://{address}");

    let closing = server.closing();
    let serve = async {
        let signals = signal_listener.map(|listener| server.serve_signals(listener));
        let serving = join(server.serve(listener), OptionFuture::from(signals));
        let serving = tokio::spawn(serving);
        stop_requested().await;
        tracing::info!("stopping; runs continue at the next start");
        closing.cancel();
        serving.await.map(drop)
    };
    let too_late = async {
        closing.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        done = serve => done?,
        () = too_late => tracing::warn!("some requests did not end within {} s and were cut off", DRAIN.as_secs()),
    }
    server.stop().await;
    Ok(())
}

/// Raises the limit of open files as far as the system permits: connections, the engine and the database share them.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!("the limit of open files stays: {error}");
    }
}

async fn stop_requested() {
    let terminate = async {
        match unix::signal(unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(error) => {
                tracing::warn!("SIGTERM cannot be handled: {error}");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = terminate => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
