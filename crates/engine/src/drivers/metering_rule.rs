//! `OS::Neutron::MeteringRule`: which traffic a metering label counts. For administrators.
//!
//! Neutron keeps neither name nor description of it. Source: Networking API v2.0, "Metering label rules".

use std::net::IpAddr;

use async_trait::async_trait;
use openstack::network::{MeteringLabel, MeteringRule as Thing};
use serde_json::{Map, Value};

use super::properties::Properties;
use super::told::Says;
use crate::driver::{Context, DriverError};

pub(super) struct MeteringRule;

#[async_trait]
impl Says for MeteringRule {
    type Thing = Thing;
    const KNOWN_BY: &'static [&'static str] = &[
        "metering_label_id",
        "remote_ip_prefix",
        "direction",
        "excluded",
    ];

    async fn fields(&self, context: &Context<'_>) -> Result<Map<String, Value>, DriverError> {
        let properties = Properties::of(context.properties);
        let label = properties.required("metering_label_id")?;
        let label = properties
            .id_named::<MeteringLabel>(context.session, "metering_label_id", &label)
            .await?;
        let range = properties.required("remote_ip_prefix")?;
        let direction = properties.filled("direction")?;
        Ok(Map::from_iter([
            ("metering_label_id".to_owned(), label.into()),
            ("remote_ip_prefix".to_owned(), spelt(&range).into()),
            (
                "direction".to_owned(),
                direction.unwrap_or_else(|| "ingress".into()).into(),
            ),
            (
                "excluded".to_owned(),
                properties.boolean("excluded")?.unwrap_or(false).into(),
            ),
        ]))
    }
}

/// A range as Neutron spells it, who has one spelling for an address of IPv6.
fn spelt(range: &str) -> String {
    match range.split_once('/') {
        Some((address, length)) => match address.parse::<IpAddr>() {
            Ok(address) => format!("{address}/{length}"),
            Err(_) => range.to_owned(),
        },
        None => range.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_a_range() {
        assert_eq!(spelt("10.0.0.0/8"), "10.0.0.0/8");
        assert_eq!(spelt("FD00:0:0::/64"), "fd00::/64");
        for refused in ["odd", "10.0.0.0 /8"] {
            assert_eq!(spelt(refused), refused);
        }
    }
}
