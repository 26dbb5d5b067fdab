//! Changes of a server by others, between two of its records.

use openstack::compute::Server as Found;
use serde_json::{Map, Value, json};

use super::{effect, power};
use crate::driver::Difference;

/// Differences between the attributes after the last step and the present ones: name, flavor, metadata, fixed addresses
/// and power state. A server that was switched off at the end of its last step may be in any power state.
pub(super) fn differences(
    properties: &Map<String, Value>,
    recorded: &Map<String, Value>,
    present: &Map<String, Value>,
) -> Vec<Difference> {
    let server = |attributes: &Map<String, Value>| {
        serde_json::from_value::<Found>(attributes.get("show")?.clone()).ok()
    };
    let (Some(before), Some(now)) = (server(recorded), server(present)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut compare = |property: &str, recorded: Value, found_now: Value| {
        if recorded != found_now {
            found.push(Difference {
                property: property.to_owned(),
                recorded,
                found: found_now,
            });
        }
    };
    compare("name", json!(before.name), json!(now.name));
    if let (Some(old), Some(new)) = (effect::flavor_of(&before), effect::flavor_of(&now)) {
        compare("flavor", json!(old), json!(new));
    }
    compare("metadata", metadata(&before), metadata(&now));
    if properties.contains_key("networks") {
        compare("networks", addresses(&before), addresses(&now));
    }
    if before.status == "ACTIVE" && power::is_off(&now) {
        compare(power::STATUS, json!(before.status), json!(now.status));
    }
    found
}

/// Metadata without Stackloom's own keys.
fn metadata(server: &Found) -> Value {
    let own = server.metadata.iter();
    let own = own.filter(|(key, _)| !key.starts_with("stackloom_"));
    Value::Object(
        own.map(|(key, value)| (key.clone(), json!(value)))
            .collect(),
    )
}

/// Fixed addresses in order. Floating IPs are resources of their own.
fn addresses(server: &Found) -> Value {
    let all = server.addresses.values().flatten();
    let mut fixed: Vec<&str> = all
        .filter(|address| address.kind != "floating")
        .map(|address| address.addr.as_str())
        .collect();
    fixed.sort_unstable();
    json!(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(changes: Value) -> Value {
        let mut record = json!({
            "id": "s", "name": "web", "status": "ACTIVE", "flavor": {"original_name": "small"},
            "metadata": {"role": "front", "stackloom_resource": "web"},
            "addresses": {"net": [
                {"addr": "10.0.0.4", "version": 4, "OS-EXT-IPS:type": "fixed"},
                {"addr": "203.0.113.9", "version": 4, "OS-EXT-IPS:type": "floating"},
            ]},
        });
        let fields = record.as_object_mut().unwrap();
        fields.extend(changes.as_object().unwrap().clone());
        record
    }

    fn changed(before: Value, now: Value) -> Vec<String> {
        let properties = Map::from_iter([("networks".to_owned(), json!([]))]);
        let attributes = |show: Value| Map::from_iter([("show".to_owned(), show)]);
        let found = differences(&properties, &attributes(before), &attributes(now));
        found.into_iter().map(|one| one.property).collect()
    }

    #[test]
    fn a_new_floating_ip_is_no_change_of_the_server() {
        let mut without = record(json!({}));
        without["addresses"]["net"].as_array_mut().unwrap().pop();
        assert!(changed(without, record(json!({}))).is_empty());
    }

    #[test]
    fn name_flavor_metadata_addresses_and_power_are_compared() {
        let now = record(json!({
            "name": "other", "status": "SHUTOFF", "flavor": {"original_name": "large"},
            "metadata": {"role": "back", "stackloom_resource": "web"}, "addresses": {},
        }));
        let found = changed(record(json!({})), now.clone());
        let all = ["name", "flavor", "metadata", "networks", "status"];
        assert_eq!(found, all);
        // It was off already.
        let found = changed(now.clone(), now);
        assert!(found.is_empty(), "{found:?}");
    }
}
