//! The fields of each resource type. Source: Load Balancer API v2.

use serde_json::Value;

use crate::kit::field::{Field, Form, Problem, Set, Usual, always, on_create, required};
use crate::kit::record::Fields;
use crate::kit::refusal::Refusal;
use crate::services::load_balancer::ResourceType;

const PORTS: Form = Form::Range(1, 65_535);
const TIMEOUT: Form = Form::Range(0, 31_536_000_000);
const REDIRECTS: Form = Form::Numbers(&[301, 302, 303, 307, 308]);
const ALGORITHMS: Form = Form::Word(&[
    "ROUND_ROBIN",
    "LEAST_CONNECTIONS",
    "SOURCE_IP",
    "SOURCE_IP_PORT",
]);
const METHODS: Form = Form::Word(&[
    "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "PATCH", "CONNECT",
]);
const LISTENS: Form = Form::Word(&[
    "HTTP",
    "HTTPS",
    "TCP",
    "TERMINATED_HTTPS",
    "UDP",
    "SCTP",
    "PROMETHEUS",
]);
const POOLS: Form = Form::Word(&["HTTP", "HTTPS", "TCP", "PROXY", "PROXYV2", "UDP", "SCTP"]);
const MONITORS: Form = Form::Word(&[
    "HTTP",
    "HTTPS",
    "PING",
    "TCP",
    "TLS-HELLO",
    "UDP-CONNECT",
    "SCTP",
]);

const NAME: Field = always("name", Form::Text).or(Usual::Text(""));
const DESCRIPTION: Field = always("description", Form::Text).or(Usual::Text(""));
const UP: Field = always("admin_state_up", Form::Switch).or(Usual::Switch(true));
const TAGS: Field = always("tags", Form::Any).or(Usual::List);

static LOAD_BALANCER: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    on_create("vip_address", Form::Address),
    on_create("vip_port_id", Form::Text),
    on_create("vip_subnet_id", Form::Text),
    on_create("vip_network_id", Form::Text),
    always("vip_qos_policy_id", Form::Text),
    on_create("additional_vips", Form::Any).or(Usual::List),
    on_create("provider", Form::Word(&["octavia", "amphora"])).or(Usual::Text("octavia")),
    on_create("flavor_id", Form::Text),
    on_create("availability_zone", Form::Text),
];

static LISTENER: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    required("protocol", LISTENS),
    required("protocol_port", PORTS),
    always("connection_limit", Form::Range(-1, i64::MAX)).or(Usual::Number(-1)),
    always("default_tls_container_ref", Form::Text),
    always("sni_container_refs", Form::Any).or(Usual::List),
    always("default_pool_id", Form::Text),
    always("insert_headers", Form::Any).or(Usual::Object),
    always("timeout_client_data", TIMEOUT).or(Usual::Number(50_000)),
    always("timeout_member_connect", TIMEOUT).or(Usual::Number(5_000)),
    always("timeout_member_data", TIMEOUT).or(Usual::Number(50_000)),
    always("timeout_tcp_inspect", TIMEOUT).or(Usual::Number(0)),
    always("client_ca_tls_container_ref", Form::Text),
    always("client_authentication", Form::Text).or(Usual::Text("NONE")),
    always("client_crl_container_ref", Form::Text),
    always("allowed_cidrs", Form::Any),
    always("tls_ciphers", Form::Text),
    always("tls_versions", Form::Any),
    always("alpn_protocols", Form::Any),
];

static POOL: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    required("protocol", POOLS),
    required("lb_algorithm", ALGORITHMS).changeable(),
    always("session_persistence", Form::Any),
    always("tls_container_ref", Form::Text),
    always("ca_tls_container_ref", Form::Text),
    always("crl_container_ref", Form::Text),
    always("tls_enabled", Form::Switch).or(Usual::Switch(false)),
    always("tls_ciphers", Form::Text),
    always("tls_versions", Form::Any).or(Usual::List),
    always("alpn_protocols", Form::Any).or(Usual::List),
];

static MEMBER: &[Field] = &[
    NAME,
    UP,
    TAGS,
    required("address", Form::Address),
    required("protocol_port", PORTS),
    always("weight", Form::Range(0, 256)).or(Usual::Number(1)),
    always("backup", Form::Switch).or(Usual::Switch(false)),
    on_create("subnet_id", Form::Text),
    always("monitor_address", Form::Address),
    always("monitor_port", PORTS),
];

static HEALTH_MONITOR: &[Field] = &[
    NAME,
    UP,
    TAGS,
    required("type", MONITORS),
    required("delay", Form::Range(0, i64::MAX)).changeable(),
    required("timeout", Form::Range(0, i64::MAX)).changeable(),
    required("max_retries", Form::Range(1, 10)).changeable(),
    always("max_retries_down", Form::Range(1, 10)).or(Usual::Number(3)),
    always("http_method", METHODS),
    always("url_path", Form::Text),
    always("expected_codes", Form::Text),
    always("http_version", Form::Any),
    always("domain_name", Form::Text),
];

static L7_POLICY: &[Field] = &[
    NAME,
    DESCRIPTION,
    UP,
    TAGS,
    required(
        "action",
        Form::Word(&[
            "REJECT",
            "REDIRECT_TO_URL",
            "REDIRECT_TO_POOL",
            "REDIRECT_PREFIX",
        ]),
    )
    .changeable(),
    always("redirect_pool_id", Form::Text),
    always("redirect_url", Form::Text),
    always("redirect_prefix", Form::Text),
    always("redirect_http_code", REDIRECTS),
    always("position", Form::Range(1, 2_147_483_647)),
];

static L7_RULE: &[Field] = &[
    UP,
    TAGS,
    required(
        "type",
        Form::Word(&[
            "HOST_NAME",
            "PATH",
            "FILE_TYPE",
            "HEADER",
            "COOKIE",
            "SSL_CONN_HAS_CERT",
            "SSL_VERIFY_RESULT",
            "SSL_DN_FIELD",
        ]),
    )
    .changeable(),
    required(
        "compare_type",
        Form::Word(&["REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO"]),
    )
    .changeable(),
    always("key", Form::Text),
    required("value", Form::Text).changeable(),
    always("invert", Form::Switch).or(Usual::Switch(false)),
];

/// The fields of a resource type.
pub fn fields(part: ResourceType) -> &'static [Field] {
    match part {
        ResourceType::LoadBalancer => LOAD_BALANCER,
        ResourceType::Listener => LISTENER,
        ResourceType::Pool => POOL,
        ResourceType::Member => MEMBER,
        ResourceType::HealthMonitor => HEALTH_MONITOR,
        ResourceType::L7Policy => L7_POLICY,
        ResourceType::L7Rule => L7_RULE,
    }
}

fn invalid(name: &str, value: &Value, reason: &str) -> Refusal {
    let shown = match value {
        Value::String(text) => text.clone(),
        Value::Null => "None".into(),
        other => other.to_string(),
    };
    Refusal::bad_request(format!(
        "Invalid input for field/attribute {name}. Value: '{shown}'. {reason}"
    ))
}

fn unknown(part: ResourceType, name: &str) -> Refusal {
    Refusal::bad_request(format!(
        "Unknown attribute for argument {}: {name}",
        part.names().0
    ))
}

/// A parsed value. Null is replaced by the default.
fn read(field: &Field, value: &Value) -> Result<Value, Refusal> {
    if value.is_null() {
        return Ok(field.usual_value());
    }
    field.read(value).map_err(|problem| {
        let reason = match problem {
            Problem::TooSmall(least) => format!("Value should be greater or equal to {least}"),
            Problem::TooLarge(most) => format!("Value should be lower or equal to {most}"),
            Problem::NotOneOf(names) => format!("Value should be one of: {}", names.join(", ")),
            _ => "Wrong type or format.".to_owned(),
        };
        invalid(field.name, value, &reason)
    })
}

/// Additional fields of a creation: the parent, and the owner.
const REFERENCES: &[&str] = &[
    "project_id",
    "tenant_id",
    "loadbalancer_id",
    "listener_id",
    "pool_id",
    "id",
];
/// Children, which Octavia can create with their parent. Some clients always send them, empty.
const CHILDREN: &[&str] = &[
    "listeners",
    "pools",
    "l7policies",
    "members",
    "rules",
    "healthmonitor",
    "default_pool",
    "redirect_pool",
];

/// The fields of a new resource.
pub fn read_new(part: ResourceType, wanted: &Fields) -> Result<Fields, Refusal> {
    let table = fields(part);
    for (name, value) in wanted {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        let is_child = CHILDREN.contains(&name.as_str());
        if is_child && !is_empty {
            return Err(Refusal::new(
                501,
                "NotImplemented",
                format!(
                    "The lab cloud makes pieces of load balancers one by one, not '{name}' with their parent."
                ),
            ));
        }
        let is_known = table.iter().any(|field| field.name == name);
        if !is_known && !is_child && !REFERENCES.contains(&name.as_str()) {
            return Err(unknown(part, name));
        }
    }
    let mut fields = Fields::new();
    for field in table {
        let value = wanted.get(field.name).unwrap_or(&Value::Null);
        if field.is_required() && value.is_null() {
            return Err(invalid(field.name, value, "Mandatory field missing."));
        }
        fields.insert(field.name.into(), read(field, value)?);
    }
    Ok(fields)
}

/// The fields of a change.
pub fn read_change(part: ResourceType, wanted: &Fields) -> Result<Fields, Refusal> {
    let mut changes = Fields::new();
    for (name, value) in wanted {
        let mut table = fields(part).iter();
        let field = table.find(|field| field.name == name && field.set == Set::Always);
        let field = field.ok_or_else(|| unknown(part, name))?;
        changes.insert(name.clone(), read(field, value)?);
    }
    Ok(changes)
}
