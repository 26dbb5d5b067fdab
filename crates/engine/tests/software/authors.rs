//! Items of authors: the example of `docs/items.md`, as an author types it, and an item from a form.

use super::*;
use serde_json::json;
use types::catalog::recipe::Recipe;

const PAGE: &str = include_str!("../../../../docs/items.md");

/// Writes the files of the page into a folder of items.
fn write_example(folder: &std::path::Path) {
    for section in PAGE.split("\n### `").skip(1) {
        let (path, rest) = section.split_once('`').unwrap();
        let text = rest.split("```yaml\n").nth(1).unwrap();
        // Folders of authors have names of their own.
        let file = folder.join("my-proxy").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.split("```").next().unwrap()).unwrap();
    }
}

/// The example, or the item in the folder that `cargo xtask item test` names.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn an_item_of_an_author_passes_its_test() {
    if let Some(folder) = std::env::var_os("STACKLOOM_ITEM") {
        return items::test_item(folder.as_ref()).await;
    }
    let folder = tempfile::tempdir().unwrap();
    write_example(folder.path());
    items::test_item(&folder.path().join("my-proxy")).await;
}

/// An item from a form: a web server whose configuration has its port, its page and a secret.
fn recipe() -> Recipe {
    let file = |path: &str, mode: &str, content: &str| json!({"path": path, "mode": mode, "content": content});
    let recipe = json!({
        "name": "pages", "title": "Pages", "version": "1.0.0", "summary": "Serves a page.", "category": "web",
        "packages": ["lighttpd"],
        "service": "lighttpd",
        "files": [
            file("/etc/lighttpd/conf-enabled/10-own.conf", "0644",
                "server.port := {{ listen_port }}\nserver.document-root := \"/srv/pages/own\"\n"),
            file("/srv/pages/own/index.html", "0644", "{{ greeting }} {% if loud %}!{% endif %}\n"),
            file("/etc/lighttpd/own-secret", "0600", "{{ key }}\n"),
        ],
        "ports": [{"option": "listen_port", "number": "", "protocol": "tcp", "capability": "http"}],
        "options": [
            {"name": "greeting", "kind": "text", "default": "it's \"fine\""},
            {"name": "loud", "kind": "switch", "default": "false"},
            {"name": "key", "kind": "secret"},
        ],
    });
    serde_json::from_value(recipe).unwrap()
}

const RECIPE_DESIGN: &str = "\
heat_template_version: 2021-04-16
parameters:
  port: {type: number, default: 8080}
  key: {type: string, hidden: true, default: first-swordfish}
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.48.1.0/24}
  serving:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  asking:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  pages:
    type: Stackloom::Catalog::pages
    properties: {host: {get_resource: serving}, listen_port: {get_param: port}, key: {get_param: key}, loud: true}
  client:
    type: Stackloom::Catalog::script
    depends_on: pages
    properties:
      host: {get_resource: asking}
      arguments: [{get_attr: [pages, url]}]
      script: curl -fsS \"$1\" | grep -Fx 'it'\"'\"'s \"fine\" !'
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn an_item_from_a_form_passes_a_test() {
    let recipe = recipe();
    assert_eq!(recipe.check(), []);
    let folder = tempfile::tempdir().unwrap();
    let change = "parameters: {port: 8081, key: second-swordfish}\n";
    let tests = [
        ("tests/design.yaml", RECIPE_DESIGN),
        ("tests/change.yaml", change),
    ];
    let tests = tests.map(|(path, text)| (path.to_owned(), text.to_owned()));
    for (path, text) in recipe.files().into_iter().chain(tests) {
        let file = folder.path().join("pages").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    items::test_item(&folder.path().join("pages")).await;
}
