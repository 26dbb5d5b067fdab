//! Nova v2.1: flavors. Everybody sees them; administrators make them.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_id;
use crate::kit::query::{self, Detail};
use crate::kit::refusal::Refusal;
use crate::services::compute::flavor::Flavor;
use crate::services::compute::view::{flavor_document, flavor_summary};
use crate::services::compute::{action, invalid, policy};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/flavors", flavors)
        .post("/flavors", create)
        .get("/flavors/detail", flavors_detail)
        .get("/flavors/{id}", flavor)
        .delete("/flavors/{id}", delete)
        .post("/flavors/{id}/action", act)
        .get("/flavors/{id}/os-flavor-access", access)
        .get("/flavors/{id}/os-extra_specs", extra_specs)
        .post("/flavors/{id}/os-extra_specs", add_extra_specs)
        .get("/flavors/{id}/os-extra_specs/{key}", extra_spec)
        .delete("/flavors/{id}/os-extra_specs/{key}", delete_extra_spec)
}

async fn flavors(call: Call) -> Answer {
    list_flavors(&call, Detail::Bare)
}

async fn flavors_detail(call: Call) -> Answer {
    list_flavors(&call, Detail::Full)
}

fn list_flavors(call: &Call, detail: Detail) -> Answer {
    let member = call.member()?;
    if let Some(limit) = call.query_value("limit")
        && !limit.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err(Refusal::bad_request(format!(
            "Invalid input for query parameters limit. Value: {limit}. '{limit}' does not match '^[0-9]*$'"
        )));
    }
    let (base, version) = (&call.base, call.version);
    // Administrators may ask for the private ones, too.
    let is_public = call.query_value("is_public").unwrap_or("true");
    let wanted = |public: bool| match is_public.to_lowercase().as_str() {
        "none" => true,
        word => public == matches!(word, "true" | "1"),
    };
    let least = |name: &str| {
        call.query_value(name)
            .and_then(|text| text.parse::<u32>().ok())
            .unwrap_or(0)
    };
    let rows: Vec<Value> = call.app.read(|model| {
        let fitting = model
            .flavors
            .iter()
            .filter(|row| row.ram >= least("minRam") && row.disk >= least("minDisk"))
            .filter(|row| {
                if member.admin {
                    wanted(row.is_public)
                } else {
                    row.is_for(&member.project_id)
                }
            });
        fitting
            .map(|row| match detail {
                Detail::Full => flavor_document(row, version, base),
                Detail::Bare => flavor_summary(row, version, base),
            })
            .collect()
    });
    let page = query::page(rows, &call.query, 1_000);
    let page = page.ok_or_else(|| Refusal::bad_request("marker not found"))?;
    let mut body = json!({"flavors": page.items});
    if let Some(next) = page.next {
        let path = match detail {
            Detail::Full => "flavors/detail",
            Detail::Bare => "flavors",
        };
        let query = query::with_marker(&call.query, &next);
        let href = format!("{base}/compute/v2.1/{path}?{query}");
        body["flavors_links"] = json!([{"rel": "next", "href": href}]);
    }
    reply(200, body)
}

async fn flavor(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let base = &call.base;
    let shown = call.app.read(|model| {
        model
            .flavor_for(&member, id)
            .map(|row| flavor_document(row, call.version, base))
    });
    let shown = shown.ok_or_else(|| flavor_not_found(id))?;
    reply(200, json!({ "flavor": shown }))
}

fn flavor_not_found(id: &str) -> Refusal {
    Refusal::not_found("FlavorNotFound", format!("Flavor {id} could not be found."))
}

async fn extra_specs(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let specs = call.app.read(|model| {
        let row = model.flavor_for(&member, id)?;
        Some(row.extra_specs.clone())
    });
    let specs = specs.ok_or_else(|| flavor_not_found(id))?;
    reply(200, json!({ "extra_specs": specs }))
}

/// An administrator, or 403.
pub(crate) fn admin(call: &Call, rule: &str) -> Result<(), Refusal> {
    if call.member()?.admin {
        Ok(())
    } else {
        Err(policy(rule))
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    admin(&call, "os-flavor-manage:create")?;
    let body = read_json(&body)?;
    let wanted = &body["flavor"];
    let number = |name: &str| {
        let value = &wanted[name];
        let number = value
            .as_u64()
            .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        number
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| invalid(name, value, "it is not a whole number"))
    };
    let positive = |name: &str| match number(name)? {
        0 => Err(invalid(
            name,
            &wanted[name],
            "0 is less than the minimum of 1",
        )),
        number => Ok(number),
    };
    let text = |name: &str| wanted[name].as_str().map(str::to_owned);
    let name = text("name").filter(|name| !name.trim().is_empty());
    let row = Flavor {
        id: text("id").filter(|id| id != "auto").unwrap_or_else(new_id),
        name: name.ok_or_else(|| invalid("flavor", wanted, "'name' is a required property"))?,
        vcpus: positive("vcpus")?,
        ram: positive("ram")?,
        disk: number("disk")?,
        description: text("description"),
        extra_specs: Default::default(),
        is_public: wanted["os-flavor-access:is_public"]
            .as_bool()
            .unwrap_or(true),
        projects: Vec::new(),
        swap_mib: number("swap").unwrap_or_default(),
        ephemeral_gib: number("OS-FLV-EXT-DATA:ephemeral").unwrap_or_default(),
    };
    let shown = flavor_document(&row, call.version, &call.base);
    call.app.change(|model| {
        let taken = |what: &str, value: &str| {
            Refusal::conflict(
                "FlavorExists",
                format!("Flavor with {what} {value} already exists."),
            )
        };
        if model.flavors.get(&row.id).is_some() {
            return Err(taken("ID", &row.id));
        }
        if model.flavors.iter().any(|other| other.name == row.name) {
            return Err(taken("name", &row.name));
        }
        model.flavors.insert(row);
        Ok(())
    })?;
    reply(200, json!({ "flavor": shown }))
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "os-flavor-manage:delete")?;
    let gone = call.app.change(|model| model.flavors.remove(id));
    gone.ok_or_else(|| flavor_not_found(id))?;
    empty(202)
}

/// Projects with access to a private flavor.
fn access_document(row: &Flavor) -> Value {
    let one = |project: &String| json!({"flavor_id": row.id, "tenant_id": project});
    json!({"flavor_access": row.projects.iter().map(one).collect::<Vec<_>>()})
}

async fn access(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "os-flavor-access")?;
    let shown = call.app.read(|model| {
        let row = model.flavors.get(id);
        let row = row.ok_or_else(|| flavor_not_found(id))?;
        if row.is_public {
            Err(Refusal::not_found(
                "FlavorAccessNotFound",
                "Access list not available for public flavors.",
            ))
        } else {
            Ok(access_document(row))
        }
    })?;
    reply(200, shown)
}

async fn act(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let (action, said) = action(&body)?;
    let (adds, rule) = match action.as_str() {
        "addTenantAccess" => (true, "os-flavor-access:add_tenant_access"),
        "removeTenantAccess" => (false, "os-flavor-access:remove_tenant_access"),
        other => {
            return Err(Refusal::bad_request(format!(
                "There is no such action: {other}"
            )));
        }
    };
    admin(&call, rule)?;
    let project = said["tenant"].as_str().unwrap_or_default().to_owned();
    let shown = call.app.change(|model| {
        if adds && model.identity.projects.get(&project).is_none() {
            let why = format!("Project ID {project} is not a valid project.");
            return Err(Refusal::bad_request(why));
        }
        let row = model.flavors.get_mut(id);
        let row = row.ok_or_else(|| flavor_not_found(id))?;
        match (adds, row.projects.contains(&project)) {
            (true, _) if row.is_public => {
                let why = "Can not add access to a public flavor.";
                return Err(Refusal::conflict("HTTPConflict", why));
            }
            (true, false) => row.projects.push(project),
            (false, true) => row.projects.retain(|one| *one != project),
            (true, true) => {
                return Err(Refusal::conflict(
                    "FlavorAccessExists",
                    format!("Flavor access already exists for flavor {id} and project {project} combination."),
                ));
            }
            (false, false) => {
                return Err(Refusal::not_found(
                    "FlavorAccessNotFound",
                    format!("Flavor access not found for {id} / {project} combination."),
                ));
            }
        }
        Ok(access_document(row))
    })?;
    reply(200, shown)
}

async fn add_extra_specs(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    admin(&call, "os-flavor-extra-specs:create")?;
    let body = read_json(&body)?;
    let specs = crate::services::compute::server_body::read_metadata(body.get("extra_specs"))?;
    let all = call.app.change(|model| {
        let row = model.flavors.get_mut(id)?;
        row.extra_specs.extend(specs);
        Some(row.extra_specs.clone())
    });
    let all = all.ok_or_else(|| flavor_not_found(id))?;
    reply(200, json!({ "extra_specs": all }))
}

fn no_such_spec(id: &str, key: &str) -> Refusal {
    Refusal::not_found(
        "FlavorExtraSpecsNotFound",
        format!("Flavor {id} has no extra specs with key {key}."),
    )
}

async fn extra_spec(call: Call) -> Answer {
    let (id, key) = (call.part("id"), call.part("key"));
    let member = call.member()?;
    let value = call.app.read(|model| {
        let row = model.flavor_for(&member, id);
        let row = row.ok_or_else(|| flavor_not_found(id))?;
        let value = row.extra_specs.get(key).cloned();
        value.ok_or_else(|| no_such_spec(id, key))
    })?;
    reply(200, json!({ key: value }))
}

async fn delete_extra_spec(call: Call) -> Answer {
    let (id, key) = (call.part("id"), call.part("key"));
    admin(&call, "os-flavor-extra-specs:delete")?;
    let gone = call
        .app
        .change(|model| model.flavors.get_mut(id)?.extra_specs.remove(key));
    gone.ok_or_else(|| no_such_spec(id, key))?;
    empty(200)
}
