//! Templates of a given size, for measurements.

use std::fmt::Write;

/// A network, its subnet, a router with gateway and interface, and a security group, plus `k` times a port, a floating
/// IP, a volume and a server: `5 + 4 k` resources. Heat's times were measured with this template.
pub fn network_stack(k: usize) -> String {
    let mut text = String::from(
        "heat_template_version: 2015-10-15\n\
         resources:\n\
         \x20 net: {type: OS::Neutron::Net}\n\
         \x20 subnet:\n    type: OS::Neutron::Subnet\n    properties: {network: {get_resource: net}, cidr: 10.0.0.0/16}\n\
         \x20 router:\n    type: OS::Neutron::Router\n    properties: {external_gateway_info: {network: public}}\n\
         \x20 interface:\n    type: OS::Neutron::RouterInterface\n    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}\n\
         \x20 group:\n    type: OS::Neutron::SecurityGroup\n    properties:\n      rules: [{protocol: tcp, port_range_min: 22, port_range_max: 22}]\n",
    );
    for i in 0..k {
        let _ = write!(
            text,
            "\x20 port{i}:\n    type: OS::Neutron::Port\n    properties:\n      network: {{get_resource: net}}\n      \
             fixed_ips: [{{subnet: {{get_resource: subnet}}}}]\n      security_groups: [{{get_resource: group}}]\n\
             \x20 address{i}:\n    type: OS::Neutron::FloatingIP\n    properties: {{floating_network: public, port_id: {{get_resource: port{i}}}}}\n\
             \x20 volume{i}:\n    type: OS::Cinder::Volume\n    properties: {{size: 10}}\n\
             \x20 server{i}:\n    type: OS::Nova::Server\n    properties:\n      image: debian-12\n      flavor: m1.small\n      \
             networks: [{{port: {{get_resource: port{i}}}}}]\n      \
             block_device_mapping_v2: [{{device_name: vdb, volume_id: {{get_resource: volume{i}}}}}]\n"
        );
    }
    text
}

/// `n` servers on one existing network.
pub fn plain_servers(n: usize) -> String {
    let mut text = String::from("heat_template_version: 2015-10-15\nresources:\n");
    for i in 0..n {
        let _ = write!(
            text,
            "  server{i}:\n    type: OS::Nova::Server\n    properties:\n      image: debian-12\n      flavor: m1.small\n      \
             networks: [{{network: private}}]\n"
        );
    }
    text
}

/// A drawn design: networks of up to 20 private web servers with software, behind one public load balancer. About `n`
/// drawn resources. The passes add ports, groups, rules, router and addresses.
pub fn drawn(n: usize) -> String {
    let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n");
    let mut count = 2;
    let mut backends = Vec::new();
    let mut network = 0;
    let mut servers = usize::MAX;
    while count < n {
        if servers >= 20 {
            network += 1;
            servers = 0;
            count += 2;
            let _ = write!(
                text,
                "  net{network}: {{type: \"OS::Neutron::Net\"}}\n  net{network}_subnet:\n    type: OS::Neutron::Subnet\n    \
                 properties: {{network: {{get_resource: net{network}}}, cidr: 10.{network}.0.0/24}}\n"
            );
        }
        let name = format!("web{}", backends.len() + 1);
        server(&mut text, &name, network, "");
        let _ = write!(
            text,
            "  {name}_page:\n    type: Stackloom::Catalog::nginx\n    properties:\n      host: {{get_resource: {name}}}\n      \
             listen_port: 8080\n      page_text: Hello from {name}\n"
        );
        backends.push(format!("{{get_resource: {name}_page}}"));
        servers += 1;
        count += 2;
    }
    server(
        &mut text,
        "edge",
        1,
        "    metadata: {stackloom: {public: true}}\n",
    );
    let _ = write!(
        text,
        "  balancer:\n    type: Stackloom::Catalog::haproxy\n    properties:\n      host: {{get_resource: edge}}\n      \
         backends: [{}]\n",
        backends.join(", ")
    );
    text
}

fn server(text: &mut String, name: &str, network: usize, metadata: &str) {
    let _ = write!(
        text,
        "  {name}:\n    type: OS::Nova::Server\n{metadata}    properties:\n      image: debian-12\n      flavor: m1.small\n      \
         networks: [{{network: {{get_resource: net{network}}}}}]\n"
    );
}
