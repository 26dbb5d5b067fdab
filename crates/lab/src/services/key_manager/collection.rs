//! Common lists, views and deletions of Barbican's collections: secrets, containers and orders.

use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, json_answer, reply};
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::kit::table::{Keyed, Table};
use crate::kit::token::Member;
use crate::services::key_manager::check_access;
use crate::services::key_manager::secret::Owner;
use crate::services::{Call, Model, Routes};

/// A resource of Barbican.
pub(crate) trait Resource: Keyed + Sized + 'static {
    /// The collection in URLs.
    const COLLECTION: &'static str;
    /// The name in refusals.
    const WORD: &'static str;
    /// The message of a 404.
    const MISSING: &'static str;
    /// The query words by which lists are filtered.
    const FILTERS: &'static [&'static str];

    fn table(model: &Model) -> &Table<Self>;
    fn table_mut(model: &mut Model) -> &mut Table<Self>;
    fn owner(&self) -> &Owner;
    /// The document that a client gets.
    fn document(&self, base: &str) -> Value;

    /// Refuses callers who may not delete the resource.
    fn check_delete(&self, member: &Member, attempt: &str) -> Result<(), Refusal> {
        check_access(self.owner(), member, attempt)
    }

    fn not_found() -> Refusal {
        Refusal::not_found("NotFound", Self::MISSING)
    }

    /// The URL of a resource.
    fn reference(id: &str, base: &str) -> String {
        format!("{base}/key-manager/v1/{}/{id}", Self::COLLECTION)
    }

    /// The resource, if the caller may access it. `attempt` is the operation in Barbican's words, after the resource's
    /// name.
    fn find<'a>(
        model: &'a Model,
        member: &Member,
        id: &str,
        attempt: &str,
    ) -> Result<&'a Self, Refusal> {
        let row = Self::table(model).get(id).ok_or_else(Self::not_found)?;
        let attempt = format!("{} {attempt}", Self::WORD);
        check_access(row.owner(), member, &attempt).map(|()| row)
    }

    /// Like [`Resource::find`], for changes.
    fn find_mut<'a>(
        model: &'a mut Model,
        member: &Member,
        id: &str,
        attempt: &str,
    ) -> Result<&'a mut Self, Refusal> {
        let row = Self::table_mut(model).get_mut(id);
        let row = row.ok_or_else(Self::not_found)?;
        let attempt = format!("{} {attempt}", Self::WORD);
        check_access(row.owner(), member, &attempt).map(|()| row)
    }
}

/// The routes that all collections have. Creations differ.
pub(crate) fn routes<R: Resource>() -> Routes {
    let resource = format!("/{}/{{id}}", R::COLLECTION);
    Routes::below("/key-manager/v1")
        .get(&format!("/{}", R::COLLECTION), list::<R>)
        .get(&format!("/{}/", R::COLLECTION), list::<R>)
        .get(&resource, show::<R>)
        .delete(&resource, delete::<R>)
}

async fn list<R: Resource>(call: Call) -> Answer {
    let member = call.member()?;
    let rows = call.app.read(|model| {
        let rows = R::table(model).iter();
        let mine = rows.filter(|row| row.owner().project_id == member.project_id);
        let fits = |row: &Value| {
            let mut filters = R::FILTERS.iter();
            filters.all(|name| {
                let wanted = call.query_value(name);
                wanted.is_none_or(|wanted| query::attribute_is(row, name, wanted))
            })
        };
        mine.map(|row| row.document(&call.base))
            .filter(fits)
            .collect()
    });
    Ok(page::<R>(&call, rows))
}

/// A part of a list, by `offset` and `limit`.
fn page<R: Resource>(call: &Call, rows: Vec<Value>) -> Response {
    let number = |name: &str, usual: usize| {
        let number = call.query_value(name).and_then(|text| text.parse().ok());
        number.unwrap_or(usual)
    };
    let (offset, limit) = (number("offset", 0), number("limit", 10).clamp(1, 100));
    let total = rows.len();
    let link = |offset: usize| {
        let (base, collection) = (&call.base, R::COLLECTION);
        format!("{base}/key-manager/v1/{collection}?limit={limit}&offset={offset}")
    };
    let page: Vec<Value> = rows.into_iter().skip(offset).take(limit).collect();
    let mut body = json!({R::COLLECTION: page, "total": total});
    // A caller may ask for any offset.
    let end = offset.saturating_add(limit);
    if end < total {
        body["next"] = link(end).into();
    }
    if offset > 0 {
        body["previous"] = link(offset.saturating_sub(limit)).into();
    }
    json_answer(200, body)
}

async fn show<R: Resource>(call: Call) -> Answer {
    let member = call.member()?;
    let shown = call.app.read(|model| {
        let row = R::find(model, &member, call.id(), "retrieval")?;
        Ok::<_, Refusal>(row.document(&call.base))
    })?;
    reply(200, shown)
}

async fn delete<R: Resource>(call: Call) -> Answer {
    let member = call.member()?;
    call.app.change(|model| {
        let row = R::table(model).get(call.id()).ok_or_else(R::not_found)?;
        row.check_delete(&member, &format!("{} deletion", R::WORD))?;
        R::table_mut(model).remove(call.id());
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}
