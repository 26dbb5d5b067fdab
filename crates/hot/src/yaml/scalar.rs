//! Values of plain scalars.
//!
//! The rules are those of YAML 1.1, because Heat parses templates with PyYAML: `yes` is a boolean, `0755` is octal,
//! `1:30` is 90 (base 60), `1e5` is text and `1.0e+5` a number. Dates stay text, as in Heat.

use serde_json::{Number, Value};

/// Value of a plain scalar.
pub fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    let first = text.as_bytes()[0];
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    let (negative, digits) = match first {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || plain.is_empty() {
        return None;
    }
    let radix = |digits: &str, radix: u32| {
        let value = i64::from_str_radix(digits, radix).ok()?;
        digits
            .chars()
            .all(|c| c.is_digit(radix))
            .then(|| Number::from(if negative { -value } else { value }))
    };
    if let Some(hex) = plain.strip_prefix("0x") {
        return radix(hex, 16);
    }
    if let Some(binary) = plain.strip_prefix("0b") {
        return radix(binary, 2);
    }
    if plain.len() > 1 && plain.starts_with('0') && plain.chars().all(|c| c.is_ascii_digit()) {
        return radix(&plain[1..], 8);
    }
    if plain.chars().all(|c| c.is_ascii_digit()) {
        let signed = if negative {
            format!("-{plain}")
        } else {
            plain.clone()
        };
        return signed
            .parse::<i64>()
            .map(Number::from)
            .or_else(|_| signed.parse::<u64>().map(Number::from))
            .ok();
    }
    if digits.contains(':') {
        return sexagesimal(digits, negative);
    }
    let is_float = is_float(digits)
        && plain.contains('.')
        && plain.chars().any(|c| c.is_ascii_digit())
        && plain
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if !is_float {
        return None;
    }
    let value: f64 = plain.parse().ok()?;
    Number::from_f64(if negative { -value } else { value })
}

/// Parses a number in base 60: `1:30` and `1:30.5`. The first digit of an integer is not 0.
fn sexagesimal(digits: &str, negative: bool) -> Option<Number> {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    if fraction.is_none() && !whole.starts_with(|c: char| matches!(c, '1'..='9')) {
        return None;
    }
    let mut places = whole.split(':');
    let first = places.next()?.replace('_', "");
    let mut value: i64 = first.parse().ok()?;
    for place in places {
        let fits = matches!(place.len(), 1 | 2) && place.chars().all(|c| c.is_ascii_digit());
        let number: i64 = place.parse().ok().filter(|number| fits && *number < 60)?;
        value = value.checked_mul(60)?.checked_add(number)?;
    }
    match fraction {
        None => Some(Number::from(if negative { -value } else { value })),
        Some(fraction) => {
            let fraction: f64 = format!("0.{}", fraction.replace('_', "")).parse().ok()?;
            let value = value as f64 + fraction;
            Number::from_f64(if negative { -value } else { value })
        }
    }
}

/// True for a float. The exponent needs a sign.
fn is_float(digits: &str) -> bool {
    match digits.split_once(['e', 'E']) {
        Some((_, exponent)) => exponent
            .strip_prefix(['+', '-'])
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())),
        None => !digits.contains(['+', '-']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_have_the_types_that_heat_gives_them() {
        for (text, value) in [
            ("", json!(null)),
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("80", json!(80)),
            ("-5", json!(-5)),
            ("0755", json!(493)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1.2.3.4", json!("1.2.3.4")),
            ("10.0.0.0/24", json!("10.0.0.0/24")),
            ("2021-04-16", json!("2021-04-16")),
            ("1:30", json!(90)),
            ("-1:00:01", json!(-3601)),
            ("1:30.5", json!(90.5)),
            ("1:60", json!("1:60")),
            ("08:30", json!("08:30")),
            ("fa:16", json!("fa:16")),
            ("1e5", json!("1e5")),
            ("1.5e5", json!("1.5e5")),
            ("1.0e+2", json!(100.0)),
            ("-", json!("-")),
            ("+", json!("+")),
            (".", json!(".")),
            ("09", json!("09")),
            ("m1.small", json!("m1.small")),
            ("99999999999999999999", json!("99999999999999999999")),
        ] {
            assert_eq!(resolve(text), value, "{text}");
        }
    }
}
