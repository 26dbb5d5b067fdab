//! Groups, their definitions, wait conditions and nested stacks.

use super::*;

#[test]
fn a_scaling_group_contains_the_definition_of_its_members() {
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
fn wait_conditions_nested_stacks_and_buckets_are_converted() {
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
fn servers_and_groups_get_the_properties_of_their_launch_template() {
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
    let notes = notes(&imported);
    let lost = "7 left out Resources.Like.Properties.LaunchTemplateData.IamInstanceProfile";
    assert!(notes.iter().any(|one| one == lost), "{notes:#?}");
    // Each is lost for a different reason.
    let notes = imported.report.notes.iter();
    let why = notes.filter(|note| note.path.ends_with("IamInstanceProfile"));
    let why: Vec<&str> = why.map(|note| note.message.as_str()).collect();
    assert!(
        why[0].ends_with("Set it on the server itself.") && why[1].contains("The group's members"),
        "{why:#?}"
    );
}
