//! Clouds behind TLS: verification of server and client certificates, as configured in a `clouds.yaml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use openstack::{Certificate, Clouds, Error, Session};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::support::{Canned, keystone};

/// A certificate authority.
struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate signed by an authority, and its key.
struct Signed {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Authority {
            certificate: params.self_signed(&key).unwrap(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for a name or an address.
    fn signs(&self, name: &str) -> Signed {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.into()]).unwrap();
        Signed {
            certificate: params.signed_by(&key, &self.issuer).unwrap(),
            key,
        }
    }
}

/// The demo cloud behind TLS. With `members`, it requires a client certificate of this authority.
async fn cloud(shown: Signed, members: Option<&Authority>) -> Canned {
    let provider = Arc::new(default_provider());
    let versions = ServerConfig::builder_with_provider(provider.clone());
    let trust = versions.with_safe_default_protocol_versions().unwrap();
    let proof = match members {
        None => trust.with_no_client_auth(),
        Some(members) => {
            let mut roots = RootCertStore::empty();
            roots.add(members.certificate.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            trust.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(shown.key.serialize_der()).unwrap();
    let config = proof.with_single_cert(vec![shown.certificate.der().clone()], key);
    let tls = TlsAcceptor::from(Arc::new(config.unwrap()));
    Canned::start_tls(tls, |url, request| keystone(url, request).unwrap()).await
}

/// A folder with a clouds.yaml and its certificate files.
struct ConfigFolder(tempfile::TempDir);

impl ConfigFolder {
    fn new() -> ConfigFolder {
        ConfigFolder(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Logs in with these settings in the cloud's entry.
    async fn login(&self, cloud: &Canned, settings: &str) -> Result<Session, Error> {
        let text = format!(
            "clouds: {{lab: {{auth: {{auth_url: '{}/identity/v3', username: demo, password: demo, project_name: demo}}, {settings}}}}}",
            cloud.url
        );
        let path = self.write("clouds.yaml", &text);
        let clouds = Clouds::from_file(&path).unwrap();
        let config = clouds.get("lab").unwrap();
        let credentials = config.credentials.as_ref().unwrap();
        Session::login(config, credentials, config.scope.as_ref()).await
    }
}

fn shown(path: &Path) -> String {
    format!("'{}'", path.display())
}

fn trusts(authority: &Path) -> String {
    format!("cacert: {}", shown(authority))
}

#[tokio::test]
async fn a_private_certificate_authority_is_trusted() {
    let authority = Authority::new("ours");
    let canned = cloud(authority.signs("127.0.0.1"), None).await;
    let folder = ConfigFolder::new();
    let ca = folder.write("ca.pem", &authority.certificate.pem());
    let session = folder.login(&canned, &trusts(&ca)).await;
    assert_eq!(session.unwrap().user().name, "demo");
    assert!(canned.url.starts_with("https://"));
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused_before_any_request() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("a stranger"));
    let canned = cloud(stranger.signs("127.0.0.1"), None).await;
    let folder = ConfigFolder::new();
    let ca = folder.write("ca.pem", &authority.certificate.pem());
    let error = folder.login(&canned, &trusts(&ca)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cloud `lab` cannot be talked to at {}/identity/v3/auth/tokens, because certificates do not fit: invalid peer \
             certificate: UnknownIssuer. Give the authority that signed the cloud's certificate as `cacert` in clouds.yaml, \
             or check that the certificate is for the name in the address",
            canned.url
        )
    );
    // A retry would not help, and the password was not sent.
    assert!(!error.is_transient());
    assert!(canned.requests().is_empty());
    assert_eq!(canned.connections(), 1);
}

#[tokio::test]
async fn a_good_certificate_of_somebody_else_is_refused() {
    let authority = Authority::new("ours");
    let canned = cloud(authority.signs("other.example"), None).await;
    let folder = ConfigFolder::new();
    let ca = folder.write("ca.pem", &authority.certificate.pem());
    let error = folder.login(&canned, &trusts(&ca)).await.unwrap_err();
    let Error::Untrusted { side, why, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*side, Certificate::Server);
    assert!(why.contains("not valid for name"), "{why}");
    assert!(canned.requests().is_empty());
}

#[tokio::test]
async fn certificate_checks_can_be_disabled() {
    let canned = cloud(Authority::new("ours").signs("other.example"), None).await;
    let folder = ConfigFolder::new();
    for settings in ["verify: false", "insecure: true"] {
        let session = folder.login(&canned, settings).await;
        assert_eq!(session.unwrap().user().name, "demo", "{settings}");
    }
    // The system's authorities do not include this one.
    let error = folder.login(&canned, "verify: true").await.unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error}");
}

#[tokio::test]
async fn a_client_certificate_is_sent() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("a stranger"));
    let canned = cloud(authority.signs("127.0.0.1"), Some(&authority)).await;
    let folder = ConfigFolder::new();
    let ca = folder.write("ca.pem", &authority.certificate.pem());
    let ca = trusts(&ca);

    let us = authority.signs("us.example");
    let certificate = folder.write("us.pem", &us.certificate.pem());
    let key = folder.write("us.key", &us.key.serialize_pem());
    let (certificate, key) = (shown(&certificate), shown(&key));
    let in_two_files = format!("{ca}, cert: {certificate}, key: {key}");
    let both = us.certificate.pem() + &us.key.serialize_pem();
    let both = folder.write("both.pem", &both);
    let in_one_file = format!("{ca}, cert: {}", shown(&both));
    for settings in [in_two_files, in_one_file] {
        let session = folder.login(&canned, &settings).await;
        assert_eq!(session.unwrap().user().name, "demo", "{settings}");
    }

    let them = stranger.signs("us.example");
    let them = them.certificate.pem() + &them.key.serialize_pem();
    let them = folder.write("them.pem", &them);
    let before = canned.requests().len();
    for settings in [ca.clone(), format!("{ca}, cert: {}", shown(&them))] {
        let error = folder.login(&canned, &settings).await.unwrap_err();
        let Error::Untrusted { side, .. } = &error else {
            panic!("{settings}: {error}");
        };
        assert_eq!(*side, Certificate::Client, "{error}");
        assert!(error.to_string().contains("as `cert`"), "{error}");
    }
    assert_eq!(canned.requests().len(), before);
}

#[tokio::test]
async fn another_tls_version_is_not_reported_as_a_missing_client_certificate() {
    let authority = Authority::new("ours");
    let shown = authority.signs("127.0.0.1");
    let key = PrivateKeyDer::try_from(shown.key.serialize_der()).unwrap();
    let versions = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let trust = versions.with_safe_default_protocol_versions().unwrap();
    let mut config = trust
        .with_no_client_auth()
        .with_single_cert(vec![shown.certificate.der().clone()], key)
        .unwrap();
    // The server requires a protocol that the client does not offer; the alert is unrelated to certificates.
    config.alpn_protocols = vec![b"telnet".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    let canned = Canned::start_tls(tls, |url, request| keystone(url, request).unwrap()).await;
    let folder = ConfigFolder::new();
    let ca = folder.write("ca.pem", &authority.certificate.pem());
    let error = folder.login(&canned, &trusts(&ca)).await.unwrap_err();
    let Error::Unreachable { why, .. } = &error else {
        panic!("{error}");
    };
    assert!(why.contains("NoApplicationProtocol"), "{why}");
    assert!(!error.to_string().contains("`cert`"), "{error}");
    assert!(canned.requests().is_empty());
}

#[tokio::test]
async fn missing_or_invalid_certificate_files_are_reported() {
    let authority = Authority::new("ours");
    let canned = cloud(authority.signs("127.0.0.1"), None).await;
    let folder = ConfigFolder::new();
    let note = folder.write("note.txt", "buy milk");
    let ca = folder.write("ca.pem", &authority.certificate.pem());
    let (note, ca) = (shown(&note), shown(&ca));
    for (settings, text) in [
        (
            "cacert: /nowhere/ca.pem".into(),
            "cannot read /nowhere/ca.pem",
        ),
        (format!("cacert: {note}"), "holds no certificates"),
        (
            format!("cacert: {ca}, cert: {note}"),
            "is no certificate with a key",
        ),
        (
            format!("cacert: {ca}, cert: {ca}"),
            "is no certificate with a key",
        ),
    ] {
        let error = folder.login(&canned, &settings).await.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{settings}: {error}");
        assert!(error.to_string().contains(text), "{settings}: {error}");
    }
    assert!(canned.requests().is_empty());
}
