//! Sources of the configured clouds: `clouds.yaml` and its companion files.
//!
//! Files and search order are those of openstacksdk, so the configuration of the `openstack` command works unchanged:
//!
//! - `clouds.yaml` is the first existing file of `$OS_CLIENT_CONFIG_FILE`, `./`, `$XDG_CONFIG_HOME/openstack/`,
//!   `~/.config/openstack/`, `/etc/xdg/openstack/` and `/etc/openstack/` (in each: `.yaml`, `.yml`, `.json`).
//! - `secure.yaml` (`$OS_CLIENT_SECURE_FILE`) is merged over it.
//! - The `profile` of a cloud comes from `clouds-public.yaml` (`$OS_CLIENT_VENDOR_FILE`) and is merged below it.
//! - The `OS_*` variables define one more cloud, named `envvars` (`$OS_CLOUD_NAME`).
//!
//! The default cloud is `$OS_CLOUD`, else the cloud of the variables, else the only one. `$STACKLOOM_CLOUDS` names one
//! file that replaces all of this: then only `secure.yaml` and `clouds-public.yaml` in the same folder are read too,
//! and no variable.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::config::merge_settings;
use crate::{CloudConfig, ConfigError};

/// All configured clouds, by name.
#[derive(Clone, Debug, Default)]
pub struct Clouds {
    clouds: BTreeMap<String, CloudConfig>,
    preferred: Option<String>,
}

impl Clouds {
    /// Reads `$STACKLOOM_CLOUDS`, else the usual files and variables. Without any file the result is empty, not an
    /// error.
    pub fn load() -> Result<Clouds, ConfigError> {
        if let Some(path) = std::env::var_os("STACKLOOM_CLOUDS").filter(|path| !path.is_empty()) {
            return Clouds::from_file(Path::new(&path));
        }
        Clouds::from_surroundings(&std::env::vars().collect(), Path::new("."))
    }

    /// Reads the usual files and the given variables; `here` is the working directory.
    fn from_surroundings(
        variables: &BTreeMap<String, String>,
        here: &Path,
    ) -> Result<Clouds, ConfigError> {
        let folders = search_folders(variables, here);
        let find = |variable: &str, stem: &str| {
            let named = variables.get(variable).map(|path| here.join(path));
            named
                .filter(|path| path.is_file())
                .or_else(|| find_file(&folders, stem))
        };
        let clouds = read(find("OS_CLIENT_CONFIG_FILE", "clouds"))?;
        let secure = read(find("OS_CLIENT_SECURE_FILE", "secure"))?;
        let public = read(find("OS_CLIENT_VENDOR_FILE", "clouds-public"))?;
        Clouds::assemble(clouds, secure, public, variables)
    }

    /// Reads one file, with `secure.yaml` and `clouds-public.yaml` from the same folder.
    pub fn from_file(path: &Path) -> Result<Clouds, ConfigError> {
        let folder = [path.parent().unwrap_or(Path::new(".")).to_path_buf()];
        let clouds = read(Some(path.to_path_buf()))?;
        let secure = read(find_file(&folder, "secure"))?;
        let public = read(find_file(&folder, "clouds-public"))?;
        Clouds::assemble(clouds, secure, public, &BTreeMap::new())
    }

    /// Parses the text of a `clouds.yaml`.
    pub fn from_yaml(text: &str) -> Result<Clouds, ConfigError> {
        let clouds = parse(text, "clouds.yaml")?;
        Clouds::assemble(clouds, Value::Null, Value::Null, &BTreeMap::new())
    }

    /// The cloud with this name.
    pub fn get(&self, name: &str) -> Option<&CloudConfig> {
        self.clouds.get(name)
    }

    /// The default cloud: `$OS_CLOUD`, the cloud of the variables, or the only one.
    pub fn preferred(&self) -> Option<&CloudConfig> {
        match (&self.preferred, self.clouds.len()) {
            (Some(name), _) => self.clouds.get(name),
            (None, 1) => self.clouds.values().next(),
            (None, _) => None,
        }
    }

    /// All clouds, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &CloudConfig> {
        self.clouds.values()
    }

    /// The same clouds with other settings, in all their regions.
    pub fn with(mut self, change: impl Fn(&mut CloudConfig)) -> Clouds {
        for cloud in self.clouds.values_mut() {
            cloud.change(&change);
        }
        self
    }

    /// Whether no cloud is configured.
    pub fn is_empty(&self) -> bool {
        self.clouds.is_empty()
    }

    fn assemble(
        mut clouds: Value,
        secure: Value,
        public: Value,
        environment: &BTreeMap<String, String>,
    ) -> Result<Clouds, ConfigError> {
        if !secure.is_null() {
            merge(&mut clouds, secure);
        }
        let mut entries = match clouds.get_mut("clouds").map(Value::take) {
            Some(Value::Object(entries)) => entries,
            Some(Value::Null) | None => Map::new(),
            Some(_) => {
                return Err(ConfigError::Invalid {
                    path: "clouds.yaml".into(),
                    why: "`clouds` must be a map from names to clouds".into(),
                });
            }
        };
        let given = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let mut preferred = given("OS_CLOUD").cloned();
        if let Some(entry) = cloud_of_variables(environment) {
            let name = given("OS_CLOUD_NAME").map_or("envvars", String::as_str);
            if entries.contains_key(name) {
                let why = "the OS_* variables describe a cloud of this name too; set OS_CLOUD_NAME to another name";
                return Err(ConfigError::Cloud {
                    cloud: name.into(),
                    why: why.into(),
                });
            }
            entries.insert(name.into(), entry);
            preferred.get_or_insert_with(|| name.into());
        }
        let mut all = BTreeMap::new();
        for (name, entry) in entries {
            let entry = with_profile(entry, &public);
            all.insert(name.clone(), CloudConfig::read(&name, &entry)?);
        }
        Ok(Clouds {
            clouds: all,
            preferred,
        })
    }
}

fn search_folders(variables: &BTreeMap<String, String>, here: &Path) -> Vec<PathBuf> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let mut folders = vec![here.to_path_buf()];
    folders.extend(set("XDG_CONFIG_HOME").map(|folder| Path::new(folder).join("openstack")));
    folders.extend(set("HOME").map(|home| Path::new(home).join(".config/openstack")));
    let shared = set("XDG_CONFIG_DIRS").map_or("/etc/xdg", String::as_str);
    folders.extend(std::env::split_paths(shared).map(|folder| folder.join("openstack")));
    folders.push("/etc/openstack".into());
    folders
}

fn find_file(folders: &[PathBuf], stem: &str) -> Option<PathBuf> {
    folders
        .iter()
        .flat_map(|folder| {
            ["yaml", "yml", "json"].map(|ending| folder.join(format!("{stem}.{ending}")))
        })
        .find(|path| path.is_file())
}

fn read(path: Option<PathBuf>) -> Result<Value, ConfigError> {
    let Some(path) = path else {
        return Ok(Value::Null);
    };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| ConfigError::Unreadable {
        path: shown.clone(),
        why: error.to_string(),
    })?;
    parse(&text, &shown)
}

fn parse(text: &str, path: &str) -> Result<Value, ConfigError> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let invalid = |why: String| ConfigError::Invalid {
        path: path.into(),
        why,
    };
    // Only the first line: the others quote the file, which contains secrets.
    let options = serde_saphyr::options! { strict_booleans: true };
    let value: Value = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        invalid(
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_string(),
        )
    })?;
    if value.is_object() || value.is_null() {
        Ok(value)
    } else {
        Err(invalid("it must be a map with the key `clouds`".into()))
    }
}

/// Merges `upper` over `lower`, maps key by key. An explicit null removes the lower value.
fn merge(lower: &mut Value, upper: Value) {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => {
            for (key, value) in upper {
                merge(lower.entry(key).or_insert(Value::Null), value);
            }
        }
        (lower, upper) => *lower = upper,
    }
}

/// The entry of a cloud, merged over its profile.
fn with_profile(entry: Value, public: &Value) -> Value {
    let profile = ["profile", "cloud"]
        .iter()
        .find_map(|key| entry.get(*key)?.as_str());
    let base = profile
        .and_then(|name| public.get("public-clouds")?.get(name))
        .cloned();
    match base {
        Some(mut base) => {
            merge_settings(&mut base, entry);
            base
        }
        None => entry,
    }
}

/// The cloud defined by the `OS_*` variables.
fn cloud_of_variables(environment: &BTreeMap<String, String>) -> Option<Value> {
    environment
        .get("OS_AUTH_URL")
        .filter(|url| !url.is_empty())?;
    let entry: Map<String, Value> = environment
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, value)| {
            let name = name.strip_prefix("OS_")?.to_lowercase();
            Some((name, Value::String(value.clone())))
        })
        .collect();
    Some(Value::Object(entry))
}

#[cfg(test)]
mod sdk_comparison;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credentials, Domain, Identifier, LoginMethod, Scope, Service};

    const LAB: &str = "
clouds:
  lab:
    auth:
      auth_url: http://127.0.0.1:9500/identity/v3
      username: demo
      password: 1234
      project_name: demo
      user_domain_name: Users
      project_domain_id: abc
    region_name: lab
    interface: [internal, public]
    network_endpoint_override: http://elsewhere/network
    verify: false
";

    #[test]
    fn a_complete_cloud_is_read() {
        let clouds = Clouds::from_yaml(LAB).unwrap();
        let lab = clouds.get("lab").unwrap();
        assert_eq!(lab.auth_url, "http://127.0.0.1:9500/identity/v3");
        assert_eq!(lab.region.as_deref(), Some("lab"));
        assert_eq!(lab.interfaces, ["internal", "public"]);
        assert_eq!(
            lab.endpoint_overrides[&Service::Network],
            "http://elsewhere/network"
        );
        assert!(!lab.connection.tls.verify);
        assert_eq!(lab.user_domain, Domain::Name("Users".into()));
        assert_eq!(
            lab.scope,
            Some(Scope::Project(Identifier::Name {
                name: "demo".into(),
                domain: Domain::Id("abc".into())
            }))
        );
        let Some(Credentials::Password { user, password, .. }) = &lab.credentials else {
            panic!("a password login");
        };
        assert_eq!(user.as_str(), "demo");
        assert_eq!(password.expose(), "1234");
    }

    #[test]
    fn a_second_factor_beside_the_password() {
        let clouds = Clouds::from_yaml(
            "clouds: {a: {auth_type: v3multifactor, auth_methods: [v3password, v3totp],
               auth: {auth_url: 'http://k/v3', username: u, password: p, passcode: '012345'}}}",
        );
        let clouds = clouds.unwrap();
        let Some(Credentials::Password { passcode, .. }) = &clouds.get("a").unwrap().credentials
        else {
            panic!("a password login");
        };
        assert_eq!(passcode.as_ref().unwrap().expose(), "012345");
    }

    #[test]
    fn secure_file_and_profile_are_merged() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "clouds.yaml",
            "clouds: {a: {profile: big, auth: {username: u}, region_name: two}}",
        );
        write("secure.yaml", "clouds: {a: {auth: {password: p}}}");
        write(
            "clouds-public.yaml",
            "public-clouds: {big: {auth: {auth_url: 'https://big/v3'}, region_name: one, interface: internal}}",
        );
        let clouds = Clouds::from_file(&folder.path().join("clouds.yaml")).unwrap();
        let cloud = clouds.get("a").unwrap();
        assert_eq!(cloud.auth_url, "https://big/v3");
        assert_eq!(cloud.region.as_deref(), Some("two"));
        assert_eq!(cloud.interfaces, ["internal"]);
        assert!(matches!(
            cloud.credentials,
            Some(Credentials::Password { .. })
        ));
    }

    #[test]
    fn environment_variables_define_a_cloud() {
        let variables = [
            ("OS_AUTH_URL", "http://k/v3"),
            ("OS_APPLICATION_CREDENTIAL_ID", "id"),
            ("OS_APPLICATION_CREDENTIAL_SECRET", "s"),
            ("OS_REGION_NAME", "r"),
            ("OS_PASSWORD", ""),
        ]
        .map(|(name, value)| (name.to_string(), value.to_string()));
        let clouds =
            Clouds::assemble(Value::Null, Value::Null, Value::Null, &variables.into()).unwrap();
        let cloud = clouds.get("envvars").unwrap();
        assert_eq!(cloud.region.as_deref(), Some("r"));
        assert_eq!(cloud.login_methods()[0], LoginMethod::ApplicationCredential);
    }

    #[test]
    fn the_cloud_is_chosen_by_name_variable_or_being_the_only_one() {
        let variables = |extra: &[(&str, &str)]| {
            let all = [("OS_AUTH_URL", "http://k/v3")].iter().chain(extra);
            all.map(|(name, value)| (name.to_string(), value.to_string()))
                .collect::<BTreeMap<_, _>>()
        };
        let file = || parse("clouds: {a: {auth: {auth_url: 'http://a/v3'}}}", "x").unwrap();
        let preferred = |environment: &BTreeMap<String, String>| {
            let clouds = Clouds::assemble(file(), Value::Null, Value::Null, environment).unwrap();
            clouds.preferred().map(|cloud| cloud.name.clone())
        };
        assert_eq!(preferred(&BTreeMap::new()).as_deref(), Some("a"));
        assert_eq!(preferred(&variables(&[])).as_deref(), Some("envvars"));
        assert_eq!(
            preferred(&variables(&[("OS_CLOUD", "a")])).as_deref(),
            Some("a")
        );
        let taken = variables(&[("OS_CLOUD_NAME", "a")]);
        let error = Clouds::assemble(file(), Value::Null, Value::Null, &taken).unwrap_err();
        assert!(error.to_string().contains("OS_CLOUD_NAME"), "{error}");
    }

    #[test]
    fn services_and_regions_may_differ_from_the_rest() {
        let clouds = Clouds::from_yaml(
            "
clouds:
  wide:
    auth: {auth_url: 'http://k/v3'}
    interface: publicURL
    volume_interface: internal
    image_region_name: far
    key_manager_endpoint_override: http://keys/
    regions:
      - one
      - name: two
        values: {interface: internal, compute_endpoint_override: 'http://two/nova'}
",
        )
        .unwrap();
        let wide = clouds.get("wide").unwrap();
        assert_eq!(wide.regions, ["one", "two"]);
        assert_eq!(wide.region.as_deref(), Some("one"));
        assert_eq!(wide.interfaces_of(Service::Compute), ["public"]);
        assert_eq!(wide.interfaces_of(Service::BlockStorage), ["internal"]);
        assert_eq!(wide.region_of(Service::Image), Some("far"));
        assert_eq!(
            wide.endpoint_overrides[&Service::KeyManager],
            "http://keys/"
        );
        let two = wide.with_region("two");
        assert_eq!(two.region_of(Service::Network), Some("two"));
        assert_eq!(two.interfaces_of(Service::Network), ["internal"]);
        assert_eq!(two.region_of(Service::Image), Some("far"));
        assert_eq!(two.endpoint_overrides[&Service::Compute], "http://two/nova");
    }

    #[test]
    fn errors_of_clouds_yaml_do_not_quote_it() {
        let error = Clouds::from_yaml("clouds: {a: {auth: {password: hunter2}}}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cloud `a`: `auth: {auth_url: ...}` is missing: the address of Keystone"
        );
        let error = Clouds::from_yaml("clouds: {a: {password: hunter2").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let error = Clouds::from_yaml("clouds: [1]").unwrap_err();
        assert!(error.to_string().contains("must be a map"), "{error}");
        let error = Clouds::from_file(Path::new("/nowhere/clouds.yaml")).unwrap_err();
        assert!(
            error.to_string().contains("/nowhere/clouds.yaml"),
            "{error}"
        );
    }
}
