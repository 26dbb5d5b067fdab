//! A host of repositories with TLS, served by git's own program for web servers.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring::default_provider, pki_types::PrivateKeyDer},
};

use super::*;
use crate::catalog::{Limits, unpack};

const ENOUGH: usize = 1 << 20;

/// A host with one repository, `items.git`: the item `greeter` in a folder, in two versions, the first with a tag.
struct GitServer {
    folder: TempDir,
    address: SocketAddr,
}

impl GitServer {
    async fn start() -> GitServer {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = GitServer {
            address: listener.local_addr().unwrap(),
            folder,
        };
        server.make_repository();
        let tls = server.tls();
        let root = server.folder.path().to_owned();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (tls, root) = (tls.clone(), root.clone());
                tokio::spawn(async move {
                    if let Ok(connection) = tls.accept(connection).await {
                        answer(connection, &root).await;
                    }
                });
            }
        });
        server
    }

    fn make_repository(&self) {
        self.git(
            &["init", "--quiet", "--initial-branch=main", "items.git"],
            "",
        );
        self.write("greeter/item.yml", "name: greeter\nversion: 1.0.0\n");
        self.write("greeter/tasks/main.yml", "- ansible.builtin.debug:\n");
        self.commit();
        self.git(&["tag", "v1"], "items.git");
        self.write("greeter/item.yml", "name: greeter\nversion: 2.0.0\n");
        self.commit();
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("items.git").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self.git(&["add", "--all"], "items.git");
    }

    fn commit(&self) {
        let args = [
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.org",
            "commit",
            "--quiet",
            "--message=x",
        ];
        self.git(&args, "items.git");
    }

    fn git(&self, args: &[&str], folder: &str) -> String {
        let mut git = std::process::Command::new("git");
        git.args(args).current_dir(self.folder.path().join(folder));
        let output = git.output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {messages}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// TLS for `localhost`, signed by the authority in `ca.pem`.
    fn tls(&self) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        std::fs::write(self.authority(), authority.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let certificate = names.signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Repositories of a server whose operator lists this host.
    fn listed(&self) -> Repositories {
        let host = format!("localhost:{}=127.0.0.1", self.address.port());
        Repositories::new(vec![host.parse().unwrap()], Some(self.authority()))
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}/{path}", self.address.port())
    }

    /// The paths of the item at a reference, with the first line of its manifest after the name.
    async fn read(&self, reference: Option<&str>) -> Result<(Vec<String>, String), String> {
        let wanted = api::Repository {
            url: self.url("items.git"),
            reference: reference.map(str::to_owned),
            folder: Some("/greeter/".to_owned()),
        };
        let archive = self.listed().pack(&wanted, ENOUGH).await;
        let archive = archive.map_err(|error| error.to_string())?;
        let files = unpack(archive.as_slice(), &Limits::default()).unwrap();
        let manifest = String::from_utf8(files["item.yml"].clone()).unwrap();
        let version = manifest.lines().nth(1).unwrap().to_owned();
        Ok((files.into_keys().collect(), version))
    }

    async fn refusal(&self, url: &str, change: impl FnOnce(&mut api::Repository)) -> String {
        let mut wanted = api::Repository {
            url: url.to_owned(),
            ..api::Repository::default()
        };
        change(&mut wanted);
        let refused = self.listed().pack(&wanted, ENOUGH).await.unwrap_err();
        assert_eq!(refused.code(), "repository-refused", "{refused}");
        refused.to_string()
    }
}

/// One request, answered by `git http-backend` as a CGI program. Paths that begin with `moved` lead elsewhere, and those
/// that begin with `silent` are never answered.
async fn answer(connection: impl AsyncRead + AsyncWrite + Unpin, root: &Path) {
    let mut connection = BufReader::new(connection);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        let read = connection.read_line(&mut line).await;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
        read.unwrap();
    }
    let header = |name: &str| {
        let mut fields = head.iter().filter_map(|line| line.split_once(": "));
        let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let mut parts = head[0].split(' ');
    let (method, target) = (parts.next().unwrap(), parts.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if let Some(path) = path.strip_prefix("/moved/") {
        let moved = format!(
            "HTTP/1.1 302 Found\r\nlocation: /{path}?{query}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        connection.write_all(moved.as_bytes()).await.unwrap();
        return;
    }
    if path.starts_with("/silent/") {
        return std::future::pending().await;
    }
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    connection.read_exact(&mut body).await.unwrap();
    let mut git = Command::new("git");
    git.arg("http-backend").envs([
        ("GIT_PROJECT_ROOT", root.to_str().unwrap()),
        ("GIT_HTTP_EXPORT_ALL", "1"),
        ("REQUEST_METHOD", method),
        ("PATH_INFO", path),
        ("QUERY_STRING", query),
        ("CONTENT_TYPE", &header("content-type")),
        ("CONTENT_LENGTH", &body.len().to_string()),
        ("HTTP_CONTENT_ENCODING", &header("content-encoding")),
        ("GIT_PROTOCOL", &header("git-protocol")),
    ]);
    git.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = git.spawn().unwrap();
    git.stdin.take().unwrap().write_all(&body).await.unwrap();
    let output = git.wait_with_output().await.unwrap().stdout;
    let text = String::from_utf8_lossy(&output);
    let status = text
        .strip_prefix("Status: ")
        .map_or("200 OK", |rest| &rest[..3]);
    let line = format!("HTTP/1.1 {status} x\r\nconnection: close\r\n");
    connection.write_all(line.as_bytes()).await.unwrap();
    connection.write_all(&output).await.unwrap();
    // The client may have gone.
    let _ = connection.shutdown().await;
}

#[tokio::test]
async fn an_item_is_read_at_a_branch_a_tag_and_a_commit() {
    let server = GitServer::start().await;
    let commit = server.git(&["rev-parse", "v1"], "items.git");
    let item = ["item.yml", "tasks/main.yml"].map(str::to_owned).to_vec();
    let version = |version: &str| Ok((item.clone(), format!("version: {version}")));
    assert_eq!(server.read(None).await, version("2.0.0"));
    assert_eq!(server.read(Some("main")).await, version("2.0.0"));
    assert_eq!(server.read(Some("v1")).await, version("1.0.0"));
    assert_eq!(server.read(Some(commit.trim())).await, version("1.0.0"));
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_its_reason() {
    let server = GitServer::start().await;
    let url = server.url("items.git");
    let check = async |url: &str, reason: &str, change: fn(&mut api::Repository)| {
        let message = server.refusal(url, change).await;
        assert!(message.contains(reason), "{url}: {message}");
    };
    let as_it_is: fn(&mut api::Repository) = |_| ();
    check(&url, "no such branch", |it| {
        it.reference = Some("gone".into())
    })
    .await;
    check(&url, "no folder `gone`", |it| {
        it.folder = Some("gone".into())
    })
    .await;
    check(&url, "can contain letters", |it| {
        it.reference = Some("--upload-pack=x".into())
    })
    .await;
    check(&url, "can contain letters", |it| {
        it.reference = Some("a..b".into())
    })
    .await;
    check(&url, "can contain letters", |it| {
        it.folder = Some("../x".into())
    })
    .await;
    check(&server.url("gone.git"), "does not exist", as_it_is).await;
    check(
        &server.url("moved/items.git"),
        "redirects are not followed",
        as_it_is,
    )
    .await;
    check(
        &url.replace("https", "http"),
        "must begin with `https://`",
        as_it_is,
    )
    .await;
    check("file:///etc", "must begin with `https://`", as_it_is).await;
    check("ext::sh -c true", "must begin with `https://`", as_it_is).await;
    check(
        "https://user:secret@localhost/x",
        "name or password",
        as_it_is,
    )
    .await;
    check("https://git.example.org/x", "is not among those", as_it_is).await;
    check("https://localhost/x", "is not among those", as_it_is).await;
}

#[tokio::test]
async fn a_submodule_is_refused_and_not_fetched() {
    let server = GitServer::start().await;
    let head = server.git(&["rev-parse", "HEAD"], "items.git");
    let entry = format!("160000,{},greeter/files/other", head.trim());
    server.git(
        &["update-index", "--add", "--cacheinfo", &entry],
        "items.git",
    );
    server.commit();
    let refused = server.read(None).await.unwrap_err();
    assert!(
        refused.contains("`files/other` is a submodule"),
        "{refused}"
    );
    assert!(server.read(Some("v1")).await.is_ok());
}

#[tokio::test]
async fn a_repository_has_limits_of_size_and_time_and_a_certificate_that_is_checked() {
    let server = GitServer::start().await;
    let wanted = api::Repository {
        url: server.url("items.git"),
        ..api::Repository::default()
    };
    let refused = server.listed().pack(&wanted, 100).await.unwrap_err();
    assert!(refused.to_string().contains("larger than"), "{refused}");
    let strange = Repositories {
        authority: None,
        ..server.listed()
    };
    let refused = strange.pack(&wanted, ENOUGH).await.unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let silent = api::Repository {
        url: server.url("silent/items.git"),
        ..api::Repository::default()
    };
    let impatient = Repositories {
        time_max: Duration::from_secs(1),
        ..server.listed()
    };
    let refused = impatient.pack(&silent, ENOUGH).await.unwrap_err();
    assert!(refused.to_string().contains("within 1 s"), "{refused}");
    let none = Repositories::new(Vec::new(), None);
    let refused = none.pack(&wanted, ENOUGH).await.unwrap_err();
    assert!(
        refused.to_string().contains("STACKLOOM_GIT_HOSTS"),
        "{refused}"
    );
}
