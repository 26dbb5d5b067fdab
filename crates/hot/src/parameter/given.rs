//! Arguments of nested templates' parameters that are known only during the run.
//!
//! The parameter is stored with the value, as a call of
//! [`Function::TypedArgument`](crate::expr::Function::TypedArgument). See `late` in the planner.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Parameter, Problem, Rule, as_string, coerce, problem};

const LIST: &str = "comma_delimited_list";

/// Fields of a parameter for the conversion during a run.
#[derive(Serialize, Deserialize)]
pub struct Stored {
    name: String,
    /// Template that declares the parameter.
    of: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    constraints: Vec<Rule>,
}

impl Stored {
    /// Fields of a parameter of the template `of`.
    pub fn of(parameter: &Parameter, of: &str) -> Stored {
        Stored {
            name: parameter.name.clone(),
            of: of.to_owned(),
            kind: parameter.kind.clone(),
            default: parameter.default.clone(),
            hidden: parameter.hidden,
            constraints: parameter.constraints.clone(),
        }
    }
}

/// Value of such a call. The error describes its problem, in the author's words if a constraint has a description.
pub fn given(mut arguments: Value) -> Result<Value, String> {
    let stored: Stored = serde_json::from_value(arguments["parameter"].take())
        .map_err(|error| format!("a parameter is stored in another form: {error}"))?;
    let parameter = Parameter {
        name: stored.name,
        kind: stored.kind,
        default: stored.default,
        hidden: stored.hidden,
        constraints: stored.constraints,
        ..Parameter::default()
    };
    let (name, of) = (&parameter.name, &stored.of);
    let value = match (arguments["value"].take(), &parameter.default) {
        (Value::Null, Some(default)) => return Ok(coerce(&parameter.kind, default)),
        (Value::Null, None) => {
            return Err(format!(
                "the parameter `{name}` of `{of}` has no default, and its given value is empty"
            ));
        }
        (value, _) => value,
    };
    let value = match (parameter.kind.as_str(), value) {
        // A list is passed as one text, and split at its commas.
        (LIST, Value::Array(items)) if !items.is_empty() => {
            let text = |item: &Value| match item {
                Value::Null => String::new(),
                item => as_string(item),
            };
            json!(items.iter().map(text).collect::<Vec<_>>().join(","))
        }
        (_, value) => value,
    };
    match problem(&parameter, &value) {
        None => Ok(coerce(&parameter.kind, &value)),
        Some(Problem::Described(text)) => Err(format!("the parameter `{name}` of `{of}`: {text}")),
        // The value can come from a secret, such as a generated password or key, so it is never quoted.
        Some(Problem::Ours(_)) => Err(format!(
            "what the parameter `{name}` of `{of}` does not fit: {}",
            wanted(&parameter)
        )),
    }
}

/// Form of a parameter's values, without the given value.
fn wanted(parameter: &Parameter) -> String {
    let kind = match parameter.kind.as_str() {
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "json" => "a map, a list or JSON in a text",
        LIST => "a list, or a text with commas",
        _ => "a text",
    };
    if parameter.constraints.is_empty() {
        format!("{kind} is wanted")
    } else {
        format!("{kind} is wanted that keeps the parameter's constraints")
    }
}
