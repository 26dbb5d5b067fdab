//! What joins things that are there and has nothing of its own: roles that somebody has somewhere, types of volumes that have a
//! quality of service.
//!
//! There is no place for a mark, and to join twice changes nothing. So the id says all that is joined. Making one only looks: what is
//! joined already is somebody else's, is left out of the id, and stays when this one goes. The rest is joined once the
//! journal has the id, so at no moment is there something of ours that nobody knows of. A change unties first what is not said
//! any more; by then the id says all that any attempt may have joined.

use async_trait::async_trait;
use serde_json::Map;

use super::record::done_if_gone;
use crate::driver::{Context, Driver, DriverError, Duplicates, Progress, Ready};

/// What a type says of itself. A tie is a text that names both ends by id, without commas.
#[async_trait]
pub(super) trait Ties: Send + Sync {
    /// For people: `role`.
    const TITLE: &'static str;

    /// What the properties say.
    async fn wanted(&self, context: &Context<'_>) -> Result<Vec<String>, DriverError>;

    /// Whether it is joined, whoever did that; not where one of the ends is gone.
    async fn is_tied(&self, context: &Context<'_>, tie: &str) -> Result<bool, openstack::Error>;

    /// Joins. One of the ends gone is an error of status 404.
    async fn tie(&self, context: &Context<'_>, tie: &str) -> Result<(), openstack::Error>;

    /// Parts. Not joined is fine, or an error of status 404.
    async fn untie(&self, context: &Context<'_>, tie: &str) -> Result<(), openstack::Error>;
}

/// The driver of such a type.
pub(super) struct Tied<T>(pub(super) T);

impl<T: Ties> Tied<T> {
    /// Of what shall be joined, that which is ours: it was before, or nobody has done it.
    async fn ours(&self, context: &Context<'_>, before: &[&str]) -> Result<String, DriverError> {
        let mut ours: Vec<String> = Vec::new();
        for tie in self.0.wanted(context).await? {
            let is_ours = before.contains(&tie.as_str()) || !self.0.is_tied(context, &tie).await?;
            if is_ours && !ours.contains(&tie) {
                ours.push(tie);
            }
        }
        Ok(id(&ours))
    }

    async fn untie_all(&self, context: &Context<'_>, ties: &[&str]) -> Result<(), DriverError> {
        for tie in ties {
            done_if_gone(self.0.untie(context, tie).await)?;
        }
        Ok(())
    }
}

#[async_trait]
impl<T: Ties> Driver for Tied<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        self.ours(context, &[]).await
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        for tie in parse(physical_id) {
            match self.0.tie(context, tie).await {
                Err(error) if error.is_not_found() => {
                    let why = format!("what a {} joins is gone: {error}", T::TITLE);
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

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let wanted = self.0.wanted(context).await?;
        let mut leaving = parse(physical_id);
        leaving.retain(|tie| !wanted.iter().any(|one| one == tie));
        self.untie_all(context, &leaving).await
    }

    async fn id_after_update(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<String, DriverError> {
        self.ours(context, &parse(physical_id)).await
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        match physical_id {
            Some(id) => self.untie_all(context, &parse(id)).await,
            // Without an id, nothing was ever joined.
            None => Ok(()),
        }
    }

    async fn is_gone(&self, _: &Context<'_>, _: &str) -> Result<bool, DriverError> {
        Ok(true)
    }
}

/// Of one that joins nothing, since all of it was joined before.
const NOTHING: &str = "-";

fn id(ties: &[String]) -> String {
    match ties.is_empty() {
        true => NOTHING.to_owned(),
        false => ties.join(","),
    }
}

fn parse(id: &str) -> Vec<&str> {
    id.split(',').filter(|tie| *tie != NOTHING).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_all_ties() {
        let ties = ["a/b".to_owned(), "a/c".to_owned()];
        assert_eq!(parse(&id(&ties)), ["a/b", "a/c"]);
        assert_eq!(parse(&id(&[])), Vec::<&str>::new());
    }
}
