//! References to groups and nested templates, replaced by the referenced values.
//!
//! A reference to an output of a nested template is replaced by the output's expression. `[group, resource.1, name]`
//! becomes `[group/1, name]`, and `[group, name]` becomes a list over the members. A reference that cannot be replaced
//! (an attribute with a computed name) stays, and is read from the parent during the run.

use super::{
    BTreeMap, Composer, Diagnostic, Expr, OutputSpec, Parent,
    expansion::{VALUES_MAX, too_large},
    frame::own_parts,
};
use types::catalog::Need;

/// Replaces references in resources, in outputs, and in the values of parents.
pub(super) fn replace_references(
    composer: &mut Composer<'_>,
    outputs: &mut BTreeMap<String, OutputSpec>,
) {
    let types = composer.input.types;
    let mut resources = std::mem::take(&mut composer.resources);
    let mut resolver = Resolver {
        parents: &composer.parents,
        within: Vec::new(),
        problems: Vec::new(),
        left: VALUES_MAX,
        too_large: None,
    };
    for (name, spec) in &mut resources {
        let mut parents_of_value: Vec<String> = Vec::new();
        let described = types.get(&spec.resource_type);
        let item = described.and_then(|described| described.component.as_ref());
        let needs_address = |property: &str| {
            let requirement = item.and_then(|item| item.requirement(property));
            requirement.is_some_and(|requirement| requirement.needs == Need::Address)
        };
        for (property, value) in &mut spec.properties {
            let mentioned = value.resources();
            let of_parents = mentioned
                .iter()
                .filter(|name| resolver.parents.contains_key(**name));
            let of_parents: Vec<String> = of_parents.map(|name| (*name).to_owned()).collect();
            if !of_parents.is_empty() {
                *value = resolver.put(value);
                // The resources that the endpoints are made from are in the new value.
                if !needs_address(property) {
                    parents_of_value.extend(of_parents);
                }
            }
        }
        spec.requires.extend(parents_of_value);
        if let Some(parent) = resolver.parents.get(name) {
            let given = match parent {
                Parent::Nested { outputs } => outputs
                    .iter()
                    .map(|(output, value)| (output.clone(), resolver.put(value)))
                    .collect::<Vec<_>>(),
                Parent::Group { members } => resolver.of_group(name, members),
                Parent::Deployments { members } => DEPLOYED
                    .into_iter()
                    .map(|(attribute, of_member)| {
                        let of_member = Expr::text(of_member);
                        let all = resolver.map_of_members(name, members, &of_member, &[]);
                        (attribute.to_owned(), all)
                    })
                    .collect(),
                Parent::ScalingGroup { members } => {
                    let mut given = resolver.of_group(name, members);
                    given.push(("current_size".to_owned(), size_of(members)));
                    given
                }
                Parent::Instance { .. } => Vec::new(),
            };
            spec.properties.extend(given);
        }
        resolver.report(&format!("resources.{name}"), &mut composer.diagnostics);
    }
    for (name, output) in outputs {
        output.value = resolver.put(&output.value);
        resolver.report(&format!("outputs.{name}.value"), &mut composer.diagnostics);
    }
    if let Some(parent) = resolver.too_large {
        let path = format!("resources.{parent}");
        composer.error("nested-too-large", path, too_large(&parent));
    }
    composer.resources = resources;
}

/// Attributes of a group of deployments, and what each is of a member.
const DEPLOYED: [(&str, &str); 3] = [
    ("deploy_stdouts", "deploy_stdout"),
    ("deploy_stderrs", "deploy_stderr"),
    ("deploy_status_codes", "deploy_status_code"),
];

struct Resolver<'p> {
    parents: &'p std::collections::HashMap<String, Parent>,
    /// Parents whose values are being inserted, to stop at circular references.
    within: Vec<String>,
    problems: Vec<String>,
    /// Remaining parts of parents' values that can be inserted. Each level can refer to the level below many times, so
    /// the total can grow exponentially.
    left: usize,
    /// Parent at which the limit was reached.
    too_large: Option<String>,
}

impl Resolver<'_> {
    fn report(&mut self, path: &str, diagnostics: &mut Vec<Diagnostic>) {
        for message in self.problems.drain(..) {
            diagnostics.push(Diagnostic::warning("unknown-attribute", path, message));
        }
    }

    fn put(&mut self, value: &Expr) -> Expr {
        value.rewrite(&mut |expr| {
            if let Some(parent) = self.within.last() {
                match self.left.checked_sub(own_parts(expr)) {
                    Some(left) => self.left = left,
                    None => {
                        self.too_large.get_or_insert_with(|| parent.clone());
                        return None;
                    }
                }
            }
            match expr {
                Expr::GetAttr(name, path) => self.attribute(name, path),
                Expr::GetResource(name) => self.reference(name),
                _ => None,
            }
        })
    }

    /// Reference of a parent. The reference of a nested template with an output `OS::stack_id` is that output.
    fn reference(&mut self, name: &str) -> Option<Expr> {
        match self.parents.get(name)? {
            Parent::Nested { outputs } => {
                let value = outputs.get("OS::stack_id")?;
                self.below(name, value)
            }
            Parent::Group { .. }
            | Parent::ScalingGroup { .. }
            | Parent::Deployments { .. }
            | Parent::Instance { .. } => None,
        }
    }

    fn attribute(&mut self, name: &str, path: &[Expr]) -> Option<Expr> {
        let parent = self.parents.get(name)?;
        let (key, rest) = path.split_first()?;
        let key = key.as_str()?;
        let rest: Vec<Expr> = rest.iter().map(|key| self.put(key)).collect();
        if let Some(member) = key.strip_prefix("resource.") {
            return self.member(name, parent, member, rest);
        }
        match parent {
            Parent::Nested { outputs } => {
                let value = self.below(name, outputs.get(key)?)?;
                Some(value.pick(rest))
            }
            Parent::Group { members } => match (key, rest.split_first()) {
                ("removed_rsrc_list", _) => None,
                ("refs", _) => Some(self.refs(name, members).pick(rest)),
                ("refs_map", _) => Some(self.refs_map(name, members).pick(rest)),
                ("attributes", Some((attribute, more))) => {
                    Some(self.map_of_members(name, members, attribute, more))
                }
                ("attributes", None) => None,
                _ => Some(self.list_of_members(name, members, &Expr::text(key), &rest)),
            },
            // Any output of the members, by server.
            Parent::Deployments { members } => {
                let renamed = DEPLOYED
                    .into_iter()
                    .find(|(attribute, _)| *attribute == key);
                let of_member = Expr::text(renamed.map_or(key, |(_, of_member)| of_member));
                Some(
                    self.map_of_members(name, members, &of_member, &[])
                        .pick(rest),
                )
            }
            Parent::ScalingGroup { members } => match (key, rest.split_first()) {
                ("current_size", _) => Some(size_of(members)),
                ("refs", _) => Some(self.refs(name, members).pick(rest)),
                ("refs_map", _) => Some(self.refs_map(name, members).pick(rest)),
                ("outputs", Some((attribute, more))) => {
                    Some(self.map_of_members(name, members, attribute, more))
                }
                ("outputs_list", Some((attribute, more))) => {
                    Some(self.list_of_members(name, members, attribute, more))
                }
                // As in Heat, a scaling group has no other attributes.
                _ => None,
            },
            // As in Heat, all names and addresses are the first address.
            Parent::Instance { zone } => match key {
                "PrivateDnsName" | "PublicDnsName" | "PrivateIp" | "PublicIp" => {
                    let path = std::iter::once(Expr::text("first_address")).chain(rest);
                    Some(Expr::GetAttr(name.to_owned(), path.collect()))
                }
                "AvailabilityZone" => {
                    let Some(zone) = zone else {
                        self.problems.push(format!(
                            "`{name}` has no attribute `AvailabilityZone`: set its property of this name, or leave the reference out"
                        ));
                        return Some(Expr::Literal(serde_json::Value::Null));
                    };
                    Some(self.below(name, zone)?.pick(rest))
                }
                _ => None,
            },
        }
    }

    /// Value of a parent, with its own references replaced.
    fn below(&mut self, name: &str, value: &Expr) -> Option<Expr> {
        if self.within.iter().any(|outer| outer == name) {
            return None;
        }
        self.within.push(name.to_owned());
        let value = self.put(value);
        self.within.pop();
        Some(value)
    }

    /// Resolves `resource.web.first_address`, or `resource.web` and then `first_address`. Without an attribute, returns
    /// the member's reference.
    fn member(
        &mut self,
        name: &str,
        parent: &Parent,
        first: &str,
        rest: Vec<Expr>,
    ) -> Option<Expr> {
        let (member, attribute) = match first.split_once('.') {
            Some((member, attribute)) => (member, Some(attribute)),
            None => (first, None),
        };
        let found = match parent {
            Parent::Nested { .. } => Some(member),
            Parent::Instance { .. } => None,
            Parent::Group { members } | Parent::Deployments { members } => members
                .iter()
                .map(String::as_str)
                .find(|one| *one == member),
            // Members of a scaling group are counted from the oldest.
            Parent::ScalingGroup { members } => {
                let number = member.parse::<usize>().ok();
                number
                    .and_then(|number| members.get(number))
                    .map(String::as_str)
            }
        };
        let Some(member) = found else {
            let has = match parent {
                Parent::Group { members } if !members.is_empty() => {
                    let (count, first) = (members.len(), &members[0]);
                    format!("it has {count}, named by numbers from `{first}` on")
                }
                Parent::ScalingGroup { members } if !members.is_empty() => {
                    format!("it has {}, counted from 0", members.len())
                }
                _ => "it has none".to_owned(),
            };
            // Heat returns null here: a group can have fewer members than a template refers to.
            self.problems
                .push(format!("`{name}` has no member `{member}`: {has}"));
            return Some(Expr::Literal(serde_json::Value::Null));
        };
        let full = format!("{name}/{member}");
        let mut path: Vec<Expr> = attribute.map(Expr::text).into_iter().collect();
        path.extend(rest);
        let reference = if path.is_empty() {
            Expr::GetResource(full)
        } else {
            Expr::GetAttr(full, path)
        };
        Some(self.put(&reference))
    }

    fn of_member(&mut self, name: &str, member: &str, attribute: Expr, rest: &[Expr]) -> Expr {
        let path = std::iter::once(attribute)
            .chain(rest.iter().cloned())
            .collect();
        self.put(&Expr::GetAttr(format!("{name}/{member}"), path))
    }

    fn list_of_members(
        &mut self,
        name: &str,
        members: &[String],
        attribute: &Expr,
        rest: &[Expr],
    ) -> Expr {
        let of_all = members
            .iter()
            .map(|member| self.of_member(name, member, attribute.clone(), rest));
        Expr::List(of_all.collect())
    }

    fn map_of_members(
        &mut self,
        name: &str,
        members: &[String],
        attribute: &Expr,
        rest: &[Expr],
    ) -> Expr {
        let of_all = members.iter().map(|member| {
            let value = self.of_member(name, member, attribute.clone(), rest);
            (member.clone(), value)
        });
        Expr::Map(of_all.collect())
    }

    fn refs(&mut self, name: &str, members: &[String]) -> Expr {
        let refs = members
            .iter()
            .map(|member| self.put(&Expr::GetResource(format!("{name}/{member}"))));
        Expr::List(refs.collect())
    }

    fn refs_map(&mut self, name: &str, members: &[String]) -> Expr {
        let refs = members.iter().map(|member| {
            let reference = self.put(&Expr::GetResource(format!("{name}/{member}")));
            (member.clone(), reference)
        });
        Expr::Map(refs.collect())
    }

    /// Values of a group, for references whose attribute name is not known yet.
    fn of_group(&mut self, name: &str, members: &[String]) -> Vec<(String, Expr)> {
        vec![
            ("refs".to_owned(), self.refs(name, members)),
            ("refs_map".to_owned(), self.refs_map(name, members)),
        ]
    }
}

fn size_of(members: &[String]) -> Expr {
    Expr::Literal(members.len().into())
}
