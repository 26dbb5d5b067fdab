//! Heat's named constraints.
//!
//! Thirteen constraints describe the form of a value and are checked here. The others require an object of a service:
//! many are checked against the lists of a cloud (see `lookup`), the rest only by the cloud. Source:
//! `heat/engine/constraint/common_constraints.py` and Heat's entry points.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use yaql::shown;

/// All registered names in Heat.
pub const NAMES: [&str; 70] = [
    "cron_expression",
    "dns_domain",
    "dns_name",
    "expiration",
    "ip_addr",
    "ip_or_cidr",
    "iso_8601",
    "json_string",
    "mac_addr",
    "net_cidr",
    "rel_dns_name",
    "test_constr",
    "timezone",
    "barbican.container",
    "barbican.secret",
    "blazar.reservation",
    "cinder.backup",
    "cinder.qos_specs",
    "cinder.snapshot",
    "cinder.volume",
    "cinder.vtype",
    "designate.zone",
    "glance.image",
    "heat.resource_type",
    "ironic.node",
    "ironic.portgroup",
    "keystone.domain",
    "keystone.group",
    "keystone.project",
    "keystone.region",
    "keystone.role",
    "keystone.service",
    "keystone.user",
    "magnum.cluster_template",
    "manila.share_network",
    "manila.share_snapshot",
    "manila.share_type",
    "mistral.workflow",
    "neutron.address_scope",
    "neutron.flow_classifier",
    "neutron.l3_conntrack_helper",
    "neutron.lbaas.listener",
    "neutron.lbaas.loadbalancer",
    "neutron.lbaas.pool",
    "neutron.lbaas.provider",
    "neutron.network",
    "neutron.port",
    "neutron.port_chain",
    "neutron.port_pair",
    "neutron.port_pair_group",
    "neutron.qos_policy",
    "neutron.router",
    "neutron.security_group",
    "neutron.segment",
    "neutron.subnet",
    "neutron.subnetpool",
    "neutron.taas.tap_flow",
    "neutron.taas.tap_service",
    "nova.flavor",
    "nova.host",
    "nova.keypair",
    "nova.server",
    "octavia.flavor",
    "octavia.flavorprofile",
    "octavia.l7policy",
    "octavia.listener",
    "octavia.loadbalancer",
    "octavia.pool",
    "trove.flavor",
    "zun.container",
];

/// Names in older releases, for services that do not exist any more.
const FORMER: [&str; 17] = [
    "designate.domain",
    "monasca.notification",
    "neutron.lb.provider",
    "nova.network",
    "sahara.cluster",
    "sahara.cluster_template",
    "sahara.data_source",
    "sahara.image",
    "sahara.job_binary",
    "sahara.job_type",
    "sahara.plugin",
    "senlin.cluster",
    "senlin.policy",
    "senlin.policy_type",
    "senlin.profile",
    "senlin.profile_type",
    "zaqar.queue",
];

/// True if a release of Heat has this constraint.
pub fn is_known(name: &str) -> bool {
    NAMES.contains(&name) || FORMER.contains(&name)
}

/// True if the constraint describes the form of a value and needs no service.
pub fn is_format_only(name: &str) -> bool {
    NAMES[..13].contains(&name)
}

/// Problem of a value's form. `None` for constraints that need a service.
pub(super) fn problem(name: &str, value: &str) -> Option<String> {
    let fits = match name {
        "ip_addr" => is_address(value),
        // Neutron requires the prefix length.
        "net_cidr" => is_cidr(value),
        "ip_or_cidr" => is_address(value) || is_cidr(value),
        "mac_addr" => is_mac(value),
        "dns_name" => value.is_empty() || is_dns_name(value),
        "rel_dns_name" => {
            value.is_empty() || (!value.ends_with('.') && value.len() <= 252 && is_dns_name(value))
        }
        "dns_domain" => value.is_empty() || (value.ends_with('.') && is_dns_name(value)),
        "json_string" => serde_json::from_str::<Value>(value).is_ok(),
        "cron_expression" => value.is_empty() || is_cron(value),
        "iso_8601" => is_time(value),
        // Only the service can decide if the time is in the past.
        "expiration" => value.is_empty() || is_time(value.trim()),
        "timezone" => value.is_empty() || is_timezone(value),
        _ => return None,
    };
    let wanted = match name {
        "ip_addr" => "an IP address such as `10.0.0.5`",
        "net_cidr" => "a range of addresses such as `10.0.0.0/24`",
        "ip_or_cidr" => "an IP address or a range such as `10.0.0.0/24`",
        "mac_addr" => "a MAC address such as `fa:16:3e:00:00:01`",
        "rel_dns_name" => "a DNS name without its domain, such as `www`",
        "dns_domain" => "a DNS domain with a dot at its end, such as `example.org.`",
        "json_string" => "JSON",
        "cron_expression" => "a cron expression such as `0 4 * * 1`",
        "iso_8601" | "expiration" => "a time such as `2030-01-31T12:00:00Z`",
        "timezone" => "a time zone such as `Europe/Berlin`",
        _ => "a DNS name: labels of small letters, digits and `-`, with dots between",
    };
    (!fits).then(|| format!("`{}` is not {wanted}", shown(value)))
}

fn is_address(value: &str) -> bool {
    value.parse::<IpAddr>().is_ok()
}

fn is_cidr(value: &str) -> bool {
    let Some((address, length)) = value.split_once('/') else {
        return false;
    };
    match (address.parse::<IpAddr>(), length.parse::<u8>()) {
        (Ok(IpAddr::V4(_)), Ok(length)) => length <= 32,
        (Ok(IpAddr::V6(_)), Ok(length)) => length <= 128,
        // Neutron also accepts netmasks.
        (Ok(IpAddr::V4(_)), Err(_)) => length.parse::<Ipv4Addr>().is_ok(),
        (Ok(IpAddr::V6(_)), Err(_)) => length.parse::<Ipv6Addr>().is_ok(),
        _ => false,
    }
}

/// Six bytes with `:` or `-`, three words with `.`, or twelve digits.
fn is_mac(value: &str) -> bool {
    let hex = |part: &str, most: usize| {
        !part.is_empty() && part.len() <= most && part.chars().all(|c| c.is_ascii_hexdigit())
    };
    let split = |by: char, count: usize, most: usize| {
        let parts: Vec<&str> = value.split(by).collect();
        parts.len() == count && parts.iter().all(|part| hex(part, most))
    };
    split(':', 6, 2)
        || split('-', 6, 2)
        || split('.', 3, 4)
        || (value.len() == 12 && hex(value, 12))
}

fn is_dns_name(value: &str) -> bool {
    let body = value.strip_suffix('.').unwrap_or(value);
    let labels: Vec<&str> = body.split('.').collect();
    let numeric_top = value.ends_with('.')
        && labels.len() > 1
        && labels
            .last()
            .is_some_and(|top| top.chars().all(|c| c.is_ascii_digit()));
    !body.is_empty()
        && body.len() <= 255
        && !numeric_top
        && labels.iter().all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        })
}

/// Five fields, six fields with seconds, or a word such as `@daily`.
fn is_cron(value: &str) -> bool {
    const WORDS: [&str; 6] = [
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@hourly",
    ];
    const RANGES: [(u32, u32); 6] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7), (0, 59)];
    let fields: Vec<&str> = value.split_whitespace().collect();
    WORDS.contains(&value)
        || (matches!(fields.len(), 5 | 6)
            && fields
                .iter()
                .zip(RANGES)
                .all(|(field, range)| field.split(',').all(|part| is_cron_part(part, range))))
}

/// `*`, `5`, `1-5`, `*/10`, `mon`, `l` ...
fn is_cron_part(part: &str, (min, max): (u32, u32)) -> bool {
    let (span, step) = part.split_once('/').unwrap_or((part, "1"));
    let value = |text: &str| match text.parse::<u32>() {
        Ok(number) => (min..=max).contains(&number),
        Err(_) => matches!(text.len(), 1..=3) && text.chars().all(|c| c.is_ascii_alphabetic()),
    };
    let ordered = |from: &str, to: &str| match (from.parse::<u32>(), to.parse::<u32>()) {
        (Ok(from), Ok(to)) => from <= to,
        _ => true,
    };
    let days = min == 1 || max == 7;
    let span_fits = span == "*"
        || (span == "?" && days)
        || match span.split_once('-') {
            Some((from, to)) => value(from) && value(to) && ordered(from, to),
            None => value(span),
        };
    span_fits && step.parse::<u32>().is_ok_and(|step| step > 0)
}

/// Date, or date and time with or without a zone, in the extended or the short form.
fn is_time(value: &str) -> bool {
    let (date, time) = match value.find(['T', 't', ' ']) {
        Some(at) => (&value[..at], Some(&value[at + 1..])),
        None => (value, None),
    };
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let number = |text: &str, range: std::ops::RangeInclusive<u32>| {
        digits(text) && text.parse().is_ok_and(|number| range.contains(&number))
    };
    let date_fits = {
        let parts: Vec<&str> = date.split('-').collect();
        match parts.as_slice() {
            [year] if year.len() == 4 => digits(year),
            [short] if short.len() == 8 => {
                digits(short) && number(&short[4..6], 1..=12) && number(&short[6..], 1..=31)
            }
            [year, month] if month.len() <= 2 => {
                year.len() == 4 && digits(year) && number(month, 1..=12)
            }
            [year, month, day] => {
                year.len() == 4 && digits(year) && number(month, 1..=12) && number(day, 1..=31)
            }
            _ => false,
        }
    };
    let Some(time) = time else { return date_fits };
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let clock = clock.split(['.', ',']).next().unwrap_or_default();
    let parts: Vec<&str> = clock.trim_end().split(':').collect();
    let clock_fits = match parts.as_slice() {
        [hour] if hour.len() <= 2 => number(hour, 0..=23),
        [short] if matches!(short.len(), 4 | 6) => digits(short),
        [hour, minute] => number(hour, 0..=23) && number(minute, 0..=59),
        [hour, minute, second] => {
            number(hour, 0..=23) && number(minute, 0..=59) && number(second, 0..=60)
        }
        _ => false,
    };
    let zone_fits = zone.is_empty()
        || zone.eq_ignore_ascii_case("z")
        || (zone.len() <= 6 && zone[1..].chars().all(|c| c.is_ascii_digit() || c == ':'));
    date_fits && clock_fits && zone_fits
}

/// `Area/City`, or a name such as `UTC`. Cities are not checked: the service does it, and a list of them would be
/// large.
fn is_timezone(value: &str) -> bool {
    const AREAS: &str = "Africa America Antarctica Arctic Asia Atlantic Australia Brazil Canada Chile Etc Europe Indian Mexico Pacific US";
    const NAMES: &str = "CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong \
        Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC \
        ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu";
    let any = |known: &str, word: &str| known.split(' ').any(|one| one.eq_ignore_ascii_case(word));
    let there = match value.split_once('/') {
        Some((area, _)) => any(AREAS, area),
        None => any(NAMES, value),
    };
    there
        && value.split('/').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generic_constraint_accepts_and_refuses_its_examples() {
        for (name, right, wrong) in [
            ("cron_expression", "*/5 0 1-5 jan,mar 1", "* * * *"),
            ("cron_expression", "@daily", "61 * * * *"),
            ("dns_domain", "example.org.", "example.org"),
            ("dns_name", "a-b.example", "-a.example"),
            ("dns_name", "www", "WWW"),
            ("expiration", "2035-01-01T00:00:00Z", "tomorrow"),
            ("ip_addr", "fe80::1", "10.0.0.256"),
            ("ip_or_cidr", "10.0.0.1", "ten"),
            ("iso_8601", "2030-01-31T12:00:00+01:00", "31.1.2030"),
            ("iso_8601", "20300131", "2030-13-01"),
            ("json_string", "{}", "{"),
            ("mac_addr", "fa:16:3e:00:00:01", "fa:16"),
            ("mac_addr", "fa16.3e00.0001", "fa:16:3e:00:00:0g"),
            ("net_cidr", "10.0.0.0/24", "10.0.0.0/33"),
            ("net_cidr", "10.0.0.0/255.255.255.0", "ten/8"),
            ("rel_dns_name", "www", "www.example.org."),
            ("timezone", "America/Argentina/Buenos_Aires", "5 o'clock"),
        ] {
            assert_eq!(problem(name, right), None, "{name} {right}");
            assert!(problem(name, wrong).is_some(), "{name} {wrong}");
        }
        assert_eq!(problem("test_constr", "0"), None, "it only waits");
        assert_eq!(problem("nova.flavor", "anything"), None, "needs a cloud");
    }

    #[test]
    fn constraints_of_all_releases_are_known() {
        assert!(is_known("nova.flavor"));
        assert!(is_known("neutron.lb.provider"), "an older one");
        assert!(!is_known("nova_flavor"));
    }
}
