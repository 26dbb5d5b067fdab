//! The log of a run as a file.

use serde_json::{Value, json};

use crate::stack::{Stack, json, problem};

const TEMPLATE: &str = "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n  back: {type: OS::Neutron::Net}\n";

#[tokio::test]
async fn a_log_is_downloaded_as_it_is_stored() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({"name": "shop", "template": TEMPLATE});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    let run = started["run"].as_str().unwrap();
    let (all, _) = crate::stream::watch(&demo, run, 0).await;
    let lines: Vec<&Value> = all.iter().filter(|event| event["type"] == "log").collect();
    assert!(!lines.is_empty(), "{all:?}");
    let path = format!("/api/v1/runs/{run}/log");

    let file = demo.get(&path).await;
    assert_eq!(file.status(), 200);
    assert_eq!(file.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(
        file.headers()["content-disposition"],
        "attachment; filename=\"run.log\""
    );
    let text = |line: &Value| {
        let part = |key: &str| line[key].as_str().unwrap().to_owned();
        format!("{}  {}  {}\n", part("time"), part("step"), part("text"))
    };
    let wanted: String = lines.iter().map(|line| text(line)).collect();
    assert_eq!(file.text().await.unwrap(), wanted);

    let read = async |query: &str| {
        let file = demo.get(&format!("{path}?format=json&{query}")).await;
        assert_eq!(file.status(), 200, "{query}");
        let text = file.text().await.unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<Value>>()
    };
    let chosen = |is_wanted: &dyn Fn(&Value) -> bool| {
        let lines = lines.iter().filter(|line| is_wanted(line));
        lines.map(|line| (*line).clone()).collect::<Vec<Value>>()
    };
    assert_eq!(read("").await, chosen(&|_| true));
    let step = lines[0]["step"].as_str().unwrap();
    let of_step = chosen(&|line| line["step"] == step);
    assert_eq!(read(&format!("step={step}")).await, of_step);
    let bad = chosen(&|line| line["level"] == "warning" || line["level"] == "error");
    assert_eq!(read("level=warning").await, bad);
    let of_engine = chosen(&|line| line["stream"] == "engine");
    assert_eq!(read("stream=engine,stderr").await, of_engine);
    assert_eq!(read("stream=stdout").await, Vec::<Value>::new());
    assert_eq!(
        read("host=front").await,
        chosen(&|line| line["host"] == "front")
    );
    let number = lines[0]["seq"].as_u64().unwrap();
    let first = chosen(&|line| line["seq"] == number);
    assert_eq!(read("limit=1").await, first);
    let range = format!("after={}&before={}", number - 1, number + 1);
    assert_eq!(read(&range).await, first);

    let wrong = demo.get(&format!("{path}?stream=stdin")).await;
    assert_eq!(problem(wrong).await, (422, "invalid-request".into()));
    let stranger = problem(other.get(&path).await).await;
    assert_eq!(stranger, (404, "not-found".into()));
}

#[tokio::test]
async fn downloads_count_as_live_streams() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--project-sockets=0"]).await;
    let demo = stack.login("demo").await;
    let request = json!({"name": "shop", "template": TEMPLATE});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    let run = started["run"].as_str().unwrap();
    let refused = demo.get(&format!("/api/v1/runs/{run}/log")).await;
    assert_eq!(problem(refused).await, (429, "too-many-streams".into()));
}
