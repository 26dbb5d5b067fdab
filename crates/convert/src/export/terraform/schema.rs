//! The provider's schema, as far as the exporter uses it.
//!
//! The data is in `schema.txt`. Terraform refuses a file without a required argument before it contacts any cloud, so
//! the report lists the missing ones. A test compares the tables of [`super::types`] with the schema.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

/// A resource type, a data source, or a block of one.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub arguments: HashMap<&'static str, Argument>,
    /// Readable attributes other than the arguments.
    pub attributes: Vec<&'static str>,
}

#[derive(Debug)]
pub(super) struct Argument {
    pub required: bool,
    /// The block's shape. `None` for a plain value.
    pub block: Option<Shape>,
}

/// Shapes by kind, then by name.
type Shapes = HashMap<&'static str, HashMap<&'static str, Shape>>;

/// The shape of a type, by its kind (`resource`, `data`) and name.
pub(super) fn of(kind: &str, name: &str) -> Option<&'static Shape> {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    let shapes = SHAPES.get_or_init(|| {
        let mut shapes = Shapes::new();
        let lines = include_str!("schema.txt").lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        for ((kind, name), shape) in lines.filter_map(line) {
            shapes.entry(kind).or_default().insert(name, shape);
        }
        shapes
    });
    shapes.get(kind)?.get(name)
}

/// Paths of the required arguments that are missing in a body: `name`, `fixed_ip.subnet_id`.
pub(super) fn lacking(shape: &Shape, body: &Map<String, Value>) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, argument) in &shape.arguments {
        match (body.get(*name), &argument.block) {
            (None, _) if argument.required => missing.push((*name).to_owned()),
            (Some(Value::Array(blocks)), Some(shape)) => {
                for block in blocks.iter().filter_map(Value::as_object) {
                    let below = lacking(shape, block).into_iter();
                    missing.extend(below.map(|below| format!("{name}.{below}")));
                }
            }
            _ => {}
        }
    }
    missing.sort();
    missing.dedup();
    missing
}

fn line(line: &'static str) -> Option<((&'static str, &'static str), Shape)> {
    let (given, attributes) = line.split_once(';')?;
    let (kind, rest) = given.split_once(' ')?;
    let (name, arguments) = rest.split_once(' ')?;
    let (mut shape, _) = block(arguments);
    shape.attributes = attributes.split_whitespace().collect();
    Some(((kind, name), shape))
}

/// Parses up to the end or the closing brace. Returns the rest.
fn block(mut text: &'static str) -> (Shape, &'static str) {
    let mut shape = Shape::default();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return (shape, "");
        }
        if let Some(rest) = text.strip_prefix('}') {
            return (shape, rest);
        }
        let end = text.find([' ', '{', '}']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let name = word.trim_end_matches('!');
        let (inner, rest) = match rest.strip_prefix('{') {
            Some(below) => {
                let (inner, rest) = block(below);
                (Some(inner), rest)
            }
            None => (None, rest),
        };
        let argument = Argument {
            required: word.ends_with('!'),
            block: inner,
        };
        shape.arguments.insert(name, argument);
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::{self, LookUp, To};
    use super::*;

    fn check(shape: &Shape, to: &To, at: &str, wrong: &mut Vec<String>) {
        let known = |shape: &Shape, name: &str| shape.arguments.contains_key(name);
        let looked_up = |look_up: &LookUp, wrong: &mut Vec<String>| match of("data", look_up.data) {
            None => wrong.push(format!("{at}: no data source {}", look_up.data)),
            Some(shape) => {
                for name in look_up.id.iter().chain([&"name"]) {
                    if !known(shape, name) {
                        wrong.push(format!("{at}: {} has no {name}", look_up.data));
                    }
                }
            }
        };
        match to {
            To::As(name) if known(shape, name) => {}
            To::Id(name, look_up) | To::Ids(name, look_up) if known(shape, name) => {
                looked_up(look_up, wrong);
            }
            To::Block(name, table) => {
                match shape.arguments.get(name).and_then(|one| one.block.as_ref()) {
                    Some(block) => table
                        .iter()
                        .for_each(|(hot, to)| check(block, to, &format!("{at}.{hot}"), wrong)),
                    None => wrong.push(format!("{at}: no block {name}")),
                }
            }
            To::Within(name, argument) => {
                let block = shape.arguments.get(name).and_then(|one| one.block.as_ref());
                if !block.is_some_and(|block| known(block, argument)) {
                    wrong.push(format!("{at}: no {argument} in {name}"));
                }
            }
            To::Entry(name, _) => {
                let block = shape.arguments.get(name).and_then(|one| one.block.as_ref());
                if !block.is_some_and(|block| known(block, "name") && known(block, "secret_ref")) {
                    wrong.push(format!("{at}: {name} holds no secrets"));
                }
            }
            To::ByHand | To::Nothing => {}
            other => wrong.push(format!("{at}: no argument for {other:?}")),
        }
    }

    #[test]
    fn every_argument_in_the_tables_is_in_the_provider() {
        let mut wrong = Vec::new();
        for mapping in types::all().filter(|one| one.terraform.starts_with("openstack_")) {
            let Some(shape) = of("resource", mapping.terraform) else {
                wrong.push(format!("no resource {}", mapping.terraform));
                continue;
            };
            for (hot, to) in mapping.arguments {
                check(shape, to, &format!("{}.{hot}", mapping.hot), &mut wrong);
            }
            for (argument, _) in mapping.fixed {
                check(shape, &To::As(argument), mapping.hot, &mut wrong);
            }
            let read = mapping.attributes.iter().map(|(_, attribute)| attribute);
            for attribute in read.chain([&mapping.reference]) {
                let known =
                    shape.arguments.contains_key(attribute) || shape.attributes.contains(attribute);
                if !known {
                    wrong.push(format!("{}: no attribute {attribute}", mapping.hot));
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn missing_required_arguments_are_found() {
        let shape = of("resource", "openstack_networking_trunk_v2").unwrap();
        let body = serde_json::json!({"sub_port": [{"port_id": "a"}]});
        let missing = lacking(shape, body.as_object().unwrap());
        assert_eq!(
            missing,
            [
                "port_id",
                "sub_port.segmentation_id",
                "sub_port.segmentation_type"
            ]
        );
    }
}
