//! Uploads: their place, their versions, their problems.

use crate::stack::{Stack, problem};

use super::*;

/// The server's own items, by name.
const OWN: &[&str] = &[
    "alertmanager",
    "apache",
    "application",
    "baseline",
    "dnsmasq",
    "etcd",
    "haproxy",
    "job",
    "keepalived",
    "mariadb",
    "memcached",
    "nginx",
    "node_exporter",
    "playbook",
    "postgresql",
    "postgresql_replica",
    "prometheus",
    "rabbitmq",
    "redis",
    "redis_replica",
    "script",
    "service",
    "wordpress",
];

async fn types_tag(browser: &Client) -> String {
    let answer = browser.get("/api/v1/resource-types").await;
    answer.headers()[header::ETAG].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_uploaded_item_is_everywhere_in_its_project_and_nowhere_else() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let tag = types_tag(&demo).await;
    assert_eq!(tag, types_tag(&other).await);
    assert!(validate(&demo).await.contains("resource-type-unknown"));

    let answer = upload(&demo, item("greeter", "1.0.0", "- debug:")).await;
    assert_eq!(
        answer.headers()[header::LOCATION],
        "/api/v1/catalog/greeter"
    );
    let made = json(answer, 201).await;
    assert_eq!(made["uploaded"]["author"], "demo");
    assert_eq!(made["uploaded"]["versions"], json!(["1.0.0"]));

    let stack = stack.restart().await;
    let demo = stack.with_cookie(&demo.cookie.unwrap());
    let other = stack.with_cookie(&other.cookie.unwrap());
    let path = "/api/v1/catalog/greeter";
    assert_eq!(json(demo.get(path).await, 200).await, made);
    let names = |listed: &Value| {
        let all = listed.as_array().unwrap().iter();
        all.map(|item| item["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let listed = json(demo.get("/api/v1/catalog").await, 200).await;
    let mut all = [OWN, &["greeter"]].concat();
    all.sort_unstable();
    assert_eq!(names(&listed), all);
    let described = "/api/v1/resource-types/Stackloom::Catalog::greeter";
    let described = json(demo.get(described).await, 200).await;
    assert_eq!(described["component"]["version"], "1.0.0");
    assert!(!validate(&demo).await.contains("resource-type-unknown"));
    assert_ne!(types_tag(&demo).await, tag, "the browser asks anew");

    assert_eq!(types_tag(&other).await, tag);
    assert_eq!(
        problem(other.get(path).await).await,
        (404, "not-found".into())
    );
    let listed = json(other.get("/api/v1/catalog").await, 200).await;
    assert_eq!(names(&listed), OWN);
    assert!(validate(&other).await.contains("resource-type-unknown"));
}

#[tokio::test]
async fn a_version_stays_what_it_is() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let first = item("greeter", "1.0.0", "- debug:");
    assert_eq!(upload(&demo, first.clone()).await.status(), 201);
    assert_eq!(upload(&demo, first).await.status(), 200);
    let changed = item("greeter", "1.0.0", "- debug: {msg: x}");
    let taken = (409, "item-version-taken".to_owned());
    assert_eq!(problem(upload(&demo, changed.clone()).await).await, taken);
    assert_eq!(
        upload(&other, changed).await.status(),
        201,
        "another's is another"
    );
    let second = item("greeter", "1.1.0", "- debug: {msg: x}");
    let made = json(upload(&demo, second).await, 201).await;
    assert_eq!(made["uploaded"]["versions"], json!(["1.1.0", "1.0.0"]));
    let path = "/api/v1/catalog/greeter?version=1.0.0";
    let older = json(demo.get(path).await, 200).await;
    assert_eq!(older["version"], "1.0.0");
    assert_eq!(older["uploaded"]["versions"], json!(["1.1.0", "1.0.0"]));
    let ours = item("nginx", "9.0.0", "- debug:");
    let taken = (409, "item-name-taken".to_owned());
    assert_eq!(problem(upload(&demo, ours).await).await, taken);
}

#[tokio::test]
async fn a_reader_cannot_upload() {
    let stack = Stack::start().await;
    let ada = stack.login("ada").await;
    let archive = item("greeter", "1.0.0", "- debug:");
    let refused = (403, "reader-cannot-change".to_owned());
    assert_eq!(problem(upload(&ada, archive.clone()).await).await, refused);
    let refused = (401, "not-signed-in".to_owned());
    assert_eq!(
        problem(upload(&stack.stranger(), archive).await).await,
        refused
    );
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let broken = packed(&[
        ("item.yml", &manifest("Greeter", "one")),
        (
            "meta/argument_specs.yml",
            "argument_specs:\n  main:\n    options:\n      word: {type: text}\n",
        ),
    ]);
    let answer = json(upload(&demo, broken).await, 422).await;
    assert_eq!(answer["code"], "item-refused");
    let places: Vec<(Option<&str>, Option<u64>)> = answer["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["path"].as_str(), one["line"].as_u64()))
        .collect();
    assert_eq!(
        places,
        [
            (Some("item.yml.name"), Some(1)),
            (Some("item.yml.version"), Some(3)),
            (Some("argument_specs.yml.main.word"), Some(4)),
            (Some("tasks/main.yml"), None),
        ]
    );
    let without_options = packed(&[
        ("item.yml", &manifest("greeter", "1.0.0")),
        ("tasks/main.yml", "- debug:"),
    ]);
    let answer = json(upload(&demo, without_options).await, 422).await;
    let message = answer["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.contains("lists the options"), "{message}");
    // Five megabytes of zeros become a few kilobytes on their way.
    let zeros = "0".repeat(5 << 20);
    let bomb = packed(&[
        ("item.yml", &manifest("greeter", "1.0.0")),
        ("files/zeros", &zeros),
    ]);
    assert!(bomb.len() < 100_000);
    let answer = json(upload(&demo, bomb).await, 422).await;
    let message = answer["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.contains("more than 4096 KiB together"), "{message}");
    let answer = json(upload(&demo, b"PK\x03\x04".to_vec()).await, 422).await;
    assert_eq!(answer["diagnostics"][0]["code"], "archive-invalid");
    let answer = upload(&demo, vec![0; 11 * 1024 * 1024]).await;
    assert_eq!(problem(answer).await, (413, "too-large".into()));
    let listed = json(demo.get("/api/v1/catalog").await, 200).await;
    assert_eq!(
        listed.as_array().unwrap().len(),
        OWN.len(),
        "nothing was stored"
    );
}
