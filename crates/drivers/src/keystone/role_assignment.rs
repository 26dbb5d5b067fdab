//! `OS::Keystone::UserRoleAssignment` and `OS::Keystone::GroupRoleAssignment`: role assignments of a user or a group in
//! projects and domains.
//!
//! A role assignment has neither a name nor a field for a marker. An assignment that existed before stays when this
//! resource is deleted; Heat would remove it. Source: Identity API v3, "Roles".

use async_trait::async_trait;
use openstack::collection::Collection;
use openstack::identity::{Actor, GROUPS, Grant, RoleTarget, USERS};

use super::super::association::{AssociationDriver, Associations};
use super::super::described::lookup::id_required;
use super::roles;
use crate::driver::{Context, DriverError};

/// The difference between the two types.
pub(crate) struct RoleAssignment {
    /// Property with the user or group.
    who: &'static str,
    of: &'static Collection,
    /// Actor type in the text of an association.
    word: &'static str,
}

pub(crate) static OF_USER: AssociationDriver<RoleAssignment> = AssociationDriver(RoleAssignment {
    who: "user",
    of: &USERS,
    word: USER,
});

pub(crate) static OF_GROUP: AssociationDriver<RoleAssignment> = AssociationDriver(RoleAssignment {
    who: "group",
    of: &GROUPS,
    word: GROUP,
});

const USER: &str = "user";
const GROUP: &str = "group";
const PROJECT: &str = "project";
const DOMAIN: &str = "domain";

#[async_trait]
impl Associations for RoleAssignment {
    const TITLE: &'static str = "role";

    async fn wanted(&self, context: &Context<'_>) -> Result<Vec<String>, DriverError> {
        let who = id_required(context, self.who, self.of).await?;
        let grants = roles::wanted(context).await?;
        Ok(grants
            .iter()
            .map(|grant| text(self.word, &who, grant))
            .collect())
    }

    async fn exists(
        &self,
        context: &Context<'_>,
        association: &str,
    ) -> Result<bool, openstack::Error> {
        let Some((actor, grant)) = parse(association) else {
            return Ok(false);
        };
        let identity = context.session.identity();
        identity.is_granted(actor, &grant).await
    }

    async fn add(&self, context: &Context<'_>, association: &str) -> Result<(), openstack::Error> {
        match parse(association) {
            Some((actor, grant)) => context.session.identity().grant(actor, &grant).await,
            None => Ok(()),
        }
    }

    async fn remove(
        &self,
        context: &Context<'_>,
        association: &str,
    ) -> Result<(), openstack::Error> {
        match parse(association) {
            Some((actor, grant)) => context.session.identity().revoke(actor, &grant).await,
            None => Ok(()),
        }
    }
}

/// The text of an association: `user/<id>/project/<id>/<role>`.
fn text(word: &str, who: &str, grant: &Grant) -> String {
    let (kind, target) = match &grant.target {
        RoleTarget::Project(id) => (PROJECT, id),
        RoleTarget::Domain(id) => (DOMAIN, id),
    };
    format!("{word}/{who}/{kind}/{target}/{}", grant.role)
}

/// Parses the text of an association. `None` for another format.
fn parse(association: &str) -> Option<(Actor<'_>, Grant)> {
    let words: Vec<&str> = association.split('/').collect();
    let [word, who, kind, target, role] = words[..] else {
        return None;
    };
    let actor = match word {
        USER => Actor::User(who),
        GROUP => Actor::Group(who),
        _ => return None,
    };
    let target = match kind {
        PROJECT => RoleTarget::Project(target.to_owned()),
        DOMAIN => RoleTarget::Domain(target.to_owned()),
        _ => return None,
    };
    let role = role.to_owned();
    Some((actor, Grant { role, target }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_role_assignment() {
        let grant = |target| Grant {
            role: "r".into(),
            target,
        };
        let in_project = grant(RoleTarget::Project("p".into()));
        assert_eq!(text(USER, "u", &in_project), "user/u/project/p/r");
        assert_eq!(
            parse("user/u/project/p/r"),
            Some((Actor::User("u"), in_project))
        );
        let in_domain = grant(RoleTarget::Domain("default".into()));
        assert_eq!(text(GROUP, "g", &in_domain), "group/g/domain/default/r");
        assert_eq!(
            parse("group/g/domain/default/r"),
            Some((Actor::Group("g"), in_domain))
        );
        assert_eq!(parse("group/g/planet/default/r"), None);
        assert_eq!(parse(""), None);
    }
}
