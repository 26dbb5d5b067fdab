//! Nova: instance actions, which report failures of accepted requests.

use std::time::{Duration, Instant};

use openstack::{Method, Microversion};
use serde_json::{Value, json};

use crate::compute::{NOVA, server};
use crate::world::{Response, World, case};

/// An action ends soon after its server is idle.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Default microversion of our client. Owners see events since 2.51.
const OURS: Microversion = Microversion(2, 52);

async fn get(w: &World, address: &str) -> Response {
    w.ask(NOVA, Method::GET, address, None, Some(OURS)).await
}

#[tokio::test]
async fn a_servers_actions() {
    case("actions", &[], async |w| {
        let (id, _) = server(w, json!({})).await;
        let path = format!("servers/{id}");
        let actions = format!("{path}/os-instance-actions");
        let stop = Some(json!({"os-stop": null}));
        let response = w
            .ask(
                NOVA,
                Method::POST,
                &format!("{path}/action"),
                stop,
                Some(OURS),
            )
            .await;
        w.status("stopping", &response, 202);
        w.until(NOVA, &path, |response| {
            response.text("/server/status") == "SHUTOFF"
        })
        .await;
        let response = get(w, &actions).await;
        w.status("its actions", &response, 200);
        let names: Vec<Value> = response
            .list("instanceActions")
            .into_iter()
            .map(|action| action["action"].clone())
            .collect();
        w.is("they come newest first", names, json!(["stop", "create"]));
        let newest = response.at("/instanceActions/0");
        let fields = [
            "action",
            "instance_uuid",
            "request_id",
            "user_id",
            "project_id",
            "start_time",
            "message",
        ];
        w.has("an action", &newest, &fields);
        w.is("it went well", newest["message"].clone(), Value::Null);

        let request = newest["request_id"].as_str().unwrap_or_default();
        let one = format!("{actions}/{request}");
        // The server can be idle a moment before the end of its action.
        let begin = Instant::now();
        let mut response = get(w, &one).await;
        while response
            .at("/instanceAction/events/0/finish_time")
            .is_null()
            && begin.elapsed() < PATIENCE
        {
            tokio::time::sleep(LOOK_EVERY).await;
            response = get(w, &one).await;
        }
        w.status("one action", &response, 200);
        w.has("one action", &response.body["instanceAction"], &fields);
        let event = response.at("/instanceAction/events/0");
        w.has(
            "an event",
            &event,
            &["event", "start_time", "finish_time", "result"],
        );
        w.is("its name", event["event"].clone(), "compute_stop_instance");
        w.is("its result", event["result"].clone(), "Success");
        w.is(
            "its owner sees no traceback",
            event["traceback"].clone(),
            Value::Null,
        );
        let response = get(w, &format!("{actions}/req-none")).await;
        w.refused(
            "an action that is not there",
            &response,
            404,
            "itemNotFound",
        );

        let response = w.delete(NOVA, &path).await;
        w.status("DELETE of a server", &response, 204);
        w.until(NOVA, &path, |response| response.status == 404)
            .await;
        let response = get(w, &actions).await;
        w.is(
            "the last action of a server that is gone",
            response.at("/instanceActions/0/action"),
            "delete",
        );
    })
    .await;
}
