//! The chain around a failed step: where its resource is, what came before it, and the steps that did not start because of
//! it. Pure.

use std::collections::HashSet;

use api::{DeployedResource, RunStep, StepKind, StepState};

use super::model::Model;

/// The chain around a failed step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// Names from the template down to the resource. More than one in a nested template or a group.
    pub path: Vec<String>,
    /// Number of steps that it waited for.
    pub waited: usize,
    /// Number of those that succeeded. Fewer only in a run that continues after failures.
    pub done: usize,
    /// Ids of the skipped steps that wait for it, directly or through others, in the workflow's order.
    pub skipped: Vec<String>,
    /// Number of other skipped steps.
    pub others: usize,
}

impl Chain {
    /// The chain around the step `id`. `None` if there is no such step.
    pub fn around(model: &Model, id: &str) -> Option<Chain> {
        let failed = model.step(id)?;
        let mut behind = HashSet::from([id]);
        let mut chain = Chain::default();
        // A step comes after all steps that it waits for.
        for step in &model.run.steps {
            let is_behind = step.after.iter().any(|before| behind.contains(&**before));
            if is_behind {
                behind.insert(&step.id);
            }
            match step.state {
                StepState::Skipped if is_behind => chain.skipped.push(step.id.clone()),
                StepState::Skipped => chain.others += 1,
                _ => {}
            }
        }
        let before = failed.after.iter().filter_map(|id| model.step(id));
        let done = before.filter(|step| step.state == StepState::Succeeded);
        chain.done = done.count();
        chain.waited = failed.after.len();
        let resource = failed.resource.iter();
        chain.path = resource
            .flat_map(|name| name.split('/').map(str::to_owned))
            .collect();
        Some(chain)
    }
}

/// Name of the server that a step works on and that exists in the cloud: its own resource, or the server whose login it
/// waited for.
pub fn server_of(model: &Model, step: &RunStep, resources: &[DeployedResource]) -> Option<String> {
    let before = step.after.iter().filter_map(|id| model.step(id));
    let logins = before.filter(|before| before.kind == StepKind::WaitForSsh);
    let names = std::iter::once(step).chain(logins);
    names
        .filter_map(|step| step.resource.as_deref())
        .find(|name| {
            resources.iter().any(|resource| {
                resource.name == *name
                    && resource.resource_type == types::SERVER
                    && resource.physical_id.is_some()
            })
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(id: &str, kind: &str, after: &[&str], state: &str) -> Value {
        let resource = id.split_once(':').map(|(resource, _)| resource);
        json!({"id": id, "kind": kind, "resource": resource, "state": state, "after": after, "attempts": 1,
            "started": null, "ended": null, "error": null})
    }

    fn model() -> Model {
        let run = json!({
            "id": "r", "deployment": "d", "kind": "deploy", "state": "failed", "author": "demo",
            "created": "2026-01-01T00:00:00Z", "started": null, "ended": null,
            "steps": [
                step("net:create", "create", &[], "succeeded"),
                step("web:create", "create", &["net:create"], "succeeded"),
                step("web:ssh", "wait_for_ssh", &["web:create"], "succeeded"),
                step("site/web/nginx:configure", "configure", &["web:ssh"], "failed"),
                step("proxy:configure", "configure", &["site/web/nginx:configure"], "skipped"),
                step("check:configure", "configure", &["proxy:configure"], "skipped"),
                step("disk:create", "create", &[], "skipped"),
            ],
        });
        Model::new(serde_json::from_value(run).unwrap())
    }

    #[test]
    fn steps_behind_the_failed_one_are_told_from_others() {
        let chain = Chain::around(&model(), "site/web/nginx:configure").unwrap();
        assert_eq!(chain.path, ["site", "web", "nginx"]);
        assert_eq!(chain.skipped, ["proxy:configure", "check:configure"]);
        assert_eq!((chain.waited, chain.done, chain.others), (1, 1, 1));
        assert_eq!(Chain::around(&model(), "no-such-step"), None);
    }

    #[test]
    fn software_has_the_console_of_its_server() {
        let resource = |name: &str, id: Option<&str>| json!({"name": name, "type": "OS::Nova::Server", "physical_id": id, "state": "ready", "derived": false});
        let of = |id: &str, resources: &[Value]| {
            let model = model();
            let resources: Vec<DeployedResource> =
                serde_json::from_value(json!(resources)).unwrap();
            server_of(&model, model.step(id).unwrap(), &resources)
        };
        let web = [resource("web", Some("7f"))];
        assert_eq!(of("site/web/nginx:configure", &web).as_deref(), Some("web"));
        assert_eq!(of("web:create", &web).as_deref(), Some("web"));
        assert_eq!(of("net:create", &web), None);
        assert_eq!(of("web:create", &[resource("web", None)]), None);
    }
}
