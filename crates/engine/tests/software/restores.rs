//! Restore commands whose backup is broken: they say so, and the service keeps what it has.

use super::*;
use serde_json::json;

const TEMPLATE: &str = "heat_template_version: 2021-04-16
parameters:
  password: {type: string, hidden: true, default: first-swordfish}
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.77.1.0/24}
  one:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  two:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  database:
    type: Stackloom::Catalog::mariadb
    properties: {host: {get_resource: one}, password: {get_param: password}}
  queue:
    type: Stackloom::Catalog::rabbitmq
    properties: {host: {get_resource: two}, password: {get_param: password}}
";

const ROWS: &str = "mariadb app -e 'CREATE TABLE t (i int); INSERT INTO t VALUES (1)'";
const HAS_ROWS: &str = "test \"$(mariadb -N app -e 'SELECT count(*) FROM t')\" = 1";
/// A dump whose second statement is refused, after the first one has removed the table.
const REFUSED: &str = "mkdir -p /var/backups/stackloom
printf 'DROP TABLE IF EXISTS t;\\nCREATE TABLE t (i nonsense);\\n-- Dump completed on 2999-01-01\\n' > /var/backups/stackloom/app-29990101T000000Z.sql";
/// A dump that is cut before the tables are written again.
const CUT: &str =
    "printf 'DROP TABLE IF EXISTS t;\\n' > /var/backups/stackloom/app-29990102T000000Z.sql";
const NO_DEFINITIONS: &str = "mkdir -p /var/backups/stackloom
echo '[]' > /var/backups/stackloom/rabbitmq-29990101T000000Z.json";
const HAS_USER: &str = "rabbitmqctl --quiet list_users | grep '^app'";

/// Carries out a command, and returns its run with all events as text.
async fn command(bench: &Bench, deployment: &str, request: Value) -> (Run, String) {
    let request = serde_json::from_value(request).unwrap();
    let started = bench.engine.command(&bench.actor, deployment, request);
    let (run, events) = story(bench, &started.await.unwrap().run).await;
    (run, format!("{events:?}"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_broken_backup_is_not_restored() {
    let bench = on_docker("engine-restores", "172.31.77.0/24", BOOT).await;
    let started = bench.start(TEMPLATE).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let id = started.deployment.as_str();
    let on = async |server: &str, script: &str| {
        let request = json!({"servers": [server], "script": script});
        let (run, events) = command(&bench, id, request).await;
        assert_eq!(run.state, RunState::Succeeded, "{script}: {events}");
    };
    let is_refused = async |component: &str| {
        let request = json!({"component": component, "command": "restore"});
        let (run, events) = command(&bench, id, request).await;
        assert_eq!(run.state, RunState::Failed, "{component}");
        assert!(events.contains("nothing was restored"), "{events}");
    };

    on("one", ROWS).await;
    for broken in [REFUSED, CUT] {
        on("one", broken).await;
        is_refused("database").await;
        on("one", HAS_ROWS).await;
    }
    on("two", NO_DEFINITIONS).await;
    is_refused("queue").await;
    on("two", HAS_USER).await;
    all_goes(bench, id).await;
}
