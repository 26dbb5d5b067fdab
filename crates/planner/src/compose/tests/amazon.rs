//! Amazon's servers and security groups: their types and properties in a plan, their attributes, and refusals.

use super::*;

const SITE: &str = "  wall:
    type: AWS::EC2::SecurityGroup
    properties:
      GroupDescription: Web
      SecurityGroupIngress:
        - {IpProtocol: icmp, FromPort: '-1', ToPort: '-1', CidrIp: 0.0.0.0/0}
        - {IpProtocol: tcp, FromPort: '80', ToPort: 81, CidrIp: 0.0.0.0/0}
      SecurityGroupEgress:
        - {IpProtocol: '-1', SourceSecurityGroupName: base}
  net: {type: OS::Neutron::Net}
  first: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  second: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  web:
    type: AWS::EC2::Instance
    properties:
      ImageId: debian-12
      InstanceType: m1.small
      AvailabilityZone: nova
      UserData: '#!/bin/sh'
      Tags: [{Key: role, Value: web}]
      NetworkInterfaces:
        - {NetworkInterfaceId: {get_resource: second}, DeviceIndex: '1'}
        - {NetworkInterfaceId: {get_resource: first}, DeviceIndex: '0'}
outputs:
  page: {value: {str_replace: {template: http://host/, params: {host: {get_attr: [web, PublicIp]}}}}}
  zone: {value: {get_attr: [web, AvailabilityZone]}}
";

fn planned(template: &str) -> Plan {
    let given = Given {
        template,
        ..Given::default()
    };
    given.plan()
}

#[test]
fn servers_and_security_groups_have_their_native_types() {
    let plan = planned(&resources(SITE));
    let workflow = plan
        .workflow
        .unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    let made = workflow.resources;
    assert_eq!(made["web"].resource_type, "OS::Nova::Server");
    assert_eq!(property(&made, "web", "image"), json!("debian-12"));
    assert_eq!(property(&made, "web", "metadata"), json!({"role": "web"}));
    assert_eq!(
        property(&made, "web", "networks"),
        json!([{"port": {"get_resource": "first"}}, {"port": {"get_resource": "second"}}])
    );
    assert_eq!(made["wall"].resource_type, "OS::Neutron::SecurityGroup");
    assert_eq!(property(&made, "wall", "description"), json!("Web"));
    assert_eq!(
        property(&made, "wall", "rules"),
        json!([
            {"direction": "ingress", "protocol": "icmp", "remote_ip_prefix": "0.0.0.0/0"},
            {"direction": "ingress", "protocol": "tcp", "port_range_min": "80", "port_range_max": 81,
             "remote_ip_prefix": "0.0.0.0/0"},
            {"direction": "egress", "remote_mode": "remote_group_id", "remote_group_id": "base"},
        ])
    );
    let page = workflow.outputs["page"].value.to_json().to_string();
    assert!(
        page.contains(r#"{"get_attr":["web","first_address"]}"#),
        "{page}"
    );
    assert_eq!(workflow.outputs["zone"].value.to_json(), json!("nova"));
}

#[test]
fn software_runs_on_a_server_with_amazons_name() {
    let template = resources(
        "  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  web:
    type: AWS::EC2::Instance
    metadata: {stackloom: {public: true}}
    properties: {ImageId: debian-12, InstanceType: m1.small, SubnetId: {get_resource: subnet}}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web}, listen_port: 8080}
",
    );
    let plan = planned(&template);
    let problems = listing(&plan.diagnostics);
    assert!(!problems.contains("reference-type"), "{problems}");
    let workflow = plan.workflow.unwrap_or_else(|| panic!("{problems}"));
    assert_eq!(workflow.resources["nginx"].host(), Some("web"));
    let step = |id: &str| workflow.steps.iter().find(|step| step.id == id);
    let configure = step("nginx:configure").unwrap();
    assert_eq!(configure.after, ["web:ssh"]);
    assert!(step("web:ssh").is_some() && step("web:create").is_some());
}

#[test]
fn groups_of_both_properties_are_used() {
    let template = resources(
        "  web:\n    type: AWS::EC2::Instance\n    properties: {ImageId: debian-12, InstanceType: m1.small, \
         SecurityGroups: [one], SecurityGroupIds: [two]}\n",
    );
    let workflow = planned(&template).workflow.unwrap();
    let groups = workflow.resources.iter().find_map(|(_, spec)| {
        let groups = spec.properties.get("security_groups")?;
        Some(groups.to_json())
    });
    assert_eq!(groups, Some(json!(["one", "two"])));
}

#[test]
fn a_refusal_names_the_property_and_an_alternative() {
    let refused = |template: String| {
        let template = resources(&template);
        let given = Given {
            template: &template,
            ..Given::default()
        };
        given.errors()
    };
    let open = refused(SITE.replace("IpProtocol: '-1', ", "CidrIp: 10.0.0.0/8, "));
    assert!(
        open.contains("property-unsupported") && open.contains("write a rule for each"),
        "{open}"
    );
    let attached = refused(SITE.replace(
        "      UserData: '#!/bin/sh'\n",
        "      Volumes: [{Device: vdb, VolumeId: disk}]\n",
    ));
    assert!(
        attached.contains("OS::Cinder::VolumeAttachment"),
        "{attached}"
    );
}

#[test]
fn zones_that_refer_to_each_other_are_a_circle() {
    let template = resources(
        "  one:
    type: AWS::EC2::Instance
    properties: {ImageId: debian-12, InstanceType: m1.small, AvailabilityZone: {get_attr: [two, AvailabilityZone]}}
  two:
    type: AWS::EC2::Instance
    properties: {ImageId: debian-12, InstanceType: m1.small, AvailabilityZone: {get_attr: [one, AvailabilityZone]}}
",
    );
    let given = Given {
        template: &template,
        ..Given::default()
    };
    let problems = given.errors();
    assert!(problems.contains("circular-reference"), "{problems}");
}
