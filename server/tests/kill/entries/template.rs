//! The templates of the deployment that is killed.

use std::fmt::Write as _;

/// Servers, each with a port and a floating IP, and with a volume.
pub const SERVERS: usize = 5;

/// The same with the private server and the member of the group.
pub const ALL_SERVERS: usize = SERVERS + 2;

/// A member of the group: a private server with software.
pub const MEMBER: &str = "heat_template_version: 2021-04-16
parameters:
  net: {type: string}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_param: net}}]}
  work: {type: Stackloom::Catalog::script, properties: {host: {get_resource: server}}}
outputs:
  address: {value: {get_attr: [server, first_address]}}
";

/// A resource of each common kind, [`SERVERS`] public servers, and software on one of them and on a private one. The software on the
/// public one follows the members of a group. An output is the address of signals.
pub fn template() -> String {
    let mut text = "heat_template_version: 2021-04-16
outputs:
  signal: {value: {get_attr: [handle, signal]}}
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.78.0.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  leg: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  rules: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: tcp, port_range_min: 22, port_range_max: 22}]}}
  apart: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}
  random: {type: OS::Heat::RandomString}
  note: {type: OS::Barbican::Secret, properties: {payload: {get_attr: [random, value]}}}
  inside:
    type: OS::Neutron::Port
    depends_on: sub
    properties: {network: {get_resource: net}, security_groups: [{get_resource: rules}]}
  app:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{port: {get_resource: inside}}]}
  setup: {type: Stackloom::Catalog::script, properties: {host: {get_resource: app}}}
  farm:
    type: OS::Heat::AutoScalingGroup
    depends_on: sub
    properties:
      min_size: 1
      max_size: 2
      resource: {type: member.yaml, properties: {net: {get_resource: net}}}
  report:
    type: Stackloom::Catalog::script
    properties: {host: {get_resource: web0}, arguments: {get_attr: [farm, outputs_list, address]}}
"
    .to_owned();
    for n in 0..SERVERS {
        write!(
            text,
            "  port{n}:
    type: OS::Neutron::Port
    depends_on: sub
    properties: {{network: {{get_resource: net}}, security_groups: [{{get_resource: rules}}]}}
  fip{n}:
    type: OS::Neutron::FloatingIP
    depends_on: leg
    properties: {{floating_network: public, port_id: {{get_resource: port{n}}}}}
  web{n}:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.tiny
      networks: [{{port: {{get_resource: port{n}}}}}]
  disk{n}: {{type: OS::Cinder::Volume, properties: {{size: 1}}}}
  plug{n}:
    type: OS::Cinder::VolumeAttachment
    properties: {{instance_uuid: {{get_resource: web{n}}}, volume_id: {{get_resource: disk{n}}}}}
"
        )
        .unwrap();
    }
    text
}

/// The template with a successor of a server that has a volume, and with a wait for a signal after that. The cloud has resources of
/// the same kinds.
pub fn updated_template() -> String {
    let web = "  web1:
    type: OS::Nova::Server
    properties:
";
    let template = template();
    assert!(template.contains(web), "{template}");
    let template = template.replace(web, &format!("{web}      user_data: '#!/bin/true'\n"));
    template
        + "  wait:
    type: OS::Heat::WaitCondition
    depends_on: [web1, plug1]
    properties: {handle: {get_resource: handle}, timeout: 36000}
"
}
