//! Look-ups of referenced resources by id or name, and list and map entries that an update removes.

use openstack::{
    Session,
    collection::{Collection, Record},
};
use serde_json::{Map, Value};

use crate::driver::{Context, DriverError};
use crate::properties::Properties;

/// The id of the resource `given` in a property: an id, a unique name, or in Keystone, as in Heat, a name with its
/// domain: `ops{acme}`.
pub(crate) async fn id_named(
    session: &Session,
    properties: &Properties<'_>,
    of: &'static Collection,
    property: &str,
    given: &str,
) -> Result<String, DriverError> {
    let found = id_meant(session, of, given).await;
    found.map_err(|error| properties.looked_up(property, error))
}

/// The id. `None` if no resource has the name. Several resources with the name are an error.
pub(crate) async fn id_if_there(
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

/// The id of the resource in a property. `None` if the property is absent.
pub(crate) async fn id_in(
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

/// The ids of all resources in a list property.
pub(crate) async fn ids_in(
    context: &Context<'_>,
    property: &str,
    of: &'static Collection,
) -> Result<Vec<String>, DriverError> {
    let properties = Properties::of(context.properties);
    let mut ids = Vec::new();
    for name in properties.texts(property)? {
        ids.push(id_named(context.session, &properties, of, property, &name).await?);
    }
    Ok(ids)
}

/// The id of the resource in a required property.
pub(crate) async fn id_required(
    context: &Context<'_>,
    property: &str,
    of: &'static Collection,
) -> Result<String, DriverError> {
    Properties::of(context.properties).required(property)?;
    Ok(id_in(context, property, of).await?.unwrap_or_default())
}

/// Ids to remove from a list of names and ids to add to it, compared with the list before the update and with the
/// entries of interrupted updates since. A name that no longer exists needs no removal.
pub(crate) async fn members(
    context: &Context<'_>,
    property: &str,
    of: &'static Collection,
) -> Result<(Vec<String>, Vec<String>), DriverError> {
    let wanted = ids_in(context, property, of).await?;
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

/// Items to remove and items to add. After an interrupted update, the items that it `tried` can exist, and those
/// `before` it can be missing.
pub(crate) fn moves<T: PartialEq + Clone>(
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

/// Keys to remove from a map, and all its current entries. Manual changes are overwritten.
pub(crate) fn keys(
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

/// Keys and values of a map property; values are converted to text.
pub(crate) fn pairs(map: &Map<String, Value>, property: &str) -> Result<Record, DriverError> {
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
