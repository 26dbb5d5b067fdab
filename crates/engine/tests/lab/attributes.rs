//! Attributes with Heat's values, in properties and in outputs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use api::{OutputValue, RunState, StepState};
use hot::document::Document;
use lab::{CallFault, Fault, Lab};
use openstack::{Method, Service};
use serde_json::{Value, json};
use types::{Executable, Registry};

use crate::bench::{Bench, PATIENCE};
use crate::update::{order, to};

/// A server with a port that Nova creates, and a floating IP that is associated with the port by an attribute of the
/// server.
const ADDRESSED: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: front}}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  web:
    type: OS::Nova::Server
    depends_on: foot
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}], tags: [one]}
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_attr: [web, addresses, front, 0, port]}}
outputs:
  port: {value: {get_attr: [address, port_id]}}
  by_id: {value: {get_attr: [web, addresses, {get_resource: net}, 0]}}
  plain: {value: {get_attr: [web, networks, {get_resource: net}]}}
  state: {value: {get_attr: [web, show, status]}}
  fixed: {value: no attribute}
";

impl Bench {
    /// Outputs with attributes that are read now.
    async fn outputs(&self, deployment: &str) -> BTreeMap<String, OutputValue> {
        let shown = self.engine.deployment_now(&self.actor, deployment).await;
        shown.unwrap().outputs
    }

    /// An action on a server outside of the deployment.
    async fn act_outside(&self, server: &str, action: Value) {
        let path = ["servers", server, "action"];
        let call = self
            .actor
            .session
            .call(Service::Compute, Method::POST, &path);
        call.json(&action).send().await.unwrap();
    }
}

#[tokio::test]
async fn a_floating_ip_leads_to_the_port_of_a_servers_address() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(ADDRESSED).await;
    let outputs = bench.outputs(&deployment).await;
    let value = |name: &str| outputs[name].value.clone().unwrap();
    let port = bench.lab.model(|model| {
        let server = model.servers.iter().next().unwrap();
        server.ports[0].clone()
    });
    assert_eq!(value("port"), json!(port));
    let address = value("by_id");
    assert_eq!(address["port"], json!(port));
    assert_eq!(address["OS-EXT-IPS:type"], "fixed");
    assert_eq!(address["subnets"][0]["cidr"], "10.0.1.0/24");
    assert_eq!(address["network"]["name"], "front");
    assert_eq!(value("plain")[0], address["addr"]);

    // A change of the server does not affect the floating IP.
    let changed = ADDRESSED.replace("tags: [one]", "tags: [two]");
    let run = bench.update(&deployment, to(&changed)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let outputs = bench.outputs(&deployment).await;
    assert_eq!(outputs["port"].value, Some(json!(port)));
    // An update to the same template changes nothing.
    let run = bench.update(&deployment, to(&changed)).await;
    assert_eq!(order(&run), Vec::<String>::new());
}

#[tokio::test]
async fn outputs_show_the_clouds_present_values() {
    let bench = Bench::new().await;
    let template = ADDRESSED.replace(
        "outputs:\n",
        "  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: disk}}}
outputs:\n  volume: {value: {get_attr: [disk, status]}}\n",
    );
    let deployment = bench.deployed(&template).await;
    let first = bench.outputs(&deployment).await;
    assert_eq!(first["volume"].value, Some(json!("in-use")));
    assert_eq!(first["state"].value, Some(json!("ACTIVE")));
    assert!(first["state"].live && first["state"].read_at.is_some());
    assert!(!first["fixed"].live && first["fixed"].read_at.is_none());

    let web = bench.ids(&deployment).await["web"].clone();
    bench.act_outside(&web, json!({"os-stop": null})).await;
    bench
        .eventually("the output says that the server is stopped", async || {
            let outputs = bench.outputs(&deployment).await;
            outputs["state"].value == Some(json!("SHUTOFF"))
        })
        .await;
    let second = bench.outputs(&deployment).await;
    assert!(second["state"].read_at > first["state"].read_at);
}

#[tokio::test]
async fn outputs_with_a_secret_origin_are_marked() {
    let bench = Bench::new().await;
    let template = "heat_template_version: 2021-04-16
resources:
  random: {type: OS::Heat::RandomString, properties: {length: 20}}
  words: {type: OS::Heat::Value, properties: {value: {str_replace: {template: pw-it, params: {it: {get_attr: [random, value]}}}}}}
  net: {type: OS::Neutron::Net, properties: {name: front}}
outputs:
  password: {value: {get_attr: [random, value]}}
  derived: {value: {list_join: [':', [admin, {get_attr: [words, value]}]]}}
  name: {value: {get_attr: [net, name]}}
  fixed: {value: no attribute}
";
    let deployment = bench.deployed(template).await;
    let outputs = bench.outputs(&deployment).await;
    let marked: Vec<&str> = outputs
        .iter()
        .filter(|(_, output)| output.secret)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(marked, ["derived", "password"]);
    let password = outputs["password"].value.clone().unwrap();
    assert_eq!(password.as_str().map(str::len), Some(20));

    let seen_by_reader = outputs["password"].clone().without_secret();
    assert_eq!(seen_by_reader.value, None);
    assert!(seen_by_reader.error.is_some());
    let name = &outputs["name"];
    assert_eq!(name.clone().without_secret(), *name);
}

#[tokio::test]
async fn stored_attributes_are_used_if_the_cloud_does_not_answer() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ADDRESSED).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("GET".into()),
        status: Some(403),
        ..CallFault::default()
    }));
    let outputs = bench.outputs(&started.deployment).await;
    let state = &outputs["state"];
    assert_eq!(state.value, Some(json!("ACTIVE")));
    assert!(!state.live && state.read_at.is_some(), "{state:?}");
    assert!(outputs["port"].live);
    // Addresses are not stored: the error has the reason why they are missing.
    let error = outputs["by_id"].error.as_deref().unwrap();
    assert!(error.starts_with("`web` could not be read: "), "{error}");
}

#[tokio::test]
async fn an_output_that_waited_for_a_slot_says_that_the_cloud_was_not_asked() {
    let lab = Lab::memory().await.unwrap();
    let shorter = |config: &mut engine::Config| config.read_patience = Duration::from_secs(1);
    let bench = Bench::with_config(lab, "no-catalog".as_ref(), PATIENCE, PATIENCE, shorter).await;
    let deployment = bench.deployed(ADDRESSED).await;
    let searches = bench.hanging_searches(&deployment).await;
    let outputs = bench.outputs(&deployment).await;
    let state = &outputs["state"];
    assert_eq!(state.value, Some(json!("ACTIVE")));
    assert!(!state.live && state.read_at.is_some(), "{state:?}");
    let error = outputs["by_id"].error.as_deref().unwrap();
    let why = "`web` could not be read: the cloud was not asked, because other requests of the project take too long";
    assert!(error.starts_with(why), "{error}");

    drop(searches);
    bench.lab.faults().clear();
    let outputs = bench.outputs(&deployment).await;
    assert!(outputs["by_id"].live, "{:?}", outputs["by_id"]);
}

#[tokio::test]
async fn outputs_of_a_group_follow_its_members() {
    let bench = Bench::new().await;
    let template = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  group:
    type: OS::Heat::ResourceGroup
    depends_on: sub
    properties:
      count: 2
      resource_def: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}}
outputs:
  states: {value: {get_attr: [group, show, status]}}
  ports: {value: {get_attr: [group, addresses, {get_resource: net}, 0, port]}}
";
    let deployment = bench.deployed(template).await;
    let outputs = bench.outputs(&deployment).await;
    assert_eq!(outputs["states"].value, Some(json!(["ACTIVE", "ACTIVE"])));
    assert!(outputs["states"].live);
    let ports = outputs["ports"].value.clone().unwrap();
    assert!(ports[0].is_string() && ports[1].is_string(), "{ports}");
    let first = bench.ids(&deployment).await["group/0"].clone();
    bench.act_outside(&first, json!({"os-stop": null})).await;
    bench
        .eventually(
            "the group's output says that a member is stopped",
            async || {
                let outputs = bench.outputs(&deployment).await;
                outputs["states"].value == Some(json!(["SHUTOFF", "ACTIVE"]))
            },
        )
        .await;
}

#[tokio::test]
async fn a_property_fails_without_the_value_that_heat_would_have() {
    let bench = Bench::new().await;
    let template = ADDRESSED.replace("tags: [one]", "user_data_format: SOFTWARE_CONFIG").replace(
        "outputs:\n",
        "  disk: {type: OS::Cinder::Volume, properties: {size: 1, metadata: {get_attr: [web, os_collect_config]}}}\noutputs:\n",
    );
    let (_, run) = bench.deploy(&template).await;
    let failed = run.steps.iter().find(|step| step.id == "disk:create");
    let failed = failed.unwrap();
    assert_eq!(failed.state, StepState::Failed);
    let why = failed.error.as_deref().unwrap();
    assert!(
        why.contains(
            "property `metadata`: `web` has no value for its attribute `os_collect_config`"
        ),
        "{why}"
    );
}

#[tokio::test]
async fn an_attribute_path_without_a_value_is_reported() {
    let bench = Bench::new().await;
    let (_, run) = bench
        .deploy(&ADDRESSED.replace("addresses, front, 0", "addresses, back, 0"))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let log_lines = bench.log_lines(&run).await;
    let line = log_lines
        .iter()
        .find(|line| line.contains("`port_id`"))
        .unwrap();
    assert!(
        line.contains(
            "`get_attr: [web, addresses, back, 0, port]` leads to nothing, `addresses` is a map of"
        ),
        "{line}"
    );
}

/// Attributes of types with a driver, whose extension is missing in the lab, as in many clouds.
const NOT_IN_THE_LAB: [(&str, &str); 5] = [
    ("OS::Neutron::Net", "l2_adjacency"),
    ("OS::Neutron::Net", "segments"),
    ("OS::Neutron::ProviderNet", "segments"),
    ("OS::Neutron::Port", "dns_assignment"),
    ("OS::Neutron::Port", "propagate_uplink_status"),
];

/// Types that the lab cannot create, and one that only passes add.
const NOT_MADE: [&str; 15] = [
    "OS::Aodh::CompositeAlarm",
    "OS::Aodh::EventAlarm",
    "OS::Aodh::GnocchiAggregationByMetricsAlarm",
    "OS::Aodh::GnocchiAggregationByResourcesAlarm",
    "OS::Aodh::GnocchiResourcesAlarm",
    "OS::Aodh::PrometheusAlarm",
    "OS::Designate::RecordSet",
    "OS::Designate::Zone",
    "OS::Neutron::MeteringLabel",
    "OS::Neutron::MeteringRule",
    "OS::Neutron::QoSMinimumBandwidthRule",
    "OS::Neutron::QoSMinimumPacketRateRule",
    "OS::Neutron::Segment",
    "OS::Swift::Container",
    "Stackloom::SSHKey",
];

/// Types that plans replace by an `OS::Nova::Server` and an `OS::Neutron::SecurityGroup`.
const AMAZON: &str = "heat_template_version: 2021-04-16
parameters: {image: {type: string}, flavor: {type: string}}
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.99.0.0/24}}
  wall:
    type: AWS::EC2::SecurityGroup
    properties:
      GroupDescription: Web
      SecurityGroupIngress: [{IpProtocol: tcp, FromPort: '80', ToPort: '80', CidrIp: 0.0.0.0/0}]
  web:
    type: AWS::EC2::Instance
    properties:
      ImageId: {get_param: image}
      InstanceType: {get_param: flavor}
      SubnetId: {get_resource: subnet}
      SecurityGroups: [{get_resource: wall}]
      AvailabilityZone: nova
";

/// A template with an output for each attribute of each resource, and the types in it.
fn with_all_outputs(template: &str) -> (String, BTreeMap<String, String>) {
    let registry = Registry::openstack();
    let body = template.split("\noutputs:").next().unwrap();
    let document = Document::parse(body);
    let mut text = format!("{}\noutputs:\n", body.trim_end());
    let mut types = BTreeMap::new();
    for resource in &document.template().resources {
        let described = registry.get(&resource.resource_type).unwrap();
        if described.executable == Executable::Driver {
            types.insert(resource.name.clone(), resource.resource_type.clone());
            let given = described.attributes.iter();
            for attribute in given.filter(|one| !described.not_given.contains(&one.name)) {
                let (name, attribute) = (&resource.name, &attribute.name);
                text += &format!(
                    "  {name}.{attribute}: {{value: {{get_attr: [{name}, {attribute}]}}}}\n"
                );
            }
        }
    }
    (text, types)
}

#[tokio::test]
async fn every_described_attribute_has_a_value() {
    let mut bench = Bench::new().await;
    let mut made = BTreeSet::new();
    let mut missing = Vec::new();
    for (user, template) in [
        ("demo", include_str!("../real/attributes.yaml")),
        ("demo", include_str!("../real/networking.yaml")),
        ("demo", include_str!("../real/rare.yaml")),
        ("demo", AMAZON),
        ("admin", include_str!("../real/people.yaml")),
        ("admin", include_str!("../real/qos.yaml")),
        ("admin", include_str!("../real/rare_admin.yaml")),
    ] {
        bench.actor = bench.log_in(user).await;
        bench.tenant = bench.actor.tenant.clone();
        let (text, types) = with_all_outputs(template);
        let document = Document::parse(text.as_str());
        let parameters = [
            ("image", "debian-12"),
            ("flavor", "m1.tiny"),
            ("outside", "public"),
            (
                "public_key",
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8dC0kVqFsbtVlKPLrmMJAFlvtg0OrtTPDpaMLf5hrQ a@b",
            ),
        ];
        let declared = &document.template().parameters;
        let parameters = parameters
            .into_iter()
            .filter(|(name, _)| declared.iter().any(|one| one.name == *name))
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        let started = bench.try_deploy("shop", &text, parameters).await.unwrap();
        let run = bench.end_of(&started.run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        for (output, value) in bench.outputs(&started.deployment).await {
            let (resource, attribute) = output.split_once('.').unwrap();
            if let Some(error) = value.error {
                missing.push((types[resource].clone(), attribute.to_owned(), error));
            }
        }
        bench.undeploy(&started.deployment).await;
        made.extend(types.into_values());
    }
    missing.retain(|(of, attribute, _)| !NOT_IN_THE_LAB.contains(&(of, attribute)));
    assert_eq!(missing, Vec::new());
    let registry = Registry::openstack();
    let unmade: Vec<&str> = registry
        .iter()
        .filter(|described| {
            described.executable == Executable::Driver && !made.contains(&described.name)
        })
        .map(|described| described.name.as_str())
        .collect();
    assert_eq!(unmade, NOT_MADE);
}
