//! Neutron's things whose life is the same: made with fields, changed with fields, removed.
//!
//! A type of this kind says its fields and nothing else; [`Plain`] makes a driver of it.

use async_trait::async_trait;
use openstack::network::Entity;
use serde_json::{Map, Value};

use super::neutron;
use super::properties::Properties;
use crate::driver::{
    Context, Driver, DriverError, Duplicates, ListMarked, Marked, Progress, Ready, Search,
};

/// What a type says of itself.
#[async_trait]
pub(super) trait Fields: Send + Sync {
    /// Its kind in the network service.
    type Thing: Entity + Sync + 'static;
    /// Fields that are said only when it is made.
    const FIXED: &'static [&'static str];

    /// Properties, with their fields, that the cloud refuses to be told again: they are said when they change, and no more.
    const ONCE: &'static [(&'static str, &'static str)] = &[];

    /// Attributes that take requests of their own.
    const ON_DEMAND: &'static [&'static str] = &[];

    /// Values of [`Fields::ON_DEMAND`].
    async fn read(
        &self,
        _context: &Context<'_>,
        _id: &str,
    ) -> Result<Map<String, Value>, DriverError> {
        Ok(Map::new())
    }

    /// The body, without the description.
    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError>;

    /// What else must be changed on an update, once the fields are.
    async fn settle(
        &self,
        _context: &Context<'_>,
        _thing: &Self::Thing,
    ) -> Result<(), DriverError> {
        Ok(())
    }

    /// Lets go of what another thing of the deployment is about to take, whose properties these are.
    async fn give_up(
        &self,
        _context: &Context<'_>,
        _id: &str,
        _taker: &Map<String, Value>,
    ) -> Result<(), DriverError> {
        Ok(())
    }
}

/// The driver of such a type.
pub(super) struct Plain<T>(pub(super) T);

#[async_trait]
impl<T: Fields> Driver for Plain<T> {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let own = Properties::of(context.properties).text("description")?;
        if let Some(found) = neutron::find::<T::Thing>(context, own.as_deref()).await? {
            return Ok(found.id().to_string());
        }
        let fields = self.0.fields(context).await?;
        let made: T::Thing = neutron::make(context, own.as_deref(), fields).await?;
        Ok(made.id().to_string())
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        neutron::progress::<T::Thing>(context, physical_id).await
    }

    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        neutron::attributes::<T::Thing>(context, physical_id).await
    }

    fn on_demand(&self) -> &'static [&'static str] {
        T::ON_DEMAND
    }

    async fn read(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        _names: &[&str],
    ) -> Result<Map<String, Value>, DriverError> {
        self.0.read(context, physical_id).await
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
        let own = Properties::of(context.properties).text("description")?;
        let mut fields = self.0.fields(context).await?;
        for (property, field) in T::ONCE {
            if !changed.iter().any(|one| one == property) {
                fields.remove(*field);
            }
        }
        let own = own.as_deref();
        let thing: T::Thing = neutron::update(context, physical_id, own, fields, T::FIXED).await?;
        self.0.settle(context, &thing).await
    }

    async fn give_up(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        taker: &Map<String, Value>,
    ) -> Result<Progress, DriverError> {
        self.0.give_up(context, physical_id, taker).await?;
        Ok(Progress::Ready(Ready::default()))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        neutron::delete::<T::Thing>(context, physical_id).await
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        neutron::is_gone::<T::Thing>(context, physical_id).await
    }
}

#[async_trait]
impl<T: Fields> ListMarked for Plain<T> {
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        neutron::list_marked::<T::Thing>(search).await
    }
}
