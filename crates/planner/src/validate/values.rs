//! Checks of properties against the description of their type.

use super::*;
use hot::constraint;
use types::{KEY_PAIR, PORT, Property, PropertyKind, ResourceType, SERVER};

impl<'a> Checker<'a> {
    pub(super) fn properties(
        &mut self,
        resource: &Resource,
        simple: &Simple<'_>,
        described: &ResourceType,
        path: &Path<'_>,
    ) {
        let properties = path.key("properties");
        let given = |wanted: &str| is_given(simple, wanted);
        let before = self.diagnostics.len();
        self.strict = is_of_heat(&described.name);
        for (name, value) in simple {
            let path = properties.key(name);
            let Some(known) = described.property(name) else {
                if described.any_property {
                    continue;
                }
                let near = did_you_mean(
                    name,
                    described.properties.iter().map(|known| known.name.as_str()),
                );
                let message = format!(
                    "`{}` has no property `{}`{near}",
                    described.name,
                    shown(name)
                );
                self.error("unknown-property", &path, message);
                continue;
            };
            self.former_name(known, name, &path, given);
            if known.unsupported && given(name) {
                let message = format!(
                    "`{}` knows the property `{}` and does not support it; leave it out",
                    described.name, known.name
                );
                self.error("property-unsupported", &path, message);
                continue;
            }
            if Self::defines_members(&resource.resource_type, name) {
                continue;
            }
            // A former property can be a single value where the present one is a list.
            let one = known.name != *name
                && matches!(known.kind, PropertyKind::List { .. })
                && value.as_ref().is_some_and(|value| value.as_str().is_some());
            if let Some(value) = value.as_ref().filter(|_| !one) {
                match of_value(resource, known) {
                    Some(typed) => self.value(&typed, value, &path),
                    None => self.value(known, value, &path),
                }
            }
        }
        self.strict = true;
        // Heat does not check the target of a reference. The requirements of a catalogue item are known only here, so
        // they stay errors.
        if is_of_heat(&described.name) {
            for one in &mut self.diagnostics[before..] {
                if one.code == "reference-type" {
                    one.severity = Severity::Warning;
                }
            }
        }
        self.missing_properties(resource, simple, described, path);
        if !described.rules.is_empty() {
            let value = |wanted: &str| {
                let (name, value) = simple.iter().find(|(name, _)| *name == wanted)?;
                value.clone().or_else(|| resource.property(name).cloned())
            };
            let given = rules::Given {
                name: &resource.name,
                described: &described.properties,
                value: &value,
            };
            let found = rules::broken(&described.rules, &given);
            self.tell(found, path);
        }
        if resource.resource_type == SERVER {
            self.server_networks(resource, path);
            self.server_boots(resource, simple, path);
        }
        self.component(resource, described, path);
    }

    /// Checks that the required properties are given.
    fn missing_properties(
        &mut self,
        resource: &Resource,
        simple: &Simple<'_>,
        described: &ResourceType,
        path: &Path<'_>,
    ) {
        let properties = path.key("properties");
        let given = |wanted: &str| is_given(simple, wanted);
        for known in described.properties.iter().filter(|known| known.required) {
            let given = given(&known.name) || known.formerly.as_deref().is_some_and(given);
            // An external resource needs no properties. If any value is allowed, null is a value too.
            let nothing = known.kind == PropertyKind::Any
                && simple.iter().any(|(name, _)| *name == known.name);
            if given || nothing || resource.external_id.is_some() {
                continue;
            }
            if is_of_heat(&described.name)
                && let Some(written) = written_empty(resource, known)
            {
                self.empty(known, &resource.name, &properties.key(written));
                continue;
            }
            if described.is_component() && known.name == "host" {
                let message = format!(
                    "`{}` runs on no server: drop it on one, or set its `host`",
                    resource.name
                );
                self.error("component-without-host", path, message);
            } else if !self.is_requirement(described, &known.name) {
                let message = format!(
                    "`{}` needs the property `{}`: {}",
                    resource.name,
                    known.name,
                    lower_first(&known.summary)
                );
                let mut one = Diagnostic::error("property-missing", path.to_string(), message);
                let is_read = later::is_read_at_once(&resource.resource_type, &known.name);
                if self.is_made_later && !is_read {
                    later::reported_at_creation(&mut one);
                }
                self.diagnostics.push(one);
            }
        }
    }

    /// Checks a property under its former name, which is ignored if the present name is given too.
    fn former_name(
        &mut self,
        known: &Property,
        written: &str,
        path: &Path<'_>,
        given: impl Fn(&str) -> bool,
    ) {
        if known.name == written || !given(written) {
            return;
        }
        if given(&known.name) {
            let message = format!(
                "`{written}` is the former name of `{}`, which is given too; leave one out",
                known.name
            );
            self.error("property-conflict", path, message);
        } else {
            let message = format!("`{written}` is called `{}` now", known.name);
            self.info("former-name", path, message);
        }
    }

    fn is_requirement(&self, described: &ResourceType, property: &str) -> bool {
        described.component.as_ref().is_some_and(|item| {
            item.requires
                .iter()
                .any(|requirement| requirement.name == property)
        })
    }

    /// Checks a value and its parts.
    fn value(&mut self, property: &Property, value: &Expr, path: &Path<'_>) {
        match value {
            Expr::Literal(Value::Null) => {}
            Expr::Literal(literal) => self.literal(property, literal, path),
            Expr::List(items) => {
                let PropertyKind::List { of } = &property.kind else {
                    return self.wrong_type(property, "a list", path);
                };
                self.count(property, items.len(), path);
                for (index, item) in items.iter().enumerate() {
                    if let Some(of) = of {
                        self.value(of, item, &path.index(index));
                    }
                }
            }
            Expr::Map(entries) => self.map(property, entries, path),
            Expr::GetResource(name) => self.target(property, name, path),
            _ => {}
        }
    }

    /// Checks a required property with an empty value. Heat uses the empty value of its type and checks the
    /// constraints. If they hold, the cloud decides, so this is only a warning. Source: `get_value` of Heat's
    /// `properties.py`.
    fn empty(&mut self, property: &Property, owner: &str, path: &Path<'_>) {
        let before = self.diagnostics.len();
        let stands_for = match &property.kind {
            PropertyKind::String => Value::from(""),
            PropertyKind::Integer | PropertyKind::Number => Value::from(0),
            PropertyKind::Boolean => Value::from(false),
            PropertyKind::List { .. } => Value::Array(Vec::new()),
            PropertyKind::Map { .. } | PropertyKind::Any => Value::Null,
        };
        let mut constraints = property.constraints.iter();
        if let Some(problem) = constraints.find_map(|one| constraint::problem(one, &stands_for)) {
            let message = format!("`{}` has nothing after it: {problem}", property.name);
            self.error("property-constraint", path, message);
        }
        if matches!(property.kind, PropertyKind::Map { .. }) {
            self.map(property, &[], path);
        }
        if self.diagnostics.len() == before {
            let message = format!(
                "`{}` of `{owner}` has nothing after it, and must be given: {}",
                property.name,
                lower_first(&property.summary)
            );
            self.warning("property-missing", path, message);
        }
    }

    fn wrong_type(&mut self, property: &Property, given: &str, path: &Path<'_>) {
        if property.kind != PropertyKind::Any {
            let message = format!(
                "`{}` takes {}, not {given}",
                property.name,
                constraint::kind_name(property.kind.value_kind())
            );
            self.error("property-type", path, message);
        }
    }

    fn literal(&mut self, property: &Property, literal: &Value, path: &Path<'_>) {
        let problem = if self.strict {
            constraint::property_type_problem(property.kind.value_kind(), literal)
        } else {
            constraint::type_problem(property.kind.value_kind(), literal)
        };
        if let Some(problem) = problem {
            return self.error(
                "property-type",
                path,
                format!("`{}`: {problem}", property.name),
            );
        }
        for constraint in &property.constraints {
            // An empty gateway or fixed address means no address.
            let problem = constraint::problem(constraint, literal)
                .or_else(|| constraint::problem_at(constraint, literal, self.cloud.now));
            if let Some(problem) = problem {
                return self.error(
                    "property-constraint",
                    path,
                    format!("`{}`: {problem}", property.name),
                );
            }
        }
        if let (Some(choices), Some(name)) = (property.choices, literal.as_str()) {
            self.in_cloud(choices, name, path);
        } else if let Some(name) = literal.as_str() {
            let mut constraints = property.constraints.iter();
            let found = constraints.find_map(|one| match one {
                hot::constraint::Constraint::Custom(custom) => crate::lookup::of(custom),
                _ => None,
            });
            if let Some(found) = found {
                self.looked_up(found, name, path);
            }
        }
    }

    fn count(&mut self, property: &Property, count: usize, path: &Path<'_>) {
        for one in &property.constraints {
            if let hot::constraint::Constraint::Length { .. } = one
                && let Some(problem) =
                    constraint::problem(one, &Value::Array(vec![Value::Null; count]))
            {
                self.error(
                    "property-constraint",
                    path,
                    format!("`{}`: {problem}", property.name),
                );
            }
        }
    }

    pub(super) fn map(&mut self, property: &Property, entries: &[(String, Expr)], path: &Path<'_>) {
        let of = match &property.kind {
            PropertyKind::Map { of } => of,
            PropertyKind::Any => return,
            _ => return self.wrong_type(property, "a map", path),
        };
        if of.is_empty() {
            return;
        }
        for (key, value) in entries {
            let path = path.key(key);
            match types::find(of, key) {
                Some(known) => {
                    self.former_name(known, key, &path, |name| {
                        let mut entries = entries.iter();
                        entries.any(|(key, value)| key == name && !value.is_null())
                    });
                    self.value(known, value, &path);
                }
                None => {
                    let near = did_you_mean(key, of.iter().map(|known| known.name.as_str()));
                    self.error(
                        "unknown-property",
                        &path,
                        format!("`{}` has no key `{}`{near}", property.name, shown(key)),
                    );
                }
            }
        }
        for known in of.iter().filter(|known| known.required) {
            let is = |key: &str| key == known.name || known.formerly.as_deref() == Some(key);
            let mut written = entries.iter().filter(|(key, _)| is(key));
            if written.clone().any(|(_, value)| !value.is_null()) {
                continue;
            }
            if self.strict
                && let Some((key, _)) = written.next()
            {
                self.empty(known, &property.name, &path.key(key));
            } else {
                let message = format!(
                    "`{}` needs `{}`: {}",
                    property.name,
                    known.name,
                    lower_first(&known.summary)
                );
                self.error("property-missing", path, message);
            }
        }
        if !property.rules.is_empty() {
            let value = |name: &str| {
                let mut entries = entries.iter();
                entries
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            };
            let given = rules::Given {
                name: &property.name,
                described: of,
                value: &value,
            };
            self.tell(rules::broken(&property.rules, &given), path);
        }
    }

    fn tell(&mut self, found: Vec<(&'static str, String)>, path: &Path<'_>) {
        for (code, message) in found {
            self.error(code, path, message);
        }
    }

    /// Checks that the target of a reference has a suitable type.
    fn target(&mut self, property: &Property, name: &str, path: &Path<'_>) {
        let Some(reference) = &property.reference else {
            return;
        };
        let Some(resource) = self.index.get(name) else {
            return;
        };
        let Some(described) = self.types.get(&resource.resource_type) else {
            return;
        };
        // Helper types return values of any kind, and AWS names have several meanings.
        let any = described.name.starts_with("OS::Heat::")
            || described.name.starts_with("AWS::")
            || crate::members::is_parent(&described.name);
        if any && reference.to.iter().any(|to| to.starts_with("OS::")) {
            return;
        }
        let fits = reference
            .to
            .iter()
            .any(|to| match to.strip_prefix("component:") {
                Some(capability) => described
                    .component
                    .as_ref()
                    .is_some_and(|item| item.provides.iter().any(|one| one.name == capability)),
                None => *to == described.name,
            });
        if fits {
            return;
        }
        let wanted: Vec<String> = reference
            .to
            .iter()
            .enumerate()
            .map(|(index, to)| match to.strip_prefix("component:") {
                Some(capability) => format!("software that provides `{capability}`"),
                None if index > 0 => format!("`{to}`"),
                None => format!("a resource of type `{to}`"),
            })
            .collect();
        let message = format!(
            "`{}` takes {}; `{name}` is of type `{}`",
            property.name,
            wanted.join(" or "),
            described.name
        );
        self.error("reference-type", path, message);
    }

    /// Checks that a server has exactly one boot source. An empty image counts as one, as in Heat. Source: `validate`
    /// of Heat's `server.py`.
    fn server_boots(&mut self, server: &Resource, simple: &Simple<'_>, path: &Path<'_>) {
        let of = |name: &str| simple.iter().find(|(given, _)| *given == name);
        let image = of("image").is_some();
        let devices = |name: &str| match of(name) {
            None | Some((_, Some(Expr::Literal(Value::Null)))) => Some(&[][..]),
            Some((_, Some(Expr::List(devices)))) => Some(devices.as_slice()),
            // Not known yet.
            Some(_) => None,
        };
        let (Some(old), Some(new)) = (
            devices("block_device_mapping"),
            devices("block_device_mapping_v2"),
        ) else {
            return;
        };
        let mut sources = usize::from(image);
        let mut boots = image;
        for device in old {
            let name = device.get("device_name");
            boots |= name.is_none_or(|name| name.as_str().is_none_or(|name| name == "vda"));
        }
        for device in new {
            let Expr::Map(_) = device else { return };
            let first = match device.get("boot_index") {
                None => true,
                Some(Expr::Literal(index)) => constraint::as_text(index) == "0",
                Some(_) => return,
            };
            let from = ["volume_id", "snapshot_id", "image", "image_id"];
            let from = from.iter().filter(|key| device.get(key).is_some()).count();
            if first && from > 0 {
                boots = true;
                sources += from;
            }
        }
        if !boots {
            let message = format!(
                "the server `{}` has nothing to boot from: give it an `image`, or a volume in `block_device_mapping_v2`",
                server.name
            );
            self.warning("property-missing", path, message);
        } else if !new.is_empty() && sources != 1 {
            let message = format!(
                "the server `{}` has {sources} boot sources; give all but one device a `boot_index` of -1, or leave `image` out",
                server.name
            );
            self.warning("property-conflict", path, message);
        }
    }

    /// Checks that a server is attached to a network.
    fn server_networks(&mut self, server: &Resource, path: &Path<'_>) {
        let networks = server.property("networks");
        let none = match networks {
            None | Some(Expr::Literal(Value::Null)) => true,
            Some(Expr::List(items)) => items.is_empty(),
            _ => false,
        };
        if none {
            // Nova uses the project's network if there is exactly one.
            let external = self.cloud.external_networks.as_deref().unwrap_or_default();
            let own = self
                .cloud
                .networks
                .as_deref()
                .map(|all| all.iter().filter(|one| !external.contains(one)).count());
            let message = format!(
                "the server `{}` is attached to no network; connect it to one",
                server.name
            );
            match own {
                Some(1) | None => self.warning("server-without-network", path, message),
                Some(_) => self.error("server-without-network", path, message),
            }
            return;
        }
        let Some(Expr::List(entries)) = networks else {
            return;
        };
        for (index, entry) in entries.iter().enumerate() {
            let Expr::Map(keys) = entry else { continue };
            let names_one = keys.iter().any(|(key, value)| {
                matches!(
                    key.as_str(),
                    "network" | "port" | "subnet" | "uuid" | "allocate_network" | "floating_ip"
                ) && !value.is_null()
            });
            if !names_one {
                let (properties, networks) = (path.key("properties"), "networks");
                let networks = properties.key(networks);
                let message = format!(
                    "this entry of `{}` names no `network`, `port` or `subnet`",
                    server.name
                );
                self.error("server-without-network", &networks.index(index), message);
            }
        }
    }

    /// True if the template itself creates an object of this type with this name.
    pub(super) fn drawn_name(&self, resource_type: &str, name: &str) -> bool {
        self.template
            .resources
            .iter()
            .filter(|resource| resource.resource_type == resource_type)
            .any(|resource| resource.property("name").and_then(Expr::as_str) == Some(name))
    }

    /// True if the template itself creates an object with this name, so that a look-up in the cloud must not reject it.
    pub(super) fn is_drawn(&self, choices: types::Choices, name: &str) -> bool {
        use types::{Choices, NET};
        match choices {
            Choices::KeyPair => self.drawn_name(KEY_PAIR, name),
            Choices::Network | Choices::ExternalNetwork => {
                self.drawn_name(NET, name) || self.drawn_name(PORT, name)
            }
            Choices::VolumeType => self.drawn_name("OS::Cinder::VolumeType", name),
            _ => false,
        }
    }
}

/// The property `value` of an `OS::Heat::Value`, with the type that it declares.
fn of_value(resource: &Resource, property: &Property) -> Option<Property> {
    if resource.resource_type != "OS::Heat::Value" || property.name != "value" {
        return None;
    }
    let kind = match resource.property("type")?.as_str()? {
        "string" => PropertyKind::String,
        "number" => PropertyKind::Number,
        "boolean" => PropertyKind::Boolean,
        "json" => PropertyKind::Map { of: Vec::new() },
        "comma_delimited_list" => PropertyKind::List { of: None },
        _ => return None,
    };
    Some(Property {
        kind,
        ..property.clone()
    })
}

/// True if a property is given. Values that could not be evaluated are reported already.
fn is_given(simple: &Simple<'_>, wanted: &str) -> bool {
    simple
        .iter()
        .any(|(name, value)| *name == wanted && value.as_ref().is_none_or(|value| !value.is_null()))
}

/// Name under which a property is given with an empty value.
fn written_empty<'r>(resource: &'r Resource, known: &'r Property) -> Option<&'r str> {
    let names = [Some(known.name.as_str()), known.formerly.as_deref()];
    names.into_iter().flatten().find(|name| {
        let value = resource.property(name);
        matches!(value, Some(Expr::Literal(Value::Null)))
    })
}

fn lower_first(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    match (chars.next(), chars.clone().next()) {
        // `IPv4` and `SSH` are not changed.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.trim_end_matches('.').to_owned(),
    }
}
