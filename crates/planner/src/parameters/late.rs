//! Values of nested templates' parameters that are known only during the run.
//!
//! Heat creates the stack of a nested template when all its arguments exist. It then converts each value to its
//! parameter's type and checks the constraints. Stackloom substitutes values for parameters at plan time. A value that
//! is known only later is therefore stored with its parameter, as a call of [`Function::TypedArgument`], and converted
//! during the run. References that need no conversion stay plain, because passes look for them. Source:
//! `TemplateResource.child_params` in `heat/engine/resources/template_resource.py`.

use hot::{
    expr::{Expr, Function},
    parameter::{HIDDEN_DEFAULTS, Parameter, Stored, as_string},
};

const STRING: &str = "string";
const LIST: &str = "comma_delimited_list";

/// Expression in place of a parameter of the template `of` whose argument `value` is not plain data.
pub(crate) fn late(parameter: &Parameter, of: &str, value: Expr) -> Expr {
    match (parameter.kind.as_str(), value) {
        // The stored value already has the parameter's type.
        (_, Expr::GetParam(name, path)) if name.starts_with(HIDDEN_DEFAULTS) => {
            Expr::GetParam(name, path)
        }
        // An item that is known later can contain commas, which split it into more items.
        (LIST, value @ Expr::List(_)) if !is_list_of_known(&value, parameter) => {
            wrapped(parameter, of, value)
        }
        (LIST, Expr::List(items)) => {
            let item = Parameter {
                kind: STRING.to_owned(),
                default: None,
                constraints: Vec::new(),
                ..parameter.clone()
            };
            let items = items.into_iter().map(|value| match value.as_data() {
                Some(data) => Expr::text(as_string(&data)),
                None => late(&item, of, value),
            });
            Expr::List(items.collect())
        }
        (LIST, Expr::GetResource(name)) => Expr::List(vec![Expr::GetResource(name)]),
        (STRING, value @ (Expr::GetParam(..) | Expr::GetResource(_)))
        | (_, value @ (Expr::Literal(_) | Expr::List(_) | Expr::Map(_))) => value,
        (_, value) => wrapped(parameter, of, value),
    }
}

/// True if the list is already in its final form: each item is known or one reference, and no constraint applies to the
/// list.
fn is_list_of_known(list: &Expr, parameter: &Parameter) -> bool {
    let is_known = |item: &Expr| {
        matches!(item, Expr::GetResource(_) | Expr::GetParam(..)) || item.as_data().is_some()
    };
    let Expr::List(items) = list else {
        return false;
    };
    parameter.constraints.is_empty() && items.iter().all(is_known)
}

/// Value with its parameter, for the conversion during the run.
fn wrapped(parameter: &Parameter, of: &str, value: Expr) -> Expr {
    let stored = Stored::of(parameter, of);
    let stored = serde_json::to_value(stored).unwrap_or_default();
    let parts = [("parameter", Expr::data(stored)), ("value", value)];
    let parts = parts.map(|(key, part)| (key.to_owned(), part));
    Expr::call(Function::TypedArgument, Expr::Map(parts.into()))
}

/// Expression without the calls that [`late`] added, for uses outside of runs.
pub(crate) fn bare(value: &Expr) -> Expr {
    value.rewrite(&mut |expr| match expr {
        Expr::Call {
            function: Function::TypedArgument,
            arguments,
        } => Some(bare(arguments.get("value")?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use hot::{
        constraint::Constraint,
        parameter::{Rule, given},
    };
    use serde_json::{Value, json};

    use super::*;

    fn parameter(kind: &str) -> Parameter {
        Parameter {
            name: "size".to_owned(),
            kind: kind.to_owned(),
            ..Parameter::default()
        }
    }

    fn becomes(parameter: &Parameter, value: Value) -> Result<Value, String> {
        let expression = Expr::GetAttr("other".to_owned(), vec![Expr::text("it")]);
        let call = late(parameter, "web.yaml", expression.clone());
        // As a workflow is stored.
        let stored = serde_json::to_value(&call).unwrap();
        let call: Expr = serde_json::from_value(stored).unwrap();
        assert_eq!(bare(&call), expression);
        let Expr::Call { arguments, .. } = call else {
            panic!("{call:?} is not looked at again");
        };
        let known = arguments.rewrite(&mut |expr| match expr {
            Expr::GetAttr(..) => Some(Expr::data(value.clone())),
            _ => None,
        });
        given(known.as_data().unwrap())
    }

    #[test]
    fn computed_parameters_are_converted_like_typed_ones() {
        for (kind, from, to) in [
            ("number", json!("5"), json!(5)),
            ("number", json!(2.5), json!(2.5)),
            ("boolean", json!("yes"), json!(true)),
            ("boolean", json!(0), json!(false)),
            ("json", json!("{\"a\": [1]}"), json!({"a": [1]})),
            ("json", json!({"get_attr": [1]}), json!({"get_attr": [1]})),
            ("comma_delimited_list", json!("a,b"), json!(["a", "b"])),
            (
                "comma_delimited_list",
                json!(["a,b", 3, null]),
                json!(["a", "b", "3", ""]),
            ),
            ("comma_delimited_list", json!([]), json!([])),
            ("string", json!(7), json!("7")),
            ("string", json!(true), json!("True")),
        ] {
            assert_eq!(
                becomes(&parameter(kind), from.clone()),
                Ok(to),
                "{kind} {from}"
            );
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_with_the_parameters_name() {
        let error = becomes(&parameter("number"), json!("many")).unwrap_err();
        assert_eq!(
            error,
            "what the parameter `size` of `web.yaml` does not fit: a number is wanted"
        );
        let mut short = parameter("string");
        short.constraints.push(Rule {
            constraint: Constraint::Length {
                min: None,
                max: Some(2),
            },
            description: Some("two letters".to_owned()),
        });
        let error = becomes(&short, json!("abc"));
        assert_eq!(
            error,
            Err("the parameter `size` of `web.yaml`: two letters".to_owned())
        );
    }

    #[test]
    fn messages_do_not_quote_values() {
        let rule = |constraint| Rule {
            constraint,
            description: None,
        };
        let mut pattern = parameter("string");
        pattern
            .constraints
            .push(rule(Constraint::AllowedPattern("[a-z]".to_owned())));
        let mut allowed = parameter("string");
        let values = vec![json!("a"), json!("b")];
        allowed
            .constraints
            .push(rule(Constraint::AllowedValues(values)));
        let mut hidden = parameter("number");
        hidden.hidden = true;
        // Longer than the limit at which messages cut a value, and a key of several lines.
        for secret in ["s3cret7x".repeat(8), "s3cret7x\nmore".to_owned()] {
            let number = parameter("number");
            let json = parameter("json");
            let boolean = parameter("boolean");
            for one in [&number, &json, &boolean, &pattern, &allowed, &hidden] {
                let error = becomes(one, json!(secret)).unwrap_err();
                assert!(!error.contains("s3cret"), "{error}");
            }
        }
    }

    #[test]
    fn a_missing_value_means_the_default() {
        let mut number = parameter("number");
        assert!(
            becomes(&number, Value::Null)
                .unwrap_err()
                .contains("no default")
        );
        number.default = Some(json!("3"));
        assert_eq!(becomes(&number, Value::Null), Ok(json!(3)));
    }

    #[test]
    fn references_without_a_conversion_stay_plain() {
        let net = Expr::reference("net");
        assert_eq!(late(&parameter("string"), "a.yaml", net.clone()), net);
        let one = Expr::List(vec![net.clone()]);
        assert_eq!(late(&parameter("comma_delimited_list"), "a.yaml", net), one);
        assert_eq!(
            late(&parameter("comma_delimited_list"), "a.yaml", one.clone()),
            one
        );
        let map = Expr::Map(vec![("a".to_owned(), one)]);
        assert_eq!(late(&parameter("json"), "a.yaml", map.clone()), map);
    }
}
