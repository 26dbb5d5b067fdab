//! Types of login errors, and parts of their messages.

/// A login method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMethod {
    /// User, password, domain, project.
    Password,
    /// Id or name, and secret.
    ApplicationCredential,
    /// An existing token.
    Token,
}

/// Side of the connection with the refused certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The cloud's certificate, refused by the client.
    Server,
    /// The client certificate, refused by the cloud or missing.
    Client,
}

pub(super) fn list_projects(accessible: &[String]) -> String {
    match accessible {
        [] => String::new(),
        names => format!("; you can use {}", names.join(", ")),
    }
}

pub(super) fn list_regions(known: &[String]) -> String {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

pub(super) fn credentials(method: LoginMethod) -> &'static str {
    match method {
        LoginMethod::Password => "these credentials",
        LoginMethod::ApplicationCredential => "this application credential",
        LoginMethod::Token => "this token",
    }
}

pub(super) fn credentials_hint(method: LoginMethod) -> &'static str {
    match method {
        LoginMethod::Password => "Check user, password and domain",
        LoginMethod::ApplicationCredential => {
            "Check its id and secret, and whether it has expired or was deleted"
        }
        LoginMethod::Token => {
            "It has expired or was revoked, or another cloud issued it: get a new one"
        }
    }
}

pub(super) fn certificate_hint(side: Certificate) -> &'static str {
    match side {
        Certificate::Server => {
            "Give the authority that signed the cloud's certificate as `cacert` in clouds.yaml, or check that the certificate is for the name in the address"
        }
        Certificate::Client => {
            "The cloud wants to know who calls: give a certificate that it trusts as `cert` and its key as `key` in clouds.yaml"
        }
    }
}

pub(super) fn in_region(region: &Option<String>) -> String {
    region
        .as_ref()
        .map(|region| format!(" in region `{region}`"))
        .unwrap_or_default()
}
