//! Starter designs, deployed and used as their users would. Only the flavor is another, which the tests' facts know.

use std::collections::BTreeMap;

use super::*;

const WORDPRESS: &str = include_str!("../../../../app/src/starters/wordpress.yaml");
const MONITORING: &str = include_str!("../../../../app/src/starters/monitoring.yaml");

fn small(template: &str) -> String {
    template.replace("m1.small", "m1.tiny")
}

async fn output(bench: &Bench, deployment: &str, name: &str) -> String {
    let shown = bench.engine.deployment(&bench.tenant, deployment).await;
    let value = shown.unwrap().outputs[name].value.clone();
    value.unwrap().as_str().unwrap().to_owned()
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
async fn prometheus_has_all_its_targets_up() {
    let bench = on_docker("engine-monitoring", "172.31.41.0/24", BOOT).await;
    let started = bench.start(&small(MONITORING)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let url = output(&bench, &started.deployment, "url").await;
    let up = async || {
        let query = "GET /api/v1/query?query=sum(up) HTTP/1.0";
        ask(&url, query, "").await.contains(",\"3\"]")
    };
    bench.eventually("two servers and itself are up", up).await;
    all_goes(bench, &started.deployment).await;
}
