//! Application credentials of the session's user: secrets for programs, each for one project.
//!
//! Their names are unique per user. So a credential whose id was lost with a response is found by its name.

use jiff::Timestamp;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::identity::Identity;
use crate::wire::endpoint::Microversion;
use crate::{Error, Secret, Service, Session};

/// The first version of Keystone's API with access rules.
const WITH_ACCESS_RULES: Microversion = Microversion(3, 13);

/// A credential that is about to be created.
#[derive(Clone, Debug)]
pub struct NewApplicationCredential<'a> {
    /// Unique among the user's credentials.
    pub name: &'a str,
    /// Description for users.
    pub description: &'a str,
    /// Names of the roles. The session must have them.
    pub roles: &'a [&'a str],
    /// Time at which the credential ends.
    pub expires_at: Timestamp,
    /// The calls that it may make. Empty permits all that its roles permit.
    pub access_rules: &'a [AccessRule],
}

/// A created credential. Keystone never shows the secret again.
#[derive(Clone, Debug)]
pub struct CreatedApplicationCredential {
    /// Id assigned by Keystone.
    pub id: String,
    /// The secret.
    pub secret: Secret,
}

/// A call that a credential may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessRule {
    /// Type of the service.
    pub service: &'static str,
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with `*` for a segment and `**` for any number of them.
    pub path: &'static str,
}

impl Session {
    /// Rules for all calls to the services that Stackloom uses, and for the session's own token.
    ///
    /// Services compare the type with their own setting, which can be an alias.
    pub fn access_rules(&self) -> Vec<AccessRule> {
        let types = self.services().flat_map(Service::types).copied();
        let calls = types.flat_map(|service| {
            ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].map(|method| AccessRule {
                service,
                method,
                path: "/**",
            })
        });
        let token = ["GET", "DELETE"].map(|method| AccessRule {
            service: "identity",
            method,
            path: "/v3/auth/tokens",
        });
        calls.chain(token).collect()
    }
}

impl Session {
    /// Whether every service that Stackloom uses accepts the session's token.
    pub async fn is_accepted_everywhere(&self) -> Result<bool, Error> {
        for service in self.services() {
            let path: &[&str] = match service {
                Service::Compute => &["flavors"],
                Service::Network => &["networks"],
                Service::Image => &["images"],
                Service::BlockStorage => &["types"],
                Service::KeyManager => &["secrets"],
                Service::LoadBalancer => &["lbaas", "loadbalancers"],
                Service::Dns => &["zones"],
                Service::Alarming => &["alarms"],
                _ => continue,
            };
            let call = self.call(service, Method::GET, path);
            if call.query([("limit", "1")]).answer().await?.status == 401 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Identity<'_> {
    /// Whether Keystone has access rules.
    pub async fn has_access_rules(&self) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Version {
            id: String,
        }
        let call = self.0.call(Service::Identity, Method::GET, &[]);
        let version: Version = call.fetch("version").await?;
        let number = Microversion::parse(version.id.trim_start_matches('v'));
        Ok(number.is_some_and(|number| number >= WITH_ACCESS_RULES))
    }

    /// Creates a restricted credential for the session's project.
    pub async fn application_credential_create(
        &self,
        new: &NewApplicationCredential<'_>,
    ) -> Result<CreatedApplicationCredential, Error> {
        #[derive(Deserialize)]
        struct Created {
            id: String,
            secret: String,
        }
        let roles = new.roles.iter().map(|name| json!({ "name": name }));
        let mut wanted = json!({
            "name": new.name,
            "description": new.description,
            "roles": roles.collect::<Vec<_>>(),
            "expires_at": new.expires_at.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string(),
            "unrestricted": false,
        });
        if !new.access_rules.is_empty() {
            wanted["access_rules"] = json!(new.access_rules);
        }
        let call = self.0.call(Service::Identity, Method::POST, &self.path());
        let body = json!({ "application_credential": wanted });
        let created: Created = call.json(&body).fetch("application_credential").await?;
        Ok(CreatedApplicationCredential {
            id: created.id,
            secret: created.secret.into(),
        })
    }

    /// Deletes the user's credential with this name, and ends its tokens. Succeeds if it is missing.
    pub async fn application_credential_delete(&self, name: &str) -> Result<(), Error> {
        let call = self.0.call(Service::Identity, Method::GET, &self.path());
        let listed: Vec<Value> = call
            .query([("name", name)])
            .list("application_credentials")
            .await?;
        let named = listed.iter().filter(|one| one["name"] == name);
        for id in named.filter_map(|one| one["id"].as_str()) {
            let path = [&self.path()[..], &[id]].concat();
            let call = self.0.call(Service::Identity, Method::DELETE, &path);
            match call.send().await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self) -> [&str; 3] {
        ["users", &self.0.user().id, "application_credentials"]
    }
}
