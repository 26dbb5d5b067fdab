//! `OS::Barbican::RSAContainer`: the private and public key of an RSA key pair.

use super::container::{Container, ContainerDriver, by_property};
use super::key_manager::KeyManagerDriver;

pub(super) static RSA_CONTAINER: ContainerDriver = KeyManagerDriver(Container {
    kind: "rsa",
    secrets: |properties| {
        let names = ["private_key", "public_key", "private_key_passphrase"];
        by_property(properties, &names)
    },
});
