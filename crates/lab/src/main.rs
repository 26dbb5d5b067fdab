//! `stackloom-lab`: runs the lab cloud, or removes its containers, networks and state.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};
use lab::kit::ip::Cidr;
use lab::services::quota::Quotas;
use lab::services::store::Store;
use lab::substrate::Close;
use lab::substrate::docker::DockerSubstrate;
use lab::substrate::memory::MemorySubstrate;
use lab::{Backend, Lab, LabConfig};
use tokio::signal::unix::{SignalKind, signal};

/// An OpenStack-compatible cloud on this machine. Users demo/demo (project demo) and other/other (project other),
/// domain Default, region lab. For trials and tests: it is not secure, and listens on loopback only.
#[derive(Parser)]
#[command(name = "stackloom-lab", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:9500", global = true)]
    listen: SocketAddr,

    /// Directory for the cloud's state; without it, a restart begins with an empty cloud
    #[arg(long, global = true)]
    state: Option<PathBuf>,

    /// Name of the lab: all its objects in Docker carry the label stackloom.lab=<NAME>
    #[arg(long, default_value = "lab", global = true)]
    name: String,

    /// Range of the external network; its first address is this machine's
    #[arg(long, default_value = "172.30.0.0/24", global = true, value_parser = range_of_v4)]
    public_cidr: Cidr,

    /// Backend of servers
    #[arg(long, value_enum, default_value_t = BackendName::Docker, global = true)]
    backend: BackendName,

    /// With `--backend memory`: milliseconds from creation to ACTIVE
    #[arg(long, default_value_t = 300)]
    active_after_ms: u64,

    /// Remove all containers and networks at the end
    #[arg(long)]
    ephemeral: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Remove all objects with the lab's label, and its state file
    Reset,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendName {
    Docker,
    Memory,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter =
        tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Some(Command::Reset) => reset(&arguments).await,
        None => run(&arguments).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (backend, quotas) = match arguments.backend {
        BackendName::Docker => (Backend::Docker, Quotas::default()),
        BackendName::Memory => {
            let memory = MemorySubstrate {
                active_after: Duration::from_millis(arguments.active_after_ms),
                gone_after: Duration::from_millis(arguments.active_after_ms / 3),
            };
            (Backend::Memory(memory), Quotas::unlimited())
        }
    };
    let lab = Lab::start(LabConfig {
        listen: arguments.listen,
        state: arguments.state.clone(),
        name: arguments.name.clone(),
        public_cidr: arguments.public_cidr,
        backend,
        quotas,
        close: if arguments.ephemeral {
            Close::Remove
        } else {
            Close::Keep
        },
    })
    .await?;
    println!("lab: listening on {}", lab.url());
    println!(
        "lab: auth_url {} region lab domain Default user demo password demo project demo",
        lab.auth_url()
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    lab.stop().await;
    println!("lab: stopped");
    Ok(())
}

async fn reset(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(directory) = &arguments.state {
        Store::new(directory)
            .and_then(|store| store.remove())
            .with_context(|| format!("cannot remove the state in {}", directory.display()))?;
    }
    if arguments.backend == BackendName::Docker {
        DockerSubstrate::new(&arguments.name, arguments.public_cidr)
            .await?
            .reset()
            .await?;
    }
    println!("lab: nothing is left of `{}`", arguments.name);
    Ok(())
}

/// Parses the external range: IPv4, /28 or larger.
fn range_of_v4(text: &str) -> Result<Cidr, String> {
    let range: Cidr = text.parse().map_err(|error| format!("{error}"))?;
    match (range.version(), range.prefix()) {
        (4, 1..=28) => Ok(range),
        _ => Err("it must be a range of IPv4, /28 or larger".to_owned()),
    }
}
