//! `conditions:`, and `condition:` of resources and outputs.
//!
//! A condition can refer to others, in any order. Circles and unknown names are reported here, because they can be
//! found without values.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Reader;
use crate::{
    expr::{Expr, Function, Place},
    template::Condition,
    text::did_you_mean,
    yaml::{Entry, Node},
};
use yaql::shown;

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
    pub(super) fn conditions(&mut self, node: &'a Node) -> Vec<Condition> {
        if !self.filled(node, "a map from names to conditions") {
            return Vec::new();
        }
        let entries = self.entries(node, "a map from names to conditions");
        let mut conditions = Vec::new();
        for entry in entries {
            let value = self.below(&entry.key, |reader| {
                reader.name(entry, "a condition");
                let value = reader.condition(&entry.value);
                if value.as_str().is_some() {
                    let message = "a condition cannot be another one's name alone; write `true`, `false` or a function, such as `{and: [a, a]}`";
                    reader.error("wrong-shape", entry.value.span.start, || message);
                    return Expr::Literal(Value::Bool(true));
                }
                value
            });
            conditions.push(Condition {
                name: entry.key.clone(),
                at: self.position(entry.key_span.start),
                value,
            });
        }
        if REPORTS {
            self.report_circles(entries, &conditions);
        }
        conditions
    }

    fn report_circles(&mut self, entries: &'a [Entry], conditions: &[Condition]) {
        for circle in circles(conditions) {
            if let Some(entry) = entries.iter().find(|entry| entry.key == circle[0]) {
                let message = || {
                    format!(
                        "these conditions refer to each other in a circle: `{}`",
                        circle.join("` → `")
                    )
                };
                self.below(&entry.key, |reader| {
                    reader.error("circular-reference", entry.key_span.start, message)
                });
            }
        }
    }

    /// A condition: a boolean, a name, or a function.
    pub(super) fn condition(&mut self, node: &'a Node) -> Expr {
        let value = self.expr(node, Place::Condition);
        let fits = matches!(
            &value,
            Expr::Literal(Value::Bool(_) | Value::String(_))
                | Expr::GetParam(..)
                | Expr::Call { .. }
        );
        // A refused call is null, and is already reported.
        if !fits && (node.entries().is_none() || matches!(value, Expr::Map(_))) {
            self.wrong_shape(
                node,
                "a condition (`true`, `false`, the name of one, or a function such as `equals`)",
            );
            return Expr::Literal(Value::Bool(true));
        }
        value
    }
}

/// Names of the conditions that a condition refers to.
pub fn names(condition: &Expr) -> Vec<&str> {
    let mut found = Vec::new();
    collect(condition, &mut found);
    found
}

fn collect<'e>(condition: &'e Expr, found: &mut Vec<&'e str>) {
    match condition {
        Expr::Literal(Value::String(name)) => found.push(name),
        Expr::Call {
            function: Function::Not,
            arguments,
        } => collect(arguments, found),
        Expr::Call {
            function: Function::And | Function::Or,
            arguments,
        } => {
            if let Expr::List(items) = arguments.as_ref() {
                items.iter().for_each(|item| collect(item, found));
            }
        }
        _ => {}
    }
}

/// Each circle once, with its first name again at its end.
fn circles(conditions: &[Condition]) -> Vec<Vec<&str>> {
    let on: HashMap<&str, Vec<&str>> = conditions
        .iter()
        .map(|condition| (condition.name.as_str(), names(&condition.value)))
        .collect();
    let mut done: HashSet<&str> = HashSet::new();
    let mut circles = Vec::new();
    for condition in conditions {
        let mut path: Vec<&str> = vec![&condition.name];
        let mut on_path = HashSet::from([condition.name.as_str()]);
        let mut branches = vec![on[condition.name.as_str()].iter()];
        while let Some(branch) = branches.last_mut() {
            match branch.next() {
                None => {
                    branches.pop();
                    if let Some(name) = path.pop() {
                        on_path.remove(name);
                        done.insert(name);
                    }
                }
                Some(name) if done.contains(name) => {}
                Some(name) if on_path.contains(name) => {
                    let circle = path.iter().skip_while(|seen| *seen != name);
                    circles.push(circle.chain([name]).copied().collect());
                    done.insert(name);
                }
                Some(name) => {
                    if let Some(next) = on.get(name) {
                        path.push(name);
                        on_path.insert(name);
                        branches.push(next.iter());
                    }
                }
            }
        }
    }
    circles
}

/// The hint `; did you mean ...` for an unknown name.
pub fn unknown(name: &str, conditions: &[Condition]) -> String {
    let near = did_you_mean(
        name,
        conditions.iter().map(|condition| condition.name.as_str()),
    );
    format!(
        "there is no condition `{}` in the template{near}",
        shown(name)
    )
}
