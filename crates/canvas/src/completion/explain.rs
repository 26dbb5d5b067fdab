//! Help about the word at a place of the text.

use hot::expr::is_function;
use serde::Serialize;

use super::{
    At, CompletionInput, Spot,
    help::{function_help, parameter_help, property_help, resource_help, type_help},
    property_at, spot, type_at,
};

/// Help about one word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Start of the word in the text, in bytes.
    pub from: usize,
    /// End of the word.
    pub to: usize,
    /// The word.
    pub title: String,
    /// Sentences with names in backquotes.
    pub lines: Vec<String>,
}

/// Help about the word at a byte offset.
pub fn explain(input: &CompletionInput<'_>, text: &str, offset: usize) -> Option<Explanation> {
    let rest = text.get(offset..)?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    // A key's colon is not part of it.
    let to = offset + rest[..end].trim_end_matches(':').len();
    let spot = spot(text, to).filter(|spot| spot.from <= offset)?;
    let lines = help(input, &spot)?;
    (!lines.is_empty()).then(|| Explanation {
        from: spot.from,
        to,
        title: spot.word.clone(),
        lines,
    })
}

fn help(input: &CompletionInput<'_>, spot: &Spot) -> Option<Vec<String>> {
    let (template, word) = (input.template, &*spot.word);
    let path: Vec<&str> = spot.path.iter().map(String::as_str).collect();
    let resource = |name: &str| Some(resource_help(input, template.resource(name)?));
    match (&*path, spot.at) {
        ([.., "get_resource"], At::Value)
        | ([.., "get_attr", "0"], At::Item)
        | (["resources", _, "depends_on", ..], At::Value | At::Item) => resource(word),
        ([.., "get_param"], At::Value) | ([.., "get_param", "0"], At::Item) => {
            let mut parameters = template.parameters.iter();
            Some(parameter_help(parameters.find(|one| one.name == word)?))
        }
        ([.., "get_attr", "1"], At::Item) => {
            let of = template.resource(spot.before.first()?)?;
            let mut attributes = input.types.get(&of.resource_type)?.attributes.iter();
            Some(vec![
                attributes.find(|one| one.name == word)?.summary.clone(),
            ])
        }
        (["resources", _, "type"], At::Value) => Some(type_help(input.types.get(word)?)),
        (_, At::Key | At::Item) if is_function(word) => Some(function_help(word)),
        (["resources", name, "properties", rest @ ..], At::Key | At::Item) => {
            let described = type_at(input, spot, name)?;
            Some(property_help(property_at(
                described,
                &[rest, &[word]].concat(),
            )?))
        }
        (["resources"], At::Key) => resource(word),
        _ => None,
    }
}
