//! Public Heat templates, deployed with their own outputs. The project does not contain them: they are read from the
//! folder in `STACKLOOM_CORPUS`, a copy of OpenStack's `heat-templates`. Without it, these tests do nothing and say so.
//!
//! As where such templates are used, the project has one network with a way outside, and a key pair.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use lab::{Lab, LabConfig};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use crate::{
    lab::ended,
    stack::{Client, Stack, json},
};

const GROUND: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: private}}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.62.1.0/24}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  interface: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}}
  key:
    type: OS::Nova::KeyPair
    properties: {name: heat_key, public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEJ4l8N3CbCwJbI3x7t9cDyDJDmo2mB4y7mO4gXWbz2k heat'}
outputs:
  net: {value: {get_resource: net}}
  subnet: {value: {get_resource: subnet}}
";

const SOFTWARE: &str = "software-config/example-templates";

/// The folder with the templates. `None` if there is none, which it tells.
fn corpus() -> Option<PathBuf> {
    let Some(given) = std::env::var_os("STACKLOOM_CORPUS") else {
        eprintln!("skipped: STACKLOOM_CORPUS names no folder with OpenStack's heat-templates");
        return None;
    };
    // A relative path is one of the workspace.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = workspace.join(given).join("hot");
    let is_it = folder.join("hello_world.yaml").is_file();
    if !is_it {
        eprintln!("skipped: STACKLOOM_CORPUS has no hot/hello_world.yaml, so it is another corpus");
    }
    is_it.then_some(folder)
}

/// A project on a lab, and the templates.
struct Project {
    lab: Lab,
    _stack: Stack,
    browser: Client,
    folder: PathBuf,
    /// The deployment of [`GROUND`].
    ground: Deployed,
}

/// A deployment and its outputs.
struct Deployed {
    path: String,
    outputs: Map<String, Value>,
    /// The cloud's ids of its resources.
    ids: BTreeMap<String, String>,
}

impl Deployed {
    fn text(&self, output: &str) -> &str {
        let value = &self.outputs[output];
        value
            .as_str()
            .unwrap_or_else(|| panic!("{output}: {value}"))
    }

    /// An output that is an address in a network with a prefix of 24 bits.
    fn address_in(&self, output: &str, network: [u8; 3]) -> Ipv4Addr {
        let address: Ipv4Addr = self.text(output).parse().unwrap();
        assert_eq!(address.octets()[..3], network, "{output}");
        address
    }
}

impl Project {
    async fn open(folder: PathBuf, config: LabConfig) -> Project {
        let lab = Lab::start(config).await.unwrap();
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stack = Stack::with_cloud(&lab.auth_url()).await;
        let signals = format!("http://172.31.62.1:{port}");
        let stack = stack.restart_with(&["--signal-url", &signals]).await;
        stack.also_on(listener);
        let browser = stack.login("demo").await;
        let ground = deploy(&browser, "ground", GROUND, &json!({}), &json!({})).await;
        Project {
            lab,
            _stack: stack,
            browser,
            folder,
            ground,
        }
    }

    /// Deploys a template with the files that it names.
    async fn deploy(&self, template: &str, files: &[&str], parameters: Value) -> Deployed {
        println!("{template}");
        let path = self.folder.join(template);
        let read = |path: &Path| {
            let text = std::fs::read_to_string(path);
            text.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let beside = path.parent().unwrap();
        let files = files
            .iter()
            .map(|file| ((*file).to_owned(), json!(read(&beside.join(file)))));
        let files = Value::Object(files.collect());
        deploy(&self.browser, "it", &read(&path), &files, &parameters).await
    }

    async fn undeploy(&self, deployed: &Deployed) {
        let removing = json(self.browser.delete(&deployed.path).await, 202).await;
        assert_eq!(ended(&self.browser, &removing).await, "succeeded");
    }

    async fn close(self) {
        self.undeploy(&self.ground).await;
        let left = self.lab.leftovers().remove("demo").unwrap_or_default();
        assert_eq!(left, Vec::<String>::new());
        self.lab.stop().await;
    }
}

async fn deploy(
    browser: &Client,
    name: &str,
    template: &str,
    files: &Value,
    parameters: &Value,
) -> Deployed {
    let request =
        json!({"name": name, "template": template, "files": files, "parameters": parameters});
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    let state = ended(browser, &started).await;
    let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
    let run = json(browser.get(&run).await, 200).await;
    assert_eq!(state, "succeeded", "{run:#}");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let shown = json(browser.get(&path).await, 200).await;
    // The same again changes nothing.
    let again = json(browser.put(&path, &request).await, 202).await;
    assert_eq!(ended(browser, &again).await, "succeeded");
    let run = format!("/api/v1/runs/{}", again["run"].as_str().unwrap());
    let run = json(browser.get(&run).await, 200).await;
    assert_eq!(run["steps"], json!([]), "{run:#}");
    let outputs = shown["outputs"].as_object().unwrap().iter();
    let outputs = outputs.map(|(name, output)| {
        assert_eq!(output["error"], Value::Null, "{name}");
        (name.clone(), output["value"].clone())
    });
    let ids = shown["resources"].as_array().unwrap().iter();
    let ids = ids.filter_map(|one| {
        let id = one["physical_id"].as_str()?;
        Some((one["name"].as_str()?.to_owned(), id.to_owned()))
    });
    Deployed {
        outputs: outputs.collect(),
        ids: ids.collect(),
        path,
    }
}

/// The parameters that most templates have, and more.
fn with(more: Value) -> Value {
    let mut parameters =
        json!({"key_name": "heat_key", "image": "debian-12", "flavor": "m1.small"});
    let all = parameters.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    parameters
}

#[tokio::test]
async fn servers_and_networks_are_deployed_with_their_outputs() {
    let Some(folder) = corpus() else { return };
    let project = Project::open(folder, LabConfig::memory()).await;
    let private = [10, 62, 1];

    let hello = with(json!({"admin_pass": "Abcdef1"}));
    let it = project.deploy("hello_world.yaml", &[], hello).await;
    let net = project.ground.text("net");
    let networks = &it.outputs["server_networks"];
    let address = &networks["private"];
    assert_eq!(*networks, json!({"private": address, net: address}));
    let address: Ipv4Addr = address[0].as_str().unwrap().parse().unwrap();
    assert_eq!(address.octets()[..3], private);
    project.undeploy(&it).await;

    let new = with(json!({
        "public_net": "public", "private_net_name": "inner", "private_net_cidr": "10.63.1.0/24",
        "private_net_gateway": "10.63.1.1", "private_net_pool_start": "10.63.1.10", "private_net_pool_end": "10.63.1.20",
    }));
    let it = project
        .deploy("servers_in_new_neutron_net.yaml", &[], new)
        .await;
    let mut addresses = Vec::new();
    for server in ["server1", "server2"] {
        let inner = it.address_in(&format!("{server}_private_ip"), [10, 63, 1]);
        assert!((10..=20).contains(&inner.octets()[3]), "{inner}");
        addresses.extend([
            inner.to_string(),
            it.text(&format!("{server}_public_ip")).to_owned(),
        ]);
    }
    let mut floating = project.lab.model(|model| {
        let all = model.floating_ips.iter();
        all.map(|one| one.floating_ip_address.to_string())
            .collect::<Vec<_>>()
    });
    floating.sort();
    let mut public = vec![addresses[1].clone(), addresses[3].clone()];
    public.sort();
    assert_eq!(public, floating);
    addresses.dedup();
    assert_eq!(addresses.len(), 4);
    project.undeploy(&it).await;

    let existing = with(json!({"net_id": net, "subnet_id": project.ground.text("subnet")}));
    let name = "servers_in_existing_neutron_network_no_floating_ips.yaml";
    let it = project.deploy(name, &[], existing).await;
    let [one, two] =
        ["server1_provider_ip", "server2_provider_ip"].map(|name| it.address_in(name, private));
    assert_ne!(one, two);
    project.undeploy(&it).await;

    for name in [
        "F20/WordPress_Native.yaml",
        "F20/WordPress_2_Instances.yaml",
    ] {
        let parameters =
            json!({"key_name": "heat_key", "image_id": "debian-12", "instance_type": "m1.small"});
        let it = project.deploy(name, &[], parameters).await;
        let url = it.text("WebsiteURL").strip_prefix("http://");
        let address: Ipv4Addr = url
            .and_then(|url| url.strip_suffix("/wordpress"))
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(address.octets()[..3], private);
        project.undeploy(&it).await;
    }

    let trunk = json!({"key": "heat_key", "image": "debian-12", "flavor": "m1.small"});
    let it = project
        .deploy("neutron/instance_trunk_port.yaml", &[], trunk)
        .await;
    for (subport, network) in [("subport1", "subnet1"), ("subport2", "subnet2")] {
        let fixed = &it.outputs[&format!("{subport}/fixed_ips")][0];
        assert_eq!(fixed["subnet_id"], it.ids[network]);
        let mac = it.text(&format!("{subport}/mac_address"));
        assert!(mac.starts_with("fa:16:3e:"), "{mac}");
    }
    assert_eq!(it.text("parent_port/name"), "it-parent_port");
    assert_ne!(
        it.text("parent_port/mac_adress"),
        it.text("subport1/mac_address")
    );
    project.undeploy(&it).await;
    project.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn software_runs_and_signals_with_the_outputs_that_heats_agent_would_give() {
    let Some(folder) = corpus() else { return };
    let config = LabConfig::docker("api-templates", "172.31.62.0/24".parse().unwrap());
    let project = Project::open(folder, config).await;
    let usual = || with(json!({}));

    let name = format!("{SOFTWARE}/example-script-template.yaml");
    let it = project
        .deploy(&name, &["config-scripts/example-script.sh"], usual())
        .await;
    let result = |file: &str, word: &str| {
        let server = &it.ids["server"];
        format!("The file /tmp/{file} contains {word} for server {server} during CREATE")
    };
    assert_eq!(it.text("result"), result("baaaaa", "fooooo"));
    assert_eq!(it.text("other_result"), result("barmy", "fu"));
    assert_eq!(
        it.text("stdout"),
        "Writing to /tmp/baaaaa\nWritten to /tmp/baaaaa\n"
    );
    let errors = it.text("stderr");
    assert!(
        errors.starts_with("+ echo Writing to /tmp/baaaaa\n"),
        "{errors}"
    );
    assert!(errors.ends_with("Output to stderr\n"), "{errors}");
    assert_eq!(it.outputs["status_code"], 0);
    project.undeploy(&it).await;

    let name = format!("{SOFTWARE}/example-deploy-sequence.yaml");
    let it = project.deploy(&name, &[], usual()).await;
    let (first, second) = (
        it.text("deployment_a_stdout"),
        it.text("deployment_b_stdout"),
    );
    assert!(
        first.starts_with("Previous: NONE\ndeployment_a is running on it-server"),
        "{first}"
    );
    assert!(
        second.starts_with(&format!("Previous: {first}")),
        "{second}"
    );
    assert!(
        second.contains("\ndeployment_b is running on it-server"),
        "{second}"
    );
    let third = it.text("deployment_c_stdout");
    assert!(
        third.starts_with("Previous: deployment_b\ndeployment_c is running on it-server"),
        "{third}"
    );
    project.undeploy(&it).await;

    let name = format!("{SOFTWARE}/example-structured-template.yaml");
    let it = project.deploy(&name, &[], usual()).await;
    it.address_in("server_ip", [10, 62, 1]);
    project.undeploy(&it).await;

    let it = project
        .deploy("native_waitcondition.yaml", &[], usual())
        .await;
    let data: Value = serde_json::from_str(it.text("wc_data")).unwrap();
    assert_eq!(
        data,
        json!({"1": null, "2": null, "3": "data3", "4": "data4", "5": null})
    );
    let curl = it.text("curl_cli");
    assert!(
        curl.starts_with("curl -i -X POST ") && curl.contains("/signal/"),
        "{curl}"
    );
    project.undeploy(&it).await;
    project.close().await;
}
