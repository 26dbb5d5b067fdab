//! The TLS client of an `https` check.
//!
//! It accepts every certificate. The connection ends at `localhost` of the server, whose SSH host key is known, and a
//! certificate of one's own, or one for the public name, is not valid for `localhost`. Whether browsers trust it is not
//! the question of the check.

use std::{io, sync::Arc};

use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, ring::default_provider},
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};

use super::Unhealthy;
use crate::ssh::ByteStream;

/// Begins TLS on a connection to the server.
///
/// # Errors
/// If the service does not answer with TLS.
pub(super) async fn connect<S: ByteStream>(stream: S) -> Result<TlsStream<S>, Unhealthy> {
    let no_tls = |error: io::Error| Unhealthy::Answer(format!("no answer with TLS: {error}"));
    let (config, name) = config().map_err(no_tls)?;
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.map_err(no_tls)
}

fn config() -> io::Result<(ClientConfig, ServerName<'static>)> {
    let provider = Arc::new(default_provider());
    let verifier = AnyCertificate(provider.clone());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    Ok((config, name))
}

/// Accepts every certificate and every signature.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio_rustls::{
        TlsAcceptor,
        rustls::{ServerConfig, pki_types::PrivateKeyDer},
    };

    use super::*;
    use crate::health::{get, judge};

    /// The server's end of TLS, with a certificate that nobody trusts, for a name that nobody asked for.
    fn acceptor() -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(vec!["shop.example.org".into()]).unwrap();
        let certificate = names.self_signed(&key).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }

    #[tokio::test]
    async fn an_answer_over_tls_counts_with_any_certificate() {
        let (ours, theirs) = duplex(16 * 1024);
        let serving = tokio::spawn(async move {
            let mut stream = acceptor().accept(theirs).await.unwrap();
            let mut request = [0; 4];
            stream.read_exact(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            stream.flush().await.unwrap();
            request
        });
        let stream = connect(ours).await.unwrap();
        let answer = get(stream, "/", false).await.unwrap();
        assert_eq!(judge(&answer, Some(200), None), Ok(()));
        assert_eq!(&serving.await.unwrap(), b"GET ");
    }

    #[tokio::test]
    async fn a_service_without_tls_is_told() {
        let (ours, mut theirs) = duplex(16 * 1024);
        theirs
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        let Err(Unhealthy::Answer(why)) = connect(ours).await else {
            panic!("it is no TLS");
        };
        assert!(why.starts_with("no answer with TLS: "), "{why}");
    }
}
