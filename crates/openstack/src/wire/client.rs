//! The HTTP client of a cloud, with its time limit and certificates.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use super::failure::deepest;
use crate::{ConfigError, Error};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of the connections to a cloud.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// Certificates.
    pub tls: Tls,
    /// The time limit of one call.
    pub timeout: Duration,
    /// The largest number of calls under way at once, over all sessions.
    pub parallel_calls: usize,
    /// The largest number of changing calls under way at once at one service. It begins with two; services that serve more in the
    /// same time get more.
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
            parallel_calls: 32,
            parallel_changes: 16,
        }
    }
}

/// How the cloud's certificates are checked, and ours shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Whether the cloud's certificate is checked.
    pub verify: bool,
    /// Certificate authorities that replace the system's.
    pub ca_file: Option<PathBuf>,
    /// The client certificate, where the cloud wants one.
    pub certificate: Option<PathBuf>,
    /// The key of the client certificate, if it is in a file of its own.
    pub key: Option<PathBuf>,
}

/// Makes the client. Redirects are never followed.
///
/// # Errors
/// Where the certificates that the configuration names cannot be used.
pub(super) fn client(
    cloud: &str,
    auth_url: &str,
    settings: &ConnectionSettings,
) -> Result<reqwest::Client, Error> {
    static RING: Once = Once::new();
    // Fails only if the program has chosen another provider already, which is as good.
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
