//! What administrators keep in Keystone, Cinder and Nova: made with fields, changed with fields, removed, and there at once.
//!
//! A type of this kind says its fields and what is peculiar about it; [`Recorded`] makes a driver of it. The mark stands in the
//! description, as with Neutron; a type whose things have none says where else. What takes calls of its own
//! (further keys, who may use it, who is in it) is *settled* after the thing is there: when a call in between is
//! lost, the mark finds the thing. What is taken away on a change is what stood in the properties before and does not any
//! more, so that what others have added stays.
//!
//! What an earlier attempt left before the journal had its id is removed, and made again, wherever the mark is: it may be half
//! settled, and made from another version of the template, with another name, password or role. Nobody can have relied on it.

use async_trait::async_trait;
use openstack::Session;
use openstack::collection::{Collection, Record, id_of};
use serde_json::{Map, Value};

use super::mark;
use super::neutron::{done_if_gone, with_show};
use super::properties::Properties;
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Marker, Progress, Ready, Search,
    may_be_there,
};

/// What a type says of itself.
#[async_trait]
pub(super) trait Records: Send + Sync {
    /// Where its things are kept.
    const OF: &'static Collection;
    /// Fields that are said only when it is made.
    const FIXED: &'static [&'static str] = &[];
    /// Fields that its things can be asked for, beside the name.
    const ASKED_BY: &'static [&'static str] = &[];
    /// What [`Records::settle`] takes away where it is not said any more.
    const TAKES_AWAY: &'static [&'static str] = &[];
    /// Whether fields can be said again; else all of a change is settled.
    const IS_SAID_AGAIN: bool = true;

    /// The body, without the mark.
    async fn fields(&self, context: &Context<'_>) -> Result<Record, DriverError>;

    /// Puts the mark into the body.
    fn mark(&self, context: &Context<'_>, fields: &mut Record) -> Result<(), DriverError> {
        let own = Properties::of(context.properties).text("description")?;
        let description = mark::description(context.marker, own.as_deref());
        fields.insert("description".into(), description.into());
        Ok(())
    }

    /// Whether a thing carries the mark.
    fn is_ours(&self, context: &Context<'_>, record: &Record) -> bool {
        let description = record.get("description").and_then(Value::as_str);
        mark::carries(description.unwrap_or_default(), context.marker)
    }

    /// Leaves out of a change what must not be said again unless it differs.
    fn unsaid(&self, _fields: &mut Record, _changed: &[String]) {}

    /// What takes calls of its own, once it is there, and once its fields are changed.
    async fn settle(&self, _context: &Context<'_>, _id: &str) -> Result<(), DriverError> {
        Ok(())
    }

    /// What must be done before it can go; some of it may be done already.
    async fn let_go(&self, _context: &Context<'_>, _id: &str) -> Result<(), DriverError> {
        Ok(())
    }

    /// What others can ask of it, beside what the service says of it.
    fn attributes(&self, _record: &Record, _attributes: &mut Map<String, Value>) {}
}

/// The driver of such a type.
pub(super) struct Recorded<T>(pub(super) T);

impl<T: Records> Recorded<T> {
    /// The one that carries the mark: among those of its name first; but the name may be another one by now, and the
    /// properties may not be known any more when something is removed.
    async fn find(&self, context: &Context<'_>) -> Result<Option<String>, DriverError> {
        let records = context.session.records(T::OF);
        if let Ok(fields) = self.0.fields(context).await
            && let Some(name) = fields.get("name").and_then(Value::as_str)
        {
            let text = |name: &&'static str| Some((*name, fields.get(*name)?.as_str()?));
            let query: Vec<(&str, &str)> = T::ASKED_BY.iter().filter_map(text).collect();
            let found = records.list_named(name, &query).await?;
            if let Some(id) = self.ours(context, &found) {
                return Ok(Some(id));
            }
        }
        Ok(self.ours(context, &records.list(&[]).await?))
    }

    async fn remove(&self, context: &Context<'_>, id: &str) -> Result<(), DriverError> {
        match self.0.let_go(context, id).await {
            Err(DriverError::Cloud(error)) if error.is_not_found() => {}
            done => done?,
        }
        done_if_gone(context.session.records(T::OF).delete(id).await)
    }

    fn ours(&self, context: &Context<'_>, found: &[Record]) -> Option<String> {
        let mut found = found.iter();
        found
            .find(|record| self.0.is_ours(context, record))
            .map(id_of)
    }
}

#[async_trait]
impl<T: Records> Driver for Recorded<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn takes_away(&self) -> &'static [&'static str] {
        T::TAKES_AWAY
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let mut fields = self.0.fields(context).await?;
        if may_be_there()
            && let Some(left) = self.find(context).await?
        {
            self.remove(context, &left).await?;
        }
        self.0.mark(context, &mut fields)?;
        let id = id_of(&context.session.records(T::OF).create(&fields).await?);
        self.0.settle(context, &id).await?;
        Ok(id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        match context.session.records(T::OF).get(physical_id).await {
            Ok(record) => {
                let mut attributes = with_show(record.clone());
                self.0.attributes(&record, &mut attributes);
                Ok(Progress::Ready(Ready {
                    reference: physical_id.into(),
                    attributes,
                }))
            }
            Err(error) if error.is_not_found() => {
                Ok(Progress::Failed(format!("the {} is gone", T::OF.title)))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        self.change(context, physical_id, &[]).await
    }

    async fn change(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        changed: &[String],
    ) -> Result<(), DriverError> {
        if T::IS_SAID_AGAIN {
            let mut fields = self.0.fields(context).await?;
            fields.retain(|name, _| !T::FIXED.contains(&name.as_str()));
            self.0.unsaid(&mut fields, changed);
            self.0.mark(context, &mut fields)?;
            let records = context.session.records(T::OF);
            records.update(physical_id, &fields).await?;
        }
        self.0.settle(context, physical_id).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let found = match physical_id {
            Some(id) => Some(id.to_owned()),
            None => self.find(context).await?,
        };
        match found {
            Some(id) => self.remove(context, &id).await,
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        match context.session.records(T::OF).get(physical_id).await {
            Ok(_) => Ok(false),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl<T: Records> ListMarked for Recorded<T> {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let all = search.session.records(T::OF).list(&[]).await?;
        let marked = all.iter().filter_map(|record| {
            let is_its = |marker: &&Marker| self.0.is_ours(&search.context(marker), record);
            let marker = search.markers.iter().find(is_its)?;
            let name = record.get("name").and_then(Value::as_str);
            let name = name.map(str::to_owned);
            Some(Marked::named(&marker.resource, id_of(record), name))
        });
        Ok(marked.collect())
    }
}

/// The id of the thing that `given`, from a property, means: an id, a name that only one has, or in Keystone, as in Heat, a
/// name with its domain: `ops{acme}`.
pub(super) async fn id_named(
    session: &Session,
    properties: &Properties<'_>,
    of: &'static Collection,
    property: &str,
    given: &str,
) -> Result<String, DriverError> {
    let found = id_meant(session, of, given).await;
    found.map_err(|error| properties.looked_up(property, error))
}

/// The same; nothing where there is none of the name. Two of it are an error: one of them may be the one.
pub(super) async fn id_if_there(
    session: &Session,
    of: &'static Collection,
    given: &str,
) -> Result<Option<String>, DriverError> {
    match id_meant(session, of, given).await {
        Err(openstack::Error::Unknown { .. }) => Ok(None),
        found => Ok(Some(found?)),
    }
}

async fn id_meant(
    session: &Session,
    of: &'static Collection,
    given: &str,
) -> Result<String, openstack::Error> {
    let name_and_domain = given
        .strip_suffix('}')
        .and_then(|given| given.rsplit_once('{'));
    match name_and_domain {
        Some((name, domain)) if of.service == openstack::Service::Identity => {
            let domains = session.records(&openstack::identity::DOMAINS);
            let domain = domains.id_named(domain, &[]).await?;
            let query = [("domain_id", domain.as_str())];
            session.records(of).id_named(name, &query).await
        }
        _ => session.records(of).id_named(given, &[]).await,
    }
}

/// The id of what a property names, if it is given.
pub(super) async fn id_in(
    context: &Context<'_>,
    property: &str,
    of: &'static Collection,
) -> Result<Option<String>, DriverError> {
    let properties = Properties::of(context.properties);
    match properties.filled(property)? {
        Some(given) => id_named(context.session, &properties, of, property, &given)
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// The same for one that must be given.
pub(super) async fn id_required(
    context: &Context<'_>,
    property: &str,
    of: &'static Collection,
) -> Result<String, DriverError> {
    Properties::of(context.properties).required(property)?;
    Ok(id_in(context, property, of).await?.unwrap_or_default())
}

/// The ids of what a list of names leaves behind and of what it brings, against what it was before and what was tried since. What is
/// gone cannot be left behind.
pub(super) async fn members(
    context: &Context<'_>,
    property: &str,
    of: &'static Collection,
) -> Result<(Vec<String>, Vec<String>), DriverError> {
    let properties = Properties::of(context.properties);
    let mut wanted = Vec::new();
    for name in properties.texts(property)? {
        wanted.push(id_named(context.session, &properties, of, property, &name).await?);
    }
    let mut before = [Vec::new(), Vec::new()];
    for (map, ids) in [context.before, context.tried].into_iter().zip(&mut before) {
        for name in Properties::of(map).texts(property)? {
            ids.extend(id_if_there(context.session, of, &name).await?);
        }
    }
    let [before, tried] = before;
    let tried = context.tried.contains_key(property).then_some(&tried[..]);
    Ok(moves(&before, tried, &wanted))
}

/// What leaves and what comes. Where something was `tried` since, that may be there too, and nothing of before need be.
pub(super) fn moves<T: PartialEq + Clone>(
    before: &[T],
    tried: Option<&[T]>,
    after: &[T],
) -> (Vec<T>, Vec<T>) {
    let mut leaving: Vec<T> = Vec::new();
    for item in before.iter().chain(tried.unwrap_or_default()) {
        if !after.contains(item) && !leaving.contains(item) {
            leaving.push(item.clone());
        }
    }
    let comes = |item: &&T| tried.is_some() || !before.contains(item);
    (leaving, after.iter().filter(comes).cloned().collect())
}

/// Keys that a map leaves behind, and all that it says: what somebody has changed by hand is put right.
pub(super) fn keys(
    context: &Context<'_>,
    property: &str,
) -> Result<(Vec<String>, Record), DriverError> {
    let wanted = pairs(context.properties, property)?;
    let mut before = pairs(context.before, property)?;
    before.extend(pairs(context.tried, property)?);
    let leaving = before.into_iter().map(|(key, _)| key);
    let leaving = leaving.filter(|key| !wanted.contains_key(key));
    Ok((leaving.collect(), wanted))
}

/// Keys and values, as texts, of a property that is a map.
pub(super) fn pairs(map: &Map<String, Value>, property: &str) -> Result<Record, DriverError> {
    let properties = Properties::of(map);
    let pairs = match properties.get(property) {
        None => return Ok(Map::new()),
        Some(Value::Object(pairs)) => pairs,
        Some(_) => return Err(properties.wrong(property, "it must be a map".into())),
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let given = pairs.iter().filter(|(_, value)| !value.is_null());
    Ok(given
        .map(|(key, value)| (key.clone(), text(value).into()))
        .collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_leaves_and_what_comes() {
        assert_eq!(
            moves(&["a", "b"], None, &["b", "c"]),
            (vec!["a"], vec!["c"]),
            "what stays is not touched"
        );
        assert_eq!(
            moves(&["a", "b"], Some(&["b", "d"]), &["b", "c"]),
            (vec!["a", "d"], vec!["b", "c"]),
            "what was tried may be there, and what stays may be gone"
        );
    }

    #[test]
    fn values_of_keys_are_texts() {
        let map =
            json!({"specs": {"iops": 500, "on": true, "none": null, "name": "gold"}, "odd": []});
        let map = map.as_object().unwrap();
        assert_eq!(
            Value::Object(pairs(map, "specs").unwrap()),
            json!({"iops": "500", "on": "true", "name": "gold"})
        );
        assert!(pairs(map, "none").unwrap().is_empty());
        assert_eq!(
            pairs(map, "odd").unwrap_err().to_string(),
            "property `odd`: it must be a map"
        );
    }
}
