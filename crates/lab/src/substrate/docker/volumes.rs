//! Volumes of servers: the loop device of a disk, and its node in the server's `/dev`.

use crate::substrate::SubstrateError;
use crate::substrate::docker::{DockerSubstrate, nodes};

impl DockerSubstrate {
    /// Attaches a volume's device to a server. A stopped server gets it at its next boot.
    pub(super) async fn plug_volume(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError> {
        let minor = self.disks.minor(volume).await?;
        match self.process_of(server) {
            Some(pid) => nodes::make(&self.containers.name("server", server), pid, device, minor),
            None => Ok(()),
        }
    }

    /// Detaches the device, and releases the loop device.
    pub(super) async fn unplug_volume(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError> {
        if let Some(pid) = self.process_of(server) {
            nodes::remove(&self.containers.name("server", server), pid, device)?;
        }
        self.disks.release(volume).await
    }
}
