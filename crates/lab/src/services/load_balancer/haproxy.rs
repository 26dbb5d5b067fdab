//! The HAProxy configuration of a load balancer, generated from the model.
//!
//! A pool has a backend for each listener that uses it, since timeouts belong to listeners. User input (paths, URLs,
//! values of rules) is in strong quotes, which prevents injection.

use std::fmt::Write as _;

use crate::kit::record::Attributes;
use crate::services::Model;
use crate::services::load_balancer::{ProvisioningStatus, Resource, ResourceType};

/// The configuration of a load balancer.
pub fn configuration(model: &Model, balancer: &Resource) -> String {
    let mut text = String::from(
        "global\n  maxconn 4000\n  log stdout format raw local0 notice\ndefaults\n  log global\n  timeout connect 5s\n  timeout \
         client 50s\n  timeout server 50s\n  option redispatch\n",
    );
    if !balancer.is_on("admin_state_up") {
        return text;
    }
    for listener in enabled_children(model, &balancer.id, ResourceType::Listener) {
        frontend(&mut text, model, balancer, listener);
    }
    text
}

/// The enabled children of a type that are not in deletion.
pub fn enabled_children<'a>(
    model: &'a Model,
    parent: &'a str,
    part: ResourceType,
) -> impl Iterator<Item = &'a Resource> + use<'a> {
    let all = model.children_of(parent, part);
    all.filter(|one| one.is_on("admin_state_up") && one.status != ProvisioningStatus::PendingDelete)
}

/// A text in strong quotes. Control characters are removed.
fn word(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", plain.replace('\'', r"'\''"))
}

fn frontend(text: &mut String, model: &Model, balancer: &Resource, listener: &Resource) {
    let http = listener.text("protocol") == "HTTP";
    let port = listener.number("protocol_port").unwrap_or(0);
    let _ = writeln!(
        text,
        "frontend {}\n  mode {}\n  bind {}:{port}\n  timeout client {}ms",
        listener.id,
        if http { "http" } else { "tcp" },
        balancer.text("vip_address"),
        listener.number("timeout_client_data").unwrap_or(50_000),
    );
    if let Some(limit) = listener
        .number("connection_limit")
        .filter(|limit| *limit >= 0)
    {
        let _ = writeln!(text, "  maxconn {limit}");
    }
    let mut pools = Vec::new();
    if http {
        headers(text, listener);
        let mut policies: Vec<&Resource> =
            enabled_children(model, &listener.id, ResourceType::L7Policy).collect();
        // Octavia's order: rejections, then redirections to URLs, then redirections to pools.
        policies.sort_by_key(|policy| {
            let rank = match policy.text("action") {
                "REJECT" => 0,
                "REDIRECT_TO_POOL" => 2,
                _ => 1,
            };
            (rank, policy.number("position"))
        });
        for policy in policies {
            l7_policy(text, model, listener, policy);
            pools.push(policy.text("redirect_pool_id"));
        }
    }
    pools.push(listener.text("default_pool_id"));
    pools.sort_unstable();
    pools.dedup();
    let pool_of = |id: &str| {
        let pool = model.resource(ResourceType::Pool, id).ok()?;
        (pool.is_on("admin_state_up") && pool.status != ProvisioningStatus::PendingDelete)
            .then_some(pool)
    };
    if pool_of(listener.text("default_pool_id")).is_some() {
        let _ = writeln!(
            text,
            "  default_backend {}",
            backend_name(listener.text("default_pool_id"), listener)
        );
    }
    for pool in pools.into_iter().filter_map(pool_of) {
        backend(text, model, listener, pool);
    }
}

fn backend_name(pool: &str, listener: &Resource) -> String {
    format!("{pool}:{}", listener.id)
}

fn headers(text: &mut String, listener: &Resource) {
    let is_inserted = |name: &str| {
        let value = listener
            .fields
            .get("insert_headers")
            .and_then(|all| all.get(name));
        value.is_some_and(|value| value == "true" || value == true)
    };
    if is_inserted("X-Forwarded-For") {
        text.push_str("  option forwardfor\n");
    }
    if is_inserted("X-Forwarded-Port") {
        text.push_str("  http-request set-header X-Forwarded-Port %[dst_port]\n");
    }
    if is_inserted("X-Forwarded-Proto") {
        text.push_str("  http-request set-header X-Forwarded-Proto http\n");
    }
}

fn l7_policy(text: &mut String, model: &Model, listener: &Resource, policy: &Resource) {
    let mut conditions = Vec::new();
    for rule in enabled_children(model, &policy.id, ResourceType::L7Rule) {
        let key = rule.text("key");
        let fetch = match rule.text("type") {
            "HOST_NAME" => "req.hdr(host)".to_owned(),
            "HEADER" => format!("req.hdr({key})"),
            "COOKIE" => format!("req.cook({key})"),
            _ => "path".to_owned(),
        };
        let (how, value) = match (rule.text("type"), rule.text("compare_type")) {
            ("FILE_TYPE", "REGEX") => ("reg", format!(r"\.({})$", rule.text("value"))),
            ("FILE_TYPE", _) => ("end", format!(".{}", rule.text("value"))),
            (_, "REGEX") => ("reg", rule.text("value").to_owned()),
            (_, "STARTS_WITH") => ("beg", rule.text("value").to_owned()),
            (_, "ENDS_WITH") => ("end", rule.text("value").to_owned()),
            (_, "CONTAINS") => ("sub", rule.text("value").to_owned()),
            _ => ("str", rule.text("value").to_owned()),
        };
        let _ = writeln!(
            text,
            "  acl {} {fetch} -m {how} -- {}",
            rule.id,
            word(&value)
        );
        let not = if rule.is_on("invert") { "!" } else { "" };
        conditions.push(format!("{not}{}", rule.id));
    }
    // A policy without rules matches nothing.
    if conditions.is_empty() {
        return;
    }
    let when = conditions.join(" ");
    let code = policy.number("redirect_http_code").unwrap_or(302);
    let _ = match policy.text("action") {
        "REJECT" => writeln!(text, "  http-request deny if {when}"),
        "REDIRECT_TO_URL" => writeln!(
            text,
            "  http-request redirect code {code} location {} if {when}",
            word(policy.text("redirect_url"))
        ),
        "REDIRECT_PREFIX" => writeln!(
            text,
            "  http-request redirect code {code} prefix {} if {when}",
            word(policy.text("redirect_prefix"))
        ),
        _ => writeln!(
            text,
            "  use_backend {} if {when}",
            backend_name(policy.text("redirect_pool_id"), listener)
        ),
    };
}

fn backend(text: &mut String, model: &Model, listener: &Resource, pool: &Resource) {
    let http = listener.text("protocol") == "HTTP";
    let balance = match pool.text("lb_algorithm") {
        "LEAST_CONNECTIONS" => "leastconn",
        "SOURCE_IP" | "SOURCE_IP_PORT" => "source",
        _ => "roundrobin",
    };
    let _ = writeln!(
        text,
        "backend {}\n  mode {}\n  balance {balance}\n  timeout connect {}ms\n  timeout server {}ms",
        backend_name(&pool.id, listener),
        if http { "http" } else { "tcp" },
        listener.number("timeout_member_connect").unwrap_or(5_000),
        listener.number("timeout_member_data").unwrap_or(50_000),
    );
    let persistence = pool
        .fields
        .get("session_persistence")
        .and_then(|all| all["type"].as_str());
    match persistence {
        Some("SOURCE_IP") => text.push_str("  stick-table type ip size 10k\n  stick on src\n"),
        Some("HTTP_COOKIE") if http => text.push_str("  cookie SRV insert indirect nocache\n"),
        Some("APP_COOKIE") if http => {
            let name = pool.fields["session_persistence"]["cookie_name"].as_str();
            let name = word(name.unwrap_or("SRV"));
            let _ = writeln!(
                text,
                "  stick-table type string len 64 size 10k\n  stick store-response res.cook({name})\n  stick match req.cook({name})"
            );
        }
        _ => {}
    }
    let monitor = enabled_children(model, &pool.id, ResourceType::HealthMonitor).next();
    let check = monitor
        .map(|monitor| health_check(text, monitor))
        .unwrap_or_default();
    for member in enabled_children(model, &pool.id, ResourceType::Member) {
        let _ = write!(
            text,
            "  server {} {}:{} weight {}{check}",
            member.id,
            member.text("address"),
            member.number("protocol_port").unwrap_or(0),
            member.number("weight").unwrap_or(1),
        );
        if !check.is_empty() {
            if let Some(port) = member.number("monitor_port") {
                let _ = write!(text, " port {port}");
            }
            if !member.text("monitor_address").is_empty() {
                let _ = write!(text, " addr {}", member.text("monitor_address"));
            }
        }
        if member.is_on("backup") {
            text.push_str(" backup");
        }
        if persistence == Some("HTTP_COOKIE") && http {
            let _ = write!(text, " cookie {}", member.id);
        }
        match pool.text("protocol") {
            "PROXY" => text.push_str(" send-proxy"),
            "PROXYV2" => text.push_str(" send-proxy-v2"),
            _ => {}
        }
        text.push('\n');
    }
}

/// Writes the lines of a monitor, and returns the options for each server line. HAProxy has no ping check; a TCP
/// connection replaces it.
fn health_check(text: &mut String, monitor: &Resource) -> String {
    let seconds = |name: &str| monitor.number(name).unwrap_or(5).max(1);
    let _ = writeln!(text, "  timeout check {}s", seconds("timeout"));
    let kind = monitor.text("type");
    if kind == "HTTP" || kind == "HTTPS" {
        let _ = writeln!(
            text,
            "  option httpchk\n  http-check send meth {} uri {}\n  http-check expect status {}",
            monitor.text("http_method"),
            word(monitor.text("url_path")),
            word(&monitor.text("expected_codes").replace(' ', "")),
        );
    }
    let tls = match kind {
        "HTTPS" | "TLS-HELLO" => " check-ssl verify none",
        _ => "",
    };
    format!(
        " check{tls} inter {}s fall {} rise {}",
        seconds("delay"),
        seconds("max_retries_down"),
        seconds("max_retries"),
    )
}
