//! Messages of a terminal's websocket.
//!
//! Binary messages are the terminal's input and output. Text messages are these types as JSON.

use serde::{Deserialize, Serialize};

/// A message of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TerminalRequest {
    /// The terminal has another size in characters.
    Resize {
        /// Characters in a row.
        columns: u32,
        /// Number of rows.
        rows: u32,
    },
    /// This many more bytes of output are on the screen. The server sends at most [`TERMINAL_WINDOW`] bytes ahead.
    Shown {
        /// Number of bytes since the last such message.
        bytes: u32,
    },
}

/// Bytes of output that may be on their way to the browser or wait there.
pub const TERMINAL_WINDOW: u32 = 1 << 20;

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TerminalMessage {
    /// The shell is there.
    Opened,
    /// The terminal has ended, or could not be opened. The socket is closed next.
    Ended {
        /// The reason, as sentences.
        reason: String,
    },
}
