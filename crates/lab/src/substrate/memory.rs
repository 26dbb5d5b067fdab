//! The memory backend: servers are ACTIVE after a set time. For tests that need nothing inside servers, and for scale
//! tests.

use std::net::TcpListener;
use std::time::Duration;

use async_trait::async_trait;

use crate::substrate::{Close, Power, ServerSpec, Substrate, SubstrateError, VolumeSpec};
use crate::wiring::{BalancerWiring, Wiring};

/// The duration of operations.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemorySubstrate {
    /// Time from creation to ACTIVE.
    pub active_after: Duration,
    /// Time from deletion to removal, and of each power action and volume change.
    pub gone_after: Duration,
}

#[async_trait]
impl Substrate for MemorySubstrate {
    async fn open(&self) -> Result<(), SubstrateError> {
        Ok(())
    }

    async fn server_start(&self, _: &ServerSpec) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.active_after).await;
        Ok(())
    }

    async fn server_power(&self, _: &ServerSpec, _: Power) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn server_resize(&self, _: &ServerSpec) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn server_update_interfaces(&self, _: &ServerSpec) -> Result<(), SubstrateError> {
        Ok(())
    }

    async fn server_remove(&self, _: &str) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn servers_dead(&self, _: &[String]) -> Result<Vec<String>, SubstrateError> {
        Ok(Vec::new())
    }

    async fn image_create(&self, _: &str, _: &str) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn image_remove(&self, _: &str) -> Result<(), SubstrateError> {
        Ok(())
    }

    async fn console(&self, id: &str) -> Result<String, SubstrateError> {
        Ok(format!(
            "[    0.000000] server {id} exists in memory only\n"
        ))
    }

    async fn volume_create(&self, _: &VolumeSpec) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn volume_remove(&self, _: &str) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn volume_copy(&self, _: &str, _: &str) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn volume_plug(&self, _: &str, _: &str, _: &str) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn volume_unplug(&self, _: &str, _: &str, _: &str) -> Result<(), SubstrateError> {
        tokio::time::sleep(self.gone_after).await;
        Ok(())
    }

    async fn metadata_listener(&self, _: &str) -> Result<Option<TcpListener>, SubstrateError> {
        Ok(None)
    }

    fn simulated_delay(&self) -> Duration {
        self.gone_after
    }

    fn has_wiring(&self) -> bool {
        false
    }

    async fn wiring_lost(&self) -> bool {
        false
    }

    async fn balancer_is_running(&self, _: &str, _: Option<&BalancerWiring>) -> bool {
        true
    }

    async fn wire(&self, _: &Wiring) -> Result<(), SubstrateError> {
        Ok(())
    }

    async fn close(&self, _: Close) -> Result<(), SubstrateError> {
        Ok(())
    }
}
