//! Networks, and floating IPs of servers in them.

use super::*;

#[test]
fn the_range_of_a_vpc_is_substituted_unless_it_refers_to_a_resource() {
    let converted = |range: &str| {
        let text = format!(
            "AWSTemplateFormatVersion: x\nParameters: {{P: {{Type: String}}}}\nMappings: {{M: {{a: {{b: 10.2.0.0/16}}}}}}\n\
             Resources:\n  Net: {{Type: AWS::EC2::VPC, Properties: {{CidrBlock: {range}}}}}\nOutputs: {{X: {{Value: !GetAtt Net.CidrBlock}}}}\n"
        );
        let imported = import(&text).unwrap();
        let document = Document::parse(imported.template.as_str());
        let value = document.value(&["outputs", "X", "value"]);
        (value.unwrap_or_default(), notes(&imported))
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
        assert_eq!(converted(range).0, hot, "{range}");
    }
    for itself in [
        "!GetAtt Net.CidrBlock",
        "!Sub '${Net.CidrBlock}'",
        "!FindInMap [M, !GetAtt Net.CidrBlock, b]",
        "!Join ['', [!GetAtt Net.CidrBlock, !GetAtt Net.CidrBlock]]",
        "!Ref Net",
    ] {
        let (value, notes) = converted(itself);
        assert_eq!(value, Value::Null, "{itself}");
        let message = "6 left out Outputs.X";
        assert!(
            notes.iter().any(|one| one == message),
            "{itself}: {notes:?}"
        );
    }
}

#[test]
fn a_server_with_an_address_and_no_subnet_gets_a_port() {
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
fn an_explicit_address_replaces_the_automatic_one() {
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
    let notes = notes(&imported(&named));
    assert!(
        notes.iter().any(|one| one == "3 changed Resources.Web"),
        "{notes:#?}"
    );
}
