//! Readers of output on a server. Each passes on its pieces until it ends.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{JobFolder, packages::MARK};
use crate::{
    sandbox::Lines,
    ssh::{Client, Execution, Output, SshError},
};

/// News of a reader.
pub enum Piece {
    /// An execution has begun.
    Program(String),
    /// Output of an execution.
    Output(String, Output),
    /// An execution's output is complete, or broke off.
    Complete(String, Result<(), SshError>),
    /// Output of the package managers during a task, by its number. `None` if there will be no more.
    Package(u64, Option<Output>),
    /// No more executions are announced.
    Lost(SshError),
}

/// Passes on the names of executions as they begin.
pub async fn watch(client: &Client, folder: &JobFolder, sender: &mpsc::Sender<Piece>) {
    // Names, which are not logged.
    let mut lines = Lines::masked(Arc::default());
    let ended = async {
        let mut names = folder.watch(client).await?;
        while let Some(output) = names.output().await? {
            let Output::Out(bytes) = output else { continue };
            for name in lines.take(&bytes) {
                if is_name(&name) && sender.send(Piece::Program(name)).await.is_err() {
                    return Ok(());
                }
            }
        }
        names.code().await.map(drop)
    };
    let error = ended.await.err();
    if let Some(error) = error {
        // Nobody waits for it if the step has ended.
        let _ = sender.send(Piece::Lost(error)).await;
    }
}

/// True for the name of an execution. Any user of the server can write into the list of names.
fn is_name(name: &str) -> bool {
    name.len() <= 32
        && name
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Passes on an execution's output until it ends.
pub async fn read(
    mut execution: Execution,
    name: &str,
    sender: &mpsc::Sender<Piece>,
) -> Result<(), SshError> {
    while let Some(output) = execution.output().await? {
        let piece = Piece::Output(name.to_owned(), output);
        if sender.send(piece).await.is_err() {
            return Ok(());
        }
    }
    execution.code().await.map(drop)
}

/// Passes on the output of package managers during a task, with a [`MARK`] for each request.
pub async fn read_packages(
    mut execution: Execution,
    task: u64,
    mut requests: mpsc::Receiver<()>,
    sender: &mpsc::Sender<Piece>,
) {
    let mark = format!("{MARK}\n");
    loop {
        tokio::select! {
            output = execution.output() => {
                let Ok(Some(output)) = output else { return };
                if sender.send(Piece::Package(task, Some(output))).await.is_err() {
                    return;
                }
            }
            Some(()) = requests.recv() => {
                if execution.send(&mark).await.is_err() {
                    return;
                }
            }
        }
    }
}
