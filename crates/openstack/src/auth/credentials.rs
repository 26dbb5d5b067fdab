//! Credentials, identities and scopes: the parts of a Keystone login request.

use serde_json::{Value, json};

use crate::{LoginMethod, Secret};

/// Proof of a user's identity.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// User and password, with a one-time code where the cloud requires a second factor.
    Password {
        /// The user.
        user: Identifier,
        /// The user's password.
        password: Secret,
        /// The six-digit TOTP code, if the cloud requires one.
        passcode: Option<Secret>,
    },
    /// The one-time code alone, after a correct password ([`Error::SecondFactor`](crate::Error::SecondFactor)).
    Passcode {
        /// The user.
        user: Identifier,
        /// The six-digit TOTP code.
        passcode: Secret,
        /// The receipt that Keystone issued for the password.
        receipt: Secret,
    },
    /// An application credential. It is bound to its project, so it takes no [`Scope`].
    ApplicationCredential {
        /// Id or name of the credential.
        credential: ApplicationCredential,
        /// Secret of the application credential.
        secret: Secret,
    },
    /// An existing token of the same cloud.
    Token {
        /// The token.
        token: Secret,
    },
}

impl Credentials {
    /// User name and password, with the domain by name, such as `Default`.
    pub fn password(user: &str, domain: &str, password: impl Into<Secret>) -> Credentials {
        Credentials::Password {
            user: Identifier::Name {
                name: user.into(),
                domain: Domain::Name(domain.into()),
            },
            password: password.into(),
            passcode: None,
        }
    }

    /// Id and secret of an application credential.
    pub fn application_credential(id: &str, secret: impl Into<Secret>) -> Credentials {
        Credentials::ApplicationCredential {
            credential: ApplicationCredential::Id(id.into()),
            secret: secret.into(),
        }
    }

    /// A token of the same cloud.
    pub fn token(token: impl Into<Secret>) -> Credentials {
        Credentials::Token {
            token: token.into(),
        }
    }

    /// The login method of these credentials.
    pub fn method(&self) -> LoginMethod {
        match self {
            Credentials::Password { .. } | Credentials::Passcode { .. } => LoginMethod::Password,
            Credentials::ApplicationCredential { .. } => LoginMethod::ApplicationCredential,
            Credentials::Token { .. } => LoginMethod::Token,
        }
    }

    /// Keystone's `identity` object.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Credentials::Password {
                user,
                password,
                passcode,
            } => {
                let mut with_password = user.to_json();
                with_password["password"] = json!(password.expose());
                let mut identity = json!({
                    "methods": ["password"],
                    "password": {"user": with_password},
                });
                if let Some(passcode) = passcode {
                    let mut with_passcode = user.to_json();
                    with_passcode["passcode"] = json!(passcode.expose());
                    identity["methods"] = json!(["password", "totp"]);
                    identity["totp"] = json!({"user": with_passcode});
                }
                identity
            }
            Credentials::Passcode { user, passcode, .. } => {
                let mut with_passcode = user.to_json();
                with_passcode["passcode"] = json!(passcode.expose());
                json!({"methods": ["totp"], "totp": {"user": with_passcode}})
            }
            Credentials::ApplicationCredential { credential, secret } => {
                let mut body = match credential {
                    ApplicationCredential::Id(id) => json!({"id": id}),
                    ApplicationCredential::Name { name, user } => {
                        json!({"name": name, "user": user.to_json()})
                    }
                };
                body["secret"] = json!(secret.expose());
                json!({"methods": ["application_credential"], "application_credential": body})
            }
            Credentials::Token { token } => {
                json!({"methods": ["token"], "token": {"id": token.expose()}})
            }
        }
    }
}

/// Reference to an application credential, by id or by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationCredential {
    /// By id.
    Id(String),
    /// By its name, which is unique per user.
    Name {
        /// Name of the credential.
        name: String,
        /// Owner of the credential.
        user: Identifier,
    },
}

/// Reference to a user or project, which belong to a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// By id.
    Id(String),
    /// By name, which is unique per domain.
    Name {
        /// Name of the user or project.
        name: String,
        /// Domain of the user or project.
        domain: Domain,
    },
}

impl Identifier {
    fn to_json(&self) -> Value {
        match self {
            Identifier::Id(id) => json!({"id": id}),
            Identifier::Name { name, domain } => json!({"name": name, "domain": domain.to_json()}),
        }
    }

    /// The id or name, as given.
    pub fn as_str(&self) -> &str {
        match self {
            Identifier::Id(text) | Identifier::Name { name: text, .. } => text,
        }
    }
}

/// A Keystone domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// By id.
    Id(String),
    /// By name.
    Name(String),
}

impl Domain {
    fn to_json(&self) -> Value {
        match self {
            Domain::Id(id) => json!({"id": id}),
            Domain::Name(name) => json!({"name": name}),
        }
    }
}

/// `Default` by name: the domain of Keystone's bootstrap, and the only one of most clouds.
impl Default for Domain {
    fn default() -> Domain {
        Domain::Name("Default".into())
    }
}

/// Scope of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One project; required by all calls to services.
    Project(Identifier),
    /// One domain.
    Domain(Domain),
    /// The whole cloud.
    System,
    /// No scope: enough to list the user's projects.
    Unscoped,
}

impl Scope {
    /// A project by name, its domain by name.
    pub fn project(name: &str, domain: &str) -> Scope {
        Scope::Project(Identifier::Name {
            name: name.into(),
            domain: Domain::Name(domain.into()),
        })
    }

    /// A project by id.
    pub fn project_id(id: &str) -> Scope {
        Scope::Project(Identifier::Id(id.into()))
    }

    /// Keystone's `scope` value.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Scope::Project(project) => json!({"project": project.to_json()}),
            Scope::Domain(domain) => json!({"domain": domain.to_json()}),
            Scope::System => json!({"system": {"all": true}}),
            Scope::Unscoped => json!("unscoped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_with_second_factor() {
        let mut credentials = Credentials::password("demo", "Default", "pw");
        if let Credentials::Password { passcode, .. } = &mut credentials {
            *passcode = Some("123456".into());
        }
        let user = json!({"name": "demo", "domain": {"name": "Default"}});
        let identity = credentials.to_json();
        assert_eq!(identity["methods"], json!(["password", "totp"]));
        assert_eq!(identity["password"]["user"]["domain"], user["domain"]);
        assert_eq!(identity["totp"]["user"]["passcode"], "123456");
        assert!(identity["totp"]["user"].get("password").is_none());
    }

    #[test]
    fn application_credential_by_id() {
        let identity = Credentials::application_credential("abc", "s3cret").to_json();
        assert_eq!(
            identity,
            json!({"methods": ["application_credential"],
                   "application_credential": {"id": "abc", "secret": "s3cret"}})
        );
    }

    #[test]
    fn scopes() {
        let named = Scope::project("demo", "Default").to_json();
        assert_eq!(
            named,
            json!({"project": {"name": "demo", "domain": {"name": "Default"}}})
        );
        assert_eq!(Scope::Unscoped.to_json(), json!("unscoped"));
        assert_eq!(Scope::System.to_json(), json!({"system": {"all": true}}));
    }

    #[test]
    fn debug_of_credentials_shows_no_secret() {
        let shown = format!("{:?}", Credentials::password("demo", "Default", "hunter2"));
        assert!(shown.contains("demo"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
