//! Collections of Neutron whose rows are records: a table describes the fields, and hooks contain the checks.

use serde_json::{Value, json};

use crate::kit::field::Field;
use crate::kit::ids::{new_id, now};
use crate::kit::record::{Attributes, Fields, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::services::Model;
use crate::services::network::body::{Body, Caller};

/// The rows of a collection, and its hooks.
pub struct Records {
    pub table: fn(&Model) -> &Table<Record>,
    pub table_mut: fn(&mut Model) -> &mut Table<Record>,
    /// The standard fields in documents, besides the owner.
    pub standard: &'static [&'static str],
    /// Checks the fields of a new record, including `project_id`.
    pub create: fn(&Model, &mut Fields, Caller) -> Result<(), Refusal>,
    /// Checks changes of a record.
    pub update: fn(&Model, &Record, &mut Fields, Caller) -> Result<(), Refusal>,
    /// Checks that a record can be deleted, and deletes its dependents.
    pub delete: fn(&mut Model, &str) -> Result<(), Refusal>,
}

/// The standard fields besides the owner.
pub const STANDARD: &[&str] = &[
    "description",
    "tags",
    "created_at",
    "updated_at",
    "revision_number",
];

impl Records {
    pub fn list(&self, model: &Model) -> Vec<Value> {
        let rows = (self.table)(model).iter();
        rows.map(|row| self.document(row)).collect()
    }

    pub fn get(&self, model: &Model, id: &str) -> Option<Value> {
        let row = (self.table)(model).get(id);
        row.map(|row| self.document(row))
    }

    fn document(&self, row: &Record) -> Value {
        let mut fields = row.fields.clone();
        fields.retain(|name, _| {
            let name = name.as_str();
            !STANDARD.contains(&name) || self.standard.contains(&name)
        });
        fields.insert("id".into(), row.id.as_str().into());
        fields.into()
    }

    pub fn create(
        &self,
        model: &mut Model,
        table: &[Field],
        project: &str,
        body: Body,
    ) -> Result<String, Refusal> {
        let by = body.author();
        let usual = table
            .iter()
            .map(|field| (field.name.to_owned(), field.usual_value()));
        let mut row = Record {
            id: new_id(),
            fields: usual.collect(),
        };
        row.fields.insert("description".into(), "".into());
        let set = body.into_fields().into_iter();
        row.fields.extend(set.filter(|(_, value)| !value.is_null()));
        for (name, value) in [
            ("project_id", project.into()),
            ("tenant_id", project.into()),
            ("tags", json!([])),
            ("created_at", now().into()),
            ("updated_at", now().into()),
            ("revision_number", 1.into()),
        ] {
            row.fields.insert(name.into(), value);
        }
        (self.create)(model, &mut row.fields, by)?;
        let id = row.id.clone();
        (self.table_mut)(model).insert(row);
        Ok(id)
    }

    pub fn update(&self, model: &mut Model, id: &str, body: Body) -> Result<(), Refusal> {
        let by = body.author();
        let mut changes = body.into_fields();
        if let Some(row) = (self.table)(model).get(id) {
            (self.update)(model, row, &mut changes, by)?;
        }
        if let Some(row) = (self.table_mut)(model).get_mut(id) {
            let revision = row.number("revision_number").unwrap_or_default();
            row.fields.extend(changes);
            row.fields.insert("updated_at".into(), now().into());
            row.fields
                .insert("revision_number".into(), (revision + 1).into());
        }
        Ok(())
    }

    pub fn delete(&self, model: &mut Model, id: &str) -> Result<(), Refusal> {
        (self.delete)(model, id)?;
        (self.table_mut)(model).remove(id);
        Ok(())
    }
}
