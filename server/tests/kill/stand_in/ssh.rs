//! The SSH server of each server of a lab in memory.
//!
//! A packet filter leads connections to port 22 of the lab's floating IPs to one listener, which asks the kernel for the address that was
//! dialled. A bastion passes connections on to private addresses. A server shows the host key from its user data until it is told to
//! use the key that it made itself.

use std::{
    collections::{HashMap, HashSet},
    net::Ipv4Addr,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::future::BoxFuture;
use lab::Lab;
use russh::{
    Channel, ChannelId,
    keys::PrivateKey,
    server::{
        Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey, run_stream,
    },
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};

use crate::packet_filter::Rule;

const PORT: &str = "22";

/// The words before a script, and between it and its arguments: `as_root` in `crates/engine/src/run/jobs/folder.rs`.
const AS_ROOT: &str = "'sudo' '-n' 'sh' '-c' '";
const ARGUMENTS: &str = "' 'sh' '";

/// The servers of a lab. Clones share them.
#[derive(Clone)]
struct Servers {
    lab: Arc<Lab>,
    /// State inside the servers, by their id.
    inside: Arc<Mutex<HashMap<String, Inside>>>,
}

/// State inside a server, which outlives its connections.
#[derive(Default)]
struct Inside {
    /// The two halves of the host key that it has made.
    own: Option<Own>,
    uses_own: bool,
    /// Folders of steps' programs.
    folders: HashSet<String>,
}

#[derive(Clone)]
struct Own {
    private: String,
    public: String,
}

/// The end of a command.
struct Ended {
    output: String,
    code: u32,
}

/// Lets the servers of a lab answer until the test's tasks end. `public` is the range of its floating IPs, inside of 127.0.0.0/8.
pub async fn answer(lab: &Arc<Lab>, public: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let redirection = [
        "-d",
        public,
        "--dport",
        PORT,
        "-j",
        "REDIRECT",
        "--to-ports",
        port.as_str(),
    ];
    let redirection = Rule::new("nat", &redirection);
    let servers = Servers {
        lab: lab.clone(),
        inside: Arc::default(),
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let dialled = rustix::net::sockopt::ip_original_dst(&stream).unwrap();
            // Nobody answers for an address without a server.
            if let Some(id) = servers.at_public(*dialled.ip()) {
                tokio::spawn(servers.serve(stream, id));
            }
        }
        drop(redirection);
    });
}

impl Servers {
    /// The server with a floating IP.
    fn at_public(&self, address: Ipv4Addr) -> Option<String> {
        self.lab.model(|model| {
            let mut all = model.floating_ips.iter();
            let floating = all.find(|one| one.floating_ip_address == address)?;
            let port = model.ports.get(floating.port_id.as_ref()?)?;
            model
                .servers
                .get(&port.device_id)
                .map(|server| server.id.clone())
        })
    }

    /// The server with a private address. There is one deployment at a time.
    fn at_private(&self, address: &str) -> Option<String> {
        self.lab.model(|model| {
            let mut with_address = model.ports.iter().filter(|port| {
                let mut addresses = port.fixed_ips.iter();
                addresses.any(|ip| ip.ip_address.to_string() == address)
            });
            let server = with_address.find_map(|port| model.servers.get(&port.device_id))?;
            Some(server.id.clone())
        })
    }

    /// A connection to a server, until it ends.
    fn serve<S>(&self, stream: S, id: String) -> BoxFuture<'static, ()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let servers = self.clone();
        Box::pin(async move {
            let Some(key) = servers.host_key(&id) else {
                return;
            };
            let config = Config {
                keys: vec![key],
                auth_rejection_time: Duration::ZERO,
                ..Config::default()
            };
            let login = Login { servers, id };
            // The engine may be killed at any byte.
            let running = Box::pin(run_stream(Arc::new(config), stream, login));
            if let Ok(running) = running.await {
                let _ended = running.await;
            }
        })
    }

    /// The host key that a server shows now. `None` if it was deleted, or nobody is to log in.
    fn host_key(&self, id: &str) -> Option<PrivateKey> {
        let user_data = self.lab.model(|model| {
            let server = model.servers.get(id)?;
            server.user_data.clone()
        })?;
        let inside = self.inside.lock().unwrap();
        let kept = inside.get(id).filter(|inside| inside.uses_own);
        let private = match kept.and_then(|inside| inside.own.clone()) {
            Some(own) => own.private,
            None => given_key(&user_data)?,
        };
        Some(PrivateKey::from_openssh(private).unwrap())
    }

    /// Runs a command on a server. `None` if it lasts as long as the connection.
    fn run(&self, id: &str, command: &str) -> Option<Ended> {
        if command.starts_with("exec sudo -n tail") {
            return None;
        }
        let mut all = self.inside.lock().unwrap();
        let inside = all.entry(id.to_owned()).or_default();
        let script = command.strip_prefix(AS_ROOT).unwrap_or(command);
        let (script, arguments) = script.split_once(ARGUMENTS).unwrap_or((script, ""));
        let arguments: Vec<&str> = arguments.trim_end_matches('\'').splitn(3, "' '").collect();
        let output = match (script, &arguments[..]) {
            (script, ["make", _]) if script.contains("stackloom_host_key_") => {
                inside.own.get_or_insert_with(Own::new).public.clone()
            }
            (script, ["use", _]) if script.contains("stackloom_host_key_") => {
                inside.uses_own = true;
                String::new()
            }
            (script, [place, generation, ..]) if script.contains("# begin PLACE") => {
                let is_new = inside.folders.insert(format!("{place}-{generation}"));
                if is_new { "" } else { "again\n" }.to_owned()
            }
            (script, [path]) if script.contains("end \"$1\"") => {
                let folder = path.rsplit('/').next().unwrap();
                inside.folders.remove(folder);
                String::new()
            }
            _ => String::new(),
        };
        Some(Ended { output, code: 0 })
    }
}

impl Own {
    fn new() -> Own {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
            .arg(&file)
            .status();
        assert!(made.unwrap().success());
        let read = |file| std::fs::read_to_string(file).unwrap();
        Own {
            private: read(file.clone()),
            public: read(file.with_extension("pub")),
        }
    }
}

/// The private host key in user data. `None` if nobody is to log in.
fn given_key(user_data: &str) -> Option<String> {
    let text = String::from_utf8(STANDARD.decode(user_data).unwrap()).unwrap();
    let config: Value = serde_json::from_str(text.strip_prefix("#cloud-config\n")?).ok()?;
    Some(config["ssh_keys"]["ed25519_private"].as_str()?.to_owned())
}

/// A login at a server.
struct Login {
    servers: Servers,
    id: String,
}

impl Handler for Login {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        _user: &str,
        _key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, russh::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        _port: u32,
        _originator: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        // A channel without an answer is refused.
        if let Some(id) = self.servers.at_private(host) {
            reply.accept().await;
            tokio::spawn(self.servers.serve(channel.into_stream(), id));
        }
        Ok(())
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        let command = String::from_utf8_lossy(command);
        if let Some(Ended { output, code }) = self.servers.run(&self.id, &command) {
            if !output.is_empty() {
                session.data(channel, output.into_bytes())?;
            }
            session.exit_status_request(channel, code)?;
            session.eof(channel)?;
            session.close(channel)?;
        }
        Ok(())
    }
}
