//! Scaling groups of servers.

use serde_json::{Map, Value, json};

use super::{Convert, Output, Resource, compute, launch, placeholder};
use crate::import::context::Importer;
use crate::import::sections::as_number;

const GROUP: &str = "AWS::AutoScaling::AutoScalingGroup";
const POLICY: &str = "AWS::AutoScaling::ScalingPolicy";

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    Some(match written {
        GROUP => group,
        POLICY => policy,
        _ => return None,
    })
}

fn group(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [
        ("MinSize", "min_size"),
        ("MaxSize", "max_size"),
        ("DesiredCapacity", "desired_capacity"),
        ("Cooldown", "cooldown"),
    ];
    let mut properties: Map<String, Value> = resource
        .renamed(importer, &names)
        .into_iter()
        .map(|(name, value)| (name, as_number(&value)))
        .collect();
    let mut member = match launch::definition(importer, resource) {
        Some(mut definition) => {
            let lost = "The group's members do not take this property from their definition";
            compute::defined(importer, &mut definition, lost)
        }
        None => {
            let path = resource.path.clone();
            importer.needed(
                &path,
                "The group's launch configuration is not in the template. Set the properties of its members",
            );
            Map::new()
        }
    };
    let at = resource.at("VPCZoneIdentifier");
    if let Some(Value::Array(subnets)) = resource.take(importer, "VPCZoneIdentifier")
        && let Some(first) = subnets.first()
    {
        if subnets.len() > 1 {
            importer.changed(&at, "The members are in the first subnet only");
        }
        member.insert("networks".to_owned(), json!([{"subnet": first}]));
    }
    if let Some(Value::Object(tags)) = resource.tags(importer, "Tags") {
        member.insert("metadata".to_owned(), Value::Object(tags));
    }
    for property in ["LoadBalancerNames", "TargetGroupARNs"] {
        if resource.raw(property).is_some() {
            importer.needed(
                &resource.at(property),
                "The members do not join the load balancer. Use a nested template with a server and an `OS::Octavia::PoolMember` as the member",
            );
        }
    }
    for property in [
        "AvailabilityZones",
        "HealthCheckType",
        "HealthCheckGracePeriod",
    ] {
        resource.raw(property);
    }
    compute::completed(importer, &mut member);
    properties.insert(
        "resource".to_owned(),
        json!({"type": "OS::Nova::Server", "properties": member}),
    );
    let rolling = resource
        .body
        .pointer("/UpdatePolicy/AutoScalingRollingUpdate");
    let rolling = rolling.or_else(|| resource.body.pointer("/UpdatePolicy/RollingUpdate"));
    if let Some(rolling) = rolling {
        let path = format!("{}.UpdatePolicy", resource.path);
        let mut updates = Map::new();
        for (amazon, hot) in [
            ("MinInstancesInService", "min_in_service"),
            ("MaxBatchSize", "max_batch_size"),
        ] {
            if let Some(value) = rolling.get(amazon) {
                updates.insert(hot.to_owned(), as_number(&importer.value(value, &path)));
            }
        }
        if let Some(pause) = rolling.get("PauseTime") {
            match pause.as_str().and_then(seconds) {
                Some(seconds) => {
                    updates.insert("pause_time".to_owned(), json!(seconds));
                }
                None => importer.left_out(
                    &path,
                    "The pause is computed or has an unknown form. Set `pause_time` in seconds",
                ),
            }
        }
        properties.insert("rolling_updates".to_owned(), Value::Object(updates));
    }
    output.put(importer, resource, "OS::Heat::AutoScalingGroup", properties);
}

/// Parses a duration such as `PT1H30M5S`.
fn seconds(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("PT")?;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..end].parse().ok()?;
        let mut after = rest[end..].chars();
        let unit = match after.next()? {
            'H' => 3600,
            'M' => 60,
            'S' => 1,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        rest = after.as_str();
    }
    Some(sum)
}

fn policy(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    if resource.raw("ScalingAdjustment").is_none() {
        // Heat's policies support neither target tracking nor steps.
        placeholder(importer, output, resource);
        return;
    }
    let names = [
        ("AutoScalingGroupName", "auto_scaling_group_id"),
        ("ScalingAdjustment", "scaling_adjustment"),
        ("Cooldown", "cooldown"),
    ];
    let mut properties = resource.renamed(importer, &names);
    for number in ["scaling_adjustment", "cooldown"] {
        if let Some(value) = properties.get_mut(number) {
            *value = as_number(value);
        }
    }
    let kind = match resource.raw("AdjustmentType").and_then(Value::as_str) {
        Some("ExactCapacity") => "exact_capacity",
        Some("PercentChangeInCapacity") => "percent_change_in_capacity",
        _ => "change_in_capacity",
    };
    properties.insert("adjustment_type".to_owned(), json!(kind));
    output.put(importer, resource, "OS::Heat::ScalingPolicy", properties);
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_seconds() {
        assert_eq!(seconds("PT0S"), Some(0));
        assert_eq!(seconds("PT1H30M5S"), Some(5405));
        assert_eq!(seconds("P1D"), None);
    }

    #[test]
    fn invalid_durations_are_refused() {
        assert_eq!(seconds("PT5é"), None);
        assert_eq!(seconds("PT5"), None);
        assert_eq!(seconds("PT18446744073709551615S1S"), None);
        assert_eq!(seconds("PT18446744073709551615H"), None);
    }
}
