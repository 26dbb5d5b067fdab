//! Barbican: the cloud's own safe. Names there are not unique, so a name means its newest secret.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Error, Secret, Service, Session, pages};

/// Calls to Barbican.
pub struct KeyManager<'a>(pub(crate) &'a Session);

#[derive(Deserialize)]
struct Listed {
    secret_ref: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    created: String,
}

impl KeyManager<'_> {
    /// Keep what `fields` say, in Barbican's words. Returns the secret's id.
    pub async fn secret_store(&self, fields: &Value) -> Result<String, Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::POST, &["secrets"])
            .json(fields);
        let reference: String = call.fetch("secret_ref").await?;
        Ok(id_of(&reference).to_string())
    }

    /// All about the secret with this id but the secret itself.
    pub async fn secret_about(&self, id: &str) -> Result<Value, Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::GET, &["secrets", id]);
        call.send().await?.json()
    }

    /// Ids of the secrets of that name, newest first.
    pub async fn secret_named(&self, name: &str) -> Result<Vec<String>, Error> {
        self.secret_ids(name).await
    }

    /// Keep `secret` under `name`. An older one of that name stays beside it; see
    /// [`KeyManager::secret_put`]. Returns its id.
    pub async fn secret_create(&self, name: &str, secret: &Secret) -> Result<String, Error> {
        let body = json!({
            "name": name,
            "payload": secret.expose(),
            "payload_content_type": "text/plain",
            "secret_type": "opaque",
        });
        self.secret_store(&body).await
    }

    /// Keep `secret` under `name`, in place of whatever was there. Returns its id.
    pub async fn secret_put(&self, name: &str, secret: &Secret) -> Result<String, Error> {
        let former = self.secret_ids(name).await?;
        // First the new one: a crash in between leaves two of which the newest counts, never none.
        let id = self.secret_create(name, secret).await?;
        for id in former {
            self.secret_delete(&id).await?;
        }
        Ok(id)
    }

    /// What is kept under `name`: the newest.
    pub async fn secret_get(&self, name: &str) -> Result<Option<Secret>, Error> {
        match self.secret_ids(name).await?.first() {
            Some(id) => self.secret_payload(id).await.map(Some),
            None => Ok(None),
        }
    }

    /// The secret with this id.
    pub async fn secret_payload(&self, id: &str) -> Result<Secret, Error> {
        let call = self.0.call(
            Service::KeyManager,
            Method::GET,
            &["secrets", id, "payload"],
        );
        let answer = call.header("accept", "text/plain").send().await?;
        match String::from_utf8(answer.body.clone()) {
            Ok(text) => Ok(Secret::new(text)),
            Err(_) => Err(answer.malformed("the secret is not text".into())),
        }
    }

    /// Forget all secrets of that name. None there is fine.
    pub async fn secret_forget(&self, name: &str) -> Result<(), Error> {
        for id in self.secret_ids(name).await? {
            self.secret_delete(&id).await?;
        }
        Ok(())
    }

    /// Forget the secret with this id. Not there is fine.
    pub async fn secret_delete(&self, id: &str) -> Result<(), Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::DELETE, &["secrets", id]);
        match call.send().await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Ids of all secrets of that name, newest first.
    async fn secret_ids(&self, name: &str) -> Result<Vec<String>, Error> {
        let query = [("name", name), ("limit", "100")];
        let mut listed: Vec<Listed> = pages::list(
            self.0,
            Service::KeyManager,
            &["secrets"],
            "secrets",
            &query,
            None,
        )
        .await?;
        listed.retain(|secret| secret.name.as_deref() == Some(name));
        listed.sort_by(|one, other| other.created.cmp(&one.created));
        Ok(listed
            .iter()
            .map(|secret| id_of(&secret.secret_ref).to_string())
            .collect())
    }
}

/// References are whole addresses; the last segment is the id.
fn id_of(reference: &str) -> &str {
    reference
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_reference() {
        assert_eq!(id_of("http://h:9311/v1/secrets/abc"), "abc");
        assert_eq!(id_of("abc"), "abc");
    }
}
