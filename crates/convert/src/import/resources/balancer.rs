//! Classic load balancers: converted to Octavia, with a listener and a pool per port, and a member per server.

use serde_json::{Map, Value, json};

use super::{BALANCER, Convert, Output, Resource};
use crate::import::context::{Importer, SUBNET};
use crate::import::sections::as_number;

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    (written == BALANCER).then_some(balancer)
}

fn balancer(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let subnets = resource.take(importer, "Subnets");
    let mut properties = resource.renamed(importer, &[("LoadBalancerName", "name")]);
    for property in ["AvailabilityZones", "Tags", "CrossZone"] {
        resource.raw(property);
    }
    placed(importer, resource, subnets, &mut properties);
    let name = resource.name;
    let instances = resource.take(importer, "Instances");
    let health = resource.raw("HealthCheck");
    if health.is_some_and(|health| health.get("UnhealthyThreshold").is_some()) {
        importer.left_out(
            &format!("{}.UnhealthyThreshold", resource.at("HealthCheck")),
            "A member is unhealthy after 3 failures. Set `max_retries_down` of the monitor to change this",
        );
    }
    let given = resource.raw("Listeners");
    let listeners = given.and_then(Value::as_array);
    if given.is_some() && listeners.is_none() {
        let message = "The listeners are a computed list. Add each as an `OS::Octavia::Listener`";
        importer.left_out(&resource.at("Listeners"), message);
    }
    output.put(importer, resource, "OS::Octavia::LoadBalancer", properties);
    if instances.as_ref().is_some_and(|one| !one.is_array()) {
        importer.left_out(
            &resource.at("Instances"),
            "The members are a computed list. Add each as an `OS::Octavia::PoolMember`",
        );
    }
    for (number, listener) in listeners.into_iter().flatten().enumerate() {
        if importer.is_spent() {
            return;
        }
        let path = format!("{}.{number}", resource.at("Listeners"));
        if listener.get("PolicyNames").is_some() {
            importer.left_out(
                &format!("{path}.PolicyNames"),
                "Octavia has no named policies. Set their effect as properties of the listener and the pool",
            );
        }
        let mut given = |key: &str| listener.get(key).map(|value| importer.value(value, &path));
        let port = given("LoadBalancerPort").map(|port| as_number(&port));
        let protocol = given("Protocol").unwrap_or(json!("HTTP"));
        let to = given("InstancePort").map(|port| as_number(&port));
        let inner = given("InstanceProtocol").unwrap_or_else(|| protocol.clone());
        let certificate = given("SSLCertificateId");
        let mut body = json!({
            "loadbalancer": {"get_resource": name},
            "protocol": octavia(&protocol, Tls::with(certificate.as_ref())),
            "protocol_port": port,
        });
        if let Some(certificate) = certificate {
            body["default_tls_container_ref"] = certificate;
            importer.needed(
                &path,
                "Store the certificate in the key manager and give its container's URL",
            );
        }
        let kind = "OS::Octavia::Listener";
        let listener = output.add(
            importer,
            resource,
            &format!("listener_{number}"),
            kind,
            body,
        );
        let pool = json!({
            "listener": {"get_resource": listener},
            "protocol": octavia(&inner, Tls::PassedThrough),
            "lb_algorithm": "ROUND_ROBIN",
        });
        let pool = output.add(
            importer,
            resource,
            &format!("pool_{number}"),
            "OS::Octavia::Pool",
            pool,
        );
        if let Some(monitor) =
            health.and_then(|health| monitor(importer, health, &pool, &resource.path))
        {
            let kind = "OS::Octavia::HealthMonitor";
            output.add(
                importer,
                resource,
                &format!("monitor_{number}"),
                kind,
                monitor,
            );
        }
        let members = instances
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (at, member) in members.enumerate() {
            if importer.is_spent() {
                return;
            }
            let Some(server) = member.get("get_resource") else {
                importer.left_out(
                    &path,
                    "A member is not in the template. Add it as an `OS::Octavia::PoolMember` with its address",
                );
                continue;
            };
            let body = json!({
                "pool": {"get_resource": pool},
                "address": {"get_attr": [server, "first_address"]},
                "protocol_port": to,
            });
            let kind = "OS::Octavia::PoolMember";
            output.add(
                importer,
                resource,
                &format!("member_{number}_{at}"),
                kind,
                body,
            );
        }
    }
}

/// The subnet of a load balancer, and the clients that reach it.
pub(super) fn placed(
    importer: &mut Importer<'_>,
    resource: &mut Resource<'_>,
    subnets: Option<Value>,
    properties: &mut Map<String, Value>,
) {
    let subnet = match subnets {
        Some(Value::Array(mut subnets)) if !subnets.is_empty() => {
            if subnets.len() > 1 {
                let message =
                    "A load balancer has an address in one subnet only. The first one is used";
                importer.changed(&resource.at("Subnets"), message);
            }
            subnets.swap_remove(0)
        }
        // A parameter with a list of subnets.
        Some(list) if list.get("get_param").is_some_and(Value::is_string) => {
            json!({"get_param": [list["get_param"], 0]})
        }
        _ => importer.added_parameter(
            SUBNET,
            json!({
                "type": "string",
                "description": "The subnet of load balancers.",
                "constraints": [{"custom_constraint": "neutron.subnet"}],
            }),
        ),
    };
    properties.insert("vip_subnet".to_owned(), subnet);
    if resource.raw("SecurityGroups").is_some() {
        importer.left_out(
            &resource.at("SecurityGroups"),
            "In OpenStack, security groups belong to the load balancer's port. Set them on the port `vip_port_id`",
        );
    }
    if resource
        .raw("Scheme")
        .is_none_or(|scheme| scheme != "internal")
    {
        let at = match resource.raw("Scheme") {
            Some(_) => resource.at("Scheme"),
            None => resource.path.clone(),
        };
        importer.needed(
            &at,
            "The load balancer has no public address. If it needs one, add a floating IP for its port `vip_port_id`",
        );
    }
}

/// TLS at a load balancer.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tls {
    /// The load balancer has the certificate, and decrypts.
    Terminated,
    /// The members decrypt.
    PassedThrough,
}

impl Tls {
    /// The load balancer decrypts if it has a certificate.
    pub(super) fn with(certificate: Option<&Value>) -> Tls {
        match certificate {
            Some(_) => Tls::Terminated,
            None => Tls::PassedThrough,
        }
    }
}

/// Octavia's name of a protocol. Terminated `HTTPS` has its own name.
pub(super) fn octavia(protocol: &Value, tls: Tls) -> Value {
    match protocol.as_str().map(str::to_uppercase).as_deref() {
        Some("HTTPS" | "SSL") if tls == Tls::Terminated => json!("TERMINATED_HTTPS"),
        Some("SSL") => json!("TCP"),
        Some(word) => json!(word),
        None => protocol.clone(),
    }
}

/// A health check such as `HTTP:80/path` or `TCP:22`.
fn monitor(importer: &mut Importer<'_>, health: &Value, pool: &str, path: &str) -> Option<Value> {
    let target = health.get("Target")?;
    let number = |key: &str, default: u64| health.get(key).map_or(json!(default), as_number);
    let text = match target {
        Value::String(text) => text.clone(),
        // The protocol before a computed port.
        computed => match importer.value(computed, path).pointer("/list_join/1/0") {
            Some(Value::String(first)) => first.clone(),
            _ => "TCP".to_owned(),
        },
    };
    let (kind, rest) = text.split_once(':').unwrap_or((&text, ""));
    let kind = match kind.to_uppercase().as_str() {
        "SSL" => "TCP".to_owned(),
        other => other.to_owned(),
    };
    let mut body = json!({
        "pool": {"get_resource": pool},
        "type": kind,
        "delay": number("Interval", 30),
        "timeout": number("Timeout", 5),
        "max_retries": number("HealthyThreshold", 3),
    });
    if kind.starts_with("HTTP")
        && let Some(slash) = rest.find('/')
    {
        body["url_path"] = json!(&rest[slash..]);
    }
    Some(body)
}
