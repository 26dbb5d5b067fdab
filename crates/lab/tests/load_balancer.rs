//! Octavia's API in memory: states, the lock, the status tree, and refusals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::time::Duration;

use common::Client;
use lab::substrate::memory::MemorySubstrate;
use lab::{Backend, CallFault, Fault, Lab, LabConfig};
use serde_json::{Value, json};

const LB: &str = "/load-balancer/v2.0/lbaas";
/// Upper limit for a few calls on a busy machine.
const BUSY: Duration = Duration::from_secs(60);

struct Balancer {
    lab: Lab,
    client: Client,
    id: String,
    subnet: String,
}

impl Balancer {
    async fn new() -> Self {
        Self::changing_in(Duration::from_millis(20)).await
    }

    /// A lab in which each change takes this time.
    async fn changing_in(time: Duration) -> Self {
        let lab = Lab::start(LabConfig {
            backend: Backend::Memory(MemorySubstrate {
                active_after: time,
                gone_after: time,
            }),
            ..LabConfig::memory()
        });
        let lab = lab.await.unwrap();
        let client = Client::login(&lab, "demo").await;
        let net = client.network("networks", json!({"name": "net"})).await;
        let subnet = json!({"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4});
        let subnet = client.network("subnets", subnet).await;
        let body = json!({"loadbalancer": {"name": "lb", "vip_subnet_id": subnet}});
        let made = client.post(&format!("{LB}/loadbalancers"), body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(
            made.at("/loadbalancer/provisioning_status"),
            "PENDING_CREATE"
        );
        let id = made.at("/loadbalancer/id").as_str().unwrap().to_owned();
        let balancer = Self {
            lab,
            client,
            id,
            subnet,
        };
        balancer.settled().await;
        balancer
    }

    async fn settled(&self) {
        let path = format!("{LB}/loadbalancers/{}", self.id);
        let settled = async {
            loop {
                let shown = self.client.get(&path).await;
                if shown.at("/loadbalancer/provisioning_status") == "ACTIVE" {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let bound = tokio::time::timeout(BUSY, settled).await;
        bound.expect("the load balancer settles");
    }

    /// Creates a resource, and waits until it is ACTIVE.
    async fn make(&self, path: &str, body: Value) -> String {
        let made = self.client.post(&format!("{LB}/{path}"), body).await;
        assert_eq!(made.status, 201, "{path}: {}", made.text);
        let piece = made.body.as_object().unwrap().values().next().unwrap();
        assert_eq!(piece["provisioning_status"], "PENDING_CREATE");
        self.settled().await;
        piece["id"].as_str().unwrap().to_owned()
    }

    async fn refused(&self, path: &str, body: Value) -> (u16, String) {
        let answer = self.client.post(&format!("{LB}/{path}"), body).await;
        (
            answer.status,
            answer
                .at("/faultstring")
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    }

    async fn listener(&self) -> String {
        let body = json!({"listener": {"loadbalancer_id": self.id, "protocol": "HTTP", "protocol_port": 80}});
        self.make("listeners", body).await
    }

    async fn pool(&self, listener: &str) -> String {
        let body = json!({"pool": {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}});
        self.make("pools", body).await
    }
}

#[tokio::test]
async fn a_load_balancer_is_deleted_with_its_children() {
    let b = Balancer::new().await;
    let listener = b.listener().await;
    let pool = b.pool(&listener).await;
    let member =
        json!({"member": {"address": "10.0.0.5", "protocol_port": 80, "subnet_id": b.subnet}});
    b.make(&format!("pools/{pool}/members"), member).await;
    let path = format!("{LB}/loadbalancers/{}/status", b.id);
    let tree = b.client.get(&path).await;
    let pointer = "/statuses/loadbalancer/listeners/0/pools/0/members/0";
    assert_eq!(
        tree.at(&format!("{pointer}/operating_status")),
        "NO_MONITOR"
    );
    let monitor = json!({"healthmonitor": {"pool_id": pool, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3}});
    b.make("healthmonitors", monitor).await;
    let tree = b.client.get(&path).await;
    assert_eq!(tree.at(&format!("{pointer}/operating_status")), "ONLINE");
    assert_eq!(
        tree.at("/statuses/loadbalancer/listeners/0/pools/0/health_monitor/type"),
        "HTTP"
    );
    let one = format!("{LB}/loadbalancers/{}", b.id);
    let in_use = b.client.delete(&one).await;
    assert_eq!(
        (in_use.status, in_use.at("/faultcode").as_str()),
        (400, Some("Client"))
    );
    assert_eq!(
        b.client.delete(&format!("{one}?cascade=true")).await.status,
        204
    );
    while b.client.get(&one).await.status != 404 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let left = b
        .lab
        .model(|model| (model.balancing.len(), model.ports.len()));
    assert_eq!(left, (0, 0), "the address's port goes too");
}

/// The responses to two calls during the creation of a pool that takes `time`: creation of a second listener, and
/// deletion of the load balancer. `None` if the creation ended before the calls.
async fn answers_while_a_pool_is_made(time: Duration) -> Option<[(u16, String); 2]> {
    let b = Balancer::changing_in(time).await;
    let listener = b.listener().await;
    // The response comes before the change is complete.
    let body = json!({"pool": {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}});
    let made = b.client.post(&format!("{LB}/pools"), body).await;
    assert_eq!(made.status, 201);
    let second =
        json!({"listener": {"loadbalancer_id": b.id, "protocol": "TCP", "protocol_port": 81}});
    let (status, message) = b.refused("listeners", second).await;
    let listener = (status, message.replace(&b.id, "<id>"));
    let path = format!("{LB}/loadbalancers/{}?cascade=true", b.id);
    let itself = b.client.delete(&path).await;
    let message = itself.at("/faultstring").as_str().unwrap_or_default();
    let itself = (itself.status, message.replace(&b.id, "<id>"));
    let path = format!("{LB}/pools/{}", made.at("/pool/id").as_str().unwrap());
    let pool = b.client.get(&path).await;
    if pool.at("/pool/provisioning_status") != "PENDING_CREATE" {
        return None;
    }
    b.settled().await;
    Some([listener, itself])
}

#[tokio::test]
async fn a_load_balancer_in_change_is_immutable() {
    let mut time = Duration::from_millis(100);
    // The time for a few calls depends on the machine.
    let [listener, itself] = loop {
        if let Some(answers) = answers_while_a_pool_is_made(time).await {
            break answers;
        }
        time *= 4;
        assert!(time < BUSY, "no change goes on for as long as it is to");
    };
    let locked = "Load Balancer <id> is immutable and cannot be updated.";
    assert_eq!(listener, (409, locked.to_owned()));
    let (status, message) = itself;
    let is_pending = message.starts_with("Invalid state PENDING_UPDATE");
    assert_eq!((status, is_pending), (409, true), "{message}");
}

#[tokio::test]
async fn octavia_refuses_invalid_requests() {
    let b = Balancer::new().await;
    let listener = b.listener().await;
    let again =
        json!({"listener": {"loadbalancer_id": b.id, "protocol": "HTTP", "protocol_port": 80}});
    assert_eq!(b.refused("listeners", again).await.0, 409);
    let pool = b.pool(&listener).await;
    let second = json!({"pool": {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}});
    assert_eq!(
        b.refused("pools", second).await,
        (409, "This listener already has a default pool".into())
    );
    for (what, body) in [
        (
            "an unknown word",
            json!({"listener": {"loadbalancer_id": b.id, "protocol": "FTP", "protocol_port": 21}}),
        ),
        (
            "a port too large",
            json!({"listener": {"loadbalancer_id": b.id, "protocol": "TCP", "protocol_port": 70_000}}),
        ),
        (
            "nothing to hang on",
            json!({"listener": {"protocol": "TCP", "protocol_port": 21}}),
        ),
    ] {
        assert_eq!(b.refused("listeners", body).await.0, 400, "{what}");
    }
    let tls = json!({"listener": {"loadbalancer_id": b.id, "protocol": "TERMINATED_HTTPS", "protocol_port": 443}});
    assert_eq!(b.refused("listeners", tls).await.0, 501);
    let policy = json!({"l7policy": {"listener_id": listener, "action": "REDIRECT_TO_POOL"}});
    assert_eq!(b.refused("l7policies", policy).await.0, 400);
    let policy = json!({"l7policy": {"listener_id": listener, "action": "REDIRECT_TO_POOL", "redirect_pool_id": pool}});
    b.make("l7policies", policy).await;
    let used = b.client.delete(&format!("{LB}/pools/{pool}")).await;
    assert_eq!(used.status, 409, "{}", used.text);
    let nowhere = b
        .refused("loadbalancers", json!({"loadbalancer": {"name": "x"}}))
        .await;
    assert_eq!(nowhere.0, 400);
}

#[tokio::test]
async fn l7_policies_keep_their_order_and_other_projects_see_nothing() {
    let b = Balancer::new().await;
    let listener = b.listener().await;
    let mut ids = Vec::new();
    for position in [None, None, Some(1)] {
        let body = json!({"l7policy": {"listener_id": listener, "action": "REJECT", "position": position}});
        ids.push(b.make("l7policies", body).await);
    }
    let listed = b.client.get(&format!("{LB}/l7policies")).await;
    let positions: Vec<i64> = listed
        .at("/l7policies")
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["position"].as_i64().unwrap())
        .collect();
    assert_eq!(positions, [2, 3, 1]);
    let other = Client::login(&b.lab, "other").await;
    assert_eq!(
        other
            .get(&format!("{LB}/listeners/{listener}"))
            .await
            .status,
        404
    );
    assert_eq!(
        other.get(&format!("{LB}/listeners")).await.at("/listeners"),
        &json!([])
    );
    b.lab.faults().add(Fault::Call(CallFault {
        service: Some("load-balancer".into()),
        status: Some(503),
        ..Default::default()
    }));
    assert_eq!(
        b.client
            .get(&format!("{LB}/listeners"))
            .await
            .at("/faultcode"),
        "Server"
    );
}
