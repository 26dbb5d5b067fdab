//! Converts values: CloudFormation's functions to those of HOT.

use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::import::context::{Importer, REGION};
use crate::import::read::{is_no_value, own_weight, weight};
use crate::import::resources::attribute;

/// Prefix of functions that are called by a map with one key.
const FUNCTIONS: &str = "Fn::";

impl Importer<'_> {
    /// Converts the value at a path. Null for `AWS::NoValue`.
    pub(crate) fn value(&mut self, value: &Value, path: &str) -> Value {
        if !self.spend(own_weight(value)) {
            return Value::Null;
        }
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.filter(|(_, item)| !is_no_value(item));
                items
                    .map(|(index, item)| self.value(item, &format!("{path}.{index}")))
                    .collect()
            }
            Value::Object(map) => match called(map) {
                Some((name, argument)) => self.call(name, argument, path),
                None => {
                    let mut converted = Map::new();
                    for (key, value) in map.iter().filter(|(_, value)| !is_no_value(value)) {
                        let value = self.value(value, &format!("{path}.{key}"));
                        converted.insert(key.clone(), value);
                    }
                    Value::Object(converted)
                }
            },
            scalar => scalar.clone(),
        }
    }

    fn call(&mut self, name: &str, argument: &Value, path: &str) -> Value {
        if !self.spend(own_weight(argument)) {
            return Value::Null;
        }
        let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
        match (name, list) {
            ("Ref", _) => self.reference(argument.as_str().unwrap_or_default(), path),
            ("Condition", _) => argument.clone(),
            ("Fn::GetAtt", [Value::String(resource), rest @ ..]) if !rest.is_empty() => {
                let rest: Vec<Value> = rest.iter().map(|key| self.value(key, path)).collect();
                // `Outputs.Url` can be one text.
                attribute(self, resource, &rest, path)
            }
            ("Fn::GetAtt", _) => match argument.as_str().and_then(|text| text.split_once('.')) {
                Some((resource, key)) => attribute(self, resource, &[json!(key)], path),
                None => self.unknown(name, argument, path),
            },
            ("Fn::Join", [delimiter, parts]) => {
                json!({"list_join": [delimiter, self.value(parts, path)]})
            }
            ("Fn::Base64", _) => self.value(argument, path),
            ("Fn::Split", [delimiter, text]) => {
                json!({"str_split": [delimiter, self.value(text, path)]})
            }
            ("Fn::Select", [index, from]) => self.select(index, from, path),
            ("Fn::Sub", _) => self.substituted(argument, path),
            ("Fn::Replace", [Value::Object(words), text]) => {
                let params = self.value(&Value::Object(words.clone()), path);
                json!({"str_replace": {"template": self.value(text, path), "params": params}})
            }
            ("Fn::If", [condition, yes, no]) => {
                let condition = self.condition(condition, path);
                match (is_no_value(yes), is_no_value(no)) {
                    (true, _) => json!({"if": [{"not": condition}, self.value(no, path)]}),
                    (_, true) => json!({"if": [condition, self.value(yes, path)]}),
                    _ => json!({"if": [condition, self.value(yes, path), self.value(no, path)]}),
                }
            }
            ("Fn::FindInMap", [Value::String(map), first, second, ..]) => {
                self.found_in(map, first, second, path)
            }
            ("Fn::Equals" | "Fn::And" | "Fn::Or" | "Fn::Not", _) => {
                self.condition(&json!({name: argument}), path)
            }
            ("Fn::Cidr", [range, count, rest @ ..]) => {
                match (
                    range.as_str(),
                    key_number(count),
                    rest.first().map(key_number),
                ) {
                    (Some(range), Some(count), None) => self.cidrs(range, count, 8, path),
                    (Some(range), Some(count), Some(Some(bits))) => {
                        self.cidrs(range, count, bits, path)
                    }
                    _ => self.unknown(name, argument, path),
                }
            }
            ("Fn::Length", [..]) if argument.is_array() => json!(list.len()),
            ("Fn::ToJsonString", _) => {
                if is_literal(argument) {
                    json!(argument.to_string())
                } else {
                    // HOT converts a map to text as JSON.
                    let value = self.value(argument, path);
                    json!({"list_join": ["", [value]]})
                }
            }
            ("Fn::GetAZs", _) => {
                self.changed(path, "The only availability zone is `nova`, the usual default. Replace it by the zones of your cloud");
                json!(["nova"])
            }
            ("Fn::ResourceFacade", _) => {
                let what = argument.as_str().unwrap_or_default();
                let what = match what {
                    "DeletionPolicy" => "deletion_policy",
                    "UpdatePolicy" => "update_policy",
                    _ => "metadata",
                };
                json!({"resource_facade": what})
            }
            (
                "Fn::MemberListToMap",
                [Value::String(key), Value::String(value), Value::Array(list)],
            ) => self.member_list(key, value, list, path),
            ("Fn::ImportValue", _) => {
                let exported = match argument.as_str() {
                    Some(name) => name.to_owned(),
                    None => argument.to_string(),
                };
                let name = self.import_name(&exported);
                json!({"get_param": name})
            }
            _ => self.unknown(name, argument, path),
        }
    }

    /// The parameter for another stack's export. Similar names get different parameters.
    fn import_name(&mut self, exported: &str) -> String {
        if let Some(name) = self.imports.get(exported) {
            return name.clone();
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let plain: String = exported.chars().map(plain).collect();
        let mut name = self.free_parameter(&format!("import_{}", plain.trim_matches('_')));
        while !self.import_names.insert(name.clone()) {
            name = format!("{name}_{}", self.imports.len());
        }
        self.imports.insert(exported.to_owned(), name.clone());
        name
    }

    fn unknown(&mut self, name: &str, argument: &Value, path: &str) -> Value {
        if !self.spend(weight(argument)) {
            return Value::Null;
        }
        self.left_out(
            path,
            format!("HOT has no counterpart of `{name}`. The call is kept as text: replace it by a value"),
        );
        json!(format!("{name} {argument}"))
    }

    fn reference(&mut self, name: &str, path: &str) -> Value {
        if let Some(pseudo) = name.strip_prefix("AWS::") {
            return match pseudo {
                "StackName" => json!({"get_param": "OS::stack_name"}),
                "StackId" => json!({"get_param": "OS::stack_id"}),
                "AccountId" => json!({"get_param": "OS::project_id"}),
                "Region" => {
                    let region = self.region();
                    self.added_parameter(REGION, region)
                }
                "Partition" => json!("aws"),
                "URLSuffix" => json!("amazonaws.com"),
                "NoValue" => Value::Null,
                _ => {
                    self.left_out(path, format!("Only Amazon defines `{name}`"));
                    json!([])
                }
            };
        }
        if self.resources.contains_key(name) {
            return crate::import::resources::reference(self, name, path);
        }
        if self.has_parameter(name) {
            return json!({"get_param": name});
        }
        if name.is_empty() {
            self.left_out(path, "The reference has no name");
            return Value::Null;
        }
        let message = format!(
            "The template has no parameter and no resource `{name}`. A parameter was added: give it a value"
        );
        self.needed(path, message);
        let description = "The imported template refers to this name and does not define it.";
        self.added_parameter(name, json!({"type": "string", "description": description}))
    }

    /// The definition of the parameter for the region. Its default is the first region in a mapping.
    fn region(&self) -> Value {
        let looks_like = |key: &&String| {
            let mut parts = key.split('-');
            parts.clone().count() == 3
                && parts.next().is_some_and(|part| part.len() == 2)
                && key.ends_with(|c: char| c.is_ascii_digit())
        };
        let keys = self
            .section("Mappings")
            .filter_map(|(_, map)| map.as_object())
            .flat_map(Map::keys);
        let first = keys.into_iter().find(looks_like);
        let default = first.map_or("RegionOne", String::as_str);
        json!({"type": "string", "description": "The region by which the template chooses values.", "default": default})
    }

    /// Converts `Fn::Select`. Literal arguments are evaluated now.
    fn select(&mut self, index: &Value, from: &Value, path: &str) -> Value {
        let number = key_number(index);
        if let Some(number) = number {
            let at = usize::try_from(number).unwrap_or(usize::MAX);
            if let Some(items) = from.as_array() {
                return items
                    .get(at)
                    .map_or(Value::Null, |item| self.value(item, path));
            }
            if let Some([delimiter, text]) = from
                .get("Fn::Split")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            {
                return json!({"str_split": [delimiter, self.value(text, path), number]});
            }
            if from.get("Fn::Cidr").is_some()
                && let Value::Array(ranges) = self.value(from, path)
            {
                return ranges.into_iter().nth(at).unwrap_or_default();
            }
            if from.get("Fn::GetAZs").is_some() {
                self.changed(path, "The availability zone is `nova`, the usual default. Replace it by a zone of your cloud");
                return json!("nova");
            }
        }
        let key = match number {
            Some(number) => json!(number),
            None => self.value(index, path),
        };
        match self.value(from, path) {
            Value::Object(map) if map.len() == 1 && map.contains_key("get_param") => {
                extended("get_param", &map["get_param"], key)
            }
            Value::Object(map) if map.len() == 1 && map.contains_key("get_attr") => {
                extended("get_attr", &map["get_attr"], key)
            }
            Value::Object(map) if key.as_str().is_some_and(|key| map.contains_key(key)) => {
                map[key.as_str().unwrap_or_default()].clone()
            }
            computed => json!({"yaql": {
                "expression": format!("$.data.of[{}]", number.map_or("$.data.at".to_owned(), |at| at.to_string())),
                "data": {"of": computed, "at": key},
            }}),
        }
    }

    /// Ranges within a range, each with `bits` bits for hosts.
    fn cidrs(&mut self, range: &str, count: u64, bits: u64, path: &str) -> Value {
        if !self.spend(count.min(RANGES_MAX) as usize * RANGE_BYTES) {
            return Value::Null;
        }
        match ranges(range, count, bits) {
            Some(ranges) => json!(ranges),
            None => {
                let message = format!(
                    "`{range}` is too small for {count} ranges with {bits} bits for hosts. Give the ranges by hand"
                );
                self.left_out(path, message);
                Value::Null
            }
        }
    }

    /// Converts `Fn::Sub`: `${Name}`, `${Name.Attribute}` and `${!Text}` in a text.
    fn substituted(&mut self, argument: &Value, path: &str) -> Value {
        let (text, given) = match argument {
            Value::String(text) => (text.as_str(), None),
            Value::Array(items) => (
                items.first().and_then(Value::as_str).unwrap_or_default(),
                items.get(1).and_then(Value::as_object),
            ),
            _ => return self.unknown("Fn::Sub", argument, path),
        };
        let mut params = Map::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(end) = rest[start..].find('}') else {
                break;
            };
            let word = &rest[start..=start + end];
            let name = word[2..word.len() - 1].trim();
            let value = match (
                name.strip_prefix('!'),
                given.and_then(|given| given.get(name)),
            ) {
                (Some(literal), _) => json!(format!("${{{literal}}}")),
                (_, Some(given)) => self.value(given, path),
                _ => match name.split_once('.') {
                    Some((resource, key)) => attribute(self, resource, &[json!(key)], path),
                    None => self.reference(name, path),
                },
            };
            params.insert(word.to_owned(), value);
            rest = &rest[start + end + 1..];
        }
        if params.is_empty() {
            return json!(text);
        }
        if let [(word, value)] = params.iter().collect::<Vec<_>>()[..]
            && word == text
        {
            return value.clone();
        }
        json!({"str_replace": {"template": text, "params": params}})
    }

    /// Converts `Fn::FindInMap`. Literal keys are looked up now. Otherwise the mapping becomes a parameter.
    fn found_in(&mut self, map: &str, first: &Value, second: &Value, path: &str) -> Value {
        let mapping = self.sections.get("Mappings").and_then(|maps| maps.get(map));
        let Some(mapping) = mapping else {
            self.needed(
                path,
                format!("The template has no mapping `{map}`. Give the value by hand"),
            );
            return Value::Null;
        };
        let known = key_text(first).and_then(|first| mapping.get(first)?.get(key_text(second)?));
        if let Some(known) = known {
            return if self.spend(weight(known)) {
                known.clone()
            } else {
                Value::Null
            };
        }
        self.mappings.insert(map.to_owned());
        let keys = [self.value(first, path), self.value(second, path)];
        let [first, second] = keys;
        json!({"get_param": [self.mapping_name(map), first, second]})
    }

    /// The parameter for a mapping, with the mapping's name if it is free.
    pub(crate) fn mapping_name(&self, map: &str) -> String {
        if self.has_parameter(map) {
            self.free_parameter(&format!("{map}_map"))
        } else {
            map.to_owned()
        }
    }

    fn member_list(&mut self, key: &str, value: &str, list: &[Value], path: &str) -> Value {
        if !self.spend(list.iter().map(weight).sum()) {
            return Value::Null;
        }
        let mut by_number: Vec<(String, Value, Value)> = Vec::new();
        for item in list.iter().filter_map(Value::as_str) {
            let Some((word, given)) = item.trim_start_matches('.').split_once('=') else {
                continue;
            };
            let mut parts = word.split('.');
            let number = parts.find(|part| part.chars().all(|c| c.is_ascii_digit()));
            let number = number.unwrap_or_default().to_owned();
            let last = parts.next_back().unwrap_or_default();
            let at = by_number.iter().position(|(one, ..)| *one == number);
            let at = at.unwrap_or_else(|| {
                by_number.push((number, Value::Null, Value::Null));
                by_number.len() - 1
            });
            if last == key {
                by_number[at].1 = json!(given);
            } else if last == value {
                by_number[at].2 = json!(given);
            }
        }
        if by_number.is_empty() {
            return self.unknown("Fn::MemberListToMap", &json!(list), path);
        }
        let entries = by_number.into_iter();
        let entries = entries.filter_map(|(_, key, value)| Some((key.as_str()?.to_owned(), value)));
        Value::Object(entries.collect())
    }

    /// Converts a condition: a name, or functions of values.
    pub(crate) fn condition(&mut self, value: &Value, path: &str) -> Value {
        let Some((name, argument)) = value.as_object().and_then(called) else {
            return value.clone();
        };
        let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
        match (name, list) {
            ("Condition", _) => argument.clone(),
            ("Fn::Not", [one]) => json!({"not": self.condition(one, path)}),
            ("Fn::Not", _) => json!({"not": self.condition(argument, path)}),
            ("Fn::And" | "Fn::Or", terms) if !terms.is_empty() => {
                let terms: Vec<Value> = terms
                    .iter()
                    .map(|term| self.condition(term, path))
                    .collect();
                json!({if name == "Fn::And" { "and" } else { "or" }: terms})
            }
            ("Fn::Equals", [a, b]) => {
                json!({"equals": [self.value(a, path), self.value(b, path)]})
            }
            ("Fn::Equals" | "Fn::And" | "Fn::Or", _) => {
                let message = format!("`{name}` has invalid arguments. It is always true here");
                self.changed(path, message);
                json!(true)
            }
            _ => self.value(value, path),
        }
    }
}

/// The maximum of `Fn::Cidr`.
const RANGES_MAX: u64 = 256;
/// Size of a range as text in a list, in bytes.
const RANGE_BYTES: usize = 34;

/// The ranges for IPv4. For IPv6 the cloud assigns them.
fn ranges(within: &str, count: u64, bits: u64) -> Option<Vec<String>> {
    let (address, prefix) = within.split_once('/')?;
    let (address, prefix) = (
        address.parse::<Ipv4Addr>().ok()?,
        prefix.parse::<u32>().ok()?,
    );
    let bits = u32::try_from(bits).ok().filter(|bits| *bits <= 32)?;
    let room = 32_u32.checked_sub(prefix)?.checked_sub(bits)?;
    if count == 0 || count > RANGES_MAX || u64::from(room) < 64 && count > 1_u64 << room {
        return None;
    }
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    let start = u64::from(u32::from(address) & mask);
    let one = |number: u64| {
        let at = u32::try_from(start + (number << bits)).ok()?;
        Some(format!("{}/{}", Ipv4Addr::from(at), 32 - bits))
    };
    (0..count).map(one).collect()
}

/// Whether the value is literal.
fn is_literal(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_literal),
        Value::Object(map) => called(map).is_none() && map.values().all(is_literal),
        _ => true,
    }
}

fn key_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn called(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, argument) = map.iter().next().filter(|_| map.len() == 1)?;
    let is_call = name == "Ref"
        || name.starts_with(FUNCTIONS)
        || (name == "Condition" && argument.is_string());
    is_call.then_some((name.as_str(), argument))
}

/// The text of a literal key.
fn key_text(key: &Value) -> Option<&str> {
    key.as_str()
}

/// The call with one more key in its path.
fn extended(function: &str, argument: &Value, key: Value) -> Value {
    let mut path = match argument {
        Value::Array(path) => path.clone(),
        name => vec![name.clone()],
    };
    path.push(key);
    json!({function: path})
}
