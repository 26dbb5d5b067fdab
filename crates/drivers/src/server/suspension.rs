//! The suspension of a server with its deployment: Nova writes its memory to the disk of its host, and back.

use async_trait::async_trait;
use openstack::{compute::Server as Found, server_actions::ActionOutcome};

use super::super::nova_requests::{outcome, reason};
use super::{Server, is_deleted};
use crate::driver::{Context, DriverError, Suspend, Suspension};

const ACTIVE: &str = "ACTIVE";
const SUSPENDED: &str = "SUSPENDED";

/// One of the two ways.
struct Way {
    /// The action of Nova.
    action: &'static str,
    from: &'static str,
    to: &'static str,
    /// Participle for users, as in "the server is being ...".
    under_way: &'static str,
}

const SUSPEND: Way = Way {
    action: "suspend",
    from: ACTIVE,
    to: SUSPENDED,
    under_way: "suspended",
};

const RESUME: Way = Way {
    action: "resume",
    from: SUSPENDED,
    to: ACTIVE,
    under_way: "resumed",
};

#[async_trait]
impl Suspend for Server {
    async fn suspend(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Suspension, DriverError> {
        SUSPEND.go(context, physical_id).await
    }

    async fn resume(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Suspension, DriverError> {
        RESUME.go(context, physical_id).await
    }
}

impl Way {
    async fn go(&self, context: &Context<'_>, id: &str) -> Result<Suspension, DriverError> {
        let found = context.session.poller().server(id).await?;
        let Some(server) = found.filter(|server| !is_deleted(server)) else {
            return Ok(gone());
        };
        if server.task_state.is_some() {
            return Ok(self.under_way());
        }
        match server.status.as_str() {
            status if status == self.to => return Ok(Suspension::Done),
            status if status == self.from => {}
            status => return Ok(Suspension::NotPossible(format!("it is {status}"))),
        }
        if let Some(request) = context.accepted.newest(self.action, id) {
            let outcome = outcome(context, id, &request).await?;
            // The record of the request can be a moment ahead of the server.
            if outcome == ActionOutcome::UnderWay || request.may_be_settling() {
                return Ok(self.under_way());
            }
            return Ok(Suspension::Refused(
                self.refusal(&server, &reason(&outcome, id, &request)),
            ));
        }
        match context
            .session
            .compute()
            .server_set_power(id, self.action)
            .await
        {
            Ok(request) => context.accepted.note(self.action, id, request),
            Err(error) if error.is_not_found() => return Ok(gone()),
            Err(error) => return Err(error.into()),
        }
        Ok(self.under_way())
    }

    fn under_way(&self) -> Suspension {
        Suspension::UnderWay(format!("the server is being {}", self.under_way))
    }

    fn refusal(&self, server: &Found, why: &str) -> String {
        format!(
            "was not {}: {why}. It is still {}",
            self.under_way, server.status
        )
    }
}

fn gone() -> Suspension {
    Suspension::NotPossible("it is gone from the cloud".to_owned())
}
