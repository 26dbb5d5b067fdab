//! RBAC policies: a project lets another use something of its own.
//!
//! A network shared so is seen there with its subnets, and ports may be made on it; QoS policies and security groups are seen and used;
//! of pools and scopes, and of `access_as_external`, the policy is kept without effect. `*` is every project, which only administrators may
//! say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::only_admin;
use crate::services::network::attributes::{AttributeSpec, Attributes, Form, Said, attribute};
use crate::services::network::{Common, KINDS, Kind, Makers, assign, to_value};

/// A policy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RbacPolicy {
    /// Id.
    pub id: String,
    /// `network`, ...: one of [`TYPES`].
    pub object_type: String,
    /// What is shared.
    pub object_id: String,
    /// `access_as_shared`, or `access_as_external` for networks.
    pub action: String,
    /// With whom; `*` is everybody.
    pub target_tenant: String,
    /// Owner.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(RbacPolicy);
crate::services::network::row!(RbacPolicy, object_type, object_id, target_tenant);

/// What can be shared: the policy's word, and the kind's.
const TYPES: &[(&str, &str)] = &[
    ("network", "network"),
    ("qos_policy", "policy"),
    ("security_group", "security_group"),
    ("subnetpool", "subnetpool"),
    ("address_scope", "address_scope"),
];

const SHARED: &str = "access_as_shared";
const EXTERNAL: &str = "access_as_external";

/// Everybody.
const ALL: &str = "*";

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("object_type", Form::Text, Said::Required),
    attribute("object_id", Form::Id, Said::Required),
    attribute("action", Form::Text, Said::Required),
    attribute("target_tenant", Form::Text, Said::Changeable),
];

/// The kind.
pub static RBAC_POLICY: Kind = Kind {
    collection: "rbac-policies",
    singular: "rbac_policy",
    attributes: ATTRIBUTES,
    makers: Makers::Members,
    list: |model, look| look.values(model.rbac_policies.iter(), |_| false, shown),
    get: |model, id| model.rbac_policies.get(id).map(shown),
    shared: |_, _, _| false,
    not_found,
    create,
    update,
    delete,
};

/// Without what most kinds carry and policies do not.
fn shown(row: &RbacPolicy) -> Value {
    crate::services::network::without_standard_attributes(to_value(row))
}

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "RbacPolicyNotFound",
        format!("RBAC policy of type unknown with ID {id} not found"),
    )
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let policies = model.rbac_policies.iter();
    model
        .quotas
        .check_count(project_id, "rbac_policy", policies)?;
    let mut text = |name: &str| Ok::<_, Refusal>(attributes.text(name)?.unwrap_or_default());
    let (object_type, object_id) = (text("object_type")?, text("object_id")?);
    let (action, target_tenant) = (text("action")?, text("target_tenant")?);
    let kind = TYPES.iter().find(|(name, _)| *name == object_type);
    let (_, singular) = kind.ok_or_else(|| {
        Refusal::invalid_operation(format_args!(
            "'{object_type}' is not a valid RBAC object type"
        ))
    })?;
    let actions: &[&str] = match object_type.as_str() {
        "network" => &[SHARED, EXTERNAL],
        _ => &[SHARED],
    };
    if !actions.contains(&action.as_str()) {
        return Err(Refusal::invalid_operation(format_args!(
            "Invalid action '{action}' for object type '{object_type}'. Valid actions: {}",
            actions.join(", ")
        )));
    }
    if !attributes.are_admins() && target_tenant == ALL {
        return Err(only_admin("create_rbac_policy:target_tenant"));
    }
    let kind = KINDS.iter().find(|kind| kind.singular == *singular);
    let object = kind.and_then(|kind| (kind.get)(model, &object_id));
    let own = |object: &Value| object["project_id"] == project_id || attributes.are_admins();
    match object {
        None => {
            return Err(kind.map_or_else(
                || not_found(&object_id),
                |kind| (kind.not_found)(&object_id),
            ));
        }
        Some(object) if !own(&object) => {
            return Err(Refusal::invalid_operation(
                "Only admins can manipulate policies on objects they do not own",
            ));
        }
        Some(_) => {}
    }
    let same = |row: &RbacPolicy| {
        (&row.object_id, &row.action, &row.target_tenant) == (&object_id, &action, &target_tenant)
    };
    if model.rbac_policies.iter().any(same) {
        return Err(Refusal::conflict(
            "DuplicateRbacPolicy",
            "An RBAC policy already exists with those values.",
        ));
    }
    let policy = RbacPolicy {
        id: new_id(),
        object_type,
        object_id,
        action,
        target_tenant,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = policy.id.clone();
    model.rbac_policies.insert(policy);
    Ok(id)
}

fn update(model: &mut Model, id: &str, attributes: Attributes) -> Result<(), Refusal> {
    model.sharing_is_unused(id)?;
    let admins = attributes.are_admins();
    let row = model.rbac_policies.get_mut(id);
    let mut row = row.ok_or_else(|| not_found(id))?.clone();
    assign(&mut row, attributes)?;
    if row.target_tenant == ALL && !admins {
        return Err(only_admin("update_rbac_policy:target_tenant"));
    }
    model.rbac_policies.insert(row);
    Ok(())
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    model.sharing_is_unused(id)?;
    let gone = model.rbac_policies.remove(id);
    gone.map(|_| ()).ok_or_else(|| not_found(id))
}

impl Model {
    /// Whether a project may use what another has, by a policy. To an administrator (no project) all is visible anyway.
    pub fn shared_with(&self, project: Option<&str>, object_type: &str, id: &str) -> bool {
        let mut policies = self.rbac_policies.iter();
        policies.any(|row| {
            row.object_id == id
                && row.action == SHARED
                && row.object_type == object_type
                && (row.target_tenant == ALL || Some(row.target_tenant.as_str()) == project)
        })
    }

    /// What is gone is shared with nobody.
    pub fn forget_sharing(&mut self, object_id: &str) {
        let all = self.rbac_policies.iter();
        let gone: Vec<String> = all
            .filter(|row| row.object_id == object_id)
            .map(|row| row.id.clone())
            .collect();
        for id in gone {
            self.rbac_policies.remove(&id);
        }
    }

    /// Whether nobody uses what a policy allows.
    fn sharing_is_unused(&self, id: &str) -> Result<(), Refusal> {
        let row = self.rbac_policies.get(id).ok_or_else(|| not_found(id))?;
        let Some(network) = self.networks.get(&row.object_id) else {
            return Ok(());
        };
        let mut ports = self.ports.having(&format!("network:{}", network.id));
        let used = ports.any(|port| {
            let owner = &port.common.project_id;
            !owner.is_empty()
                && *owner != network.common.project_id
                && (row.target_tenant == ALL || row.target_tenant == *owner)
        });
        if !used {
            return Ok(());
        }
        Err(Refusal::conflict(
            "RbacPolicyInUse",
            format!(
                "RBAC policy on object {} cannot be removed because other objects depend on it.\nDetails: Unable to reconfigure \
                 sharing settings for network {}. Multiple tenants are using it.",
                row.object_id, row.object_id
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::services::network::attributes::Author;
    use crate::services::network::rbac_policy::*;

    /// What sharing a network with a project does to whether this one may use it.
    fn usable(target: &str, by: &str) -> bool {
        let mut model = Model::default();
        let fields = json!({"network": {"name": "net"}});
        let network = |fields| {
            let specs = crate::services::network::network::NETWORK.attributes;
            Attributes::for_create("network", specs, fields, Author::Member)
        };
        let create = crate::services::network::network::NETWORK.create;
        let id = create(&mut model, "owner", network(fields).unwrap()).unwrap();
        let policy = json!({"rbac_policy": {"object_type": "network", "object_id": id, "action": SHARED, "target_tenant": target}});
        let policy =
            Attributes::for_create("rbac_policy", ATTRIBUTES, policy, Author::Member).unwrap();
        let made = crate::services::network::rbac_policy::create(&mut model, "owner", policy);
        made.is_ok() && model.network_for(by, &id).is_ok()
    }

    #[test]
    fn a_network_is_shared_with_whom_the_policy_names() {
        assert!(usable("friend", "friend"));
        assert!(!usable("friend", "stranger"));
        assert!(!usable(ALL, "friend"), "a member shares with everybody");
    }
}
