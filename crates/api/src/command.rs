//! Commands on a deployment's servers: scripts, playbooks, and the commands of catalogue items.

use serde::{Deserialize, Serialize};

/// `POST /api/v1/deployments/{id}/command`: exactly one of a script, a playbook, and a command of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommandRequest {
    /// The servers of a script or a playbook. A command of a component runs on its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<CommandServers>,
    /// Text of a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Path of the script's interpreter on the servers. Defaults to the one in the script's first line (`#!`), else
    /// `/bin/sh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// Text of an Ansible playbook. Its `hosts` are `all`. It runs once for each server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook: Option<String>,
    /// Name of a component, with `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Name of one of the commands of the component's catalogue item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Title for lists of runs. Defaults to the kind of command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// True to run a script or a playbook as root, else as the login user. Defaults to true.
    #[serde(default = "yes", rename = "become")]
    pub as_root: bool,
    /// Maximum number of servers at the same time. Defaults to 5.
    #[serde(default = "parallel")]
    pub parallel: u32,
    /// Number of failed servers after which no further server begins. Without it, every server gets its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<u32>,
    /// Time limit on each server, in seconds. Defaults to 600.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u32,
}

impl Default for CommandRequest {
    fn default() -> CommandRequest {
        CommandRequest {
            servers: None,
            script: None,
            interpreter: None,
            playbook: None,
            component: None,
            command: None,
            title: None,
            as_root: yes(),
            parallel: parallel(),
            max_failures: None,
            timeout_seconds: timeout_seconds(),
        }
    }
}

fn yes() -> bool {
    true
}

fn parallel() -> u32 {
    5
}

fn timeout_seconds() -> u32 {
    600
}

/// The servers of a command: `"all"`, or a list of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum CommandServers {
    /// All servers of the deployment.
    All(AllServers),
    /// The servers with these names.
    Named(Vec<String>),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AllServers {
    /// `all`
    All,
}

/// The command that a run carries out. The script itself is stored only while the run lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunCommand {
    /// Title for lists of runs: the user's, else the kind of command.
    pub title: String,
    /// Kind of command.
    pub kind: CommandKind,
    /// Number of servers.
    pub servers: u32,
    /// Size of the script or the playbook in bytes. 0 for a command of a component.
    pub bytes: u32,
    /// Maximum number of servers at the same time.
    pub parallel: u32,
    /// Number of failed servers after which no further server begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<u32>,
}

/// Kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    /// A script.
    Script,
    /// An Ansible playbook.
    Playbook,
    /// A command of a catalogue item.
    Item,
    /// The roles of components without servers that a check found gone.
    Configure,
}
