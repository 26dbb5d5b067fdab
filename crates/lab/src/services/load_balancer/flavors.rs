//! Octavia v2: flavors of load balancers and flavor profiles, for administrators. They have no effect in the lab.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_id;
use crate::kit::query::attribute_is;
use crate::kit::record::{Attributes, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::services::load_balancer::PREFIXES;
use crate::services::{Call, Model, Routes};

/// A collection.
struct Collection {
    one: &'static str,
    many: &'static str,
    /// The name in refusals.
    title: &'static str,
    /// The required fields of a creation.
    required: &'static [&'static str],
    /// The immutable fields. Those of a profile are immutable while a flavor uses it.
    fixed: &'static [&'static str],
    table: fn(&Model) -> &Table<Record>,
    table_mut: fn(&mut Model) -> &mut Table<Record>,
}

static FLAVORS: Collection = Collection {
    one: "flavor",
    many: "flavors",
    title: "Flavor",
    required: &["name", "flavor_profile_id"],
    fixed: &["flavor_profile_id"],
    table: |model| &model.balancing_flavors,
    table_mut: |model| &mut model.balancing_flavors,
};

static PROFILES: Collection = Collection {
    one: "flavorprofile",
    many: "flavorprofiles",
    title: "Flavor profile",
    required: &["name", "provider_name", "flavor_data"],
    fixed: &["provider_name", "flavor_data"],
    table: |model| &model.balancing_flavor_profiles,
    table_mut: |model| &mut model.balancing_flavor_profiles,
};

pub(crate) fn routes() -> Routes {
    let collections = [&FLAVORS, &PROFILES].into_iter();
    collections.fold(Routes::below_each(PREFIXES), |routes, collection| {
        let many = format!("/{}", collection.many);
        let one = format!("{many}/{{id}}");
        routes
            .get(&many, move |call| list(collection, call))
            .post(&many, move |call, body| create(collection, call, body))
            .get(&one, move |call| show(collection, call))
            .put(&one, move |call, body| update(collection, call, body))
            .delete(&one, move |call| delete(collection, call))
    })
}

impl Collection {
    /// Requires an administrator, except for reading flavors.
    fn may(&self, call: &Call, is_look: bool) -> Result<(), Refusal> {
        let member = call.member()?;
        if member.admin || is_look && self.one == FLAVORS.one {
            return Ok(());
        }
        let names = "Policy does not allow this request to be performed.";
        Err(Refusal::forbidden(names))
    }

    fn not_found(&self, id: &str) -> Refusal {
        Refusal::not_found("NotFound", format!("{} {id} not found.", self.title))
    }

    fn find<'a>(&self, model: &'a Model, id: &str) -> Result<&'a Record, Refusal> {
        let found = (self.table)(model).get(id);
        found.ok_or_else(|| self.not_found(id))
    }

    /// Whether a flavor uses this profile.
    fn is_in_use(&self, model: &Model, id: &str) -> bool {
        let mut flavors = model.balancing_flavors.iter();
        self.one == PROFILES.one && flavors.any(|one| one.text("flavor_profile_id") == id)
    }

    fn in_use(&self, id: &str) -> Refusal {
        let message = format!("{} {id} is in use and cannot be modified.", self.title);
        Refusal::conflict("ObjectInUse", message)
    }
}

fn document(record: &Record) -> Value {
    let mut shown = Value::Object(record.fields.clone());
    shown["id"] = record.id.clone().into();
    shown
}

/// The fields in a body.
fn fields(collection: &Collection, body: &Bytes) -> Result<Value, Refusal> {
    let mut body = read_json(body)?;
    match body.get_mut(collection.one) {
        Some(fields) if fields.is_object() => Ok(fields.take()),
        _ => Err(Refusal::bad_request(format!(
            "Missing argument: \"{}\"",
            collection.one
        ))),
    }
}

async fn list(collection: &'static Collection, call: Call) -> Answer {
    collection.may(&call, true)?;
    let rows: Vec<Value> = call.app.read(|model| {
        let rows = (collection.table)(model).iter().map(document);
        let name = call.query_value("name");
        rows.filter(|row| name.is_none_or(|name| attribute_is(row, "name", name)))
            .collect()
    });
    reply(
        200,
        json!({collection.many: rows, format!("{}_links", collection.many): []}),
    )
}

async fn show(collection: &'static Collection, call: Call) -> Answer {
    collection.may(&call, true)?;
    let shown = call
        .app
        .read(|model| collection.find(model, call.id()).map(document))?;
    reply(200, json!({ collection.one: shown }))
}

async fn create(collection: &'static Collection, call: Call, body: Bytes) -> Answer {
    collection.may(&call, false)?;
    let mut fields = fields(collection, &body)?;
    for name in collection.required {
        if !fields[name].is_string() {
            return Err(Refusal::bad_request(format!(
                "Invalid input for field/attribute {name}. Value: 'None'. Mandatory field missing."
            )));
        }
    }
    if collection.one == FLAVORS.one && fields["enabled"].is_null() {
        fields["enabled"] = true.into();
    }
    let row = Record::new(&new_id(), fields);
    let shown = document(&row);
    call.app.change(|model| {
        if collection.one == FLAVORS.one {
            PROFILES.find(model, row.text("flavor_profile_id"))?;
            let mut others = model.balancing_flavors.iter();
            if others.any(|other| other.text("name") == row.text("name")) {
                let message = format!("A flavor of {} already exists.", row.text("name"));
                return Err(Refusal::conflict("RecordAlreadyExists", message));
            }
        }
        (collection.table_mut)(model).insert(row);
        Ok(())
    })?;
    reply(201, json!({ collection.one: shown }))
}

async fn update(collection: &'static Collection, call: Call, body: Bytes) -> Answer {
    collection.may(&call, false)?;
    let fields = fields(collection, &body)?;
    let shown = call.app.change(|model| {
        let mut row = collection.find(model, call.id())?.clone();
        let is_fixed = collection.one == FLAVORS.one || collection.is_in_use(model, call.id());
        if is_fixed && collection.fixed.iter().any(|name| !fields[*name].is_null()) {
            return Err(collection.in_use(call.id()));
        }
        row.fields.extend(Record::new("", fields).fields);
        let shown = document(&row);
        (collection.table_mut)(model).insert(row);
        Ok(shown)
    })?;
    reply(200, json!({ collection.one: shown }))
}

async fn delete(collection: &'static Collection, call: Call) -> Answer {
    collection.may(&call, false)?;
    call.app.change(|model| {
        collection.find(model, call.id())?;
        if collection.is_in_use(model, call.id()) {
            return Err(collection.in_use(call.id()));
        }
        (collection.table_mut)(model).remove(call.id());
        Ok(())
    })?;
    empty(204)
}
