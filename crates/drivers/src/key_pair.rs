//! `OS::Nova::KeyPair`: a user's own key for logins to servers. Source: Compute API, "Keypairs".
//!
//! It belongs to a user, and its only field for a marker is the name, so the name is its identity: an existing key pair
//! with the same public key was created by an earlier attempt. Nova generated key pairs until microversion 2.92. Now
//! the driver generates the pair, and stores the private key in the vault if the template requests it.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::marker::MarkerIndex;
use super::properties::Properties;
use super::{keys, marker};
use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, ListMarked, Marked, OnDemand, Progress,
    Ready, Search,
};

pub(super) struct KeyPair;

#[async_trait]
impl Driver for KeyPair {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            on_demand: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let properties = Properties::of(context.properties);
        let name = name(context)?;
        let given = properties.filled("public_key")?;
        let is_saved = properties.boolean("save_private_key")? == Some(true);
        // The private key is unused, so a key pair of an earlier attempt serves as well.
        let any_will_do =
            given.is_none() && !is_saved && name == marker::marker_name(context.marker);
        let public = match given {
            Some(public) => public.trim().to_string(),
            None => own_key(context, is_saved).await?,
        };
        let compute = context.session.compute();
        match compute.key_pair_create(&name, &public).await {
            Ok(made) => Ok(made.name),
            Err(error) if error.is_conflict() => {
                let found = compute.key_pair_get(&name).await?;
                if any_will_do || same_key(&found.public_key, &public) {
                    Ok(found.name)
                } else {
                    Err(properties.wrong(
                        "name",
                        format!("you have another key pair named `{name}` already; choose another name or remove that one"),
                    ))
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        match context.session.compute().key_pair_get(physical_id).await {
            Ok(found) => {
                let mut attributes = Map::new();
                attributes.insert("public_key".into(), found.public_key.as_str().into());
                attributes.insert(
                    "show".into(),
                    serde_json::to_value(&found).unwrap_or(Value::Null),
                );
                Ok(Progress::Ready(Ready {
                    reference: json!(physical_id),
                    attributes,
                }))
            }
            Err(error) if error.is_not_found() => {
                Ok(Progress::Failed("the key pair is gone".into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        context
            .vault
            .delete(&marker::marker_name(context.marker))
            .await?;
        // Without an id, a key pair is ours only if its name is the marker.
        let ours = marker::marker_name(context.marker);
        let id = physical_id.unwrap_or(&ours);
        super::record::done_if_gone(context.session.compute().key_pair_delete(id).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        match context.session.compute().key_pair_get(physical_id).await {
            Ok(_) => Ok(false),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl OnDemand for KeyPair {
    /// The private key is stored in the vault only.
    fn names(&self) -> &'static [&'static str] {
        &["private_key"]
    }

    /// Empty, as in Heat, if the public key was given or the private key was not saved.
    async fn read(
        &self,
        context: &Context<'_>,
        _physical_id: &str,
        _names: &[&str],
    ) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let is_ours = properties.filled("public_key")?.is_none()
            && properties.boolean("save_private_key")? == Some(true);
        let private = if is_ours {
            context
                .vault
                .get(&marker::marker_name(context.marker))
                .await?
        } else {
            None
        };
        let private = private.unwrap_or_default();
        Ok(Map::from_iter([("private_key".to_owned(), private.into())]))
    }
}

#[async_trait]
impl ListMarked for KeyPair {
    /// Names from the template are no markers. Such a name is unique, and a second request is refused.
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = MarkerIndex::of(search, marker::marker_name);
        let all = search.session.compute().key_pair_list().await?;
        let marked = all.into_iter().filter_map(|pair| {
            let resource = marks.equal(&pair.name)?;
            Some(Marked::named(resource, pair.name.clone(), Some(pair.name)))
        });
        Ok(marked.collect())
    }
}

fn name(context: &Context<'_>) -> Result<String, DriverError> {
    let given = Properties::of(context.properties).filled("name")?;
    Ok(given.unwrap_or_else(|| marker::marker_name(context.marker)))
}

/// The public key of a generated pair. After a crash, the pair in the vault is used again.
async fn own_key(context: &Context<'_>, save: bool) -> Result<String, DriverError> {
    let store = marker::marker_name(context.marker);
    if let Some(private) = context.vault.get(&store).await?.map(Zeroizing::new) {
        return keys::public_of(&private);
    }
    let pair = keys::make(&context.marker.resource)?;
    if save {
        context.vault.put(&store, &pair.private).await?;
    }
    Ok(pair.public)
}

/// Whether two public keys are equal, ignoring their comments.
fn same_key(one: &str, other: &str) -> bool {
    let essence = |key: &str| {
        key.split_whitespace()
            .take(2)
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    essence(one) == essence(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_make_another_key() {
        assert!(same_key("ssh-ed25519 AAAA me@here", "ssh-ed25519 AAAA\n"));
        assert!(!same_key("ssh-ed25519 AAAA me", "ssh-ed25519 BBBB me"));
    }
}
