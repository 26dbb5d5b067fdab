//! Compares attributes with those of the real Heat: one template, deployed by Heat and by the engine, with an output
//! for each attribute of each resource.
//!
//! Ids, names, times and addresses differ between the two, so the test compares shapes: types of values, keys of maps,
//! items of lists. If Heat returns an error or null, any value of the engine is accepted.

use std::collections::BTreeMap;
use std::time::Duration;

use hot::document::Document;
use openstack::Service;
use serde_json::{Value, json};
use types::Registry;

use super::{assert_succeeded, parameters};
use crate::heat::{Content, Stack};
use crate::place::{Place, real_cloud};

const TEMPLATE: &str = include_str!("attributes.yaml");
const NAME: &str = "contract-attributes";
const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8dC0kVqFsbtVlKPLrmMJAFlvtg0OrtTPDpaMLf5hrQ contract";

/// Attributes that differ on purpose.
const ON_PURPOSE: [(&str, &str); 6] = [
    // Heat returns the printed form of its client's object, with labels for keys.
    ("OS::Barbican::Secret", "show"),
    ("OS::Barbican::GenericContainer", "show"),
    // Heat stores software configurations as objects of their own.
    ("OS::Heat::SoftwareConfig", "show"),
    ("OS::Heat::CloudConfig", "show"),
    ("OS::Heat::MultipartMime", "show"),
    ("OS::Heat::StructuredConfig", "show"),
];

/// Fields of `show` that need newer microversions than the engine's.
const OF_LATER_VERSIONS: [(&str, &str); 6] = [
    ("OS::Nova::Server", "locked_reason"),
    ("OS::Nova::Server", "trusted_image_certificates"),
    ("OS::Nova::Server", "OS-EXT-SRV-ATTR:hostname"),
    ("OS::Nova::Server", "server_groups"),
    ("OS::Nova::ServerGroup", "policy"),
    ("OS::Nova::ServerGroup", "rules"),
];

/// The template with an output for each attribute, and the types of the resources.
fn with_outputs() -> (String, BTreeMap<String, String>) {
    let registry = Registry::openstack();
    let document = Document::parse(TEMPLATE);
    let mut text = format!("{}\noutputs:\n", TEMPLATE.trim_end());
    let mut types = BTreeMap::new();
    for resource in &document.template().resources {
        let (name, kind) = (&resource.name, &resource.resource_type);
        types.insert(name.clone(), kind.clone());
        for attribute in &registry.get(kind).unwrap().attributes {
            // Heat does not have the host key that we generate for servers.
            if attribute.name != "host_key" {
                let attribute = &attribute.name;
                text += &format!(
                    "  {name}.{attribute}: {{value: {{get_attr: [{name}, {attribute}]}}}}\n"
                );
            }
        }
    }
    (text, types)
}

/// Differences: parts of Heat's value that are missing in ours, or have another type.
fn differences(place: &str, heats: &Value, ours: &Value, found: &mut Vec<String>) {
    match (heats, ours) {
        // Heat returns a list of one number because of a stray comma.
        (Value::Array(_), Value::Number(_)) if place.ends_with(".version") => {}
        (Value::Object(heats), Value::Object(ours)) => {
            for (key, value) in heats {
                match ours.get(key) {
                    Some(ours) => differences(&format!("{place}.{key}"), value, ours, found),
                    None if is_name(key) && ours.len() == heats.len() => {}
                    None => found.push(format!("{place} has no `{key}`")),
                }
            }
        }
        (Value::Array(heats), Value::Array(ours)) => {
            // The engine reads after the creation of all resources, and Heat stores some attributes before that.
            if ours.is_empty() && !heats.is_empty() {
                found.push(format!("{place} is empty, and with Heat {heats:?}"));
            }
            // Services list in any order: each of Heat's items needs a matching one of ours.
            for (index, heats) in heats.iter().enumerate().filter(|_| !ours.is_empty()) {
                let compared = ours.iter().map(|ours| {
                    let mut found = Vec::new();
                    differences(&format!("{place}[{index}]"), heats, ours, &mut found);
                    found
                });
                found.extend(compared.min_by_key(Vec::len).unwrap_or_default());
            }
        }
        (Value::Null, _) => {}
        (heats, ours) if kind(heats) != kind(ours) => {
            found.push(format!("{place} is {ours}, and with Heat {heats}"));
        }
        _ => {}
    }
}

/// True for keys of maps that are ids. Ids differ between the two sides.
fn is_name(key: &str) -> bool {
    openstack::looks_like_id(key)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_are_those_of_heat() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart_with(&clouds, &name, NAME, |config| {
        // The test needs each attribute, even from a slow cloud.
        config.read_patience = Duration::from_secs(300);
    })
    .await;
    let session = &place.actor.session;
    let wanted = [
        Service::Orchestration,
        Service::LoadBalancer,
        Service::KeyManager,
    ];
    if !wanted.iter().all(|service| session.has_service(*service)) {
        eprintln!("skipped: it takes Heat, Octavia and Barbican");
        return place.close().await;
    }
    let (template, types) = with_outputs();
    let mut given = parameters(&place).await;
    given.insert("public_key".into(), json!(PUBLIC_KEY));
    let content = Content {
        template: template.clone(),
        files: BTreeMap::new(),
        environments: BTreeMap::new(),
        parameters: given.clone(),
    };
    let stack = Stack::create(session, NAME, &content).await.unwrap();
    let heats = stack.outputs().await.unwrap();
    stack.delete().await.unwrap();

    let started = place.deploy(NAME, &template, given).await;
    assert_succeeded(&place.end_of(&started.run, |_| {}).await);
    let shown = place
        .engine
        .deployment_now(&place.actor, &started.deployment)
        .await;
    let ours = shown.unwrap().outputs;
    let ended = place.undeploy(&started.deployment).await;
    assert_succeeded(&place.end_of(&ended.run, |_| {}).await);

    eprintln!("{} attributes compared", heats.len());
    let mut found = Vec::new();
    for (output, mut heats) in heats {
        let (resource, attribute) = output.split_once('.').unwrap();
        if let (Value::Object(fields), "show") = (&mut heats, attribute) {
            fields.retain(|field, _| !OF_LATER_VERSIONS.contains(&(&types[resource], field)));
        }
        if ON_PURPOSE.contains(&(&types[resource], attribute)) {
            continue;
        }
        match &ours[&output].value {
            Some(value) => differences(&output, &heats, value, &mut found),
            // If Heat returns null, there is nothing to compare.
            None if heats.is_null() => {}
            None => found.push(format!("{output}: {:?}", ours[&output].error)),
        }
    }
    assert_eq!(found, Vec::<String>::new());
    place.close().await;
}
