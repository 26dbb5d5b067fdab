//! The example of `docs/items.md`, as an author types it.

use super::*;

const PAGE: &str = include_str!("../../../../docs/items.md");

/// Writes the files of the page into a folder of items.
fn write_example(folder: &std::path::Path) {
    for section in PAGE.split("\n### `").skip(1) {
        let (path, rest) = section.split_once('`').unwrap();
        let text = rest.split("```yaml\n").nth(1).unwrap();
        let file = folder.join("tinyproxy").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.split("```").next().unwrap()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn the_example_for_authors_runs() {
    let catalog = tempfile::tempdir().unwrap();
    write_example(catalog.path());
    let folder = catalog.path().to_str().unwrap();
    let bench = on_docker_with(folder, "engine-authors", "172.31.40.0/24", BOOT).await;
    let template = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.40.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  proxy:
    type: Stackloom::Catalog::tinyproxy
    properties: {host: {get_resource: gate}, allowed_networks: [0.0.0.0/0]}
outputs:
  url: {value: {get_attr: [proxy, url]}}
";
    let started = bench.start(template).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let url = shown.outputs["url"].value.clone().unwrap();
    // Tinyproxy's own page, which it serves to those who ask through it.
    let statistics = "GET http://tinyproxy.stats/ HTTP/1.0";
    let page = ask(url.as_str().unwrap(), statistics, "").await;
    assert!(page.contains("tinyproxy version"), "{page}");
    all_goes(bench, &started.deployment).await;
}
