//! The content of a command, which can contain secrets: sealed with the secrets of its run.

use std::collections::BTreeMap;

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
    /// The roles of components without providers that are gone, by the id of the component's step.
    Configure(BTreeMap<String, Configuration>),
}

/// The configuration of a component without providers that are gone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The component.
    pub component: String,
    /// The providers that are gone, components and servers, each with the id that its server had in the cloud.
    pub without: BTreeMap<String, Option<String>>,
}

impl CommandContent {
    /// The component that a step of the command is for. `None` if it is for a server as a whole.
    pub fn component(&self, step: &str) -> Option<&str> {
        match self {
            CommandContent::Item { component, .. } => Some(component),
            _ => Some(&self.configuration(step)?.component),
        }
    }

    /// The configuration that a step carries out, if the command is one.
    pub fn configuration(&self, step: &str) -> Option<&Configuration> {
        match self {
            CommandContent::Configure(of_steps) => of_steps.get(step),
            _ => None,
        }
    }
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
