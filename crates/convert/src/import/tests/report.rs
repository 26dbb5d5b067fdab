//! Notes about parts that are left out, needed or changed.

use super::*;

#[test]
fn everything_lost_is_in_the_report() {
    let text = "AWSTemplateFormatVersion: '2010-09-09'\nTransform: AWS::Serverless\nResources:\n  Role:\n    Type: AWS::IAM::Role\n    Properties: {Path: /}\n  \
                Web:\n    Type: AWS::EC2::Instance\n    CreationPolicy: {}\n    Properties:\n      ImageId: !Ref Missing\n      InstanceType: !Cidr [a]\n      Tenancy: x\n";
    let imported = import(text).unwrap();
    assert_eq!(
        notes(&imported),
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
fn resources_with_missing_properties_become_placeholders() {
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
    let notes = notes(&imported);
    assert!(
        notes.iter().any(|one| one == "4 needed Resources.Wait"),
        "{notes:#?}"
    );
}

#[test]
fn resources_without_a_counterpart_become_placeholders() {
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
    let notes = notes(&imported);
    assert!(
        notes.iter().any(|one| one == "8 left out Outputs.Kind"),
        "{notes:#?}"
    );
}
