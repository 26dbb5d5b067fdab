//! Heat's results: a table with a line per template.
//!
//! These columns are read: `path`, `needs_external_files`, `needs_env`, `heat_validate`, `heat_create_validate`,
//! `graph_nodes` and `edges_before>after` (`a>b|c>d`: `a` must exist before `b`). Other columns are ignored.
//! `needs_env` is `yes`, or lists the environments in order (`a.yaml|b.yaml`). The optional column `parameters` has the
//! values that Heat got for parameters without a default, as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Pairs of resources: the first must exist before the second.
pub type Edges = BTreeSet<(String, String)>;

/// The line of one template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// True if some included files are missing. They are replaced by an empty text.
    pub lacks_files: bool,
    /// True if it needs an environment, without saying which.
    pub needs_environment: bool,
    /// The environments that Heat got, in order.
    pub environments: Vec<String>,
    /// The values that Heat got for parameters without a default.
    pub parameters: BTreeMap<String, Value>,
    /// True if Heat's `validate` call accepts it.
    pub valid: bool,
    /// True if Heat accepts it at the creation of a stack.
    pub plans: bool,
    /// Heat's error message, if it refuses it.
    pub refusal: String,
    /// Number of resources that exist with default values.
    pub nodes: Option<usize>,
    /// The order of resources in Heat.
    pub edges: Edges,
}

/// Parses the table, by path.
pub fn read(text: &str) -> Result<BTreeMap<String, Row>, String> {
    let mut records = records(text).into_iter();
    let header = records.next().ok_or("the table is empty")?;
    let column = |name: &str| header.iter().position(|one| one == name);
    let path = column("path").ok_or("the table has no column `path`")?;
    let (files, environment) = (column("needs_external_files"), column("needs_env"));
    let (validate, create) = (column("heat_validate"), column("heat_create_validate"));
    let parameters = column("parameters");
    let (nodes, edges) = (column("graph_nodes"), column("edges_before>after"));
    let row = |record: &Vec<String>| {
        let get = |column: Option<usize>| {
            column
                .and_then(|column| record.get(column))
                .map_or("", String::as_str)
        };
        let refusal = [get(validate), get(create)]
            .into_iter()
            .find(|answer| is_refusal(answer));
        Row {
            lacks_files: get(files).starts_with("yes"),
            needs_environment: get(environment).starts_with("yes"),
            environments: get(environment)
                .split('|')
                .filter(|path| !path.is_empty() && !path.starts_with("yes"))
                .map(str::to_owned)
                .collect(),
            parameters: serde_json::from_str(get(parameters)).unwrap_or_default(),
            valid: !is_refusal(get(validate)),
            plans: refusal.is_none(),
            refusal: refusal.unwrap_or_default().to_owned(),
            nodes: get(nodes).parse().ok(),
            edges: get(edges)
                .split('|')
                .filter_map(|edge| edge.split_once('>'))
                .map(|(before, after)| (before.to_owned(), after.to_owned()))
                .collect(),
        }
    };
    Ok(records
        .filter_map(|record| Some((record.get(path)?.clone(), row(&record))))
        .collect())
}

/// `needs live cloud` is not a refusal: only a lookup is missing.
fn is_refusal(answer: &str) -> bool {
    !answer.is_empty() && answer != "ok" && !answer.starts_with("needs live cloud")
}

/// Parses comma-separated values as in RFC 4180.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let (mut record, mut field) = (Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match (quoted, char) {
            (true, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            (true, '"') => quoted = false,
            (false, '"') if field.is_empty() => quoted = true,
            (false, ',') => record.push(std::mem::take(&mut field)),
            (false, '\r') => {}
            (false, '\n') => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            (_, other) => field.push(other),
        }
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    records.retain(|record| record.iter().any(|field| !field.is_empty()));
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_answers_of_heat() {
        let table = "path,heat_validate,needs_env,heat_create_validate,graph_nodes,edges_before>after,parameters\r\n\
                     a.yaml,ok,,\"rejected: \"\"x\"\", y\",3,net>web|port>web,\"{\"\"p\"\": 1}\"\r\n\
                     b.yaml,ok,yes,needs live cloud (region),1,\r\n\
                     c.yaml,Property error: z,d.yaml|e.yaml,,,\r\n";
        let rows = read(table).unwrap();
        assert_eq!(
            rows["a.yaml"],
            Row {
                valid: true,
                refusal: "rejected: \"x\", y".into(),
                nodes: Some(3),
                edges: [("net", "web"), ("port", "web")]
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .into(),
                parameters: [("p".to_owned(), 1.into())].into(),
                ..Row::default()
            }
        );
        assert!(rows["b.yaml"].plans && rows["b.yaml"].needs_environment);
        assert!(!rows["c.yaml"].valid && !rows["c.yaml"].plans);
        assert_eq!(rows["c.yaml"].environments, ["d.yaml", "e.yaml"]);
    }

    #[test]
    fn a_table_without_paths_is_refused() {
        assert_eq!(
            read("name\nx\n"),
            Err("the table has no column `path`".into())
        );
    }
}
