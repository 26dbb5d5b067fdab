//! The server's own keys: rotation, a start without them, and servers with different ones.

use std::time::Duration;

use engine::{Error, Preview};

use crate::bench::{Bench, facts};

const PASSWORD: &str = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true, default: xyzzy}
resources:
  password: {type: OS::Heat::RandomString}
  front: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
outputs:
  password: {value: {get_attr: [password, value]}}
";

async fn password(bench: &Bench, deployment: &str) -> Option<String> {
    let shown = bench.shown(deployment).await;
    let value = shown.outputs["password"].value.as_ref()?;
    Some(value.as_str()?.to_owned())
}

#[tokio::test]
async fn secrets_are_sealed_anew_and_the_server_does_not_start_without_their_key() {
    let mut bench = Bench::new().await;
    bench.restart_with_keys(&[1]).await.unwrap();
    let (started, _) = bench.deploy(PASSWORD).await;
    let first = password(&bench, &started.deployment).await;
    assert!(first.is_some());

    let refused = bench.restart_with_keys(&[2]).await;
    let Err(Error::Unavailable(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        why.contains("sealed with a key that this server does not have"),
        "{why}"
    );

    bench.restart_with_keys(&[2, 1]).await.unwrap();
    bench.restart_with_keys(&[2]).await.unwrap();
    assert_eq!(password(&bench, &started.deployment).await, first);
    let preview = Preview {
        template: PASSWORD.into(),
        cloud: facts(),
        ..Preview::default()
    };
    let plan = bench
        .engine
        .plan(&bench.actor, preview, Some(&started.deployment));
    let steps = plan.await.unwrap().workflow.unwrap().steps;
    assert!(steps.is_empty(), "a new key changes nothing: {steps:?}");
}

#[tokio::test]
async fn servers_with_different_keys_do_not_share_a_database() {
    let bench = Bench::new().await;
    let [first, second] = store::testing::servers().await;
    let here = bench.server(&first, 1).await.unwrap();
    let Err(Error::Unavailable(why)) = bench.server(&second, 2).await else {
        panic!("it has joined");
    };
    assert!(why.contains("To change the key, stop all servers"), "{why}");
    let there = bench.server(&second, 1).await.unwrap();
    there.shutdown().await;
    here.shutdown().await;

    // Killed, so that it does not leave.
    let patience = Duration::from_secs(1);
    first.server_join(patience, "another").await.unwrap();
    let there = bench.server(&second, 2).await.unwrap();
    there.shutdown().await;
}
