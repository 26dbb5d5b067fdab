//! Wait conditions: signals, failures, time, crashes, updates.

use api::{EventBody, RunState, StepState};
use engine::Error;
use serde_json::{Value, json};
use store::SignalTarget;

use crate::{
    bench::{Bench, steps},
    update::to,
};

const TWO_SIGNALS: &str = "heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 300, count: 2}}
outputs:
  curl_cli: {value: {get_attr: [handle, curl_cli]}}
  endpoint: {value: {get_attr: [handle, endpoint]}}
  token: {value: {get_attr: [handle, token]}}
  signal: {value: {get_attr: [handle, signal]}}
  data: {value: {get_attr: [wait, data]}}
";

/// A wait for a single signal.
pub fn one_signal() -> String {
    TWO_SIGNALS.replace(", count: 2", "")
}

/// A handle's address: the last part of the endpoint, and the token.
type Address = (String, String);

impl Bench {
    async fn output(&self, deployment: &str, name: &str) -> Value {
        let shown = self.shown(deployment).await;
        shown.outputs[name].value.clone().unwrap_or_default()
    }

    /// The address of the handle, as its servers get it.
    async fn address(&self, deployment: &str) -> Address {
        let text = async |name| {
            self.output(deployment, name)
                .await
                .as_str()
                .unwrap()
                .to_owned()
        };
        let endpoint = text("endpoint").await;
        (
            endpoint.rsplit('/').next().unwrap().to_owned(),
            text("token").await,
        )
    }

    fn target(&self, (name, token): &Address) -> SignalTarget {
        self.engine.signal_target(name, token).unwrap()
    }

    async fn signal(&self, address: &Address, body: &Value) -> Result<(), Error> {
        let body = body.to_string();
        self.engine
            .signal(&self.target(address), body.as_bytes())
            .await
    }

    /// A server signals to the handle of a deployment, as soon as the handle has an address.
    pub async fn signals_if_it_can(&self, deployment: &str) {
        let outputs = self.shown(deployment).await.outputs;
        let text = |name: &str| Some(outputs.get(name)?.value.as_ref()?.as_str()?.to_owned());
        let (Some(endpoint), Some(token)) = (text("endpoint"), text("token")) else {
            return;
        };
        let name = endpoint.rsplit('/').next().unwrap().to_owned();
        let sent = self.signal(&(name, token), &json!({"id": "web"})).await;
        // The handle can be gone by now.
        let fits = matches!(sent, Ok(()) | Err(Error::SignalRefused));
        assert!(fits, "{sent:?}");
    }

    /// Waits until a step says a text.
    async fn until_said(&self, run: &str, wanted: &str) {
        self.until(
            run,
            |event| matches!(&event.body, EventBody::Log(line) if line.text.contains(wanted)),
        )
        .await;
    }

    /// Starts a deployment that waits, and returns the handle's address.
    async fn start_waiting(&self, template: &str) -> (api::Started, Address) {
        let started = self.start(template).await;
        self.until_said(&started.run, "it waits until").await;
        let address = self.address(&started.deployment).await;
        (started, address)
    }
}

#[tokio::test]
async fn a_wait_ends_when_enough_servers_have_signalled() {
    let bench = Bench::new().await;
    let (started, address) = bench.start_waiting(TWO_SIGNALS).await;
    let data = json!({"id": "db", "data": {"port": 5432}});
    bench.signal(&address, &data).await.unwrap();
    bench.until_said(&started.run, "1 of 2 signals").await;
    bench.signal(&address, &data).await.unwrap();
    bench
        .signal(&address, &json!({"status": "SUCCESS"}))
        .await
        .unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let data = bench.output(&started.deployment, "data").await;
    let data: Value = serde_json::from_str(data.as_str().unwrap()).unwrap();
    assert_eq!(data, json!({"db": {"port": 5432}, "2": null}));

    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let late = bench.signal(&address, &json!({})).await;
    assert!(matches!(late, Err(Error::SignalRefused)), "{late:?}");
    let left = store::testing::table(&bench.store, "signals").await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn servers_get_the_address_in_heats_form_and_nobody_else_does() {
    let bench = Bench::new().await;
    let (started, (name, token)) = bench.start_waiting(&one_signal()).await;
    let endpoint = format!("https://stackloom.example.org/signal/{name}");
    let output = async |name| bench.output(&started.deployment, name).await;
    assert_eq!(output("endpoint").await, json!(endpoint));
    assert_eq!(
        output("curl_cli").await,
        format!(
            "curl -i -X POST --retry 10 -H 'X-Auth-Token: {token}' -H 'Content-Type: application/json' \
             -H 'Accept: application/json' '{endpoint}'"
        )
    );
    let signal = json!({"alarm_url": format!("{endpoint}?signature={token}")});
    assert_eq!(output("signal").await, signal.to_string());
    let address = (name, token);
    let reason = json!({"status": "FAILURE", "reason": format!("curl sent {}", address.1)});
    bench.signal(&address, &reason).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Failed);
    for table in [
        "deployments",
        "resources",
        "runs",
        "run_contents",
        "steps",
        "log_segments",
    ] {
        let rows = store::testing::table(&bench.store, table).await;
        let found = rows.iter().find(|row| row.contains(&address.1));
        assert_eq!(found, None, "{table}");
    }
    let events = bench
        .engine
        .events(&bench.tenant, &started.run, 0, 1000)
        .await;
    let events = format!("{:?}", events.unwrap());
    assert!(events.contains("curl sent ***"), "{events}");
    assert!(!events.contains(&address.1), "{events}");
}

#[tokio::test]
async fn a_failure_ends_the_wait_at_once_and_a_resumed_run_waits_again() {
    let bench = Bench::new().await;
    let (started, address) = bench.start_waiting(TWO_SIGNALS).await;
    bench.signal(&address, &json!({"id": "web"})).await.unwrap();
    let failure = json!({"status": "FAILURE", "id": "db", "reason": "no space left"});
    bench.signal(&address, &failure).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Failed);
    assert_eq!(steps(&run)["wait:create"], (StepState::Failed, 1));
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("`wait` was signalled a failure: no space left."),
        "{reason}"
    );

    bench
        .engine
        .resume(&bench.actor, &started.run)
        .await
        .unwrap();
    bench.signal(&address, &json!({"id": "db"})).await.unwrap();
    bench.until_state(&started.run, RunState::Succeeded).await;
}

#[tokio::test]
async fn a_wait_without_enough_signals_times_out_and_says_how_many_came() {
    let bench = Bench::new().await;
    let template = TWO_SIGNALS.replace("timeout: 300", "timeout: 5");
    let (started, address) = bench.start_waiting(&template).await;
    bench.signal(&address, &json!({"id": "db"})).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Failed);
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("`wait` got 1 of 2 signals (`db`) in 5 s."),
        "{reason}"
    );
    assert_eq!(
        steps(&bench.engine.run(&bench.tenant, &started.run).await.unwrap())["wait:create"].1,
        1
    );

    // The signal that came is kept.
    bench.signal(&address, &json!({"id": "web"})).await.unwrap();
    bench
        .engine
        .resume(&bench.actor, &started.run)
        .await
        .unwrap();
    bench.until_state(&started.run, RunState::Succeeded).await;
}

#[tokio::test]
async fn a_crash_neither_loses_a_signal_nor_lengthens_the_wait() {
    let mut bench = Bench::new().await;
    let (started, address) = bench.start_waiting(TWO_SIGNALS).await;
    bench.signal(&address, &json!({"id": "db"})).await.unwrap();
    let before = bench.ids(&started.deployment).await;
    bench.crash().await;
    assert_eq!(bench.address(&started.deployment).await, address);
    bench.signal(&address, &json!({"id": "web"})).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // The end of the wait is in its id.
    assert_eq!(bench.ids(&started.deployment).await, before);
}

#[tokio::test]
async fn a_wait_whose_time_ran_out_while_no_server_ran_fails() {
    let mut bench = Bench::new().await;
    let template = TWO_SIGNALS.replace("timeout: 300", "timeout: 2");
    let (started, _) = bench.start_waiting(&template).await;
    bench.engine.shutdown().await;
    let end = bench.ids(&started.deployment).await["wait"].clone();
    let (_, end) = end.rsplit_once('@').unwrap();
    let end: i64 = end.parse().unwrap();
    bench
        .eventually("the time passes", async || {
            jiff::Timestamp::now().as_second() >= end
        })
        .await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert!(run.reason.unwrap().contains("got 0 of 2 signals in 2 s"));
}

#[tokio::test]
async fn a_wait_is_cancelled() {
    let bench = Bench::new().await;
    let (started, _) = bench.start_waiting(TWO_SIGNALS).await;
    bench
        .engine
        .cancel(&bench.tenant, &started.run)
        .await
        .unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(steps(&run)["wait:create"], (StepState::Cancelled, 1));
}

#[tokio::test]
async fn an_update_of_the_count_waits_for_the_missing_signals() {
    let bench = Bench::new().await;
    let (started, address) = bench.start_waiting(&one_signal()).await;
    bench.signal(&address, &json!({})).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    let changes = to(TWO_SIGNALS);
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes);
    let update = update.await.unwrap();
    bench.until_said(&update.run, "1 of 2 signals").await;
    assert_eq!(
        bench.address(&started.deployment).await,
        address,
        "it is the same handle"
    );
    bench.signal(&address, &json!({})).await.unwrap();
    let run = bench.end_of(&update.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(steps(&run)["wait:update"], (StepState::Succeeded, 1));
}

#[tokio::test]
async fn an_update_handle_is_replaced_each_time_and_its_old_address_is_refused() {
    let bench = Bench::new().await;
    let template = "heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::UpdateWaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 300}}
outputs:
  url: {value: {get_resource: handle}}
";
    let address = async |deployment: &str| -> Address {
        let url = bench.output(deployment, "url").await;
        let url = url.as_str().unwrap().to_owned();
        let (endpoint, token) = url.split_once("?signature=").unwrap();
        (
            endpoint.rsplit('/').next().unwrap().to_owned(),
            token.to_owned(),
        )
    };
    let started = bench.start(template).await;
    bench.until_said(&started.run, "it waits until").await;
    let first = address(&started.deployment).await;
    let cfn = json!({"Status": "SUCCESS", "UniqueId": "web", "Data": "up", "Reason": ""});
    bench.signal(&first, &cfn).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, to(template));
    let update = update.await.unwrap();
    bench.until_said(&update.run, "0 of 1 signals").await;
    let old = bench.signal(&first, &cfn).await;
    assert!(matches!(old, Err(Error::SignalRefused)), "{old:?}");
    let second = address(&started.deployment).await;
    bench.signal(&second, &cfn).await.unwrap();
    let run = bench.end_of(&update.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn nobody_waits_for_a_handle_without_signals() {
    let bench = Bench::new().await;
    let template = TWO_SIGNALS.replace(
        "WaitConditionHandle}",
        "WaitConditionHandle, properties: {signal_transport: NO_SIGNAL}}",
    );
    let deployment = bench.deployed(&template).await;
    assert_eq!(bench.output(&deployment, "signal").await, "{}");
    assert_eq!(bench.output(&deployment, "token").await, Value::Null);
}

#[tokio::test]
async fn a_signal_for_object_storage_comes_the_same_way() {
    let bench = Bench::new().await;
    let template = TWO_SIGNALS
        .replace(
            "OS::Heat::WaitConditionHandle",
            "OS::Heat::SwiftSignalHandle",
        )
        .replace("OS::Heat::WaitCondition", "OS::Heat::SwiftSignal")
        .replace("  signal: {value: {get_attr: [handle, signal]}}\n", "");
    let (started, address) = bench.start_waiting(&template).await;
    for _ in 0..2 {
        bench.signal(&address, &json!({})).await.unwrap();
    }
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn waits_do_not_keep_other_steps_from_running() {
    let bench = Bench::new().await;
    let waits: String = (0..60)
        .map(|number| {
            format!(
                "  handle_{number}: {{type: OS::Heat::WaitConditionHandle}}\n  wait_{number}: {{type: OS::Heat::WaitCondition, \
                 properties: {{handle: {{get_resource: handle_{number}}}, timeout: 300}}}}\n"
            )
        })
        .collect();
    let template = format!(
        "heat_template_version: 2021-04-16\nresources:\n{waits}  later: {{type: OS::Neutron::Net, depends_on: [{}]}}\n  \
         net: {{type: OS::Neutron::Net, depends_on: handle_59}}\n",
        "handle_0, handle_58"
    );
    let started = bench.start(&template).await;
    for step in ["net:create", "later:create"] {
        bench
            .until_step(&started.run, step, StepState::Succeeded)
            .await;
    }
    bench
        .engine
        .cancel(&bench.tenant, &started.run)
        .await
        .unwrap();
    assert_eq!(bench.end_of(&started.run).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn a_handle_of_another_kind_of_resource_takes_no_signals() {
    let bench = Bench::new().await;
    let (_, address) = bench.start_waiting(TWO_SIGNALS).await;
    for resource in ["wait", "nothing"] {
        let target = SignalTarget {
            resource: resource.into(),
            ..bench.target(&address)
        };
        let refused = bench.engine.signal(&target, b"").await;
        assert!(matches!(refused, Err(Error::SignalRefused)), "{refused:?}");
    }
    let wrong = bench
        .engine
        .signal(&bench.target(&address), b"SUCCESS")
        .await;
    assert!(matches!(wrong, Err(Error::SignalInvalid(_))), "{wrong:?}");
    let (name, token) = &address;
    let other = if token.starts_with('a') { "b" } else { "a" };
    let guessed = format!("{other}{}", &token[1..]);
    let guessed = bench.engine.signal_target(name, &guessed);
    assert!(matches!(guessed, Err(Error::SignalRefused)), "{guessed:?}");
}
