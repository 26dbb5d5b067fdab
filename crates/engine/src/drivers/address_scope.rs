//! `OS::Neutron::AddressScope`: a space in which the addresses of subnet pools do not overlap.
//!
//! Neutron keeps a name of it and no description, and names are not unique: so it is made with the mark as its name, and gets
//! the one that people shall see once the journal has its id. Source: Networking API v2.0, "Address scopes".

use async_trait::async_trait;
use openstack::network::{AddressScope as Thing, Entity as _};
use serde_json::{Map, Value, json};

use super::mark;
use super::mark::Texts;
use super::neutron::{self, done_if_gone};
use super::properties::Properties;
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Progress, Search, may_be_there,
};

pub(super) struct AddressScope;

#[async_trait]
impl Driver for AddressScope {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        if may_be_there()
            && let Some(id) = find(context).await?
        {
            return Ok(id);
        }
        let properties = Properties::of(context.properties);
        let mut body = changeable(context, &[])?;
        body.insert("name".into(), mark::store_name(context.marker).into());
        let version = properties.integer("ip_version")?.unwrap_or(4);
        body.insert("ip_version".into(), version.into());
        properties.copy(&["tenant_id"], &mut body);
        let network = context.session.network();
        let made: Thing = network.create(&Value::Object(body)).await?;
        context.session.watcher().told(&made);
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let watcher = context.session.watcher();
        let Some(mut scope) = watcher.network::<Thing>(physical_id).await? else {
            return Ok(Progress::Failed(format!("the {} is gone", Thing::TITLE)));
        };
        if scope.name.as_deref() == Some(mark::store_name(context.marker).as_str()) {
            let name = mark::physical_name(context.marker, context.properties);
            let network = context.session.network();
            scope = network
                .update(physical_id, &json!({ "name": name }))
                .await?;
        }
        Ok(neutron::judge(&scope))
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        self.change(context, physical_id, &[]).await
    }

    async fn change(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        changed: &[String],
    ) -> Result<(), DriverError> {
        let fields = Value::Object(changeable(context, changed)?);
        let network = context.session.network();
        network.update::<Thing>(physical_id, &fields).await?;
        Ok(())
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => Some(id.to_owned()),
            None => find(context).await?,
        };
        match id {
            Some(id) => done_if_gone(context.session.network().delete::<Thing>(&id).await),
            None => Ok(()),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<Thing>(context, physical_id).await
    }
}

#[async_trait]
impl ListMarked for AddressScope {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = Texts::of(search, mark::store_name);
        let all: Vec<Thing> = search.session.network().list(&[]).await?;
        let marked = all.into_iter().filter_map(|scope| {
            let resource = marks.equal(scope.name.as_deref()?)?;
            Some(Marked::named(resource, scope.id, scope.name))
        });
        Ok(marked.collect())
    }
}

/// What has the mark as its name still: nobody has known of it since it was made.
async fn find(context: &Context<'_>) -> Result<Option<String>, DriverError> {
    let name = mark::store_name(context.marker);
    let query = [("name", name.as_str())];
    let found: Vec<Thing> = context.session.network().list(&query).await?;
    let ours = found
        .into_iter()
        .find(|scope| scope.name.as_deref() == Some(name.as_str()));
    Ok(ours.map(|scope| scope.id))
}

fn changeable(
    context: &Context<'_>,
    changed: &[String],
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(context.properties);
    let name = mark::physical_name(context.marker, context.properties);
    let mut body = Map::from_iter([("name".to_owned(), name.into())]);
    properties.copy_booleans(&["shared"], &mut body)?;
    // What is so anyway is not said: administrators alone may say it. What was shared cannot be taken back, as Neutron then says.
    let says = |name: &String| changed.contains(name);
    body.retain(|name, value| says(name) || value != &Value::Bool(false));
    Ok(body)
}
