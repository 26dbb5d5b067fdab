//! Adds the deployment's key pair if the engine logs in to servers. They wait for it, because cloud-init installs the
//! public key.

use super::*;
use types::SSH_KEY;

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    let mut servers = ssh_hosts(model, context);
    if servers.is_empty() {
        return Vec::new();
    }
    servers.extend(the_bastion(model, &servers).map(str::to_owned));
    let drawn = model
        .of_type(SSH_KEY)
        .next()
        .map(|(name, _)| name.to_owned());
    let key = drawn.unwrap_or_else(|| {
        let why = format!("{} over SSH", use_of_ssh(model, context));
        model.derive(
            "deployment_key",
            Derived {
                pass: "deployment-key",
                resource_type: SSH_KEY,
                why,
                serves: None,
                properties: vec![],
            },
        )
    });
    for server in servers {
        if let Some(spec) = model.get_mut(&server) {
            spec.requires.push(key.clone());
        }
    }
    Vec::new()
}
