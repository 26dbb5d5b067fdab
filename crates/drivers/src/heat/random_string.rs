//! `OS::Heat::RandomString`: random characters, often a password.
//!
//! The value is generated once, on creation. The engine stores it encrypted with the server's own key, and never
//! generates it again. It therefore survives restarts and updates, needs no vault (too much for a name suffix), and is
//! never stored as plain text. `get_resource` returns it too. Source: Heat's `random_string.py`.

use rand::{TryRngCore, rngs::OsRng};
use serde_json::{Map, Value as Json, json};

use super::{DriverError, Local, Properties, Ready};

const LENGTH: i64 = 32;
const LENGTH_MAX: i64 = 512;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

pub(super) struct RandomString;

impl Local for RandomString {
    fn ready(&self, properties: &Map<String, Json>) -> Result<Ready, DriverError> {
        let value = make(Properties::of(properties))?;
        let mut attributes = Map::new();
        attributes.insert("value".into(), json!(value));
        Ok(Ready {
            reference: json!(value),
            attributes,
        })
    }

    fn secrets(&self) -> &'static [&'static str] {
        &["value"]
    }
}

fn wrong(property: &str, message: String) -> DriverError {
    DriverError::Property {
        property: property.to_owned(),
        message,
    }
}

/// Generates the minimum number of characters of each set, the rest from any set, in random order.
fn make(properties: Properties<'_>) -> Result<String, DriverError> {
    let length = properties.integer("length")?.unwrap_or(LENGTH);
    if !(1..=LENGTH_MAX).contains(&length) {
        return Err(wrong(
            "length",
            format!("it must be from 1 to {LENGTH_MAX}"),
        ));
    }
    let length = length as usize;
    let sets = sets(properties)?;
    let mut made: Vec<char> = Vec::with_capacity(length);
    for (set, min) in &sets {
        for _ in 0..*min {
            made.push(*pick(set)?);
        }
    }
    if made.len() > length {
        let message = "it is less than the classes and sequences need at least".to_owned();
        return Err(wrong("length", message));
    }
    while made.len() < length {
        made.push(*pick(&pick(&sets)?.0)?);
    }
    // Fisher-Yates shuffle.
    for at in (1..made.len()).rev() {
        made.swap(at, below(at + 1)?);
    }
    Ok(made.into_iter().collect())
}

/// Sets of characters, each with its minimum number.
fn sets(properties: Properties<'_>) -> Result<Vec<(Vec<char>, usize)>, DriverError> {
    let mut sets = Vec::new();
    for (index, class) in items(properties, "character_classes").iter().enumerate() {
        let prefix = format!("character_classes.{index}.");
        let class = Properties::within(class, &prefix)?;
        let name = class.filled("class")?;
        let set = characters(
            "character_classes",
            name.as_deref().unwrap_or("lettersdigits"),
        )?;
        sets.push((set, count(class.integer("min")?)));
    }
    for (index, sequence) in items(properties, "character_sequences").iter().enumerate() {
        let prefix = format!("character_sequences.{index}.");
        let sequence = Properties::within(sequence, &prefix)?;
        let set = sequence.required("sequence")?.chars().collect();
        sets.push((set, count(sequence.integer("min")?)));
    }
    if sets.is_empty() {
        // The older property, and the default.
        let name = properties.filled("sequence")?;
        let set = characters("sequence", name.as_deref().unwrap_or("lettersdigits"))?;
        sets.push((set, 0));
    }
    Ok(sets)
}

fn items<'a>(properties: Properties<'a>, name: &str) -> &'a [Json] {
    match properties.get(name) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// The minimum number of a set; defaults to 1.
fn count(given: Option<i64>) -> usize {
    given.map_or(1, |given| usize::try_from(given).unwrap_or_default())
}

fn pick<T>(of: &[T]) -> Result<&T, DriverError> {
    Ok(&of[below(of.len())?])
}

/// A uniformly distributed number less than `limit`, by rejection sampling.
fn below(limit: usize) -> Result<usize, DriverError> {
    let limit = limit as u64;
    let fair = u64::MAX - u64::MAX % limit;
    loop {
        let thrown = OsRng.try_next_u64().map_err(|error| {
            DriverError::Other(format!("the system gives no random numbers: {error}"))
        })?;
        if thrown < fair {
            return Ok((thrown % limit) as usize);
        }
    }
}

fn characters(property: &str, class: &str) -> Result<Vec<char>, DriverError> {
    let set = match class {
        "lettersdigits" => [LOWER, UPPER, DIGITS].concat(),
        "letters" => [LOWER, UPPER].concat(),
        "lowercase" => LOWER.to_owned(),
        "uppercase" => UPPER.to_owned(),
        "digits" => DIGITS.to_owned(),
        "hexdigits" => [DIGITS, "ABCDEF"].concat(),
        "octdigits" => "01234567".to_owned(),
        other => return Err(wrong(property, format!("there is no class `{other}`"))),
    };
    Ok(set.chars().collect())
}
