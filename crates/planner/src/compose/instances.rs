//! `OS::Heat::InstanceGroup`: a number of servers with the same launch configuration.
//!
//! The launch configuration, an `AWS::AutoScaling::LaunchConfiguration`, has no object in the cloud. Each member is an
//! `OS::Nova::Server` with its properties. Members are named by growing numbers. As in Heat, `AvailabilityZones` has no
//! effect, and a group that shrinks loses failed members first, then the oldest ones. Source: Heat's
//! `instance_group.py`, `launch_config.py` and `instance.py`.

use super::{
    BTreeMap, Composer, Expr, Frame, INSTANCE_GROUP, Parent, ResourceSpec, Value, batches,
    group::Members,
};
use hot::expr::Function;

/// The group's property for its launch configuration. Problems of the members' definition are reported there.
const DEFINITION: &str = "LaunchConfigurationName";

/// Properties of a launch configuration, and the properties of a server with the same values.
const OF_SERVER: [(&str, &str); 5] = [
    ("ImageId", "image"),
    ("InstanceType", "flavor"),
    ("KeyName", "key_name"),
    ("SecurityGroups", "security_groups"),
    ("UserData", "user_data"),
];

impl Composer<'_> {
    pub(super) fn instance_group(&mut self, frame: &Frame<'_>, name: &str, mut spec: ResourceSpec) {
        let full = frame.full(name);
        let inherits = self.waits_for(frame, &spec);
        let first = self.resources.len();
        let mut members = Vec::new();
        if self.may_nest(frame, name)
            && let Some(definition) = self.instance(frame, &full, &spec)
        {
            let size = spec.properties.get("Size");
            let size = size.and_then(|size| self.whole_number(frame, &full, "Size", size));
            let present = self.present(&full);
            members = self.resized(&full, "Size", &present, size.unwrap_or(0));
            let existing = members.iter().filter(|name| present.contains(name)).count();
            let batches = batches::of_instances(self, frame, name, existing);
            spec.properties.insert(DEFINITION.to_owned(), definition);
            let made = Members {
                definition: DEFINITION,
                index_variable: None,
                names: &members,
                batches,
            };
            self.members(frame, name, &spec, made, &inherits);
        }
        let addresses = members.iter().map(|member| {
            let attribute = vec![Expr::text("first_address")];
            Expr::GetAttr(format!("{full}/{member}"), attribute)
        });
        let list = Expr::List(vec![Expr::text(","), Expr::List(addresses.collect())]);
        let list = Expr::call(Function::ListJoin, list);
        let parent = ResourceSpec {
            resource_type: INSTANCE_GROUP.to_owned(),
            properties: BTreeMap::from([("InstanceList".to_owned(), list)]),
            ..spec
        };
        let members = Parent::ScalingGroup { members };
        self.parent(full, parent, inherits, members, first);
    }

    /// Definition of the members. `None` if there is none, which is reported.
    fn instance(&mut self, frame: &Frame<'_>, full: &str, spec: &ResourceSpec) -> Option<Expr> {
        let balancers = spec.properties.get("LoadBalancerNames");
        if balancers.is_some_and(|names| !matches!(names, Expr::List(names) if names.is_empty())) {
            let message = format!(
                "the members of `{full}` join no load balancer: leave `LoadBalancerNames` out, and make the group an \
                 `OS::Heat::AutoScalingGroup` of a nested template with a server and an `OS::Octavia::PoolMember`"
            );
            let path = format!("resources.{full}.properties.LoadBalancerNames");
            self.error("property-unsupported", path, message);
        }
        // Validation reports a missing property.
        let launch = match spec.properties.get(DEFINITION)? {
            Expr::GetResource(launch) => self.launches.get(&frame.full(launch)).cloned(),
            _ => None,
        };
        let of_server = launch
            .ok_or(
                "`LaunchConfigurationName` must be `get_resource` of an \
                 `AWS::AutoScaling::LaunchConfiguration` in the same template",
            )
            .and_then(|launch| server(&launch));
        let tags = spec.properties.get("Tags").map(map_of_pairs);
        let properties = of_server.and_then(|mut properties| {
            if let Some(tags) = tags {
                let tags = tags.ok_or("`Tags` must be a list of `Key` and `Value`")?;
                properties.push(("metadata".to_owned(), tags));
            }
            Ok(properties)
        });
        match properties {
            Ok(properties) => Some(Expr::Map(vec![
                ("type".to_owned(), Expr::text("OS::Nova::Server")),
                ("properties".to_owned(), Expr::Map(properties)),
            ])),
            Err(why) => {
                let path = format!("resources.{full}.properties.{DEFINITION}");
                let message = format!("`{full}` does not define its members: {why}");
                self.error("group-definition", path, message);
                None
            }
        }
    }
}

/// Properties of a server from those of a launch configuration.
fn server(launch: &BTreeMap<String, Expr>) -> Result<Vec<(String, Expr)>, &'static str> {
    if launch.contains_key("InstanceId") {
        return Err(
            "its launch configuration takes its values from a server by `InstanceId`, which is not supported; \
             write `ImageId` and `InstanceType` in its place",
        );
    }
    if !launch.contains_key("ImageId") || !launch.contains_key("InstanceType") {
        return Err("its launch configuration needs `ImageId` and `InstanceType`");
    }
    server_properties(launch)
}

/// Properties of a server from those that launch configurations share with `AWS::EC2::Instance`.
pub(super) fn server_properties(
    given: &BTreeMap<String, Expr>,
) -> Result<Vec<(String, Expr)>, &'static str> {
    let plain = OF_SERVER.iter().filter_map(|(property, of_server)| {
        let value = given.get(*property)?;
        Some(((*of_server).to_owned(), value.clone()))
    });
    let mut properties: Vec<(String, Expr)> = plain.collect();
    if let Some(hints) = given.get("NovaSchedulerHints") {
        let hints = map_of_pairs(hints);
        let hints = hints.ok_or("`NovaSchedulerHints` must be a list of `Key` and `Value`")?;
        properties.push(("scheduler_hints".to_owned(), hints));
    }
    if let Some(devices) = given.get("BlockDeviceMappings") {
        let volumes = volumes(devices);
        let volumes = volumes.ok_or(
            "each of `BlockDeviceMappings` needs a `DeviceName` and an `Ebs` with a `SnapshotId`",
        )?;
        properties.push(("block_device_mapping".to_owned(), volumes));
    }
    Ok(properties)
}

/// A map from a list of `Key` and `Value`. A key that is repeated has a list of values, as in Heat. `None` for
/// anything else.
pub(super) fn map_of_pairs(pairs: &Expr) -> Option<Expr> {
    let Expr::List(pairs) = pairs else {
        return None;
    };
    let mut map: Vec<(String, Expr)> = Vec::new();
    for pair in pairs {
        let key = pair.get("Key")?.as_str()?;
        let value = pair.get("Value")?.clone();
        match map.iter_mut().find(|(known, _)| known == key) {
            Some((_, Expr::List(values))) => values.push(value),
            Some((_, known)) => *known = Expr::List(vec![known.clone(), value]),
            None => map.push((key.to_owned(), value)),
        }
    }
    Some(Expr::Map(map))
}

/// The property `block_device_mapping` of a server. `None` if a device is no volume of a snapshot.
fn volumes(devices: &Expr) -> Option<Expr> {
    let Expr::List(devices) = devices else {
        return None;
    };
    let volumes = devices.iter().map(|device| {
        let volume = device.get("Ebs")?;
        let is_deleted = volume.get("DeleteOnTermination").cloned();
        let is_deleted = is_deleted.unwrap_or(Expr::Literal(Value::Bool(true)));
        let mut properties = vec![
            ("device_name".to_owned(), device.get("DeviceName")?.clone()),
            ("snapshot_id".to_owned(), volume.get("SnapshotId")?.clone()),
            ("delete_on_termination".to_owned(), is_deleted),
        ];
        let size = volume.get("VolumeSize").cloned();
        properties.extend(size.map(|size| ("volume_size".to_owned(), size)));
        Some(Expr::Map(properties))
    });
    volumes.collect::<Option<Vec<_>>>().map(Expr::List)
}
