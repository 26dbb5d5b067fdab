//! Who logs in, how, and to what: the three things that Keystone asks for.

use serde_json::{Value, json};

use crate::{LoginMethod, Secret};

/// How a person proves who they are.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// User and password, with a one-time code where the cloud wants a second factor.
    Password {
        /// Who.
        user: Identifier,
        /// Their password.
        password: Secret,
        /// The six digits of an authenticator, if the cloud asks for them.
        passcode: Option<Secret>,
    },
    /// The one-time code alone, after a password that was right
    /// ([`Error::SecondFactor`](crate::Error::SecondFactor)).
    Passcode {
        /// Who.
        user: Identifier,
        /// The six digits of an authenticator.
        passcode: Secret,
        /// What the cloud gave for the password.
        receipt: Secret,
    },
    /// An application credential: it carries its project, so it takes no [`Scope`].
    ApplicationCredential {
        /// Which.
        credential: ApplicationCredential,
        /// Its secret.
        secret: Secret,
    },
    /// A token that somebody else got from the same cloud.
    Token {
        /// The token.
        token: Secret,
    },
}

impl Credentials {
    /// User name and password; the domain by name, such as `Default`.
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

    /// Which way to log in they are for.
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

/// How an application credential is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationCredential {
    /// By its id.
    Id(String),
    /// By its name, which is unique per user.
    Name {
        /// Its name.
        name: String,
        /// Whose.
        user: Identifier,
    },
}

/// Something that lives in a domain: a user or a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// By id.
    Id(String),
    /// By name, which is unique per domain.
    Name {
        /// Its name.
        name: String,
        /// In which domain.
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

    /// The id or name, as the person gave it.
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

/// `Default` by name: the domain that Keystone makes first, and the only one of most clouds.
impl Default for Domain {
    fn default() -> Domain {
        Domain::Name("Default".into())
    }
}

/// What a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One project: what all our work needs.
    Project(Identifier),
    /// One domain.
    Domain(Domain),
    /// The cloud itself.
    System,
    /// Nothing yet: enough to ask which projects there are.
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
