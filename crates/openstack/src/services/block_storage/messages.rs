//! Cinder's user messages: reasons for failures of accepted requests.
//!
//! Cinder keeps them for a month. Source: Block Storage API v3, "Messages".

use reqwest::Method;
use serde::Deserialize;

use super::BlockStorage;
use crate::{Error, Microversion, Service};

/// First microversion with messages.
const MESSAGES: Microversion = Microversion(3, 3);

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Message {
    /// Id of the volume, snapshot or backup.
    pub resource_uuid: String,
    /// Id of the request that failed.
    pub request_id: String,
    /// Action and reason: `extend volume:Could not find any available weighted backend.`
    pub user_message: String,
    /// Creation time; ISO 8601, UTC, without a zone.
    pub created_at: String,
}

impl BlockStorage<'_> {
    /// Messages about one volume, snapshot or backup, newest first. A cloud without messages answers 404.
    pub async fn message_list(&self, resource: &str) -> Result<Vec<Message>, Error> {
        let call = self
            .0
            .call(Service::BlockStorage, Method::GET, &["messages"]);
        let call = call
            .query([("resource_uuid", resource)])
            .microversion(MESSAGES);
        let mut messages: Vec<Message> = call.fetch("messages").await?;
        // Some clouds ignore the filter.
        messages.retain(|message| message.resource_uuid == resource);
        messages.sort_by(|one, other| other.created_at.cmp(&one.created_at));
        Ok(messages)
    }
}
