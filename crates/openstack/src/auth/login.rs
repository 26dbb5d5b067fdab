//! Login: from credentials to a [`Session`].
//!
//! Keystone answers 401 to a wrong password and to a project that does not exist alike. To tell a person which it was, a
//! password first gets a token without a project, and that token gets the one of the project. So a wrong password is one
//! attempt where a cloud counts them, and a refusal of the second token means that the project is at fault.

use std::sync::Arc;

use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::json;

use super::catalog::Catalog;
use super::config::CloudConfig;
use super::credentials::{Credentials, Scope};
use super::session::{Session, TokenInfo};
use crate::wire::answer::Answer;
use crate::wire::call::segments;
use crate::wire::error::ConnectionFailure;
use crate::wire::transport::{Outgoing, Transport};
use crate::{Certificate, ConfigError, Error, LoginMethod, Secret, Service};

impl Session {
    /// Logs in to `cloud`.
    ///
    /// Without a scope, the token is for the user's default project, or for the project of the application credential
    /// or token. Fails after [`CloudConfig::login_timeout`].
    ///
    /// # Errors
    /// [`Error::WrongCredentials`], [`Error::SecondFactor`], [`Error::UnknownProject`], [`Error::UnknownRegion`],
    /// [`Error::Unreachable`], [`Error::Untrusted`] and [`Error::NotOpenStack`] contain the remedy for the user.
    pub async fn login(
        cloud: &CloudConfig,
        credentials: &Credentials,
        scope: Option<&Scope>,
    ) -> Result<Session, Error> {
        in_time(cloud, Session::open(cloud, credentials, scope)).await
    }

    async fn open(
        cloud: &CloudConfig,
        credentials: &Credentials,
        scope: Option<&Scope>,
    ) -> Result<Session, Error> {
        let identity = IdentityClient::find(cloud).await?;
        if let (Credentials::Token { token }, None) = (credentials, scope) {
            return identity.validate(token.clone()).await;
        }
        // An application credential is bound to one project; Keystone refuses another scope with it.
        let scope =
            scope.filter(|_| !matches!(credentials, Credentials::ApplicationCredential { .. }));
        let Some(scope @ Scope::Project(project)) = scope else {
            return identity.authenticate(credentials, scope).await;
        };
        let unscoped = match credentials {
            Credentials::Token { .. } => None,
            _ => Some(
                identity
                    .authenticate(credentials, Some(&Scope::Unscoped))
                    .await?,
            ),
        };
        let proof = unscoped.as_ref().map_or(credentials.clone(), |unscoped| {
            Credentials::token(unscoped.token().clone())
        });
        let refused = match identity.authenticate(&proof, Some(scope)).await {
            Err(error @ Error::WrongCredentials { .. }) => error,
            other => return other,
        };
        let accessible = match &unscoped {
            Some(unscoped) => {
                let accessible = accessible_projects(unscoped).await;
                let _ = unscoped.revoke().await;
                accessible
            }
            // The token itself may be at fault.
            None => match identity.authenticate(&proof, Some(&Scope::Unscoped)).await {
                Ok(unscoped) => accessible_projects(&unscoped).await,
                Err(_) => return Err(refused),
            },
        };
        Err(Error::UnknownProject {
            cloud: cloud.name.clone(),
            project: project.as_str().into(),
            accessible: accessible.unwrap_or_default(),
        })
    }

    /// A session of the same user in another project, without another password.
    pub async fn in_scope(&self, scope: &Scope) -> Result<Session, Error> {
        let credentials = Credentials::Token {
            token: self.token().clone(),
        };
        Session::login(self.cloud(), &credentials, Some(scope)).await
    }

    /// A session for an existing token, validated by Keystone. Fails after [`CloudConfig::login_timeout`].
    ///
    /// # Errors
    /// As [`Session::login`].
    pub async fn from_token(cloud: &CloudConfig, token: Secret) -> Result<Session, Error> {
        in_time(cloud, async {
            IdentityClient::find(cloud).await?.validate(token).await
        })
        .await
    }
}

/// Names of the projects in which the user has a role.
async fn accessible_projects(session: &Session) -> Result<Vec<String>, Error> {
    #[derive(Deserialize)]
    struct Listed {
        name: String,
    }
    let call = session.call(Service::Identity, Method::GET, &["auth", "projects"]);
    let projects: Vec<Listed> = call.list("projects").await?;
    Ok(projects.into_iter().map(|project| project.name).collect())
}

/// Applies the login timeout, for clouds that accept a connection and never answer.
async fn in_time(
    cloud: &CloudConfig,
    login: impl Future<Output = Result<Session, Error>>,
) -> Result<Session, Error> {
    let limit = cloud.login_timeout;
    let done = tokio::time::timeout(limit, login).await;
    done.unwrap_or_else(|_elapsed| {
        Err(Error::Unreachable {
            cloud: cloud.name.clone(),
            url: identity_address(cloud).to_owned(),
            why: format!("no answer within {} s", limit.as_secs_f64()),
        })
    })
}

/// Keystone's URL in the configuration.
fn identity_address(cloud: &CloudConfig) -> &str {
    cloud
        .endpoint_overrides
        .get(&Service::Identity)
        .unwrap_or(&cloud.auth_url)
}

/// Fails if the catalogue does not contain a configured region. A token without a project has no catalogue, and a
/// configured endpoint override needs no region.
fn check_region(cloud: &CloudConfig, catalog: &Catalog) -> Result<(), Error> {
    let known = catalog.regions();
    if known.is_empty() {
        return Ok(());
    }
    let used = Service::USED_SERVICES
        .into_iter()
        .filter(|service| !cloud.endpoint_overrides.contains_key(service));
    let mut regions = used.filter_map(|service| cloud.region_of(service));
    match regions.find(|region| !known.contains(region)) {
        None => Ok(()),
        Some(region) => Err(Error::UnknownRegion {
            cloud: cloud.name.clone(),
            region: region.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// Header of the auth receipt, in requests and responses.
const RECEIPT: &str = "openstack-auth-receipt";

/// Keystone before the login.
struct IdentityClient {
    cloud: CloudConfig,
    transport: Arc<Transport>,
    identity: Url,
}

impl IdentityClient {
    async fn find(cloud: &CloudConfig) -> Result<IdentityClient, Error> {
        let wrong = |why: &str| {
            Error::Config(ConfigError::Cloud {
                cloud: cloud.name.clone(),
                why: why.into(),
            })
        };
        let mut address: Url = identity_address(cloud)
            .parse()
            .map_err(|_| wrong("`auth_url` is no address"))?;
        if !matches!(address.scheme(), "http" | "https") || address.host().is_none() {
            return Err(wrong("`auth_url` must begin with http:// or https://"));
        }
        // Version 2 no longer exists, but its URL in old files still leads to Keystone's root.
        if let Some(root) = address.path().trim_end_matches('/').strip_suffix("/v2.0") {
            let root = root.to_string();
            address.set_path(&root);
        }
        let transport = cloud.transport()?;
        let endpoint = transport
            .discover(Service::Identity, &address, None, None)
            .await
            .map_err(|error| login_error(cloud, &address, error))?;
        Ok(IdentityClient {
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
        let headers = match credentials {
            Credentials::Passcode { receipt, .. } => {
                vec![(RECEIPT.into(), receipt.expose().to_string())]
            }
            _ => Vec::new(),
        };
        let out = Outgoing {
            headers,
            body: Some(body),
            ..self.outgoing(Method::POST)
        };
        let answer = self.ask(out, credentials.method()).await?;
        let token = answer.header("x-subject-token").map(Secret::from);
        match token {
            Some(token) if !token.is_empty() => self.session(token, &answer),
            _ => Err(self.not_openstack(
                "the login was accepted, but there is no token in the answer".into(),
            )),
        }
    }

    /// `GET /auth/tokens`: validates the token and reads its user and scope.
    async fn validate(&self, token: Secret) -> Result<Session, Error> {
        let subject = vec![("x-subject-token".into(), token.expose().to_string())];
        let out = Outgoing {
            token: Some(&token),
            headers: subject,
            ..self.outgoing(Method::GET)
        };
        let answer = self.ask(out, LoginMethod::Token).await?;
        self.session(token, &answer)
    }

    /// A request to `/auth/tokens`.
    fn outgoing<'a>(&self, method: Method) -> Outgoing<'a> {
        Outgoing {
            service: Service::Identity,
            method,
            url: segments(&self.identity, &["auth", "tokens"]),
            token: None,
            headers: Vec::new(),
            body: None,
        }
    }

    /// Sends the request; `method` is the login method for error messages.
    async fn ask(&self, out: Outgoing<'_>, method: LoginMethod) -> Result<Answer, Error> {
        let url = out.url.clone();
        let answer = self
            .transport
            .exchange(out)
            .await
            .map_err(|error| login_error(&self.cloud, &url, error))?;
        if let Some(error) = self.missing_factors(&answer) {
            return Err(error);
        }
        match answer.check() {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.refused(error, method)),
        }
    }

    /// Recognizes a partly accepted login. Some clouds require several authentication methods; Keystone stores the
    /// successful ones under a receipt.
    fn missing_factors(&self, answer: &Answer) -> Option<Error> {
        #[derive(Default, Deserialize)]
        struct PartialLogin {
            receipt: Given,
            required_auth_methods: Vec<Vec<String>>,
        }
        #[derive(Default, Deserialize)]
        struct Given {
            methods: Vec<String>,
        }
        let receipt = answer.header(RECEIPT).filter(|_| answer.status == 401)?;
        let partial: PartialLogin = answer.json().unwrap_or_default();
        let given = partial.receipt.methods;
        let mut missing = partial.required_auth_methods;
        for way in &mut missing {
            way.retain(|method| !given.contains(method));
        }
        Some(Error::SecondFactor {
            cloud: self.cloud.name.clone(),
            missing,
            receipt: receipt.into(),
            request_id: Some(answer.request_id()),
        })
    }

    fn session(&self, token: Secret, answer: &Answer) -> Result<Session, Error> {
        let info: TokenInfo = answer.json_at("token").map_err(|error| match error {
            Error::Malformed { why, .. } => self.not_openstack(why),
            other => other,
        })?;
        check_region(&self.cloud, info.catalog())?;
        Ok(Session::new(
            self.cloud.clone(),
            self.transport.clone(),
            self.identity.clone(),
            token,
            info,
        ))
    }

    /// Classifies a refusal at login by its cause.
    fn refused(&self, error: Error, method: LoginMethod) -> Error {
        let Some(api) = error.api() else {
            return error;
        };
        match api.status {
            // An unknown token is 404 when validated and 401 when used. A deleted application credential is 404 too.
            401 => {}
            404 if api.kind.is_some() => {}
            // Keystone always explains errors in JSON. A page without it comes from another server.
            300..=399 | 404 | 405 => {
                return self.not_openstack(format!("status {}: {}", api.status, api.message));
            }
            _ => return error,
        }
        Error::WrongCredentials {
            cloud: self.cloud.name.clone(),
            method,
            message: api.message.clone(),
            request_id: api.request_id.clone(),
        }
    }

    fn not_openstack(&self, why: String) -> Error {
        Error::NotOpenStack {
            cloud: self.cloud.name.clone(),
            url: self.identity.to_string(),
            why,
        }
    }
}

/// At login, a broken connection means that the cloud is unreachable.
fn login_error(cloud: &CloudConfig, url: &Url, error: Error) -> Error {
    match error {
        Error::Connection {
            wire: ConnectionFailure::Tls,
            why,
            ..
        } => match refused_certificate(&why) {
            Some(side) => Error::Untrusted {
                cloud: cloud.name.clone(),
                url: url.to_string(),
                side,
                why,
            },
            None => Error::Unreachable {
                cloud: cloud.name.clone(),
                url: url.to_string(),
                why,
            },
        },
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

/// Side of the connection with the refused certificate, from the message of the TLS library. `None` for TLS alerts with
/// other causes, such as an unsupported version. The remote side sends alerts; their names are from RFC 8446, section
/// 6.2.
fn refused_certificate(why: &str) -> Option<Certificate> {
    const OURS: [&str; 9] = [
        "NoCertificate",
        "BadCertificate",
        "UnsupportedCertificate",
        "CertificateRevoked",
        "CertificateExpired",
        "CertificateUnknown",
        "CertificateRequired",
        "UnknownCA",
        "AccessDenied",
    ];
    match why.rsplit_once("fatal alert: ") {
        Some((_, alert)) => OURS.contains(&alert).then_some(Certificate::Client),
        None => Some(Certificate::Server),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_alerts_about_certificates_ask_for_one() {
        for (why, side) in [
            (
                "invalid peer certificate: UnknownIssuer",
                Some(Certificate::Server),
            ),
            (
                "received fatal alert: CertificateRequired",
                Some(Certificate::Client),
            ),
            ("received fatal alert: UnknownCA", Some(Certificate::Client)),
            ("received fatal alert: ProtocolVersion", None),
            ("received fatal alert: HandshakeFailure", None),
            ("received fatal alert: InternalError", None),
            ("received fatal alert: BadCertificateStatusResponse", None),
        ] {
            assert_eq!(refused_certificate(why), side, "{why}");
        }
    }
}
