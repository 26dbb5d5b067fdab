//! Checks of the cloud, the database and the API at the end of each run.

use std::collections::BTreeSet;

use serde_json::Value;
use store::SealedKind;

use super::{
    Scene, snapshots,
    template::{ALL_SERVERS, SERVERS},
};
use crate::text;

impl Scene {
    /// The run, which has succeeded.
    pub(super) async fn succeeded(&self, run: &str, label: &str) -> Value {
        let ended = self.program.get(&format!("/api/v1/runs/{run}")).await;
        assert_eq!(ended["state"], "succeeded", "{label}: {ended:#}");
        ended
    }

    /// The kinds of the project's resources in the cloud, one per resource.
    pub(super) fn kinds(&self) -> Vec<String> {
        let left = self.left();
        let mut kinds: Vec<String> = left
            .iter()
            .filter_map(|one| one.split(' ').next())
            .map(str::to_owned)
            .collect();
        kinds.sort_unstable();
        kinds
    }

    pub(super) fn left(&self) -> Vec<String> {
        self.lab.leftovers().remove("demo").unwrap_or_default()
    }

    /// Number of servers of which only the host key is pinned that they made themselves.
    pub(super) fn own_host_keys(&self) -> usize {
        // While both keys are pinned, there is a comma between them.
        let is_own = |value: &String| value.ends_with(" own") && !value.contains(',');
        self.lab.model(|model| {
            let servers = model.servers.iter();
            servers
                .filter(|server| server.metadata.values().any(is_own))
                .count()
        })
    }

    /// Checks that a run has succeeded, and that it left what is deployed and nothing else.
    pub(super) async fn all_is_there_once(&self, run: &str, label: &str) {
        self.are_there_once(&self.kinds, run, label).await;
    }

    /// Checks that a run has succeeded, and that it left resources of these kinds and nothing else.
    pub(super) async fn are_there_once(&self, kinds: &[String], run: &str, label: &str) {
        self.succeeded(run, label).await;
        assert_eq!(self.kinds(), kinds, "{label}: {:?}", self.left());
        let tokens = self.program.sealed(SealedKind::Run).await;
        assert_eq!(tokens, 0, "{label}: the token is left in the database");
        assert!(self.own_host_keys() >= 2, "{label}: of app and web0");
    }

    /// Checks that all servers have this state in the cloud.
    pub(super) async fn servers_are(&self, started: &Value, state: &str, label: &str) {
        let path = format!(
            "/api/v1/deployments/{}/servers",
            text(started, "deployment")
        );
        let servers = self.program.get(&path).await;
        let servers = servers.as_array().unwrap();
        assert_eq!(servers.len(), ALL_SERVERS, "{label}: {servers:#?}");
        let is_so = servers.iter().all(|server| server["status"] == state);
        assert!(is_so, "{label}: not all are {state}: {servers:#?}");
    }

    /// Checks that the run of a snapshot has succeeded, and that there is one image of each server, one snapshot of each volume
    /// and nothing else that is new.
    pub(super) async fn is_taken_once(&self, started: &Value, snapshot: &str, label: &str) {
        self.succeeded(snapshot, label).await;
        let all = self.program.get(&snapshots(started)).await;
        let mut all = all.as_array().unwrap().iter();
        let taken = all.find(|one| one["id"] == snapshot).unwrap();
        let parts = taken["parts"].as_array().unwrap().iter();
        let ids: BTreeSet<&str> = parts
            .map(|part| part["snapshot_id"].as_str().unwrap())
            .collect();
        let new = [["image"; ALL_SERVERS].as_slice(), &["snapshot"; SERVERS]].concat();
        assert_eq!(ids.len(), new.len(), "{label}: {taken:#}");
        let mut expected = self.kinds.clone();
        expected.extend(new.into_iter().map(str::to_owned));
        expected.sort_unstable();
        assert_eq!(self.kinds(), expected, "{label}: {:?}", self.left());
    }

    pub(super) async fn nothing_is_left(&self, label: &str) {
        assert_eq!(self.left(), Vec::<String>::new(), "{label}");
        for kind in [SealedKind::Run, SealedKind::Vault] {
            let sealed = self.program.sealed(kind).await;
            assert_eq!(sealed, 0, "{label}: {kind:?} is left in the database");
        }
    }
}

/// Fails unless a run has these steps.
pub(super) fn has_steps(run: &Value, ids: &[&str]) {
    let steps = run["steps"].as_array().unwrap();
    for id in ids {
        let has_it = steps.iter().any(|step| step["id"] == *id);
        assert!(has_it, "no {id}: {steps:#?}");
    }
}
