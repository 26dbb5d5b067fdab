//! The attributes of each kind of piece: what a body may say, what holds when it does not, and what may change later. Source: Load
//! Balancer API v2.

use Form::{Address, Any, Number, Switch, Text, Word};
use Later::{Changes, Stays};
use serde_json::{Map, Value, json};

use crate::kit::refusal::Refusal;
use crate::services::load_balancer::Part;

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// At most 255 characters.
    Text,
    /// True or false.
    Switch,
    /// A whole number within these bounds.
    Number(i64, i64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// An IPv4 address.
    Address,
    /// Anything.
    Any,
}

/// What holds when nobody says anything.
#[derive(Debug, Clone, Copy)]
pub enum Usual {
    /// It has to be said.
    Required,
    /// Null.
    Null,
    /// This text.
    Text(&'static str),
    /// This.
    Switch(bool),
    /// This.
    Number(i64),
    /// An empty list.
    List,
    /// An empty object.
    Object,
}

/// Whether a value may be changed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// It may.
    Changes,
    /// It stays.
    Stays,
}

/// One attribute.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    form: Form,
    usual: Usual,
    later: Later,
}

const fn field(name: &'static str, form: Form, usual: Usual, later: Later) -> Field {
    Field {
        name,
        form,
        usual,
        later,
    }
}

const PORTS: Form = Number(1, 65_535);
const TIMEOUT: Form = Number(0, 31_536_000_000);
const ALGORITHMS: Form = Word(&[
    "ROUND_ROBIN",
    "LEAST_CONNECTIONS",
    "SOURCE_IP",
    "SOURCE_IP_PORT",
]);
const METHODS: Form = Word(&[
    "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "PATCH", "CONNECT",
]);
const LISTENS: Form = Word(&[
    "HTTP",
    "HTTPS",
    "TCP",
    "TERMINATED_HTTPS",
    "UDP",
    "SCTP",
    "PROMETHEUS",
]);
const POOLS: Form = Word(&["HTTP", "HTTPS", "TCP", "PROXY", "PROXYV2", "UDP", "SCTP"]);
const MONITORS: Form = Word(&[
    "HTTP",
    "HTTPS",
    "PING",
    "TCP",
    "TLS-HELLO",
    "UDP-CONNECT",
    "SCTP",
]);

const NAME: Field = field("name", Text, Usual::Text(""), Changes);
const DESCRIPTION: Field = field("description", Text, Usual::Text(""), Changes);
const UP: Field = field("admin_state_up", Switch, Usual::Switch(true), Changes);
const TAGS: Field = field("tags", Any, Usual::List, Changes);

static LOAD_BALANCER: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    field("vip_address", Address, Usual::Null, Stays),
    field("vip_port_id", Text, Usual::Null, Stays),
    field("vip_subnet_id", Text, Usual::Null, Stays),
    field("vip_network_id", Text, Usual::Null, Stays),
    field("vip_qos_policy_id", Text, Usual::Null, Changes),
    field("additional_vips", Any, Usual::List, Stays),
    field(
        "provider",
        Word(&["octavia", "amphora"]),
        Usual::Text("octavia"),
        Stays,
    ),
    field("flavor_id", Text, Usual::Null, Stays),
    field("availability_zone", Text, Usual::Null, Stays),
];

static LISTENER: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    field("protocol", LISTENS, Usual::Required, Stays),
    field("protocol_port", PORTS, Usual::Required, Stays),
    field(
        "connection_limit",
        Number(-1, i64::MAX),
        Usual::Number(-1),
        Changes,
    ),
    field("default_tls_container_ref", Text, Usual::Null, Changes),
    field("sni_container_refs", Any, Usual::List, Changes),
    field("default_pool_id", Text, Usual::Null, Changes),
    field("insert_headers", Any, Usual::Object, Changes),
    field(
        "timeout_client_data",
        TIMEOUT,
        Usual::Number(50_000),
        Changes,
    ),
    field(
        "timeout_member_connect",
        TIMEOUT,
        Usual::Number(5_000),
        Changes,
    ),
    field(
        "timeout_member_data",
        TIMEOUT,
        Usual::Number(50_000),
        Changes,
    ),
    field("timeout_tcp_inspect", TIMEOUT, Usual::Number(0), Changes),
    field("client_ca_tls_container_ref", Text, Usual::Null, Changes),
    field("client_authentication", Text, Usual::Text("NONE"), Changes),
    field("client_crl_container_ref", Text, Usual::Null, Changes),
    field("allowed_cidrs", Any, Usual::Null, Changes),
    field("tls_ciphers", Text, Usual::Null, Changes),
    field("tls_versions", Any, Usual::Null, Changes),
    field("alpn_protocols", Any, Usual::Null, Changes),
];

static POOL: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    field("protocol", POOLS, Usual::Required, Stays),
    field("lb_algorithm", ALGORITHMS, Usual::Required, Changes),
    field("session_persistence", Any, Usual::Null, Changes),
    field("tls_container_ref", Text, Usual::Null, Changes),
    field("ca_tls_container_ref", Text, Usual::Null, Changes),
    field("crl_container_ref", Text, Usual::Null, Changes),
    field("tls_enabled", Switch, Usual::Switch(false), Changes),
    field("tls_ciphers", Text, Usual::Null, Changes),
    field("tls_versions", Any, Usual::List, Changes),
    field("alpn_protocols", Any, Usual::List, Changes),
];

static MEMBER: &[Field] = &[
    NAME,
    UP,
    TAGS,
    field("address", Address, Usual::Required, Stays),
    field("protocol_port", PORTS, Usual::Required, Stays),
    field("weight", Number(0, 256), Usual::Number(1), Changes),
    field("backup", Switch, Usual::Switch(false), Changes),
    field("subnet_id", Text, Usual::Null, Stays),
    field("monitor_address", Address, Usual::Null, Changes),
    field("monitor_port", PORTS, Usual::Null, Changes),
];

static HEALTH_MONITOR: &[Field] = &[
    NAME,
    UP,
    TAGS,
    field("type", MONITORS, Usual::Required, Stays),
    field("delay", Number(0, i64::MAX), Usual::Required, Changes),
    field("timeout", Number(0, i64::MAX), Usual::Required, Changes),
    field("max_retries", Number(1, 10), Usual::Required, Changes),
    field("max_retries_down", Number(1, 10), Usual::Number(3), Changes),
    field("http_method", METHODS, Usual::Null, Changes),
    field("url_path", Text, Usual::Null, Changes),
    field("expected_codes", Text, Usual::Null, Changes),
    field("http_version", Any, Usual::Null, Changes),
    field("domain_name", Text, Usual::Null, Changes),
];

static L7_POLICY: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    field(
        "action",
        Word(&[
            "REJECT",
            "REDIRECT_TO_URL",
            "REDIRECT_TO_POOL",
            "REDIRECT_PREFIX",
        ]),
        Usual::Required,
        Changes,
    ),
    field("redirect_pool_id", Text, Usual::Null, Changes),
    field("redirect_url", Text, Usual::Null, Changes),
    field("redirect_prefix", Text, Usual::Null, Changes),
    field("redirect_http_code", Word(&[]), Usual::Null, Changes),
    field("position", Number(1, 2_147_483_647), Usual::Null, Changes),
];

static L7_RULE: &[Field] = &[
    UP,
    TAGS,
    field(
        "type",
        Word(&[
            "HOST_NAME",
            "PATH",
            "FILE_TYPE",
            "HEADER",
            "COOKIE",
            "SSL_CONN_HAS_CERT",
            "SSL_VERIFY_RESULT",
            "SSL_DN_FIELD",
        ]),
        Usual::Required,
        Changes,
    ),
    field(
        "compare_type",
        Word(&["REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO"]),
        Usual::Required,
        Changes,
    ),
    field("key", Text, Usual::Null, Changes),
    field("value", Text, Usual::Required, Changes),
    field("invert", Switch, Usual::Switch(false), Changes),
];

/// The attributes of a kind.
pub fn fields(part: Part) -> &'static [Field] {
    match part {
        Part::LoadBalancer => LOAD_BALANCER,
        Part::Listener => LISTENER,
        Part::Pool => POOL,
        Part::Member => MEMBER,
        Part::HealthMonitor => HEALTH_MONITOR,
        Part::L7Policy => L7_POLICY,
        Part::L7Rule => L7_RULE,
    }
}

fn wrong(name: &str, value: &Value, reason: &str) -> Refusal {
    let shown = match value {
        Value::String(text) => text.clone(),
        Value::Null => "None".into(),
        other => other.to_string(),
    };
    Refusal::bad_request(format!(
        "Invalid input for field/attribute {name}. Value: '{shown}'. {reason}"
    ))
}

impl Field {
    fn value(&self) -> Option<Value> {
        Some(match self.usual {
            Usual::Required => return None,
            Usual::Null => Value::Null,
            Usual::Text(text) => text.into(),
            Usual::Switch(on) => on.into(),
            Usual::Number(number) => number.into(),
            Usual::List => json!([]),
            Usual::Object => json!({}),
        })
    }

    fn check(&self, value: &Value) -> Result<(), Refusal> {
        if value.is_null() {
            return Ok(());
        }
        let name = self.name;
        let fine = match self.form {
            Any => true,
            Text => value
                .as_str()
                .is_some_and(|text| text.chars().count() <= 255),
            Switch => value.is_boolean(),
            Number(least, most) => {
                let number = value.as_i64();
                if let Some(number) = number.filter(|number| *number < least) {
                    let reason = format!("Value should be greater or equal to {least}");
                    return Err(wrong(name, &number.into(), &reason));
                }
                if let Some(number) = number.filter(|number| *number > most) {
                    let reason = format!("Value should be lower or equal to {most}");
                    return Err(wrong(name, &number.into(), &reason));
                }
                number.is_some()
            }
            Word([]) => matches!(value.as_i64(), Some(301 | 302 | 303 | 307 | 308)),
            Word(words) => {
                if !value.as_str().is_some_and(|word| words.contains(&word)) {
                    let reason = format!("Value should be one of: {}", words.join(", "));
                    return Err(wrong(name, value, &reason));
                }
                true
            }
            Address => value
                .as_str()
                .is_some_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok()),
        };
        fine.then_some(())
            .ok_or_else(|| wrong(name, value, "Wrong type or format."))
    }
}

/// Words of a creation that are no attributes: where the piece hangs, and what comes with it.
const BESIDE: &[&str] = &[
    "project_id",
    "tenant_id",
    "loadbalancer_id",
    "listener_id",
    "pool_id",
    "id",
];
/// What could come with it, and is empty in the bodies of clients that do not use it.
const WITH_IT: &[&str] = &[
    "listeners",
    "pools",
    "l7policies",
    "members",
    "rules",
    "healthmonitor",
    "default_pool",
    "redirect_pool",
];

/// The attributes of a new piece.
pub fn read_new(part: Part, said: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let all = fields(part);
    for (name, value) in said {
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if WITH_IT.contains(&name.as_str()) && !empty {
            return Err(Refusal::new(
                501,
                "NotImplemented",
                format!(
                    "The lab cloud makes pieces of load balancers one by one, not '{name}' with their parent."
                ),
            ));
        }
        let known = all.iter().any(|field| field.name == name);
        if !known && !BESIDE.contains(&name.as_str()) && !WITH_IT.contains(&name.as_str()) {
            return Err(Refusal::bad_request(format!(
                "Unknown attribute for argument {}: {name}",
                part.words().0
            )));
        }
    }
    let mut read = Map::new();
    for field in all {
        let value = match said.get(field.name).filter(|value| !value.is_null()) {
            Some(value) => value.clone(),
            None => field
                .value()
                .ok_or_else(|| wrong(field.name, &Value::Null, "Mandatory field missing."))?,
        };
        field.check(&value)?;
        read.insert(field.name.into(), value);
    }
    Ok(read)
}

/// The attributes of a change. A null brings back what holds when nobody says anything.
pub fn read_change(part: Part, said: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut read = Map::new();
    for (name, value) in said {
        let field = fields(part).iter().find(|field| field.name == name);
        let field = field
            .filter(|field| field.later == Changes)
            .ok_or_else(|| {
                Refusal::bad_request(format!(
                    "Unknown attribute for argument {}: {name}",
                    part.words().0
                ))
            })?;
        field.check(value)?;
        let value = match value {
            Value::Null => field.value().unwrap_or(Value::Null),
            value => value.clone(),
        };
        read.insert(name.clone(), value);
    }
    Ok(read)
}
