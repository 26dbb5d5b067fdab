//! Attributes that expressions use, and their reading before a step resolves its properties.

use std::collections::{BTreeMap, BTreeSet};

use hot::expr::{Expr, Scope};
use serde_json::Value;

use super::{
    origin,
    step::{Attempt, StepResult},
};
use drivers::{Driver, marker};

/// The attributes of one resource that expressions use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    names: BTreeSet<String>,
    /// All attributes: for `get_attr: [web]`, or a name that is computed.
    all: bool,
}

impl Names {
    /// The driver's on-demand attributes among them.
    pub fn on_demand(&self, driver: &dyn Driver) -> Vec<&'static str> {
        let names = driver.names_on_demand().iter().copied();
        names.filter(|name| self.include(name)).collect()
    }

    /// True if the attribute is among them.
    pub fn include(&self, attribute: &str) -> bool {
        self.all || self.names.contains(attribute)
    }

    /// Adds other attributes.
    pub fn extend(&mut self, others: Names) {
        self.all |= others.all;
        self.names.extend(others.names);
    }

    /// True if there are attributes other than the driver's on-demand ones.
    pub fn has_others(&self, driver: &dyn Driver) -> bool {
        let on_demand = driver.names_on_demand();
        let mut names = self.names.iter();
        self.all || names.any(|name| !on_demand.contains(&name.as_str()))
    }
}

/// The attributes that expressions use, by resource.
pub fn requested_attributes<'e>(
    values: impl IntoIterator<Item = &'e Expr>,
) -> BTreeMap<String, Names> {
    let mut requested: BTreeMap<String, Names> = BTreeMap::new();
    for value in values {
        value.walk(&mut |expr| {
            let Expr::GetAttr(resource, path) = expr else {
                return;
            };
            let of = requested.entry(resource.clone()).or_default();
            match path.first().and_then(Expr::as_str) {
                Some(name) => {
                    of.names.insert(name.to_owned());
                }
                None => of.all = true,
            }
        });
    }
    requested
}

impl Attempt {
    /// Reads the on-demand attributes that the step's properties use, and logs each `get_attr` whose path does not
    /// exist.
    pub(super) async fn read_requested_attributes(&self) -> StepResult {
        let spec = self.spec()?;
        for (name, names) in requested_attributes(spec.properties.values()) {
            let Some(entry) = self.run_context.known.get(&name) else {
                continue;
            };
            let (Some(id), Some(_)) = (&entry.physical_id, &entry.reference) else {
                continue;
            };
            let Ok(driver) = self.driver(&entry.spec) else {
                continue;
            };
            let (attributes, Some(on_demand)) =
                (names.on_demand(driver), driver.abilities().on_demand)
            else {
                continue;
            };
            if attributes.is_empty() {
                continue;
            }
            let work = self.recorded_input(&name, entry.spec.clone());
            let mut read = on_demand.read(&work.context(self), id, &attributes).await?;
            marker::hide(&mut read);
            for (attribute, value) in &read {
                if origin::is_masked(Some(driver), attribute) {
                    self.run_context.mask.add_value(value);
                }
            }
            self.run_context
                .known
                .change(&name, |entry| entry.attributes.extend(read));
        }
        let scope = self.run_context.known.scope(&self.run_context.parameters);
        let nothing: Vec<String> = spec
            .properties
            .iter()
            .filter_map(|(property, value)| {
                let why = nothing(value, &scope)?;
                Some(format!(
                    "Property `{property}` counts as not given, as in Heat: {why}"
                ))
            })
            .collect();
        for line in nothing {
            self.log.warn(line).await;
        }
        Ok(())
    }
}

/// The point where the path of a `get_attr` ends, if the path does not exist.
fn nothing(value: &Expr, scope: &dyn Scope) -> Option<String> {
    let Expr::GetAttr(resource, path) = value else {
        return None;
    };
    if value.resolve(scope) != Ok(Value::Null) {
        return None;
    }
    let path: Vec<Expr> = path
        .iter()
        .map(|key| key.resolve(scope).map(Expr::data))
        .collect::<Result<_, _>>()
        .ok()?;
    let text = |key: &Expr| match key.as_str() {
        Some(text) => text.to_owned(),
        None => key.to_json().to_string(),
    };
    let written: Vec<String> = path.iter().map(text).collect();
    let written = format!("`get_attr: [{resource}, {}]`", written.join(", "));
    for length in (1..path.len()).rev() {
        let above = Expr::GetAttr(resource.clone(), path[..length].to_vec());
        let there = match above.resolve(scope).ok()? {
            Value::Null => continue,
            Value::Array(items) => format!("a list of {}", items.len()),
            Value::Object(map) if map.is_empty() => "empty".to_owned(),
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().map(|key| format!("`{key}`")).collect();
                format!("a map of {}", keys.join(", "))
            }
            _ => "no map and no list".to_owned(),
        };
        let end = text(&path[length - 1]);
        return Some(format!("{written} leads to nothing, `{end}` is {there}"));
    }
    Some(format!("{written} is null"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hot::document::Document;
    use serde_json::json;

    use super::*;

    struct Web;

    impl Scope for Web {
        fn parameter(&self, _: &str) -> Option<Value> {
            None
        }
        fn reference(&self, _: &str) -> Option<Value> {
            None
        }
        fn attribute(&self, _: &str, name: &str) -> Option<Value> {
            let attributes = json!({"addresses": {"front": [{"port": "p1"}]}, "name": "web", "instance_name": null});
            attributes.get(name).cloned()
        }
    }

    fn values(text: &str) -> BTreeMap<String, Expr> {
        let text = format!("heat_template_version: 2021-04-16\noutputs:\n{text}");
        let document = Document::parse(text);
        let outputs = document.template().outputs.iter();
        outputs
            .map(|output| (output.name.clone(), output.value.clone()))
            .collect()
    }

    #[test]
    fn a_null_attribute_names_the_end_of_the_path() {
        let message = |path: &str| {
            let values = values(&format!("  a: {{value: {{get_attr: [web, {path}]}}}}\n"));
            nothing(&values["a"], &Web)
        };
        assert_eq!(message("addresses, front, 0, port"), None);
        for (path, end) in [
            (
                "addresses, back, 0, port",
                "`addresses` is a map of `front`",
            ),
            ("addresses, front, 1, port", "`front` is a list of 1"),
            ("name, x", "`name` is no map and no list"),
            ("instance_name", "is null"),
        ] {
            let message = message(path).unwrap();
            assert!(message.ends_with(end), "{message}");
        }
    }

    #[test]
    fn attributes_are_gathered_from_all_values() {
        let values = values(
            "  a: {value: {list_join: ['', [{get_attr: [web, networks, front, 0]}, {get_attr: [web, name]}]]}}\n  \
             b: {value: {get_attr: [db]}}\n",
        );
        let requested = requested_attributes(values.values());
        let server = drivers::driver_for("OS::Nova::Server").unwrap();
        assert_eq!(requested["web"].on_demand(server), ["networks"]);
        assert!(requested["web"].has_others(server));
        assert_eq!(requested["db"].on_demand(server), server.names_on_demand());
    }
}
