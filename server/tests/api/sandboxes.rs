//! A hostile role attacks the server out of its sandbox: with events and output without end, and with connections to
//! elsewhere. Its own step gets no further, and everybody else is served meanwhile.
//!
//! Needs Docker. The same attacks on the engine alone are in its tests `sandbox`, and hostile frames in its unit tests.

use std::{io::ErrorKind, net::TcpListener};

use lab::{Lab, LabConfig};
use serde_json::json;

use crate::{
    catalog::{packed, upload},
    lab::ended,
    pulse::Pulse,
    stack::{Stack, json},
};

const MANIFEST: &str =
    "name: hostile\ntitle: Hostile\nversion: 1.0.0\nsummary: Attacks the server.\ncategory: test\n";

const SPECS: &str = "\
argument_specs:
  main:
    options:
      host_service: {type: str, required: true, description: Address and port of a service on the host.}
";

const TASKS: &str = "\
- name: Reach elsewhere
  ansible.builtin.debug:
    msg: \"{{ [host_service, '169.254.169.254:80', '1.1.1.1:53'] | reach }}\"
- name: Flood the log
  ansible.builtin.debug:
    msg: \"{{ 100 | flood('lines') }}\"
- name: Flood the events
  ansible.builtin.debug:
    msg: \"{{ 100 | flood('events') }}\"
";

/// Filters run in the sandbox, beside Ansible, whose standard output leads to the engine.
const FILTERS: &str = r#"
import json
import os
import socket


def reach(places):
    results = []
    for place in places:
        host, port = place.rsplit(":", 1)
        try:
            socket.create_connection((host, int(port)), timeout=3).close()
            results.append("REACHED " + place)
        except OSError:
            results.append("not reached: " + place)
    return results


def flood(megabytes, kind):
    told = {"name%d" % number: "x" * 900 for number in range(1000)}
    event = json.dumps({"event": "stats", "hosts": {}, "told": told})
    line = event if kind == "events" else "y" * 1000
    piece = (line + "\n") * (1 + 1000000 // len(line))
    with open("/proc/%d/fd/1" % os.getppid(), "w") as output:
        for _ in range(megabytes):
            output.write(piece)
    return "done"


class FilterModule:
    def filters(self):
        return {"reach": reach, "flood": flood}
"#;

fn template(host_service: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  subnet: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.74.1.0/24}}}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: net}}}}]}}
  bad: {{type: Stackloom::Catalog::hostile, properties: {{host: {{get_resource: web}}, host_service: '{host_service}'}}}}
"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_hostile_role_reaches_nothing_fills_nothing_and_delays_nobody() {
    let config = LabConfig::docker("api-hostile", "172.31.74.0/24".parse().unwrap());
    let lab = Lab::start(config).await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let stack = stack.restart_with(&["--step-log-mib=1"]).await;
    let demo = stack.login("demo").await;
    let role = packed(&[
        ("item.yml", MANIFEST),
        ("meta/argument_specs.yml", SPECS),
        ("tasks/main.yml", TASKS),
        ("filter_plugins/hostile.py", FILTERS),
    ]);
    json(upload(&demo, role).await, 201).await;

    let service = TcpListener::bind("0.0.0.0:0").unwrap();
    service.set_nonblocking(true).unwrap();
    let port = service.local_addr().unwrap().port();
    let pulse = Pulse::of(&stack);
    let on_the_host = format!("172.31.74.1:{port}");
    let template = template(&on_the_host);
    let request = json!({"name": "hostile", "template": template});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    let state = ended(&demo, &started).await;
    pulse.check("a hostile role");
    let run = started["run"].as_str().unwrap();
    let log = demo.get(&format!("/api/v1/runs/{run}/log")).await;
    let log = log.text().await.unwrap();
    let end: String = log.chars().rev().take(2000).collect();
    let end: String = end.chars().rev().collect();
    assert!(["succeeded", "failed"].contains(&state.as_str()), "{end}");

    for place in [on_the_host.as_str(), "169.254.169.254:80", "1.1.1.1:53"] {
        let refused = format!("not reached: {place}");
        assert!(log.contains(&refused), "{refused}: {end}");
    }
    assert!(!log.contains("REACHED "), "{end}");
    let called = service.accept().unwrap_err();
    assert_eq!(called.kind(), ErrorKind::WouldBlock);
    assert!(log.len() < 4 << 20, "{} bytes of log", log.len());
    assert!(log.contains("not stored"), "{end}");

    let path = started["deployment"].as_str().unwrap();
    let gone = demo.delete(&format!("/api/v1/deployments/{path}")).await;
    let gone = json(gone, 202).await;
    assert_eq!(ended(&demo, &gone).await, "succeeded");
    lab.stop().await;
}
