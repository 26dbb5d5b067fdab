//! Keystone v3: domains, groups, regions, services and endpoints, which differ in words, in what must be said of them, and in
//! what stands in the way of their end.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_hex_id;
use crate::kit::query::attribute_is;
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::services::identity::entry::{Directory, Entry};
use crate::services::identity::{
    admin, catalog, domain_of, duplicate, list, not_found, object, stays_in_domain,
};
use crate::services::{Call, Model, Routes};

/// What one kind is like.
#[derive(Clone, Copy)]
struct Kind {
    one: &'static str,
    many: &'static str,
    /// What must be said.
    required: &'static [&'static str],
    /// What a list can be asked for.
    filters: &'static [&'static str],
    /// Whether it lives in a domain, where its name is its own.
    lives_in_domain: bool,
    of: fn(&Directory) -> &Table<Entry>,
    of_mut: fn(&mut Directory) -> &mut Table<Entry>,
}

const DOMAIN: Kind = Kind {
    one: "domain",
    many: "domains",
    required: &["name"],
    filters: &["name", "enabled"],
    lives_in_domain: false,
    of: |all| &all.domains,
    of_mut: |all| &mut all.domains,
};
const GROUP: Kind = Kind {
    one: "group",
    many: "groups",
    required: &["name"],
    filters: &["name", "domain_id"],
    lives_in_domain: true,
    of: |all| &all.groups,
    of_mut: |all| &mut all.groups,
};
const REGION: Kind = Kind {
    one: "region",
    many: "regions",
    required: &[],
    filters: &["parent_region_id"],
    lives_in_domain: false,
    of: |all| &all.regions,
    of_mut: |all| &mut all.regions,
};
const SERVICE: Kind = Kind {
    one: "service",
    many: "services",
    required: &["type"],
    filters: &["name", "type"],
    lives_in_domain: false,
    of: |all| &all.services,
    of_mut: |all| &mut all.services,
};
const ENDPOINT: Kind = Kind {
    one: "endpoint",
    many: "endpoints",
    required: &["service_id", "interface", "url"],
    filters: &["interface", "service_id", "region_id"],
    lives_in_domain: false,
    of: |all| &all.endpoints,
    of_mut: |all| &mut all.endpoints,
};

pub fn routes() -> Routes {
    let all = [DOMAIN, GROUP, REGION, SERVICE, ENDPOINT];
    all.into_iter()
        .fold(Routes::below("/identity/v3"), |routes, kind| {
            let many = format!("/{}", kind.many);
            let single = format!("{many}/{{id}}");
            routes
                .get(&many, move |call| all_of(kind, call))
                .post(&many, move |call, body| create(kind, call, body))
                .get(&single, move |call| one(kind, call))
                .patch(&single, move |call, body| update(kind, call, body))
                .delete(&single, move |call| delete(kind, call))
        })
}

impl Kind {
    fn document(self, row: &Entry, base: &str) -> Value {
        let mut document = Value::Object(row.fields.clone());
        document["id"] = json!(row.id);
        if self.one == DOMAIN.one {
            document["tags"] = json!([]);
            document["options"] = json!({});
        }
        if self.one == ENDPOINT.one {
            document["region"] = document["region_id"].clone();
        }
        let link = format!("{base}/identity/v3/{}/{}", self.many, row.id);
        document["links"] = json!({ "self": link });
        document
    }

    /// All, the lab's own services and endpoints first.
    fn rows(self, model: &Model, base: &str) -> Vec<Value> {
        let mut rows = match self.one {
            "service" => catalog::own_services(base),
            "endpoint" => catalog::own_endpoints(base),
            _ => Vec::new(),
        };
        let kept = (self.of)(&model.identity.directory).iter();
        rows.extend(kept.map(|row| self.document(row, base)));
        rows
    }

    /// What a body must say, and may not.
    fn check(self, model: &Model, id: &str, wanted: &Map<String, Value>) -> Result<(), Refusal> {
        let text = |name: &str| wanted.get(name).and_then(Value::as_str);
        let directory = &model.identity.directory;
        let region_is_there =
            |name: &str| text(name).is_none_or(|region| directory.regions.get(region).is_some());
        if !region_is_there("parent_region_id") {
            let parent = text("parent_region_id").unwrap_or_default();
            return Err(not_found("region", parent));
        }
        if self.one == ENDPOINT.one {
            if let Some(interface) = text("interface")
                && !matches!(interface, "admin" | "internal" | "public")
            {
                return Err(Refusal::bad_request(format!(
                    "Invalid input for field 'interface': '{interface}' is not one of ['admin', 'internal', 'public']"
                )));
            }
            let no = |what: &str| {
                Refusal::bad_request(format!(
                    "Expecting to find endpoint {what}_id in {what} table. The server could not comply with the request since it is either \
                     malformed or otherwise incorrect. The client is assumed to be in error."
                ))
            };
            let own = catalog::own_services("");
            let is_there = |id: &str| {
                directory.services.get(id).is_some() || own.iter().any(|row| row["id"] == id)
            };
            if !text("service_id").is_none_or(is_there) {
                return Err(no("service"));
            }
            if !region_is_there("region_id") {
                return Err(no("region"));
            }
        }
        let (Some(name), true) = (text("name"), matches!(self.one, "domain" | "group")) else {
            return Ok(());
        };
        let domain = text("domain_id").unwrap_or_default();
        let same = |row: &Entry| {
            row.id != id && row.text("name") == name && row.text("domain_id") == domain
        };
        match (self.of)(directory).iter().any(same) {
            true => Err(duplicate(self.one, name, Some(domain))),
            false => Ok(()),
        }
    }
}

async fn all_of(kind: Kind, call: Call) -> Answer {
    // Everybody may know the regions.
    match kind.one == REGION.one {
        true => drop(call.token()?),
        false => admin(&call, &format!("list_{}", kind.many))?,
    }
    let base = &call.base;
    let mut rows = call.app.read(|model| kind.rows(model, base));
    rows.retain(|row| {
        kind.filters.iter().all(|name| {
            call.asked(name)
                .is_none_or(|wanted| attribute_is(row, name, wanted))
        })
    });
    Ok(list(kind.many, rows, base, &format!("/{}", kind.many)))
}

async fn one(kind: Kind, call: Call) -> Answer {
    let id = call.part("id");
    let base = &call.base;
    let found = call.app.read(|model| {
        let mut rows = kind.rows(model, base).into_iter();
        rows.find(|row| row["id"] == id)
    });
    // Everybody may look at regions, and at the domain where they live.
    let is_open = matches!(kind.one, "region" | "domain") && found.is_some();
    match is_open {
        true => drop(call.token()?),
        false => admin(&call, &format!("get_{}", kind.one))?,
    }
    let found = found.ok_or_else(|| not_found(kind.one, id))?;
    reply(200, json!({kind.one: found}))
}

async fn create(kind: Kind, call: Call, body: Bytes) -> Answer {
    admin(&call, &format!("create_{}", kind.one))?;
    let body = read_json(&body)?;
    let mut wanted = object(&body, kind.one)?.clone();
    for name in kind.required {
        if wanted.get(*name).is_none_or(Value::is_null) {
            return Err(Refusal::bad_request(format!(
                "'{name}' is a required property"
            )));
        }
    }
    let said = wanted.remove("id");
    let said = said.filter(|_| kind.one == REGION.one);
    let id = match said.as_ref().and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => new_hex_id(),
    };
    if matches!(kind.one, "domain" | "group" | "region") {
        wanted.entry("description").or_insert_with(|| "".into());
    }
    match kind.one {
        "region" => {
            wanted.entry("parent_region_id").or_insert(Value::Null);
        }
        "endpoint" => {
            wanted.entry("region_id").or_insert(Value::Null);
        }
        _ => {}
    }
    if kind.one != REGION.one && !kind.lives_in_domain {
        wanted.entry("enabled").or_insert(Value::Bool(true));
    }
    let shown = call.app.change(|model| {
        if kind.lives_in_domain {
            wanted.insert("domain_id".into(), domain_of(model, &wanted)?.into());
        }
        if (kind.of)(&model.identity.directory).get(&id).is_some() {
            return Err(Refusal::conflict(
                "Conflict",
                format!(
                    "Conflict occurred attempting to store {} - Duplicate ID, {id}..",
                    kind.one
                ),
            ));
        }
        kind.check(model, &id, &wanted)?;
        let row = Entry { id, fields: wanted };
        let shown = kind.document(&row, &call.base);
        (kind.of_mut)(&mut model.identity.directory).insert(row);
        Ok(shown)
    })?;
    reply(201, json!({kind.one: shown}))
}

async fn update(kind: Kind, call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    admin(&call, &format!("update_{}", kind.one))?;
    let body = read_json(&body)?;
    let wanted = object(&body, kind.one)?;
    let shown = call.app.change(|model| {
        let row = (kind.of)(&model.identity.directory).get(id);
        let mut row = row.cloned().ok_or_else(|| not_found(kind.one, id))?;
        if kind.lives_in_domain {
            stays_in_domain(wanted, row.text("domain_id"))?;
        }
        let wanted = wanted.iter().filter(|(name, _)| *name != "id");
        row.fields
            .extend(wanted.map(|(name, value)| (name.clone(), value.clone())));
        kind.check(model, id, &row.fields)?;
        let shown = kind.document(&row, &call.base);
        (kind.of_mut)(&mut model.identity.directory).insert(row);
        Ok::<_, Refusal>(shown)
    })?;
    reply(200, json!({kind.one: shown}))
}

async fn delete(kind: Kind, call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, &format!("delete_{}", kind.one))?;
    call.app.change(|model| {
        let identity = &mut model.identity;
        let row = (kind.of)(&identity.directory).get(id);
        let row = row.ok_or_else(|| not_found(kind.one, id))?;
        match kind.one {
            "domain" if row.fields.get("enabled") != Some(&Value::Bool(false)) => {
                return Err(Refusal::forbidden(
                    "Cannot delete a domain that is enabled, please disable it first.",
                ));
            }
            "domain" => {
                identity.remove_domain(id);
            }
            "group" => {
                identity.remove_group(id);
            }
            "region" => {
                let mut endpoints = identity.directory.endpoints.iter();
                // The lab's own endpoints are all in its own region.
                if id == "lab" || endpoints.any(|row| row.text("region_id") == id) {
                    return Err(Refusal::forbidden(format!(
                        "Unable to delete region {id} because it or its child regions have associated endpoints."
                    )));
                }
                identity.directory.regions.remove(id);
            }
            "service" => {
                let endpoints = &mut identity.directory.endpoints;
                let with_it = endpoints.iter().filter(|row| row.text("service_id") == id);
                let with_it: Vec<String> = with_it.map(|row| row.id.clone()).collect();
                for endpoint in with_it {
                    endpoints.remove(&endpoint);
                }
                identity.directory.services.remove(id);
            }
            _ => {
                (kind.of_mut)(&mut identity.directory).remove(id);
            }
        }
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}
