//! One user in one project of one cloud: the token, and the way to each service.
//!
//! Keystone answers 401 to a wrong password and to a project that does not exist alike. To tell a
//! person which it was, a refused password login is tried once more without a project: if that
//! works, the project was at fault, and the projects that would work are named.
//!
//! A session never renews itself: zero knowledge means that we keep no password. When the token ends,
//! calls fail with [`Error::is_unauthorized`], and the engine pauses until the person logs in again.

use std::sync::Arc;

use jiff::Timestamp;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::discovery::{Endpoint, Microversion, discover};
use crate::transport::{Answer, Outgoing, Transport};
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
}

/// What Keystone says about a token.
#[derive(Clone, Debug, Deserialize)]
struct TokenFacts {
    expires_at: Timestamp,
    user: User,
    #[serde(default)]
    project: Option<Project>,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    catalog: Catalog,
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
    /// Log in to `cloud`. Without a scope, the token is for the user's default project, or for the one
    /// that an application credential or token carries already.
    ///
    /// # Errors
    /// [`Error::WrongCredentials`], [`Error::UnknownProject`], [`Error::Unreachable`] and
    /// [`Error::NotOpenStack`] say what a person can do about it.
    pub async fn login(
        cloud: &CloudConfig,
        credentials: &Credentials,
        scope: Option<&Scope>,
    ) -> Result<Session, Error> {
        let door = Door::find(cloud).await?;
        if let (Credentials::Token { token }, None) = (credentials, scope) {
            return door.validate(token.clone()).await;
        }
        // An application credential is for one project; Keystone refuses another scope with it.
        let scope =
            scope.filter(|_| !matches!(credentials, Credentials::ApplicationCredential { .. }));
        let refused = match door.authenticate(credentials, scope).await {
            Err(error @ Error::WrongCredentials { .. }) => error,
            other => return other,
        };
        match scope {
            Some(scope @ Scope::Project(project)) if *scope != Scope::Unscoped => {
                match door.authenticate(credentials, Some(&Scope::Unscoped)).await {
                    Ok(unscoped) => {
                        let accessible =
                            unscoped.identity().my_projects().await.unwrap_or_default();
                        if !matches!(credentials, Credentials::Token { .. }) {
                            let _ = unscoped.revoke().await;
                        }
                        Err(Error::UnknownProject {
                            cloud: cloud.name.clone(),
                            project: project.as_str().into(),
                            accessible: accessible
                                .into_iter()
                                .map(|project| project.name)
                                .collect(),
                        })
                    }
                    Err(_) => Err(refused),
                }
            }
            _ => Err(refused),
        }
    }

    /// A session on a token that exists already, after asking the cloud whether it is good.
    pub async fn from_token(cloud: &CloudConfig, token: Secret) -> Result<Session, Error> {
        Door::find(cloud).await?.validate(token).await
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

    pub(crate) fn call(&self, service: Service, method: Method, path: &[&str]) -> Call<'_> {
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
            region: cloud.region.clone(),
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
            .endpoint(service, cloud.region.as_deref(), &cloud.interfaces)
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
pub(crate) struct Call<'a> {
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
    pub(crate) fn query<'q>(mut self, pairs: impl IntoIterator<Item = (&'q str, &'q str)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        self.query.extend(pairs);
        self
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.clone());
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    /// The least microversion that has what the call needs. Older clouds get their own newest, and
    /// refuse what they do not know.
    pub(crate) fn microversion(mut self, wanted: Microversion) -> Self {
        self.microversion = Some(wanted);
        self
    }

    pub(crate) async fn send(self) -> Result<Answer, Error> {
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
            headers.push((
                "openstack-api-version",
                format!("{} {spoken}", self.service.as_str()),
            ));
            headers.push(("x-openstack-nova-api-version", spoken.to_string()));
        }
        self.session
            .0
            .transport
            .exchange(Outgoing {
                service: self.service,
                method: self.method,
                url,
                token: Some(&self.session.0.token),
                headers,
                body: self.body,
            })
            .await?
            .check()
    }

    /// Sends it and reads what stands under a key of the answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(self, key: &str) -> Result<T, Error> {
        self.send().await?.json_at(key)
    }
}

/// Adds encoded segments: what a person typed cannot climb out of its place in the path.
fn segments(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// Keystone, before anybody is logged in.
struct Door {
    cloud: CloudConfig,
    transport: Arc<Transport>,
    identity: Url,
}

impl Door {
    async fn find(cloud: &CloudConfig) -> Result<Door, Error> {
        let wrong = |why: &str| {
            Error::Config(ConfigError::Cloud {
                cloud: cloud.name.clone(),
                why: why.into(),
            })
        };
        let address = cloud
            .endpoint_overrides
            .get(&Service::Identity)
            .unwrap_or(&cloud.auth_url);
        let mut address: Url = address
            .parse()
            .map_err(|_| wrong("`auth_url` is no address"))?;
        if !matches!(address.scheme(), "http" | "https") || address.host().is_none() {
            return Err(wrong("`auth_url` must begin with http:// or https://"));
        }
        // Version 2 is gone everywhere; its address in old files still shows where Keystone is.
        if let Some(root) = address.path().trim_end_matches('/').strip_suffix("/v2.0") {
            let root = root.to_string();
            address.set_path(&root);
        }
        let transport = cloud.transport()?;
        let endpoint = discover(&transport, Service::Identity, &address, None, None)
            .await
            .map_err(|error| at_the_door(cloud, &address, error))?;
        Ok(Door {
            cloud: cloud.clone(),
            transport,
            identity: endpoint.base,
        })
    }

    /// `POST /auth/tokens`.
    async fn authenticate(
        &self,
        credentials: &Credentials,
        scope: Option<&Scope>,
    ) -> Result<Session, Error> {
        let mut body = json!({"auth": {"identity": credentials.to_json()}});
        if let Some(scope) = scope {
            body["auth"]["scope"] = scope.to_json();
        }
        let answer = self.ask(Method::POST, None, Vec::new(), Some(body)).await?;
        let token = answer.header("x-subject-token").map(Secret::from);
        match token {
            Some(token) if !token.is_empty() => self.session(token, &answer),
            _ => {
                Err(self
                    .nonsense("the login was accepted, but there is no token in the answer".into()))
            }
        }
    }

    /// `GET /auth/tokens`: is it good, and whose is it?
    async fn validate(&self, token: Secret) -> Result<Session, Error> {
        let subject = vec![("x-subject-token", token.expose().to_string())];
        let answer = self.ask(Method::GET, Some(&token), subject, None).await?;
        self.session(token, &answer)
    }

    async fn ask(
        &self,
        method: Method,
        token: Option<&Secret>,
        headers: Vec<(&'static str, String)>,
        body: Option<Value>,
    ) -> Result<Answer, Error> {
        let url = segments(&self.identity, &["auth", "tokens"]);
        let out = Outgoing {
            service: Service::Identity,
            method,
            url: url.clone(),
            token,
            headers,
            body,
        };
        let answer = self
            .transport
            .exchange(out)
            .await
            .map_err(|error| at_the_door(&self.cloud, &url, error))?;
        match answer.check() {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.refused(error, token.is_some())),
        }
    }

    fn session(&self, token: Secret, answer: &Answer) -> Result<Session, Error> {
        let facts: TokenFacts = answer.json_at("token").map_err(|error| match error {
            Error::Malformed { why, .. } => self.nonsense(why),
            other => other,
        })?;
        Ok(Session(Arc::new(Inner {
            cloud: self.cloud.clone(),
            transport: self.transport.clone(),
            identity: self.identity.clone(),
            token,
            facts,
        })))
    }

    /// A refusal at login: whose fault is it?
    fn refused(&self, error: Error, with_token: bool) -> Error {
        let Some(api) = error.api() else {
            return error;
        };
        match api.status {
            // A token that Keystone does not know is 404 when asked about, 401 when used.
            401 => {}
            404 if with_token && api.kind.is_some() => {}
            // Keystone always says what is wrong in JSON; somebody else's page has no such words.
            300..=399 | 404 | 405 => {
                return self.nonsense(format!("status {}: {}", api.status, api.message));
            }
            _ => return error,
        }
        Error::WrongCredentials {
            cloud: self.cloud.name.clone(),
            message: api.message.clone(),
            request_id: api.request_id.clone(),
        }
    }

    fn nonsense(&self, why: String) -> Error {
        Error::NotOpenStack {
            cloud: self.cloud.name.clone(),
            url: self.identity.to_string(),
            why,
        }
    }
}

/// At login, a broken connection means that the cloud cannot be reached.
fn at_the_door(cloud: &CloudConfig, url: &Url, error: Error) -> Error {
    match error {
        Error::Connection { why, .. } => Error::Unreachable {
            cloud: cloud.name.clone(),
            url: url.to_string(),
            why,
        },
        Error::Malformed { why, .. } => Error::NotOpenStack {
            cloud: cloud.name.clone(),
            url: url.to_string(),
            why,
        },
        other => other,
    }
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
