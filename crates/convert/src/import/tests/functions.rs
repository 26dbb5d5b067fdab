//! Functions, conditions and parameters.

use super::*;

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
fn invalid_conditions_make_no_circle() {
    let text = "AWSTemplateFormatVersion: x\nConditions: {A: !Equals a, B: !And [], C: !Or x, D: !Condition A, E: !Not [!Equals [1]]}\nResources: {}\n";
    let imported = imported(text);
    assert!(
        imported.template.contains("D:\n    and:"),
        "{}",
        imported.template
    );
    let notes = notes(&imported);
    assert!(
        notes.iter().any(|one| one == "2 changed Conditions.B"),
        "{notes:#?}"
    );
}

#[test]
fn an_invalid_branch_of_an_if_does_not_swap_the_branches() {
    let converted = |value: &str| {
        let text = format!(
            "Parameters: {{Size: {{Type: String}}}}\nConditions: {{Big: !Equals [!Ref Size, big]}}\n\
             Resources: {{Web: {{Type: AWS::EC2::Instance, Properties: {{ImageId: i, InstanceType: t}}}}}}\nOutputs: {{Ip: {{Value: {value}}}}}\n"
        );
        made(&text, &["outputs", "Ip", "value"])
    };
    let address = json!({"get_attr": ["Web", "first_address"]});
    assert_eq!(
        converted("!If [Big, !GetAtt Web.Nope, !GetAtt Web.PrivateIp]"),
        json!({"if": ["Big", null, address]})
    );
    assert_eq!(
        converted("!If [Big, !GetAtt Web.PrivateIp, !GetAtt Web.Nope]"),
        json!({"if": ["Big", address, null]})
    );
    // An `if` without its condition is dropped.
    assert_eq!(converted("!If [Nope, a, b]"), Value::Null);
    // Later items of lists move up, also in a nested list.
    assert_eq!(
        converted("[!GetAtt Web.Nope, [!GetAtt Web.PrivateIp, !GetAtt Web.Nope]]"),
        json!([[address]])
    );
}

#[test]
fn cidr_divides_ranges_as_amazon_does() {
    let converted = |value: &str| {
        let text = format!(
            "AWSTemplateFormatVersion: x\nResources: {{}}\nOutputs: {{X: {{Value: {value}}}}}\n"
        );
        made(&text, &["outputs", "X", "value"])
    };
    assert_eq!(
        converted("!Cidr [192.168.0.0/24, 3, 5]"),
        json!(["192.168.0.0/27", "192.168.0.32/27", "192.168.0.64/27"])
    );
    assert_eq!(
        converted("!Select [1, !Cidr [10.0.0.0/16, '2']]"),
        json!("10.0.1.0/24")
    );
    assert_eq!(
        converted("!Select [255, !Cidr [0.0.0.0/0, 256, 24]]"),
        json!("255.0.0.0/8")
    );
    for none in [
        "!Cidr [10.0.0.0/24, 2, 8]",
        "!Cidr [10.0.0.0/24, 1000000000, 1]",
        "!Cidr [10.0.0.0/99, 1, 1]",
        "!Cidr ['::/64', 1, 1]",
        "!Cidr [10.0.0.0/8, 1, 99]",
    ] {
        assert_eq!(converted(none), Value::Null, "{none}");
    }
    assert_eq!(
        converted("{'Fn::ToJsonString': {a: [1, true]}}"),
        json!("{\"a\":[1,true]}")
    );
}

#[test]
fn added_parameters_get_free_names() {
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
