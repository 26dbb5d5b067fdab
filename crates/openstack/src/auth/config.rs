//! One cloud: its entry of `clouds.yaml`, with addresses, defaults and connection settings.
//!
//! Only configured clouds can be reached. All sessions in one cloud share its connections and its limit of concurrent
//! calls, so [`CloudConfig`] owns both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};

use super::credentials::{ApplicationCredential, Credentials, Domain, Identifier, Scope};
use crate::wire::client::{ConnectionSettings, Tls};
use crate::wire::transport::Transport;
use crate::{ConfigError, Error, LoginMethod, Secret, Service};

pub use crate::wire::client::{PARALLEL_CALLS, PARALLEL_CHANGES};

/// Default of [`CloudConfig::login_timeout`].
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(15);

/// One cloud. Clones share the connections and the limit of concurrent calls.
#[derive(Clone, Debug)]
pub struct CloudConfig {
    /// Name in the configuration.
    pub name: String,
    /// Keystone's URL, with or without the version.
    pub auth_url: String,
    /// Region of the services. `None` means any region.
    pub region: Option<String>,
    /// All regions that the configuration lists.
    pub regions: Vec<String>,
    /// `public`, `internal`, `admin` in order of preference. The first one with an endpoint of the service is used.
    pub interfaces: Vec<String>,
    /// Credentials in the configuration. Users who log in bring their own.
    pub credentials: Option<Credentials>,
    /// Project in the configuration.
    pub scope: Option<Scope>,
    /// Domain of users that are given without one.
    pub user_domain: Domain,
    /// Domain of projects that are given without one.
    pub project_domain: Domain,
    /// URLs that replace those of the catalogue.
    pub endpoint_overrides: BTreeMap<Service, String>,
    /// Interfaces of single services that differ from the others (`compute_interface`).
    pub service_interfaces: BTreeMap<Service, Vec<String>>,
    /// Regions of single services that differ from the others (`image_region_name`).
    pub service_regions: BTreeMap<Service, String>,
    /// TLS settings and limits of the connections.
    pub connection: ConnectionSettings,
    /// Time limit of a login, all its calls together. Default: 15 s, as a user waits for it.
    pub login_timeout: Duration,
    login_first: LoginMethod,
    /// Regions with settings of their own.
    own_settings: BTreeMap<String, Arc<CloudConfig>>,
    transport: Arc<OnceLock<Arc<Transport>>>,
}

impl CloudConfig {
    /// A cloud with only a name and an address; all other settings have their defaults.
    pub fn new(name: &str, auth_url: &str) -> CloudConfig {
        CloudConfig {
            name: name.into(),
            auth_url: auth_url.into(),
            region: None,
            regions: Vec::new(),
            interfaces: vec!["public".into()],
            credentials: None,
            scope: None,
            user_domain: Domain::default(),
            project_domain: Domain::default(),
            endpoint_overrides: BTreeMap::new(),
            service_interfaces: BTreeMap::new(),
            service_regions: BTreeMap::new(),
            connection: ConnectionSettings::default(),
            login_timeout: LOGIN_TIMEOUT,
            login_first: LoginMethod::Password,
            own_settings: BTreeMap::new(),
            transport: Arc::default(),
        }
    }

    /// All login methods, the configured one first.
    pub fn login_methods(&self) -> Vec<LoginMethod> {
        let mut methods = vec![
            LoginMethod::Password,
            LoginMethod::ApplicationCredential,
            LoginMethod::Token,
        ];
        methods.sort_by_key(|method| *method != self.login_first);
        methods
    }

    /// The same cloud in another of its regions.
    pub fn with_region(&self, region: &str) -> CloudConfig {
        if let Some(own) = self.own_settings.get(region) {
            return CloudConfig::clone(own);
        }
        CloudConfig {
            region: Some(region.into()),
            ..self.clone()
        }
    }

    /// Changes settings of the cloud, also for its regions with settings of their own.
    pub(crate) fn change(&mut self, change: impl Fn(&mut CloudConfig)) {
        self.own_settings
            .values_mut()
            .for_each(|own| change(Arc::make_mut(own)));
        change(self);
    }

    /// Number of calls sent to this cloud so far, by all sessions.
    pub fn calls(&self) -> u64 {
        self.transport
            .get()
            .map_or(0, |transport| transport.calls())
    }

    /// The region of a service. `None` means any region.
    pub fn region_of(&self, service: Service) -> Option<&str> {
        let own = self.service_regions.get(&service);
        own.or(self.region.as_ref()).map(String::as_str)
    }

    /// The interfaces of a service, in order of preference.
    pub fn interfaces_of(&self, service: Service) -> &[String] {
        let own = self.service_interfaces.get(&service);
        own.unwrap_or(&self.interfaces)
    }

    pub(crate) fn transport(&self) -> Result<Arc<Transport>, Error> {
        if let Some(transport) = self.transport.get() {
            return Ok(transport.clone());
        }
        let transport = Arc::new(Transport::new(
            &self.name,
            &self.auth_url,
            &self.connection,
        )?);
        Ok(self.transport.get_or_init(|| transport).clone())
    }

    /// Reads an entry of a `clouds.yaml`. The `values` of a region are merged over the rest.
    pub(crate) fn read(name: &str, entry: &Value) -> Result<CloudConfig, ConfigError> {
        let entry = &with_underscores(entry.clone());
        let mut config = CloudConfig::read_plain(name, entry)?;
        let listed = entry.get("regions").and_then(Value::as_array);
        for region in listed.into_iter().flatten() {
            let region_name = region.as_object().and_then(|map| text(map, "name"));
            if let (Some(region_name), Some(values)) = (region_name, region.get("values")) {
                let mut merged = entry.clone();
                merge_settings(&mut merged, values.clone());
                merged["regions"] = Value::Null;
                merged["region_name"] = region_name.as_str().into();
                let mut own = CloudConfig::read_plain(name, &merged)?;
                own.regions.clone_from(&config.regions);
                config.own_settings.insert(region_name, Arc::new(own));
            }
        }
        // The default region has its own settings too.
        let own = config.region.as_ref();
        if let Some(own) = own.and_then(|region| config.own_settings.get(region)) {
            let own_settings = config.own_settings.clone();
            config = CloudConfig::clone(own);
            config.own_settings = own_settings;
        }
        Ok(config)
    }

    fn read_plain(name: &str, entry: &Value) -> Result<CloudConfig, ConfigError> {
        let wrong = |why: &str| ConfigError::Cloud {
            cloud: name.into(),
            why: why.into(),
        };
        let entry = entry.as_object().ok_or_else(|| wrong("it must be a map"))?;
        let empty = Map::new();
        let auth = entry
            .get("auth")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        // openstacksdk accepts the fields of `auth` at the top level too.
        let field = |key: &str| text(auth, key).or_else(|| text(entry, key));

        let Some(auth_url) = field("auth_url") else {
            let missing = "`auth: {auth_url: ...}` is missing: the address of Keystone";
            return Err(match field("profile") {
                Some(profile) => wrong(&format!(
                    "{missing}. There is none in `public-clouds: {{{profile}: ...}}` of clouds-public.yaml either"
                )),
                None => wrong(missing),
            });
        };
        // URLs can contain placeholders of other settings, mostly of the region.
        let region = regions(entry).into_iter().next().unwrap_or_default();
        let auth_url = auth_url.replace("{region_name}", &region);
        let mut config = CloudConfig::new(name, &auth_url);

        config.regions = regions(entry);
        config.region = config.regions.first().cloned();
        let named = interfaces(entry, "interface").or_else(|| interfaces(entry, "endpoint_type"));
        if let Some(interfaces) = named {
            config.interfaces = interfaces;
        }
        config.connection.tls = Tls {
            verify: switch(entry, "verify").unwrap_or(true)
                && !switch(entry, "insecure").unwrap_or(false),
            ca_file: text(entry, "cacert").map(home),
            certificate: text(entry, "cert").map(home),
            key: text(entry, "key").map(home),
        };
        if let Some(seconds) =
            text(entry, "api_timeout").and_then(|seconds| seconds.parse::<f64>().ok())
            && let Ok(timeout) = Duration::try_from_secs_f64(seconds)
            && !timeout.is_zero()
        {
            config.connection.timeout = timeout;
        }
        for service in OVERRIDABLE {
            for service_type in service.types() {
                let key = |setting: &str| format!("{}_{setting}", service_type.replace('-', "_"));
                let url = text(entry, &key("endpoint_override"));
                if let Some(url) = url.or_else(|| text(entry, &key("endpoint"))) {
                    config.endpoint_overrides.entry(service).or_insert(url);
                }
                if let Some(all) = interfaces(entry, &key("interface")) {
                    config.service_interfaces.entry(service).or_insert(all);
                }
                if let Some(region) = text(entry, &key("region_name")) {
                    config.service_regions.entry(service).or_insert(region);
                }
            }
        }

        // Beside a project, a domain without a prefix is the domain of both user and project.
        let project = ["project_id", "project_name", "tenant_id", "tenant_name"];
        let has_project = project.iter().any(|key| field(key).is_some());
        let common = |key: &str| field(key).filter(|_| has_project);
        let domain = |id: &str, name: &str| {
            let own = field(id)
                .map(Domain::Id)
                .or_else(|| field(name).map(Domain::Name))
                .or_else(|| common("domain_id").map(Domain::Id))
                .or_else(|| common("domain_name").map(Domain::Name));
            own.or_else(|| {
                field("default_domain_id")
                    .or_else(|| field("default_domain"))
                    .map(Domain::Id)
            })
            .or_else(|| field("default_domain_name").map(Domain::Name))
        };
        config.user_domain = domain("user_domain_id", "user_domain_name").unwrap_or_default();
        config.project_domain =
            domain("project_domain_id", "project_domain_name").unwrap_or_default();
        config.credentials = credentials(&field, &config.user_domain);
        config.scope = scope(&field, &config.project_domain);
        config.login_first = match (text(entry, "auth_type").as_deref(), &config.credentials) {
            (Some(kind), _) if kind.contains("applicationcredential") => {
                LoginMethod::ApplicationCredential
            }
            (Some(kind), _) if kind.contains("token") => LoginMethod::Token,
            (None, Some(Credentials::ApplicationCredential { .. })) => {
                LoginMethod::ApplicationCredential
            }
            (None, Some(Credentials::Token { .. })) => LoginMethod::Token,
            _ => LoginMethod::Password,
        };
        Ok(config)
    }
}

const OVERRIDABLE: [Service; 12] = [
    Service::Identity,
    Service::Compute,
    Service::Network,
    Service::Image,
    Service::BlockStorage,
    Service::KeyManager,
    Service::Orchestration,
    Service::LoadBalancer,
    Service::Dns,
    Service::ObjectStore,
    Service::Placement,
    Service::Alarming,
];

fn credentials(
    field: &dyn Fn(&str) -> Option<String>,
    user_domain: &Domain,
) -> Option<Credentials> {
    let user = field("user_id").map(Identifier::Id).or_else(|| {
        let name = field("username").or_else(|| field("user_name"))?;
        Some(Identifier::Name {
            name,
            domain: user_domain.clone(),
        })
    });
    if let Some(secret) = field("application_credential_secret") {
        let credential = match field("application_credential_id") {
            Some(id) => ApplicationCredential::Id(id),
            None => ApplicationCredential::Name {
                name: field("application_credential_name")?,
                user: user?,
            },
        };
        return Some(Credentials::ApplicationCredential {
            credential,
            secret: secret.into(),
        });
    }
    if let (Some(user), Some(password)) = (user, field("password")) {
        return Some(Credentials::Password {
            user,
            password: password.into(),
            passcode: field("passcode").map(Secret::from),
        });
    }
    field("token").map(|token| Credentials::Token {
        token: token.into(),
    })
}

fn scope(field: &dyn Fn(&str) -> Option<String>, project_domain: &Domain) -> Option<Scope> {
    let project_id = field("project_id").or_else(|| field("tenant_id"));
    if let Some(id) = project_id {
        return Some(Scope::Project(Identifier::Id(id)));
    }
    if let Some(name) = field("project_name").or_else(|| field("tenant_name")) {
        return Some(Scope::Project(Identifier::Name {
            name,
            domain: project_domain.clone(),
        }));
    }
    if field("system_scope").is_some() {
        return Some(Scope::System);
    }
    let domain = field("domain_id").map(Domain::Id);
    domain
        .or_else(|| field("domain_name").map(Domain::Name))
        .map(Scope::Domain)
}

/// Merges `upper` over `lower`, setting by setting. Only the fields of `auth` are merged one by one.
pub(super) fn merge_settings(lower: &mut Value, upper: Value) {
    let (Value::Object(lower), Value::Object(upper)) = (lower, upper) else {
        return;
    };
    for (key, value) in upper {
        let below = lower.entry(key.as_str()).or_insert(Value::Null);
        match (key.as_str(), below, value) {
            ("auth", Value::Object(below), Value::Object(auth)) => below.extend(auth),
            (_, below, value) => *below = value,
        }
    }
}

/// Replaces hyphens in names of settings by underscores.
fn with_underscores(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let plain =
                |(key, value): (String, Value)| (key.replace('-', "_"), with_underscores(value));
            Value::Object(map.into_iter().map(plain).collect())
        }
        other => other,
    }
}

/// All regions, the default one first: `regions`, else `region_name`. Older files separate several names with commas.
fn regions(entry: &Map<String, Value>) -> Vec<String> {
    let named = |region: &Value| match region {
        Value::Object(region) => text(region, "name"),
        other => other.as_str().map(str::to_string),
    };
    let listed = entry.get("regions").and_then(Value::as_array);
    match (listed, entry.get("region_name")) {
        (Some(all), _) if !all.is_empty() => all.iter().filter_map(named).collect(),
        (_, Some(Value::Array(all))) => all.iter().filter_map(named).collect(),
        _ => {
            let names = text(entry, "region_name").unwrap_or_default();
            let names = names.split(',').filter(|name| !name.is_empty());
            names.map(str::to_string).collect()
        }
    }
}

/// One interface or several, in order of preference. Older files write `publicURL`.
fn interfaces(map: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let all = match map.get(key)? {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    };
    let plain = |interface: &str| interface.trim_end_matches("URL").to_string();
    let all: Vec<String> = all.into_iter().map(plain).collect();
    (!all.is_empty()).then_some(all)
}

/// A string or number of a map, as text. Empty text counts as absent.
fn text(map: &Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn switch(map: &Map<String, Value>, key: &str) -> Option<bool> {
    match map.get(key)? {
        Value::Bool(on) => Some(*on),
        Value::String(text) => Some(!matches!(
            text.to_lowercase().as_str(),
            "false" | "no" | "0" | "off"
        )),
        _ => None,
    }
}

/// Replaces `~/` at the start by the home directory.
fn home(path: String) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.into(),
    }
}
