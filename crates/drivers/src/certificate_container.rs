//! `OS::Barbican::CertificateContainer`: a certificate with its private key and intermediates.

use super::container::{Container, ContainerDriver, by_property};
use super::key_manager::KeyManagerDriver;

pub(super) static CERTIFICATE_CONTAINER: ContainerDriver = KeyManagerDriver(Container {
    kind: "certificate",
    secrets: |properties| {
        let names = [
            "certificate",
            "private_key",
            "private_key_passphrase",
            "intermediates",
        ];
        by_property(properties, &names)
    },
});
