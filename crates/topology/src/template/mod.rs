//! The model of a template: what the text says, with a position for every entry.

use serde_json::Value;

use crate::{expr::Expr, workflow::Marks};

pub(crate) mod read;

/// Versions of HOT that we read, with their code names.
pub const VERSIONS: [&str; 17] = [
    "2013-05-23",
    "2014-10-16",
    "2015-04-30",
    "2015-10-15",
    "2016-04-08",
    "2016-10-14",
    "newton",
    "2017-02-24",
    "ocata",
    "2017-09-01",
    "pike",
    "2018-03-02",
    "queens",
    "2018-08-31",
    "rocky",
    "2021-04-16",
    "wallaby",
];

/// Parameters that are always there; the engine knows their values.
pub const PSEUDO_PARAMETERS: [&str; 3] = ["OS::stack_name", "OS::stack_id", "OS::project_id"];

/// Whether a word may name a resource, parameter or output.
pub fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 255
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A HOT template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// `heat_template_version`, as written.
    pub version: String,
    /// `description`.
    pub description: String,
    /// In the order of the text.
    pub parameters: Vec<Parameter>,
    /// In the order of the text.
    pub resources: Vec<Resource>,
    /// In the order of the text.
    pub outputs: Vec<Output>,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
}

/// An entry under `parameters:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// `string`, `number`, `json`, `comma_delimited_list` or `boolean`.
    pub kind: String,
    /// For people.
    pub label: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// Taken when no value is given.
    pub default: Option<Value>,
    /// Never shown.
    pub hidden: bool,
    /// What a value must fulfil.
    pub constraints: Vec<crate::types::Constraint>,
}

/// An entry under `resources:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// Its type, as written.
    pub resource_type: String,
    /// In the order of the text.
    pub properties: Vec<ResourceProperty>,
    /// Names of resources, as written.
    pub depends_on: Vec<(String, Position)>,
    /// `metadata`, whole.
    pub metadata: Option<Expr>,
    /// From `metadata.stackloom`.
    pub marks: Marks,
}

/// A property of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceProperty {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// Its value.
    pub value: Expr,
}

/// An entry under `outputs:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub at: Position,
    /// For people.
    pub description: Option<String>,
    /// What it shows.
    pub value: Expr,
}

impl Template {
    /// A resource by name. Looks through all of them: build an index where it is asked often.
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }
}

impl Resource {
    /// A property's value by name.
    pub fn property(&self, name: &str) -> Option<&Expr> {
        self.properties
            .iter()
            .find(|property| property.name == name)
            .map(|property| &property.value)
    }
}
