//! An alarm of a deployment's own Prometheus scales its group.

use lab::{Lab, LabConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    lab::ended,
    stack::{Stack, json},
};

const FARM: &str = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.48.2.0/24}}
  watch:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  farm:
    type: OS::Heat::AutoScalingGroup
    depends_on: subnet
    properties:
      min_size: 1
      max_size: 2
      resource:
        type: OS::Nova::Server
        properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  more:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: farm}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
  alertmanager:
    type: Stackloom::Catalog::alertmanager
    properties:
      host: {get_resource: watch}
      webhook_urls: [{get_attr: [more, signal_url]}]
      group_wait_seconds: 1
      group_interval_seconds: 1
  prometheus:
    type: Stackloom::Catalog::prometheus
    properties:
      host: {get_resource: watch}
      interval_seconds: 1
      alertmanagers: [{get_resource: alertmanager}]
      alert_rules: |
        groups:
          - name: load
            interval: 1s
            rules:
              - {alert: Busy, expr: 'up == 1'}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_firing_alert_scales_the_group_through_its_policy() {
    let config = LabConfig::docker("api-alarm", "172.31.70.0/24".parse().unwrap());
    let lab = Lab::start(config).await.unwrap();
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let address = format!("http://172.31.70.1:{port}");
    let stack = stack.restart_with(&["--signal-url", &address]).await;
    stack.also_on(listener);
    let demo = stack.login("demo").await;
    let request = json!({"name": "farm", "template": FARM});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    let state = ended(&demo, &started).await;
    let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
    let run = json(demo.get(&run).await, 200).await;
    assert_eq!(state, "succeeded", "{run:#}");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let last_run = async || -> Value {
        let shown = json(demo.get(&path).await, 200).await;
        shown["last_run"].clone()
    };

    // Until now nobody may act on it, so the alarm was refused. It is raised again and again.
    let permission = json!({"days": 1, "scale": true});
    let permit = format!("{path}/permission");
    json(demo.post(&permit, &permission).await, 200).await;
    let scaled = async {
        while last_run().await == started["run"] {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, scaled).await.unwrap();
    let run = last_run().await;
    assert_eq!(ended(&demo, &json!({"run": run})).await, "succeeded");
    let run = format!("/api/v1/runs/{}", run.as_str().unwrap());
    let run = json(demo.get(&run).await, 200).await;
    assert_eq!(run["author"], "demo (standing permission)");
    assert_eq!(run["scaling"]["policy"], "more");
    assert_eq!(lab.model(|model| model.servers.len()), 3);

    let removing = json(demo.delete(&path).await, 202).await;
    assert_eq!(ended(&demo, &removing).await, "succeeded");
    lab.stop().await;
}
