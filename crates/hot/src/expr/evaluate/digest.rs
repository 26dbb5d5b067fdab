//! `digest`: checksums of texts, in hexadecimal digits.

use serde_json::Value;

use super::items;
use crate::{expr::arguments::ALGORITHMS, text::listed};
use yaql::shown;

pub(super) fn digest(arguments: Value) -> Result<Value, String> {
    let mut arguments = items(arguments).into_iter();
    let (Some(Value::String(algorithm)), Some(Value::String(text))) =
        (arguments.next(), arguments.next())
    else {
        return Err("`digest` takes an algorithm and a text".to_owned());
    };
    // As in Heat: one byte per character.
    let bytes: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)))
        .collect::<Result<_, _>>()
        .map_err(|_| "`digest` takes a text of Latin letters only".to_owned())?;
    let hash = match algorithm.to_lowercase().as_str() {
        "md5" => hex(&<md5::Md5 as md5::Digest>::digest(&bytes)),
        "sha1" => hex(&<sha1::Sha1 as sha1::Digest>::digest(&bytes)),
        "sha224" => hex(&<sha2::Sha224 as sha2::Digest>::digest(&bytes)),
        "sha256" => hex(&<sha2::Sha256 as sha2::Digest>::digest(&bytes)),
        "sha384" => hex(&<sha2::Sha384 as sha2::Digest>::digest(&bytes)),
        "sha512" => hex(&<sha2::Sha512 as sha2::Digest>::digest(&bytes)),
        _ => {
            return Err(format!(
                "`digest` knows {}, not `{}`",
                listed(&ALGORITHMS),
                shown(&algorithm)
            ));
        }
    };
    Ok(Value::String(hash))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}
