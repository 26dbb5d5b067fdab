//! Barbican: storage of secrets. Names are not unique, so a name refers to its newest secret.
//!
//! Secrets, containers of secrets and orders for secrets have the same API; [`Kind`] contains their names.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{Error, Secret, Service, Session};

impl Session {
    /// Barbican.
    pub fn key_manager(&self) -> KeyManager<'_> {
        KeyManager(self)
    }
}

/// Calls to Barbican.
pub struct KeyManager<'a>(pub(crate) &'a Session);

/// Resource type of Barbican.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A secret: a password, key or certificate.
    Secret,
    /// A group of secrets, each with a name.
    Container,
    /// A request to generate a secret.
    Order,
}

impl Kind {
    /// Name of the collection, in paths and bodies.
    fn many(self) -> &'static str {
        match self {
            Kind::Secret => "secrets",
            Kind::Container => "containers",
            Kind::Order => "orders",
        }
    }

    /// Field of bodies with the URL of a resource.
    pub fn reference(self) -> &'static str {
        match self {
            Kind::Secret => "secret_ref",
            Kind::Container => "container_ref",
            Kind::Order => "order_ref",
        }
    }

    /// JSON pointer to the name. The name of an order is that of the secret that it generates.
    fn name(self) -> &'static str {
        match self {
            Kind::Order => "/meta/name",
            Kind::Secret | Kind::Container => "/name",
        }
    }
}

impl KeyManager<'_> {
    /// Creates a resource from `fields` of Barbican's API. Returns its id.
    pub async fn store(&self, kind: Kind, fields: &Value) -> Result<String, Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::POST, &[kind.many()])
            .json(fields);
        let reference: String = call.fetch(kind.reference()).await?;
        Ok(id_of(&reference).to_string())
    }

    /// Metadata of the resource with this id, without the secret payload.
    pub async fn metadata(&self, kind: Kind, id: &str) -> Result<Value, Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::GET, &[kind.many(), id]);
        call.send().await?.json()
    }

    /// Ids of all resources with this name, newest first.
    pub async fn ids_by_name(&self, kind: Kind, name: &str) -> Result<Vec<String>, Error> {
        // Orders have no filter by name.
        let query = [("name", name), ("limit", "100")];
        let query = match kind {
            Kind::Order => &query[1..],
            Kind::Secret | Kind::Container => &query,
        };
        let mut listed = self.listed(kind, query).await?;
        listed.retain(|one| one.pointer(kind.name()).and_then(Value::as_str) == Some(name));
        let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
        listed.sort_by_key(|one| std::cmp::Reverse(text(one, "created")));
        let references = listed.iter().map(|one| text(one, kind.reference()));
        Ok(references
            .map(|reference| id_of(&reference).to_owned())
            .collect())
    }

    /// Ids of all of the project's resources of a kind.
    pub async fn ids(&self, kind: Kind) -> Result<Vec<String>, Error> {
        let listed = self.listed(kind, &[("limit", "100")]).await?;
        let references = listed
            .iter()
            .filter_map(|one| one[kind.reference()].as_str());
        Ok(references
            .map(|reference| id_of(reference).to_owned())
            .collect())
    }

    /// Ids and names of all resources of a kind that have a name.
    pub async fn names(&self, kind: Kind) -> Result<Vec<(String, String)>, Error> {
        let listed = self.listed(kind, &[("limit", "100")]).await?;
        let named = listed.iter().filter_map(|one| {
            let reference = one[kind.reference()].as_str()?;
            let name = one.pointer(kind.name())?.as_str()?;
            Some((id_of(reference).to_owned(), name.to_owned()))
        });
        Ok(named.collect())
    }

    async fn listed(&self, kind: Kind, query: &[(&str, &str)]) -> Result<Vec<Value>, Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::GET, &[kind.many()]);
        call.query(query.iter().copied()).list(kind.many()).await
    }

    /// Deletes the resource with this id. Succeeds if it is missing.
    pub async fn remove(&self, kind: Kind, id: &str) -> Result<(), Error> {
        let call = self
            .0
            .call(Service::KeyManager, Method::DELETE, &[kind.many(), id]);
        match call.send().await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Stores `secret` under `name`, beside older secrets with this name; see [`KeyManager::secret_put`]. Returns its
    /// id.
    pub async fn secret_create(&self, name: &str, secret: &Secret) -> Result<String, Error> {
        let body = json!({
            "name": name,
            "payload": secret.expose(),
            "payload_content_type": "text/plain",
            "secret_type": "opaque",
        });
        self.store(Kind::Secret, &body).await
    }

    /// Stores `secret` under `name` and deletes all older secrets with this name. Returns its id.
    pub async fn secret_put(&self, name: &str, secret: &Secret) -> Result<String, Error> {
        let former = self.ids_by_name(Kind::Secret, name).await?;
        // The new secret is stored first: after a crash in between, two exist, and the newest counts.
        let id = self.secret_create(name, secret).await?;
        for id in former {
            self.remove(Kind::Secret, &id).await?;
        }
        Ok(id)
    }

    /// The newest secret with this name. `None` without one.
    pub async fn secret_get(&self, name: &str) -> Result<Option<Secret>, Error> {
        match self.ids_by_name(Kind::Secret, name).await?.first() {
            Some(id) => self.secret_payload(id).await.map(Some),
            None => Ok(None),
        }
    }

    /// The payload of the secret with this id.
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

    /// Deletes all secrets with this name. Succeeds without any.
    pub async fn secret_forget(&self, name: &str) -> Result<(), Error> {
        for id in self.ids_by_name(Kind::Secret, name).await? {
            self.remove(Kind::Secret, &id).await?;
        }
        Ok(())
    }
}

/// The id in a reference. References are URLs; the last path segment is the id.
pub fn id_of(reference: &str) -> &str {
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
