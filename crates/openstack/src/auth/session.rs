//! One user in one project of one cloud: the token, and the way to each service.
//!
//! A session never renews itself: zero knowledge means that we keep no password. When the token ends,
//! calls fail with [`Error::is_unauthorized`], and the engine pauses until the person logs in again.

use std::any::Any;
use std::sync::Arc;

use jiff::Timestamp;
use reqwest::{Method, Url};
use serde::Deserialize;

use super::catalog::Catalog;
use super::config::CloudConfig;
use super::extensions::Extensions;
use crate::wire::call::{Call, Caller, segments};
use crate::wire::endpoint::Microversion;
use crate::wire::transport::{Outgoing, Transport};
use crate::{ConfigError, Error, Secret, Service};

/// A login. Clones share it.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cloud: CloudConfig,
    transport: Arc<Transport>,
    identity: Url,
    token: Secret,
    facts: TokenFacts,
    /// When the session began, by the cloud's clock.
    begun: Timestamp,
    extensions: Extensions,
}

/// What Keystone says about a token.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TokenFacts {
    expires_at: Timestamp,
    user: User,
    #[serde(default)]
    project: Option<Project>,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    catalog: Catalog,
}

impl TokenFacts {
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Who is logged in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct User {
    /// The cloud's id.
    pub id: String,
    /// For people; unique in the domain.
    pub name: String,
    /// Where the user lives.
    pub domain: DomainName,
}

/// The project that the token is for: our tenant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Project {
    /// The cloud's id.
    pub id: String,
    /// For people; unique in the domain.
    pub name: String,
    /// Where the project lives.
    pub domain: DomainName,
}

/// A domain, as tokens name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DomainName {
    /// The cloud's id.
    pub id: String,
    /// For people.
    pub name: String,
}

/// What the user may do in the project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Role {
    /// The cloud's id.
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
        facts: TokenFacts,
    ) -> Session {
        Session(Arc::new(Inner {
            begun: transport.cloud_time(),
            extensions: Extensions::default(),
            cloud,
            transport,
            identity,
            token,
            facts,
        }))
    }

    /// The token. Whoever has it is this user.
    pub fn token(&self) -> &Secret {
        &self.0.token
    }

    /// When the token ends.
    pub fn expires_at(&self) -> Timestamp {
        self.0.facts.expires_at
    }

    /// Who is logged in.
    pub fn user(&self) -> &User {
        &self.0.facts.user
    }

    /// The project, unless the token is for none.
    pub fn project(&self) -> Option<&Project> {
        self.0.facts.project.as_ref()
    }

    /// What the user may do in it.
    pub fn roles(&self) -> &[Role] {
        &self.0.facts.roles
    }

    /// Whether the user has a role, whatever the case of its name (`Member` of older clouds).
    pub fn has_role(&self, name: &str) -> bool {
        self.roles()
            .iter()
            .any(|role| role.name.eq_ignore_ascii_case(name))
    }

    /// What the cloud offers.
    pub fn catalog(&self) -> &Catalog {
        &self.0.facts.catalog
    }

    /// The cloud.
    pub fn cloud(&self) -> &CloudConfig {
        &self.0.cloud
    }

    /// Whether the cloud offers the service here.
    pub fn has_service(&self, service: Service) -> bool {
        self.address(service).is_ok()
    }

    /// Services that the cloud offers here, of those that we use.
    pub fn services(&self) -> impl Iterator<Item = Service> {
        Service::LOOKED_FOR
            .into_iter()
            .filter(|service| self.has_service(*service))
    }

    /// End the token. A token that has ended already is fine.
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
                headers: vec![("x-subject-token", self.0.token.expose().to_string())],
                body: None,
            })
            .await?;
        match answer.status {
            401 | 404 => Ok(()),
            _ => answer.check().map(drop),
        }
    }

    /// When the session began, by the cloud's clock.
    pub(crate) fn begun(&self) -> Timestamp {
        self.0.begun
    }

    /// Now, by the cloud's clock.
    pub(crate) fn cloud_time(&self) -> Timestamp {
        self.0.transport.cloud_time()
    }

    /// The value of a type that is kept with the session.
    pub(crate) fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.0.extensions.get()
    }

    /// Any call: for what the services' modules lack. Segments of the path are encoded.
    pub fn call(&self, service: Service, method: Method, path: &[&str]) -> Call<'_> {
        Call::new(self.caller(), service, self.address(service), method, path)
    }

    /// The range of microversions that a service speaks.
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

    /// The address of a service, by override or catalogue.
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
        // Keystone is where we logged in; catalogues often say something else that does not work.
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
