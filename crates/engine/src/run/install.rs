//! Installations of components whose item can be installed alone: before the components that it requires are ready.
//!
//! The role of the configuration imports the same tasks and finds their work done. So an installation records nothing: a
//! component exists from its configuration on.

use super::{
    ansible::{self, Tasks},
    execution::ended_badly,
    step::{Attempt, StepResult},
};

impl Attempt {
    /// Installs a component's software on its server.
    pub(super) async fn install(&self) -> StepResult {
        let name = self.name()?.to_owned();
        let spec = self.spec()?;
        let item = self.item_of(&name, &spec)?;
        let host = self.host(&spec)?;
        // Values of other resources are not known yet.
        let mut alone = spec;
        alone
            .properties
            .retain(|name, value| name == "host" || value.resources().is_empty());
        let given = self.given(&alone, &item.described)?;
        let (mut files, route, private_key) = self
            .role_on_host((&name, &alone), &item, &given, Tasks::INSTALLATION)
            .await?;
        // An installation that did not end well leaves no record.
        files.extend([ansible::interruption()]);
        // The programs of the configuration have their own folder.
        let place = format!("installation of {name}");
        let detached = self.detach(&place, &route, &private_key).await?;
        self.log
            .info(format!("Installing `{name}` on `{host}`"))
            .await;
        let job = self.job(
            files,
            ansible::playbook_command(),
            (route, private_key),
            detached.as_ref(),
        );
        let output = self.in_sandbox(&job, &|_| false, detached).await?;
        match output.code {
            0 => Ok(()),
            code => Err(ended_badly(&host, code, output.failure.as_deref())),
        }
    }
}
