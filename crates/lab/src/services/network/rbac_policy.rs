//! RBAC policies: access of a project to resources of another project.
//!
//! A shared network is visible with its subnets, and ports can be created on it. Shared QoS policies and security
//! groups are visible and usable. Policies for pools and scopes, and `access_as_external`, are stored without effect.
//! The target project `*` means all projects; only administrators can set it.

use serde_json::Value;

use crate::kit::field::{Form, required};
use crate::kit::record::{Attributes, Fields, Record};
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::body::{Caller, only_admin};
use crate::services::network::records::Records;
use crate::services::network::{COLLECTIONS, Collection, Creators, Rows};

/// The resources that can be shared: the name in the policy, and the singular name of the resource type.
const TYPES: &[(&str, &str)] = &[
    ("network", "network"),
    ("qos_policy", "policy"),
    ("security_group", "security_group"),
    ("subnetpool", "subnetpool"),
    ("address_scope", "address_scope"),
];

const SHARED: &str = "access_as_shared";
const EXTERNAL: &str = "access_as_external";

/// All projects.
const ALL: &str = "*";

pub static RBAC_POLICY: Collection = Collection {
    collection: "rbac-policies",
    singular: "rbac_policy",
    fields: &[
        required("object_type", Form::Text),
        required("object_id", Form::Id),
        required("action", Form::Text),
        required("target_tenant", Form::Text).changeable(),
    ],
    creators: Creators::Members,
    shared: |_, _, _| false,
    missing: (
        "RbacPolicyNotFound",
        "RBAC policy of type unknown with ID {} not found",
    ),
    rows: Rows::Records(Records {
        table: |model| &model.rbac_policies,
        table_mut: |model| &mut model.rbac_policies,
        standard: &[],
        create,
        update: |model, row, changes, by| {
            model.sharing_is_unused(&row.id)?;
            if changes.text("target_tenant") == ALL && by == Caller::Member {
                return Err(only_admin("update_rbac_policy:target_tenant"));
            }
            Ok(())
        },
        delete: |model, id| model.sharing_is_unused(id),
    }),
};

fn create(model: &Model, fields: &mut Fields, by: Caller) -> Result<(), Refusal> {
    let project_id = fields.text("project_id");
    let policies = model.rbac_policies.iter();
    let mine = policies.filter(|row| row.text("project_id") == project_id);
    model
        .quotas
        .check(project_id, "rbac_policy", mine.count())?;
    let object_type = fields.text("object_type");
    let kind = TYPES.iter().find(|(name, _)| *name == object_type);
    let kind = kind.and_then(|(_, kind)| COLLECTIONS.iter().find(|one| one.singular == *kind));
    let kind = kind.ok_or_else(|| {
        Refusal::invalid_operation(format_args!(
            "'{object_type}' is not a valid RBAC object type"
        ))
    })?;
    let actions: &[&str] = match object_type {
        "network" => &[SHARED, EXTERNAL],
        _ => &[SHARED],
    };
    let action = fields.text("action");
    if !actions.contains(&action) {
        return Err(Refusal::invalid_operation(format_args!(
            "Invalid action '{action}' for object type '{object_type}'. Valid actions: {}",
            actions.join(", ")
        )));
    }
    if by == Caller::Member && fields.text("target_tenant") == ALL {
        return Err(only_admin("create_rbac_policy:target_tenant"));
    }
    let id = fields.text("object_id");
    let object: Value = kind.get(model, id).ok_or_else(|| kind.not_found(id))?;
    if object["project_id"] != project_id && by == Caller::Member {
        return Err(Refusal::invalid_operation(
            "Only admins can manipulate policies on objects they do not own",
        ));
    }
    let same = |row: &Record| {
        ["object_id", "action", "target_tenant"]
            .iter()
            .all(|name| row.text(name) == fields.text(name))
    };
    if model.rbac_policies.iter().any(same) {
        return Err(Refusal::conflict(
            "DuplicateRbacPolicy",
            "An RBAC policy already exists with those values.",
        ));
    }
    Ok(())
}

impl Model {
    /// Whether a policy grants a project access to a resource. For `None`, the caller is an administrator, who sees all
    /// resources anyway, and only policies with `*` count.
    pub fn shared_with(&self, project: Option<&str>, object_type: &str, id: &str) -> bool {
        let mut policies = self.rbac_policies.iter();
        policies.any(|row| {
            row.text("object_id") == id
                && row.text("action") == SHARED
                && row.text("object_type") == object_type
                && [Some(ALL), project].contains(&Some(row.text("target_tenant")))
        })
    }

    /// Removes the policies of a deleted resource.
    pub fn remove_policies_of(&mut self, object_id: &str) {
        self.rbac_policies
            .remove_where(|row| row.text("object_id") == object_id);
    }

    /// Checks that no other project depends on the policy.
    fn sharing_is_unused(&self, id: &str) -> Result<(), Refusal> {
        let row = self.rbac_policies.get(id);
        let row = row.ok_or_else(|| RBAC_POLICY.not_found(id))?;
        let Some(network) = self.networks.get(row.text("object_id")) else {
            return Ok(());
        };
        let mut ports = self.ports.having(&format!("network:{}", network.id));
        let is_used = ports.any(|port| {
            let owner = port.common.project_id.as_str();
            !owner.is_empty()
                && owner != network.common.project_id
                && [ALL, owner].contains(&row.text("target_tenant"))
        });
        if !is_used {
            return Ok(());
        }
        Err(Refusal::conflict(
            "RbacPolicyInUse",
            format!(
                "RBAC policy on object {} cannot be removed because other objects depend on it.\nDetails: Unable to reconfigure \
                 sharing settings for network {}. Multiple tenants are using it.",
                network.id, network.id
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::services::network::body::{Body, Caller};
    use crate::services::network::rbac_policy::*;

    /// Whether a project can use a network that was shared with a target.
    fn usable(target: &str, by: &str) -> bool {
        let mut model = Model::default();
        let fields = json!({"network": {"name": "net"}});
        let network = |fields| {
            let specs = crate::services::network::network::NETWORK.fields;
            Body::for_create("network", specs, fields, Caller::Member)
        };
        let create = crate::services::network::network::NETWORK.create(
            &mut model,
            "owner",
            network(fields).unwrap(),
        );
        let id = create.unwrap();
        let policy = json!({"rbac_policy": {"object_type": "network", "object_id": id, "action": SHARED, "target_tenant": target}});
        let policy =
            Body::for_create("rbac_policy", RBAC_POLICY.fields, policy, Caller::Member).unwrap();
        let made = RBAC_POLICY.create(&mut model, "owner", policy);
        made.is_ok() && model.network_for(by, &id).is_ok()
    }

    #[test]
    fn a_network_is_shared_with_whom_the_policy_names() {
        assert!(usable("friend", "friend"));
        assert!(!usable("friend", "stranger"));
        assert!(!usable(ALL, "friend"), "a member shares with everybody");
    }
}
