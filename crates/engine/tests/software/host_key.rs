//! The host key that a server makes itself, in place of the one from its user data.

use super::*;

/// A private server behind a gate. Its script prints the key of its sshd, then the keys in its user data.
fn template(end: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.67.1.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  web:
    type: OS::Nova::Server
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  keys:
    type: Stackloom::Catalog::script
    properties:
      host: {{get_resource: web}}
      script: |
        cut -d ' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub
        grep -o 'ssh-ed25519 [A-Za-z0-9+/=]*' /var/lib/cloud/instance/user-data.txt
        echo {end}
outputs:
  keys: {{value: {{get_attr: [keys, stdout]}}}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn servers_make_a_host_key_of_their_own_at_the_first_login() {
    let bench = on_docker("engine-own-key", "172.31.67.0/24", BOOT).await;
    let changes = |events: &[Event]| {
        let is_change = |event: &&Event| matches!(&event.body, EventBody::Log(api::LogLine { text, .. }) if text.contains("has generated its own SSH host key"));
        events.iter().filter(is_change).count()
    };
    let pinned = async || {
        let servers = bench.actor.session.compute().server_list(&[]).await;
        let servers = servers.unwrap().into_iter();
        let keys = servers.map(|server| server.metadata["stackloom_host_key"].clone());
        keys.collect::<Vec<_>>()
    };

    let started = bench.start(&template("first")).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(changes(&events), 2, "the bastion and the server behind it");
    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let keys = deployment.outputs["keys"].value.clone().unwrap();
    let keys: Vec<&str> = keys.as_str().unwrap().lines().collect();
    let [own, given @ .., "first"] = keys.as_slice() else {
        panic!("{keys:?}");
    };
    assert!(!given.is_empty() && !given.contains(own), "{keys:?}");
    let before = pinned().await;
    assert!(before.contains(&format!("{own} own")), "{before:?}");
    assert!(before.iter().all(|key| key.ends_with(" own")), "{before:?}");

    // Later logins are verified by it.
    let update = engine::Changes {
        template: template("second"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, update);
    let (run, events) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(changes(&events), 0);
    assert_eq!(pinned().await, before);
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}
