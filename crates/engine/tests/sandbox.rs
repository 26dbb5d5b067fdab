//! Sandboxes on real Docker. Needs Docker and the image `stackloom-sandbox`: `cargo test -p engine --test sandbox -- --ignored`.

use std::collections::BTreeMap;

use async_trait::async_trait;
use engine::sandbox::{Job, LineSink, SandboxError, Sandboxes};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

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
        // The receiver may be gone.
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
    Sandboxes::new("stackloom-sandbox", owner, 4, 512 * 1024 * 1024)
}

async fn shell(script: &str, files: &[(&str, &str)]) -> (i64, Vec<String>) {
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
    };
    let mut output = Output::default();
    let code = sandboxes("test")
        .execute(&job, &CancellationToken::new(), &mut output)
        .await
        .expect("Docker runs it");
    (code, output.0)
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn files_come_in_lines_and_the_exit_code_come_out() {
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
async fn it_can_do_nothing_that_it_need_not() {
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
async fn ansible_tells_what_it_does_while_it_does_it() {
    let play = r#"[{"name": "p", "hosts": "localhost", "connection": "local", "gather_facts": false, "tasks": [
        {"name": "say", "ansible.builtin.debug": {"msg": "it works"}},
        {"name": "hide", "ansible.builtin.debug": {"msg": "hunter2"}, "no_log": true},
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
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn it_ends_when_it_is_told_to_and_leaves_no_container() {
    let stop = CancellationToken::new();
    let (say, mut said) = mpsc::unbounded_channel();
    let sandboxes = sandboxes("test-stop");
    let (running, told) = (sandboxes.clone(), stop.clone());
    let task =
        tokio::spawn(async move { running.execute(&lingering(), &told, &mut Signal(say)).await });
    said.recv().await.expect("it is there");
    stop.cancel();
    assert_eq!(task.await.unwrap(), Err(SandboxError::Stopped));
    assert_eq!(sandboxes.remove_orphans().await.unwrap(), 0);
}

#[tokio::test]
#[ignore = "needs Docker and the sandbox image"]
async fn what_a_crash_leaves_is_removed_at_the_next_start() {
    let (say, mut said) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let crashed = sandboxes("test-crash");
    runtime.spawn(async move {
        crashed
            .execute(&lingering(), &CancellationToken::new(), &mut Signal(say))
            .await
    });
    said.recv().await.expect("it is there");
    runtime.shutdown_background();
    assert_eq!(sandboxes("test-crash").remove_orphans().await.unwrap(), 1);
}

#[tokio::test]
#[ignore = "needs Docker"]
async fn a_missing_image_is_told() {
    let sandboxes = Sandboxes::new("stackloom-no-such-image", "test", 1, 64 << 20);
    let job = Job {
        argv: vec!["true".into()],
        ..Job::default()
    };
    let result = sandboxes
        .execute(&job, &CancellationToken::new(), &mut Output::default())
        .await;
    assert_eq!(
        result,
        Err(SandboxError::NoImage("stackloom-no-such-image".into()))
    );
}
