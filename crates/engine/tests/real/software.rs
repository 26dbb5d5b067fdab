//! The demo with software on real guests: a script on a private server, through the bastion.
//!
//! It needs a cloud whose floating IPs can be reached from this machine, an image with cloud-init and Python, and
//! Docker with the sandbox image. Guests can be slow: the time limit is half an hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use api::{EventBody, LogStream, StepState};
use serde_json::{Value, json};

use super::assert_succeeded;
use super::place::{Place, real_cloud};

const DEMO: &str = include_str!("software.yaml");

#[tokio::test(flavor = "multi_thread")]
#[ignore = "boots real guests: wants Docker and STACKLOOM_CONTRACT_IMAGE, _FLAVOR, _ZONE"]
async fn a_script_runs_on_a_private_server() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_with(&clouds, &name, |config| {
        config.catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog").into();
        config.ssh_timeout = Duration::from_secs(1800);
        if let Ok(image) = std::env::var("STACKLOOM_SANDBOX_IMAGE") {
            config.sandbox_image = image;
        }
    })
    .await;
    let before = place.belongings().await;
    let outside = place
        .actor
        .session
        .network()
        .external_networks()
        .await
        .unwrap();
    let mut parameters = BTreeMap::from([("outside".to_owned(), json!(outside[0].id))]);
    for name in ["image", "flavor", "zone"] {
        let variable = format!("STACKLOOM_CONTRACT_{}", name.to_uppercase());
        let value = std::env::var(&variable).unwrap_or_else(|_| panic!("{variable} is not set"));
        parameters.insert(name.to_owned(), Value::String(value));
    }
    let started = place.deploy("contract-software", DEMO, parameters).await;
    let begun = Instant::now();
    let run = place
        .end_of(&started.run, |event| {
            let at = begun.elapsed().as_secs();
            match event {
                EventBody::Step {
                    step, state, error, ..
                } if *state != StepState::Queued => {
                    let why = error.as_ref().map(|error| format!(": {error:?}"));
                    eprintln!("{at:>4} s  {step}  {state:?}{}", why.unwrap_or_default());
                }
                EventBody::Log(api::LogLine { stream, text, .. })
                    if *stream == LogStream::Ansible =>
                {
                    eprintln!("{at:>4} s    {text}");
                }
                _ => {}
            }
        })
        .await;
    eprintln!("deployed in {:.0} s", begun.elapsed().as_secs_f32());
    let shown = place.engine.deployment(&place.tenant, &started.deployment);
    let output = shown.await.unwrap().outputs["said"].value.clone();
    let ended = place.undeploy(&started.deployment).await;
    let begun = Instant::now();
    let end = place.end_of(&ended.run, |_| {}).await;
    eprintln!("undeployed in {:.0} s", begun.elapsed().as_secs_f32());
    assert_succeeded(&run);
    assert_eq!(output, Some(json!("woven on data, for contract")));
    assert_succeeded(&end);
    assert_eq!(place.belongings().await, before);
}
