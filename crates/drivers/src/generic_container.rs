//! `OS::Barbican::GenericContainer`: a group of secrets with names from the template.

use serde_json::{Value, json};

use super::container::{Container, ContainerDriver};
use super::key_manager::KeyManagerDriver;
use super::properties::Properties;
use crate::driver::DriverError;

pub(super) static GENERIC_CONTAINER: ContainerDriver = KeyManagerDriver(Container {
    kind: "generic",
    secrets,
});

fn secrets(properties: Properties<'_>) -> Result<Vec<Value>, DriverError> {
    let mut secrets = Vec::new();
    for (index, secret) in properties.list("secrets").iter().enumerate() {
        let prefix = format!("secrets.{index}.");
        let inside = Properties::within(secret, &prefix)?;
        let (name, reference) = (inside.required("name")?, inside.required("ref")?);
        secrets.push(json!({"name": name, "secret_ref": reference}));
    }
    Ok(secrets)
}
