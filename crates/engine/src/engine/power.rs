//! Servers as the cloud has them now, and their power state.
//!
//! A template has no word for the power state. So starting and stopping is no run: it is one call to Nova, and a check
//! finds a stopped server as one that was changed in the cloud, which a repair starts.

use std::collections::BTreeMap;

use api::{LiveServer, PowerAction};
use openstack::compute::Server;
use tokio::time::timeout;
use types::SERVER;

use super::{Engine, terminals::terminal_obstacle};
use crate::{Actor, Error, Result, resources::ResourceTable, run::parameters, secrets::attributes};

impl Engine {
    /// The servers of a deployment, by name, with their present state in the cloud.
    ///
    /// The time limit of the cloud's answer begins when the request has one of the project's slots.
    ///
    /// # Errors
    /// If there is no such deployment, no slot becomes free in time, or the cloud does not answer in time.
    pub async fn live_servers(&self, actor: &Actor, deployment: &str) -> Result<Vec<LiveServer>> {
        let deployed = self.deployment_row(&actor.tenant, deployment).await?;
        let store = &self.core.store;
        let rows = store.resource_list(&actor.tenant, deployment).await?;
        let servers = rows.iter().filter(|row| row.spec.resource_type == SERVER);
        let ids: BTreeMap<String, String> = servers
            .filter_map(|row| Some((row.name.clone(), row.physical_id.clone()?)))
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        // One call, however many servers there are.
        let compute = actor.session.compute();
        let config = &self.core.config;
        let turn = self.core.page_requests.turn(&actor.tenant);
        let turn = timeout(config.slot_patience(), turn).await.map_err(|_| {
            let why = "the cloud was not asked for its servers, because other requests of the project take too long";
            Error::Unavailable(why.to_owned())
        })?;
        let listed = timeout(config.read_patience, compute.server_list(&[])).await;
        drop(turn);
        let listed = listed.map_err(|_| {
            Error::Unavailable("the cloud does not list its servers in time".to_owned())
        })??;
        let found: BTreeMap<&str, &Server> = listed
            .iter()
            .map(|server| (server.id.as_str(), server))
            .collect();
        let known = ResourceTable::of(attributes::open(&self.core.keys, deployment, rows));
        let values = parameters(&deployed, &Default::default());
        let scope = known.scope(&values);
        let shown = ids.into_iter().map(|(name, id)| LiveServer {
            no_terminal: terminal_obstacle(&known, &scope, &name),
            ..shown(name, found.get(id.as_str()).copied())
        });
        Ok(shown.collect())
    }

    /// Starts, stops or reboots a server. Returns when the cloud has accepted it.
    ///
    /// # Errors
    /// If a run is active on the deployment, there is no such server, or it is in a state that forbids it.
    pub async fn server_power(
        &self,
        actor: &Actor,
        deployment: &str,
        server: &str,
        action: PowerAction,
    ) -> Result<()> {
        let id = self.server_id(actor, deployment, server).await?;
        let _turn = self.core.page_requests.turn(&actor.tenant).await;
        // A run relies on the servers that it reaches.
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        self.check_idle(&row).await?;
        self.check_not_suspended(&row).await?;
        let compute = actor.session.compute();
        let request = async {
            match action {
                PowerAction::Start => compute.server_set_power(&id, "os-start").await,
                PowerAction::Stop => compute.server_set_power(&id, "os-stop").await,
                PowerAction::Reboot => compute.server_reboot(&id).await,
            }
        };
        // Without a lease, another server may have begun a run meanwhile.
        let tenure = self.core.lease.tenure();
        match openstack::while_permitted(tenure, request).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_conflict() => Err(Error::NotPossibleNow(format!(
                "`{server}` is in another state in the cloud: {error}"
            ))),
            Err(error) if error.status() == Some(404) => Err(Error::NotPossibleNow(format!(
                "`{server}` is gone from the cloud; update the deployment to create it again"
            ))),
            Err(error) => Err(Error::Cloud(error)),
        }
    }
}

fn shown(name: String, server: Option<&Server>) -> LiveServer {
    let Some(server) = server else {
        return LiveServer {
            name,
            status: None,
            task: None,
            addresses: Vec::new(),
            fault: None,
            no_terminal: None,
        };
    };
    let mut addresses: Vec<_> = server.addresses.values().flatten().collect();
    addresses.sort_by_key(|address| address.kind == "floating");
    LiveServer {
        name,
        status: Some(server.status.clone()),
        task: server.task_state.clone(),
        addresses: addresses
            .into_iter()
            .map(|address| address.addr.clone())
            .collect(),
        fault: server.fault.as_ref().map(|fault| fault.message.clone()),
        no_terminal: None,
    }
}
