//! Nested resources, such as QoS rules in a policy. The physical id is `<owner>:<id>`, since the path contains both.
//! `get_resource` returns the resource's own id, as in Heat.

use openstack::nested::{NestedCollection, NestedRecord};
use serde_json::{Value, json};

use super::record::with_show;
use crate::driver::{DriverError, Progress, Ready};

/// The resource's own id.
pub(super) fn id_of(piece: &NestedRecord) -> &str {
    piece.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// The physical id of a nested resource.
pub(super) fn physical_id(owner: &str, piece: &NestedRecord) -> String {
    format!("{owner}:{}", id_of(piece))
}

/// The id of the owner, and the resource's own id.
pub(super) fn parse(physical_id: &str) -> Result<(&str, &str), DriverError> {
    physical_id.split_once(':').ok_or_else(|| {
        DriverError::Other(format!(
            "`{physical_id}` is not the id of a thing in another"
        ))
    })
}

/// The state of a nested resource. It is ready once it exists.
pub(super) async fn progress(
    pieces: &NestedCollection<'_>,
    id: &str,
    title: &str,
) -> Result<Progress, DriverError> {
    match pieces.get(id).await {
        Ok(found) => Ok(Progress::Ready(Ready {
            reference: json!(id),
            attributes: with_show(found),
        })),
        Err(error) if error.is_not_found() => Ok(Progress::Failed(format!("the {title} is gone"))),
        Err(error) => Err(error.into()),
    }
}

/// Whether the nested resource is gone.
pub(super) async fn is_gone(pieces: &NestedCollection<'_>, id: &str) -> Result<bool, DriverError> {
    match pieces.get(id).await {
        Ok(_) => Ok(false),
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_two_halves() {
        assert_eq!(parse("p:r").unwrap(), ("p", "r"));
        assert!(parse("r").is_err());
    }
}
