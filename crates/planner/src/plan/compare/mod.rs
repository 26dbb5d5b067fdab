//! Compares a deployed resource with its planned description.
//!
//! A property that refers to other resources is compared by value, if the value is known: each deployed resource is
//! stored with the values that it was created from, and with its reference and attributes. If another resource is
//! replaced, the value will differ (`get_resource`) or can differ (`get_attr`, which is known only during the run). Providers
//! of which a component needs the address only are in [`endpoints`], resources that keep their ids and get other addresses
//! in [`mod@moves`].

mod endpoints;
mod moves;

pub(super) use moves::moves;

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::{
    Action, Actual, Change, Deployed, Model,
    differences::{Differences, Differs},
    exclusive, nested,
};
use crate::workflow::{Origin, ResourceSpec, copy_of};
use hot::{
    expr::{Expr, Scope},
    template::DeletionPolicy,
};
use types::{
    FLOATING_IP, FLOATING_IP_ASSOCIATION, OnChange, PORT, ROUTER_INTERFACE, Registry, ResourceType,
    SERVER, SUBNET, UPDATE_WAIT_CONDITION_HANDLE,
};

/// Changes of the resources that are already compared.
pub(super) struct Comparison<'a> {
    pub deployed: &'a Deployed,
    pub types: &'a Registry,
    pub of: HashMap<String, ResourceChange>,
    /// Resources that create the deployment's own keys, by name.
    pub keys: HashSet<String>,
    /// The planned resources.
    pub model: &'a Model,
}

/// The change of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResourceChange {
    pub action: Action,
    /// True if the change is decided only during the run.
    pub may: bool,
    /// True if the resource can keep its id and get other addresses.
    pub moves: bool,
    pub component: bool,
}

/// Present values of resources that stay unchanged.
struct UnchangedScope<'a>(&'a Comparison<'a>);

impl UnchangedScope<'_> {
    fn actual(&self, resource: &str, allowed: &[Action]) -> Option<&Actual> {
        let compared = self.0.of.get(resource)?;
        allowed
            .contains(&compared.action)
            .then(|| self.0.deployed.actual.get(resource))?
    }
}

impl Scope for UnchangedScope<'_> {
    fn parameter(&self, _: &str) -> Option<Value> {
        None
    }

    fn reference(&self, resource: &str) -> Option<Value> {
        let component = self.0.of.get(resource)?.component;
        let allowed: &[Action] = if component {
            &[Action::None]
        } else {
            &[Action::None, Action::Update]
        };
        self.actual(resource, allowed)?.reference.clone()
    }

    fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
        let actual = self.actual(resource, &[Action::None])?;
        actual.reference.as_ref()?;
        // On-demand attributes are not stored; their values are known only during the run.
        actual.attributes.get(name).cloned()
    }
}

impl Comparison<'_> {
    /// The change of `name`, which is deployed as `old` (under the name `deployed_as`) and planned as `new`.
    pub fn compare(
        &self,
        name: &str,
        deployed_as: &str,
        old: &ResourceSpec,
        new: &ResourceSpec,
    ) -> Change {
        if old.resource_type != new.resource_type {
            let because = format!(
                "its type changes from `{}`: it will be replaced",
                old.resource_type
            );
            return change(Action::Replace, name, new, Some(because));
        }
        if new.external_id.is_some() && old.external_id == new.external_id {
            return change(Action::None, name, new, None);
        }
        let mut found = self.differences(deployed_as, old, new);
        let properties = std::mem::take(&mut found.properties);
        if found.replaced_by.is_none()
            && let Some(because) = self.other_replacement(deployed_as, old, new)
        {
            return Change {
                properties,
                ..change(Action::Replace, name, new, Some(because))
            };
        }
        let upgrade = upgrade(old, new);
        let upgrades = upgrade.is_some();
        let others = properties.len().saturating_sub(1);
        let (action, may, because) = match found.cause(upgrade, others) {
            Some((action, may, because)) => (action, may, Some(because)),
            None => match self.other_update(old, new) {
                Some(because) => (Action::Update, false, Some(because)),
                None => (Action::None, false, None),
            },
        };
        Change {
            properties,
            may,
            upgrades: upgrades && action == Action::Update,
            ..change(action, name, new, because)
        }
    }

    /// The properties that differ.
    fn differences<'p>(
        &self,
        deployed_as: &str,
        old: &'p ResourceSpec,
        new: &'p ResourceSpec,
    ) -> Differences<'p> {
        let described = self.types.get(&new.resource_type);
        let is_component = described.is_some_and(ResourceType::runs_on_server);
        let made_from = self.deployed.actual.get(deployed_as);
        let hidden = self.deployed.hidden_changed_of(deployed_as);
        let consumer = copy_of(deployed_as).unwrap_or(deployed_as);
        let mut names: Vec<&String> = old.properties.keys().chain(new.properties.keys()).collect();
        names.sort();
        names.dedup();

        let mut all = Differences::default();
        for property in names {
            let (before, after) = (old.properties.get(property), new.properties.get(property));
            let made = made_from.and_then(|actual| actual.made_from.get(property));
            let found = if before == after {
                of_another_value(after, hidden)
                    .or_else(|| self.endpoints(consumer, described, property, after))
            } else {
                None
            };
            let found = found
                .unwrap_or_else(|| self.property(described, property, before, after, made))
                .or_stronger(self.addresses(new, described, property));
            if found == Differs::No || is_ignored(new, property) {
                continue;
            }
            let known = described.and_then(|described| described.property(property));
            let replaces = !is_component
                && !crate::members::is_parent(&new.resource_type)
                && (known.is_none_or(|known| known.on_change == OnChange::Replace)
                    || is_replaced_by_policy(new, property));
            let why = all.add(property, found, replaces);
            let mut places = nested::places(property, known, before, after);
            if places.is_empty() {
                places.push(nested::whole(property.clone(), known, before, after));
            }
            for place in &mut places {
                place.replaces = replaces;
                place.because.clone_from(&why);
                place.known_after.retain(|name| {
                    let compared = self.of.get(name);
                    compared.is_some_and(|compared| {
                        !matches!(compared.action, Action::None | Action::Delete)
                    })
                });
            }
            all.properties.extend(places);
        }
        all
    }

    /// The reason why a resource is replaced although none of its properties requires that.
    fn other_replacement(
        &self,
        deployed_as: &str,
        old: &ResourceSpec,
        new: &ResourceSpec,
    ) -> Option<String> {
        if self.needs_key(old, new) {
            let what = if new.marks.signals_over_ssh {
                "its signals are fetched over SSH"
            } else {
                "it gets software"
            };
            return Some(format!(
                "{what}, and a login can be given to it at its first boot only: it will be replaced"
            ));
        }
        let loss = self.loses_its_addresses(deployed_as, old, new);
        loss.or_else(|| {
            let is_fresh = new.resource_type == UPDATE_WAIT_CONDITION_HANDLE;
            is_fresh.then(|| {
                "servers signal to a new one at each update: it will be replaced".to_owned()
            })
        })
    }

    /// The reason why a resource is updated although none of its properties differs.
    fn other_update(&self, old: &ResourceSpec, new: &ResourceSpec) -> Option<String> {
        let described = self.types.get(&new.resource_type);
        let is_component = described.is_some_and(ResourceType::runs_on_server);
        if old.deletion_policy != new.deletion_policy && !is_component {
            return Some(format!(
                "`deletion_policy` changes from {} to {}: nothing of it changes in the cloud",
                old.deletion_policy.as_text(),
                new.deletion_policy.as_text()
            ));
        }
        let foot = self.changed_interface(new)?;
        Some(format!(
            "`{foot}`, which it needs, is replaced: it is associated again"
        ))
    }

    fn property(
        &self,
        described: Option<&ResourceType>,
        name: &str,
        before: Option<&Expr>,
        after: Option<&Expr>,
        made: Option<&Value>,
    ) -> Differs {
        let Some(after) = after else {
            return if is_default(described, name, before, after) {
                Differs::No
            } else {
                Differs::Yes(None)
            };
        };
        if after.resources().is_empty() {
            let same = before == Some(after)
                || is_default(described, name, before, Some(after))
                || made.is_some_and(|made| is_literal(after) && after.to_json() == *made);
            return if same {
                Differs::No
            } else {
                Differs::Yes(None)
            };
        }
        match (after.resolve(&UnchangedScope(self)), made) {
            (Ok(value), Some(made)) if value == *made => Differs::No,
            (Ok(_), Some(_)) if before == Some(after) => {
                let name = after.resources().first().copied().unwrap_or_default();
                Differs::Yes(Some(format!(
                    "`{name}` is another one than it was made with"
                )))
            }
            _ if before != Some(after) => Differs::Yes(None),
            _ => self.mentioned(after),
        }
    }

    /// The effect of other resources' changes on an unchanged expression that refers to them.
    fn mentioned(&self, value: &Expr) -> Differs {
        let mut found = Differs::No;
        value.walk(&mut |expr| {
            let (name, by_attribute) = match expr {
                Expr::GetResource(name) => (name, false),
                Expr::GetAttr(name, _) => (name, true),
                _ => return,
            };
            let Some(compared) = self.of.get(name) else {
                return;
            };
            let next = match (compared.action, by_attribute) {
                (Action::None | Action::Delete, _) => return,
                (Action::Update, true) => Differs::May(format!("`{name}` changes")),
                (Action::Update, false) if compared.component => {
                    Differs::May(format!("`{name}` is set up again"))
                }
                (Action::Update, false) if self.never_was_ready(name) => {
                    Differs::Yes(Some(format!("`{name}` is created anew")))
                }
                (Action::Update, false) => return,
                (Action::Create | Action::Replace, true) => {
                    Differs::May(format!("`{name}` is created anew"))
                }
                (_, false) if compared.may => Differs::May(format!("`{name}` may be replaced")),
                (Action::Create, false) => Differs::Yes(Some(format!("`{name}` is created anew"))),
                (Action::Replace, false) => Differs::Yes(Some(format!("`{name}` is replaced"))),
            };
            found = std::mem::replace(&mut found, Differs::No).or_stronger(next);
        });
        found
    }

    /// True if no successful creation was recorded: values in other resources then come from an earlier copy.
    fn never_was_ready(&self, name: &str) -> bool {
        let actual = self.deployed.actual.get(name);
        actual.is_some_and(|actual| actual.reference.is_none())
    }

    /// True if a resource is certainly replaced.
    fn is_replaced(&self, name: &str) -> bool {
        let compared = self.of.get(name);
        compared.is_some_and(|compared| compared.action == Action::Replace && !compared.may)
    }

    /// Reason for replacing a port whose subnet is deleted. A port can have addresses of subnets that none of its
    /// properties names. If such a subnet is deleted, the port is deleted before it, since Neutron refuses the deletion
    /// otherwise. A port that names its subnets is updated in place, unless the new subnet has to wait for the deletion
    /// of the old one.
    fn loses_its_addresses(
        &self,
        deployed_as: &str,
        old: &ResourceSpec,
        new: &ResourceSpec,
    ) -> Option<String> {
        if new.resource_type != PORT {
            return None;
        }
        let resources = &self.deployed.resources;
        let is_replaced = |name: &str| self.is_replaced(name);
        let scope = exclusive::Scope {
            deployed: self.deployed,
            model: self.model,
            is_replaced: &is_replaced,
        };
        let subnet = old.requires.iter().find(|name| {
            let goes = self.is_replaced(name) || self.model.get(name).is_none();
            let removed = |subnet: &ResourceSpec| {
                subnet.resource_type == SUBNET
                    && subnet.external_id.is_none()
                    && subnet.deletion_policy != DeletionPolicy::Retain
            };
            goes && resources.get(*name).is_some_and(removed)
                && self.has_address_of(deployed_as, name)
                && (!exclusive::names_its_subnets(new) || exclusive::is_crowded(&scope, name))
        })?;
        let how = match self.model.get(subnet) {
            Some(_) => "is replaced",
            None => "is deleted",
        };
        Some(format!(
            "it has an address of `{subnet}`, which {how}: it will be replaced"
        ))
    }

    /// True if the port has an address of the subnet, according to its attributes, or if these are unknown.
    fn has_address_of(&self, port: &str, subnet: &str) -> bool {
        let actual = |name: &str| self.deployed.actual.get(name);
        let addresses = actual(port).and_then(|actual| actual.attributes.get("fixed_ips"));
        let id = actual(subnet).and_then(|actual| actual.reference.as_ref());
        match (addresses, id) {
            (Some(Value::Array(addresses)), Some(id)) => addresses
                .iter()
                .any(|address| address.get("subnet_id") == Some(id)),
            _ => true,
        }
    }

    /// Router interface that a floating IP depends on, if it is created or replaced: Neutron releases the floating IP
    /// meanwhile.
    fn changed_interface<'s>(&self, new: &'s ResourceSpec) -> Option<&'s str> {
        let is_associated = match new.resource_type.as_str() {
            FLOATING_IP => new.properties.contains_key("port_id"),
            FLOATING_IP_ASSOCIATION => true,
            _ => false,
        };
        let is_interface = |name: &str| {
            let foot = self.model.get(name);
            foot.is_some_and(|foot| foot.resource_type == ROUTER_INTERFACE)
        };
        let fresh = |name: &str| {
            let compared = self.of.get(name);
            compared
                .is_some_and(|compared| matches!(compared.action, Action::Create | Action::Replace))
        };
        let mut required = new.requires.iter().map(String::as_str);
        required.find(|name| is_associated && is_interface(name) && fresh(name))
    }

    /// True for a server that was created without the deployment's key and needs it now.
    fn needs_key(&self, old: &ResourceSpec, new: &ResourceSpec) -> bool {
        let waits_for_key =
            |spec: &ResourceSpec| spec.requires.iter().any(|name| self.keys.contains(name));
        new.resource_type == SERVER && waits_for_key(new) && !waits_for_key(old)
    }
}

/// Change without properties.
pub(super) fn change(
    action: Action,
    name: &str,
    spec: &ResourceSpec,
    because: Option<String>,
) -> Change {
    Change {
        action,
        resource: name.to_owned(),
        resource_type: spec.resource_type.clone(),
        origin: spec.origin.clone(),
        because,
        may: false,
        old_goes_first: false,
        upgrades: false,
        repairs: false,
        properties: Vec::new(),
    }
}

/// The reason of an update if the component was set up with another version of its item. A component without a recorded
/// version is not upgraded.
fn upgrade(old: &ResourceSpec, new: &ResourceSpec) -> Option<String> {
    let (before, after) = (old.version.as_ref()?, new.version.as_ref()?);
    (before != after).then(|| format!("its item changes from version {before} to {after}"))
}

/// Purpose of a derived resource.
pub(super) fn why(spec: &ResourceSpec) -> Option<String> {
    match &spec.origin {
        Origin::Drawn => None,
        Origin::Derived { why, .. } => Some(why.clone()),
    }
}

/// The difference if an unchanged text refers to a hidden parameter whose value has changed.
fn of_another_value(text: Option<&Expr>, hidden: &BTreeSet<String>) -> Option<Differs> {
    let text = text.filter(|_| !hidden.is_empty())?;
    let mut found = None;
    text.walk(&mut |expr| {
        if let Expr::GetParam(name, _) = expr
            && hidden.contains(name)
        {
            found.get_or_insert(name.as_str());
        }
    });
    let parameter = hot::parameter::plain_name(found?);
    let why = format!("the value of `{parameter}` changes");
    Some(Differs::Yes(Some(why)))
}

/// True if a default value is added or removed in the text, which is no change.
fn is_default(
    described: Option<&ResourceType>,
    property: &str,
    before: Option<&Expr>,
    after: Option<&Expr>,
) -> bool {
    let default = described.and_then(|described| described.property(property)?.default.as_ref());
    let (Some(default), (Some(given), None) | (None, Some(given))) = (default, (before, after))
    else {
        return false;
    };
    given.to_json() == *default
}

fn is_literal(value: &Expr) -> bool {
    let mut literal = true;
    value.walk(&mut |expr| {
        literal &= matches!(expr, Expr::Literal(_) | Expr::List(_) | Expr::Map(_));
    });
    literal
}

fn policy<'a>(spec: &'a ResourceSpec, name: &str) -> Option<&'a str> {
    spec.properties.get(name)?.as_str()
}

/// Heat's `flavor_update_policy`: a new flavor can replace the server.
fn is_replaced_by_policy(spec: &ResourceSpec, property: &str) -> bool {
    spec.resource_type == SERVER
        && property == "flavor"
        && policy(spec, "flavor_update_policy") == Some("REPLACE")
}

/// Heat's `user_data_update_policy`: new user data can be ignored until the server is replaced.
fn is_ignored(spec: &ResourceSpec, property: &str) -> bool {
    spec.resource_type == SERVER
        && (property == "user_data" && policy(spec, "user_data_update_policy") == Some("IGNORE"))
}
