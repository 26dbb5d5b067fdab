//! Removals of components whose server stays: the tasks that the item brings for it run on the server.

use api::ResourceState;
use planner::workflow::ResourceSpec;

use super::{
    ansible::{self, Tasks},
    execution::ended_badly,
    step::{Attempt, StepResult},
};

impl Attempt {
    /// Removes a component's software from its server, if the server stays and the item has removal tasks.
    pub(super) async fn remove_component(&self, name: &str, spec: &ResourceSpec) -> StepResult {
        let item = self.run_context.catalog.of_type(&spec.resource_type);
        let Some(item) = item.filter(|item| item.described.removes).cloned() else {
            let message =
                format!("`{name}` stays installed on its server until the server is deleted");
            self.log.warn(message).await;
            return Ok(());
        };
        let work = self.recorded_input(name, spec.clone());
        if !self.is_led_to_server(spec, work.properties.get("host")) {
            let message = format!(
                "`{name}` is not removed from its server, because the server is deleted too"
            );
            self.log.info(message).await;
            return Ok(());
        }
        let host = self.host(spec)?;
        let mut given = work.properties;
        for input in item.described.inputs.iter().filter(|input| input.secret) {
            if let Some(value) = given.get(&input.name) {
                self.run_context.mask.add_value(value);
            }
        }
        given.retain(|name, _| item.described.inputs.iter().any(|one| one.name == *name));
        // Connected components can be gone, and a removal does not need them.
        let mut alone = spec.clone();
        alone
            .properties
            .retain(|name, _| !item.described.is_from_connections(name));
        let (mut files, route, private_key) = self
            .role_on_host((name, &alone), &item, &given, Tasks::REMOVAL)
            .await?;
        if self.was_interrupted {
            files.extend([ansible::interruption()]);
        }
        let detached = self.detach(name, &route, &private_key).await?;
        self.log
            .info(format!("Removing `{name}` from `{host}`"))
            .await;
        let job = self.job(
            files,
            ansible::playbook_command(),
            (route, private_key),
            detached.as_ref(),
        );
        let output = self.in_sandbox(&job, &|_| false, detached).await?;
        if output.code == 0 {
            return Ok(());
        }
        self.note_state(name, ResourceState::Failed).await?;
        let why = output.failure.as_deref();
        Err(ended_badly(&host, output.code, why))
    }

    /// True if the plan leads to the server of software that it removes, and the server is the one that the software was
    /// set up on.
    pub(super) fn is_led_to_server(
        &self,
        spec: &ResourceSpec,
        set_up_on: Option<&serde_json::Value>,
    ) -> bool {
        let server = spec.host().unwrap_or_default();
        let is_connected = self.step.after.contains(&format!("{server}:ssh"));
        let there = self.run_context.known.get(server);
        let reference = there.and_then(|server| server.reference);
        is_connected && reference.as_ref() == set_up_on
    }
}
