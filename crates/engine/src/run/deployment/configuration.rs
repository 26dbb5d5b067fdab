//! The configuration of a software deployment: its program, its inputs, and the reading of its outputs. Pure.
//!
//! Rules of Heat's `software_deployment.py`, and of the hooks of its agent.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use planner::software::{Tool, UNGROUPED};
use serde_json::{Map, Value, json};

use super::structured;
use crate::{run::execution::stored_part, secrets::Mask};

/// Number of lines of a program's errors in the step's error.
const ERROR_LINES: usize = 10;

/// A configuration, for one action.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The tool that runs it.
    pub tool: Tool,
    /// The program, playbook or map, with the inputs of a structured deployment in place.
    pub content: Value,
    /// Options for the tool.
    pub options: Map<String, Value>,
    /// Names of the outputs.
    pub outputs: Vec<String>,
    /// The outputs that mean a failure.
    error_outputs: Vec<String>,
    /// Declared inputs and their defaults.
    inputs: Vec<(String, Value)>,
    /// Inputs whose change starts the deployment as for the first time.
    pub replacing: Vec<String>,
}

impl Configuration {
    /// From the properties of the deployment and of its configuration. `None` if nothing runs on the action.
    ///
    /// # Errors
    /// If no tool runs it here.
    pub fn of(
        deployment: &Map<String, Value>,
        config: &Map<String, Value>,
        action: &str,
    ) -> Result<Option<Configuration>, String> {
        let acts = |owner: &Map<String, Value>| match owner.get("actions") {
            Some(Value::Array(actions)) => actions.iter().any(|one| one == action),
            _ => matches!(action, "CREATE" | "UPDATE"),
        };
        let (group, content) = match config.get("configs").and_then(Value::as_array) {
            Some(configs) => {
                let mut configs = configs.iter().filter_map(Value::as_object);
                let Some(one) = configs.find(|one| acts(one)) else {
                    return Ok(None);
                };
                (one.get("tool"), one.get("config"))
            }
            None if acts(deployment) => (config.get("group"), config.get("config")),
            None => return Ok(None),
        };
        let group = group.and_then(Value::as_str).unwrap_or(UNGROUPED);
        let Some(tool) = Tool::of_group(group) else {
            return Err(format!(
                "its configuration is of the group `{group}`, which does not run here; change `group`"
            ));
        };
        let listed = |property: &str| {
            let list = config.get(property).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_object)
        };
        let name = |one: &Map<String, Value>| Some(one.get("name")?.as_str()?.to_owned());
        let is_set = |one: &Map<String, Value>, flag: &str| match one.get(flag) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(flag)) => flag.eq_ignore_ascii_case("true"),
            _ => false,
        };
        let mut found = Configuration {
            tool,
            content: content.cloned().unwrap_or_default(),
            options: config
                .get("options")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            outputs: listed("outputs").filter_map(name).collect(),
            error_outputs: listed("outputs")
                .filter(|one| is_set(one, "error_output"))
                .filter_map(name)
                .collect(),
            inputs: listed("inputs")
                .filter_map(|one| {
                    Some((name(one)?, one.get("default").cloned().unwrap_or_default()))
                })
                .collect(),
            replacing: listed("inputs")
                .filter(|one| is_set(one, "replace_on_change"))
                .filter_map(name)
                .collect(),
        };
        let inputs = found.inputs(deployment, []);
        found.content = structured::with_inputs(&found.content, deployment, &inputs)?;
        Ok(Some(found))
    }

    /// The program or playbook.
    pub fn text(&self) -> String {
        text(&self.content)
    }

    /// Input of the program `role/tools.py`, as JSON: the tool, the configuration, inputs and options.
    pub fn for_tool(&self, name: &str, action: &str, inputs: &Map<String, Value>) -> String {
        let all = json!({
            "group": self.tool.group(), "program": self.tool.program(), "name": name, "action": action, "config": self.content,
            "options": self.options, "inputs": inputs,
        });
        all.to_string()
    }

    /// The inputs: the deployment's values, else the defaults, then `more`.
    pub fn inputs(
        &self,
        deployment: &Map<String, Value>,
        more: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Map<String, Value> {
        let mut inputs: Map<String, Value> = self.inputs.iter().cloned().collect();
        if let Some(Value::Object(given)) = deployment.get("input_values") {
            inputs.extend(given.clone());
        }
        inputs.extend(
            more.into_iter()
                .map(|(name, value)| (name.to_owned(), value.into())),
        );
        inputs
    }

    /// True for results of the sandbox that belong to this configuration.
    pub fn takes(&self, result: &str) -> bool {
        let number = result.strip_prefix("output_");
        let number = number.and_then(|number| number.parse::<usize>().ok());
        BUILT_IN.contains(&result) || number.is_some_and(|number| number < self.outputs.len())
    }

    /// The attributes of the deployment, from the sandbox's results. A long one is not cut within a secret.
    ///
    /// # Errors
    /// The failure that the results tell: a status other than 0, or an output that means one.
    pub fn outcome(
        &self,
        results: &BTreeMap<String, String>,
        mask: &Mask,
    ) -> Result<Map<String, Value>, String> {
        let decoded = |name: &str| {
            let encoded = results.get(name)?;
            // The sandbox sends the beginning of a long value: four letters are three bytes.
            let whole = encoded.get(..encoded.len() / 4 * 4)?;
            let bytes = STANDARD.decode(whole).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            Some(stored_part(&text, mask).to_owned())
        };
        let mut attributes = Map::new();
        for (number, name) in self.outputs.iter().enumerate() {
            let value = decoded(&format!("output_{number}"));
            attributes.insert(name.clone(), json!(value));
        }
        for name in BUILT_IN {
            let value = decoded(name);
            let status = value.as_deref().and_then(|value| value.parse::<i64>().ok());
            let is_status = name == STATUS_CODE;
            attributes.insert(
                name.to_owned(),
                match status.filter(|_| is_status) {
                    Some(status) => json!(status),
                    None => json!(value),
                },
            );
        }
        let text = |name: &str| {
            let value = attributes.get(name).and_then(Value::as_str);
            value.unwrap_or_default().trim_end()
        };
        match attributes[STATUS_CODE].as_i64() {
            Some(0) | None => {}
            Some(status) => {
                let output = match text(STDERR) {
                    "" => text(STDOUT),
                    errors => errors,
                };
                let lines: Vec<&str> = output.lines().collect();
                let last = lines[lines.len().saturating_sub(ERROR_LINES)..].join("\n");
                return Err(format!("it ended with exit code {status}: {last}"));
            }
        }
        let failed = self
            .error_outputs
            .iter()
            .find(|name| attributes.get(*name).is_some_and(Value::is_string));
        match failed {
            Some(name) => Err(format!("its output `{name}` says: {}", text(name))),
            None => Ok(attributes),
        }
    }
}

const STDOUT: &str = "deploy_stdout";
const STDERR: &str = "deploy_stderr";
const STATUS_CODE: &str = "deploy_status_code";
const BUILT_IN: [&str; 3] = [STDOUT, STDERR, STATUS_CODE];

/// The attributes of a playbook that succeeded. It has one stream.
pub fn playbook_results(text: &str, results: &mut BTreeMap<String, String>) {
    for (name, value) in [(STDOUT, text), (STDERR, ""), (STATUS_CODE, "0")] {
        results.insert(name.to_owned(), STANDARD.encode(value));
    }
}

/// A value as text: itself, or JSON. Null is empty.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Shell commands that export the inputs, and the inputs whose names no variable can have.
pub fn environment(inputs: &Map<String, Value>) -> (String, Vec<&str>) {
    let (mut commands, mut left_out) = (String::new(), Vec::new());
    for (name, value) in inputs {
        if !is_variable(name) {
            left_out.push(name.as_str());
            continue;
        }
        let quoted = text(value).replace('\0', "").replace('\'', r"'\''");
        commands.push_str(&format!("export {name}='{quoted}'\n"));
    }
    (commands, left_out)
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn script(more: Value) -> Map<String, Value> {
        let mut config = map(json!({"group": "script", "config": "#!/bin/sh\n"}));
        config.extend(map(more));
        config
    }

    fn configuration(config: &Map<String, Value>) -> Configuration {
        let found = Configuration::of(&Map::new(), config, "CREATE").unwrap();
        found.unwrap()
    }

    #[test]
    fn a_deployment_acts_on_its_actions_and_a_component_on_its_own() {
        let acts = |deployment: Value, config: &Map<String, Value>, action: &str| {
            let found = Configuration::of(&map(deployment), config, action).unwrap();
            found.map(|found| found.text())
        };
        let plain = script(json!({}));
        assert!(acts(json!({}), &plain, "UPDATE").is_some());
        assert_eq!(acts(json!({}), &plain, "DELETE"), None);
        let only = json!({"actions": ["DELETE"]});
        assert!(acts(only.clone(), &plain, "DELETE").is_some());
        assert_eq!(acts(only.clone(), &plain, "CREATE"), None);
        let component = map(json!({"configs": [
            {"tool": "script", "config": "make"},
            {"actions": ["DELETE"], "tool": "ansible", "config": "unmake"},
        ]}));
        assert_eq!(acts(only, &component, "UPDATE").unwrap(), "make");
        assert_eq!(acts(json!({}), &component, "DELETE").unwrap(), "unmake");
    }

    #[test]
    fn a_group_without_a_tool_is_refused() {
        let refused = Configuration::of(&Map::new(), &map(json!({"group": "kubelet"})), "CREATE");
        assert!(refused.unwrap_err().contains("`kubelet`"));
    }

    #[test]
    fn inputs_are_values_defaults_and_facts_of_the_deployment() {
        let config = script(json!({"inputs": [
            {"name": "a", "default": "one"}, {"name": "b", "default": 2}, {"name": "c"},
        ]}));
        let inputs = configuration(&config).inputs(
            &map(json!({"input_values": {"a": "it's", "list": [1, "x"], "not-a-name": 1}})),
            [("deploy_action", "CREATE".to_owned())],
        );
        let (commands, left_out) = environment(&inputs);
        assert_eq!(
            commands,
            "export a='it'\\''s'\nexport b='2'\nexport c=''\nexport list='[1,\"x\"]'\nexport deploy_action='CREATE'\n"
        );
        assert_eq!(left_out, ["not-a-name"]);
    }

    fn results(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        let coded = all.iter();
        coded
            .map(|(name, value)| ((*name).to_owned(), STANDARD.encode(value)))
            .collect()
    }

    #[test]
    fn outputs_keep_their_text() {
        let config = script(json!({"outputs": [{"name": "said"}, {"name": "other"}]}));
        let results = results(&[
            ("output_0", "[1, 2]\n"),
            ("deploy_stdout", "{{ x }}\n"),
            ("deploy_status_code", "0"),
        ]);
        let outcome = configuration(&config).outcome(&results, &Mask::default());
        assert_eq!(
            Value::Object(outcome.unwrap()),
            json!({
                "said": "[1, 2]\n", "other": null, "deploy_stdout": "{{ x }}\n", "deploy_stderr": null, "deploy_status_code": 0,
            })
        );
    }

    #[test]
    fn a_long_output_is_not_cut_within_a_secret() {
        let config = script(json!({"outputs": [{"name": "said"}]}));
        let mask = Mask::default();
        mask.add("hunter2");
        let said = format!("{}hunter2{}", ".".repeat(16 * 1024 - 3), ".".repeat(50));
        let mut results = results(&[("output_0", &said)]);
        // The sandbox has cut it.
        let encoded = results.get_mut("output_0").unwrap();
        encoded.truncate(encoded.len() - 3);
        let outcome = configuration(&config).outcome(&results, &mask).unwrap();
        assert_eq!(outcome["said"].as_str(), Some(&said[..16 * 1024 - 3]));
    }

    #[test]
    fn a_bad_status_and_an_error_output_are_failures() {
        let config = script(json!({"outputs": [{"name": "wrong", "error_output": true}]}));
        let outcome =
            |all: &[(&str, &str)]| configuration(&config).outcome(&results(all), &Mask::default());
        let lines: String = (0..20).map(|line| format!("line {line}\n")).collect();
        let failure =
            outcome(&[("deploy_stderr", &lines), ("deploy_status_code", "3")]).unwrap_err();
        assert!(failure.starts_with("it ended with exit code 3: line 10\n"));
        assert!(failure.ends_with("line 19"));
        let failure = outcome(&[("output_0", "no disk\n"), ("deploy_status_code", "0")]);
        assert_eq!(failure.unwrap_err(), "its output `wrong` says: no disk");
        assert!(outcome(&[("deploy_status_code", "0")]).is_ok());
    }
}
