//! Standing permissions: given, used by signals and by checks at an interval, revoked, expired, refused.

mod checks;
mod signals;

use api::{Permission, PermissionRequest, PermittedActions, RunState};
use engine::{Actor, DueCheck, Error, PermittedCheck, PolicySignal, Result};
use jiff::{SignedDuration, Timestamp};
use lab::{CallFault, Fault};
use openstack::{
    Credentials, Scope, Session,
    application_credentials::{AccessRule, NewApplicationCredential},
    identity::{self, Grant, RoleTarget, USERS},
};
use serde_json::json;
use store::SignalTarget;

use crate::bench::{Bench, facts};

const GROUP: &str = "heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 4, resource: {type: OS::Neutron::Net}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: 2, cooldown: 3600}
  down:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: -1}
outputs:
  up: {value: {get_attr: [up, signal_url]}}
  down: {value: {get_attr: [down, alarm_url]}}
";

fn may(scale: bool, check_minutes: Option<u32>, repair: bool) -> PermissionRequest {
    PermissionRequest {
        days: 30,
        may: PermittedActions {
            scale,
            check_minutes,
            repair,
        },
    }
}

impl Bench {
    async fn give(&self, deployment: &str, request: PermissionRequest) -> Result<Permission> {
        let engine = &self.engine;
        engine
            .give_permission(&self.actor, deployment, request)
            .await
    }

    /// Gives a permission to scale, and to check and repair every five minutes.
    async fn permit(&self, deployment: &str) -> Permission {
        let given = self.try_to_permit(&self.actor, deployment);
        given.await.unwrap()
    }

    async fn try_to_permit(&self, actor: &Actor, deployment: &str) -> Result<Permission> {
        let request = may(true, Some(5), true);
        self.engine
            .give_permission(actor, deployment, request)
            .await
    }

    /// The target of a policy's URL, which is an output.
    async fn policy(&self, deployment: &str, output: &str) -> SignalTarget {
        let shown = self.shown(deployment).await;
        let url = shown.outputs[output].value.clone().unwrap();
        let url = url.as_str().unwrap();
        let (_, name) = url.split_once("/signal/").unwrap();
        let (name, token) = name.split_once("?signature=").unwrap();
        self.engine.signal_target(name, token).unwrap()
    }

    async fn policy_signal(&self, target: &SignalTarget) -> Result<PolicySignal> {
        self.engine.policy_signal(target, b"").await
    }

    async fn refused(&self, target: &SignalTarget) -> String {
        match self.policy_signal(target).await {
            Err(Error::NotPermitted(why)) => why,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it is permitted"),
        }
    }

    /// Scales as a signal asks for, and waits.
    async fn signalled(&self, target: &SignalTarget) -> api::Run {
        let Ok(PolicySignal::Scaling(scaling)) = self.policy_signal(target).await else {
            panic!("it does nothing");
        };
        let (group, request) = (scaling.group.clone(), scaling.request.clone());
        let id = &scaling.deployment;
        let started = self
            .engine
            .scale(&scaling.actor, id, &group, request, facts());
        self.end_of(&started.await.unwrap().run).await
    }

    /// Starts a run that scales the group by hand, and takes a while.
    async fn scaling(&self, deployment: &str) -> String {
        self.lab.faults().add(Fault::Call(CallFault {
            service: Some("network".into()),
            method: Some("POST".into()),
            times: Some(1),
            delay_ms: 500,
            ..CallFault::default()
        }));
        let size = api::ScaleRequest {
            size: Some(2),
            ..Default::default()
        };
        let scaled = self
            .engine
            .scale(&self.actor, deployment, "web", size, facts());
        scaled.await.unwrap().run
    }

    /// Names of the application credentials in the cloud.
    fn credentials(&self) -> Vec<String> {
        let all = |model: &lab::services::Model| {
            let rows = model.identity.application_credentials.iter();
            rows.map(|row| row.name.clone()).collect()
        };
        self.lab.model(all)
    }

    async fn table(&self, name: &str) -> Vec<String> {
        store::testing::table(&self.store, name).await
    }

    /// Another member of the project `demo`.
    async fn mate(&self) -> Actor {
        let admin = self.log_in("admin").await.session;
        let project = &self.actor.tenant.project_id;
        let fields = json!({"name": "mate", "password": "mate", "domain_id": "default", "default_project_id": project});
        let users = admin.records(&USERS);
        let user = users.create(fields.as_object().unwrap()).await.unwrap();
        let user = openstack::collection::id_of(&user);
        let roles = self.actor.session.roles();
        let member = roles.iter().find(|role| role.name == "member").unwrap();
        let grant = Grant {
            role: member.id.clone(),
            target: RoleTarget::Project(project.clone()),
        };
        let identity = admin.identity();
        let granted = identity.grant(identity::Actor::User(&user), &grant);
        granted.await.unwrap();
        self.of(&Credentials::password("mate", "Default", "mate"))
            .await
    }

    /// A member of the project `demo` with these credentials.
    async fn of(&self, credentials: &Credentials) -> Actor {
        let clouds = self.clouds();
        let cloud = clouds.get("lab").unwrap();
        let session = Session::login(cloud, credentials, None).await.unwrap();
        Actor {
            user: session.user().name.clone(),
            session,
            ..self.actor.clone()
        }
    }

    /// A user who logs in to the project `demo`.
    async fn of_demo(&self, credentials: &Credentials) -> Actor {
        let clouds = self.clouds();
        let scope = Scope::project("demo", "Default");
        let session = Session::login(clouds.get("lab").unwrap(), credentials, Some(&scope));
        Actor {
            session: session.await.unwrap(),
            ..self.actor.clone()
        }
    }

    /// The checks that are due after some minutes.
    async fn due(&self, minutes: i64) -> Vec<DueCheck> {
        let then = Timestamp::now() + SignedDuration::from_mins(minutes);
        self.engine.take_due_checks(then).await.unwrap()
    }

    async fn check_that_is_due(&self, minutes: i64) -> Option<PermittedCheck> {
        let due = self.due(minutes).await;
        assert_eq!(due.len(), 1);
        let checked = self.engine.check_with_permission(&due[0]).await;
        checked.unwrap()
    }
}

async fn group() -> (Bench, String) {
    let bench = Bench::new().await;
    let deployment = bench.deployed(GROUP).await;
    (bench, deployment)
}

#[tokio::test]
async fn somebody_else_revokes_it_and_its_owners_next_login_deletes_the_credential() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    let up = bench.policy(&deployment, "up").await;
    let mate = bench.mate().await;
    let engine = &bench.engine;
    engine.revoke_permission(&mate, &deployment).await.unwrap();
    let again = engine.revoke_permission(&mate, &deployment).await;
    assert_eq!(again.unwrap_err().code(), "not-possible-now");
    bench.refused(&up).await;
    assert_eq!(bench.table("permissions").await, Vec::<String>::new());
    assert_eq!(bench.shown(&deployment).await.permission, None);
    assert_eq!(bench.credentials().len(), 1, "only its owner can delete it");

    engine.delete_unused_credentials(&mate).await.unwrap();
    assert_eq!(bench.credentials().len(), 1);
    engine
        .delete_unused_credentials(&bench.actor)
        .await
        .unwrap();
    assert_eq!(bench.credentials(), Vec::<String>::new());
    assert_eq!(
        bench.table("unused_credentials").await,
        Vec::<String>::new()
    );

    // An undeployment by another user does the same.
    bench.permit(&deployment).await;
    let started = engine.undeploy(&mate, &deployment, engine::Force::No).await;
    bench.end_of(&started.unwrap().run).await;
    assert_eq!(bench.table("permissions").await, Vec::<String>::new());
    assert_eq!(bench.credentials().len(), 1);
    engine
        .delete_unused_credentials(&bench.actor)
        .await
        .unwrap();
    assert_eq!(bench.credentials(), Vec::<String>::new());
}

#[tokio::test]
async fn a_new_permission_replaces_the_one_before() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    let first = bench.credentials();
    bench
        .give(&deployment, may(false, Some(1), false))
        .await
        .unwrap();
    let second = bench.credentials();
    assert!(second.len() == 1 && second != first);
    let up = bench.policy(&deployment, "up").await;
    let why = bench.refused(&up).await;
    let wanted = "the permission that demo gave does not let this deployment scale by itself";
    assert!(why.contains(wanted), "{why}");
}

#[tokio::test]
async fn who_cannot_give_it_is_told_why() {
    let (bench, deployment) = group().await;
    let identity = bench.actor.session.identity();
    let rules: &[AccessRule] = &[];
    let new = NewApplicationCredential {
        name: "mine",
        description: "",
        roles: &["member"],
        expires_at: Timestamp::now() + SignedDuration::from_hours(1),
        access_rules: rules,
    };
    let made = identity.application_credential_create(&new).await.unwrap();
    let mine = Credentials::application_credential(&made.id, made.secret);
    let mine = bench.of(&mine).await;
    let why = bench.try_to_permit(&mine, &deployment).await.unwrap_err();
    assert!(
        why.to_string().contains("Log in with your password"),
        "{why}"
    );

    let reader = Credentials::password("reader", "Default", "reader");
    let reader = bench.of_demo(&reader).await;
    let why = bench.try_to_permit(&reader, &deployment).await;
    let why = why.unwrap_err().to_string();
    assert!(why.contains("you have `reader`"), "{why}");
    let stranger = bench.log_in("other").await;
    let why = bench
        .try_to_permit(&stranger, &deployment)
        .await
        .unwrap_err();
    assert_eq!(why.code(), "not-found");
    for request in [
        may(false, None, false),
        may(true, None, true),
        may(true, Some(0), false),
    ] {
        let given = bench.give(&deployment, request).await;
        assert_eq!(given.unwrap_err().code(), "not-possible-now");
    }
    assert_eq!(bench.credentials(), ["mine"]);
    assert_eq!(bench.table("permissions").await, Vec::<String>::new());
}

#[tokio::test]
async fn an_administrators_permission_has_the_role_of_a_member_only() {
    let mut bench = Bench::new().await;
    bench.actor = bench.log_in("admin").await;
    bench.tenant = bench.actor.tenant.clone();
    assert!(bench.actor.session.has_role("admin"));
    let deployment = bench.deploy(GROUP).await.0.deployment;
    bench.permit(&deployment).await;
    bench.lab.model(|model| {
        let rows = model.identity.application_credentials.iter();
        let roles: Vec<_> = rows.flat_map(|row| row.roles.clone()).collect();
        assert_eq!(roles, ["member"]);
    });
}

#[tokio::test]
async fn a_cloud_whose_services_know_no_access_rules_gets_a_credential_without_them() {
    let (bench, deployment) = group().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("image".into()),
        path: Some("/v2/images*".into()),
        status: Some(401),
        times: Some(1),
        ..CallFault::default()
    }));
    let given = bench.permit(&deployment).await;
    assert!(!given.has_access_rules);
    assert_eq!(bench.credentials().len(), 1);
    let up = bench.policy(&deployment, "up").await;
    assert_eq!(bench.signalled(&up).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn a_permission_that_the_cloud_no_longer_accepts_says_so() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    let up = bench.policy(&deployment, "up").await;
    let name = bench.credentials().remove(0);
    let identity = bench.actor.session.identity();
    identity.application_credential_delete(&name).await.unwrap();
    let why = bench.refused(&up).await;
    assert!(
        why.contains("its application credential was deleted"),
        "{why}"
    );
    let shown = bench.shown(&deployment).await.permission.unwrap();
    assert_eq!(shown.problem, Some(why));

    // Its end destroys the secret, and people still see that there was one.
    assert_eq!(bench.due(24 * 60 * 31).await.len(), 0);
    let why = bench.refused(&up).await;
    assert!(
        why.contains("the permission that demo gave ended at"),
        "{why}"
    );
    assert!(bench.shown(&deployment).await.permission.is_some());
    let ended = bench
        .store
        .permission_find(&bench.tenant, &deployment)
        .await;
    assert_eq!(ended.unwrap().unwrap().sealed, None);
}

#[tokio::test]
async fn the_secret_is_sealed_and_follows_the_servers_key() {
    let mut bench = Bench::new().await;
    bench.restart_with_keys(&[1]).await.unwrap();
    let deployment = bench.deploy(GROUP).await.0.deployment;
    bench.permit(&deployment).await;
    bench.restart_with_keys(&[2, 1]).await.unwrap();
    bench.restart_with_keys(&[2]).await.unwrap();
    let permission = bench
        .store
        .permission_find(&bench.tenant, &deployment)
        .await;
    let due = bench.due(6).await;
    assert!(permission.unwrap().is_some() && due.len() == 1);
    let checked = bench.engine.check_with_permission(&due[0]).await;
    assert!(checked.unwrap().is_some(), "the new key opens it");
    let lost = bench.restart_with_keys(&[3]).await;
    assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
}

#[tokio::test]
async fn the_actor_of_a_permission_has_no_more_than_the_members_role() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    let found = bench.check_that_is_due(6).await.unwrap();
    let session = &found.actor.session;
    assert!(session.is_restricted() && session.has_role("member") && !session.has_role("admin"));
    let users = session.records(&USERS).list(&[]).await;
    assert_eq!(
        users.unwrap_err().status(),
        Some(401),
        "Keystone is closed to it"
    );
    let again = bench.try_to_permit(&found.actor, &deployment).await;
    assert!(again.is_err());
}
