//! Designate's types: zones, and the record sets in them.
//!
//! Designate answers before its name servers know a record. Until then the record is in the state `PENDING`, during its
//! deletion too. The marker is in the description, which is shorter than that of other services.
//!
//! Not tried on a real cloud: none with Designate was available. Sources: DNS API v2; Heat's `designate/zone.py` and
//! `designate/recordset.py`.

pub(super) mod record_set;
pub(super) mod zone;

use openstack::dns::DnsCollection;
use serde_json::{Map, Value, json};

use super::marker;
use super::properties::Properties;
use super::record::with_show;
use crate::driver::{Context, DriverError, Marker, Progress, Ready};

/// Designate's limit for descriptions.
const DESCRIPTION_CHARACTERS_MAX: usize = 160;

fn marker_text(marker: &Marker) -> String {
    marker::text_within(marker, DESCRIPTION_CHARACTERS_MAX)
}

/// The fields `ttl` and `description`. An update that changes the `ttl` sends null if the template no longer has it: the
/// zone's default applies again.
fn common(
    marker: &Marker,
    properties: Properties<'_>,
    changed: &[String],
) -> Result<Map<String, Value>, DriverError> {
    let mut body = Map::new();
    let seconds = properties.integer("ttl")?;
    if seconds.is_some() || changed.iter().any(|name| name == "ttl") {
        body.insert("ttl".into(), json!(seconds));
    }
    let own = properties.text("description")?;
    let text = marker::description_within(marker, own.as_deref(), DESCRIPTION_CHARACTERS_MAX);
    body.insert("description".into(), text.into());
    Ok(body)
}

fn is_in_deletion(record: &Value) -> bool {
    record["action"] == "DELETE"
}

/// Whether a record has the marker and is not in deletion.
fn is_ours(record: &Value, marker: &Marker) -> bool {
    let description = record["description"].as_str().unwrap_or_default();
    marker::ends_with(description, &marker_text(marker)) && !is_in_deletion(record)
}

/// The id in a response.
fn id_of(record: &Value) -> Result<String, DriverError> {
    let id = record["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| DriverError::Other("Designate answered without an `id`".to_owned()))
}

/// The state of a record. `title` is its display name.
async fn progress(
    context: &Context<'_>,
    of: DnsCollection<'_>,
    id: &str,
    title: &str,
) -> Result<Progress, DriverError> {
    let record = match context.session.dns().get(of, id).await {
        Ok(record) => record,
        Err(error) if error.is_not_found() => {
            return Ok(Progress::Failed(format!("the {title} is gone")));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match record["status"].as_str() {
        Some("PENDING") => Progress::Pending(format!("the {title} is in state PENDING")),
        Some("ERROR") => Progress::Failed(format!("the cloud put the {title} in state ERROR")),
        _ => Progress::Ready(Ready {
            reference: json!(id),
            attributes: with_show(record.as_object().cloned().unwrap_or_default()),
        }),
    })
}

/// Whether a record is gone.
async fn is_gone(
    context: &Context<'_>,
    of: DnsCollection<'_>,
    id: &str,
    title: &str,
) -> Result<bool, DriverError> {
    match context.session.dns().get(of, id).await {
        Ok(record) if is_in_deletion(&record) && record["status"] == "ERROR" => {
            Err(DriverError::Other(format!(
                "the cloud could not delete the {title}: it is in state ERROR"
            )))
        }
        Ok(_) => Ok(false),
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// A marker for tests of request bodies.
#[cfg(test)]
fn marker_named(resource: &str) -> Marker {
    Marker {
        deployment: "d".into(),
        deployment_name: "shop".into(),
        resource: resource.into(),
    }
}
