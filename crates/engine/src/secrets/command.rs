//! The content of a command, which can contain secrets: sealed with the secrets of its run.

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// The work of a command on each of its servers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandContent {
    /// A script.
    Script {
        /// Text of the script.
        text: String,
        /// Path of its interpreter. `None` if its first line names one.
        interpreter: Option<String>,
        /// True to run it as root, else as the login user.
        as_root: bool,
    },
    /// An Ansible playbook.
    Playbook {
        /// Text of the playbook.
        text: String,
        /// True to run it as root, else as the login user.
        as_root: bool,
    },
    /// A command of a catalogue item.
    Item {
        /// The component.
        component: String,
        /// The command's name.
        command: String,
    },
}

impl Drop for CommandContent {
    fn drop(&mut self) {
        if let CommandContent::Script { text, .. } | CommandContent::Playbook { text, .. } = self {
            text.zeroize();
        }
    }
}

impl std::fmt::Debug for CommandContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CommandContent(***)")
    }
}
