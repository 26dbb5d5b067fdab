//! The runs of a round: the start of each, and the actions of a user and a server during a run.

use std::convert::Infallible;

use serde_json::{Value, json};

use super::{
    HOOK, SIGNALS, Scene, WAIT, snapshots,
    template::{MEMBER, template, updated_template},
};
use crate::{LOOK_EVERY, clouds_file, demo_session, text, until};

/// Servers that are deleted behind the program's back: the private one, whose software is set up again, and one with a volume.
const DELETED: [&str; 2] = ["app", "web1"];

/// A command on a public and on a private server.
const PLAYBOOK: &str = "- hosts: all
  tasks:
    - ping:
";

impl Scene {
    pub(super) async fn deploy(&self, name: &str) -> Value {
        let files = json!({"member.yaml": MEMBER});
        let deployment = json!({"name": name, "template": template(), "files": files});
        self.program.post("/api/v1/deployments", &deployment).await
    }

    /// Begins a command. Returns the run.
    pub(super) async fn command(&self, started: &Value) -> String {
        let path = format!(
            "/api/v1/deployments/{}/command",
            text(started, "deployment")
        );
        let command = json!({"servers": ["app", "web0"], "playbook": PLAYBOOK});
        text(&self.program.post(&path, &command).await, "run")
    }

    /// Begins a suspension (`suspend`) or a resumption (`resume`). Returns the run.
    pub(super) async fn begin(&self, started: &Value, change: &str) -> String {
        let path = format!(
            "/api/v1/deployments/{}/{change}",
            text(started, "deployment")
        );
        text(&self.program.post(&path, &json!({})).await, "run")
    }

    /// Begins to give the group a size. Returns the run.
    pub(super) async fn scale(&self, started: &Value, size: usize) -> String {
        let deployment = text(started, "deployment");
        let path = format!("/api/v1/deployments/{deployment}/groups/farm/scale");
        let scaled = self.program.post(&path, &json!({"size": size})).await;
        text(&scaled, "run")
    }

    /// Deletes [`DELETED`] behind the program's back, and begins to repair what a check finds. Returns the run.
    pub(super) async fn repair(&self, started: &Value) -> String {
        let path = format!("/api/v1/deployments/{}", text(started, "deployment"));
        let shown = self.program.get(&path).await;
        let resources = shown["resources"].as_array().unwrap().iter();
        let session = Box::pin(demo_session(&clouds_file(&self.lab))).await;
        for server in resources.filter(|one| DELETED.iter().any(|name| one["name"] == *name)) {
            let id = text(server, "physical_id");
            session.compute().server_delete(&id).await.unwrap();
            let is_gone = || self.lab.model(|model| model.servers.get(&id).is_none());
            until("the server is gone", is_gone).await;
        }
        let check = format!("{path}/check");
        let check = self.program.post(&check, &json!({})).await;
        let seen = json!({"check": check["id"]});
        let repair = self.program.post(&format!("{path}/repair"), &seen).await;
        text(&repair, "run")
    }

    /// Begins an update that waits at its hook. Returns the run.
    pub(super) async fn update(&self, started: &Value) -> String {
        let hooks = "resource_registry: {resources: {wait: {hooks: pre-create}}}\n";
        let update = json!({
            "name": "updated",
            "template": updated_template(),
            "files": {"member.yaml": MEMBER, "hooks.yaml": hooks},
            "environments": ["hooks.yaml"],
        });
        let path = format!("/api/v1/deployments/{}", text(started, "deployment"));
        text(&self.program.put(&path, &update).await, "run")
    }

    /// Cancels an update that waits at its hook, and begins to roll it back. Returns the run that rolls back.
    pub(super) async fn roll_back(&self, started: &Value) -> String {
        let update = self.update(started).await;
        self.program.until_begun(&update, "hook").await;
        self.program.cancel(&update).await;
        self.program.until_over(&update).await;
        let deployment = text(started, "deployment");
        let path = format!("/api/v1/deployments/{deployment}/rollback");
        text(&self.program.post(&path, &json!({})).await, "run")
    }

    /// Begins a snapshot. Returns the run, whose id is that of the snapshot, too.
    pub(super) async fn snapshot(&self, started: &Value) -> String {
        let path = snapshots(started);
        let begun = self.program.post(&path, &json!({"name": "before"})).await;
        text(&begun, "run")
    }

    /// Begins the restoration of a snapshot. Returns the run.
    pub(super) async fn restore(&self, started: &Value, snapshot: &str) -> String {
        let path = format!("{}/{snapshot}/restore", snapshots(started));
        text(&self.program.post(&path, &json!({})).await, "run")
    }

    /// Begins to undeploy. Returns the run.
    pub(super) async fn undeploy(&self, started: &Value) -> String {
        let deployment = text(started, "deployment");
        let path = format!("/api/v1/deployments/{deployment}");
        text(&self.program.delete(&path).await, "run")
    }

    /// Awaits `wait`. Meanwhile, a user releases the run when it waits at its hook, and a server signals when it waits for a signal.
    pub(super) async fn helped<T>(&self, run: &str, wait: impl Future<Output = T>) -> T {
        tokio::select! {
            done = wait => done,
            never = Box::pin(self.release_and_signal(run)) => match never {},
        }
    }

    /// Releases the run and signals to it, whenever it waits for that.
    async fn release_and_signal(&self, run: &str) -> Infallible {
        let path = format!("/api/v1/runs/{run}");
        loop {
            let shown = self.program.get(&path).await;
            let steps = shown["steps"].as_array().unwrap().iter();
            for step in steps.filter(|step| step["state"] == "running") {
                if step["id"] == HOOK {
                    let hook = json!({"step": HOOK});
                    let status = self.program.status(&format!("{path}/release"), &hook).await;
                    // The run can have continued meanwhile.
                    assert!(matches!(status.as_u16(), 202 | 409), "{status}");
                } else if step["id"] == WAIT {
                    let address = self.signal_address(&text(&shown, "deployment")).await;
                    let signal = json!({"id": "web1"});
                    let status = self.program.status(&address, &signal).await;
                    assert!(status.is_success(), "{status}");
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Path and query of the address of signals.
    async fn signal_address(&self, deployment: &str) -> String {
        let shown = self
            .program
            .get(&format!("/api/v1/deployments/{deployment}"))
            .await;
        let output = text(&shown["outputs"]["signal"], "value");
        let signal: Value = serde_json::from_str(&output).unwrap();
        let address = text(&signal, "alarm_url");
        address.strip_prefix(SIGNALS).unwrap().to_owned()
    }
}
