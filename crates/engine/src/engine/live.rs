//! Resources as the cloud has them now: their status, addresses and attachments.
//!
//! A type takes part if its description has a `live` block. The resources of a type are read together, and a type of
//! which the deployment has none costs no request.

use std::collections::{BTreeMap, HashMap};

use api::{FailedService, LiveResource, LiveResources};
use drivers::{LiveState, live_lists};
use tokio::time::timeout;

use super::Engine;
use crate::{Actor, Error, Result};

impl Engine {
    /// The resources of a deployment with a status or an address in the cloud, by name. Servers have their own list,
    /// [`Engine::live_servers`].
    ///
    /// A service that fails or does not answer in time leaves out its own resources only. The time limit of a request
    /// begins when the request has one of the project's slots.
    ///
    /// # Errors
    /// If there is no such deployment, or the cloud does not accept the session's token.
    pub async fn live_resources(&self, actor: &Actor, deployment: &str) -> Result<LiveResources> {
        self.deployment_row(&actor.tenant, deployment).await?;
        let store = &self.core.store;
        let rows = store.resource_list(&actor.tenant, deployment).await?;
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut by_type: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in &rows {
            if let Some(id) = row.physical_id.as_deref() {
                names.insert(id, &row.name);
                let ids = by_type.entry(row.spec.resource_type.as_str());
                ids.or_default().push(id);
            }
        }
        let lists = by_type.into_iter();
        let lists = lists.flat_map(|(resource_type, ids)| live_lists(resource_type, &ids));
        let share = self.core.page_requests.share(&actor.tenant);
        let patience = self.core.config.read_patience;
        let slot_patience = self.core.config.slot_patience();
        let reads: Vec<_> = lists
            .map(|list| {
                let share = share.clone();
                async move {
                    let service = list.service().as_str();
                    let Ok(_turn) = timeout(slot_patience, share.turn()).await else {
                        let why = format!(
                            "the {service} service was not asked, because other requests of the project take too long"
                        );
                        return (service, Err(why));
                    };
                    let read = timeout(patience, list.read(&actor.session)).await;
                    let late = |_| format!("the {service} service did not answer in time");
                    (service, read.map_err(late))
                }
            })
            .collect();
        let mut states: HashMap<&str, Option<LiveState>> = HashMap::new();
        let mut failed: BTreeMap<&str, String> = BTreeMap::new();
        for (service, read) in futures::future::join_all(reads).await {
            let reason = match read {
                Ok(Ok(read)) => {
                    states.extend(read);
                    continue;
                }
                Ok(Err(error)) if error.is_unauthorized() => return Err(Error::Cloud(error)),
                Ok(Err(error)) => error.to_string(),
                Err(why) => why,
            };
            failed.entry(service).or_insert(reason);
        }
        let live = rows.iter().filter_map(|row| {
            let state = states.get(row.physical_id.as_deref()?)?;
            // Lists can lack a resource that is not the deployment's own, as it can belong to another project.
            if state.is_none() && row.spec.external_id.is_some() {
                return None;
            }
            Some(live_resource(row.name.clone(), state.as_ref(), &names))
        });
        let mut resources: Vec<LiveResource> = live.collect();
        resources.sort_by(|one, other| one.name.cmp(&other.name));
        let failed = failed.into_iter().map(|(service, reason)| FailedService {
            service: service.to_owned(),
            reason,
        });
        Ok(LiveResources {
            resources,
            failed: failed.collect(),
        })
    }
}

/// A resource in its present state, `None` if it is gone. `names` has the deployment's resources by id.
fn live_resource(
    name: String,
    state: Option<&LiveState>,
    names: &HashMap<&str, &str>,
) -> LiveResource {
    let Some(state) = state else {
        return LiveResource {
            name,
            is_gone: true,
            ..LiveResource::default()
        };
    };
    let attached_to = state.attached_to.iter().map(|id| {
        let known = names.get(id.as_str()).copied();
        // A port that Nova made is no resource of the deployment: its address tells more than its id.
        let shown = known.or(state.attached_address.as_deref());
        shown.unwrap_or(id).to_owned()
    });
    LiveResource {
        attached_to: attached_to.collect(),
        name,
        is_gone: false,
        status: state.status.clone(),
        operating_status: state.operating_status.clone(),
        addresses: state.addresses.clone(),
    }
}
