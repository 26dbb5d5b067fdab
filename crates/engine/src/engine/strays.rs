//! Strays: resources in the cloud that belong to a deployment and are not in the journal.

use api::Stray;

use super::Engine;
use crate::{
    Actor, Error, Result,
    run::strays::{StrayVerdict, WithoutId, classify, search},
};
use drivers::DriverError;

impl Engine {
    pub(super) async fn find_strays(&self, actor: &Actor, id: &str) -> Result<Vec<Stray>> {
        let row = self.deployment_row(&actor.tenant, id).await?;
        let creations = self.core.store.creation_list(&actor.tenant, id).await?;
        let vault = self.vault(actor);
        let _turn = self.core.page_requests.turn(&actor.tenant).await;
        let named = (id, row.shown.name.as_str());
        let searched = search(&actor.session, &vault, named, creations.iter()).await;
        let searched = searched.map_err(|error| match error {
            DriverError::Cloud(error) => Error::Cloud(error),
            other => Error::Unavailable(format!("the cloud cannot be searched: {other}")),
        })?;
        for unlisted in &searched.unlisted {
            tracing::warn!(unlisted, "a type cannot be searched for strays");
        }
        let ids: Vec<String> = searched
            .found
            .iter()
            .map(|found| found.physical_id.clone())
            .collect();
        let operator = &self.core.operator;
        let now = operator.creations_now(&actor.tenant, id, &ids).await?;
        let horizon = self.core.config.commit_horizon;
        let verdicts = classify(&searched.found, &now, WithoutId::KeepAll, horizon);
        let strays = searched.found.into_iter().zip(verdicts);
        Ok(strays
            .filter_map(|(found, verdict)| {
                let why_kept = match verdict {
                    StrayVerdict::NotStray => return None,
                    StrayVerdict::Remove => None,
                    StrayVerdict::Keep(why) => Some(why.text().to_owned()),
                };
                Some(Stray {
                    resource_type: found.key.resource_type,
                    physical_id: found.physical_id,
                    name: found.name,
                    resource: found.key.name,
                    why_kept,
                })
            })
            .collect())
    }
}
