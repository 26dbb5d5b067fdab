//! Aodh: alarms on measures and events. Records are JSON in both directions.

use reqwest::Method;
use serde_json::Value;

use crate::{Error, Service, Session};

const ALARMS: &str = "alarms";

impl Session {
    /// Aodh.
    pub fn alarming(&self) -> Alarming<'_> {
        Alarming(self)
    }
}

/// Calls to Aodh.
pub struct Alarming<'a>(&'a Session);

impl Alarming<'_> {
    /// Creates an alarm from `fields` of Aodh's API. Returns its record.
    pub async fn create(&self, fields: &Value) -> Result<Value, Error> {
        let call = self.0.call(Service::Alarming, Method::POST, &[ALARMS]);
        call.json(fields).send().await?.json()
    }

    /// All alarms of the project.
    pub async fn list(&self) -> Result<Vec<Value>, Error> {
        let call = self.0.call(Service::Alarming, Method::GET, &[ALARMS]);
        call.send().await?.json()
    }

    /// The record of an alarm.
    pub async fn get(&self, id: &str) -> Result<Value, Error> {
        let call = self.0.call(Service::Alarming, Method::GET, &[ALARMS, id]);
        call.send().await?.json()
    }

    /// Replaces all fields of an alarm.
    pub async fn put(&self, id: &str, fields: &Value) -> Result<(), Error> {
        let call = self.0.call(Service::Alarming, Method::PUT, &[ALARMS, id]);
        call.json(fields).send().await.map(drop)
    }

    /// Deletes an alarm.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        let call = self
            .0
            .call(Service::Alarming, Method::DELETE, &[ALARMS, id]);
        call.send().await.map(drop)
    }
}
