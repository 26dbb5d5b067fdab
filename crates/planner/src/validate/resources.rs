//! Checks of one resource: its type, its policies, its references. Its properties are checked in `values`.

use super::*;

impl<'a> Checker<'a> {
    pub(super) fn resource(&mut self, resource: &'a Resource) {
        let top = Path::top("resources");
        let path = top.key(&resource.name);
        if !self.is_on(resource.condition.as_ref(), &path) {
            let message = format!(
                "`{}` is left out: its condition does not hold",
                resource.name
            );
            self.diagnostics
                .push(Diagnostic::info("resource-off", path.to_string(), message));
            return;
        }
        self.resource_type(resource, &path);
        for (index, (name, _)) in resource.depends_on.iter().enumerate() {
            if !self.index.contains_key(name.as_str()) {
                let depends_on = path.key("depends_on");
                self.unknown_resource(name, &depends_on.index(index));
            }
        }
        let others = [
            ("metadata", &resource.metadata),
            ("external_id", &resource.external_id),
            ("deletion_policy", &resource.deletion_policy),
            ("update_policy", &resource.update_policy),
        ];
        for (key, value) in others {
            if let Some(value) = value {
                self.references(value, &path.key(key));
            }
        }
        let properties = path.key("properties");
        // References in the properties of an external resource are not checked.
        if resource.external_id.is_none() {
            for property in &resource.properties {
                self.references(&property.value, &properties.key(&property.name));
            }
        }
        let simple = self.simple(resource, &properties);
        let described = self.types.get(&resource.resource_type);
        // An external resource needs no properties.
        if let Some(described) = described.filter(|_| resource.external_id.is_none()) {
            self.properties(resource, &simple, described, &path);
        }
        if let Some(described) = described {
            self.deletion(resource, described, &path);
            self.update_policy(resource, described, &path);
        }
        self.members(resource, &path);
        self.external(resource, &path);
        self.there.push((resource, simple));
    }

    /// Known properties of a resource, whose properties are at `path`.
    pub(super) fn simple<'r>(&mut self, resource: &'r Resource, path: &Path<'_>) -> Simple<'r> {
        resource
            .properties
            .iter()
            .map(|property| {
                let value = if Self::defines_members(&resource.resource_type, &property.name) {
                    // Functions in the definition can need the member's number.
                    Some(property.value.clone())
                } else {
                    let path = path.key(&property.name);
                    let simple = self.simplified(&property.value, &path);
                    if let Some(simple) = &simple {
                        self.computed_names(&property.value, simple, &path);
                    }
                    simple
                };
                (property.name.as_str(), value)
            })
            .collect()
    }

    /// Checks the deletion policy. Few types support snapshots.
    fn deletion(&mut self, resource: &Resource, described: &ResourceType, path: &Path<'_>) {
        let can = described.snapshots || !is_of_heat(&described.name);
        // A literal policy was checked by the parser.
        if let Some(policy) = resource.deletion_policy.as_ref()
            && policy.as_str().is_none()
            && let Ok(Expr::Literal(word)) = policy.simplify(&self.scope)
            && word.as_str().and_then(DeletionPolicy::of_text).is_none()
        {
            let message = format!(
                "`{}` is no deletion policy; there are `delete`, `retain` and `snapshot`",
                shown(&hot::constraint::as_text(&word))
            );
            let path = path.key("deletion_policy");
            return self.error("deletion-policy-unknown", &path, message);
        }
        if resource.deletion(&self.scope) == DeletionPolicy::Snapshot && !can {
            let message = format!(
                "nothing can be kept of a `{}` in a snapshot; say `delete` or `retain`",
                described.name
            );
            self.error(
                "deletion-policy-unknown",
                &path.key("deletion_policy"),
                message,
            );
        }
    }

    /// Checks the update policy. Its keys depend on the type; most types have none.
    pub(super) fn update_policy(
        &mut self,
        resource: &Resource,
        described: &ResourceType,
        path: &Path<'_>,
    ) {
        let path = path.key("update_policy");
        let Some(policy) = &resource.update_policy else {
            return;
        };
        let Some(Expr::Map(entries)) = self.simplified(policy, &path) else {
            return;
        };
        if described.update_policy.is_empty() {
            if !entries.is_empty() && is_of_heat(&described.name) {
                let message = format!("`{}` has no update policy", described.name);
                self.error("unknown-property", &path, message);
            }
            return;
        }
        let of = described.update_policy.clone();
        let property = types::of_kind("update_policy", PropertyKind::Map { of });
        self.map(&property, &entries, &path);
    }

    /// Checks that an external resource has no explicit order. References in its properties create no order.
    fn external(&mut self, resource: &Resource, path: &Path<'_>) {
        if resource.external_id.is_none() {
            return;
        }
        if let Some((other, _)) = resource.depends_on.first() {
            let message = format!(
                "`{}` is a live object, by its `external_id`, and cannot depend on `{other}`",
                resource.name
            );
            self.error("external-depends", &path.key("external_id"), message);
        }
    }

    pub(super) fn resource_type(&mut self, resource: &Resource, path: &Path<'_>) {
        let name = resource.resource_type.as_str();
        let described = self.types.get(name);
        if let Some(described) = described.filter(|described| described.name != name) {
            let message = format!("`{}` is called `{}` now", shown(name), described.name);
            self.info("former-name", &path.key("type"), message);
        }
        if name.is_empty() || described.is_some_and(|one| one.refusal(name).is_none()) {
            return;
        }
        let path = path.key("type");
        if hot::environment::is_file(name) {
            let message = crate::members::not_given(&resource.name, name);
            return self.error("file-missing", &path, message);
        }
        let known = || self.types.iter().map(|one| one.name.as_str());
        let typo = || known().find(|known| is_typo(name, known));
        let elsewhere = name.starts_with("OS::") || name.starts_with("AWS::");
        if described.is_some() || (elsewhere && typo().is_none()) {
            let advice = described.and_then(|one| one.advice.as_deref());
            let message = match advice {
                Some(advice) => format!(
                    "`{}` is kept in the template, but Stackloom does not create it. {advice}",
                    shown(name)
                ),
                None => format!(
                    "`{}` is kept in the template, but Stackloom cannot deploy it yet",
                    shown(name)
                ),
            };
            self.warning("resource-type-not-deployable", &path, message);
            return;
        }
        let near = typo()
            .map(|typo| format!("; did you mean `{typo}`?"))
            .unwrap_or_else(|| did_you_mean(name, known()));
        self.error(
            "resource-type-unknown",
            &path,
            format!("there is no resource type `{}`{near}", shown(name)),
        );
    }
}

/// True if the names differ in one letter or in case: probably a typing error and not another type.
fn is_typo(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known) || (nearest(name, [known]).is_some() && one_off(name, known))
}

fn one_off(a: &str, b: &str) -> bool {
    let (a, b) = if a.len() <= b.len() {
        (a.as_bytes(), b.as_bytes())
    } else {
        (b.as_bytes(), a.as_bytes())
    };
    if b.len() - a.len() > 1 {
        return false;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    if a.len() == b.len() {
        let swapped = same + 1 < a.len()
            && a[same] == b[same + 1]
            && a[same + 1] == b[same]
            && a[same + 2..] == b[same + 2..];
        return swapped || a.get(same + 1..) == b.get(same + 1..);
    }
    a[same..] == b[same + 1..]
}
