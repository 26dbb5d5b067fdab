//! Small CloudFormation templates and their conversion.

use hot::document::Document;
use planner::cloud::CloudFacts;
use planner::validate::validate;
use types::Registry;

use super::*;

mod balancers;
mod functions;
mod groups;
mod limits;
mod network;
mod report;

/// Imports a text. The template must validate without errors.
fn imported(text: &str) -> Imported {
    let imported = import(text).unwrap();
    let document = Document::parse(imported.template.as_str());
    let found = validate(&document, &Registry::openstack(), &CloudFacts::default());
    let wrong: Vec<_> = found.iter().filter(|one| one.is_error()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", imported.template);
    imported
}

/// The value at a path of the converted template.
fn made(text: &str, path: &[&str]) -> Value {
    let imported = imported(&format!("AWSTemplateFormatVersion: '2010-09-09'\n{text}"));
    let document = Document::parse(imported.template.as_str());
    document.value(path).unwrap_or(Value::Null)
}

fn notes(imported: &Imported) -> Vec<String> {
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

/// A web server with a disk and a floating IP, in a network of its own.
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
