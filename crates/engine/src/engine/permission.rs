//! Standing permissions: what the server may do with a deployment while nobody is logged in.
//!
//! A permission is an application credential of the user who gives it, with the roles of a member and an end date. Where
//! Keystone and the services know access rules, it opens the services that Stackloom uses and nothing else. Its secret
//! is sealed with the server's own key. In a cloud without a key manager it contains the key of the user's sealed
//! secrets, too: without it, no private key and no hidden parameter could be read.
//!
//! Only its owner can delete an application credential. When another user revokes the permission or undeploys, our copy
//! of the secret is destroyed at once, and the credential is deleted at the owner's next login.

use api::{Permission, PermissionRequest};
use jiff::{SignedDuration, Timestamp, Unit};
use openstack::{
    Service, Session,
    application_credentials::{CreatedApplicationCredential, NewApplicationCredential},
};
use store::{NewPermission, Outcome, PermissionRow};
use uuid::Uuid;

use super::Engine;
use crate::{Actor, Error, Result, Tenant, secrets::PermissionSecrets};

/// Roles that a permission gets if its giver has them: of members, and of members in Barbican and Octavia. Never `admin`.
const ROLES: [&str; 4] = ["member", "_member_", "creator", "load-balancer_member"];

/// Time after which a credential without a permission is no longer about to get one.
const GIVEN_WITHIN: SignedDuration = SignedDuration::from_mins(10);

/// An action of the server while nobody is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermittedAction {
    /// The scaling of a group by a policy.
    Scale,
    /// A check.
    Check,
}

impl Engine {
    pub(super) async fn give(
        &self,
        actor: &Actor,
        deployment: &str,
        request: PermissionRequest,
    ) -> Result<Permission> {
        self.core.check_running()?;
        let (tenant, session) = (&actor.tenant, &actor.session);
        self.live_row(tenant, deployment).await?;
        check_request(session, &request)?;
        let roles = permitted_roles(session)?;
        let now = Timestamp::now();
        let now = now.round(Unit::Second).unwrap_or(now);
        let expires = now + SignedDuration::from_hours(24 * i64::from(request.days));
        let _turn = self.core.page_requests.turn(tenant).await;
        let credential = format!("stackloom-{}", Uuid::now_v7());
        let user_id = &session.user().id;
        self.core
            .store
            .credential_announce(tenant, user_id, &credential, now + GIVEN_WITHIN)
            .await?;
        let new = NewApplicationCredential {
            name: &credential,
            description: &format!(
                "Stackloom acts on deployment {deployment} while nobody is logged in"
            ),
            roles: &roles,
            expires_at: expires,
            access_rules: &[],
        };
        let (made, has_access_rules) = create(session, new).await?;
        // A key manager gives its secrets to the project's members.
        let vault_key = actor.vault_key.as_ref();
        let vault_key = vault_key.filter(|_| !session.has_service(Service::KeyManager));
        let secrets = PermissionSecrets::new(&made.id, made.secret.expose(), vault_key);
        let given = Permission {
            author: actor.user.clone(),
            created: now.to_string(),
            expires: expires.to_string(),
            may: request.may,
            has_access_rules,
            opens_secrets: vault_key.is_some(),
            problem: None,
        };
        let new = NewPermission {
            deployment,
            user_id,
            given: &given,
            credential: &credential,
            sealed: &secrets.seal(&self.core.keys, &credential),
        };
        self.store_permission(actor, &new).await?;
        Ok(given)
    }

    /// Stores a new permission, and deletes the credential of the former one. If the deployment was undeployed meanwhile,
    /// the new credential is deleted instead.
    async fn store_permission(&self, actor: &Actor, new: &NewPermission<'_>) -> Result<()> {
        let (tenant, store) = (&actor.tenant, &self.core.store);
        let former = store.permission_find(tenant, new.deployment).await?;
        let stored = store.permission_put(tenant, new).await?;
        if stored == Outcome::Conflict {
            self.delete_credential(actor, new.credential).await;
            return Err(Error::NotPossibleNow(
                "the deployment was undeployed meanwhile".to_owned(),
            ));
        }
        if let Some(former) = former {
            self.delete_own_credential(actor, &former).await;
        }
        Ok(())
    }

    pub(super) async fn revoke(&self, actor: &Actor, deployment: &str) -> Result<()> {
        let tenant = &actor.tenant;
        let row = self.deployment_row(tenant, deployment).await?;
        let store = &self.core.store;
        let Some(permission) = store.permission_find(tenant, deployment).await? else {
            return Err(Error::NotPossibleNow(format!(
                "`{}` has no permission that could be revoked",
                row.shown.name
            )));
        };
        let mut transaction = store.begin("revoking a permission").await?;
        let revoked = transaction.permission_revoke(tenant, deployment).await?;
        transaction.commit().await?;
        if revoked == Outcome::Done {
            self.delete_own_credential(actor, &permission).await;
        }
        Ok(())
    }

    /// Deletes the credential of a permission that has ended, if it is the actor's own.
    pub(super) async fn delete_own_credential(&self, actor: &Actor, ended: &PermissionRow) {
        if ended.user_id == actor.session.user().id && !actor.session.is_restricted() {
            self.delete_credential(actor, &ended.credential).await;
        }
    }

    /// Deletes a credential of the actor. If the cloud refuses, it is deleted at their next login.
    async fn delete_credential(&self, actor: &Actor, credential: &str) {
        let (tenant, user) = (&actor.tenant, &actor.session.user().id);
        let identity = actor.session.identity();
        let deleted = identity.application_credential_delete(credential).await;
        let forgotten = match deleted {
            Ok(()) => {
                let forgotten = self.core.store.credential_forget(tenant, user, credential);
                forgotten.await.map_err(Error::from)
            }
            Err(error) => Err(error.into()),
        };
        if let Err(error) = forgotten {
            tracing::warn!(%error, credential, "an application credential stays until its owner's next login");
        }
    }

    pub(super) async fn delete_unused(&self, actor: &Actor) -> Result<()> {
        if actor.session.is_restricted() {
            return Ok(());
        }
        let user = &actor.session.user().id;
        let store = &self.core.store;
        let unused = store.credential_list_unused(&actor.tenant, user, Timestamp::now());
        for credential in unused.await? {
            self.delete_credential(actor, &credential).await;
        }
        Ok(())
    }

    /// The permission of a deployment, if it includes an action and has not ended.
    pub(super) async fn permission_for(
        &self,
        tenant: &Tenant,
        deployment: &str,
        action: PermittedAction,
    ) -> Result<PermissionRow> {
        let found = self.core.store.permission_find(tenant, deployment).await?;
        let (to_do, includes): (_, fn(&Permission) -> bool) = match action {
            PermittedAction::Scale => ("scale", |given| given.may.scale),
            PermittedAction::Check => ("be checked", |given| given.may.check_minutes.is_some()),
        };
        let give = "A member of the project can give a permission on the deployment's page";
        let Some(row) = found else {
            return Err(Error::NotPermitted(format!(
                "nobody has permitted this deployment to {to_do} by itself. {give}"
            )));
        };
        let given = &row.given;
        let is_over = given
            .expires
            .parse()
            .is_ok_and(|end: Timestamp| end <= Timestamp::now());
        if is_over || row.sealed.is_none() {
            return Err(Error::NotPermitted(format!(
                "the permission that {} gave ended at {}. {give}",
                given.author, given.expires
            )));
        }
        if !includes(given) {
            return Err(Error::NotPermitted(format!(
                "the permission that {} gave does not let this deployment {to_do} by itself. {give}",
                given.author
            )));
        }
        Ok(row)
    }

    /// Logs in with a permission.
    ///
    /// # Errors
    /// If the cloud does not accept it, or does not respond. The reason is stored with the permission.
    pub(super) async fn log_in_with(&self, permission: &PermissionRow) -> Result<Actor> {
        let logged_in = self.try_to_log_in_with(permission).await;
        self.note_use(permission, logged_in.as_ref().err()).await;
        logged_in
    }

    /// Stores with a permission why it could not be used, or that it could.
    pub(super) async fn note_use(&self, permission: &PermissionRow, error: Option<&Error>) {
        let problem = error.map(ToString::to_string);
        if problem.is_none() && permission.given.problem.is_none() {
            return;
        }
        let noted = self
            .core
            .store
            .permission_set_problem(permission, problem.as_deref());
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the problem of a permission is not stored");
        }
    }

    async fn try_to_log_in_with(&self, permission: &PermissionRow) -> Result<Actor> {
        let (tenant, author) = (&permission.tenant, &permission.given.author);
        let again = "Revoke the permission and give it again";
        let sealed = permission.sealed.as_deref().unwrap_or_default();
        let secrets = PermissionSecrets::open(&self.core.keys, &permission.credential, sealed);
        let secrets = secrets.ok_or_else(|| {
            Error::NotPermitted(format!(
                "the permission that {author} gave is sealed with a key that this server does not have. {again}"
            ))
        })?;
        let cloud = self.core.cloud(tenant)?;
        let session = Session::login(cloud, &secrets.credentials(), None).await;
        let session = session.map_err(|error| match error {
            openstack::Error::WrongCredentials { .. } => Error::NotPermitted(format!(
                "the cloud no longer accepts the permission that {author} gave: its application credential was deleted, or \
                 {author} has lost a role or the access to the cloud. {again}"
            )),
            other => other.into(),
        })?;
        if session
            .project()
            .is_none_or(|project| project.id != tenant.project_id)
        {
            return Err(Error::NotPermitted(format!(
                "the permission that {author} gave is for another project. {again}"
            )));
        }
        Ok(Actor {
            tenant: tenant.clone(),
            user: format!("{author} (standing permission)"),
            vault_key: secrets.vault_key(),
            session,
        })
    }
}

/// Checks that a permission can be given like this, and with this login.
fn check_request(session: &Session, request: &PermissionRequest) -> Result<()> {
    if let Some(problem) = request.problem() {
        return Err(Error::NotPossibleNow(problem.to_owned()));
    }
    if session.is_restricted() {
        return Err(Error::NotPossibleNow(
            "you are logged in with a restricted application credential, which cannot create another one. Log in with \
             your password to give this permission"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The roles for a permission by this user.
fn permitted_roles(session: &Session) -> Result<Vec<&str>> {
    let names = session.roles().iter().map(|role| role.name.as_str());
    let permitted = |name: &&str| ROLES.iter().any(|role| role.eq_ignore_ascii_case(name));
    let roles: Vec<&str> = names.clone().filter(permitted).collect();
    let is_member = |name: &&str| {
        ROLES[..2]
            .iter()
            .any(|role| role.eq_ignore_ascii_case(name))
    };
    if !roles.iter().any(is_member) {
        let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>();
        return Err(Error::NotPossibleNow(format!(
            "a permission gets the role `member` and never more, and in this project you have {}. Somebody with the role \
             `member` can give it",
            names.join(", ")
        )));
    }
    Ok(roles)
}

/// Creates a credential, with access rules if Keystone and all services know them. Returns whether it has some.
async fn create(
    session: &Session,
    new: NewApplicationCredential<'_>,
) -> Result<(CreatedApplicationCredential, bool)> {
    let identity = session.identity();
    let refused = |error: openstack::Error| match error.status() {
        Some(403) => Error::NotPossibleNow(format!(
            "the cloud does not let you create application credentials, which this permission needs: {error}"
        )),
        _ => error.into(),
    };
    if identity.has_access_rules().await.unwrap_or(false) {
        let rules = session.access_rules();
        let restricted = NewApplicationCredential {
            access_rules: &rules,
            ..new.clone()
        };
        let made = identity.application_credential_create(&restricted).await;
        let made = made.map_err(refused)?;
        let credentials =
            openstack::Credentials::application_credential(&made.id, made.secret.clone());
        let program = Session::login(session.cloud(), &credentials, None).await?;
        if program.is_accepted_everywhere().await? {
            return Ok((made, true));
        }
        // Services that are not configured for access rules refuse all calls with them.
        identity.application_credential_delete(new.name).await?;
    }
    let made = identity.application_credential_create(&new).await;
    Ok((made.map_err(refused)?, false))
}
