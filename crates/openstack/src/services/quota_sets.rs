//! Quotas of a project, set by administrators. Nova and Cinder share one format, Neutron and Octavia another. Source:
//! Compute API and Block Storage API v3, "Quota sets"; Networking API v2.0 and Load Balancer API v2, "Quotas".

use std::collections::BTreeMap;

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::collection::Record;
use super::load_balancer::OctaviaType;
use crate::wire::call::Call;
use crate::{Error, Service, Session};

/// Limit and usage of one quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Limit; negative means unlimited.
    pub limit: i64,
    /// Usage, including reservations.
    pub used: i64,
}

/// A quota with its usage, in the responses of Nova, Cinder (`in_use`) and Neutron (`used`).
#[derive(Deserialize)]
struct Detail {
    limit: i64,
    #[serde(alias = "in_use")]
    used: i64,
    #[serde(default)]
    reserved: i64,
}

/// Octavia's quotas with a list per project. Octavia does not report their usage.
const OCTAVIA_QUOTAS: [(&str, OctaviaType<'_>); 5] = [
    ("load_balancer", OctaviaType::LoadBalancer),
    ("listener", OctaviaType::Listener),
    ("pool", OctaviaType::Pool),
    ("health_monitor", OctaviaType::HealthMonitor),
    ("l7policy", OctaviaType::L7Policy),
];

/// Calls to the quotas of a service.
pub struct QuotaSets<'a> {
    session: &'a Session,
    service: Service,
}

impl Session {
    /// The quotas of Nova, Cinder, Neutron or Octavia.
    pub fn quota_sets(&self, service: Service) -> QuotaSets<'_> {
        QuotaSets {
            session: self,
            service,
        }
    }
}

impl QuotaSets<'_> {
    fn call(&self, method: Method, project: &str) -> Call<'_> {
        self.call_below(method, project, &[])
    }

    fn call_below(&self, method: Method, project: &str, below: &[&str]) -> Call<'_> {
        let path: &[&str] = match self.service {
            Service::Network => &["quotas", project],
            Service::LoadBalancer => &["lbaas", "quotas", project],
            _ => &["os-quota-sets", project],
        };
        self.session
            .call(self.service, method, &[path, below].concat())
    }

    /// Key of the limits in bodies.
    fn body_key(&self) -> &'static str {
        match self.service {
            Service::Network | Service::LoadBalancer => "quota",
            _ => "quota_set",
        }
    }

    /// A project's limits, including defaults.
    pub async fn get(&self, project: &str) -> Result<Record, Error> {
        self.call(Method::GET, project).fetch(self.body_key()).await
    }

    /// Limit and usage of a project's quotas, by the service's names. Members can read their own project.
    ///
    /// Nova's usage of `key_pairs` is always 0, as key pairs belong to users. Octavia's quotas that need a call per
    /// pool or policy are left out.
    ///
    /// # Errors
    /// The service is unreachable or refuses.
    pub async fn usage(&self, project: &str) -> Result<BTreeMap<String, Quota>, Error> {
        let call = match self.service {
            Service::LoadBalancer => return self.octavia_usage(project).await,
            Service::Network => self.call_below(Method::GET, project, &["details.json"]),
            Service::Compute => self.call_below(Method::GET, project, &["detail"]),
            _ => self.call(Method::GET, project).query([("usage", "true")]),
        };
        let details: Record = call.fetch(self.body_key()).await?;
        let usage = details.into_iter().filter_map(|(name, value)| {
            let detail: Detail = serde_json::from_value(value).ok()?;
            let quota = Quota {
                limit: detail.limit,
                used: detail.used + detail.reserved,
            };
            Some((name, quota))
        });
        Ok(usage.collect())
    }

    /// Counts the resources of each quota of Octavia.
    async fn octavia_usage(&self, project: &str) -> Result<BTreeMap<String, Quota>, Error> {
        let limits = self.get(project).await?;
        let mut usage = BTreeMap::new();
        for (name, kind) in OCTAVIA_QUOTAS {
            let Some(limit) = limits.get(name).and_then(serde_json::Value::as_i64) else {
                continue;
            };
            let used = if limit < 0 {
                0
            } else {
                let mine = [("project_id", project)];
                let all = self.session.load_balancer().list(kind, &mine).await?;
                i64::try_from(all.len()).unwrap_or(i64::MAX)
            };
            usage.insert(name.to_owned(), Quota { limit, used });
        }
        Ok(usage)
    }

    /// Sets some limits of a project; -1 means unlimited.
    pub async fn set(&self, project: &str, limits: &Record) -> Result<(), Error> {
        let call = self.call(Method::PUT, project);
        call.json(&json!({self.body_key(): limits}))
            .send()
            .await
            .map(drop)
    }

    /// Resets a project's limits to the defaults. Neutron and Octavia answer 404 if the project has the defaults
    /// already.
    pub async fn reset(&self, project: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, project);
        call.send().await.map(drop)
    }
}
