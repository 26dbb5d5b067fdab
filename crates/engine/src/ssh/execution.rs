//! A command that runs on a server.

use bytes::Bytes;
use russh::{Channel, ChannelMsg, client::Msg};

use super::SshError;

/// SSH's code of standard error.
const STDERR: u32 = 1;

/// A piece of a command's output, as the program wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Out(Bytes),
    /// Standard error.
    Err(Bytes),
}

/// A command that runs on a server. Dropping it closes its channel. The program then gets no more input and its output
/// is lost, but sshd does not end it.
pub struct Execution {
    channel: Channel<Msg>,
    server: String,
    code: Option<u32>,
}

impl Execution {
    pub(super) fn new(channel: Channel<Msg>, server: String) -> Execution {
        Execution {
            channel,
            server,
            code: None,
        }
    }

    /// The next output, as soon as the server sends it. `None` after the end.
    ///
    /// # Errors
    /// If the server refuses the command.
    pub async fn output(&mut self) -> Result<Option<Output>, SshError> {
        while let Some(message) = self.channel.wait().await {
            match message {
                ChannelMsg::Data { data } => return Ok(Some(Output::Out(data))),
                ChannelMsg::ExtendedData { data, ext: STDERR } => {
                    return Ok(Some(Output::Err(data)));
                }
                ChannelMsg::ExitStatus { exit_status } => self.code = Some(exit_status),
                // As in a shell: 128 and the signal. russh returns only the signal's name.
                ChannelMsg::ExitSignal { .. } => self.code = Some(128),
                ChannelMsg::Failure => return Err(self.ended("it refuses to run the command")),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Sends input to the command.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn send(&self, input: &str) -> Result<(), SshError> {
        let sent = self.channel.data_bytes(input.to_owned()).await;
        sent.map_err(|error| self.ended(&error.to_string()))
    }

    /// The server's resource name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Drops the rest of the output and returns the exit code.
    ///
    /// # Errors
    /// If the connection ends before the command.
    pub async fn code(mut self) -> Result<u32, SshError> {
        while self.output().await?.is_some() {}
        self.code
            .ok_or_else(|| self.ended("it ended before the command did"))
    }

    fn ended(&self, why: &str) -> SshError {
        SshError::Broken {
            server: self.server.clone(),
            why: why.to_owned(),
        }
    }
}
