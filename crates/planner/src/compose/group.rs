//! `OS::Heat::ResourceGroup`: one definition with a number of members.
//!
//! Member names are numbers. A number that was removed by name is not used again, so that the other members keep their
//! numbers. Removed numbers are in the group's attribute `removed_rsrc_list`, which is stored with the deployment.
//! Source: Heat's `resource_group.py`.

use super::{
    BTreeMap, BTreeSet, Composer, Expr, Frame, GROUP, Parent, Place, RESOURCES_MAX, ResourceSpec,
    Value,
    batches::{self, Batches},
    text_of,
};
use crate::{
    members::{index_variable, put_index},
    scaling::whole_number,
};
use hot::template::{DeletionPolicy, Marks};

const REMOVED: &str = "removed_rsrc_list";

/// Members that a group gets.
pub(super) struct Members<'m> {
    /// Property with the definition of the members.
    pub definition: &'static str,
    /// Word in the definition that becomes the member's name, if there is one.
    pub index_variable: Option<&'m str>,
    /// Names of the members, in order.
    pub names: &'m [String],
    pub batches: Option<Batches>,
}

impl Composer<'_> {
    pub(super) fn group(&mut self, frame: &Frame<'_>, name: &str, spec: ResourceSpec) {
        let full = frame.full(name);
        let inherits = self.waits_for(frame, &spec);
        let first = self.resources.len();
        let removed = self.removed(&full, &spec);
        let members = if self.may_nest(frame, name) {
            let names = self.names(frame, &full, &spec, &removed);
            let batches = batches::of_policy(self, frame, name, names.len());
            let members = Members {
                definition: "resource_def",
                index_variable: Some(index_variable(spec.properties.get("index_var"))),
                names: &names,
                batches,
            };
            self.members(frame, name, &spec, members, &inherits);
            names
        } else {
            Vec::new()
        };
        let mut properties = BTreeMap::new();
        if !removed.is_empty() {
            let removed = removed.into_iter().map(Expr::text).collect();
            properties.insert(REMOVED.to_owned(), Expr::List(removed));
        }
        let parent = ResourceSpec {
            resource_type: GROUP.to_owned(),
            properties,
            ..spec
        };
        self.parent(full, parent, inherits, Parent::Group { members }, first);
    }

    /// Names of the members, in order.
    fn names(
        &mut self,
        frame: &Frame<'_>,
        full: &str,
        spec: &ResourceSpec,
        removed: &BTreeSet<String>,
    ) -> Vec<String> {
        let count = match spec.properties.get("count") {
            None => 1,
            Some(given) => self.whole_number(frame, full, "count", given).unwrap_or(0),
        };
        if count > RESOURCES_MAX as u64 {
            let message = format!(
                "`{full}` would have {count} members; there may be {RESOURCES_MAX} resources in all"
            );
            let path = format!("resources.{full}.properties.count");
            self.error("too-many-resources", path, message);
            return Vec::new();
        }
        (0..)
            .map(|number: u64| number.to_string())
            .filter(|name| !removed.contains(name))
            .take(count as usize)
            .collect()
    }

    /// Number in a property that decides how many members a group has. `None` if it is unknown, which is reported.
    pub(super) fn whole_number(
        &mut self,
        frame: &Frame<'_>,
        full: &str,
        property: &str,
        given: &Expr,
    ) -> Option<u64> {
        let number = whole_number(given);
        // A parameter without a value is reported elsewhere, if it matters.
        if number.is_none() && !self.waits_for_value(frame, given) {
            let message = format!(
                "how many members `{full}` has must be known when the plan is made: `{property}` is a whole number, 0 or more, \
                 by itself or from parameters that are not hidden"
            );
            let path = format!("resources.{full}.properties.{property}");
            self.error("group-count", path, message);
        }
        number
    }

    /// True if only values of the template's own parameters are missing: then no plan is made before these values are
    /// given. If another value is unknown (attributes, hidden values), an empty group would be planned by mistake.
    fn waits_for_value(&self, frame: &Frame<'_>, given: &Expr) -> bool {
        let parameters = &self.input.document.template().parameters;
        let (mut waits, mut more) = (false, false);
        frame.global_expr(given).walk(&mut |expr| match expr {
            Expr::GetParam(name, _) => {
                let declared = parameters.iter().find(|one| one.name == *name);
                let lacks = declared.is_some_and(|one| !one.hidden)
                    && self.input.scope.parameter(name).is_none();
                waits |= lacks;
                more |= !lacks;
            }
            Expr::GetAttr(..) | Expr::GetResource(_) => more = true,
            _ => {}
        });
        waits && !more
    }

    /// Names that are not used again: stored names, if they are kept, and names that the template removes now.
    fn removed(&self, full: &str, spec: &ResourceSpec) -> BTreeSet<String> {
        let there = &self.input.deployed.resources;
        let of_old = there.get(full).and_then(|old| old.properties.get(REMOVED));
        let of_old: BTreeSet<String> = match of_old {
            Some(Expr::List(names)) => names
                .iter()
                .filter_map(Expr::as_str)
                .map(str::to_owned)
                .collect(),
            _ => BTreeSet::new(),
        };
        let update = spec
            .properties
            .get("removal_policies_mode")
            .and_then(Expr::as_str)
            == Some("update");
        let policies = match spec.properties.get("removal_policies") {
            Some(Expr::List(policies)) => policies.as_slice(),
            _ => &[],
        };
        let named = policies
            .iter()
            .filter_map(|policy| match policy.get("resource_list")? {
                Expr::List(names) => Some(names.as_slice()),
                _ => None,
            })
            .flatten()
            .filter_map(|name| match name {
                Expr::Literal(value) => text_of(value),
                _ => None,
            })
            // In a new group all given names are skipped, as in Heat. Later, only names of present or former members
            // are skipped, because other values can be ids.
            .filter_map(|name| {
                let is_name = !there.contains_key(full)
                    || of_old.contains(&name)
                    || there.contains_key(&format!("{full}/{name}"));
                if is_name {
                    Some(name)
                } else {
                    self.with_id(full, &name)
                }
            });
        let named: BTreeSet<String> = named.collect();
        if update {
            named
        } else {
            named.union(&of_old).cloned().collect()
        }
    }

    /// Member of a group with this cloud id.
    fn with_id(&self, full: &str, id: &str) -> Option<String> {
        let deployed = self.input.deployed;
        let start = format!("{full}/");
        let mut members = deployed.actual.iter();
        members.find_map(|(name, actual)| {
            let member = name.strip_prefix(&start)?;
            let is_it = actual.reference.as_ref().and_then(Value::as_str) == Some(id);
            (is_it && !member.contains(['/', '@'])).then(|| member.to_owned())
        })
    }

    /// Adds the members of a group.
    pub(super) fn members(
        &mut self,
        frame: &Frame<'_>,
        name: &str,
        spec: &ResourceSpec,
        members: Members<'_>,
        inherits: &[String],
    ) {
        let Members {
            definition: property,
            index_variable: word,
            names,
            batches,
        } = members;
        let full = frame.full(name);
        let path = || format!("resources.{full}.properties.{property}");
        let Some(given) = spec.properties.get(property) else {
            return;
        };
        // In a literal definition, `%index%` is also replaced in names of parameters and in keys. Other definitions are
        // resolved here.
        let definition = match given {
            Expr::Map(_) => given.clone(),
            other => self.simplified(frame, other, &path),
        };
        let written = definition
            .get("type")
            .map(|written| self.simplified(frame, written, &path));
        let Some(written) = written.as_ref().and_then(Expr::as_str) else {
            let message =
                format!("`{full}` does not define its members: `{property}` needs a `type`");
            return self.error("group-definition", path(), message);
        };
        let put_index = |value: &Expr, member: &str| match word {
            Some(word) => put_index(value, word, member),
            None => value.clone(),
        };
        let deletion_policy = definition.get("deletion_policy").and_then(Expr::as_str);
        let deletion_policy = deletion_policy.and_then(DeletionPolicy::of_text);
        let pause = batches.and_then(|batches| batches.pause(&full, names));
        self.pauses.extend(pause);
        let marks = marks(definition.get("metadata"));
        let place = self.place_of_definition(frame, name, property);
        for (number, member) in names.iter().enumerate() {
            if self.full || self.is_too_much {
                return;
            }
            let short = format!("{name}/{member}");
            let mut properties = BTreeMap::new();
            if let Some(Expr::Map(entries)) = definition.get("properties") {
                for (key, value) in entries {
                    let value = put_index(value, member);
                    let path = || format!("{}.properties.{key}", path());
                    let value = self.simplified(frame, &value, &path);
                    if !value.is_null() {
                        properties.insert(key.clone(), value);
                    }
                }
            }
            let mut inherits = inherits.to_vec();
            let before = batches.map_or(&[][..], |batches| batches.before(number, names));
            inherits.extend(before.iter().map(|other| format!("{full}/{other}")));
            let made = ResourceSpec {
                resource_type: written.to_owned(),
                properties,
                marks: marks.clone(),
                origin: spec.origin.clone(),
                requires: Vec::new(),
                depends_on: spec.depends_on.clone(),
                deletion_policy: deletion_policy.unwrap_or_default(),
                external_id: None,
                version: None,
            };
            self.places.insert(frame.full(&short), place.clone());
            if let Some(metadata) = definition.get("metadata") {
                let metadata = put_index(metadata, member);
                self.metadata.insert(frame.full(&short), metadata);
            }
            self.resource(&frame.deeper(inherits), &short, made);
        }
    }

    /// Place of the definition of a group's members.
    fn place_of_definition(&self, frame: &Frame<'_>, name: &str, property: &str) -> Place {
        let full = frame.full(name);
        match self.places.get(&full) {
            Some(place) => Place {
                path: format!("{}.properties.{property}", place.path),
                ..place.clone()
            },
            None => Place {
                file: frame.file.map(str::to_owned),
                path: format!("resources.{name}.properties.{property}"),
            },
        }
    }
}

/// Marks in `metadata: {stackloom: ...}` of a definition.
fn marks(metadata: Option<&Expr>) -> Marks {
    let is_set = |mark: &str| {
        metadata
            .and_then(|metadata| metadata.get("stackloom"))
            .and_then(|ours| ours.get(mark))
            == Some(&Expr::Literal(Value::Bool(true)))
    };
    Marks {
        public: is_set("public"),
        bastion: is_set("bastion"),
        ..Marks::default()
    }
}
