//! OpenSSH in a container, with a host key and a user of our choice.

use std::process::Stdio;

use drivers::keys;
use engine::ssh::{Host, Route};
use tokio::process::Command;

/// The user on every server.
pub const USER: &str = "stackloom";

/// A server. Its container is removed on drop.
pub struct Sshd {
    container: String,
    /// Its address and its actual host key.
    pub host: Host,
}

/// A server that accepts logins with `user_key`.
pub async fn sshd(name: &str, user_key: &str) -> Sshd {
    let pair = keys::make(name).unwrap();
    let script = format!(
        "mkdir -p /run/sshd && useradd --create-home --shell /bin/sh {USER} && usermod -p '*' {USER} && cd ~{USER} && mkdir .ssh && echo '{user_key}' > .ssh/authorized_keys \
         && printf '%s' \"$KEY\" > /etc/ssh/ssh_host_ed25519_key && chmod 600 /etc/ssh/ssh_host_ed25519_key \
         && exec /usr/sbin/sshd -D -e -h /etc/ssh/ssh_host_ed25519_key"
    );
    let run = ["run", "--detach", "--init", "--entrypoint", "sh", "--env"];
    let key = format!("KEY={}", *pair.private);
    let container = docker(run.into_iter().chain([
        key.as_str(),
        "stackloom-lab-server",
        "-c",
        script.as_str(),
    ]))
    .await;
    let container = container.trim().to_owned();
    let address = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    let address = docker(["inspect", "--format", address, &container]).await;
    Sshd {
        host: Host::new(name, address.trim(), pair.public),
        container,
    }
}

impl Sshd {
    /// The route to this server through another one.
    pub fn behind(&self, bastion: Option<&Sshd>) -> Route {
        Route {
            host: self.host.clone(),
            bastion: bastion.map(|bastion| bastion.host.clone()),
            user: USER.into(),
        }
    }

    /// Number of logged-in users.
    pub async fn sessions(&self) -> usize {
        let count = "ps -e -o args | grep -c '^sshd: stackloom@' || true";
        let count = docker(["exec", &self.container, "sh", "-c", count]).await;
        count.trim().parse().unwrap()
    }

    /// The log of its sshd so far.
    pub async fn log(&self) -> String {
        docker(["logs", &self.container]).await
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let mut remove = std::process::Command::new("docker");
        let remove = remove.args(["rm", "--force", "--volumes", &self.container]);
        // A failed test has already reported the reason.
        let _ = remove.stdout(Stdio::null()).status();
    }
}

/// The output of a docker command.
pub async fn docker<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let output = Command::new("docker").args(arguments).output().await;
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
