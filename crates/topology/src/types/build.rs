//! Words to describe types with, so that a type's file reads like its documentation.

use serde_json::Value;

use super::*;

fn property(name: &str, kind: PropertyKind) -> Property {
    Property {
        name: name.to_owned(),
        kind,
        required: false,
        default: None,
        constraints: Vec::new(),
        on_change: OnChange::Replace,
        reference: None,
        choices: None,
        secret: false,
        multiline: false,
        summary: String::new(),
    }
}

pub(crate) fn string(name: &str) -> Property {
    property(name, PropertyKind::String)
}

pub(crate) fn integer(name: &str) -> Property {
    property(name, PropertyKind::Integer)
}

pub(crate) fn boolean(name: &str) -> Property {
    property(name, PropertyKind::Boolean)
}

pub(crate) fn list(name: &str, of: Property) -> Property {
    property(
        name,
        PropertyKind::List {
            of: Some(Box::new(of)),
        },
    )
}

/// With no keys: a map with any keys.
pub(crate) fn map(name: &str, of: Vec<Property>) -> Property {
    property(name, PropertyKind::Map { of })
}

pub(crate) fn of_kind(name: &str, kind: PropertyKind) -> Property {
    property(name, kind)
}

impl Property {
    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(crate) fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Another value keeps the resource's id.
    pub(crate) fn updates(mut self) -> Self {
        self.on_change = OnChange::UpdateInPlace;
        self
    }

    pub(crate) fn check(mut self, constraint: Constraint) -> Self {
        self.constraints.push(constraint);
        self
    }

    pub(crate) fn one_of(self, values: &[&str]) -> Self {
        self.check(Constraint::AllowedValues(
            values.iter().map(|value| Value::from(*value)).collect(),
        ))
    }

    pub(crate) fn range(self, min: f64, max: f64) -> Self {
        self.check(Constraint::Range {
            min: Some(min),
            max: Some(max),
        })
    }

    pub(crate) fn custom(self, name: &str) -> Self {
        self.check(Constraint::Custom(name.to_owned()))
    }

    pub(crate) fn nests(mut self, to: &[&str]) -> Self {
        self.reference = Some(Reference {
            role: ReferenceRole::Nests,
            to: to.iter().map(|one| (*one).to_owned()).collect(),
        });
        self
    }

    pub(crate) fn connects(mut self, to: &[&str]) -> Self {
        self.reference = Some(Reference {
            role: ReferenceRole::Connects,
            to: to.iter().map(|one| (*one).to_owned()).collect(),
        });
        self
    }

    pub(crate) fn choices(mut self, choices: Choices) -> Self {
        self.choices = Some(choices);
        self
    }

    pub(crate) fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub(crate) fn multiline(mut self) -> Self {
        self.multiline = true;
        self
    }

    pub(crate) fn summary(mut self, text: &str) -> Self {
        self.summary = text.to_owned();
        self
    }
}

pub(crate) fn attribute(name: &str, summary: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        summary: summary.to_owned(),
    }
}

pub(crate) const SERVER: &str = "OS::Nova::Server";
pub(crate) const KEY_PAIR: &str = "OS::Nova::KeyPair";
pub(crate) const NET: &str = "OS::Neutron::Net";
pub(crate) const SUBNET: &str = "OS::Neutron::Subnet";
pub(crate) const PORT: &str = "OS::Neutron::Port";
pub(crate) const ROUTER: &str = "OS::Neutron::Router";
pub(crate) const ROUTER_INTERFACE: &str = "OS::Neutron::RouterInterface";
pub(crate) const FLOATING_IP: &str = "OS::Neutron::FloatingIP";
pub(crate) const FLOATING_IP_ASSOCIATION: &str = "OS::Neutron::FloatingIPAssociation";
pub(crate) const SECURITY_GROUP: &str = "OS::Neutron::SecurityGroup";
pub(crate) const SECURITY_GROUP_RULE: &str = "OS::Neutron::SecurityGroupRule";

/// What many Neutron types have.
pub(crate) fn name() -> Property {
    string("name")
        .updates()
        .summary("Its name in the cloud; made from the deployment's name where absent.")
}

pub(crate) fn tags() -> Property {
    list("tags", string("tag"))
        .updates()
        .summary("Words to find it by.")
}

pub(crate) fn value_specs() -> Property {
    map("value_specs", vec![])
        .updates()
        .default(serde_json::json!({}))
        .summary("Further keys for the cloud's own extensions.")
}

pub(crate) fn admin_state_up() -> Property {
    boolean("admin_state_up")
        .updates()
        .default(true)
        .summary("Off: it is there and carries no traffic.")
}
