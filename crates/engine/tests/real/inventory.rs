//! A project's resources as text without ids, to compare two deployments of one template.

use std::collections::BTreeMap;

use openstack::{Method, Service, Session};
use serde_json::{Map, Value, json};

/// A line for each resource, sorted: its kind, and the fields that depend on the template.
pub async fn inventory(session: &Session) -> Vec<String> {
    let look = Look::at(session).await;
    let mut lines: Vec<String> = [
        look.servers(),
        look.neutron(),
        look.volumes(),
        look.rest(),
        look.balancing(),
    ]
    .concat();
    lines.sort();
    lines
}

/// All lists, each read once, and names by id.
struct Look {
    lists: BTreeMap<&'static str, Vec<Value>>,
    names: BTreeMap<String, String>,
}

/// Lists of services: name, service, path, key of the list in the response.
const LISTS: [(&str, Service, &str, &str); 17] = [
    ("server", Service::Compute, "servers/detail", "servers"),
    ("key pair", Service::Compute, "os-keypairs", "keypairs"),
    (
        "server group",
        Service::Compute,
        "os-server-groups",
        "server_groups",
    ),
    ("network", Service::Network, "networks", "networks"),
    ("subnet", Service::Network, "subnets", "subnets"),
    ("port", Service::Network, "ports", "ports"),
    ("router", Service::Network, "routers", "routers"),
    (
        "floating IP",
        Service::Network,
        "floatingips",
        "floatingips",
    ),
    (
        "security group",
        Service::Network,
        "security-groups",
        "security_groups",
    ),
    ("volume", Service::BlockStorage, "volumes/detail", "volumes"),
    ("secret", Service::KeyManager, "secrets", "secrets"),
    (
        "load balancer",
        Service::LoadBalancer,
        "lbaas/loadbalancers",
        "loadbalancers",
    ),
    (
        "listener",
        Service::LoadBalancer,
        "lbaas/listeners",
        "listeners",
    ),
    ("pool", Service::LoadBalancer, "lbaas/pools", "pools"),
    (
        "monitor",
        Service::LoadBalancer,
        "lbaas/healthmonitors",
        "healthmonitors",
    ),
    (
        "policy",
        Service::LoadBalancer,
        "lbaas/l7policies",
        "l7policies",
    ),
    ("flavor", Service::Compute, "flavors", "flavors"),
];

impl Look {
    async fn at(session: &Session) -> Look {
        let project = session.project().expect("a project").id.clone();
        let mut lists = BTreeMap::new();
        let mut names = BTreeMap::new();
        for (kind, service, path, key) in LISTS {
            let path: Vec<&str> = path.split('/').collect();
            let mut call = session.call(service, Method::GET, &path);
            if service == Service::Network {
                call = call.query([("project_id", project.as_str())]);
            }
            if service == Service::Compute {
                call = call.header("x-openstack-nova-api-version", "2.64");
            }
            let found: Vec<Value> = call.fetch(key).await.expect(kind);
            for one in &found {
                if let Some(id) = one["id"].as_str() {
                    let name = one["name"].as_str().filter(|name| !name.is_empty());
                    names.insert(id.to_owned(), name.unwrap_or(kind).to_owned());
                }
            }
            lists.insert(kind, found);
        }
        for (kind, parent, path, key) in [
            ("member", "pool", "pools", "members"),
            ("rule", "policy", "l7policies", "rules"),
        ] {
            let mut found = Vec::new();
            for one in &lists[parent] {
                let path = ["lbaas", path, one["id"].as_str().expect("an id"), key];
                let call = session.call(Service::LoadBalancer, Method::GET, &path);
                found.extend(call.fetch::<Vec<Value>>(key).await.expect(kind));
            }
            lists.insert(kind, found);
        }
        Look { lists, names }
    }

    fn all(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.lists[kind].iter()
    }

    /// The name of the resource with this id; other values unchanged.
    fn name(&self, id: &Value) -> Value {
        match id.as_str().and_then(|id| self.names.get(id)) {
            Some(name) => json!(name),
            None => id.clone(),
        }
    }

    fn names(&self, ids: &Value, field: &str) -> Value {
        let ids = ids.as_array().into_iter().flatten();
        let mut names: Vec<String> = ids
            .map(|one| match field {
                "" => self.name(one),
                field => self.name(&one[field]),
            })
            .map(|name| name.to_string())
            .collect();
        names.sort();
        json!(names)
    }

    fn servers(&self) -> Vec<String> {
        let ports = |server: &Value| {
            let own = self
                .all("port")
                .filter(|port| port["device_id"] == server["id"]);
            own.count()
        };
        // Nova lists a server that it has deleted for some moments.
        self.all("server")
            .filter(|one| one["status"] != "DELETED")
            .map(|one| {
                line("server", json!({
                    "name": one["name"], "status": one["status"], "flavor": one["flavor"]["original_name"],
                    "image": one["image"].is_object(), "key": self.name(&one["key_name"]), "metadata": without_marks(&one["metadata"]),
                    "ports": ports(one), "volumes": self.names(&one["os-extended-volumes:volumes_attached"], "id"),
                    "groups": one["security_groups"].as_array().map_or(0, Vec::len),
                }))
            })
            .collect()
    }

    fn neutron(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in self.all("network") {
            lines.push(line(
                "network",
                pick(
                    one,
                    &[
                        "name",
                        "admin_state_up",
                        "shared",
                        "port_security_enabled",
                        "mtu",
                    ],
                ),
            ));
        }
        for one in self.all("subnet") {
            let mut fields = pick(
                one,
                &[
                    "name",
                    "cidr",
                    "enable_dhcp",
                    "gateway_ip",
                    "dns_nameservers",
                    "host_routes",
                    "allocation_pools",
                ],
            );
            fields["network"] = self.name(&one["network_id"]);
            lines.push(line("subnet", fields));
        }
        for one in self.all("port") {
            let mut fields = pick(
                one,
                &[
                    "admin_state_up",
                    "device_owner",
                    "allowed_address_pairs",
                    "port_security_enabled",
                    "binding:vnic_type",
                ],
            );
            for pair in fields["allowed_address_pairs"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                // The port's own MAC address is the default.
                pair.as_object_mut().map(|pair| pair.remove("mac_address"));
            }
            fields["network"] = self.name(&one["network_id"]);
            fields["subnets"] = self.names(&one["fixed_ips"], "subnet_id");
            fields["groups"] = self.names(&one["security_groups"], "");
            lines.push(line("port", fields));
        }
        for one in self.all("router") {
            let mut fields = pick(one, &["name", "admin_state_up", "routes"]);
            fields["gateway"] = json!(one["external_gateway_info"].is_object());
            lines.push(line("router", fields));
        }
        for one in self.all("floating IP") {
            lines.push(line(
                "floating IP",
                json!({"leads": one["port_id"].is_string(), "status": one["status"]}),
            ));
        }
        for one in self
            .all("security group")
            .filter(|one| one["name"] != "default")
        {
            let rules = one["security_group_rules"].as_array().into_iter().flatten();
            let mut rules: Vec<String> = rules
                .map(|rule| {
                    let mut fields = pick(
                        rule,
                        &[
                            "direction",
                            "ethertype",
                            "protocol",
                            "port_range_min",
                            "port_range_max",
                            "remote_ip_prefix",
                        ],
                    );
                    fields["group"] = self.name(&rule["remote_group_id"]);
                    fields.to_string()
                })
                .collect();
            rules.sort();
            lines.push(line(
                "security group",
                json!({"name": one["name"], "rules": rules}),
            ));
        }
        lines
    }

    fn volumes(&self) -> Vec<String> {
        self.all("volume")
            .map(|one| {
                let mut fields = pick(
                    one,
                    &[
                        "name",
                        "description",
                        "size",
                        "volume_type",
                        "status",
                        "bootable",
                    ],
                );
                fields["metadata"] = without_marks(&one["metadata"]);
                fields["at"] = self.names(&one["attachments"], "server_id");
                line("volume", fields)
            })
            .collect()
    }

    fn rest(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for one in self.all("key pair") {
            lines.push(line(
                "key pair",
                pick(&one["keypair"], &["name", "type", "fingerprint"]),
            ));
        }
        for one in self.all("server group") {
            let mut fields = pick(one, &["name", "policy", "rules"]);
            fields["members"] = self.names(&one["members"], "");
            lines.push(line("server group", fields));
        }
        for one in self.all("secret") {
            lines.push(line(
                "secret",
                pick(
                    one,
                    &[
                        "name",
                        "secret_type",
                        "status",
                        "algorithm",
                        "bit_length",
                        "mode",
                        "content_types",
                    ],
                ),
            ));
        }
        lines
    }

    fn balancing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, fields) in [
            (
                "load balancer",
                &["name", "admin_state_up", "provider", "provisioning_status"][..],
            ),
            (
                "listener",
                &[
                    "name",
                    "protocol",
                    "protocol_port",
                    "connection_limit",
                    "allowed_cidrs",
                ],
            ),
            (
                "pool",
                &["name", "protocol", "lb_algorithm", "session_persistence"],
            ),
            (
                "monitor",
                &[
                    "type",
                    "delay",
                    "timeout",
                    "max_retries",
                    "url_path",
                    "http_method",
                    "expected_codes",
                ],
            ),
            ("policy", &["name", "action", "position", "redirect_url"]),
            (
                "member",
                &["protocol_port", "weight", "admin_state_up", "backup"],
            ),
            ("rule", &["type", "compare_type", "key", "value", "invert"]),
        ] {
            for one in self.all(kind) {
                let mut shown = pick(one, fields);
                for (field, title) in [
                    ("members", "members"),
                    ("rules", "rules"),
                    ("pools", "pools"),
                    ("listeners", "listeners"),
                ] {
                    if let Some(list) = one[field].as_array() {
                        shown[title] = json!(list.len());
                    }
                }
                lines.push(line(kind, shown));
            }
        }
        lines
    }
}

fn pick(one: &Value, fields: &[&str]) -> Value {
    let fields = fields
        .iter()
        .map(|field| ((*field).to_owned(), one[*field].clone()));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// Metadata without the marker of a volume or server.
fn without_marks(metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    if let Some(map) = metadata.as_object_mut() {
        map.retain(|name, _| !name.starts_with("stackloom"));
    }
    metadata
}

fn line(kind: &str, fields: Value) -> String {
    format!("{kind} {fields}")
}
