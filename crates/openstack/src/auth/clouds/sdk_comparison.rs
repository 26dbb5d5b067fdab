//! Compares our reading of `clouds.yaml` with that of openstacksdk. `tests/clouds/ask.py` recorded the SDK's results in
//! `tests/clouds/cases.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::Clouds;
use crate::{ApplicationCredential, CloudConfig, Credentials, Domain, Identifier, Scope, Service};

const CASES: &str = include_str!("../../../tests/clouds/cases.json");
const SERVICES: [(&str, Service); 5] = [
    ("compute", Service::Compute),
    ("network", Service::Network),
    ("image", Service::Image),
    ("block-storage", Service::BlockStorage),
    ("key-manager", Service::KeyManager),
];

#[test]
fn files_and_variables_are_read_as_by_the_python_sdk() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let recorded = &case["told"];
        let clouds = match load(case) {
            Ok(clouds) => clouds,
            Err(why) => {
                wrong.push(format!("{name}: {why}"));
                continue;
            }
        };
        let preferred = clouds.preferred().map(|cloud| cloud.name.clone());
        let ours: BTreeMap<&str, Value> = clouds
            .iter()
            .map(|cloud| (cloud.name.as_str(), shown(cloud)))
            .collect();
        let ours = json!({"preferred": preferred, "clouds": ours});
        let theirs: BTreeMap<&String, Value> = recorded["clouds"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, one)| (name, normalized(one)))
            .collect();
        let theirs = json!({"preferred": recorded["preferred"], "clouds": theirs});
        if ours != theirs {
            wrong.push(format!("{name}:\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(cases.len() > 40);
}

/// Writes the files of the case to a temporary folder and reads them.
fn load(case: &Value) -> Result<Clouds, crate::ConfigError> {
    let root = tempfile::tempdir().unwrap();
    let here = root.path().join("here");
    let texts = |key: &str| -> BTreeMap<String, String> {
        serde_json::from_value(case.get(key).cloned().unwrap_or(json!({}))).unwrap()
    };
    for (name, text) in texts("files") {
        let elsewhere = ["config/", "home/", "site/"]
            .iter()
            .any(|place| name.starts_with(place));
        let folder = if elsewhere {
            root.path()
        } else {
            here.as_path()
        };
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let place = |name: &str| root.path().join(name).display().to_string();
    let mut variables = texts("env");
    variables.insert("XDG_CONFIG_HOME".into(), place("config"));
    variables.insert("HOME".into(), place("home"));
    variables.insert("XDG_CONFIG_DIRS".into(), place("site"));
    Clouds::from_surroundings(&variables, Path::new(&here))
}

fn shown(cloud: &CloudConfig) -> Value {
    let path =
        |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let of = |look: &dyn Fn(Service) -> Value| -> BTreeMap<&str, Value> {
        SERVICES
            .iter()
            .map(|(name, service)| (*name, look(*service)))
            .collect()
    };
    json!({
        "auth": auth(cloud), "region": cloud.region, "regions": cloud.regions,
        "verify": cloud.connection.tls.verify, "cacert": path(&cloud.connection.tls.ca_file).filter(|_| cloud.connection.tls.verify),
        "cert": path(&cloud.connection.tls.certificate), "key": path(&cloud.connection.tls.key),
        "interfaces": of(&|service| json!(cloud.interfaces_of(service))),
        "endpoints": of(&|service| json!(cloud.endpoint_overrides.get(&service))),
        "service_regions": of(&|service| json!(cloud.region_of(service))),
    })
}

/// The login as flat fields of the SDK.
fn auth(cloud: &CloudConfig) -> Value {
    let mut fields = BTreeMap::from([("auth_url", cloud.auth_url.clone())]);
    let mut name = |what: [&'static str; 4], one: &Identifier| match one {
        Identifier::Id(id) => drop(fields.insert(what[0], id.clone())),
        Identifier::Name { name, domain } => {
            fields.insert(what[1], name.clone());
            match domain {
                Domain::Id(id) => drop(fields.insert(what[2], id.clone())),
                // The default domain, which the SDK leaves out.
                Domain::Name(name) if name == "Default" => {}
                Domain::Name(name) => drop(fields.insert(what[3], name.clone())),
            }
        }
    };
    if let Some(Scope::Project(project)) = &cloud.scope {
        name(
            [
                "project_id",
                "project_name",
                "project_domain_id",
                "project_domain_name",
            ],
            project,
        );
    }
    match cloud.credentials.as_ref() {
        Some(Credentials::Password { user, password, .. }) => {
            name(
                ["user_id", "username", "user_domain_id", "user_domain_name"],
                user,
            );
            fields.insert("password", password.expose().into());
        }
        Some(Credentials::ApplicationCredential {
            credential: ApplicationCredential::Id(id),
            secret,
        }) => {
            fields.insert("application_credential_id", id.clone());
            fields.insert("application_credential_secret", secret.expose().into());
        }
        Some(Credentials::Token { token }) => drop(fields.insert("token", token.expose().into())),
        _ => {}
    }
    json!(fields)
}

/// The SDK's result, converted to our format.
fn normalized(one: &Value) -> Value {
    let mut auth = one["auth"].clone();
    // The domain is irrelevant for a project given by id.
    if auth.get("project_id").is_some() {
        auth.as_object_mut().unwrap().remove("project_domain_id");
    }
    let home = |path: &str| match path.strip_prefix("~/") {
        Some(rest) => format!("{}/{rest}", std::env::var("HOME").unwrap_or_default()),
        None => path.to_owned(),
    };
    let (cert, key) = match &one["cert"] {
        Value::Array(both) => (both[0].clone(), both[1].clone()),
        other => (other.clone(), Value::Null),
    };
    let of = |key: &str, make: &dyn Fn(&Value) -> Value| -> BTreeMap<&str, Value> {
        SERVICES
            .iter()
            .map(|(name, _)| (*name, make(&one[key][*name])))
            .collect()
    };
    json!({
        "auth": auth, "region": one["region"], "regions": one["regions"],
        "verify": one["verify"] != json!(false),
        "cacert": one["verify"].as_str().map(home),
        "cert": cert, "key": key,
        "interfaces": of("interfaces", &|found| match found {
            Value::Array(_) => found.clone(),
            one => json!([one]),
        }),
        "endpoints": of("endpoints", &Value::clone),
        "service_regions": of("service_regions", &Value::clone),
    })
}
