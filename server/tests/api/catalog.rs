//! Items of a project: uploaded, visible in that project only, and stored permanently.

use flate2::{Compression, write::GzEncoder};
use lab::{CallFault, Fault};
use reqwest::{Method, Response, header};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stack::{Client, Stack, cookie, json, problem};

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
const SPECS: &str = "\
argument_specs:
  main:
    options:
      word: {type: str, default: hi, description: What it says.}
";
const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  greeting:
    type: Stackloom::Catalog::greeter
    properties: {host: {get_resource: web}, word: hello}
";
/// As [`TEMPLATE`], with all that a deployment needs.
const SERVED: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  greeting:
    type: Stackloom::Catalog::greeter
    properties: {host: {get_resource: web}, word: hello}
";

fn manifest(name: &str, version: &str) -> String {
    format!(
        "name: {name}\ntitle: Greeter\nversion: {version}\nsummary: Says a word.\ncategory: test\noutputs: {{said: '{{stats.said}}'}}\n"
    )
}

/// An archive of an item with these files.
pub fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let path = format!("item/{path}");
        builder
            .append_data(&mut header, path, text.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

pub fn item(name: &str, version: &str, task: &str) -> Vec<u8> {
    packed(&[
        ("item.yml", &manifest(name, version)),
        ("meta/argument_specs.yml", SPECS),
        ("tasks/main.yml", task),
    ])
}

pub async fn upload(browser: &Client, archive: Vec<u8>) -> Response {
    let request = browser
        .request(Method::POST, "/api/v1/catalog")
        .header(header::CONTENT_TYPE, "application/gzip")
        .body(archive);
    request.send().await.unwrap()
}

async fn validate(browser: &Client) -> String {
    let body = json!({"template": TEMPLATE});
    let answer = json(browser.post("/api/v1/validate", &body).await, 200).await;
    answer["diagnostics"].to_string()
}

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
async fn another_member_tests_a_change_of_an_item_and_its_owner_publishes_it() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let token = crate::keystone::token("max", "demo");
    let own = json!({"cloud": "test", "token": token});
    let answer = stack.stranger().post("/api/v1/login", &own).await;
    let max = stack.with_cookie(&cookie(&answer));
    let first = item("greeter", "1.0.0", "- debug:");
    assert_eq!(upload(&demo, first).await.status(), 201);
    let change = item("greeter", "1.1.0", "- debug: {msg: x}");
    let draft = max
        .request(Method::POST, "/api/v1/catalog")
        .query(&[("draft", "true")])
        .header(header::CONTENT_TYPE, "application/gzip")
        .body(change.clone());
    let draft = json(draft.send().await.unwrap(), 201).await;
    let version = draft["version"].as_str().unwrap();
    let place = format!("/api/v1/catalog/greeter/publish?version={version}");
    for refused in [
        upload(&max, change).await,
        max.post(&place, &json!({})).await,
    ] {
        let refused = json(refused, 403).await;
        assert_eq!(refused["code"], "item-owned");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("demo"), "{detail}");
    }

    // The owner publishes what the other one has tested.
    let other = stack.login("other").await;
    let hidden = (404, "not-found".to_owned());
    assert_eq!(problem(other.post(&place, &json!({})).await).await, hidden);
    let published = json(demo.post(&place, &json!({})).await, 201).await;
    assert_eq!(published["version"], "1.1.0");
    assert_eq!(published["uploaded"]["author"], "demo");
    assert_eq!(published["uploaded"]["versions"], json!(["1.1.0", "1.0.0"]));
    assert_eq!(demo.post(&place, &json!({})).await.status(), 200);
    let no_draft = "/api/v1/catalog/greeter/publish?version=1.0.0";
    assert_eq!(problem(demo.post(no_draft, &json!({})).await).await, hidden);
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

fn recipe(version: &str) -> Value {
    json!({
        "name": "pages", "title": "Pages", "version": version, "summary": "Serves pages.", "category": "web",
        "packages": ["lighttpd"],
        "files": [{"path": "/etc/lighttpd/port.conf", "mode": "0644", "content": "server.port := {{ listen_port }}\n"}],
        "service": "lighttpd",
        "ports": [{"option": "listen_port", "number": "80", "protocol": "tcp", "capability": "http"}],
    })
}

#[tokio::test]
async fn an_item_is_made_from_a_form_and_its_next_version_too() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let made = json(demo.post("/api/v1/recipes", &recipe("1.0.0")).await, 201).await;
    assert_eq!(made["provides"][0]["name"], "http");
    assert_eq!(made["removes"], true);
    assert_eq!(made["uploaded"]["author"], "demo");
    let again = demo.post("/api/v1/recipes", &recipe("1.0.0")).await;
    assert_eq!(again.status(), 200);

    let path = "/api/v1/catalog/pages/recipe";
    let mut next = json(demo.get(path).await, 200).await;
    next["packages"] = json!(["lighttpd", "lighttpd-mod-deflate"]);
    let taken = demo.post("/api/v1/recipes", &next).await;
    assert_eq!(problem(taken).await, (409, "item-version-taken".into()));
    next["version"] = json!("1.1.0");
    let made = json(demo.post("/api/v1/recipes", &next).await, 201).await;
    assert_eq!(made["uploaded"]["versions"], json!(["1.1.0", "1.0.0"]));

    let hidden = (404, "not-found".to_owned());
    assert_eq!(problem(other.get(path).await).await, hidden);
    let not_made = demo.get("/api/v1/catalog/nginx/recipe").await;
    assert_eq!(problem(not_made).await, hidden);
}

#[tokio::test]
async fn problems_of_a_form_have_the_paths_of_their_values() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let mut wrong = recipe("1");
    wrong["files"][0]["path"] = json!("port.conf");
    let answer = json(demo.post("/api/v1/recipes", &wrong).await, 422).await;
    assert_eq!(answer["code"], "item-refused");
    let paths: Vec<&str> = answer["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["version", "files.0.path"]);
    let reader = stack.login("ada").await;
    let refused = reader.post("/api/v1/recipes", &recipe("1.0.0")).await;
    assert_eq!(problem(refused).await, (403, "reader-cannot-change".into()));
}

#[tokio::test]
async fn a_draft_is_planned_only_by_who_names_its_version() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let archive = item("greeter", "1.0.0", "- debug:");
    let store = async |browser: &Client, archive: Vec<u8>| {
        let request = browser
            .request(Method::POST, "/api/v1/catalog")
            .query(&[("draft", "true")])
            .header(header::CONTENT_TYPE, "application/gzip")
            .body(archive);
        request.send().await.unwrap()
    };
    let stored = store(&demo, archive.clone()).await;
    let place = stored.headers()[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned();
    let draft = json(stored, 201).await;
    let version = draft["version"].as_str().unwrap();
    assert!(version.starts_with("1.0.0-draft."), "{version}");
    assert_eq!(json(demo.get(&place).await, 200).await, draft);
    assert_eq!(store(&demo, archive).await.status(), 200);

    // It is in no catalogue, and in no design.
    let hidden = (404, "not-found".to_owned());
    assert_eq!(
        problem(demo.get("/api/v1/catalog/greeter").await).await,
        hidden
    );
    assert!(validate(&demo).await.contains("resource-type-unknown"));
    let plan = async |browser: &Client, versions: Value| {
        let body = json!({"template": TEMPLATE, "versions": versions});
        browser.post("/api/v1/plan", &body).await
    };
    let named = json!({"greeter": version});
    let planned = json(plan(&demo, named.clone()).await, 200).await;
    let unknown = |plan: &Value| {
        plan["diagnostics"]
            .to_string()
            .contains("resource-type-unknown")
    };
    assert!(!unknown(&planned), "{planned:#}");
    assert!(unknown(&json(plan(&demo, json!({})).await, 200).await));

    // Nobody else has it.
    assert_eq!(
        json(other.get("/api/v1/drafts").await, 200).await,
        json!([])
    );
    assert_eq!(problem(other.get(&place).await).await, hidden);
    let checked = place.replace('?', "/lint?");
    assert_eq!(problem(other.get(&checked).await).await, hidden);
    assert_eq!(problem(plan(&other, named.clone()).await).await, hidden);
    let deployment = json!({"name": "test", "template": TEMPLATE, "versions": named});
    let refused = other.post("/api/v1/deployments", &deployment).await;
    assert_eq!(problem(refused).await, hidden);

    // A draft of a form, under the rules of publishing.
    let made = demo
        .post("/api/v1/recipes?draft=true", &recipe("1.0.0"))
        .await;
    let made = json(made, 201).await;
    let version = made["version"].as_str().unwrap();
    assert!(version.starts_with("1.0.0-draft."), "{version}");
    assert_eq!(made["uploaded"]["from_form"], true);
    let published = demo.post("/api/v1/recipes", &recipe("1.0.0")).await;
    assert_eq!(json(published, 201).await["version"], "1.0.0");
}

#[tokio::test]
async fn every_member_lists_and_deletes_drafts_and_nobody_a_published_version() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let archive = item("greeter", "1.0.0", "- debug:");
    let request = demo
        .request(Method::POST, "/api/v1/catalog")
        .query(&[("draft", "true")])
        .header(header::CONTENT_TYPE, "application/gzip")
        .body(archive.clone());
    let stored = request.send().await.unwrap();
    let place = stored.headers()[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned();
    let draft = json(stored, 201).await;
    let listed = json(demo.get("/api/v1/drafts").await, 200).await;
    assert_eq!(listed[0]["name"], "greeter");
    assert_eq!(listed[0]["version"], draft["version"]);
    assert_eq!(listed[0]["author"], "demo");

    let delete = async |browser: &Client, path: &str| {
        let request = browser.request(Method::DELETE, path);
        request.send().await.unwrap()
    };
    let hidden = (404, "not-found".to_owned());
    assert_eq!(problem(delete(&other, &place).await).await, hidden);
    assert_eq!(delete(&demo, &place).await.status(), 204);
    assert_eq!(json(demo.get("/api/v1/drafts").await, 200).await, json!([]));
    assert_eq!(problem(demo.get(&place).await).await, hidden);

    assert_eq!(upload(&demo, archive).await.status(), 201);
    let published = "/api/v1/catalog/greeter?version=1.0.0";
    let kept = json(delete(&demo, published).await, 409).await;
    assert_eq!(kept["code"], "not-possible-now");
    assert!(kept["detail"].as_str().unwrap().contains("is published"));
    assert_eq!(demo.get(published).await.status(), 200);
}

#[tokio::test]
async fn the_servers_own_items_have_a_version_too() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let newest = json(demo.get("/api/v1/catalog/nginx").await, 200).await;
    let version = newest["version"].as_str().unwrap();
    let path = format!("/api/v1/catalog/nginx?version={version}");
    assert_eq!(json(demo.get(&path).await, 200).await, newest);
    let missing = demo.get("/api/v1/catalog/nginx?version=99.0.0").await;
    assert_eq!(problem(missing).await, (404, "not-found".into()));
}

#[tokio::test]
async fn an_upgrade_in_batches_of_nothing_is_refused() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let request = json!({"item": "greeter", "version": "1.1.0", "batch": 0});
    let refused = demo.post("/api/v1/deployments/x/upgrade", &request).await;
    assert_eq!(problem(refused).await.1, "invalid-request");
}

#[tokio::test]
async fn a_template_pins_the_version_of_an_item() {
    let (_lab, _stack, demo) = crate::lab::start().await;
    for version in ["1.0.0", "1.1.0"] {
        let archive = item("greeter", version, &format!("- debug: {{msg: {version}}}"));
        json(upload(&demo, archive).await, 201).await;
    }
    let pinned = |version: &str| {
        let pin = format!("greeter\n    metadata: {{stackloom: {{version: {version}}}}}");
        SERVED.replace("greeter", &pin)
    };
    let plan = async |template: &str, versions: Value| {
        let body = json!({"template": template, "versions": versions});
        demo.post("/api/v1/plan", &body).await
    };
    let planned = async |template: &str| {
        let plan = json(plan(template, json!({})).await, 200).await;
        plan["workflow"]["resources"]["greeting"]["version"].clone()
    };
    assert_eq!(planned(SERVED).await, "1.1.0");
    assert_eq!(planned(&pinned("1.0.0")).await, "1.0.0");
    assert_eq!(planned(&pinned("1.1.0")).await, "1.1.0");

    let missing = plan(&pinned("9.0.0"), json!({})).await;
    let missing = json(missing, 422).await["diagnostics"][0].clone();
    assert_eq!(missing["code"], "item-version");
    assert_eq!(
        missing["path"],
        "resources.greeting.metadata.stackloom.version"
    );
    assert!(missing["line"].is_number());
    let message = missing["message"].as_str().unwrap();
    assert!(message.contains("its versions are 1.1.0, 1.0.0"));
    let other = plan(&pinned("1.0.0"), json!({"greeter": "1.1.0"})).await;
    assert_eq!(problem(other).await, (409, "not-possible-now".into()));
    let second = "  second:\n    type: Stackloom::Catalog::greeter\n    metadata: {stackloom: {version: 1.1.0}}\n    \
                  properties: {host: {get_resource: web}}\n";
    let both = plan(&(pinned("1.0.0") + second), json!({})).await;
    let both = json(both, 422).await;
    assert_eq!(both["code"], "template-refused");
    assert_eq!(both["diagnostics"][0]["code"], "item-version");
}

/// A catalogue folder with the greeter.
fn greeter_folder(version: &str, word: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let greeter = folder.path().join("greeter");
    for (path, text) in [
        ("item.yml", manifest("greeter", version)),
        ("meta/argument_specs.yml", SPECS.to_owned()),
        ("tasks/main.yml", format!("- debug: {{msg: {word}}}\n")),
    ] {
        let path = greeter.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[tokio::test]
async fn a_deployment_stays_on_its_version_of_a_server_item_until_an_upgrade() {
    let (lab, stack, _) = crate::lab::start().await;
    let before = greeter_folder("1.0.0", "morning");
    let stack = stack
        .restart_with(&["--catalog", before.path().to_str().unwrap()])
        .await;
    let demo = stack.login("demo").await;
    // The run ends at the network: nothing is set up over SSH in this lab.
    lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some("/v2.0/networks".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let request = json!({"name": "greeting", "template": SERVED});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(crate::lab::ended(&demo, &started).await, "failed");
    let deployment = started["deployment"].as_str().unwrap();
    let database = store::open(&stack.data().join("stackloom.db"))
        .await
        .unwrap();
    let set_up = ("Stackloom::Catalog::greeter", "1.0.0", "web");
    store::testing::component_insert(database.store(), deployment, "greeting", set_up).await;

    let after = greeter_folder("1.1.0", "evening");
    let stack = stack
        .restart_with(&["--catalog", after.path().to_str().unwrap()])
        .await;
    let demo = stack.login("demo").await;
    let newest = json(demo.get("/api/v1/catalog/greeter").await, 200).await;
    assert_eq!(newest["version"], "1.1.0");
    let path = format!("/api/v1/deployments/{deployment}");
    let shown = json(demo.get(&path).await, 200).await;
    let used = json!([{
        "name": "greeter", "version": "1.0.0", "versions": ["1.1.0", "1.0.0"], "components": ["greeting"],
    }]);
    assert_eq!(shown["items"], used);
    let path = "/api/v1/catalog/greeter/compare?from=1.0.0&to=1.1.0";
    let compared = json(demo.get(path).await, 200).await;
    let files = compared["files"].as_array().unwrap().iter();
    let files: Vec<_> = files.map(|file| &file["path"]).collect();
    assert_eq!(files, ["item.yml", "tasks/main.yml"]);

    let planned = async |versions: Value| {
        let body = json!({"template": SERVED, "deployment": deployment, "versions": versions});
        let plan = json(demo.post("/api/v1/plan", &body).await, 200).await;
        plan["workflow"]["resources"]["greeting"]["version"].clone()
    };
    assert_eq!(planned(json!({})).await, "1.0.0");
    assert_eq!(planned(json!({"greeter": "1.1.0"})).await, "1.1.0");
    let unknown =
        json!({"template": SERVED, "deployment": deployment, "versions": {"greeter": "9.0.0"}});
    let refused = demo.post("/api/v1/plan", &unknown).await;
    assert_eq!(problem(refused).await, (404, "not-found".into()));
}
