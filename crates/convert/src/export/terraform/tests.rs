use super::*;
use crate::export::Format;
use crate::export::testing::Design;

fn exported(resources: &str) -> (Value, Report) {
    let text = format!(
        "heat_template_version: 2021-04-16\nparameters:\n  net: {{type: string}}\n  count: {{type: number, default: 2}}\n  \
         names: {{type: comma_delimited_list, default: 'a, b'}}\n  map: {{type: json, default: {{}}}}\n  secret: {{type: string, hidden: true}}\n{resources}"
    );
    let export = Design::of(&text).export(Format::Terraform);
    (serde_json::from_str(&export.text).unwrap(), export.report)
}

fn value(hot: Value) -> Result<Value, String> {
    let mut writer = Writer::default();
    writer.targets.insert(
        "web".to_owned(),
        Target::Resource {
            address: "openstack_compute_instance_v2.web".to_owned(),
            mapping: mapped("OS::Nova::Server").unwrap(),
            many: Many::No,
        },
    );
    writer.value(&hot)
}

#[test]
fn functions_have_counterparts() {
    for (hot, terraform) in [
        (json!({"get_param": "a"}), "${var.a}"),
        (json!({"get_param": ["a", "b", 0]}), "${var.a[\"b\"][0]}"),
        (
            json!({"get_resource": "web"}),
            "${openstack_compute_instance_v2.web.id}",
        ),
        (
            json!({"get_attr": ["web", "first_address"]}),
            "${openstack_compute_instance_v2.web.access_ip_v4}",
        ),
        (
            json!({"str_replace": {"template": "a$x-$xy", "params": {"$x": 1, "$xy": {"get_param": "p"}}}}),
            "${replace(replace(\"a$x-$xy\", \"$xy\", var.p), \"$x\", 1)}",
        ),
        (
            json!({"list_join": ["-", ["a"], {"get_param": "p"}]}),
            "${join(\"-\", concat([\"a\"], var.p))}",
        ),
        (
            json!({"str_split": [",", "a,b", 1]}),
            "${split(\",\", \"a,b\")[1]}",
        ),
        (json!({"digest": ["sha512", "a"]}), "${sha512(\"a\")}"),
        (
            json!({"if": [{"equals": [{"get_param": "p"}, "x"]}, 1, 2]}),
            "${((var.p == \"x\") ? 1 : 2)}",
        ),
        (
            json!({"get_file": "a.sh"}),
            "${file(\"${path.module}/files/a.sh\")}",
        ),
        (
            json!({"get_file": "../../etc/./passwd"}),
            "${file(\"${path.module}/files/etc/passwd\")}",
        ),
        (
            json!({"make_url": {"scheme": "http", "host": {"get_param": "h"}, "port": 80}}),
            "${join(\"\", [\"http\", \"://\", var.h, \":\", 80])}",
        ),
        (json!("${x} %{y} \"q\""), "$${x} %%{y} \"q\""),
    ] {
        assert_eq!(value(hot.clone()), Ok(json!(terraform)), "{hot}");
    }
    assert_eq!(
        value(json!({"yaql": {"expression": "x", "data": {}}})),
        Err("the function `yaql`".to_owned())
    );
    assert_eq!(
        value(json!({"get_attr": ["db", "name"]})),
        Err("a reference to `db`, which is not in the file".to_owned())
    );
}

#[test]
fn names_of_existing_resources_become_data_sources() {
    let (out, _) = exported(
        "resources:\n  a: {type: OS::Neutron::Port, properties: {network: private, security_groups: [default]}}\n  \
         b: {type: OS::Neutron::Port, properties: {network: 9d3c54ae-41a2-4a3c-9a3f-5b0f6a3c2d10}}\n  \
         c: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}\n",
    );
    let port =
        |name: &str| out["resource"]["openstack_networking_port_v2"][name]["network_id"].clone();
    assert_eq!(
        port("a"),
        "${data.openstack_networking_network_v2.private.id}"
    );
    assert_eq!(port("b"), "9d3c54ae-41a2-4a3c-9a3f-5b0f6a3c2d10");
    assert_eq!(port("c"), "${data.openstack_networking_network_v2.net.id}");
    assert_eq!(
        out["data"]["openstack_networking_secgroup_v2"]["default"]["name"],
        "default"
    );
}

#[test]
fn orders_without_a_reference_become_depends_on() {
    let (out, _) = exported(
        "resources:\n  net: {type: OS::Neutron::Net}\n  \
         subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}\n  \
         port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}\n",
    );
    assert_eq!(
        out["resource"]["openstack_networking_port_v2"]["port"]["depends_on"],
        json!(["openstack_networking_subnet_v2.subnet"])
    );
}

#[test]
fn variables_keep_types_secrets_and_defaults() {
    let (out, _) = exported("resources: {}\n");
    assert_eq!(
        out["variable"]["names"],
        json!({"type": "list(string)", "default": ["a", "b"]})
    );
    assert_eq!(
        out["variable"]["secret"],
        json!({"type": "string", "sensitive": true})
    );
    assert_eq!(out["variable"]["count"]["default"], 2);
}

#[test]
fn resources_without_a_counterpart_are_in_the_report() {
    let (out, report) = exported(
        "resources:\n  wait: {type: OS::Heat::WaitConditionHandle}\n  \
         web: {type: OS::Nova::Server, properties: {image: i, flavor: f, user_data: {get_attr: [wait, curl_cli]}}}\noutputs:\n  x: {value: {get_attr: [wait, curl_cli]}}\n",
    );
    assert!(
        out["resource"]["openstack_compute_instance_v2"]["web"]
            .get("user_data")
            .is_none()
    );
    let paths: Vec<&str> = report.notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "resources.wait",
            "resources.web.properties.user_data",
            "outputs.x"
        ]
    );
}

#[test]
fn conditions_and_groups_become_counts() {
    let (out, report) = exported(
        "conditions:\n  many: {not: {equals: [{get_param: count}, 1]}}\nresources:\n  \
         net: {type: OS::Neutron::Net, condition: many}\n  \
         group:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: {get_param: count}\n      resource_def:\n        \
         type: OS::Nova::Server\n        properties: {name: 'web-%index%', image: i, flavor: f, networks: [{network: {get_resource: net}}]}\n\
         outputs:\n  ids: {value: {get_attr: [group, refs]}}\n",
    );
    assert_eq!(out["locals"]["condition_many"], "${!(var.count == 1)}");
    let net = &out["resource"]["openstack_networking_network_v2"]["net"];
    assert_eq!(net["count"], "${local.condition_many ? 1 : 0}");
    let group = &out["resource"]["openstack_compute_instance_v2"]["group"];
    assert_eq!(group["count"], "${var.count}");
    assert_eq!(group["name"], "web-${count.index}");
    assert_eq!(
        group["network"][0]["uuid"],
        "${one(openstack_networking_network_v2.net[*].id)}"
    );
    assert_eq!(
        out["output"]["ids"]["value"],
        "${openstack_compute_instance_v2.group[*].id}"
    );
    assert_eq!(report, Report::default());
}

#[test]
fn similar_names_stay_different() {
    let (out, _) = exported(
        "conditions:\n  'on it': true\n  on_it: {equals: [{get_param: count}, 1]}\nresources:\n  \
         a: {type: OS::Neutron::Port, properties: {network: web net}}\n  \
         b: {type: OS::Neutron::Port, properties: {network: web_net}}\n  \
         c: {type: OS::Neutron::Port, properties: {network: web_net}}\n  \
         'g h': {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: tcp}]}}\n  \
         g_h: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: udp}]}}\n  \
         g_h_0: {type: OS::Neutron::SecurityGroupRule, properties: {security_group: {get_resource: g_h}, protocol: icmp}}\n\
         outputs:\n  'x y': {value: 1}\n  x_y: {value: 2}\n",
    );
    let networks = &out["data"]["openstack_networking_network_v2"];
    assert_eq!(networks.as_object().unwrap().len(), 2);
    for (port, network) in [("a", "web net"), ("b", "web_net"), ("c", "web_net")] {
        let id = &out["resource"]["openstack_networking_port_v2"][port]["network_id"];
        let name = id.as_str().unwrap();
        let name = name.trim_start_matches("${data.openstack_networking_network_v2.");
        let found = &networks[name.trim_end_matches(".id}")];
        assert_eq!(found["name"], network, "{port}");
    }
    let rules = out["resource"]["openstack_networking_secgroup_rule_v2"].as_object();
    let mut protocols: Vec<_> = rules
        .unwrap()
        .values()
        .map(|rule| &rule["protocol"])
        .collect();
    protocols.sort_by_key(|protocol| protocol.to_string());
    assert_eq!(protocols, ["icmp", "tcp", "udp"]);
    let values: Vec<_> = out["output"].as_object().unwrap().values().collect();
    assert_eq!(values, [&json!({"value": 1}), &json!({"value": 2})]);
    assert_eq!(out["locals"].as_object().unwrap().len(), 2);
}

#[test]
fn similar_parameters_stay_different() {
    let text = "heat_template_version: 2021-04-16\nparameters:\n  'a b': {type: string, default: x}\n  a_b: {type: string, default: y}\n\
                resources: {}\noutputs:\n  one: {value: {get_param: 'a b'}}\n  two: {value: {get_param: a_b}}\n";
    let export = Design::of(text).export(Format::Terraform);
    let out: Value = serde_json::from_str(&export.text).unwrap();
    for (output, default) in [("one", "x"), ("two", "y")] {
        let value = out["output"][output]["value"].as_str().unwrap();
        let variable = value.trim_start_matches("${var.").trim_end_matches('}');
        assert_eq!(out["variable"][variable]["default"], default, "{output}");
    }
}

#[test]
fn files_of_a_design_are_not_read_as_terraform_configuration() {
    let text = "heat_template_version: 2021-04-16\nresources:\n  web:\n    type: OS::Nova::Server\n    \
                properties: {image: i, flavor: f, networks: [{network: n}], user_data: {get_file: run.tf}}\n";
    let design = Design::of(text).with(&[("run.tf", "resource \"x\" \"y\" {}")]);
    let paths: Vec<String> = design
        .export(Format::Terraform)
        .files
        .into_iter()
        .map(|file| file.path)
        .collect();
    assert_eq!(paths, ["files/run.tf"]);
}
