//! One user in one project of one cloud: the token, and the way to each service.
//!
//! A session never renews itself: zero knowledge means that we keep no password. When the token ends,
//! calls fail with [`Error::is_unauthorized`], and the engine pauses until the person logs in again.

use std::sync::Arc;

use jiff::Timestamp;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::discovery::{Endpoint, Microversion, discover};
use crate::login::LOOKED_FOR;
use crate::lookups::Lookups;
use crate::transport::{Answer, Outgoing, Transport};
use crate::watch::Watch;
use crate::{Catalog, CloudConfig, ConfigError, Credentials, Error, Scope, Secret, Service};

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
    watch: Watch,
    lookups: Lookups,
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
            watch: Watch::default(),
            lookups: Lookups::default(),
            cloud,
            transport,
            identity,
            token,
            facts,
        }))
    }

    /// The same person in another project, without another password.
    pub async fn in_scope(&self, scope: &Scope) -> Result<Session, Error> {
        let credentials = Credentials::Token {
            token: self.0.token.clone(),
        };
        Session::login(&self.0.cloud, &credentials, Some(scope)).await
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
        LOOKED_FOR
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

    /// Keystone.
    pub fn identity(&self) -> crate::identity::Identity<'_> {
        crate::identity::Identity(self)
    }

    /// Nova.
    pub fn compute(&self) -> crate::compute::Compute<'_> {
        crate::compute::Compute(self)
    }

    /// Neutron.
    pub fn network(&self) -> crate::network::NetworkService<'_> {
        crate::network::NetworkService(self)
    }

    /// Glance.
    pub fn image(&self) -> crate::image::ImageService<'_> {
        crate::image::ImageService(self)
    }

    /// Barbican.
    pub fn key_manager(&self) -> crate::key_manager::KeyManager<'_> {
        crate::key_manager::KeyManager(self)
    }

    /// Cinder.
    pub fn block_storage(&self) -> crate::block_storage::BlockStorage<'_> {
        crate::block_storage::BlockStorage(self)
    }

    /// Octavia.
    pub fn load_balancer(&self) -> crate::load_balancer::LoadBalancing<'_> {
        crate::load_balancer::LoadBalancing(self)
    }

    /// How things are that change, at the price of one call for many.
    pub fn watcher(&self) -> crate::watch::Watcher<'_> {
        crate::watch::Watcher(self)
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.0.watch
    }

    pub(crate) fn lookups(&self) -> &Lookups {
        &self.0.lookups
    }

    /// When the session began, by the cloud's clock.
    pub(crate) fn begun(&self) -> Timestamp {
        self.0.begun
    }

    /// Now, by the cloud's clock.
    pub(crate) fn cloud_time(&self) -> Timestamp {
        self.0.transport.cloud_time()
    }

    /// Any call: for what the services' modules lack. Segments of the path are encoded.
    pub fn call(&self, service: Service, method: Method, path: &[&str]) -> Call<'_> {
        Call {
            session: self,
            service,
            method,
            path: path.iter().map(|segment| segment.to_string()).collect(),
            query: Vec::new(),
            body: None,
            microversion: None,
            headers: Vec::new(),
        }
    }

    /// Where the service is, by override or catalogue.
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

    /// Where the version of the service is that we speak; asked once per cloud.
    pub(crate) async fn endpoint(&self, service: Service) -> Result<Endpoint, Error> {
        let address = self.address(service)?;
        let key = (service, address.to_string());
        let known = lock(&self.0.transport.endpoints).get(&key).cloned();
        if let Some(endpoint) = known {
            return Ok(endpoint);
        }
        let project = self.project().map(|project| project.id.as_str());
        let endpoint = discover(
            &self.0.transport,
            service,
            &address,
            project,
            Some(&self.0.token),
        )
        .await?;
        lock(&self.0.transport.endpoints).insert(key, endpoint.clone());
        Ok(endpoint)
    }
}

/// A panic while a plain map is changed cannot leave it half changed, so poison means nothing here.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One call to a service, built up and then sent.
pub struct Call<'a> {
    session: &'a Session,
    service: Service,
    method: Method,
    path: Vec<String>,
    query: Vec<(String, String)>,
    body: Option<Value>,
    microversion: Option<Microversion>,
    headers: Vec<(&'static str, String)>,
}

impl Call<'_> {
    /// Adds to the query.
    pub fn query<'q>(mut self, pairs: impl IntoIterator<Item = (&'q str, &'q str)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        self.query.extend(pairs);
        self
    }

    /// A body of JSON.
    pub fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.clone());
        self
    }

    /// One more header field; the name in lower case.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    /// The least microversion that has what the call needs. Older clouds get their own newest, and
    /// refuse what they do not know.
    pub fn microversion(mut self, wanted: Microversion) -> Self {
        self.microversion = Some(wanted);
        self
    }

    /// Sends it. A refusal is an error.
    pub async fn send(self) -> Result<Answer, Error> {
        self.answer().await?.check()
    }

    /// Sends it. Any status is an answer.
    pub async fn answer(self) -> Result<Answer, Error> {
        let endpoint = self.session.endpoint(self.service).await?;
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let mut url = segments(&endpoint.base, &path);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let mut headers = self.headers;
        if let Some(wanted) = self.microversion {
            let spoken = endpoint
                .microversions
                .map_or(wanted, |(_, newest)| wanted.min(newest));
            let service = self.service.microversion_name();
            headers.push(("openstack-api-version", format!("{service} {spoken}")));
            if self.service == Service::Compute {
                headers.push(("x-openstack-nova-api-version", spoken.to_string()));
            }
        }
        let out = Outgoing {
            service: self.service,
            method: self.method,
            url,
            token: Some(&self.session.0.token),
            headers,
            body: self.body,
        };
        self.session.0.transport.exchange(out).await
    }

    /// Sends it and reads what stands under a key of the answer.
    pub async fn fetch<T: DeserializeOwned>(self, key: &str) -> Result<T, Error> {
        self.send().await?.json_at(key)
    }
}

/// Adds encoded segments: what a person typed cannot climb out of its place in the path.
pub(crate) fn segments(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_climb_out_of_the_path() {
        let base: Url = "http://h/compute/v2.1".parse().unwrap();
        let url = segments(&base, &["os-keypairs", "../servers/x?y#z"]);
        assert_eq!(
            url.as_str(),
            "http://h/compute/v2.1/os-keypairs/..%2Fservers%2Fx%3Fy%23z"
        );
    }
}
