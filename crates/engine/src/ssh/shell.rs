//! A login shell on a pseudo terminal of a server.

use bytes::Bytes;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client::Msg};

use super::{Client, SshError};

/// The kind of terminal that programs see. xterm.js understands it.
const TERM: &str = "xterm-256color";

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters in a row.
    pub columns: u32,
    /// Number of rows.
    pub rows: u32,
}

/// A login shell. Dropping it closes its connection; sshd then hangs up, and the shell ends.
pub struct Shell {
    /// Output of the shell.
    pub output: ShellOutput,
    /// Input of the shell.
    pub input: ShellInput,
}

/// The output of a shell. While nobody reads it, the shell waits: at most 100 packets of 32 KiB are held.
pub struct ShellOutput {
    channel: ChannelReadHalf,
    /// Keeps the connection.
    _client: Client,
    server: String,
    code: Option<u32>,
}

/// The input of a shell.
pub struct ShellInput {
    channel: ChannelWriteHalf<Msg>,
    server: String,
}

impl Shell {
    /// Starts a login shell. It owns the connection: output that waits for its reader delays everything else on it.
    ///
    /// # Errors
    /// If the server opens no session.
    pub async fn open(client: Client, size: Size) -> Result<Shell, SshError> {
        let server = client.server().to_owned();
        let (read, write) = client.session().await?.split();
        let broken = |error: russh::Error| broken(&server, &error.to_string());
        write
            .request_pty(true, TERM, size.columns, size.rows, 0, 0, &[])
            .await
            .map_err(broken)?;
        write.request_shell(true).await.map_err(broken)?;
        Ok(Shell {
            output: ShellOutput {
                channel: read,
                _client: client,
                server: server.clone(),
                code: None,
            },
            input: ShellInput {
                channel: write,
                server,
            },
        })
    }
}

impl ShellOutput {
    /// The next output, as soon as the server sends it. `None` after the end.
    ///
    /// # Errors
    /// If the server refuses a terminal or a shell.
    pub async fn next(&mut self) -> Result<Option<Bytes>, SshError> {
        while let Some(message) = self.channel.wait().await {
            match message {
                ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. } => {
                    return Ok(Some(data));
                }
                ChannelMsg::ExitStatus { exit_status } => self.code = Some(exit_status),
                // As in a shell: 128 and the signal. russh returns only the signal's name.
                ChannelMsg::ExitSignal { .. } => self.code = Some(128),
                ChannelMsg::Failure => {
                    return Err(broken(&self.server, "it refuses to open a terminal"));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The shell's exit code. `None` if the connection ended before the shell.
    pub fn code(&self) -> Option<u32> {
        self.code
    }
}

impl ShellInput {
    /// Sends input. Waits while the server accepts none.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn write(&self, bytes: Bytes) -> Result<(), SshError> {
        let written = self.channel.data_bytes(bytes).await;
        written.map_err(|error| broken(&self.server, &error.to_string()))
    }

    /// Sets another size. Programs in the terminal get the signal `SIGWINCH`.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn resize(&self, size: Size) -> Result<(), SshError> {
        let changed = self.channel.window_change(size.columns, size.rows, 0, 0);
        let changed = changed.await;
        changed.map_err(|error| broken(&self.server, &error.to_string()))
    }
}

fn broken(server: &str, why: &str) -> SshError {
    SshError::Broken {
        server: server.to_owned(),
        why: why.to_owned(),
    }
}
