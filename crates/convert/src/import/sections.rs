//! Parameters, conditions and outputs.

use serde_json::{Map, Value, json};

use crate::import::context::Importer;

/// The text's own parameters, then mappings and added parameters.
pub(crate) fn parameters(importer: &mut Importer<'_>) -> Map<String, Value> {
    let mut parameters = Map::new();
    for (name, definition) in importer.section("Parameters") {
        parameters.insert(name.clone(), parameter(importer, name, definition));
    }
    for map in std::mem::take(&mut importer.mappings) {
        let path = format!("Mappings.{map}");
        let default = importer
            .sections
            .get("Mappings")
            .and_then(|maps| maps.get(&map));
        let definition = json!({
            "type": "json",
            "description": "A mapping: values by two keys.",
            "default": default,
        });
        importer.changed(
            &path,
            "HOT has no mappings. The mapping is a parameter with a default here",
        );
        parameters.insert(importer.mapping_name(&map), definition);
    }
    for (exported, name) in std::mem::take(&mut importer.imports) {
        let message =
            format!("Another stack exports `{exported}`. Give its value to the parameter `{name}`");
        importer.needed("Parameters", message);
        let description = format!("The value that another stack exports as {exported}.");
        let definition = json!({"type": "string", "description": description});
        parameters.insert(name, definition);
    }
    for (name, definition) in std::mem::take(&mut importer.added) {
        if definition.get("default").is_none() {
            let description = definition["description"].as_str().unwrap_or_default();
            importer.needed(
                "Parameters",
                format!("The parameter `{name}` was added. Give it a value: {description}"),
            );
        }
        parameters.insert(name, definition);
    }
    parameters
}

fn parameter(importer: &mut Importer<'_>, name: &str, definition: &Value) -> Value {
    let path = format!("Parameters.{name}");
    let mut out = Map::new();
    let mut constraints: Vec<Value> = Vec::new();
    let written = definition
        .get("Type")
        .and_then(Value::as_str)
        .unwrap_or("String");
    let (kind, custom) = kind(written);
    if kind == "string" && written != "String" && custom.is_none() {
        importer.changed(
            &path,
            format!("HOT has no parameter type `{written}`. The parameter is a string here"),
        );
    }
    out.insert("type".to_owned(), json!(kind));
    let labels = importer.sections.get("Metadata");
    let label = labels
        .and_then(|one| {
            one.get("AWS::CloudFormation::Interface")?
                .get("ParameterLabels")
        })
        .and_then(|labels| labels.get(name)?.get("default"));
    for (value, key) in [
        (label, "label"),
        (definition.get("Description"), "description"),
    ] {
        if let Some(value) = value {
            out.insert(key.to_owned(), value.clone());
        }
    }
    let description = definition.get("ConstraintDescription");
    let mut constrain = |constraint: Value| {
        let mut constraint = constraint;
        if let Some(description) = description {
            constraint["description"] = description.clone();
        }
        constraints.push(constraint);
    };
    let number = |key: &str| definition.get(key).map(as_number);
    let range = |min: &str, max: &str| {
        let ends = [("min", number(min)), ("max", number(max))];
        let ends: Map<String, Value> = ends
            .into_iter()
            .filter_map(|(key, end)| Some((key.to_owned(), end?)))
            .collect();
        (!ends.is_empty()).then_some(ends)
    };
    if let Some(length) = range("MinLength", "MaxLength") {
        constrain(json!({"length": length}));
    }
    if let Some(range) = range("MinValue", "MaxValue") {
        constrain(json!({"range": range}));
    }
    for (amazon, hot) in [
        ("AllowedValues", "allowed_values"),
        ("AllowedPattern", "allowed_pattern"),
    ] {
        match definition.get(amazon) {
            Some(allowed) if kind != "comma_delimited_list" => constrain(json!({hot: allowed})),
            Some(_) => importer.left_out(
                &format!("{path}.{amazon}"),
                "HOT cannot constrain the items of a list",
            ),
            None => {}
        }
    }
    if let Some(custom) = custom {
        constrain(json!({"custom_constraint": custom}));
    }
    if let Some(default) = definition.get("Default") {
        let default = match (kind, default) {
            ("number", text) => as_number(text),
            ("string", Value::Number(number)) => json!(number.to_string()),
            (_, default) => default.clone(),
        };
        if custom == Some("nova.flavor") || custom == Some("glance.image") {
            let text = default.as_str().unwrap_or_default();
            importer.needed(&path, format!("Replace `{text}` by a name of your cloud"));
        }
        out.insert("default".to_owned(), default);
    }
    let hidden = definition.get("NoEcho");
    if hidden.is_some_and(|hidden| *hidden == true || *hidden == "true" || *hidden == "True") {
        out.insert("hidden".to_owned(), json!(true));
    }
    if !constraints.is_empty() {
        out.insert("constraints".to_owned(), Value::Array(constraints));
    }
    Value::Object(out)
}

/// The type in HOT, and the custom constraint for the value.
fn kind(written: &str) -> (&'static str, Option<&'static str>) {
    // For a value from the parameter store, the type is in angle brackets.
    let stored = written
        .strip_prefix("AWS::SSM::Parameter::Value<")
        .and_then(|rest| rest.strip_suffix('>'));
    match stored.unwrap_or(written) {
        "Number" => ("number", None),
        "Json" => ("json", None),
        "Boolean" => ("boolean", None),
        "CommaDelimitedList" => ("comma_delimited_list", None),
        list if list.starts_with("List<") => ("comma_delimited_list", None),
        "AWS::EC2::KeyPair::KeyName" => ("string", Some("nova.keypair")),
        "AWS::EC2::Image::Id" => ("string", Some("glance.image")),
        "AWS::EC2::VPC::Id" => ("string", Some("neutron.network")),
        "AWS::EC2::Subnet::Id" => ("string", Some("neutron.subnet")),
        "AWS::EC2::SecurityGroup::Id" => ("string", Some("neutron.security_group")),
        "AWS::EC2::Volume::Id" => ("string", Some("cinder.volume")),
        "AWS::EC2::Instance::Id" => ("string", Some("nova.server")),
        _ => ("string", None),
    }
}

/// A number, which can be written as text.
pub(crate) fn as_number(value: &Value) -> Value {
    let Some(text) = value.as_str() else {
        return value.clone();
    };
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => json!(whole),
        (_, Ok(float)) => json!(float),
        _ => value.clone(),
    }
}

pub(crate) fn conditions(importer: &mut Importer<'_>) -> Map<String, Value> {
    let mut conditions = Map::new();
    for (name, condition) in importer.section("Conditions") {
        let path = format!("Conditions.{name}");
        let condition = match importer.condition(condition, &path) {
            // HOT does not allow a condition that consists of another one's name.
            Value::String(other) => json!({"and": [other, other]}),
            condition => condition,
        };
        conditions.insert(name.clone(), condition);
    }
    conditions
}

pub(crate) fn outputs(importer: &mut Importer<'_>) -> Map<String, Value> {
    let mut outputs = Map::new();
    for (name, output) in importer.section("Outputs") {
        let path = format!("Outputs.{name}");
        let mut out = Map::new();
        if let Some(description) = output.get("Description") {
            out.insert("description".to_owned(), description.clone());
        }
        if let Some(condition) = output.get("Condition") {
            out.insert("condition".to_owned(), condition.clone());
        }
        let value = output.get("Value").unwrap_or(&Value::Null);
        out.insert("value".to_owned(), importer.value(value, &path));
        if output.get("Export").is_some() {
            importer.left_out(
                &format!("{path}.Export"),
                "Heat has no exports. Another stack takes the output's value as a parameter",
            );
        }
        outputs.insert(name.clone(), Value::Object(out));
    }
    outputs
}

/// Converts the order of parameters in forms: Amazon's interface metadata to HOT's groups.
pub(crate) fn parameter_groups(importer: &Importer<'_>) -> Value {
    let groups = importer
        .sections
        .get("Metadata")
        .and_then(|one| {
            one.get("AWS::CloudFormation::Interface")?
                .get("ParameterGroups")
        })
        .and_then(Value::as_array);
    let known = |name: &&Value| {
        name.as_str()
            .is_some_and(|name| importer.has_parameter(name))
    };
    let groups = groups.into_iter().flatten().map(|group| {
        let parameters = group.get("Parameters").and_then(Value::as_array);
        let parameters: Vec<&Value> = parameters.into_iter().flatten().filter(known).collect();
        let label = group.get("Label").and_then(|label| label.get("default"));
        json!({"label": label, "parameters": parameters})
    });
    groups.collect()
}
