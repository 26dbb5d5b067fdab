//! Starter designs, deployed and used as their users would. Only the flavor is another, which the tests' facts know.

use std::collections::{BTreeMap, BTreeSet};

use api::{CommandRequest, CommandServers};

use super::*;

const SERVER: &str = include_str!("../../../../app/src/starters/server.yaml");
const PROXY: &str = include_str!("../../../../app/src/starters/proxy.yaml");
const BALANCED: &str = include_str!("../../../../app/src/starters/balanced.yaml");
const NETWORK: &str = include_str!("../../../../app/src/starters/network.yaml");
const BASTION: &str = include_str!("../../../../app/src/starters/bastion.yaml");
const WORDPRESS: &str = include_str!("../../../../app/src/starters/wordpress.yaml");
const TIERS: &str = include_str!("../../../../app/src/starters/tiers.yaml");
const FARM: &str = include_str!("../../../../app/src/starters/farm.yaml");
const REPLICA: &str = include_str!("../../../../app/src/starters/replica.yaml");
const MONITORING: &str = include_str!("../../../../app/src/starters/monitoring.yaml");
const BATCH: &str = include_str!("../../../../app/src/starters/batch.yaml");
const QUEUE: &str = include_str!("../../../../app/src/starters/queue.yaml");

/// The names in the folder of the starters are those of the constants above, which the compiler wants to be used.
#[test]
fn each_starter_is_deployed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../app/src/starters");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let line = format!("app/src/starters/{name}\"");
        assert!(include_str!("starters.rs").contains(&line), "{name}");
    }
}

fn small(template: &str) -> String {
    template.replace("m1.small", "m1.tiny")
}

async fn output(bench: &Bench, deployment: &str, name: &str) -> String {
    let shown = bench.engine.deployment(&bench.tenant, deployment).await;
    let value = shown.unwrap().outputs[name].value.clone();
    value.unwrap().as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn small_designs_serve_their_pages() {
    let designs = [
        (SERVER, "Hello from one small server."),
        (PROXY, "Woven by Stackloom."),
        (BALANCED, "Served by one of two."),
    ];
    for (template, page) in designs {
        let bench = on_docker("engine-small", "172.31.74.0/24", BOOT).await;
        let started = bench.start(&small(template)).await;
        let (run, _) = story(&bench, &started.run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        let url = output(&bench, &started.deployment, "url").await;
        // HAProxy asks one web server after the other.
        for _ in 0..2 {
            let answer = fetch(&url).await;
            assert!(answer.contains(page), "{page}: {answer}");
        }
        all_goes(bench, &started.deployment).await;
    }
    let bench = on_docker("engine-small", "172.31.74.0/24", BOOT).await;
    let started = bench.start(&small(NETWORK)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_private_server_gets_software_through_its_bastion() {
    let bench = on_docker("engine-bastion", "172.31.75.0/24", BOOT).await;
    let started = bench.start(&small(BASTION)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let addresses = output(&bench, &started.deployment, "addresses").await;
    assert!(addresses.starts_with("10.46.0."), "{addresses}");
    all_goes(bench, &started.deployment).await;
}

/// The answer of WordPress to a login.
async fn log_in(url: &str, password: &str) -> String {
    let form = format!("log=admin&pwd={password}");
    ask(url, "POST /wp-login.php HTTP/1.0", &form).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn wordpress_gets_its_database_over_the_connection() {
    let bench = on_docker("engine-wordpress", "172.31.42.0/24", BOOT).await;
    let with = |password: &str, title: &str| {
        BTreeMap::from([
            ("admin_password".to_owned(), password.into()),
            ("site_title".to_owned(), title.into()),
        ])
    };
    let started = bench
        .try_deploy(
            "blog",
            &small(WORDPRESS),
            with("first-secret", "A tale of two"),
        )
        .await
        .unwrap();
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let secret = |secret: &str| {
        let mut events = events.iter();
        events.any(|event| format!("{event:?}").contains(secret))
    };
    assert!(!secret("first-secret"), "a password is in the log");

    let url = output(&bench, &started.deployment, "url").await;
    let page = fetch(&url).await;
    assert!(page.contains("A tale of two"), "{page}");
    assert!(
        log_in(&url, "first-secret")
            .await
            .contains("wordpress_logged_in")
    );
    assert!(
        !log_in(&url, "other-secret")
            .await
            .contains("wordpress_logged_in")
    );

    let changes = engine::Changes {
        template: small(WORDPRESS),
        parameters: with("other-secret", "A tale of two"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes)
        .await
        .unwrap();
    let (run, _) = story(&bench, &update.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(
        log_in(&url, "other-secret")
            .await
            .contains("wordpress_logged_in")
    );
    assert!(
        !log_in(&url, "first-secret")
            .await
            .contains("wordpress_logged_in")
    );
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn two_web_servers_are_one_site() {
    let bench = on_docker("engine-tiers", "172.31.68.0/24", BOOT).await;
    let parameters = BTreeMap::from([("admin_password".to_owned(), "first-secret".into())]);
    let started = bench.try_deploy("farm", &small(TIERS), parameters).await;
    let started = started.unwrap();
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let url = output(&bench, &started.deployment, "url").await;
    assert!(fetch(&url).await.contains("My site"));

    let answer = log_in(&url, "first-secret").await;
    let cookies = answer.lines().filter_map(|line| {
        let (name, cookie) = line.split_once(": ")?;
        let is_cookie = name.eq_ignore_ascii_case("set-cookie");
        cookie.split(';').next().filter(|_| is_cookie)
    });
    let cookies: Vec<&str> = cookies.collect();
    assert!(!cookies.is_empty(), "{answer}");
    // HAProxy asks one web server after the other.
    for _ in 0..4 {
        let request = format!(
            "GET /wp-admin/profile.php HTTP/1.0\r\nCookie: {}",
            cookies.join("; ")
        );
        let profile = ask(&url, &request, "").await;
        assert!(
            profile.contains("Edit Profile") || profile.contains("<title>Profile"),
            "{profile}"
        );
    }
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn the_servers_of_a_farm_count_visits_in_one_database() {
    let bench = on_docker("engine-farm", "172.31.66.0/24", BOOT).await;
    let started = bench.start(&small(FARM)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let url = output(&bench, &started.deployment, "url").await;
    let (mut last, mut servers) = (0, BTreeSet::new());
    // HAProxy asks one web server after the other.
    for _ in 0..4 {
        let page = fetch(&url).await;
        let (_, visit) = page.split_once("Visit ").expect(&page);
        let (number, server) = visit.split_once(", served by ").expect(&page);
        let number: u32 = number.parse().unwrap();
        assert!(number > last, "{last}: {page}");
        last = number;
        servers.insert(server.to_owned());
    }
    let both = ["shop-web1.", "shop-web2."].map(str::to_owned);
    assert_eq!(servers, BTreeSet::from(both));
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn prometheus_has_all_its_targets_up() {
    let bench = on_docker("engine-monitoring", "172.31.41.0/24", BOOT).await;
    let started = bench.start(&small(MONITORING)).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let confirmed = "Health check of `prometheus` passed: All targets are up";
    assert!(is_logged(&events, confirmed));
    let url = output(&bench, &started.deployment, "url").await;
    let up = async || {
        let query = "GET /api/v1/query?query=sum(up) HTTP/1.0";
        ask(&url, query, "").await.contains(",\"3\"]")
    };
    bench.eventually("two servers and itself are up", up).await;
    all_goes(bench, &started.deployment).await;
}

/// A client beside the replica, whose server alone may reach the primary: it writes a row on the primary, and reads until the
/// replica has it.
const CLIENT: &str = r#"
  client:
    type: Stackloom::Catalog::script
    depends_on: replica
    properties:
      host: {get_resource: second}
      secret_variables: {PGPASSWORD: {get_attr: [password, value]}}
      arguments: [{get_attr: [first, first_address]}, {get_attr: [second, first_address]}, 'ROUND']
      script: |
        set -euo pipefail
        apt-get update -qq >/dev/null
        apt-get install -y -qq --no-install-recommends postgresql-client >/dev/null 2>&1
        ask() { psql -qtA -h "$1" -U app app -c "$2"; }
        ask "$1" 'CREATE TABLE IF NOT EXISTS t (i int)'
        ask "$1" "INSERT INTO t VALUES ($3)"
        for _ in $(seq 50); do
          seen=$(ask "$2" "SELECT count(*) FROM t WHERE i = $3" || true)
          [ "$seen" = 1 ] && break
          sleep 0.2
        done
        echo "the replica has $seen"
        ask "$2" 'INSERT INTO t VALUES (0)' 2>&1 || true
outputs:
  said: {value: {get_attr: [client, stdout]}}
"#;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_row_written_on_the_primary_is_read_on_its_replica() {
    let bench = on_docker("engine-replica", "172.31.39.0/24", BOOT).await;
    let template =
        |round: &str| small(REPLICA).replace("\noutputs:\n", &CLIENT.replace("ROUND", round));
    let started = bench.start(&template("1")).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let text = output(&bench, &started.deployment, "said").await;
    assert!(text.starts_with("the replica has 1\n"), "{text}");
    assert!(text.contains("read-only transaction"), "{text}");

    // The primary takes more clients, and so must the replica, which is set up again and keeps its data.
    let more = "host: {get_resource: first}\n      max_connections: 150";
    let changes = engine::Changes {
        template: template("2").replace("host: {get_resource: first}", more),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes)
        .await
        .unwrap();
    let (run, _) = story(&bench, &update.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let text = output(&bench, &started.deployment, "said").await;
    assert!(text.starts_with("the replica has 1\n"), "{text}");
    all_goes(bench, &started.deployment).await;
}

/// A client beside the broker: it leaves tasks in the queue, and waits until both workers have taken some of them.
const SENDER: &str = r#"
  sender:
    type: Stackloom::Catalog::script
    depends_on: [work1, work2]
    properties:
      host: {get_resource: broker}
      secret_variables: {PASSWORD: {get_attr: [password, value]}}
      script: |
        set -euo pipefail
        apt-get install -y -qq --no-install-recommends python3-pika >/dev/null 2>&1
        python3 - <<'END'
        import os, pika, time
        login = pika.PlainCredentials('app', os.environ['PASSWORD'])
        channel = pika.BlockingConnection(pika.ConnectionParameters('127.0.0.1', 5672, 'app', login)).channel()
        for queue in ('tasks', 'results'):
            channel.queue_declare(queue, durable=True)
        sent, results, end = 0, [], time.time() + 150
        while time.time() < end and len({result.split()[0] for result in results}) < 2:
            channel.basic_publish('', 'tasks', 'task %d' % sent)
            sent += 1
            for method, _, body in channel.consume('results', auto_ack=True, inactivity_timeout=0.2):
                if not method:
                    break
                results.append(body.decode())
        print(*sorted({result.split()[0] for result in results}))
        END
outputs:
  said: {value: {get_attr: [sender, stdout]}}
"#;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn workers_take_the_tasks_of_a_queue() {
    let bench = on_docker("engine-queue", "172.31.57.0/24", BOOT).await;
    let template = small(QUEUE).replace("\noutputs:\n", SENDER);
    let started = bench.start(&template).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let text = output(&bench, &started.deployment, "said").await;
    assert_eq!(text, "shop-worker1 shop-worker2");
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_job_by_the_clock_leaves_its_results() {
    let bench = on_docker("engine-batch", "172.31.69.0/24", BOOT).await;
    let each_minute = BTreeMap::from([("schedule".to_owned(), "* * * * *".into())]);
    let started = bench
        .try_deploy("nightly", &small(BATCH), each_minute)
        .await;
    let started = started.unwrap();
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let wait = "for _ in $(seq 180); do cat /srv/results/*.txt 2>/dev/null && exit; sleep 0.5; done; exit 1";
    let request = CommandRequest {
        servers: Some(CommandServers::Named(vec!["worker".into()])),
        script: Some(wait.into()),
        ..CommandRequest::default()
    };
    let deployment = &started.deployment;
    let command = bench.engine.command(&bench.actor, deployment, request);
    let (run, events) = story(&bench, &command.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(format!("{events:?}").contains("Filesystem"));
    all_goes(bench, deployment).await;
}
