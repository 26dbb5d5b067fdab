//! Keystone after the login: projects, users, groups, roles and the service catalogue. Except for the user's own data,
//! all calls need an administrator.

use reqwest::Method;

use super::collection::Collection;
use crate::{Error, Service, Session};

impl Session {
    /// Keystone.
    pub fn identity(&self) -> Identity<'_> {
        Identity(self)
    }
}

/// Calls to Keystone.
pub struct Identity<'a>(pub(crate) &'a Session);

const fn collection(
    path: &'static str,
    body_keys: (&'static str, &'static str),
    title: &'static str,
) -> Collection {
    Collection::of(Service::Identity, path, body_keys, title)
}

/// Projects.
pub static PROJECTS: Collection = collection("projects", ("project", "projects"), "project");
/// Users.
pub static USERS: Collection = collection("users", ("user", "users"), "user");
/// Groups of users.
pub static GROUPS: Collection = collection("groups", ("group", "groups"), "group");
/// Roles.
pub static ROLES: Collection = collection("roles", ("role", "roles"), "role");
/// Domains.
pub static DOMAINS: Collection =
    collection("domains", ("domain", "domains"), "domain").long_cached();
/// Regions; a region's name is its id.
pub static REGIONS: Collection = Collection {
    by_name: false,
    ..collection("regions", ("region", "regions"), "region")
};
/// Services of the catalogue.
pub static SERVICES: Collection = collection("services", ("service", "services"), "service");
/// Endpoints of services, with filters by service, interface and region.
pub static ENDPOINTS: Collection = Collection {
    by_name: false,
    ..collection("endpoints", ("endpoint", "endpoints"), "endpoint")
};

/// Receiver of a role, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor<'a> {
    /// A user.
    User(&'a str),
    /// All members of a group.
    Group(&'a str),
}

/// A role and its target, by ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Id of the role.
    pub role: String,
    /// Target of the role.
    pub target: RoleTarget,
}

/// Target of a role assignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RoleTarget {
    /// A project, by id.
    Project(String),
    /// A domain, by id.
    Domain(String),
}

impl Identity<'_> {
    /// Assigns a role. Succeeds if it is assigned already.
    pub async fn grant(&self, actor: Actor<'_>, grant: &Grant) -> Result<(), Error> {
        self.role(Method::PUT, actor, grant).await
    }

    /// Whether a role is assigned. `false` if the role, the target or the actor is unknown.
    pub async fn is_granted(&self, actor: Actor<'_>, grant: &Grant) -> Result<bool, Error> {
        match self.role(Method::GET, actor, grant).await {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a role assignment. A missing assignment is an error of status 404.
    pub async fn revoke(&self, actor: Actor<'_>, grant: &Grant) -> Result<(), Error> {
        self.role(Method::DELETE, actor, grant).await
    }

    async fn role(&self, method: Method, actor: Actor<'_>, grant: &Grant) -> Result<(), Error> {
        let (targets, target) = match &grant.target {
            RoleTarget::Project(id) => ("projects", id),
            RoleTarget::Domain(id) => ("domains", id),
        };
        let (actors, actor) = match actor {
            Actor::User(id) => ("users", id),
            Actor::Group(id) => ("groups", id),
        };
        let path = [targets, target, actors, actor, "roles", &grant.role];
        self.act(method, &path).await
    }

    /// Adds a user to a group. Succeeds for a member.
    pub async fn group_add(&self, group: &str, user: &str) -> Result<(), Error> {
        self.act(Method::PUT, &["groups", group, "users", user])
            .await
    }

    /// Removes a user from a group. A user who is no member is an error of status 404.
    pub async fn group_remove(&self, group: &str, user: &str) -> Result<(), Error> {
        self.act(Method::DELETE, &["groups", group, "users", user])
            .await
    }

    async fn act(&self, method: Method, path: &[&str]) -> Result<(), Error> {
        let call = self.0.call(Service::Identity, method, path);
        call.send().await.map(drop)
    }
}
