//! Instance groups: their servers, their size, their attribute, batches, and refusals.

use super::*;

/// A group with this size and these further lines, and its launch configuration.
fn group(size: u64, launch: &str, more: &str) -> String {
    resources(&format!(
        "  wall: {{type: OS::Neutron::SecurityGroup}}\n  like:\n    type: AWS::AutoScaling::LaunchConfiguration\n    \
         properties: {{{launch}}}\n  g:\n    type: OS::Heat::InstanceGroup\n    \
         properties: {{AvailabilityZones: [nova], LaunchConfigurationName: {{get_resource: like}}, Size: {size}}}\n{more}"
    ))
}

const LAUNCH: &str =
    "ImageId: debian-12, InstanceType: m1.small, SecurityGroups: [{get_resource: wall}]";

fn servers(resources: &BTreeMap<String, ResourceSpec>) -> Vec<&str> {
    let servers = resources.iter();
    let servers = servers.filter(|(_, spec)| spec.resource_type == "OS::Nova::Server");
    servers.map(|(name, _)| name.as_str()).collect()
}

fn made(template: &str) -> BTreeMap<String, ResourceSpec> {
    let given = Given {
        template,
        ..Given::default()
    };
    given.made()
}

#[test]
fn members_are_servers_of_the_launch_configuration() {
    let launch = format!(
        "{LAUNCH}, UserData: '#!/bin/sh', NovaSchedulerHints: [{{Key: group, Value: a}}, {{Key: different_host, Value: b}}, \
         {{Key: different_host, Value: c}}], BlockDeviceMappings: [{{DeviceName: vdb, Ebs: {{SnapshotId: s, VolumeSize: '2'}}}}]"
    );
    let tagged = group(
        2,
        &launch,
        "outputs: {all: {value: {get_attr: [g, InstanceList]}}}\n",
    );
    let tagged = tagged.replace("Size: 2", "Size: 2, Tags: [{Key: role, Value: worker}]");
    let made = made(&tagged);
    assert_eq!(servers(&made), ["g/0", "g/1"]);
    let server: serde_json::Map<String, Value> = made["g/1"]
        .properties
        .iter()
        .map(|(name, value)| (name.clone(), value.to_json()))
        .collect();
    assert_eq!(
        Value::Object(server),
        json!({
            "image": "debian-12",
            "flavor": "m1.small",
            "security_groups": [{"get_resource": "wall"}],
            "user_data": "#!/bin/sh",
            "scheduler_hints": {"group": "a", "different_host": ["b", "c"]},
            "block_device_mapping": [{
                "device_name": "vdb", "snapshot_id": "s", "volume_size": "2", "delete_on_termination": true,
            }],
            "metadata": {"role": "worker"},
        })
    );
    let address = |name: &str| json!({"get_attr": [name, "first_address"]});
    assert_eq!(
        property(&made, "g", "InstanceList"),
        json!({"list_join": [",", [address("g/0"), address("g/1")]]})
    );
    assert!(made["g/0"].requires.contains(&"wall".to_owned()));
}

#[test]
fn a_smaller_group_loses_its_oldest_servers() {
    let first = made(&group(3, LAUNCH, ""));
    assert_eq!(servers(&first), ["g/0", "g/1", "g/2"]);
    let plan = |size| {
        let template = group(size, LAUNCH, "");
        let given = Given {
            template: &template,
            deployed: Deployed::of(first.clone()),
            ..Given::default()
        };
        let changes = given.plan().changes.into_iter();
        let changes = changes.filter(|one| one.resource.starts_with("g/"));
        let changes = changes.filter(|one| [Action::Create, Action::Delete].contains(&one.action));
        let changes = changes.map(|one| (one.resource, one.action));
        changes.collect::<Vec<_>>()
    };
    assert_eq!(plan(2), [("g/0".to_owned(), Action::Delete)]);
    assert_eq!(plan(4), [("g/3".to_owned(), Action::Create)]);
}

#[test]
fn servers_change_in_the_batches_of_the_update_policy() {
    let policy = "    update_policy: {RollingUpdate: {MaxBatchSize: 2, MinInstancesInService: 1, PauseTime: PT1M}}\n";
    let first = made(&group(3, LAUNCH, policy));
    assert!(!first["g/2"].requires.contains(&"g/0".to_owned()));
    let launch = LAUNCH.replace("InstanceType", "UserData: '#!/bin/sh', InstanceType");
    let changed = group(3, &launch, policy);
    let given = Given {
        template: &changed,
        deployed: Deployed::of(first),
        ..Given::default()
    };
    let made = given.made();
    let after = |name: &str| {
        let requires = made[name].requires.iter();
        let members = requires.filter(|one| one.starts_with("g/"));
        members.cloned().collect::<Vec<_>>()
    };
    assert_eq!(after("g/1"), Vec::<String>::new());
    assert_eq!(after("g/2"), ["g/0", "g/1"]);
}

#[test]
fn a_group_that_cannot_be_made_says_why() {
    let errors = |template: &str| {
        let given = Given {
            template,
            ..Given::default()
        };
        given.errors()
    };
    let group_of = |launch: &str| group(1, launch, "");
    let from_server = errors(&group_of("InstanceId: some-server"));
    assert!(
        from_server.contains("group-definition") && from_server.contains("`InstanceId`"),
        "{from_server}"
    );
    let without = errors(&group_of("ImageId: debian-12"));
    assert!(
        without.contains("needs `ImageId` and `InstanceType`"),
        "{without}"
    );
    let elsewhere = errors(&group_of(LAUNCH).replace("{get_resource: like}", "like"));
    assert!(
        elsewhere.contains("must be `get_resource` of an `AWS::AutoScaling::LaunchConfiguration`"),
        "{elsewhere}"
    );
    let balanced = group_of(LAUNCH).replace("Size: 1", "Size: 1, LoadBalancerNames: [front]");
    let balanced = errors(&balanced);
    assert!(
        balanced.contains("property-unsupported") && balanced.contains("OS::Octavia::PoolMember"),
        "{balanced}"
    );
    let pause = "    update_policy: {RollingUpdate: {PauseTime: 1 minute}}\n";
    let pause = errors(&group(1, LAUNCH, pause));
    assert!(pause.contains("write it like `PT1M30S`"), "{pause}");
}

#[test]
fn amazons_groups_are_refused_with_the_type_to_use() {
    let template = resources(
        "  g:\n    type: AWS::AutoScaling::AutoScalingGroup\n    properties: {AvailabilityZones: [nova], MinSize: 1, MaxSize: 2}\n",
    );
    let given = Given {
        template: &template,
        ..Given::default()
    };
    let errors = given.errors();
    assert!(
        errors.contains("resource-type-not-deployable")
            && errors.contains("Use `OS::Heat::AutoScalingGroup`"),
        "{errors}"
    );
}
