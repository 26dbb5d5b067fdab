//! The start-up pass over sealed values: each opens with a key of the server, and is sealed with the newest one.

use super::{Engine, terminals};
use crate::{
    Error, Result,
    secrets::{attributes, permission_purpose, run_purpose},
};

impl Engine {
    /// Seals with the newest key what an older one has sealed.
    ///
    /// # Errors
    /// If something is sealed with a key that the server does not have, unless that is permitted.
    pub(super) async fn reseal_all(&self) -> Result<()> {
        let (keys, operator) = (&self.core.keys, &self.core.operator);
        let (mut anew, mut lost) = (0_usize, 0_usize);
        for sealed in operator.sealed_list_runs().await? {
            match keys.reseal(&run_purpose(&sealed.run), &sealed.text) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    operator.sealed_replace(&sealed, &text).await?;
                    anew += 1;
                }
                Err(_unsealable) => lost += 1,
            }
        }
        for terminal in operator.bastion_list_sealed().await? {
            match keys.reseal(&terminals::purpose(&terminal.id), &terminal.sealed) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    operator.bastion_replace_sealed(&terminal, &text).await?;
                    anew += 1;
                }
                Err(_unsealable) => lost += 1,
            }
        }
        for permission in operator.permission_list_sealed().await? {
            let sealed = permission.sealed.as_deref().unwrap_or_default();
            match keys.reseal(&permission_purpose(&permission.credential), sealed) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    operator
                        .permission_replace_sealed(&permission, &text)
                        .await?;
                    anew += 1;
                }
                Err(_unsealable) => lost += 1,
            }
        }
        for mut resource in operator.resource_list_sealed().await? {
            match attributes::reseal(keys, &mut resource) {
                Ok(false) => {}
                Ok(true) => {
                    operator.resource_replace_sealed(&resource).await?;
                    anew += 1;
                }
                Err(_unsealable) => lost += 1,
            }
        }
        if anew > 0 {
            tracing::info!(anew, "secrets were sealed with the newest key");
        }
        if lost == 0 {
            return Ok(());
        }
        let why = format!(
            "{lost} stored secrets of runs, terminals, permissions and resources are sealed with a key that this server does not have; it has {}. \
             Start it with their key as well (STACKLOOM_KEY_FILE). If that key is lost, start it with --despite-lost-keys: \
             runs then pause until their users log in, permissions must be given again, and secret attributes count as unknown",
            keys.ids().join(", ")
        );
        if self.core.config.despite_lost_keys {
            tracing::warn!("{why}");
            return Ok(());
        }
        Err(Error::Unavailable(why))
    }
}
