//! Checks that accepted changes of a volume took effect, with Cinder's reasons of failures.

use openstack::block_storage::Volume as Found;

use super::super::properties::Properties;
use super::size;
use crate::driver::{Context, DriverError, Progress, Request};

pub(super) const EXTEND: &str = "os-extend";
pub(super) const RETYPE: &str = "os-retype";
pub(super) const REVERT: &str = "revert";
pub(super) const DELETE: &str = "delete";

/// The missing effect of this attempt's requests on an idle volume. `None` if none is missing.
pub(super) async fn missing(
    context: &Context<'_>,
    volume: &Found,
) -> Result<Option<Progress>, DriverError> {
    let properties = Properties::of(context.properties);
    if let Some(request) = context.accepted.newest(EXTEND, &volume.id)
        && let Some(wanted) = size(properties)?
        && volume.size < wanted
    {
        let Some(why) = settled_reason(context, &volume.id, &request).await? else {
            return Ok(Some(Progress::Pending(
                "the volume is about to grow".into(),
            )));
        };
        return Ok(Some(Progress::Unchanged(format!(
            "was not extended to {wanted} GiB: {why}. It still has {} GiB and can be used as before. Choose a size that the cloud \
             has room for, and update again",
            volume.size
        ))));
    }
    if let Some(request) = context.accepted.newest(RETYPE, &volume.id)
        && let Some(wanted) = properties.filled("volume_type")?
        && !has_type(context, volume, &wanted).await?
    {
        let Some(why) = settled_reason(context, &volume.id, &request).await? else {
            return Ok(Some(Progress::Pending(
                "the volume is about to get its type".into(),
            )));
        };
        return Ok(Some(Progress::Unchanged(format!(
            "did not get volume type `{wanted}`: {why}. It still has type `{}` and can be used as before. Choose a type that the \
             volume can move to, and update again",
            volume.volume_type.as_deref().unwrap_or("?")
        ))));
    }
    Ok(None)
}

/// The reason why Cinder has given up on a volume's deletion. `None` if it has not.
pub(super) async fn deletion_failure(
    context: &Context<'_>,
    volume: &Found,
) -> Result<Option<String>, DriverError> {
    let Some(request) = context.accepted.newest(DELETE, &volume.id) else {
        return Ok(None);
    };
    if volume.status == "deleting" {
        return Ok(None);
    }
    let why = settled_reason(context, &volume.id, &request).await?;
    Ok(why.map(|why| {
        format!(
            "volume {} was not deleted and is in state {}: {why}. Resume the run to try again, or ask the cloud's administrator",
            volume.id, volume.status
        )
    }))
}

/// Whether a volume has the type with this name or id.
pub(super) async fn has_type(
    context: &Context<'_>,
    volume: &Found,
    wanted: &str,
) -> Result<bool, DriverError> {
    let there = volume.volume_type.as_deref();
    if there == Some(wanted) {
        return Ok(true);
    }
    let types = context.session.block_storage().type_list().await?;
    let wanted = types.iter().find(|one| one.id == wanted);
    Ok(wanted.is_some_and(|wanted| there == Some(&wanted.name)))
}

/// Cinder's newest message about a volume, or about one request, as a sentence without its full stop. `None` without a
/// message, or without access to messages.
pub(super) async fn reason(
    context: &Context<'_>,
    volume: &str,
    request: Option<&Request>,
) -> Result<Option<String>, DriverError> {
    let mut messages = match context.session.block_storage().message_list(volume).await {
        Err(error) if matches!(error.status(), Some(400..=499)) && !error.is_unauthorized() => {
            return Ok(None);
        }
        messages => messages?,
    };
    messages.retain(|message| request.is_none_or(|request| message.request_id == request.id));
    let newest = messages.into_iter().next();
    Ok(newest.map(|message| message.user_message.trim().trim_end_matches('.').to_owned()))
}

/// The reason why a request had no effect. `None` while Cinder can still record one: the volume returns to its former
/// state before the message exists.
async fn settled_reason(
    context: &Context<'_>,
    volume: &str,
    request: &Request,
) -> Result<Option<String>, DriverError> {
    Ok(match reason(context, volume, Some(request)).await? {
        Some(words) => Some(words),
        None if request.may_be_settling() => None,
        None => Some(format!(
            "Cinder reports no reason; its logs have it under request {}",
            request.id
        )),
    })
}
