//! Cinder v3: the common part of volumes and snapshots: lists with filters, order, pages and a count, metadata,
//! updates.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::microversion::Microversion;
use crate::kit::query::{self, Detail};
use crate::kit::refusal::Refusal;
use crate::kit::table::{Keyed, Table};
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::body::pairs;
use crate::services::{Call, Model, Routes};

/// A type of resource in Cinder with lists, metadata and updates.
pub trait Resource: Keyed + Sized + Send + Sync + 'static {
    /// The path, and the list's name in bodies: `volumes`.
    const COLLECTION: &'static str;

    /// The name in refusals: `Volume`.
    const WORD: &'static str;

    /// The filters of lists.
    const FILTERS: &'static [&'static str];

    /// The table of the resources.
    fn table(model: &Model) -> &Table<Self>;

    /// The table of the resources, mutable.
    fn table_mut(model: &mut Model) -> &mut Table<Self>;

    /// The fields that all types have.
    fn common(&self) -> Common<'_>;

    /// Whether the row matches a filter of its own type. Other filter names match all rows.
    fn fits(&self, filter: &str, wanted: &str) -> bool;

    /// The value of a sort key of this type.
    fn order(&self, _key: &str) -> Option<String> {
        None
    }

    fn not_found(id: &str) -> Refusal;

    /// A row of a list.
    fn row(&self, model: &Model, call: &Call, detail: Detail) -> Value;

    fn metadata(&self) -> &BTreeMap<String, String>;

    /// The metadata, mutable. Callers must also call `touched`.
    fn metadata_mut(&mut self) -> &mut BTreeMap<String, String>;

    /// Sets the time of the last update.
    fn touched(&mut self);
}

/// The fields that all types have.
pub struct Common<'a> {
    pub id: &'a str,
    pub project_id: &'a str,
    pub name: &'a str,
    pub status: &'a str,
    pub created_at: &'a str,
}

/// Whether the row matches a list's filters.
fn fits<T: Resource>(row: &T, filters: &[(String, String)]) -> bool {
    let common = row.common();
    filters.iter().all(|(name, wanted)| match name.as_str() {
        "name" | "display_name" => common.name == wanted,
        "status" => common.status == wanted,
        "id" => common.id == wanted,
        other => row.fits(other, wanted),
    })
}

/// The value of a sort key.
fn order<T: Resource>(row: &T, key: &str) -> String {
    let common = row.common();
    let known = match key {
        "name" | "display_name" => common.name,
        "status" => common.status,
        "created_at" => common.created_at,
        other => return row.order(other).unwrap_or_else(|| common.id.to_owned()),
    };
    known.to_owned()
}

/// The resource with this id, if it belongs to the project.
pub fn owned<'a, T: Resource>(
    model: &'a Model,
    project_id: &str,
    id: &str,
) -> Result<&'a T, Refusal> {
    let row = T::table(model).get(id);
    row.filter(|row| row.common().project_id == project_id)
        .ok_or_else(|| T::not_found(id))
}

/// Changes the resource in the path, if it belongs to the caller's project.
pub fn change<T: Resource, R>(call: &Call, change: impl FnOnce(&mut T) -> R) -> Result<R, Refusal> {
    let member = call.member()?;
    call.app.change(|model| {
        owned::<T>(model, &member.project_id, call.id())?;
        let row = T::table_mut(model).get_mut(call.id());
        let row = row.ok_or_else(|| T::not_found(call.id()))?;
        row.touched();
        Ok(change(row))
    })
}

/// The query parameters of every list.
const QUERY_PARAMETERS: &[&str] = &[
    "all_tenants",
    "limit",
    "marker",
    "offset",
    "project_id",
    "sort",
    "sort_dir",
    "sort_key",
    "with_count",
];

/// The sort keys of lists.
const SORT_KEYS: &[&str] = &[
    "availability_zone",
    "bootable",
    "created_at",
    "display_name",
    "host",
    "id",
    "name",
    "size",
    "status",
    "updated_at",
    "volume_id",
    "volume_type_id",
];

/// Checks the query parameters of a list.
fn check_query<T: Resource>(filters: &[(String, String)]) -> Result<(), Refusal> {
    let order = |value: &str| {
        let mut keys = value
            .split(',')
            .map(|key| key.split(':').next().unwrap_or_default());
        keys.all(|key| SORT_KEYS.contains(&key))
    };
    for (name, value) in filters {
        let sentence = match name.as_str() {
            "limit" => match value.parse::<i64>() {
                Ok(0..) => continue,
                Ok(_) => "limit param must be positive".to_owned(),
                Err(_) => "limit param must be an integer".to_owned(),
            },
            "offset" if value.parse::<u32>().is_err() => "offset must be an integer".to_owned(),
            "sort" | "sort_key" if !order(value) => {
                "Invalid input received: Invalid sort key".to_owned()
            }
            name if !QUERY_PARAMETERS.contains(&name) && !T::FILTERS.contains(&name) => {
                format!("Invalid filters {name} are found in query options.")
            }
            _ => continue,
        };
        return Err(Refusal::bad_request(sentence));
    }
    Ok(())
}

/// A list.
async fn list<T: Resource>(call: Call, detail: Detail) -> Answer {
    let (member, filters) = (call.member()?, &call.query);
    check_query::<T>(filters)?;
    let (page, count) = call.app.read(|model| {
        // Newest first, Cinder's default order.
        let mine = T::table(model)
            .iter()
            .rev()
            .filter(|row| row.common().project_id == member.project_id && fits(*row, filters));
        let mut rows: Vec<&T> = mine.collect();
        query::sort_rows(&mut rows, filters, |row, key| order(row, key));
        let count = rows.len();
        let page = query::page_rows(rows, filters, 1_000, |row| row.key());
        let page = page.map(|(rows, next)| {
            let shown = rows.into_iter().map(|row| row.row(model, &call, detail));
            (shown.collect::<Vec<Value>>(), next)
        });
        (page, count)
    });
    let marker = call.query_value("marker").unwrap_or_default();
    let (items, next) = page.ok_or_else(|| T::not_found(marker))?;
    let mut body = json!({T::COLLECTION: items});
    if let Some(next) = next {
        let below = if detail == Detail::Full {
            "/detail"
        } else {
            ""
        };
        let href = format!(
            "{}/volume/v3/{}/{}{below}?{}",
            call.base,
            member.project_id,
            T::COLLECTION,
            query::with_marker(filters, &next)
        );
        body[format!("{}_links", T::COLLECTION)] = json!([{"rel": "next", "href": href}]);
    }
    let counts = call.version >= Microversion(3, 45);
    if counts && call.query_value("with_count") == Some("True") {
        body["count"] = count.into();
    }
    reply(200, body)
}

/// The routes of a type's lists and metadata.
pub fn routes<T: Resource>() -> Routes {
    let all = format!("/{}", T::COLLECTION);
    let metadata_path = format!("{all}/{{id}}/metadata");
    let item = format!("{metadata_path}/{{key}}");
    Routes::below_each(PREFIXES)
        .get(&all, |call| list::<T>(call, Detail::Bare))
        .get(&format!("{all}/detail"), |call| {
            list::<T>(call, Detail::Full)
        })
        .post(&metadata_path, add_metadata::<T>)
        .delete(&item, delete_metadata_item::<T>)
}

/// The metadata of a body, where it is required.
fn metadata_of(body: &Bytes) -> Result<BTreeMap<String, String>, Refusal> {
    let body = read_json(body)?;
    let value = body.get("metadata");
    let value = value.ok_or_else(|| Refusal::bad_request("'metadata' is a required property"))?;
    pairs(Some(value))
}

async fn add_metadata<T: Resource>(call: Call, body: Bytes) -> Answer {
    let new = metadata_of(&body)?;
    let all = change::<T, _>(&call, |row| {
        row.metadata_mut().extend(new);
        row.metadata().clone()
    })?;
    reply(200, json!({ "metadata": all }))
}

fn no_such_key<T: Resource>(key: &str) -> Refusal {
    Refusal::not_found(
        "MetadataNotFound",
        format!("{} has no metadata with key {key}.", T::WORD),
    )
}

async fn delete_metadata_item<T: Resource>(call: Call) -> Answer {
    let key = call.part("key");
    let gone = change::<T, _>(&call, |row| row.metadata_mut().remove(key))?;
    gone.ok_or_else(|| no_such_key::<T>(key))?;
    empty(200)
}
