//! Security groups: named sets of rules. Every project has one named `default`, created with the first list or use.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::field::{Field, Form, always, never};
use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::Body;
use crate::services::network::security_group_rule::{Direction, EtherType, SecurityGroupRule};
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};

/// A security group. Its rules are separate rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecurityGroup {
    pub id: String,
    /// The name. Only `default` is unique.
    pub name: String,
    /// Always true: replies to allowed traffic are allowed.
    pub stateful: bool,
    pub shared: bool,
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(SecurityGroup);
crate::services::network::row!(SecurityGroup, name);

const FIELDS: &[Field] = &[
    always("name", Form::Text),
    always("stateful", Form::Bool),
    never("shared", Form::Bool),
    never("security_group_rules", Form::Any),
];

pub static SECURITY_GROUP: Collection = Collection {
    collection: "security-groups",
    singular: "security_group",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |model, group, project| {
        let id = group["id"].as_str().unwrap_or_default();
        model.shared_with(Some(project), "security_group", id)
    },
    missing: ("SecurityGroupNotFound", "Security group {} does not exist"),
    rows: Rows::Typed {
        list: |model, query| {
            let show = |row: &SecurityGroup| shown(model, row);
            let shared =
                |row: &SecurityGroup| model.shared_with(query.project, "security_group", &row.id);
            query.values(model.security_groups.iter(), shared, show)
        },
        get: |model, id| model.security_groups.get(id).map(|row| shown(model, row)),
        create,
        update,
        delete,
    },
};

/// The document with the group's rules.
fn shown(model: &Model, row: &SecurityGroup) -> Value {
    let mut value = to_value(row);
    let rules = model
        .security_group_rules
        .iter()
        .filter(|rule| rule.security_group_id == row.id);
    value["security_group_rules"] = rules.map(to_value).collect();
    value
}

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    model.default_security_group(project_id);
    model
        .quotas
        .check_count(project_id, "security_group", model.security_groups.iter())?;
    let name = attributes.text("name")?.unwrap_or_default();
    if name == "default" {
        return Err(only_one_default());
    }
    if attributes.flag("stateful") == Some(false) {
        return Err(Refusal::bad_request(
            "The lab cloud has stateful security groups only.",
        ));
    }
    let common = Common::new(project_id, &mut attributes)?;
    Ok(model.add_security_group(name, common))
}

fn only_one_default() -> Refusal {
    Refusal::conflict(
        "SecurityGroupDefaultAlreadyExists",
        "Default security group already exists.",
    )
}

fn update(model: &mut Model, id: &str, mut attributes: Body) -> Result<(), Refusal> {
    let group = model
        .security_groups
        .get_mut(id)
        .ok_or_else(|| SECURITY_GROUP.not_found(id))?;
    if group.name == "default" && attributes.has("name") {
        return Err(Refusal::conflict(
            "SecurityGroupCannotUpdateDefault",
            "Updating default security group not allowed.",
        ));
    }
    if let Some(name) = attributes.text("name")? {
        if name == "default" {
            return Err(only_one_default());
        }
        attributes.set("name", name);
    }
    attributes.take("stateful");
    assign(group, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let group = model
        .security_groups
        .get(id)
        .ok_or_else(|| SECURITY_GROUP.not_found(id))?;
    if group.name == "default" {
        return Err(Refusal::conflict(
            "SecurityGroupCannotRemoveDefault",
            "Insufficient rights for removing default security group.",
        ));
    }
    if model.ports.has(&format!("group:{id}")) {
        return Err(Refusal::conflict(
            "SecurityGroupInUse",
            format!("Security Group {id} in use."),
        ));
    }
    model.security_groups.remove(id);
    let gone = |rule: &SecurityGroupRule| {
        rule.security_group_id == id || rule.remote_group_id.as_deref() == Some(id)
    };
    let rules: Vec<String> = model
        .security_group_rules
        .iter()
        .filter(|rule| gone(rule))
        .map(|rule| rule.id.clone())
        .collect();
    for rule in rules {
        model.security_group_rules.remove(&rule);
    }
    Ok(())
}

impl Model {
    /// The id of the project's `default` group. It is created on first use, as in Neutron.
    pub fn default_security_group(&mut self, project_id: &str) -> String {
        let found = self
            .security_groups
            .iter()
            .find(|row| row.name == "default" && row.common.project_id == project_id);
        if let Some(group) = found {
            return group.id.clone();
        }
        let mut common = Common::new(project_id, &mut Body::default()).unwrap_or_default();
        common.description = "Default security group".into();
        let id = self.add_security_group("default".into(), common);
        for ethertype in [EtherType::IPv4, EtherType::IPv6] {
            let rule = SecurityGroupRule::any(
                &id,
                project_id,
                Direction::Ingress,
                ethertype,
                Some(id.clone()),
            );
            self.security_group_rules.insert(rule);
        }
        id
    }

    fn add_security_group(&mut self, name: String, common: Common) -> String {
        let id = new_id();
        let project_id = common.project_id.clone();
        self.security_groups.insert(SecurityGroup {
            id: id.clone(),
            name,
            stateful: true,
            shared: false,
            common,
        });
        for ethertype in [EtherType::IPv4, EtherType::IPv6] {
            let rule = SecurityGroupRule::any(&id, &project_id, Direction::Egress, ethertype, None);
            self.security_group_rules.insert(rule);
        }
        id
    }

    /// Checks that all these groups exist and are visible to the project.
    pub fn security_groups_for(
        &self,
        project_id: &str,
        ids: &[String],
    ) -> Result<Vec<String>, Refusal> {
        let mut found: Vec<String> = Vec::new();
        for id in ids {
            let row = self.security_groups.get(id);
            let visible = row.is_some_and(|row| {
                row.common.project_id == project_id
                    || self.shared_with(Some(project_id), "security_group", id)
            });
            if !visible {
                return Err(SECURITY_GROUP.not_found(id));
            }
            if !found.contains(id) {
                found.push(id.clone());
            }
        }
        Ok(found)
    }
}
