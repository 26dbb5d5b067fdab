//! Tools that run configurations: what Heat's agent has a hook for, and the engine runs over SSH.
//!
//! Facts: the hooks of openstack/heat-agents, a folder for each group.

/// A tool that runs configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The configuration is a program, with a `#!` line or for the shell. It runs on the server, as root.
    Script,
    /// The configuration is an Ansible playbook. It runs in a sandbox of the engine, against the server.
    Ansible,
    /// A Puppet manifest. The inputs are facts.
    Puppet,
    /// A Salt state, as text or map. The inputs are options of the minion.
    Salt,
    /// A run list of Chef, with its cookbooks from a git repository. The inputs are attributes of the node.
    Chef,
    /// A file of Docker Compose, as text or map.
    DockerCompose,
    /// Metadata of CloudFormation, for `cfn-init` of heat-cfntools.
    CfnInit,
    /// Metadata for the templates of os-apply-config.
    OsApplyConfig,
    /// Metadata that nothing has to read.
    Ungrouped,
}

impl Tool {
    /// The groups of all tools, in the order of a message.
    pub const GROUPS: [(&str, Tool); 9] = [
        ("script", Tool::Script),
        ("ansible", Tool::Ansible),
        ("puppet", Tool::Puppet),
        ("salt", Tool::Salt),
        ("chef", Tool::Chef),
        ("docker-compose", Tool::DockerCompose),
        ("cfn-init", Tool::CfnInit),
        ("os-apply-config", Tool::OsApplyConfig),
        ("Heat::Ungrouped", Tool::Ungrouped),
    ];

    /// The tool of a group. `None` if the engine does not run it.
    pub fn of_group(group: &str) -> Option<Tool> {
        let mut all = Tool::GROUPS.into_iter();
        all.find_map(|(name, tool)| (name == group).then_some(tool))
    }

    /// The group of the tool.
    pub fn group(self) -> &'static str {
        let mut all = Tool::GROUPS.into_iter();
        all.find_map(|(name, tool)| (tool == self).then_some(name))
            .unwrap_or_default()
    }

    /// The program that the server's image must bring.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Tool::Script | Tool::Ansible | Tool::Ungrouped => None,
            Tool::Puppet => Some("puppet"),
            Tool::Salt => Some("salt-call"),
            Tool::Chef => Some("chef-client"),
            Tool::DockerCompose => Some("docker-compose"),
            Tool::CfnInit => Some("cfn-init"),
            Tool::OsApplyConfig => Some("os-apply-config"),
        }
    }

    /// The program in words, with the alternative to it. `None` if the image needs none.
    pub(super) fn program_in_words(self) -> Option<String> {
        let program = self.program()?;
        Some(match self {
            Tool::DockerCompose => format!("`{program}` or Docker's plugin `docker compose`"),
            _ => format!("`{program}`"),
        })
    }

    /// True if the configuration can be a map. Otherwise it is a text.
    pub fn takes_map(self) -> bool {
        !matches!(self, Tool::Script | Tool::Ansible | Tool::Puppet)
    }
}
