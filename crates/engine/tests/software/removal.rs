//! A component that is removed from the design while its server stays.

use api::{CommandRequest, CommandServers};

use super::*;

/// A server, and what is on it.
fn template(software: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.56.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
{software}"
    )
}

const COMPONENT: &str = "  word: {type: OS::Heat::RandomString}
  note:
    type: Stackloom::Catalog::leaving
    properties: {host: {get_resource: web}, word: {get_attr: [word, value]}}
";

const LOOK: &str = "  look:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'test ! -e /root/note && test -e /root/tried && test -e /root/handled'}
  looked:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: look}, server: {get_resource: web}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_removal_that_failed_is_tried_again_until_the_component_is_off_its_server() {
    let bench = on_docker_with(ITEMS, "engine-removal", "172.31.56.0/24", BOOT).await;
    let started = bench.start(&template(COMPONENT)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let update = async |software: &str| {
        let changes = engine::Changes {
            template: template(software),
            cloud: bench::facts(),
            ..engine::Changes::default()
        };
        let update = bench
            .engine
            .update(&bench.actor, &started.deployment, changes);
        story(&bench, &update.await.unwrap().run).await.0
    };
    let recorded = async || {
        let shown = bench.engine.deployment(&bench.tenant, &started.deployment);
        let resources = shown.await.unwrap().resources.into_iter();
        let names = resources.map(|one| one.name);
        names
            .filter(|name| name == "note" || name == "word")
            .count()
    };

    let run = update("").await;
    assert_eq!(run.state, RunState::Failed);
    let error = error_of(&run, "note:delete");
    assert!(error.contains("the file is in use"), "{error}");
    assert_eq!(
        recorded().await,
        2,
        "the value that it was set up with stays too"
    );

    let run = update("").await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(recorded().await, 0);
    let run = update(LOOK).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

const FIRST_MEMBER: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.60.1.0/24}
  one:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  two:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  member1:
    type: Stackloom::Catalog::etcd
    properties: {host: {get_resource: one}}
";

const SECOND_MEMBER: &str = "  member2:
    type: Stackloom::Catalog::etcd
    properties: {host: {get_resource: two}, members: [{get_resource: member1}]}
";

/// The removal of a member, until the member has left its cluster.
const HALF_A_REMOVAL: &str = "set -e
touch /var/lib/etcd/stackloom.leaving
member=$(etcdctl member list | grep ', member2, ' | cut -d, -f1)
etcdctl member remove \"$member\"
systemctl disable --now etcd
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_member_of_etcd_is_removed_after_it_has_left_its_cluster_and_its_data_go() {
    let bench = on_docker("engine-member", "172.31.60.0/24", BOOT).await;
    let both = format!("{FIRST_MEMBER}{SECOND_MEMBER}");
    let started = bench.start(&both).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let id = &started.deployment;
    let succeeds_on = async |server: &str, script: &str| {
        let request = CommandRequest {
            servers: Some(CommandServers::Named(vec![server.into()])),
            script: Some(script.into()),
            ..CommandRequest::default()
        };
        let command = bench.engine.command(&bench.actor, id, request).await;
        let (run, _) = story(&bench, &command.unwrap().run).await;
        assert_eq!(run.state, RunState::Succeeded, "{script}: {run:#?}");
    };
    succeeds_on("two", HALF_A_REMOVAL).await;

    let changes = engine::Changes {
        template: FIRST_MEMBER.to_owned(),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench.engine.update(&bench.actor, id, changes).await;
    let (run, _) = story(&bench, &update.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let nothing_left = "test -z \"$(ls -d /var/lib/etcd/stackloom* /etc/default/etcd)\"";
    succeeds_on("two", nothing_left).await;
    let is_alone = "test \"$(etcdctl member list | wc -l)\" = 1 && etcdctl endpoint health";
    succeeds_on("one", is_alone).await;
    all_goes(bench, id).await;
}
