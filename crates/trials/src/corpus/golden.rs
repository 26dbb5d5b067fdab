//! What Heat said of each template: a table with a line per template.
//!
//! The columns that are read: `path`, `needs_external_files`, `needs_env`, `heat_validate`, `heat_create_validate`,
//! `graph_nodes` and `edges_before>after` (`a>b|c>d`: `a` must exist before `b`). Others are ignored, so the table may
//! carry more. `needs_env` says `yes`, or names the environments (`a.yaml|b.yaml`, in order); `parameters`, where there is such a
//! column, has the values that Heat was given for parameters without a default, as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What must exist before what.
pub type Edges = BTreeSet<(String, String)>;

/// One template's line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Some of the files that it includes are not there: an empty text stands for them.
    pub lacks_files: bool,
    /// It needs an environment, whichever that is.
    pub needs_environment: bool,
    /// The environments that it was given, in order.
    pub environments: Vec<String>,
    /// Values that Heat was given for parameters without one.
    pub parameters: BTreeMap<String, Value>,
    /// Heat's `validate` call accepts it.
    pub valid: bool,
    /// Heat accepts it when a stack is made of it.
    pub plans: bool,
    /// Heat's words where it does not.
    pub refusal: String,
    /// Resources that are there with default values.
    pub nodes: Option<usize>,
    /// Heat's order.
    pub edges: Edges,
}

/// By path.
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
            .find(|said| is_refusal(said));
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

/// `needs live cloud` is no refusal: only the look-up is missing.
fn is_refusal(said: &str) -> bool {
    !said.is_empty() && said != "ok" && !said.starts_with("needs live cloud")
}

/// Comma-separated values as in RFC 4180.
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
    fn a_row_tells_what_heat_said() {
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
