//! `OS::Neutron::MeteringRule`: normalization of address ranges. Source: Networking API v2.0, "Metering label rules".

use std::net::IpAddr;

use async_trait::async_trait;
use openstack::collection::Record;
use serde_json::Value;

use super::described::{Hooks, Occasion};
use crate::driver::{Context, DriverError};

pub(super) struct MeteringRule;

#[async_trait]
impl Hooks for MeteringRule {
    async fn complete(
        &self,
        _context: &Context<'_>,
        body: &mut Record,
        _occasion: Occasion,
    ) -> Result<(), DriverError> {
        if let Some(Value::String(range)) = body.get_mut("remote_ip_prefix") {
            *range = normal(range);
        }
        Ok(())
    }
}

/// A range in Neutron's format, with the normalized form of an IPv6 address.
fn normal(range: &str) -> String {
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
        assert_eq!(normal("10.0.0.0/8"), "10.0.0.0/8");
        assert_eq!(normal("FD00:0:0::/64"), "fd00::/64");
        for refused in ["odd", "10.0.0.0 /8"] {
            assert_eq!(normal(refused), refused);
        }
    }
}
