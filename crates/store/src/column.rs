//! Conversions between columns and types.

use jiff::{Timestamp, Unit};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The current time in RFC 3339, UTC, with milliseconds.
pub fn now_text() -> String {
    let now = Timestamp::now();
    let now = now.round(Unit::Millisecond).unwrap_or(now);
    format!("{now:.3}")
}

/// A value as JSON.
///
/// # Panics
/// If a map has keys that are not text. Our types do not have such maps.
pub fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our types have text keys")
}

/// The API's text of a state or kind.
///
/// # Panics
/// If the type does not serialise to text.
pub fn to_text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        other => unreachable!("states are written as text, not {other:?}"),
    }
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A nullable JSON column.
pub(crate) fn from_json_column<T: DeserializeOwned>(
    text: Option<String>,
) -> sqlx::Result<Option<T>> {
    text.as_deref().map(from_json).transpose()
}

pub(crate) fn from_text<T: DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_value(Value::String(text.to_owned()))
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A number of events or bytes for a column. Larger ones than there can be are the largest.
pub(crate) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A count from a column of 64 bits.
pub(crate) fn to_u32(number: i64) -> sqlx::Result<u32> {
    u32::try_from(number).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

pub(crate) fn time(text: &str) -> sqlx::Result<Timestamp> {
    text.parse()
        .map_err(|error: jiff::Error| sqlx::Error::Decode(Box::new(error)))
}
