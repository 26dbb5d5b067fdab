//! Standing permissions: given, used by signals and by checks at an interval, revoked, expired, refused.

use api::{Permission, PermissionRequest, PermittedActions, RunState};
use engine::{Actor, DueCheck, Error, PermittedCheck, PolicySignal, Result};
use jiff::{SignedDuration, Timestamp};
use lab::{CallFault, Fault};
use openstack::{
    Credentials, Scope, Session,
    application_credentials::{AccessRule, NewApplicationCredential},
    identity::{self, Grant, RoleTarget, USERS},
    network::Network,
};
use serde_json::json;
use store::SignalTarget;

use crate::{
    bench::{Bench, facts},
    groups::policy,
    update::to,
};

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

    /// The reason why a signal does nothing.
    async fn ignored(&self, target: &SignalTarget, body: &str) -> String {
        match self.engine.policy_signal(target, body.as_bytes()).await {
            Ok(PolicySignal::Nothing(why)) => why,
            Ok(PolicySignal::Scaling(scaling)) => panic!("{}", scaling.summary),
            Err(error) => panic!("{error}"),
        }
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

    /// Deletes a network behind our back.
    async fn lose(&self, deployment: &str, resource: &str) {
        let ids = self.ids(deployment).await;
        let network = self.actor.session.network();
        network.delete::<Network>(&ids[resource]).await.unwrap();
    }
}

async fn group() -> (Bench, String) {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(GROUP).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    (bench, started.deployment)
}

#[tokio::test]
async fn a_signal_to_a_policy_scales_its_group_while_nobody_is_logged_in() {
    let (bench, deployment) = group().await;
    let (up, down) = (
        bench.policy(&deployment, "up").await,
        bench.policy(&deployment, "down").await,
    );
    let why = bench.refused(&up).await;
    assert!(
        why.contains("nobody has permitted this deployment to scale by itself"),
        "{why}"
    );

    let given = bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    assert_eq!(
        (given.author.as_str(), given.has_access_rules),
        ("demo", true)
    );
    assert!(!given.opens_secrets, "the cloud has a key manager");
    let end: Timestamp = given.expires.parse().unwrap();
    assert_eq!(
        end.duration_since(given.created.parse().unwrap())
            .as_hours(),
        24 * 30
    );
    assert_eq!(bench.shown(&deployment).await.permission, Some(given));
    bench.lab.model(|model| {
        let row = model
            .identity
            .application_credentials
            .iter()
            .next()
            .unwrap();
        assert_eq!(
            (row.roles.as_slice(), row.unrestricted),
            (&["member".to_owned()][..], false)
        );
        let rules = row.access_rules.iter().flatten();
        let services: Vec<_> = rules.map(|rule| rule.service.as_str()).collect();
        assert!(services.contains(&"compute") && !services.contains(&"object-store"));
    });

    let resolved = r#"{"version": "4", "status": "resolved"}"#;
    let why = bench.ignored(&up, resolved).await;
    assert_eq!(why, "the alarm is not raised, so the group stays as it is");
    let unchanged = bench.ignored(&down, "").await;
    assert!(
        unchanged.contains("`down` changes nothing now"),
        "{unchanged}"
    );

    let run = bench.signalled(&up).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(run.author, "demo (standing permission)");
    let scaling = run.scaling.unwrap();
    assert_eq!((scaling.from, scaling.to), (1, 3));
    let firing = r#"{"version": "4", "status": "firing"}"#;
    let cooldown = bench.ignored(&down, firing).await;
    assert!(
        cooldown.contains("`web` was scaled a short time ago"),
        "{cooldown}"
    );
    let invalid = bench.engine.policy_signal(&up, b"up!").await;
    assert!(matches!(invalid, Err(Error::SignalInvalid(_))));

    bench.undeploy(&deployment).await;
    assert_eq!(bench.credentials(), Vec::<String>::new());
    for table in ["permissions", "unused_credentials"] {
        assert_eq!(bench.table(table).await, Vec::<String>::new(), "{table}");
    }
    let late = bench.policy_signal(&up).await;
    assert!(matches!(late, Err(Error::NotPossibleNow(_))));
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_signal_during_a_run_is_refused() {
    let (bench, deployment) = group().await;
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    let up = bench.policy(&deployment, "up").await;
    bench.lab.faults().add(Fault::Call(CallFault {
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
    let scaled = bench
        .engine
        .scale(&bench.actor, &deployment, "web", size, facts());
    let run = scaled.await.unwrap().run;
    let busy = bench.policy_signal(&up).await;
    assert!(matches!(busy, Err(Error::Busy(by)) if by == run));
    bench.end_of(&run).await;

    // The same while the group is updated: the update goes on, and the group keeps its size.
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("PUT".into()),
        times: Some(1),
        delay_ms: 500,
        ..CallFault::default()
    }));
    let renamed = GROUP.replace(
        "OS::Neutron::Net}",
        "OS::Neutron::Net, properties: {name: n}}",
    );
    let update = bench.engine.update(&bench.actor, &deployment, to(&renamed));
    let run = update.await.unwrap().run;
    let busy = bench.policy_signal(&up).await;
    assert!(matches!(busy, Err(Error::Busy(by)) if by == run));
    let by_hand = bench.try_scale(&deployment, policy("up")).await;
    assert!(matches!(by_hand, Err(Error::Busy(by)) if by == run));
    let run = bench.end_of(&run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.shown(&deployment).await.groups[0].size, 2);
}

#[tokio::test]
async fn somebody_else_revokes_it_and_its_owners_next_login_deletes_the_credential() {
    let (bench, deployment) = group().await;
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
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

    // An undeployment by somebody else does the same.
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
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
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    let first = bench.credentials();
    let request = may(false, Some(1), false);
    let given = bench
        .engine
        .give_permission(&bench.actor, &deployment, request);
    given.await.unwrap();
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
        let given = bench
            .engine
            .give_permission(&bench.actor, &deployment, request);
        assert_eq!(given.await.unwrap_err().code(), "not-possible-now");
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
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
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
    let given = bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    assert!(!given.has_access_rules);
    assert_eq!(bench.credentials().len(), 1);
    let up = bench.policy(&deployment, "up").await;
    assert_eq!(bench.signalled(&up).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn a_permission_that_the_cloud_no_longer_accepts_says_so() {
    let (bench, deployment) = group().await;
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
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
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
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
async fn a_check_at_its_interval_finds_what_is_lost_and_repairs_it() {
    let (bench, deployment) = group().await;
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    assert_eq!(bench.due(4).await.len(), 0);
    let whole = bench.check_that_is_due(6).await.unwrap();
    assert_eq!(whole.check.findings, []);
    assert!(whole.repair.is_none());
    assert_eq!(bench.due(7).await.len(), 0, "the next one is later");

    bench.lose(&deployment, "web/0").await;
    let found = bench.check_that_is_due(12).await.unwrap();
    assert_eq!(found.check.author, "demo (standing permission)");
    let repair = found.repair.unwrap();
    let repaired = bench
        .engine
        .repair(&found.actor, &deployment, repair, facts());
    let run = bench.end_of(&repaired.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let whole = bench.check_that_is_due(18).await.unwrap();
    assert_eq!(whole.check.findings, []);
}

#[tokio::test]
async fn a_check_repairs_nothing_without_permission_or_after_a_failure() {
    let (bench, deployment) = group().await;
    let request = may(false, Some(5), false);
    let given = bench
        .engine
        .give_permission(&bench.actor, &deployment, request);
    given.await.unwrap();
    bench.lose(&deployment, "web/0").await;
    let found = bench.check_that_is_due(6).await.unwrap();
    assert!(found.check.has_damage() && found.repair.is_none());

    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let found = bench.check_that_is_due(12).await.unwrap();
    let repaired = bench
        .engine
        .repair(&found.actor, &deployment, found.repair.unwrap(), facts());
    let run = bench.end_of(&repaired.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Failed);
    let found = bench.check_that_is_due(18).await.unwrap();
    assert!(found.repair.is_none(), "a person looks at the failure");
}

#[tokio::test]
async fn a_check_that_is_due_during_a_run_waits_for_the_next_interval() {
    let (bench, deployment) = group().await;
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
    bench.lab.faults().add(Fault::Call(CallFault {
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
    let scaled = bench
        .engine
        .scale(&bench.actor, &deployment, "web", size, facts());
    let run = scaled.await.unwrap().run;
    assert!(bench.check_that_is_due(6).await.is_none());
    bench.end_of(&run).await;
    assert!(bench.check_that_is_due(12).await.is_some());
}

#[tokio::test]
async fn the_actor_of_a_permission_has_no_more_than_the_members_role() {
    let (bench, deployment) = group().await;
    bench
        .try_to_permit(&bench.actor, &deployment)
        .await
        .unwrap();
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
