//! How much a project may have of a service's things, as administrators set it. Nova and Cinder say it alike, and so do Neutron and
//! Octavia, in other words. Source: Compute API and Block Storage API v3, "Quota sets"; Networking API v2.0 and Load Balancer API v2, "Quotas".

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
    /// The limits of Nova, Cinder, Neutron or Octavia.
    pub fn quota_sets(&self, service: Service) -> QuotaSets<'_> {
        QuotaSets {
            session: self,
            service,
        }
    }
}

impl QuotaSets<'_> {
    fn call(&self, method: Method, project: &str) -> crate::session::Call<'_> {
        let path: &[&str] = match self.service {
            Service::Network => &["quotas", project],
            Service::LoadBalancer => &["lbaas", "quotas", project],
            _ => &["os-quota-sets", project],
        };
        self.session.call(self.service, method, path)
    }

    /// The word around the limits in bodies.
    fn word(&self) -> &'static str {
        match self.service {
            Service::Network | Service::LoadBalancer => "quota",
            _ => "quota_set",
        }
    }

    /// A project's limits, its own and the usual ones.
    pub async fn get(&self, project: &str) -> Result<Record, Error> {
        self.call(Method::GET, project).fetch(self.word()).await
    }

    /// Set some limits of a project; -1 is none.
    pub async fn set(&self, project: &str, limits: &Record) -> Result<(), Error> {
        let call = self.call(Method::PUT, project);
        call.json(&json!({self.word(): limits}))
            .send()
            .await
            .map(drop)
    }

    /// Give a project the usual limits again. Neutron and Octavia answer with status 404 where it had no others.
    pub async fn reset(&self, project: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, project);
        call.send().await.map(drop)
    }
}
