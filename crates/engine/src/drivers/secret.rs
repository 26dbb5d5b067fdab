//! `OS::Barbican::Secret`: something that nobody shall read by chance, kept in the key manager.
//!
//! Barbican keeps a name of it and nothing else that could carry a mark, and names are not unique: so the
//! mark is the name, with the one that the template gives in front of it. Nothing of a secret can be changed. What is in it is no attribute of ours
//! (Heat's `decrypted_payload`): attributes are stored in clear.
//! Source: Key Manager API v1, "Secrets".

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::mark;
use super::properties::Properties;
use crate::driver::{Context, Driver, DriverError, Progress, Ready, may_be_there};

pub(super) struct Secret;

#[async_trait]
impl Driver for Secret {
    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let name = name(context)?;
        let fields = body(&name, context.properties)?;
        let keys = context.session.key_manager();
        if may_be_there()
            && let Some(found) = keys.secret_named(&name).await?.into_iter().next()
        {
            return Ok(found);
        }
        Ok(keys.secret_store(&Value::Object(fields)).await?)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let keys = context.session.key_manager();
        let about = match keys.secret_about(physical_id).await {
            Ok(about) => about,
            Err(error) if error.is_not_found() => {
                return Ok(Progress::Failed("the secret is gone".into()));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(match about["status"].as_str() {
            Some("ERROR") => Progress::Failed(format!(
                "the key manager gave up on the secret: {}",
                about["error_reason"].as_str().unwrap_or("no reason given")
            )),
            Some("PENDING") => Progress::Pending("the secret is in state PENDING".into()),
            _ => {
                let mut attributes = Map::new();
                attributes.insert("status".into(), about["status"].clone());
                let reference = about["secret_ref"].clone();
                attributes.insert("show".into(), about);
                Progress::Ready(Ready {
                    reference,
                    attributes,
                })
            }
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let keys = context.session.key_manager();
        match physical_id {
            Some(id) => keys.secret_delete(id).await?,
            None => keys.secret_forget(&name(context)?).await?,
        }
        Ok(())
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        match context
            .session
            .key_manager()
            .secret_about(physical_id)
            .await
        {
            Ok(_) => Ok(false),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

fn name(context: &Context<'_>) -> Result<String, DriverError> {
    let given = Properties::of(context.properties).filled("name")?;
    Ok(mark::name_with_mark(context.marker, given.as_deref()))
}

fn body(name: &str, map: &Map<String, Value>) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), name.into());
    properties.copy(
        &[
            "payload",
            "payload_content_encoding",
            "mode",
            "expiration",
            "algorithm",
            "secret_type",
        ],
        &mut body,
    );
    if let Some(bits) = properties.integer("bit_length")? {
        body.insert("bit_length".into(), bits.into());
    }
    // Barbican wants a form with what is in it, and none without.
    if body.contains_key("payload") {
        let form = properties.filled("payload_content_type")?;
        let form = form.unwrap_or_else(|| "text/plain".into());
        body.insert("payload_content_type".into(), form.into());
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_of_a_secret() {
        let check = |properties: Value, expected: Value| {
            let body = body("ours", properties.as_object().unwrap()).unwrap();
            assert_eq!(Value::Object(body), expected);
        };
        check(
            json!({"payload": "x", "bit_length": "256"}),
            json!({"name": "ours", "payload": "x", "bit_length": 256, "payload_content_type": "text/plain"}),
        );
        check(
            json!({"name": "mine", "payload_content_type": "text/plain"}),
            json!({"name": "ours"}),
        );
    }
}
