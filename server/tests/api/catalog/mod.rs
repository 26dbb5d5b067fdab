//! Items of a project: uploaded or made from a form, visible in that project only, and stored permanently.

use flate2::{Compression, write::GzEncoder};
use reqwest::{Method, Response, header};
use serde_json::{Value, json};

use crate::stack::{Client, json};

mod drafts;
mod forms;
mod uploads;
mod versions;

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

fn recipe(version: &str) -> Value {
    json!({
        "name": "pages", "title": "Pages", "version": version, "summary": "Serves pages.", "category": "web",
        "packages": ["lighttpd"],
        "files": [{"path": "/etc/lighttpd/port.conf", "mode": "0644", "content": "server.port := {{ listen_port }}\n"}],
        "service": "lighttpd",
        "ports": [{"option": "listen_port", "number": "80", "protocol": "tcp", "capability": "http"}],
    })
}

async fn validate(browser: &Client) -> String {
    let body = json!({"template": TEMPLATE});
    let answer = json(browser.post("/api/v1/validate", &body).await, 200).await;
    answer["diagnostics"].to_string()
}
