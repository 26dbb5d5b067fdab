//! `Stackloom::SSHKey`: the deployment's own key, by which the orchestrator logs in to its servers.
//!
//! No cloud object: the engine makes the pair, keeps the private part in the vault and hands the
//! public part to servers by cloud-init. A pass adds it; nobody needs to draw it.

use super::*;

/// The type's name.
pub const NAME: &str = "Stackloom::SSHKey";

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: NAME.to_owned(),
        title: "Deployment key".to_owned(),
        summary: "The SSH key by which the orchestrator logs in.".to_owned(),
        category: Category::Security,
        shape: Shape::Part,
        properties: vec![],
        attributes: vec![attribute("public_key", "In OpenSSH form.")],
        component: None,
    }
}
