//! The console of a server.

use serde::{Deserialize, Serialize};

/// The last output of a server's console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConsoleLog {
    /// The last 500 lines, at most 256 KiB, as the server wrote them: with escape sequences.
    pub text: String,
}

/// A graphical console, or the serial one of a cloud that has no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GraphicalConsole {
    /// Page of the cloud with the console, or the websocket (`ws:`, `wss:`) of a serial console. It contains a token: whoever
    /// has the URL has the console.
    pub url: String,
}
