//! Servers, networks, ports and volumes as nodes of the profile.

use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use super::{Exporter, NET, VOLUME};
use crate::export::expand::{call, reference};

impl Exporter<'_> {
    pub(super) fn server(&mut self, name: &str, spec: &ResourceSpec) -> Value {
        let given = |property: &str| spec.properties.get(property).and_then(Expr::as_str);
        let mut host = Map::new();
        let flavors = self.source.cloud.flavors.iter().flatten();
        let flavor = given("flavor");
        let found = flavors
            .into_iter()
            .find(|one| Some(one.name.as_str()) == flavor || Some(one.id.as_str()) == flavor);
        if let Some(found) = found {
            host.insert("num_cpus".to_owned(), json!(found.vcpus));
            host.insert(
                "mem_size".to_owned(),
                json!(format!("{} MiB", found.ram_mib)),
            );
            if found.disk_gib > 0 {
                host.insert(
                    "disk_size".to_owned(),
                    json!(format!("{} GiB", found.disk_gib)),
                );
            }
        } else {
            self.report.needed(
                format!("resources.{name}.properties.flavor"),
                "The flavor's size is unknown. Add the number of CPUs, the memory and the disk size of the server",
            );
        }
        let mut metadata = Map::new();
        for property in ["image", "flavor"] {
            if let Some(text) = given(property) {
                metadata.insert(property.to_owned(), json!(text));
            }
        }
        for property in spec.properties.keys() {
            if !matches!(
                property.as_str(),
                "name" | "image" | "flavor" | "networks" | "security_groups"
            ) {
                self.left_out(
                    &format!("resources.{name}.properties.{property}"),
                    &format!("property for `{property}`"),
                );
            }
        }
        let mut node = json!({"type": "tosca.nodes.Compute"});
        if !metadata.is_empty() {
            node["metadata"] = Value::Object(metadata);
        }
        let mut capabilities = Map::new();
        if !host.is_empty() {
            capabilities.insert("host".to_owned(), json!({"properties": host}));
        }
        let system = given("image").map(operating_system).unwrap_or_default();
        if !system.is_empty() {
            capabilities.insert("os".to_owned(), json!({"properties": system}));
        }
        if !capabilities.is_empty() {
            node["capabilities"] = Value::Object(capabilities);
        }
        let volumes: Vec<Value> = self.volumes_of(name, spec);
        if !volumes.is_empty() {
            node["requirements"] = Value::Array(volumes);
        }
        node
    }

    /// The volumes of a server, from attachments and from the server itself.
    fn volumes_of(&self, server: &str, spec: &ResourceSpec) -> Vec<Value> {
        let mut found: Vec<(String, Option<String>)> =
            self.attached.get(server).cloned().unwrap_or_default();
        if let Some(Expr::List(devices)) = spec.properties.get("block_device_mapping_v2") {
            let own = devices.iter().filter_map(|device| {
                let place = device.get("device_name").and_then(Expr::as_str);
                Some((
                    reference(device.get("volume_id")?)?.to_owned(),
                    place.map(str::to_owned),
                ))
            });
            found.extend(own);
        }
        found
            .into_iter()
            .filter(|(volume, _)| self.is_a(volume, VOLUME))
            .map(|(volume, place)| {
                // The profile requires a location, so a device name is used.
                let location = place.unwrap_or_else(|| "/dev/vdb".to_owned());
                json!({"local_storage": {
                    "node": volume,
                    "relationship": {"type": "tosca.relationships.AttachesTo", "properties": {"location": location}},
                }})
            })
            .collect()
    }

    pub(super) fn network(&mut self, name: &str, spec: &ResourceSpec) -> Value {
        let subnets = self.subnets.get(name).cloned().unwrap_or_default();
        let mut properties = Map::new();
        let label = spec
            .properties
            .get("name")
            .and_then(Expr::as_str)
            .unwrap_or(name);
        properties.insert("network_name".to_owned(), json!(label));
        for (index, (subnet, one)) in subnets.iter().enumerate() {
            if index > 0 {
                self.left_out(&format!("resources.{subnet}"), "second subnet in a network");
                continue;
            }
            for (hot, tosca) in [
                ("cidr", "cidr"),
                ("ip_version", "ip_version"),
                ("gateway_ip", "gateway_ip"),
                ("enable_dhcp", "dhcp_enabled"),
            ] {
                let Some(value) = one.properties.get(hot) else {
                    continue;
                };
                match self.value(&self.expanded.with_outputs(&value.to_json())) {
                    Ok(value) => {
                        properties.insert(tosca.to_owned(), value);
                    }
                    Err(why) => {
                        self.left_out(&format!("resources.{subnet}.properties.{hot}"), &why)
                    }
                }
            }
            if let Some(Expr::List(pools)) = one.properties.get("allocation_pools")
                && let Some(pool) = pools.first()
            {
                for (hot, tosca) in [("start", "start_ip"), ("end", "end_ip")] {
                    if let Some(address) = pool.get(hot).and_then(Expr::as_str) {
                        properties.insert(tosca.to_owned(), json!(address));
                    }
                }
            }
        }
        json!({"type": "tosca.nodes.network.Network", "properties": properties})
    }

    /// Ports of the profile connect a server with a network. A port without a server is left out.
    pub(super) fn port(&mut self, name: &str, spec: &ResourceSpec) -> Option<Value> {
        let mut node = json!({"type": "tosca.nodes.network.Port"});
        let holder = self.holders.get(name).cloned();
        let mut properties = Map::new();
        if let Some((_, order)) = &holder {
            properties.insert("order".to_owned(), json!(order));
        }
        if let Some(Expr::List(addresses)) = spec.properties.get("fixed_ips")
            && let Some(address) = addresses
                .iter()
                .find_map(|one| one.get("ip_address")?.as_str())
        {
            properties.insert("ip_address".to_owned(), json!(address));
        }
        if !properties.is_empty() {
            node["properties"] = Value::Object(properties);
        }
        let Some((server, _)) = holder else {
            self.left_out(&format!("resources.{name}"), "port without a server");
            return None;
        };
        let network = match spec.properties.get("network").and_then(reference) {
            Some(network) if self.is_a(network, NET) => network.to_owned(),
            Some(_) => {
                self.left_out(
                    &format!("resources.{name}"),
                    "port in a network of this type",
                );
                return None;
            }
            None => self.outside(name, spec)?,
        };
        node["requirements"] = json!([{"binding": {"node": server}}, {"link": {"node": network}}]);
        Some(node)
    }

    /// Whether a port is exported: its server is, and its network can be expressed.
    pub(super) fn has_node(&self, port: &str, spec: &ResourceSpec) -> bool {
        let network = spec.properties.get("network").map(Expr::to_json);
        let is_said = |network: Value| match network.get("get_resource") {
            Some(drawn) => drawn.as_str().is_some_and(|drawn| self.is_a(drawn, NET)),
            None => self.value(&network).is_ok(),
        };
        self.holders.contains_key(port) && network.is_some_and(is_said)
    }

    /// A node for an existing network, which is found by name.
    fn outside(&mut self, port: &str, spec: &ResourceSpec) -> Option<String> {
        let given = spec.properties.get("network").map(Expr::to_json);
        let name = given.as_ref().and_then(|given| self.value(given).ok());
        let Some(name) = name else {
            self.left_out(&format!("resources.{port}"), "port in a computed network");
            return None;
        };
        let word = match (&name, name.get("get_input")) {
            (Value::String(text), _) | (_, Some(Value::String(text))) => text.clone(),
            _ => "network".to_owned(),
        };
        // Several ports can use one network.
        let mut node = format!("outside_{word}");
        while self.expanded.get(&node).is_some() {
            node.push('_');
        }
        let properties = json!({"network_name": name});
        let body = json!({"type": "tosca.nodes.network.Network", "properties": properties});
        self.outside.insert(node.clone(), body);
        Some(node)
    }

    pub(super) fn volume(&mut self, volume: &str, spec: &ResourceSpec) -> Value {
        let mut properties = Map::new();
        let size = spec.properties.get("size").map(Expr::to_json);
        let size = match size.as_ref().and_then(|size| call(size)) {
            Some(("get_param", Value::String(name))) => {
                // The profile requires a unit, which cannot be appended to an input.
                let default = self.default_of(name);
                self.report.changed(
                    format!("resources.{volume}.properties.size"),
                    format!("The size is the default of `{name}`, because TOSCA cannot add a unit to an input"),
                );
                default
            }
            Some(_) => {
                self.left_out(
                    &format!("resources.{volume}.properties.size"),
                    "volume of a computed size. Set the size by hand",
                );
                None
            }
            None => size,
        };
        if let Some(size) = size {
            let size = size
                .as_str()
                .map_or_else(|| size.to_string(), str::to_owned);
            properties.insert("size".to_owned(), json!(format!("{size} GB")));
        }
        if let Some(snapshot) = spec.properties.get("snapshot_id").and_then(Expr::as_str) {
            properties.insert("snapshot_id".to_owned(), json!(snapshot));
        }
        // The short name is the same in all versions of the profile.
        let mut node = json!({"type": "BlockStorage"});
        if !properties.is_empty() {
            node["properties"] = Value::Object(properties);
        }
        node
    }
}

/// Properties of the operating system, guessed from an image's name.
fn operating_system(image: &str) -> Map<String, Value> {
    let known = [
        "debian", "ubuntu", "fedora", "centos", "rocky", "cirros", "opensuse", "windows",
    ];
    let image = image.to_lowercase();
    let mut system = Map::new();
    if let Some(found) = known.into_iter().find(|one| image.contains(one)) {
        let kind = if found == "windows" {
            "windows"
        } else {
            "linux"
        };
        system.insert("type".to_owned(), json!(kind));
        system.insert("distribution".to_owned(), json!(found));
    }
    system
}
