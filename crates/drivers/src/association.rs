//! Associations: types that connect resources and have no resource of their own, such as role assignments and QoS
//! associations of volume types.
//!
//! An association has no field for a marker, and adding it twice changes nothing. So the physical id lists the
//! associations. The creation only checks which associations exist: those belong to another user, are left out of the
//! id, and stay when the resource is deleted. The others are added once the journal contains the id, so every
//! association of ours is in the journal. An update first removes the associations that are no longer wanted; by then
//! the id contains all that any attempt can have added.
//!
//! The types are code instead of data: each service has its own calls for them (the path of a role assignment has four
//! ids, Cinder makes changes with `GET`), and there are only three types.

use async_trait::async_trait;
use serde_json::Map;

use super::record::done_if_gone;
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Ready, Update};

/// The calls of a type. An association is a text with the ids of both ends, without commas.
#[async_trait]
pub(super) trait Associations: Send + Sync {
    /// The name of the association in messages: `role`.
    const TITLE: &'static str;

    /// The associations that the properties describe.
    async fn wanted(&self, context: &Context<'_>) -> Result<Vec<String>, DriverError>;

    /// Whether an association exists, from any source. `false` if one of its ends is missing.
    async fn exists(
        &self,
        context: &Context<'_>,
        association: &str,
    ) -> Result<bool, openstack::Error>;

    /// Adds an association. If one of its ends is missing, the error has status 404.
    async fn add(&self, context: &Context<'_>, association: &str) -> Result<(), openstack::Error>;

    /// Removes an association. A missing association is success, or an error of status 404.
    async fn remove(
        &self,
        context: &Context<'_>,
        association: &str,
    ) -> Result<(), openstack::Error>;
}

/// The driver of a type of associations.
pub(super) struct AssociationDriver<T>(pub(super) T);

impl<T: Associations> AssociationDriver<T> {
    /// The id of the wanted associations that are ours: those in the id before, and those that do not exist yet.
    async fn ours(&self, context: &Context<'_>, before: &[&str]) -> Result<String, DriverError> {
        let mut ours: Vec<String> = Vec::new();
        for association in self.0.wanted(context).await? {
            let is_ours = before.contains(&association.as_str())
                || !self.0.exists(context, &association).await?;
            if is_ours && !ours.contains(&association) {
                ours.push(association);
            }
        }
        Ok(id(&ours))
    }

    async fn remove_all(
        &self,
        context: &Context<'_>,
        associations: &[&str],
    ) -> Result<(), DriverError> {
        for association in associations {
            done_if_gone(self.0.remove(context, association).await)?;
        }
        Ok(())
    }
}

#[async_trait]
impl<T: Associations> Driver for AssociationDriver<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        self.ours(context, &[]).await
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        for association in parse(physical_id) {
            match self.0.add(context, association).await {
                Err(error) if error.is_not_found() => {
                    let why = format!("one end of the {} association is gone: {error}", T::TITLE);
                    return Ok(Progress::Failed(why));
                }
                done => done?,
            }
        }
        Ok(Progress::Ready(Ready {
            reference: physical_id.into(),
            attributes: Map::new(),
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match physical_id {
            Some(id) => self.remove_all(context, &parse(id)).await,
            // Without an id, no association was added.
            None => Ok(()),
        }
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

#[async_trait]
impl<T: Associations> Update for AssociationDriver<T> {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let wanted = self.0.wanted(context).await?;
        let mut leaving = parse(physical_id);
        leaving.retain(|association| !wanted.iter().any(|one| one == association));
        self.remove_all(context, &leaving).await
    }

    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        self.ours(context, &parse(physical_id)).await
    }
}

/// The id without associations, if all of them existed before.
const NOTHING: &str = "-";

fn id(associations: &[String]) -> String {
    if associations.is_empty() {
        return NOTHING.to_owned();
    }
    associations.join(",")
}

fn parse(id: &str) -> Vec<&str> {
    id.split(',')
        .filter(|association| *association != NOTHING)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_all_ties() {
        let associations = ["a/b".to_owned(), "a/c".to_owned()];
        assert_eq!(parse(&id(&associations)), ["a/b", "a/c"]);
        assert_eq!(parse(&id(&[])), Vec::<&str>::new());
    }
}
