//! What all Neutron drivers share: find by mark, make, look, remove.

use openstack::network::Entity;
use serde_json::{Map, Value};

use super::mark;
use super::properties::Properties;
use crate::driver::{Context, DriverError, Marked, Progress, Ready, Search, may_be_there};

/// The thing that carries the resource's mark.
pub(super) async fn find<E: Entity>(
    context: &Context<'_>,
    own: Option<&str>,
) -> Result<Option<E>, DriverError> {
    if !may_be_there() {
        return Ok(None);
    }
    let description = mark::description(context.marker, own);
    let found: Vec<E> = context
        .session
        .network()
        .list(&[("description", &description)])
        .await?;
    // Asked again here, for clouds that do not know the filter.
    Ok(found
        .into_iter()
        .find(|entity| entity.description() == Some(description.as_str())))
}

/// Makes the thing with the mark in its description, and sets its tags. The caller has looked.
pub(super) async fn make<E: Entity>(
    context: &Context<'_>,
    own: Option<&str>,
    mut fields: Map<String, Value>,
) -> Result<E, DriverError> {
    fields.insert(
        "description".into(),
        mark::description(context.marker, own).into(),
    );
    let network = context.session.network();
    let made: E = network.create(&Value::Object(fields)).await?;
    set_tags::<E>(context, made.id()).await?;
    // How it is now need not be asked for; most of Neutron's things are ready at once.
    context.session.watcher().told(&made);
    Ok(made)
}

/// Changes the thing to what the properties say now; `fixed` are the fields that are said only when
/// it is made.
pub(super) async fn update<E: Entity>(
    context: &Context<'_>,
    id: &str,
    own: Option<&str>,
    mut fields: Map<String, Value>,
    fixed: &[&str],
) -> Result<E, DriverError> {
    fields.retain(|name, _| !fixed.contains(&name.as_str()));
    fields.insert(
        "description".into(),
        mark::description(context.marker, own).into(),
    );
    let network = context.session.network();
    let changed: E = network.update(id, &Value::Object(fields)).await?;
    set_tags::<E>(context, id).await?;
    Ok(changed)
}

async fn set_tags<E: Entity>(context: &Context<'_>, id: &str) -> Result<(), DriverError> {
    let tags = Properties::of(context.properties).texts("tags")?;
    if !tags.is_empty() {
        let network = context.session.network();
        network.set_tags::<E>(id, &tags).await?;
    }
    Ok(())
}

/// How far the thing is, by its status; what has none is ready once it is there.
pub(super) async fn progress<E: Entity>(
    context: &Context<'_>,
    id: &str,
) -> Result<Progress, DriverError> {
    Ok(match context.session.watcher().network::<E>(id).await? {
        Some(entity) => judge(&entity),
        None => Progress::Failed(format!("the {} is gone", E::TITLE)),
    })
}

/// `DOWN` is ready: ports are so until a server is plugged in, floating IPs until they lead somewhere.
pub(super) fn judge<E: Entity>(entity: &E) -> Progress {
    let fields = fields(entity);
    match fields.get("status").and_then(Value::as_str) {
        Some(status @ ("BUILD" | "PENDING_CREATE" | "PENDING_UPDATE")) => {
            Progress::Pending(format!("the {} is in state {status}", E::TITLE))
        }
        Some("ERROR") => Progress::Failed(format!("the cloud put the {} in state ERROR", E::TITLE)),
        _ => Progress::Ready(Ready {
            reference: entity.id().into(),
            attributes: with_show(fields),
        }),
    }
}

/// The attributes as they are now, in every state; `None` where the thing is gone.
pub(super) async fn attributes<E: Entity>(
    context: &Context<'_>,
    id: &str,
) -> Result<Option<Map<String, Value>>, DriverError> {
    match context.session.network().get::<E>(id).await {
        Ok(entity) => Ok(Some(with_show(fields(&entity)))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn fields<E: Entity>(entity: &E) -> Map<String, Value> {
    match serde_json::to_value(entity) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Heat's attribute `show`: all fields once more, under one name.
pub(super) fn with_show(mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.insert("show".into(), Value::Object(fields.clone()));
    fields
}

/// Removes the thing with this id, or the one that carries the mark.
pub(super) async fn delete<E: Entity>(
    context: &Context<'_>,
    id: Option<&str>,
) -> Result<(), DriverError> {
    let network = context.session.network();
    let id = match id {
        Some(id) => id.to_string(),
        None => match find_anyhow::<E>(context).await? {
            Some(id) => id,
            None => return Ok(()),
        },
    };
    done_if_gone(network.delete::<E>(&id).await)?;
    // What Neutron has accepted to delete is gone.
    context.session.watcher().told_gone::<E>(&id);
    Ok(())
}

/// By the mark alone: the properties may not be known any more when something is removed.
async fn find_anyhow<E: Entity>(context: &Context<'_>) -> Result<Option<String>, DriverError> {
    let exact = mark::text(context.marker);
    let network = context.session.network();
    let mut found: Vec<E> = network.list(&[("description", &exact)]).await?;
    if found.is_empty() {
        found = network.list(&[]).await?;
    }
    let ours = found
        .into_iter()
        .find(|entity| mark::carries(entity.description().unwrap_or_default(), context.marker));
    Ok(ours.map(|entity| entity.id().to_string()))
}

/// All that carry one of the marks in their descriptions, by one list.
pub(super) async fn list_marked<E: Entity>(
    search: &Search<'_>,
) -> Result<Vec<Marked>, DriverError> {
    let marks = mark::Texts::of(search, mark::text);
    let all: Vec<E> = search.session.network().list(&[]).await?;
    let marked = all.iter().filter_map(|entity| {
        let resource = marks.last_word(entity.description()?)?;
        let name = entity.name().map(str::to_owned);
        Some(Marked::named(resource, entity.id().to_owned(), name))
    });
    Ok(marked.collect())
}

/// Whether nothing is left.
pub(super) async fn is_gone<E: Entity>(
    context: &Context<'_>,
    id: &str,
) -> Result<bool, DriverError> {
    let found = context.session.watcher().network::<E>(id).await?;
    Ok(found.is_none())
}

/// "Not there" is success.
pub(super) fn done_if_gone(result: Result<(), openstack::Error>) -> Result<(), DriverError> {
    match result {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use openstack::network::{Network, Subnet};
    use serde_json::json;

    use super::*;

    #[test]
    fn states_of_a_network() {
        let in_state = |status: &str| {
            judge(&serde_json::from_value::<Network>(json!({"id": "n", "status": status})).unwrap())
        };
        assert!(matches!(in_state("ACTIVE"), Progress::Ready(ready) if ready.reference == "n"));
        assert!(matches!(in_state("DOWN"), Progress::Ready(_)));
        assert_eq!(
            in_state("BUILD"),
            Progress::Pending("the network is in state BUILD".into())
        );
        assert_eq!(
            in_state("ERROR"),
            Progress::Failed("the cloud put the network in state ERROR".into())
        );
    }

    #[test]
    fn attributes_are_what_neutron_said() {
        let subnet: Subnet =
            serde_json::from_value(json!({"id": "s", "cidr": "10.0.0.0/24", "enable_dhcp": true}))
                .unwrap();
        let Progress::Ready(ready) = judge(&subnet) else {
            panic!("a subnet has no status");
        };
        assert_eq!(ready.attributes["cidr"], "10.0.0.0/24");
        assert_eq!(ready.attributes["show"]["enable_dhcp"], true);
    }
}
