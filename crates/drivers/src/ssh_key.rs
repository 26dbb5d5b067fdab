//! `Stackloom::SSHKey`: the SSH key of the deployment, for the orchestrator's logins to its servers.
//!
//! The private key is stored in the vault only. The public key is derived from it, so both always match. The physical
//! id is the name in the vault.

use async_trait::async_trait;
use serde_json::{Map, json};
use zeroize::Zeroizing;

use super::{keys, marker};
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Progress, Ready, Search,
};

pub(super) struct SshKey;

#[async_trait]
impl Driver for SshKey {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let name = marker::marker_name(context.marker);
        // An existing key can be in use on servers, so it is never replaced.
        if context
            .vault
            .get(&name)
            .await?
            .map(Zeroizing::new)
            .is_none()
        {
            let pair = keys::make(&format!("stackloom {}", context.marker.deployment_name))?;
            context.vault.put(&name, &pair.private).await?;
        }
        Ok(name)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let Some(private) = context.vault.get(physical_id).await?.map(Zeroizing::new) else {
            return Ok(Progress::Failed(
                "the deployment's key is not in the vault any more".into(),
            ));
        };
        let mut attributes = Map::new();
        attributes.insert("public_key".into(), keys::public_of(&private)?.into());
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes,
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let name = physical_id.map_or_else(|| marker::marker_name(context.marker), str::to_string);
        context.vault.delete(&name).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let found = context.vault.get(physical_id).await?.map(Zeroizing::new);
        Ok(found.is_none())
    }
}

#[async_trait]
impl ListMarked for SshKey {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let mut marked = Vec::new();
        for marker in search.markers {
            let name = marker::marker_name(marker);
            let found = search.vault.get(&name).await?.map(Zeroizing::new);
            if found.is_some() {
                marked.push(Marked::named(&marker.resource, name.clone(), Some(name)));
            }
        }
        Ok(marked)
    }
}
