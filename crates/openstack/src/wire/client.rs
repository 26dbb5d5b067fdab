//! The HTTP client of a cloud, with its timeouts and TLS settings.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use super::failure::deepest;
use crate::{ConfigError, Error};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Default of [`ConnectionSettings::parallel_calls`].
pub const PARALLEL_CALLS: usize = 32;
/// Default of [`ConnectionSettings::parallel_changes`].
pub const PARALLEL_CHANGES: usize = 16;

/// Connection settings of a cloud.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// TLS settings.
    pub tls: Tls,
    /// Time limit of one call. Default: 60 s.
    pub timeout: Duration,
    /// Maximum number of concurrent reads and calls to Keystone over all sessions. Default: [`PARALLEL_CALLS`].
    pub parallel_calls: usize,
    /// Maximum number of concurrent changes at one service other than Keystone, beside the reads. Default:
    /// [`PARALLEL_CHANGES`]. The limit starts at 2 and grows while the throughput of the service grows.
    pub parallel_changes: usize,
}

impl Default for ConnectionSettings {
    fn default() -> ConnectionSettings {
        ConnectionSettings {
            tls: Tls {
                verify: true,
                ca_file: None,
                certificate: None,
                key: None,
            },
            timeout: Duration::from_secs(60),
            parallel_calls: PARALLEL_CALLS,
            parallel_changes: PARALLEL_CHANGES,
        }
    }
}

/// Verification of the cloud's certificate, and the client certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Whether the certificate of the cloud is verified.
    pub verify: bool,
    /// File of certificate authorities that replace those of the system.
    pub ca_file: Option<PathBuf>,
    /// Client certificate, for clouds that require one.
    pub certificate: Option<PathBuf>,
    /// Key of the client certificate. `None` if it is in the file of the certificate.
    pub key: Option<PathBuf>,
}

/// Creates the client. Redirects are never followed.
///
/// # Errors
/// The configured certificates are unusable.
pub(super) fn client(
    cloud: &str,
    auth_url: &str,
    settings: &ConnectionSettings,
) -> Result<reqwest::Client, Error> {
    static RING: Once = Once::new();
    // Fails only if another provider is installed already, which works too.
    RING.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));

    let wrong = |why: String| {
        Error::Config(ConfigError::Cloud {
            cloud: cloud.to_owned(),
            why,
        })
    };
    let builder = || {
        reqwest::Client::builder()
            .user_agent(concat!("stackloom/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(settings.timeout)
            .pool_idle_timeout(Duration::from_secs(30))
    };
    let read = |path: &Path| {
        std::fs::read(path)
            .map_err(|error| wrong(format!("cannot read {}: {error}", path.display())))
    };
    let mut chosen = builder();
    if !settings.tls.verify {
        tracing::warn!(
            cloud = cloud,
            "certificates of this cloud are not checked (`verify: false`)"
        );
        chosen = chosen.tls_danger_accept_invalid_certs(true);
    } else if let Some(path) = &settings.tls.ca_file {
        let none =
            |why: &dyn Display| wrong(format!("{} holds no certificates: {why}", path.display()));
        let bundle = reqwest::Certificate::from_pem_bundle(&read(path)?);
        let bundle = bundle.map_err(|error| none(&error))?;
        if bundle.is_empty() {
            return Err(none(&"it must be in PEM, `-----BEGIN CERTIFICATE-----`"));
        }
        chosen = chosen.tls_certs_only(bundle);
    }
    if let Some(path) = &settings.tls.certificate {
        let mut pem = read(path)?;
        if let Some(key) = &settings.tls.key {
            pem.extend_from_slice(b"\n");
            pem.extend(read(key)?);
        }
        let identity = reqwest::Identity::from_pem(&pem).map_err(|error| {
            wrong(format!(
                "{} is no certificate with a key: {error}",
                path.display()
            ))
        })?;
        chosen = chosen.identity(identity);
    }
    match chosen.build() {
        Ok(client) => Ok(client),
        // A machine without any certificate authority can still reach clouds over plain HTTP.
        Err(_) if auth_url.starts_with("http://") => builder()
            .tls_certs_only([])
            .build()
            .map_err(|error| wrong(format!("no HTTP client: {error}"))),
        Err(error) => Err(wrong(format!("no HTTPS client: {}", deepest(&error)))),
    }
}
