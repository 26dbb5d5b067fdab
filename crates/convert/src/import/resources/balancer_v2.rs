//! Load balancers of the second generation: target groups, listeners and rules become Octavia's pools, listeners and
//! policies.
//! A target group is independent, while a pool belongs to a load balancer: the one whose listeners forward to it
//! ([`find_balancers`]). A listener refers to its pool as the default pool, so that several listeners can share one. A
//! redirect to another URL is a policy ([`redirect`]).
//! one. A redirect to another address is a policy ([`redirect`]).

use serde_json::{Map, Value, json};

use super::balancer::{Tls, octavia, placed};
use super::redirect::{self, LISTENER, RULE, forwarded};
use super::{Convert, INSTANCE, Output, Resource};
use crate::import::context::Importer;
use crate::import::sections::as_number;

pub(crate) const BALANCER: &str = "AWS::ElasticLoadBalancingV2::LoadBalancer";
pub(crate) const TARGETS: &str = "AWS::ElasticLoadBalancingV2::TargetGroup";
/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    Some(match written {
        BALANCER => balancer,
        TARGETS => targets,
        LISTENER => listener,
        RULE => rule,
        _ => return None,
    })
}

/// Finds the load balancer of each target group. A group without a listener has no counterpart.
pub(super) fn find_balancers(importer: &mut Importer<'_>) {
    let resources = importer.resources;
    for (name, body) in resources {
        let property = |key: &str| body.get("Properties").and_then(|one| one.get(key));
        let (actions, listener) = match importer.type_of(name) {
            LISTENER => (property("DefaultActions"), Some(name.as_str())),
            RULE => {
                let listener = property("ListenerArn");
                let listener = listener.and_then(|one| importer.referred(one, LISTENER));
                (property("Actions"), listener)
            }
            _ => continue,
        };
        let Some(listener) = listener else { continue };
        for action in actions.and_then(Value::as_array).into_iter().flatten() {
            let to = forwarded(action).and_then(|to| importer.referred(to, TARGETS));
            if let Some(to) = to {
                let first = importer.balanced.entry(to.to_owned());
                first.or_insert_with(|| listener.to_owned());
            }
        }
    }
    for name in resources.keys() {
        if importer.type_of(name) == TARGETS && !importer.balanced.contains_key(name) {
            importer.dropped.insert(name.clone());
            let message = "No listener of the template uses this target group. Add it as an `OS::Octavia::Pool` of a load balancer";
            importer.left_out(&format!("Resources.{name}"), message);
        }
    }
}

fn balancer(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let subnets = resource.take(importer, "Subnets");
    let mapped = resource.raw("SubnetMappings").and_then(Value::as_array);
    let subnets = subnets.or_else(|| {
        let ids = mapped?.iter().filter_map(|one| one.get("SubnetId"));
        let at = resource.at("SubnetMappings");
        Some(ids.map(|id| importer.value(id, &at)).collect())
    });
    let mut properties = resource.renamed(importer, &[("Name", "name")]);
    for silent in ["Type", "IpAddressType", "Tags", "LoadBalancerAttributes"] {
        resource.raw(silent);
    }
    placed(importer, resource, subnets, &mut properties);
    output.put(importer, resource, "OS::Octavia::LoadBalancer", properties);
}

/// Converts a target group to a pool with its monitor and members.
fn targets(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let listener = importer.balanced[resource.name].clone();
    let balancer = importer.resources[&listener].pointer("/Properties/LoadBalancerArn");
    let balancer = balancer.map_or(Value::Null, |one| importer.value(one, &resource.path));
    let protocol = resource.take(importer, "Protocol");
    let protocol = protocol.unwrap_or_else(|| json!("HTTP"));
    let port = resource.take(importer, "Port").map(|port| as_number(&port));
    let mut properties = resource.renamed(importer, &[("Name", "name")]);
    properties.insert("loadbalancer".to_owned(), balancer);
    properties.insert("protocol".to_owned(), pool_protocol(&protocol));
    properties.insert("lb_algorithm".to_owned(), json!("ROUND_ROBIN"));
    if let Some(persistence) = persistence(importer, resource) {
        properties.insert("session_persistence".to_owned(), persistence);
    }
    // The pool belongs to its load balancer, so it needs no VPC. The zone of the load balancer is not that of its
    // members.
    for silent in [
        "VpcId",
        "Tags",
        "TargetType",
        "ProtocolVersion",
        "IpAddressType",
    ] {
        resource.raw(silent);
    }
    let monitor = monitor(importer, resource, &protocol);
    let at = resource.at("Targets");
    let given = resource.raw("Targets");
    if given.is_some_and(|given| !given.is_array()) {
        importer.left_out(
            &at,
            "The members are a computed list. Add each as an `OS::Octavia::PoolMember`",
        );
    }
    let members = given.and_then(Value::as_array);
    output.put(importer, resource, "OS::Octavia::Pool", properties);
    let pool = json!({"get_resource": resource.name});
    if let Some(mut monitor) = monitor {
        monitor.insert("pool".to_owned(), pool.clone());
        let kind = "OS::Octavia::HealthMonitor";
        output.add(importer, resource, "monitor", kind, Value::Object(monitor));
    }
    for (number, member) in members.into_iter().flatten().enumerate() {
        if importer.is_spent() {
            return;
        }
        let Some(id) = member.get("Id") else {
            importer.left_out(
                &at,
                "A member has no `Id`. Add it as an `OS::Octavia::PoolMember` with its address",
            );
            continue;
        };
        let address = match importer.referred(id, INSTANCE) {
            Some(server) => json!({"get_attr": [server, "first_address"]}),
            None => importer.value(id, &at),
        };
        let to = member
            .get("Port")
            .map(|to| as_number(&importer.value(to, &at)));
        let mut body = json!({"pool": pool, "address": address});
        if let Some(to) = to.or_else(|| port.clone()) {
            body["protocol_port"] = to;
        }
        let kind = "OS::Octavia::PoolMember";
        output.add(importer, resource, &format!("member_{number}"), kind, body);
    }
}

/// The protocol of the members. Octavia has no pool protocol for TLS without HTTP.
fn pool_protocol(protocol: &Value) -> Value {
    match protocol.as_str().map(str::to_uppercase).as_deref() {
        Some("TLS" | "TCP_UDP") => json!("TCP"),
        _ => octavia(protocol, Tls::PassedThrough),
    }
}

/// Session persistence, from `TargetGroupAttributes`.
fn persistence(importer: &mut Importer<'_>, resource: &mut Resource<'_>) -> Option<Value> {
    let at = resource.at("TargetGroupAttributes");
    let given = resource.raw("TargetGroupAttributes")?.as_array()?;
    let of = |key: &str| {
        let one = given.iter().find(|one| one["Key"] == key)?;
        one.get("Value").cloned()
    };
    let is_on = of("stickiness.enabled").is_some_and(|on| on == true || on == "true");
    let persistence = match of("stickiness.type").as_ref().and_then(Value::as_str) {
        _ if !is_on => None,
        Some("source_ip") => Some(json!({"type": "SOURCE_IP"})),
        Some("app_cookie") => {
            let cookie = of("stickiness.app_cookie.cookie_name")?;
            Some(json!({"type": "APP_COOKIE", "cookie_name": cookie}))
        }
        _ => Some(json!({"type": "HTTP_COOKIE"})),
    };
    let lost = given.iter().filter_map(|one| one.get("Key")?.as_str());
    for key in lost.filter(|key| !key.starts_with("stickiness.")) {
        importer.left_out(&at, format!("OpenStack has no counterpart of `{key}`"));
    }
    persistence
}

fn monitor(
    importer: &mut Importer<'_>,
    resource: &mut Resource<'_>,
    pool_protocol: &Value,
) -> Option<Map<String, Value>> {
    let is_off = resource
        .raw("HealthCheckEnabled")
        .is_some_and(|on| *on == false || *on == "false");
    let protocol = resource.take(importer, "HealthCheckProtocol");
    let given = protocol.is_some();
    let kind = match protocol.unwrap_or_else(|| pool_protocol.clone()).as_str() {
        Some("TLS" | "TCP_UDP" | "UDP") | None => "TCP".to_owned(),
        Some(kind) => kind.to_uppercase(),
    };
    let mut body = resource.renamed(
        importer,
        &[
            ("HealthCheckIntervalSeconds", "delay"),
            ("HealthCheckTimeoutSeconds", "timeout"),
            ("HealthyThresholdCount", "max_retries"),
        ],
    );
    let path = resource.take(importer, "HealthCheckPath");
    let matcher = resource.raw("Matcher");
    for (property, why) in [
        (
            "HealthCheckPort",
            "Octavia checks the members at their own port",
        ),
        (
            "UnhealthyThresholdCount",
            "A member is unhealthy after 3 failures. Set `max_retries_down` of the monitor to change this",
        ),
    ] {
        let given = resource.raw(property);
        if given.is_some_and(|given| given != "traffic-port") {
            importer.left_out(&resource.at(property), why);
        }
    }
    if is_off || (!given && body.is_empty() && path.is_none()) {
        return None;
    }
    for value in body.values_mut() {
        *value = as_number(value);
    }
    for (key, usual) in [("delay", 30), ("timeout", 5), ("max_retries", 5)] {
        body.entry(key).or_insert_with(|| json!(usual));
    }
    if kind.starts_with("HTTP") {
        if let Some(path) = path {
            body.insert("url_path".to_owned(), path);
        }
        if let Some(codes) = matcher.and_then(|one| one.get("HttpCode")) {
            let codes = importer.value(codes, &resource.at("Matcher"));
            body.insert("expected_codes".to_owned(), codes);
        }
    }
    body.insert("type".to_owned(), json!(kind));
    Some(body)
}

fn listener(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let names = [
        ("LoadBalancerArn", "loadbalancer"),
        ("Port", "protocol_port"),
    ];
    let mut properties = resource.renamed(importer, &names);
    if let Some(port) = properties.get_mut("protocol_port") {
        *port = as_number(port);
    }
    let at = resource.at("Certificates");
    let certificate = resource.raw("Certificates").and_then(|all| {
        let first = all.get(0)?.get("CertificateArn")?;
        Some(importer.value(first, &at))
    });
    let protocol = resource.take(importer, "Protocol");
    let protocol = protocol.unwrap_or_else(|| json!("HTTP"));
    let tls = Tls::with(certificate.as_ref());
    let hot = match protocol.as_str() {
        Some("TLS") if tls == Tls::Terminated => {
            let message =
                "Octavia terminates TLS for HTTP only. The protocol is `TERMINATED_HTTPS` here";
            importer.changed(&resource.at("Protocol"), message);
            json!("TERMINATED_HTTPS")
        }
        Some("TCP_UDP") => {
            importer.changed(
                &resource.at("Protocol"),
                "The listener accepts TCP only. Add a second listener for UDP",
            );
            json!("TCP")
        }
        Some("TLS") => json!("TCP"),
        _ => octavia(&protocol, tls),
    };
    properties.insert("protocol".to_owned(), hot);
    if let Some(certificate) = certificate {
        properties.insert("default_tls_container_ref".to_owned(), certificate);
        importer.needed(
            &at,
            "Store the certificate in the key manager and give its container's URL",
        );
    }
    let at = resource.at("DefaultActions");
    let actions = resource.raw("DefaultActions").and_then(Value::as_array);
    let is_alone = redirect::rules_at(importer, resource.name).is_empty();
    let mut elsewhere = None;
    for action in actions.into_iter().flatten() {
        if let Some(pool) = leads_to(importer, action, &at) {
            properties.entry("default_pool").or_insert(pool);
            continue;
        }
        let address = is_alone
            .then(|| redirect::address(importer, action, Some(resource.name), &at))
            .flatten();
        match address {
            Some(address) => elsewhere = Some(address),
            None => not_plain(importer, action, &at),
        }
    }
    for silent in ["SslPolicy", "AlpnPolicy"] {
        if resource.raw(silent).is_some() {
            let message = "The cloud decides which versions and ciphers of TLS are allowed";
            importer.left_out(&resource.at(silent), message);
        }
    }
    output.put(importer, resource, "OS::Octavia::Listener", properties);
    if let Some(address) = elsewhere {
        let policy = json!({
            "listener": {"get_resource": resource.name},
            "action": "REDIRECT_TO_URL",
            "redirect_url": address,
        });
        let kind = "OS::Octavia::L7Policy";
        let policy = output.add(importer, resource, "redirect", kind, policy);
        let rule = redirect::any_request(&policy);
        output.add(
            importer,
            resource,
            "redirect_all",
            "OS::Octavia::L7Rule",
            rule,
        );
    }
}

/// The pool to which an action forwards.
fn leads_to(importer: &mut Importer<'_>, action: &Value, at: &str) -> Option<Value> {
    let to = forwarded(action)?;
    let several = action.pointer("/ForwardConfig/TargetGroups/1").is_some();
    if several {
        importer.changed(
            at,
            "The action has several target groups. The first one gets all requests",
        );
    }
    Some(importer.value(to, at))
}

fn not_plain(importer: &mut Importer<'_>, action: &Value, at: &str) {
    let kind = action.get("Type").and_then(Value::as_str);
    let kind = kind.unwrap_or("computed");
    importer.left_out(
        at,
        format!("The action `{kind}` cannot be converted. Add an `OS::Octavia::L7Policy` with the same effect"),
    );
}

/// Converts a rule to a policy with its conditions, which redirects to another pool or URL.
fn rule(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let listener = resource.raw("ListenerArn");
    let listener = listener.and_then(|one| importer.referred(one, LISTENER));
    let names = [("ListenerArn", "listener"), ("Priority", "position")];
    let mut properties = resource.renamed(importer, &names);
    if let Some(position) = properties.get_mut("position") {
        *position = as_number(position);
    }
    let at = resource.at("Actions");
    let actions = resource.raw("Actions").and_then(Value::as_array);
    let mut done = None;
    for action in actions.into_iter().flatten() {
        if let Some(to) = leads_to(importer, action, &at) {
            done.get_or_insert(("REDIRECT_TO_POOL", "redirect_pool", to));
        } else if let Some(address) = redirect::address(importer, action, listener, &at) {
            done.get_or_insert(("REDIRECT_TO_URL", "redirect_url", json!(address)));
            let others = listener.map(|name| redirect::rules_at(importer, name));
            if others.is_some_and(|others| others.into_iter().any(redirect::leads_to_pool)) {
                importer.changed(
                    &at,
                    "Octavia evaluates redirects to a URL before policies that lead to a pool. Check the order of the rules",
                );
            }
        } else {
            not_plain(importer, action, &at);
        }
    }
    let Some((action, property, to)) = done else {
        importer.dropped.insert(resource.name.to_owned());
        let message = "No action of the rule leads to a target group or a URL. Add an `OS::Octavia::L7Policy` with the same effect";
        importer.left_out(&resource.path, message);
        return;
    };
    properties.insert("action".to_owned(), json!(action));
    properties.insert(property.to_owned(), to);
    let at = resource.at("Conditions");
    let conditions = resource.raw("Conditions").and_then(Value::as_array);
    output.put(importer, resource, "OS::Octavia::L7Policy", properties);
    for (number, condition) in conditions.into_iter().flatten().enumerate() {
        if importer.is_spent() {
            return;
        }
        let Some((kind, compare, value)) = condition_parts(importer, condition, &at) else {
            importer.left_out(&at, "A condition cannot be converted. Add it as an `OS::Octavia::L7Rule`, or the policy applies to more requests");
            continue;
        };
        let body = json!({
            "l7policy": {"get_resource": resource.name},
            "type": kind,
            "compare_type": compare,
            "value": value,
        });
        let kind = "OS::Octavia::L7Rule";
        output.add(importer, resource, &format!("rule_{number}"), kind, body);
    }
}

/// Type, comparison and value of a condition: paths and host names, which can contain `*` and `?`.
fn condition_parts(
    importer: &mut Importer<'_>,
    condition: &Value,
    at: &str,
) -> Option<(&'static str, &'static str, Value)> {
    let (kind, config) = match condition.get("Field")?.as_str()? {
        "path-pattern" => ("PATH", "PathPatternConfig"),
        "host-header" => ("HOST_NAME", "HostHeaderConfig"),
        _ => return None,
    };
    let values = condition.get("Values");
    let values = values.or_else(|| condition.get(config)?.get("Values"))?;
    let values = values.as_array()?;
    let patterns: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
    match (patterns.as_deref(), values.as_slice()) {
        (Some([one]), _) if !one.contains(['*', '?']) => Some((kind, "EQUAL_TO", json!(one))),
        (Some([one]), _) if one.ends_with('*') && !one[..one.len() - 1].contains(['*', '?']) => {
            Some((kind, "STARTS_WITH", json!(&one[..one.len() - 1])))
        }
        (Some(several), _) if !several.is_empty() => {
            let all: Vec<String> = several.iter().map(|one| expression(one)).collect();
            Some((kind, "REGEX", json!(format!("^({})$", all.join("|")))))
        }
        (None, [computed]) => {
            let value = importer.value(computed, at);
            Some((kind, "EQUAL_TO", value))
        }
        _ => None,
    }
}

/// A pattern with `*` and `?` as a regular expression.
fn expression(pattern: &str) -> String {
    let mut out = String::new();
    for c in pattern.chars() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            c if c.is_alphanumeric() || matches!(c, '/' | '-' | '_') => out.push(c),
            c => {
                out.push('\\');
                out.push(c);
            }
        }
    }
    out
}
