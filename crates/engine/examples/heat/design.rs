//! The template of the comparison: flat, and supported by both sides.

use std::fmt::Write as _;

/// A public key without an existing private key.
pub const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJUeD3v1eHh8oVZVPAiTqOZkuVVCVBZqDOL8LkEAAAAA bench";

/// A network behind a router, a security group, a key pair, and for every server a port, the server and a floating IP.
pub fn template(size: usize) -> String {
    let mut text = format!(
        "heat_template_version: 2018-08-31
resources:
  net: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.20.0.0/22}}
  router:
    type: OS::Neutron::Router
    properties: {{external_gateway_info: {{network: public}}}}
  router_if:
    type: OS::Neutron::RouterInterface
    properties: {{router: {{get_resource: router}}, subnet: {{get_resource: subnet}}}}
  sg:
    type: OS::Neutron::SecurityGroup
    properties:
      rules:
        - {{protocol: tcp, port_range_min: 22, port_range_max: 22}}
        - {{protocol: icmp}}
  key:
    type: OS::Nova::KeyPair
    properties: {{name: bench-heat-{size}, public_key: {KEY}}}
"
    );
    for index in 0..size {
        write!(
            text,
            "  port{index}:
    type: OS::Neutron::Port
    properties: {{network: {{get_resource: net}}, fixed_ips: [{{subnet: {{get_resource: subnet}}}}], security_groups: [{{get_resource: sg}}]}}
  server{index}:
    type: OS::Nova::Server
    properties: {{image: fake-image, flavor: m1.nano, key_name: {{get_resource: key}}, networks: [{{port: {{get_resource: port{index}}}}}]}}
  fip{index}:
    type: OS::Neutron::FloatingIP
    depends_on: [router_if]
    properties: {{floating_network: public, port_id: {{get_resource: port{index}}}}}
"
        )
        .expect("text can grow");
    }
    text
}

/// Number of resources in the template.
pub fn resources(size: usize) -> usize {
    6 + 3 * size
}
