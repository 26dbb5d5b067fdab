//! Names and markers: the template's names are the cloud's, and attributes do not contain markers.

use api::RunState;
use lab::{CallFault, Fault};
use openstack::key_manager::Kind;
use serde_json::json;

use crate::bench::Bench;

const NAMED: &str = "heat_template_version: 2021-04-16
resources:
  near: {type: OS::Nova::ServerGroup, properties: {name: d5-group, policies: [affinity]}}
  word: {type: OS::Barbican::Secret, properties: {name: d5-secret, payload: plain, payload_content_type: text/plain}}
";

impl Bench {
    /// Ids of all server groups with a name.
    async fn groups_named(&self, name: &str) -> Vec<String> {
        let groups = self
            .actor
            .session
            .compute()
            .server_group_list()
            .await
            .unwrap();
        let same = groups.into_iter().filter(|group| group.name == name);
        same.map(|group| group.id).collect()
    }

    async fn strangers_group(&self, name: &str) -> String {
        let compute = self.actor.session.compute();
        let made = compute.server_group_create(name, "affinity", None).await;
        made.unwrap().id
    }

    /// Server groups are created 300 ms after their connection has ended.
    fn create_groups_late(&self) {
        self.lab.faults().add(Fault::Call(CallFault {
            service: Some("compute".into()),
            method: Some("POST".into()),
            path: Some("*/os-server-groups".into()),
            commits_after_ms: Some(300),
            ..CallFault::default()
        }));
    }

    async fn until_a_group_is_asked_for(&self) {
        self.eventually("a server group is asked for", async || {
            let calls = self.lab.faults().calls();
            calls
                .iter()
                .any(|call| call.method == "POST" && call.path.ends_with("/os-server-groups"))
        })
        .await;
    }
}

#[tokio::test]
async fn the_cloud_shows_the_templates_names() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(NAMED).await;
    assert_eq!(bench.groups_named("d5-group").await.len(), 1);
    let keys = bench.actor.session.key_manager();
    assert_eq!(
        keys.ids_by_name(Kind::Secret, "d5-secret")
            .await
            .unwrap()
            .len(),
        1
    );
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A server group's name is its only marker: a group that appeared under this name after the request comes from the
/// request.
#[tokio::test]
async fn after_a_crash_a_named_resource_is_told_from_an_older_one_of_the_same_name() {
    let mut bench = Bench::new().await;
    let strangers = bench.strangers_group("d5-group").await;
    bench.lab.faults().clear_calls();
    bench.create_groups_late();
    let started = bench.start(NAMED).await;
    bench.until_a_group_is_asked_for().await;
    bench.engine.shutdown().await;
    bench
        .eventually("the request is carried out", async || {
            bench.groups_named("d5-group").await.len() == 2
        })
        .await;
    bench.lab.faults().clear();
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(
        bench.groups_named("d5-group").await.len(),
        2,
        "it is adopted, no third is made"
    );

    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.groups_named("d5-group").await, [strangers]);
}

/// A request is carried out after the restarted engine has created another group. Nothing distinguishes that late group
/// from another user's.
#[tokio::test]
async fn a_named_resource_created_late_is_reported_and_not_removed() {
    let mut bench = Bench::new().await;
    bench.lab.faults().clear_calls();
    bench.create_groups_late();
    let started = bench.start(NAMED).await;
    bench.until_a_group_is_asked_for().await;
    bench.lab.faults().clear();
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    bench
        .eventually("the late one is there", async || {
            bench.groups_named("d5-group").await.len() == 2
        })
        .await;
    let strays = bench
        .engine
        .strays(&bench.actor, &started.deployment)
        .await
        .unwrap();
    let [stray] = strays.as_slice() else {
        panic!("one stray: {strays:?}");
    };
    assert_eq!(
        (stray.resource.as_str(), stray.name.as_deref()),
        ("near", Some("d5-group"))
    );
    assert!(
        stray
            .why_kept
            .as_deref()
            .unwrap()
            .contains("remove it if it is not yours")
    );

    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded);
    assert!(
        run.reason.unwrap().contains(&stray.physical_id),
        "the run names what it leaves"
    );
    assert_eq!(
        bench.groups_named("d5-group").await,
        std::slice::from_ref(&stray.physical_id)
    );
}

#[tokio::test]
async fn attributes_have_no_markers() {
    let bench = Bench::new().await;
    let (started, run) = bench
        .deploy(
            "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  group: {type: OS::Neutron::SecurityGroup, properties: {description: mine}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1, metadata: {tier: data}}}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  web:
    type: OS::Nova::Server
    depends_on: sub
    properties: {image: debian-12, flavor: m1.tiny, tags: [blue], metadata: {tier: web}, networks: [{network: {get_resource: net}}]}
outputs:
  disk: {value: {get_attr: [disk, metadata_values]}}
  group: {value: {get_attr: [group, show, description]}}
  tags: {value: {get_attr: [web, tags]}}
  metadata: {value: {get_attr: [web, show, metadata]}}
",
        )
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await;
    let shown = shown.unwrap();
    let output = |name: &str| shown.outputs[name].value.clone().unwrap();
    assert_eq!(output("disk"), json!({"tier": "data"}));
    assert_eq!(output("group"), "mine");
    assert_eq!(output("tags"), json!(["blue"]));
    assert_eq!(output("metadata"), json!({"tier": "web"}));
}
