//! Sandboxes on real Docker. Needs Docker and the image `stackloom-sandbox`:
//! `cargo test -p engine --test sandbox -- --ignored`.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use engine::sandbox::{
    DockerHost, Host, Job, LineSink, OutputLimits, SandboxError, Sandboxes, Servers,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[path = "common/sshd.rs"]
#[expect(
    clippy::unwrap_used,
    dead_code,
    reason = "a helper's panic is its test's failure; the tests of SSH use more of it"
)]
mod sshd;

#[path = "common/image.rs"]
mod image;

use image::sandbox_image;

#[derive(Default)]
struct Output(Vec<String>);

#[async_trait]
impl LineSink for Output {
    async fn lines(&mut self, lines: Vec<String>) {
        self.0.extend(lines);
    }
}

/// Signals when output arrives.
struct Signal(mpsc::UnboundedSender<()>);

#[async_trait]
impl LineSink for Signal {
    async fn lines(&mut self, _: Vec<String>) {
        // The receiver may have been dropped.
        let _ = self.0.send(());
    }
}

/// A job that prints a word and keeps running.
fn lingering() -> Job {
    Job {
        run: "r".into(),
        step: "s".into(),
        argv: ["sh", "-c", "echo here; exec sleep 600"]
            .map(str::to_owned)
            .to_vec(),
        ..Job::default()
    }
}

fn sandboxes(owner: &str) -> Sandboxes {
    on(&sandbox_image(), owner, OutputLimits::default())
}

fn on(image: &str, owner: &str, limits: OutputLimits) -> Sandboxes {
    let host: Arc<dyn Host> = Arc::new(DockerHost::new(None, image, owner, 512 << 20));
    Sandboxes::new([host], 4, limits)
}

async fn execute(
    sandboxes: &Sandboxes,
    job: &Job,
    stop: &CancellationToken,
    sink: &mut (dyn LineSink + Send),
) -> Result<i64, SandboxError> {
    let slot = sandboxes.slot("project").await;
    sandboxes.execute(slot, job, stop, sink).await
}

async fn shell(script: &str, files: &[(&str, &str)]) -> (i64, Vec<String>) {
    shell_beside(script, files, Servers::default(), OutputLimits::default()).await
}

/// Runs a script that can connect to servers.
async fn shell_beside(
    script: &str,
    files: &[(&str, &str)],
    servers: Servers,
    limits: OutputLimits,
) -> (i64, Vec<String>) {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect::<BTreeMap<_, _>>();
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let job = Job {
        run: "r".into(),
        step: "s".into(),
        files,
        argv,
        servers,
        ..Job::default()
    };
    let mut output = Output::default();
    let sandboxes = on(&sandbox_image(), "test", limits);
    let code = execute(&sandboxes, &job, &CancellationToken::new(), &mut output)
        .await
        .expect("Docker runs it");
    (code, output.0)
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn a_sandbox_takes_files_and_returns_lines_and_the_exit_code() {
    let (code, lines) = shell(
        "cat role/tasks.yml; echo wrong >&2; exit 4",
        &[("role/tasks.yml", "hello\nthere\n")],
    )
    .await;
    assert_eq!(code, 4);
    assert_eq!(
        lines
            .iter()
            .filter(|line| *line == "hello" || *line == "there" || *line == "wrong")
            .count(),
        3,
        "{lines:?}"
    );
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn the_image_is_not_older_than_the_engine() {
    let (_, lines) = shell("true", &[]).await;
    // `cargo xtask test` builds the image; `cargo test` does not.
    assert_eq!(lines, Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn an_image_warns_of_an_engine_of_another_version() {
    let order = r#"{"files": {}, "argv": [], "programs": "of another version"}"#;
    let script = r#"printf '%010d\n%s' $(wc -c <order) "$(cat order)" | python3 -c 'import entry; entry.unpack()'"#;
    let (code, lines) = shell(script, &[("order", order)]).await;
    assert_eq!(code, 0, "{lines:?}");
    assert!(lines[0].starts_with("[WARNING]"), "{lines:?}");
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn a_sandbox_has_no_privileges() {
    let script = "id -u; touch /etc/x 2>&1; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; \
                  cat /sys/fs/cgroup/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids/pids.max; ls /var/run/docker.sock 2>&1; stat -c %a key; env";
    let (_, lines) = shell(script, &[("key", "SECRET")]).await;
    let text = lines.join("\n");
    assert_eq!(lines[0], "10001");
    assert!(text.contains("Read-only file system"), "{text}");
    assert!(text.contains("CapEff:\t0000000000000000"), "{text}");
    assert!(text.contains("NoNewPrivs:\t1"), "{text}");
    assert!(text.contains("256"), "{text}");
    assert!(text.contains("No such file"), "{text}");
    assert!(lines.iter().any(|line| line == "600"), "{text}");
    assert!(!text.contains("SECRET"), "{text}");
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn ansibles_events_arrive_while_it_runs() {
    let play = r#"[{"name": "p", "hosts": "localhost", "connection": "local", "gather_facts": false, "tasks": [
        {"name": "say", "ansible.builtin.debug": {"msg": "it works"}},
        {"name": "hide", "ansible.builtin.debug": {"msg": "hunter2"}, "no_log": true},
        {"name": "loop", "ansible.builtin.debug": {"msg": "-"}, "loop": ["short", "{{ '.' * 290 }}half a secret"]},
        {"name": "break", "ansible.builtin.fail": {"msg": "on purpose"}}]}]"#;
    let (code, lines) = shell(
        "exec ansible-playbook -i localhost, play.json",
        &[("play.json", play)],
    )
    .await;
    let text = lines.join("\n");
    assert_eq!(code, 2, "{text}");
    assert!(
        lines[0].starts_with(r#"{"name": "p", "event": "play"}"#),
        "{text}"
    );
    assert!(
        text.contains("it works") && text.contains("on purpose") && !text.contains("hunter2"),
        "{text}"
    );
    assert!(
        text.contains(r#""item": "short""#) && text.contains(r#""item": "(303 more characters)""#)
    );
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn each_event_is_a_line_however_long_its_texts_are() {
    // In JSON, each of these letters has six bytes.
    let play = r#"[{"name": "p", "hosts": "localhost", "connection": "local", "gather_facts": false, "tasks": [
        {"name": "note", "ansible.builtin.set_stats": {"data": "{{ dict(range(10) | map('string') | map('regex_replace', '^', 'name') | zip(['ж' * 60000] * 10)) }}"}},
        {"name": "print", "ansible.builtin.command": {"argv": ["python3", "-c", "print(('ж' * 70 + chr(10)) * 3000); exit(3)"]}}]}]"#;
    let (code, lines) = shell(
        "exec ansible-playbook -i localhost, play.json",
        &[("play.json", play)],
    )
    .await;
    assert_eq!(code, 2);
    for line in &lines {
        let is_event = serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(is_event, "{}", line.chars().take(200).collect::<String>());
    }
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(has("more characters)") && has("name9"));
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn a_cancelled_sandbox_ends_and_leaves_no_container() {
    let stop = CancellationToken::new();
    let (say, mut said) = mpsc::unbounded_channel();
    let sandboxes = sandboxes("test-stop");
    let (running, told) = (sandboxes.clone(), stop.clone());
    let task =
        tokio::spawn(async move { execute(&running, &lingering(), &told, &mut Signal(say)).await });
    said.recv().await.expect("it is there");
    stop.cancel();
    assert_eq!(task.await.unwrap(), Err(SandboxError::Stopped));
    assert_eq!(sandboxes.remove_orphans().await.unwrap(), 0);
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn containers_left_by_a_crash_are_removed_at_the_next_start() {
    let (say, mut said) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let crashed = sandboxes("test-crash");
    runtime.spawn(async move {
        execute(
            &crashed,
            &lingering(),
            &CancellationToken::new(),
            &mut Signal(say),
        )
        .await
    });
    said.recv().await.expect("it is there");
    runtime.shutdown_background();
    assert_eq!(sandboxes("test-crash").remove_orphans().await.unwrap(), 1);
}

#[tokio::test]
#[ignore = "needs Docker"]
async fn a_missing_image_is_reported() {
    let sandboxes = on("stackloom-no-such-image", "test", OutputLimits::default());
    let job = Job {
        argv: vec!["true".into()],
        ..Job::default()
    };
    let stop = CancellationToken::new();
    let result = execute(&sandboxes, &job, &stop, &mut Output::default()).await;
    assert_eq!(
        result,
        Err(SandboxError::NoImage("stackloom-no-such-image".into()))
    );
}

#[tokio::test]
#[ignore = "needs Docker, the lab's server image and the sandbox image"]
async fn it_reaches_its_own_server_through_the_bastion_and_nothing_else() {
    let pair = drivers::keys::make("test").expect("a key");
    let (gate, web, other) = tokio::join!(
        sshd::sshd("gate", &pair.public),
        sshd::sshd("web", &pair.public),
        sshd::sshd("other", &pair.public)
    );
    let route = web.behind(Some(&gate));
    let config = format!(
        "Host *\n  User {}\n  HostKeyAlias web\n  ProxyCommand python3 /opt/stackloom/connect.py %n\n  ProxyUseFdpass yes\n  \
         IdentityFile /work/key\n  BatchMode yes\n  UserKnownHostsFile /work/known_hosts\n  StrictHostKeyChecking yes\n",
        sshd::USER
    );
    let known = format!("web {}\n", web.host.host_key);
    let script = format!(
        r#"
        for try in 1 2 3 4 5 6 7 8 9 10; do ssh -F ssh_config 0 true && break; sleep 1; done
        echo "mine: $(ssh -F ssh_config 0 'echo $SSH_CONNECTION')"
        head -c 3000000 /dev/urandom > file; ssh -F ssh_config 0 'cat > file' < file
        test "$(sha256sum < file)" = "$(ssh -F ssh_config 0 'sha256sum < file')" && echo "3 MB: whole"
        echo "networks: $(ls /sys/class/net | tr '\n' ' ')"
        for number in 1 2 x {other}; do ssh -F ssh_config $number true 2>&1 | grep -o 'no such server'; done
        python3 - <<'END'
import socket
for place in [("169.254.169.254", 80), ("{gateway}", 22), ("{other}", 22), ("{gate}", 22), ("{web}", 22), ("1.1.1.1", 53)]:
    try:
        socket.create_connection(place, timeout=3)
        print("REACHED", place)
    except OSError as error:
        print("refused:", error.strerror)
END
        "#,
        gateway = gateway_of(&web.host.address),
        other = other.host.address,
        gate = gate.host.address,
        web = web.host.address,
    );
    let servers = Servers {
        routes: vec![route],
        private_key: pair.private.clone(),
    };
    let files = [
        ("ssh_config", config.as_str()),
        ("known_hosts", known.as_str()),
        ("key", pair.private.as_str()),
    ];
    let (_, lines) = shell_beside(&script, &files, servers, OutputLimits::default()).await;
    let text = lines.join("\n");
    println!("{text}");
    let from_gate = format!("mine: {} ", gate.host.address);
    assert!(text.contains(&from_gate), "it comes through the bastion");
    assert!(text.contains("3 MB: whole"));
    assert!(text.contains("networks: lo \n"));
    assert_eq!(text.matches("no such server").count(), 4);
    assert!(!text.contains("REACHED"));
    assert_eq!(text.matches("refused:").count(), 6);
}

/// The host's address in the network of a container.
fn gateway_of(address: &str) -> String {
    let network = address.rsplit_once('.').expect("IPv4").0;
    format!("{network}.1")
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn output_above_the_quota_is_cut_with_a_word_and_the_program_goes_on() {
    let limits = OutputLimits {
        bytes_max: 100_000,
        ..OutputLimits::default()
    };
    let script = "seq 1 1000000; exit 7";
    let (code, lines) = shell_beside(script, &[], Servers::default(), limits).await;
    assert_eq!(code, 7);
    let bytes: usize = lines.iter().map(String::len).sum();
    assert!(bytes < 110_000, "{bytes}");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("longer than 100000 bytes"))
    );
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn a_role_that_speaks_another_protocol_ends_its_own_sandbox_only() {
    // The parent's standard output is the engine's stream.
    let script = "head -c 5000000 /dev/urandom > /proc/$PPID/fd/1; sleep 600";
    let job = Job {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        ..Job::default()
    };
    let sandboxes = sandboxes("test-protocol");
    let stop = CancellationToken::new();
    let result = execute(&sandboxes, &job, &stop, &mut Output::default()).await;
    assert!(
        matches!(result, Err(SandboxError::Protocol(_))),
        "{result:?}"
    );
    assert_eq!(sandboxes.remove_orphans().await.expect("Docker answers"), 0);
}
