//! Records: resources whose attributes are JSON, as tables of fields describe them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kit::table::keyed_by_id;

/// The attributes of a resource.
pub type Fields = Map<String, Value>;

/// A resource whose attributes are JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The id, unique in its table.
    pub id: String,
    /// The attributes without the id.
    pub fields: Fields,
}

keyed_by_id!(Record);

impl Record {
    /// A record with the fields of a JSON object.
    pub fn new(id: &str, fields: Value) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Fields::new(),
        };
        Self {
            id: id.to_owned(),
            fields,
        }
    }
}

/// Reading attributes.
pub trait Attributes {
    /// All attributes.
    fn fields(&self) -> &Fields;

    /// A string; empty where there is none.
    fn text(&self, name: &str) -> &str {
        let value = self.fields().get(name);
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// A whole number.
    fn number(&self, name: &str) -> Option<i64> {
        self.fields().get(name).and_then(Value::as_i64)
    }

    /// Whether a boolean is true.
    fn is_on(&self, name: &str) -> bool {
        self.fields().get(name) == Some(&Value::Bool(true))
    }
}

impl Attributes for Record {
    fn fields(&self) -> &Fields {
        &self.fields
    }
}

impl Attributes for Fields {
    fn fields(&self) -> &Fields {
        self
    }
}
