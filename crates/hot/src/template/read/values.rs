//! Values that can contain functions.

use serde_json::Value;

use super::Reader;
use crate::{
    expr::{self, Expr, Function, Place, Reading},
    yaml::{Entry, Kind, Node},
};

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
    pub(super) fn expr(&mut self, node: &'a Node, place: Place) -> Expr {
        let node = node.target();
        match &node.kind {
            Kind::List(items) => Expr::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        self.at_index(index, |reader| reader.expr(&item.value, place))
                    })
                    .collect(),
            ),
            Kind::Map(_) => {
                let entries = node.entries().unwrap_or_default();
                if let [only] = entries
                    && let Some(call) = self.call(only, place)
                {
                    return call;
                }
                Expr::Map(
                    entries
                        .iter()
                        .map(|Entry { key, value, .. }| {
                            let value = self.below(key, |reader| reader.expr(value, place));
                            (key.clone(), value)
                        })
                        .collect(),
                )
            }
            _ => Expr::Literal(node.scalar().unwrap_or(Value::Null)),
        }
    }

    /// Map with one key, if it is a call. A refused call becomes null.
    fn call(&mut self, entry: &'a Entry, place: Place) -> Option<Expr> {
        let key = entry.key.as_str();
        let function = Function::of(key);
        if function.is_none() && !key.starts_with("Fn::") {
            return None;
        }
        let outside =
            place == Place::Value && function.is_some_and(|function| function.is_condition());
        if outside && self.version < crate::version::Version::V2016_10_14 {
            return None;
        }
        let called = function.filter(|function| !outside && function.since() <= self.version);
        let arguments = self.below(key, |reader| reader.arguments(called, &entry.value, place));
        let at = entry.key_span.start;
        if outside {
            let is_likely_call = |function| {
                matches!(arguments, Expr::List(_))
                    && expr::check(function, &arguments, self.version).is_ok()
            };
            if REPORTS && function.is_some_and(is_likely_call) {
                let message = || {
                    format!(
                        "`{key}` is a function in conditions only; here it is plain data, as in Heat"
                    )
                };
                self.warning("function-unsupported", at, message);
            }
            return Some(Expr::Map(vec![(key.to_owned(), arguments)]));
        }
        let function = match expr::reading(key, &arguments, self.version, place) {
            Reading::Call(function) => function,
            Reading::PlainData => return Some(Expr::Map(vec![(key.to_owned(), arguments)])),
            Reading::LikelyCall(message) => {
                self.warning("function-unsupported", at, || message);
                return Some(Expr::Map(vec![(key.to_owned(), arguments)]));
            }
            Reading::Refused(message) => {
                self.error("function-unsupported", at, || message);
                return Some(Expr::Literal(Value::Null));
            }
        };
        if let Err(message) = expr::check(function, &arguments, self.version) {
            self.error("function-arguments", at, || message);
            return Some(Expr::Literal(Value::Null));
        }
        Some(match (function, arguments) {
            (Function::Ref, Expr::Literal(Value::String(name))) => {
                if self.resources.contains(name.as_str()) {
                    Expr::GetResource(name)
                } else {
                    Expr::GetParam(name, Vec::new())
                }
            }
            (function, arguments) => expr::build(function, arguments),
        })
    }

    fn arguments(&mut self, function: Option<Function>, node: &'a Node, place: Place) -> Expr {
        let place_of = |index| match function {
            Some(function) => function.place_of(index, place),
            None => place,
        };
        match node.items() {
            Some(items) => Expr::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        self.at_index(index, |reader| reader.expr(&item.value, place_of(index)))
                    })
                    .collect(),
            ),
            None => self.expr(node, place_of(0)),
        }
    }
}
