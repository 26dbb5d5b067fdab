//! One user in one project of one cloud: the token and the endpoints of the services.
//!
//! A session never renews itself, as Stackloom stores no password. After the token's expiry, calls fail with
//! [`Error::is_unauthorized`], and the engine pauses until the user logs in again.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use reqwest::{Method, Url};
use serde::{Deserialize, Deserializer, de};

use super::catalog::Catalog;
use super::config::CloudConfig;
use super::extensions::Extensions;
use crate::wire::call::{Call, Caller, segments};
use crate::wire::endpoint::Microversion;
use crate::wire::transport::{Outgoing, Transport};
use crate::{ConfigError, Error, Secret, Service};

/// A login. Clones share the token and the caches.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cloud: CloudConfig,
    transport: Arc<Transport>,
    identity: Url,
    token: Secret,
    info: TokenInfo,
    /// Start of the session, by the cloud's clock.
    started_at: Timestamp,
    extensions: Extensions,
}

/// Contents of a token, as returned by Keystone.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TokenInfo {
    #[serde(deserialize_with = "time_of_keystone")]
    expires_at: Timestamp,
    user: User,
    #[serde(default)]
    project: Option<Project>,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    application_credential: Option<UsedCredential>,
    #[serde(default)]
    catalog: Catalog,
}

/// The application credential of a login.
#[derive(Clone, Debug, Deserialize)]
struct UsedCredential {
    #[serde(default)]
    restricted: bool,
}

/// A time in UTC. Keystone leaves the offset out if a token ends with its application credential.
fn time_of_keystone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let time: DateTime = text.parse().map_err(de::Error::custom)?;
    let time = time.to_zoned(TimeZone::UTC).map_err(de::Error::custom)?;
    Ok(time.timestamp())
}

impl TokenInfo {
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// The user of a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct User {
    /// Id assigned by Keystone.
    pub id: String,
    /// Name, unique in the domain.
    pub name: String,
    /// Domain of the user.
    pub domain: DomainName,
}

/// The project of the token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Project {
    /// Id assigned by Keystone.
    pub id: String,
    /// Name, unique in the domain.
    pub name: String,
    /// Domain of the project.
    pub domain: DomainName,
}

/// A domain, as tokens describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DomainName {
    /// Id assigned by Keystone.
    pub id: String,
    /// Display name.
    pub name: String,
}

/// A role of the user in the project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Role {
    /// Id assigned by Keystone.
    #[serde(default)]
    pub id: String,
    /// `reader`, `member`, `admin` ...
    pub name: String,
}

impl Session {
    pub(crate) fn new(
        cloud: CloudConfig,
        transport: Arc<Transport>,
        identity: Url,
        token: Secret,
        info: TokenInfo,
    ) -> Session {
        Session(Arc::new(Inner {
            started_at: transport.cloud_time(),
            extensions: Extensions::default(),
            cloud,
            transport,
            identity,
            token,
            info,
        }))
    }

    /// The token. Anyone who holds it acts as this user.
    pub fn token(&self) -> &Secret {
        &self.0.token
    }

    /// Expiry of the token.
    pub fn expires_at(&self) -> Timestamp {
        self.0.info.expires_at
    }

    /// The user of the session.
    pub fn user(&self) -> &User {
        &self.0.info.user
    }

    /// The project. `None` for tokens without a project.
    pub fn project(&self) -> Option<&Project> {
        self.0.info.project.as_ref()
    }

    /// The user's roles in the project.
    pub fn roles(&self) -> &[Role] {
        &self.0.info.roles
    }

    /// Whether the user has a role. Case is ignored: older clouds have `Member`.
    pub fn has_role(&self, name: &str) -> bool {
        self.roles()
            .iter()
            .any(|role| role.name.eq_ignore_ascii_case(name))
    }

    /// Whether the session comes from a restricted application credential. Keystone refuses to create or delete
    /// application credentials with it.
    pub fn is_restricted(&self) -> bool {
        let used = self.0.info.application_credential.as_ref();
        used.is_some_and(|used| used.restricted)
    }

    /// The service catalogue.
    pub fn catalog(&self) -> &Catalog {
        &self.0.info.catalog
    }

    /// The configuration of the cloud.
    pub fn cloud(&self) -> &CloudConfig {
        &self.0.cloud
    }

    /// Whether the cloud has an endpoint of the service in this region.
    pub fn has_service(&self, service: Service) -> bool {
        self.address(service).is_ok()
    }

    /// Services with an endpoint in this region, of those that Stackloom uses.
    pub fn services(&self) -> impl Iterator<Item = Service> {
        Service::USED_SERVICES
            .into_iter()
            .filter(|service| self.has_service(*service))
    }

    /// Revokes the token. Succeeds for an expired token too.
    pub async fn revoke(&self) -> Result<(), Error> {
        let url = segments(&self.0.identity, &["auth", "tokens"]);
        let answer = self
            .0
            .transport
            .exchange(Outgoing {
                service: Service::Identity,
                method: Method::DELETE,
                url,
                token: Some(&self.0.token),
                headers: vec![("x-subject-token".into(), self.0.token.expose().to_string())],
                body: None,
            })
            .await?;
        match answer.status {
            401 | 404 => Ok(()),
            _ => answer.check().map(drop),
        }
    }

    /// Start of the session, by the cloud's clock.
    pub(crate) fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// Current time by the cloud's clock.
    pub(crate) fn cloud_time(&self) -> Timestamp {
        self.0.transport.cloud_time()
    }

    /// Shortest time of an exchange with a service so far.
    pub(crate) fn quickest(&self, service: Service) -> Duration {
        self.0.transport.quickest(service)
    }

    /// The value of a type that is stored with the session.
    pub(crate) fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.0.extensions.get()
    }

    /// Any call that the modules of the services lack. Segments of the path are percent-encoded.
    pub fn call(&self, service: Service, method: Method, path: &[&str]) -> Call<'_> {
        Call::new(self.caller(), service, self.address(service), method, path)
    }

    /// URL of the supported version of a service.
    pub(crate) async fn service_url(&self, service: Service) -> Result<Url, Error> {
        let address = self.address(service)?;
        Ok(self.caller().endpoint(service, &address).await?.base)
    }

    /// The range of microversions that a service supports.
    pub(crate) async fn microversions(
        &self,
        service: Service,
    ) -> Result<Option<(Microversion, Microversion)>, Error> {
        let address = self.address(service)?;
        let endpoint = self.caller().endpoint(service, &address).await?;
        Ok(endpoint.microversions)
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            transport: &self.0.transport,
            token: &self.0.token,
            project_id: self.project().map(|project| project.id.as_str()),
        }
    }

    /// The URL of a service, from an override or the catalogue.
    fn address(&self, service: Service) -> Result<Url, Error> {
        let cloud = &self.0.cloud;
        let missing = || Error::NoService {
            cloud: cloud.name.clone(),
            service,
            region: cloud.region_of(service).map(str::to_string),
        };
        if let Some(url) = cloud.endpoint_overrides.get(&service) {
            return url.parse().map_err(|_| {
                Error::Config(ConfigError::Cloud {
                    cloud: cloud.name.clone(),
                    why: format!("the endpoint override of the {service} service is no address"),
                })
            });
        }
        // Keystone keeps the login URL: its catalogue entry is often another one, which does not work.
        if service == Service::Identity {
            return Ok(self.0.identity.clone());
        }
        self.catalog()
            .endpoint(
                service,
                cloud.region_of(service),
                cloud.interfaces_of(service),
            )
            .and_then(|url| url.parse().ok())
            .ok_or_else(missing)
    }
}
