//! Small templates in Amazon's words, read beside what becomes of them.

use topology::cloud::CloudFacts;
use topology::document::Document;
use topology::types::Registry;
use topology::validate::validate;

use super::*;

/// The import, which must be a template that validation finds nothing wrong with.
fn imported(text: &str) -> Imported {
    let imported = import(text).unwrap();
    let document = Document::parse(imported.template.as_str());
    let found = validate(&document, &Registry::openstack(), &CloudFacts::default());
    let wrong: Vec<_> = found.iter().filter(|one| one.is_error()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", imported.template);
    imported
}

/// What a resource became, and what was said.
fn made(text: &str, path: &[&str]) -> Value {
    let imported = imported(&format!("AWSTemplateFormatVersion: '2010-09-09'\n{text}"));
    let document = Document::parse(imported.template.as_str());
    document.value(path).unwrap_or(Value::Null)
}

fn said(imported: &Imported) -> Vec<String> {
    let notes = imported.report.notes.iter();
    notes
        .map(|note| {
            format!(
                "{} {} {}",
                note.line.unwrap_or(0),
                note.kind.word(),
                note.path
            )
        })
        .collect()
}

/// A web server with a disk and an address in a network of its own.
const SITE: &str = r#"AWSTemplateFormatVersion: "2010-09-09"
Description: A site.
Metadata:
  AWS::CloudFormation::Interface:
    ParameterGroups:
      - Label: {default: Servers}
        Parameters: [Size, Key]
Parameters:
  Size:
    Type: Number
    Default: "10"
    MinValue: 1
    MaxValue: "100"
    ConstraintDescription: One to a hundred.
  Key: {Type: "AWS::EC2::KeyPair::KeyName"}
  Secret: {Type: String, NoEcho: true, MinLength: 8, AllowedPattern: "[a-z]*"}
Mappings:
  Images:
    eu-west-1: {Image: debian-12}
Conditions:
  Large: !Not [!Equals [!Ref Size, 10]]
Resources:
  Net:
    Type: AWS::EC2::VPC
    Properties: {CidrBlock: 10.0.0.0/16}
  Gateway: {Type: AWS::EC2::InternetGateway}
  Attached:
    Type: AWS::EC2::VPCGatewayAttachment
    Properties: {VpcId: !Ref Net, InternetGatewayId: !Ref Gateway}
  Subnet:
    Type: AWS::EC2::Subnet
    DependsOn: Attached
    Properties: {VpcId: !Ref Net, CidrBlock: 10.0.1.0/24, AvailabilityZone: a}
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: Web.
      VpcId: !Ref Net
      SecurityGroupIngress:
        - {IpProtocol: tcp, FromPort: "80", ToPort: "80", CidrIp: 0.0.0.0/0}
        - {IpProtocol: -1, SourceSecurityGroupId: !GetAtt Net.DefaultSecurityGroup}
  Web:
    Type: AWS::EC2::Instance
    Properties:
      ImageId: !FindInMap [Images, !Ref "AWS::Region", Image]
      InstanceType: m1.small
      KeyName: !Ref Key
      SubnetId: !Ref Subnet
      SecurityGroupIds: [!Ref Group]
      Tenancy: dedicated
      Tags: [{Key: Name, Value: !Sub "${AWS::StackName}-web"}]
      UserData:
        Fn::Base64: !Sub |
          #!/bin/sh
          echo ${Secret} ${!HOME} ${Disk}
  Disk:
    Type: AWS::EC2::Volume
    DeletionPolicy: Snapshot
    Properties: {Size: !If [Large, !Ref Size, 5], AvailabilityZone: !GetAtt Web.AvailabilityZone}
  DiskAttached:
    Type: AWS::EC2::VolumeAttachment
    Properties: {InstanceId: !Ref Web, VolumeId: !Ref Disk, Device: /dev/vdb}
  Address: {Type: AWS::EC2::EIP, Properties: {Domain: vpc}}
  Leads:
    Type: AWS::EC2::EIPAssociation
    Properties: {AllocationId: !GetAtt Address.AllocationId, InstanceId: !Ref Web}
Outputs:
  Url: {Value: !Join ["", ["http://", !GetAtt Web.PublicIp, "/"]], Export: {Name: url}}
"#;

#[test]
fn a_site() {
    insta::assert_snapshot!(imported(SITE).template);
}

#[test]
fn json_is_read_like_yaml() {
    let text = r##"{
      "HeatTemplateFormatVersion": "2012-12-12",
      "Resources": {
        "Server": {"Type": "AWS::EC2::Instance", "Properties": {
          "ImageId": {"Ref": "Image"}, "InstanceType": "m1.small",
          "UserData": {"Fn::Base64": {"Fn::Join": ["", ["#!/bin/sh\n", "true\n"]]}}}}
      },
      "Parameters": {"Image": {"Type": "String", "Default": "fedora"}}
    }"##;
    let document = Document::parse(imported(text).template);
    let server = document
        .value(&["resources", "Server", "properties"])
        .unwrap();
    assert_eq!(
        server,
        json!({
            "image": {"get_param": "Image"},
            "flavor": "m1.small",
            "user_data": {"list_join": ["", ["#!/bin/sh\n", "true\n"]]},
            "user_data_format": "RAW",
        })
    );
}

#[test]
fn functions_have_counterparts() {
    for (amazon, hot) in [
        ("!Ref P", json!({"get_param": "P"})),
        ("!Ref Net", json!({"get_resource": "Net"})),
        (
            "!Ref AWS::StackName",
            json!({"get_param": "OS::stack_name"}),
        ),
        (
            "!Ref Address",
            json!({"get_attr": ["Address", "floating_ip_address"]}),
        ),
        (
            "!GetAtt Subnet.CidrBlock",
            json!({"get_attr": ["Subnet", "cidr"]}),
        ),
        (
            "!Join ['-', [a, !Ref P]]",
            json!({"list_join": ["-", ["a", {"get_param": "P"}]]}),
        ),
        (
            "!Join [',', !Ref L]",
            json!({"list_join": [",", {"get_param": "L"}]}),
        ),
        (
            "!Split [',', !Ref P]",
            json!({"str_split": [",", {"get_param": "P"}]}),
        ),
        (
            "!Select [1, !Split [',', !Ref P]]",
            json!({"str_split": [",", {"get_param": "P"}, 1]}),
        ),
        ("!Select ['0', !Ref L]", json!({"get_param": ["L", 0]})),
        ("!Select [1, [a, b]]", json!("b")),
        ("!Sub '${P}'", json!({"get_param": "P"})),
        (
            "!Sub ['${P}:${x}', {x: 1}]",
            json!({"str_replace": {"template": "${P}:${x}", "params": {"${P}": {"get_param": "P"}, "${x}": 1}}}),
        ),
        ("!FindInMap [M, a, b]", json!(3)),
        (
            "!FindInMap [M, !Ref P, b]",
            json!({"get_param": ["M", {"get_param": "P"}, "b"]}),
        ),
        ("!If [C, 1, !Ref AWS::NoValue]", json!({"if": ["C", 1]})),
        (
            "!If [C, !Ref AWS::NoValue, 2]",
            json!({"if": [{"not": "C"}, 2]}),
        ),
        (
            "{'Fn::Replace': [{a: !Ref P}, 'x a']}",
            json!({"str_replace": {"template": "x a", "params": {"a": {"get_param": "P"}}}}),
        ),
        (
            "!ImportValue shared-net",
            json!({"get_param": "import_shared_net"}),
        ),
    ] {
        let text = format!(
            "Parameters:\n  P: {{Type: String}}\n  L: {{Type: CommaDelimitedList}}\nMappings: {{M: {{a: {{b: 3}}}}}}\nConditions: {{C: !Equals [!Ref P, x]}}\n\
             Resources:\n  Net: {{Type: AWS::EC2::VPC}}\n  Address: {{Type: AWS::EC2::EIP}}\n  \
             Subnet: {{Type: AWS::EC2::Subnet, Properties: {{VpcId: !Ref Net, CidrBlock: 10.0.0.0/24}}}}\nOutputs:\n  X: {{Value: {amazon}}}\n"
        );
        assert_eq!(made(&text, &["outputs", "X", "value"]), hot, "{amazon}");
    }
}

#[test]
fn a_load_balancer_is_octavias() {
    let text = "Resources:\n  Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i, InstanceType: f}}\n  Front:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    \
                Properties:\n      Instances: [!Ref Web]\n      Listeners: [{LoadBalancerPort: '80', InstancePort: '8080', Protocol: HTTP}]\n      \
                HealthCheck: {Target: 'HTTP:8080/ok', Interval: '10', Timeout: '5', HealthyThreshold: '2', UnhealthyThreshold: '3'}\n";
    let of = |name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(of("Front"), json!({"vip_subnet": {"get_param": "subnet"}}));
    assert_eq!(of("Front_listener_0")["protocol_port"], 80);
    assert_eq!(of("Front_monitor_0")["url_path"], "/ok");
    assert_eq!(
        of("Front_member_0_0"),
        json!({"pool": {"get_resource": "Front_pool_0"}, "address": {"get_attr": ["Web", "first_address"]}, "protocol_port": 8080})
    );
}

#[test]
fn a_scaling_group_has_its_members_in_it() {
    let text = "Resources:\n  Like: {Type: AWS::AutoScaling::LaunchConfiguration, Properties: {ImageId: i, InstanceType: f}}\n  Group:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    \
                UpdatePolicy: {AutoScalingRollingUpdate: {MinInstancesInService: '1', PauseTime: PT1M}}\n    \
                Properties: {MinSize: '1', MaxSize: 3, LaunchConfigurationName: !Ref Like, AvailabilityZones: [a]}\n  Up:\n    Type: AWS::AutoScaling::ScalingPolicy\n    \
                Properties: {AutoScalingGroupName: !Ref Group, ScalingAdjustment: '1', AdjustmentType: ChangeInCapacity}\n";
    let group = made(text, &["resources", "Group", "properties"]);
    assert_eq!(
        group,
        json!({
            "min_size": 1,
            "max_size": 3,
            "resource": {"type": "OS::Nova::Server", "properties": {"image": "i", "flavor": "f"}},
            "rolling_updates": {"min_in_service": 1, "pause_time": 60},
        })
    );
    let up = made(text, &["resources", "Up", "properties"]);
    assert_eq!(
        up["auto_scaling_group_id"],
        json!({"get_resource": "Group"})
    );
}

#[test]
fn waiting_nesting_and_buckets() {
    let text = "Resources:\n  Handle: {Type: AWS::CloudFormation::WaitConditionHandle}\n  Wait: {Type: AWS::CloudFormation::WaitCondition, Properties: {Handle: !Ref Handle, Timeout: '600'}}\n  \
                Site: {Type: AWS::S3::Bucket, Properties: {AccessControl: PublicRead, WebsiteConfiguration: {IndexDocument: i.html}}}\nOutputs:\n  Url: {Value: !Ref Handle}\n";
    assert_eq!(
        made(text, &["resources", "Wait", "properties"]),
        json!({"handle": {"get_resource": "Handle"}, "timeout": 600})
    );
    assert_eq!(
        made(text, &["outputs", "Url", "value"]),
        json!({"get_attr": ["Handle", "endpoint"]})
    );
    let site = made(text, &["resources", "Site", "properties"]);
    assert_eq!(
        site,
        json!({"X-Container-Read": ".r:*", "X-Container-Meta": {"web-index": "i.html"}})
    );
    let nested = import("AWSTemplateFormatVersion: x\nResources:\n  Db: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: 'https://a.b/db.template', Parameters: {Size: 1}}}\nOutputs: {X: {Value: !GetAtt Db.Outputs.Url}}\n").unwrap();
    let document = Document::parse(nested.template.as_str());
    assert_eq!(
        document.value(&["resources", "Db", "type"]),
        Some(json!("db.yaml"))
    );
    assert_eq!(
        document.value(&["outputs", "X", "value"]),
        Some(json!({"get_attr": ["Db", "Url"]}))
    );
}

#[test]
fn nothing_vanishes_without_a_word() {
    let text = "AWSTemplateFormatVersion: '2010-09-09'\nTransform: AWS::Serverless\nResources:\n  Role:\n    Type: AWS::IAM::Role\n    Properties: {Path: /}\n  \
                Web:\n    Type: AWS::EC2::Instance\n    CreationPolicy: {}\n    Properties:\n      ImageId: !Ref Missing\n      InstanceType: !Cidr [a]\n      Tenancy: x\n";
    let imported = import(text).unwrap();
    assert_eq!(
        said(&imported),
        [
            "2 left out Transform",
            "4 left out Resources.Role",
            "9 left out Resources.Web.CreationPolicy",
            "11 needed Resources.Web.Properties.ImageId",
            "12 left out Resources.Web.Properties.InstanceType",
            "13 left out Resources.Web.Properties.Tenancy",
            "0 needed Parameters",
        ]
    );
    assert!(
        imported
            .template
            .contains("# - left out Resources.Web.Properties.Tenancy (line 13)")
    );
}

#[test]
fn what_is_no_template_is_refused_with_its_place() {
    assert_eq!(import("Resources: [a\n  b: c").unwrap_err().line, Some(2));
    assert!(import("a: 1").is_err());
    assert!(import("").is_err());
    assert!(import("- a").is_err());
}

#[test]
fn a_vpcs_range_is_followed_where_it_leads_to_no_resource() {
    let asked = |range: &str| {
        let text = format!(
            "AWSTemplateFormatVersion: x\nParameters: {{P: {{Type: String}}}}\nMappings: {{M: {{a: {{b: 10.2.0.0/16}}}}}}\n\
             Resources:\n  Net: {{Type: AWS::EC2::VPC, Properties: {{CidrBlock: {range}}}}}\nOutputs: {{X: {{Value: !GetAtt Net.CidrBlock}}}}\n"
        );
        let imported = import(&text).unwrap();
        let document = Document::parse(imported.template.as_str());
        let value = document.value(&["outputs", "X", "value"]);
        (value.unwrap_or_default(), said(&imported))
    };
    for (range, hot) in [
        ("10.0.0.0/16", json!("10.0.0.0/16")),
        ("!Ref P", json!({"get_param": "P"})),
        ("!FindInMap [M, a, b]", json!("10.2.0.0/16")),
        (
            "!FindInMap [M, !Ref P, b]",
            json!({"get_param": ["M", {"get_param": "P"}, "b"]}),
        ),
    ] {
        assert_eq!(asked(range).0, hot, "{range}");
    }
    for itself in [
        "!GetAtt Net.CidrBlock",
        "!Sub '${Net.CidrBlock}'",
        "!FindInMap [M, !GetAtt Net.CidrBlock, b]",
        "!Join ['', [!GetAtt Net.CidrBlock, !GetAtt Net.CidrBlock]]",
        "!Ref Net",
    ] {
        let (value, said) = asked(itself);
        assert_eq!(value, Value::Null, "{itself}");
        let message = "6 left out Outputs.X";
        assert!(said.iter().any(|one| one == message), "{itself}: {said:?}");
    }
}

#[test]
fn what_is_asked_for_again_and_again_is_not_made() {
    let long = "x".repeat(100 << 10);
    let looked_up = format!(
        "Mappings: {{M: {{a: {{b: {long}}}}}}}\nResources: {{}}\nOutputs:\n  X: {{Value: [{}]}}\n",
        "!FindInMap [M, a, b], ".repeat(50)
    );
    // Each level says the one below it five times.
    let mut nested = "x".to_owned();
    for _ in 0..12 {
        nested = format!("!Sub ['${{a}}${{ a}}${{  a}}${{a }}${{a  }}', {{a: {nested}}}]");
    }
    let nested = format!("Resources: {{}}\nOutputs: {{X: {{Value: {nested}}}}}\n");
    let products = format!(
        "Resources:\n  Web: {{Type: AWS::EC2::Instance}}\n  Front:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    \
         Properties: {{Instances: [{}], Listeners: [{}]}}\n",
        "!Ref Web, ".repeat(5_000),
        "{}, ".repeat(5_000)
    );
    let ranges = format!(
        "Resources: {{}}\nOutputs: {{X: {{Value: [{}]}}}}\n",
        "!Cidr [1.0.0.0/8, 256, 8], ".repeat(1_000)
    );
    for text in [looked_up, nested, products, ranges] {
        let refused = import(&text).unwrap_err();
        assert_eq!(refused.message, "what is made of it is more than 4 MiB");
    }
}

#[test]
fn a_long_report_ends_with_a_word() {
    let transforms: String = (0..1_500).map(|number| format!("k{number}: 1\n")).collect();
    let imported = import(&format!("Resources: {{}}\n{transforms}")).unwrap();
    assert_eq!(imported.report.notes.len(), 1_001);
    assert_eq!(imported.report.notes[1_000].message, "and more");
}

#[test]
fn what_is_asked_wrongly_is_no_circle() {
    let text = "AWSTemplateFormatVersion: x\nConditions: {A: !Equals a, B: !And [], C: !Or x, D: !Condition A, E: !Not [!Equals [1]]}\nResources: {}\n";
    let imported = imported(text);
    assert!(
        imported.template.contains("D:\n    and:"),
        "{}",
        imported.template
    );
    let said = said(&imported);
    assert!(
        said.iter().any(|one| one == "2 changed Conditions.B"),
        "{said:#?}"
    );
}

#[test]
fn an_address_leads_to_a_port_where_only_a_network_is_known() {
    let text = "Resources:\n  Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i, InstanceType: f, SecurityGroupIds: [g], PrivateIpAddress: 10.0.0.4}}\n  \
                Address: {Type: AWS::EC2::EIP, Properties: {InstanceId: !Ref Web}}\n";
    let of = |name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(
        of("Web_port"),
        json!({
            "network": {"get_param": "network"},
            "fixed_ips": [{"ip_address": "10.0.0.4"}],
            "security_groups": ["g"],
        })
    );
    assert_eq!(
        of("Web")["networks"],
        json!([{"port": {"get_resource": "Web_port"}, "floating_ip": {"get_resource": "Address"}}])
    );
    assert!(of("Web").get("security_groups").is_none());
}

#[test]
fn one_address_leads_to_a_server_and_groups_of_other_interfaces_are_told() {
    let text = "AWSTemplateFormatVersion: x\nResources:\n  Web:\n    Type: AWS::EC2::Instance\n    Properties:\n      ImageId: i\n      InstanceType: f\n      \
                NetworkInterfaces: [{DeviceIndex: 0, AssociatePublicIpAddress: true, GroupSet: [g]}, {DeviceIndex: 1}]\n";
    let of = |text: &str, name: &str| made(text, &["resources", name]);
    assert_eq!(of(text, "Web_address")["type"], "OS::Neutron::FloatingIP");

    let named =
        format!("{text}  Address: {{Type: AWS::EC2::EIP, Properties: {{InstanceId: !Ref Web}}}}\n");
    assert_eq!(of(&named, "Web_address"), Value::Null);
    assert_eq!(
        of(&named, "Web")["properties"]["networks"],
        json!([
            {"port": {"get_resource": "Web_port"}, "floating_ip": {"get_resource": "Address"}},
            {"network": {"get_param": "network"}},
        ])
    );
    let said = said(&imported(&named));
    assert!(
        said.iter().any(|one| one == "3 changed Resources.Web"),
        "{said:#?}"
    );
}

#[test]
fn what_is_refused_in_a_choice_does_not_turn_it_round() {
    let asked = |value: &str| {
        let text = format!(
            "Parameters: {{Size: {{Type: String}}}}\nConditions: {{Big: !Equals [!Ref Size, big]}}\n\
             Resources: {{Web: {{Type: AWS::EC2::Instance, Properties: {{ImageId: i, InstanceType: t}}}}}}\nOutputs: {{Ip: {{Value: {value}}}}}\n"
        );
        made(&text, &["outputs", "Ip", "value"])
    };
    let address = json!({"get_attr": ["Web", "first_address"]});
    assert_eq!(
        asked("!If [Big, !GetAtt Web.Nope, !GetAtt Web.PrivateIp]"),
        json!({"if": ["Big", null, address]})
    );
    assert_eq!(
        asked("!If [Big, !GetAtt Web.PrivateIp, !GetAtt Web.Nope]"),
        json!({"if": ["Big", address, null]})
    );
    // Without what it hangs on there is nothing to choose.
    assert_eq!(asked("!If [Nope, a, b]"), Value::Null);
    // What stands beside it in lists moves up, also in a list within one that becomes shorter.
    assert_eq!(
        asked("[!GetAtt Web.Nope, [!GetAtt Web.PrivateIp, !GetAtt Web.Nope]]"),
        json!([[address]])
    );
}

#[test]
fn what_lacks_something_is_held_until_a_person_gives_it() {
    let text = "AWSTemplateFormatVersion: x\nParameters: {L: {Type: CommaDelimitedList, AllowedValues: [a], Default: a}}\nResources:\n  \
                Wait: {Type: AWS::CloudFormation::WaitCondition, CreationPolicy: {}}\n  Disk: {Type: AWS::EC2::Volume, DeletionPolicy: RetainExceptOnCreate}\n  \
                Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i}}\nOutputs: {X: {Value: !GetAtt Wait.Data}, Y: {Value: !Ref Disk}}\n";
    let imported = imported(text);
    let document = Document::parse(imported.template.as_str());
    for name in ["Wait", "Disk"] {
        let kind = document.value(&["resources", name, "type"]);
        assert_eq!(kind, Some(json!("OS::Heat::None")), "{name}");
    }
    assert_eq!(
        document.value(&["resources", "Web", "properties", "flavor"]),
        Some(json!({"get_param": "flavor"}))
    );
    let said = said(&imported);
    assert!(
        said.iter().any(|one| one == "4 needed Resources.Wait"),
        "{said:#?}"
    );
}

#[test]
fn what_a_load_balancer_loses_is_said() {
    let text = "AWSTemplateFormatVersion: x\nResources:\n  Front:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    Properties:\n      Scheme: internet-facing\n      \
                SecurityGroups: [a]\n      HealthCheck:\n        Target: TCP:22\n        UnhealthyThreshold: 5\n      \
                Listeners:\n        - LoadBalancerPort: 80\n          InstancePort: 80\n          PolicyNames: [p]\n  \
                Inner:\n    Type: AWS::ElasticLoadBalancing::LoadBalancer\n    Properties:\n      Scheme: internal\n      Listeners: !Ref L\n";
    let said = said(&import(text).unwrap());
    for note in [
        "6 needed Resources.Front.Properties.Scheme",
        "7 left out Resources.Front.Properties.SecurityGroups",
        "10 left out Resources.Front.Properties.HealthCheck.UnhealthyThreshold",
        "14 left out Resources.Front.Properties.Listeners.0.PolicyNames",
        "19 left out Resources.Inner.Properties.Listeners",
    ] {
        assert!(said.iter().any(|one| one == note), "{note}: {said:#?}");
    }
    assert!(
        !said
            .iter()
            .any(|one| one.contains("Inner.Properties.Scheme"))
    );
}

#[test]
fn hostile_texts_cost_no_memory() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    assert!(import(&bomb).unwrap_err().message.contains("aliases"));
    let long = "x".repeat(100 << 10);
    let texts = format!("a: &a {long}\nb: [{}]\n", "*a, ".repeat(50));
    assert!(import(&texts).unwrap_err().message.contains("aliases"));
    let key = format!("Resources: {{{}: 1}}\n", "k".repeat(256));
    assert!(import(&key).unwrap_err().message.contains("key"));
    assert!(import(&"[".repeat(10_000)).is_err());
    let long = format!("Resources: {{}}\n#{}", "x".repeat(600 << 10));
    assert!(import(&long).unwrap_err().message.contains("longer"));
}

#[test]
fn a_load_balancer_of_the_second_kind_is_octavias_too() {
    let text = "Resources:\n  Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i, InstanceType: f}}\n  \
                Front: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Name: front, Scheme: internal, Subnets: [a, b]}}\n  \
                Group:\n    Type: AWS::ElasticLoadBalancingV2::TargetGroup\n    Properties:\n      Port: 8080\n      Protocol: HTTP\n      VpcId: x\n      \
                Targets: [{Id: !Ref Web}, {Id: 10.0.0.9, Port: '81'}]\n      HealthCheckPath: /ok\n      HealthyThresholdCount: 2\n      Matcher: {HttpCode: '200'}\n      \
                TargetGroupAttributes: [{Key: stickiness.enabled, Value: 'true'}, {Key: stickiness.type, Value: lb_cookie}]\n  \
                Other: {Type: AWS::ElasticLoadBalancingV2::TargetGroup, Properties: {Port: 80, Protocol: HTTP}}\n  \
                Alone: {Type: AWS::ElasticLoadBalancingV2::TargetGroup, Properties: {Port: 80}}\n  \
                Port:\n    Type: AWS::ElasticLoadBalancingV2::Listener\n    Properties:\n      LoadBalancerArn: !Ref Front\n      Port: '443'\n      Protocol: HTTPS\n      \
                Certificates: [{CertificateArn: arn}]\n      DefaultActions: [{Type: forward, TargetGroupArn: !Ref Group}]\n  \
                Api:\n    Type: AWS::ElasticLoadBalancingV2::ListenerRule\n    Properties:\n      ListenerArn: !Ref Port\n      Priority: 7\n      \
                Actions: [{Type: forward, ForwardConfig: {TargetGroups: [{TargetGroupArn: !Ref Other}]}}]\n      \
                Conditions: [{Field: path-pattern, Values: ['/api/*']}, {Field: host-header, HostHeaderConfig: {Values: ['*.a.b', c.d]}}, {Field: source-ip, Values: [x]}]\n\
                Outputs: {Name: {Value: !GetAtt Front.DNSName}}\n";
    let of = |name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(of("Front"), json!({"name": "front", "vip_subnet": "a"}));
    assert_eq!(
        of("Group"),
        json!({
            "loadbalancer": {"get_resource": "Front"},
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "session_persistence": {"type": "HTTP_COOKIE"},
        })
    );
    assert_eq!(
        of("Group_monitor"),
        json!({
            "pool": {"get_resource": "Group"}, "type": "HTTP", "url_path": "/ok", "expected_codes": "200",
            "max_retries": 2, "delay": 30, "timeout": 5,
        })
    );
    assert_eq!(
        of("Group_member_0"),
        json!({"pool": {"get_resource": "Group"}, "address": {"get_attr": ["Web", "first_address"]}, "protocol_port": 8080})
    );
    assert_eq!(of("Group_member_1")["protocol_port"], 81);
    assert_eq!(
        of("Port"),
        json!({
            "loadbalancer": {"get_resource": "Front"}, "protocol_port": 443, "protocol": "TERMINATED_HTTPS",
            "default_tls_container_ref": "arn", "default_pool": {"get_resource": "Group"},
        })
    );
    assert_eq!(
        of("Api"),
        json!({
            "listener": {"get_resource": "Port"}, "position": 7, "action": "REDIRECT_TO_POOL",
            "redirect_pool": {"get_resource": "Other"},
        })
    );
    assert_eq!(of("Api_rule_0")["compare_type"], "STARTS_WITH");
    assert_eq!(of("Api_rule_1")["value"], "^(.*\\.a\\.b|c\\.d)$");
    assert_eq!(
        made(text, &["outputs", "Name", "value"]),
        json!({"get_attr": ["Front", "vip_address"]})
    );
    let said = said(&import(text).unwrap());
    for note in [
        "16 left out Resources.Alone",
        "left out Resources.Api.Properties.Conditions",
    ] {
        assert!(
            said.iter().any(|one| one.ends_with(note)),
            "{note}: {said:#?}"
        );
    }
}

#[test]
fn what_is_made_like_a_launch_template_says_so_itself() {
    let text = "AWSTemplateFormatVersion: x\nResources:\n  Like:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateName: like\n      \
                LaunchTemplateData: {ImageId: i, InstanceType: f, KeyName: k, IamInstanceProfile: {Name: p}, NetworkInterfaces: [{DeviceIndex: 0, Groups: [g]}]}\n  \
                Web: {Type: AWS::EC2::Instance, Properties: {InstanceType: g, LaunchTemplate: {LaunchTemplateName: like, Version: 1}}}\n  \
                Group:\n    Type: AWS::AutoScaling::AutoScalingGroup\n    Properties: {MinSize: 1, MaxSize: 2, LaunchTemplate: {LaunchTemplateId: !Ref Like, Version: !GetAtt Like.LatestVersionNumber}}\n  \
                Up:\n    Type: AWS::AutoScaling::ScalingPolicy\n    Properties: {AutoScalingGroupName: !Ref Group, PolicyType: TargetTrackingScaling}\n";
    let imported = import(text).unwrap();
    let of = |name: &str| made(text, &["resources", name, "properties"]);
    assert_eq!(
        of("Web"),
        json!({"image": "i", "flavor": "g", "key_name": "k", "security_groups": ["g"]})
    );
    assert_eq!(
        of("Group")["resource"]["properties"],
        json!({"image": "i", "flavor": "f", "key_name": "k", "security_groups": ["g"]})
    );
    assert_eq!(made(text, &["resources", "Up", "type"]), "OS::Heat::None");
    let said = said(&imported);
    let lost = "7 left out Resources.Like.Properties.LaunchTemplateData.IamInstanceProfile";
    assert!(said.iter().any(|one| one == lost), "{said:#?}");
    // Each loses it for a reason of its own.
    let notes = imported.report.notes.iter();
    let why = notes.filter(|note| note.path.ends_with("IamInstanceProfile"));
    let why: Vec<&str> = why.map(|note| note.message.as_str()).collect();
    assert!(
        why[0].ends_with("give it to the server itself") && why[1].contains("members of a group"),
        "{why:#?}"
    );
}

#[test]
fn ranges_are_cut_as_amazon_cuts_them() {
    let asked = |value: &str| {
        let text = format!(
            "AWSTemplateFormatVersion: x\nResources: {{}}\nOutputs: {{X: {{Value: {value}}}}}\n"
        );
        made(&text, &["outputs", "X", "value"])
    };
    assert_eq!(
        asked("!Cidr [192.168.0.0/24, 3, 5]"),
        json!(["192.168.0.0/27", "192.168.0.32/27", "192.168.0.64/27"])
    );
    assert_eq!(
        asked("!Select [1, !Cidr [10.0.0.0/16, '2']]"),
        json!("10.0.1.0/24")
    );
    assert_eq!(
        asked("!Select [255, !Cidr [0.0.0.0/0, 256, 24]]"),
        json!("255.0.0.0/8")
    );
    for none in [
        "!Cidr [10.0.0.0/24, 2, 8]",
        "!Cidr [10.0.0.0/24, 1000000000, 1]",
        "!Cidr [10.0.0.0/99, 1, 1]",
        "!Cidr ['::/64', 1, 1]",
        "!Cidr [10.0.0.0/8, 1, 99]",
    ] {
        assert_eq!(asked(none), Value::Null, "{none}");
    }
    assert_eq!(
        asked("{'Fn::ToJsonString': {a: [1, true]}}"),
        json!("{\"a\":[1,true]}")
    );
}

#[test]
fn what_openstack_has_not_is_held_by_nothing_and_the_rest_is_whole() {
    let text = "AWSTemplateFormatVersion: x\nResources:\n  Role: {Type: AWS::IAM::Role, Properties: {Path: /}}\n  \
                'Fn::ForEach::Nets': [a, [b], {}]\n  \
                Route: {Type: AWS::EC2::Route, Properties: {RouteTableId: x}}\n  \
                Web: {Type: AWS::EC2::Instance, DependsOn: [Route, Role, Missing], Properties: {ImageId: i, InstanceType: f, UserData: !GetAtt Role.Arn}}\n  \
                Disk: {Type: AWS::EC2::Volume, Properties: {Size: 1}}\nOutputs: {Kind: {Value: !GetAtt Disk.VolumeId}}\n";
    let imported = imported(text);
    let document = Document::parse(imported.template.as_str());
    let of = |path: &[&str]| document.value(path);
    assert_eq!(
        of(&["resources", "Role", "type"]),
        Some(json!("OS::Heat::None"))
    );
    assert_eq!(
        of(&["resources", "Role", "metadata"]),
        Some(json!({"cloudformation": {"type": "AWS::IAM::Role"}}))
    );
    assert_eq!(
        of(&["resources", "Web", "depends_on"]),
        Some(json!(["Role"]))
    );
    assert_eq!(of(&["outputs", "Kind", "value"]), Some(Value::Null));
    let said = said(&imported);
    assert!(
        said.iter().any(|one| one == "8 left out Outputs.Kind"),
        "{said:#?}"
    );
}

#[test]
fn parameters_that_are_added_take_no_ones_place() {
    let text = "AWSTemplateFormatVersion: x\nParameters: {network: {Type: String, Default: mine}}\nMappings: {region: {a: {b: 1}}}\n\
                Resources:\n  Web: {Type: AWS::EC2::Instance, Properties: {ImageId: i, InstanceType: f, PrivateIpAddress: 10.0.0.4}}\n\
                Outputs:\n  A: {Value: !ImportValue a-b}\n  B: {Value: !ImportValue a.b}\n  C: {Value: !ImportValue a-b}\n  R: {Value: !Ref 'AWS::Region'}\n";
    let of = |path: &[&str]| made(text, path);
    assert_eq!(of(&["parameters", "network", "default"]), "mine");
    assert_eq!(
        of(&["resources", "Web", "properties", "networks", "0", "network"]),
        json!({"get_param": "network_"})
    );
    assert_eq!(
        of(&["outputs", "R", "value"]),
        json!({"get_param": "region_"})
    );
    assert_eq!(
        of(&["outputs", "A", "value"]),
        of(&["outputs", "C", "value"])
    );
    assert_ne!(
        of(&["outputs", "A", "value"]),
        of(&["outputs", "B", "value"])
    );
}
