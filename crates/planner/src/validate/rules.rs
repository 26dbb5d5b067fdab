//! Rules between properties, from the description of their type. Unknown values count as given, and match no condition.

use super::*;
use hot::constraint::as_text;
use types::{Property, Rule, When};

/// Values to check: a resource's properties, or the entries of a map.
pub(super) struct Given<'a> {
    /// Name in messages: a resource's or a property's name.
    pub name: &'a str,
    /// Descriptions of the values.
    pub described: &'a [Property],
    /// Returns a value by name.
    pub value: &'a dyn Fn(&str) -> Option<Expr>,
}

impl Given<'_> {
    /// Value under the present or the former name.
    fn value(&self, name: &str) -> Option<Expr> {
        let former = || {
            let property = types::find(self.described, name)?;
            (self.value)(property.formerly.as_deref()?)
        };
        (self.value)(name)
            .filter(|value| !value.is_null())
            .or_else(former)
    }

    fn has(&self, name: &str) -> bool {
        match self.value(name) {
            None => false,
            Some(Expr::Literal(Value::Bool(flag))) => flag,
            Some(Expr::Literal(Value::String(text))) => !text.is_empty(),
            Some(Expr::Literal(Value::Null)) => false,
            Some(Expr::List(items)) => !items.is_empty(),
            Some(Expr::Map(entries)) => !entries.is_empty(),
            Some(_) => true,
        }
    }

    /// Known value, or the default if none is given.
    fn known(&self, name: &str) -> Option<Value> {
        match self.value(name) {
            Some(Expr::Literal(value)) => Some(value),
            Some(_) => None,
            None => types::find(self.described, name)?.default.clone(),
        }
    }

    /// Reason why a rule applies, as the end of a sentence. `None` if it does not apply.
    fn counts(&self, rule: &Rule) -> Option<String> {
        match &rule.when {
            None => Some(String::new()),
            Some(When::Given(name)) => self.has(name).then(|| format!(" with `{name}`")),
            Some(When::Is(conditions)) => {
                let mut why = String::new();
                for (name, values) in conditions {
                    let value = self.known(name).filter(|value| values.contains(value))?;
                    why = format!(" when `{name}` is `{}`", shown(&as_text(&value)));
                }
                Some(why)
            }
        }
    }
}

/// Code and message for each broken rule.
pub(super) fn broken(rules: &[Rule], given: &Given<'_>) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let name = shown(given.name);
    for rule in rules {
        let Some(why) = given.counts(rule) else {
            continue;
        };
        if !rule.any_of.is_empty() && !rule.any_of.iter().any(|one| given.has(one)) {
            let message = format!("`{name}` needs {}{why}", words(&rule.any_of, " or "));
            found.push(("property-missing", message));
        }
        for one in rule.needs.iter().filter(|one| !given.has(one)) {
            found.push(("property-missing", format!("`{name}` needs `{one}`{why}")));
        }
        let has = |one: &&String| given.has(one);
        let several: Vec<&String> = rule.one_at_most.iter().filter(has).collect();
        if several.len() > 1 {
            let message = format!(
                "`{name}` takes only one of {}; it has {}",
                words(&rule.one_at_most, ", "),
                words(&several, " and ")
            );
            found.push(("property-conflict", message));
        }
        for one in rule.refuses.iter().filter(has) {
            found.push((
                "property-conflict",
                format!("`{name}` takes no `{one}`{why}"),
            ));
        }
        let numbers: Vec<(&String, f64)> = rule
            .ascending
            .iter()
            .filter_map(|name| Some((name, number(&given.known(name)?)?)))
            .collect();
        for pair in numbers.windows(2) {
            if let [(lower, less), (upper, more)] = pair
                && less > more
            {
                let message =
                    format!("`{lower}` is {less} and must not be above `{upper}`, which is {more}");
                found.push(("property-constraint", message));
            }
        }
    }
    found
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

fn words<T: AsRef<str>>(names: &[T], between: &str) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(between)
}
