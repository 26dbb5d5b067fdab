//! How much a project may have of Nova's and Cinder's things, as administrators set it. Both say it alike.
//! Source: Compute API and Block Storage API v3, "Quota sets".

use reqwest::Method;
use serde_json::json;

use crate::collection::Record;
use crate::{Error, Service, Session};

/// Calls about a service's limits.
pub struct QuotaSets<'a> {
    session: &'a Session,
    service: Service,
}

impl Session {
    /// The limits of Nova or Cinder.
    pub fn quota_sets(&self, service: Service) -> QuotaSets<'_> {
        QuotaSets {
            session: self,
            service,
        }
    }
}

impl QuotaSets<'_> {
    fn call(&self, method: Method, project: &str) -> crate::session::Call<'_> {
        let path = ["os-quota-sets", project];
        self.session.call(self.service, method, &path)
    }

    /// A project's limits, its own and the usual ones.
    pub async fn get(&self, project: &str) -> Result<Record, Error> {
        self.call(Method::GET, project).fetch("quota_set").await
    }

    /// Set some limits of a project; -1 is none.
    pub async fn set(&self, project: &str, limits: &Record) -> Result<(), Error> {
        let call = self.call(Method::PUT, project);
        call.json(&json!({"quota_set": limits}))
            .send()
            .await
            .map(drop)
    }

    /// Give a project the usual limits again.
    pub async fn reset(&self, project: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, project);
        call.send().await.map(drop)
    }
}
