//! The resources of each project, for tests that expect none.

use std::collections::BTreeMap;

use crate::kit::record::Attributes;
use crate::services::Model;
use crate::services::network::{COLLECTIONS, ListQuery};

/// The existing resources by project name, each as `type name-or-id`. Omitted are projects without resources, and each
/// project's `default` security group.
pub fn leftovers(model: &Model) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |project_id: &str, kind: &str, name: &str, id: &str| {
        let Some(project) = model
            .identity
            .projects
            .get(project_id)
            .filter(|project| project.text("name") != "service")
        else {
            return;
        };
        let shown = if name.is_empty() { id } else { name };
        found
            .entry(project.text("name").to_owned())
            .or_default()
            .push(format!("{kind} {shown}"));
    };
    for kind in COLLECTIONS
        .iter()
        .filter(|kind| kind.singular != "security_group_rule")
    {
        for row in kind.list(model, &ListQuery::default()) {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            if kind.singular == "security_group" && text("name") == "default" {
                continue;
            }
            let name = if kind.singular == "floatingip" {
                text("floating_ip_address")
            } else {
                text("name")
            };
            add(&text("project_id"), kind.singular, &name, &text("id"));
        }
    }
    for rule in model.security_group_rules.iter() {
        let group = model.security_groups.get(&rule.security_group_id);
        let added = group.is_some_and(|group| group.name == "default")
            && rule.common.description.starts_with("stackloom");
        if added {
            add(&rule.common.project_id, "security_group_rule", "", &rule.id);
        }
    }
    for server in model.servers.iter() {
        add(&server.project_id, "server", &server.name, &server.id);
    }
    for volume in model.block_storage.volumes.iter() {
        let name = volume.name.as_deref().unwrap_or_default();
        add(&volume.project_id, "volume", name, &volume.id);
    }
    for snapshot in model.block_storage.snapshots.iter() {
        let name = snapshot.name.as_deref().unwrap_or_default();
        add(&snapshot.project_id, "snapshot", name, &snapshot.id);
    }
    for image in model.images.iter() {
        let name = image.name.as_deref().unwrap_or_default();
        add(&image.owner, "image", name, &image.id);
    }
    for piece in model.balancing.iter() {
        let kind = piece.part.names().0;
        add(&piece.project_id, kind, piece.text("name"), &piece.id);
    }
    for group in model.server_groups.iter() {
        add(&group.project_id, "server_group", &group.name, &group.id);
    }
    for secret in model.secrets.iter() {
        add(
            &secret.owner.project_id,
            "secret",
            secret.name.as_deref().unwrap_or_default(),
            &secret.id,
        );
    }
    for container in model.secret_containers.iter() {
        let name = container.name.as_deref().unwrap_or_default();
        let owner = &container.owner.project_id;
        add(owner, "secret_container", name, &container.id);
    }
    for pair in model.keypairs.iter() {
        // Key pairs belong to users; they are shown with the user's first project.
        if let Some(project) = model.identity.projects_of(&pair.user_id).first() {
            add(&project.id, "keypair", &pair.name, &pair.key);
        }
    }
    found
}
