//! Writes values as YAML in the usual style: quotes only if needed, `|` for several lines, function calls in flow
//! style, the rest in block style.

use serde_json::Value;

use crate::yaml::scalar;

/// Maximum width of a function call in flow style, in characters. Longer calls are in block style.
const FLOW_WIDTH: usize = 78;

/// The style of the collection around a scalar or key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// Lines with indentation, or no collection.
    Block,
    /// Braces or brackets: more characters need quotes.
    Flow,
}

/// Scalar in the shortest form that is read back as the same value. Never contains a line break.
pub fn scalar_text(value: &Value, around: Around) -> String {
    match value {
        Value::String(text) if is_plain(text, around) => text.clone(),
        Value::String(text) => quoted(text),
        Value::Number(number) => number_text(number),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

fn number_text(number: &serde_json::Number) -> String {
    let text = number.to_string();
    // `1e30` is text in YAML 1.1: a number needs a decimal point.
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with('-') { "" } else { "+" };
            format!(
                "{mantissa}{point}e{sign}{}",
                exponent.trim_start_matches('+')
            )
        }
        None => text,
    }
}

fn quoted(text: &str) -> String {
    let simple = text.chars().all(|c| {
        !c.is_control() && c != '\u{feff}' && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
    });
    if simple && !text.contains('\'') {
        return if text.contains('\\') || text.contains('"') {
            format!("'{text}'")
        } else {
            format!("\"{text}\"")
        };
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// True if a text needs no quotes.
fn is_plain(text: &str, around: Around) -> bool {
    let in_flow = around == Around::Flow;
    if !matches!(scalar::resolve(text), Value::String(_)) || looks_special(text) {
        return false;
    }
    let Some(first) = text.chars().next() else {
        return false;
    };
    if text.starts_with(' ')
        || text.ends_with(' ')
        || text.ends_with(':')
        || text.contains(": ")
        || text.contains(" #")
    {
        return false;
    }
    let indicator = "!&*?|>@`\"'%#{}[],:-=<~".contains(first);
    // `-x` and `:x` would be valid plain scalars; quoting them is clearer.
    if indicator || text.starts_with("...") {
        return false;
    }
    // A dash alone before a bracket is read as one of a list.
    if in_flow && text.ends_with(" -") {
        return false;
    }
    let flow = |c: char| matches!(c, ',' | '[' | ']' | '{' | '}');
    text.chars().all(|c| {
        !c.is_control()
            && !matches!(c, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}')
            && !(in_flow && (flow(c) || c == ':'))
    })
}

/// True for texts that other YAML parsers read as a date or a number.
fn looks_special(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '.'))
        && text.chars().all(|c| {
            c.is_ascii_digit()
                || matches!(c, '-' | ':' | '_' | 'e' | 'E' | '+' | ' ' | 'T' | 'Z')
                // Fractions of a second, but not an IP address.
                || (c == '.' && text.contains('-') && text.contains(':'))
        })
        || matches!(
            text,
            ".inf" | ".nan" | ".Inf" | ".NaN" | ".INF" | ".NAN" | "y" | "Y" | "n" | "N"
        )
        || text.starts_with("0o")
}

/// Value on one line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(flow).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", key_text(key, Around::Flow), flow(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        scalar => scalar_text(scalar, Around::Flow),
    }
}

/// Value on one line, as JSON.
pub fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(json).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), json(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// Key. Unusual keys are quoted.
pub fn key_text(key: &str, around: Around) -> String {
    scalar_text(&Value::String(key.to_owned()), around)
}

/// Text after `key:` or `-`: on the same line, or on the lines below.
#[derive(Debug, PartialEq)]
pub enum Block {
    /// Text after a space.
    Inline(String),
    /// Complete, indented lines, joined by line ends. `header` is on the key's line, after a space.
    Lines {
        /// Text after the colon or dash: the indicator of a block scalar, or empty.
        header: String,
        /// Lines below the header.
        body: String,
    },
}

/// `value` for a key (or dash) whose children are indented by `indent` spaces.
pub fn block(value: &Value, indent: usize, step: usize) -> Block {
    let pad = " ".repeat(indent);
    match value {
        Value::String(text) if text.contains('\n') && block_scalar_fits(text) => {
            let (chomp, body) = match text.strip_suffix('\n') {
                Some(body) => ("", body),
                None => ("-", text.as_str()),
            };
            let lines: Vec<String> = body
                .split('\n')
                .map(|line| {
                    if line.is_empty() {
                        String::new()
                    } else {
                        format!("{pad}{line}")
                    }
                })
                .collect();
            Block::Lines {
                header: format!("|{chomp}"),
                body: lines.join("\n"),
            }
        }
        Value::Object(map) if !map.is_empty() && !is_short_call(map) => {
            let lines: Vec<String> = map
                .iter()
                .map(|(key, value)| entry(key, value, indent, step))
                .collect();
            Block::Lines {
                header: String::new(),
                body: lines.join("\n"),
            }
        }
        Value::Array(items) if !items.is_empty() && !is_short_list(items) => {
            let lines: Vec<String> = items
                .iter()
                .map(|value| item(value, indent, step))
                .collect();
            Block::Lines {
                header: String::new(),
                body: lines.join("\n"),
            }
        }
        other => Block::Inline(match other {
            Value::Array(_) | Value::Object(_) => flow(other),
            scalar => scalar_text(scalar, Around::Block),
        }),
    }
}

/// `key: value` at `indent`, without a line end after it.
pub fn entry(key: &str, value: &Value, indent: usize, step: usize) -> String {
    let pad = " ".repeat(indent);
    format!(
        "{pad}{}:{}",
        key_text(key, Around::Block),
        after_colon(value, indent + step, step)
    )
}

/// Text after a colon: ` value`, or a line end and lines.
pub fn after_colon(value: &Value, indent: usize, step: usize) -> String {
    match block(value, indent, step) {
        Block::Inline(text) => format!(" {text}"),
        Block::Lines { header, body } if header.is_empty() => format!("\n{body}"),
        Block::Lines { header, body } => format!(" {header}\n{body}"),
    }
}

/// `- value` at `indent`, without a line end after it.
pub fn item(value: &Value, indent: usize, step: usize) -> String {
    let pad = " ".repeat(indent);
    format!("{pad}-{}", after_dash(value, indent, step))
}

/// Text after a dash at `indent`.
pub fn after_dash(value: &Value, indent: usize, step: usize) -> String {
    // A map or list in a list begins on the dash's line, so its children are indented by two more columns.
    match block(value, indent + 2, step) {
        Block::Inline(text) => format!(" {text}"),
        Block::Lines { header, body } if header.is_empty() => {
            format!(" {}", body.trim_start_matches(' '))
        }
        Block::Lines { header, body } => format!(" {header}\n{body}"),
    }
}

/// True if `|` can express the text: no leading blanks, which need an indentation indicator, and no characters that
/// need escapes.
fn block_scalar_fits(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    !body.is_empty()
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\t', '\n'])
        && !body
            .split('\n')
            .any(|line| !line.is_empty() && line.trim().is_empty())
        && !text.chars().any(|c| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        })
}

/// True for calls such as `{get_resource: web}`, which are more readable on one line.
fn is_short_call(map: &serde_json::Map<String, Value>) -> bool {
    map.len() == 1
        && map.keys().all(|key| crate::expr::is_function(key))
        && one_line(&Value::Object(map.clone()))
}

/// True for short lists of scalars: `[80, 443]`.
fn is_short_list(items: &[Value]) -> bool {
    items
        .iter()
        .all(|item| !item.is_array() && !item.is_object())
        && one_line(&Value::Array(items.to_vec()))
}

fn one_line(value: &Value) -> bool {
    !has_line_break(value) && flow(value).chars().count() <= FLOW_WIDTH
}

fn has_line_break(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\n'),
        Value::Array(items) => items.iter().any(has_line_break),
        Value::Object(map) => map.values().any(has_line_break),
        _ => false,
    }
}
