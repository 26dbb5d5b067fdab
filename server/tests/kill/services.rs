//! Services that die in the middle of a run, as by `kill -9`, and come back: the network service of the cloud, and the
//! Docker daemon of the sandboxes. The run waits, and nothing exists twice.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use lab::{CallFault, Damage, Fault};
use tempfile::TempDir;

use crate::{
    IN_FLIGHT, belongings::Belongings, containers::Scene, ends_well, privileged, program::Program,
    slow_lab, text, until,
};

/// Calls that find no network service before it comes back.
const REFUSED: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_network_service_that_dies_under_requests_ends_no_run() {
    let (lab, target) = slow_lab().await;
    let before = Belongings::of(&target.session).await;
    let folder = tempfile::tempdir().unwrap();
    let settings = vec![("STACKLOOM_RETRY_PAUSE", "2".to_owned())];
    let mut program =
        Program::start_with(folder.path(), &target.clouds, target.horizon, settings).await;
    program.login(&target.login()).await;
    let started = program
        .post("/api/v1/deployments", &target.deployment("service"))
        .await;
    let run = text(&started, "run");
    program.until_in_flight(&run, IN_FLIGHT).await;

    let network = CallFault {
        service: Some("network".into()),
        damage: Some(Damage::CutBefore),
        ..CallFault::default()
    };
    lab.faults().clear();
    lab.faults().clear_calls();
    // The last requests are carried out, and their answers are lost.
    lab.faults().add(Fault::Call(CallFault {
        method: Some("POST".into()),
        commits_after_ms: Some(400),
        times: Some(IN_FLIGHT as u64),
        ..network.clone()
    }));
    lab.faults().add(Fault::Call(network));
    let refused = || {
        let calls = lab.faults().calls();
        calls
            .iter()
            .filter(|call| call.service == "network")
            .count()
    };
    until("calls are refused", || refused() >= IN_FLIGHT + REFUSED).await;
    lab.faults().clear();
    ends_well(&program, &target, &before, &started, "network service").await;
}

/// A Docker daemon of the test's own, with the sandbox image.
struct Daemon {
    folder: TempDir,
    child: Child,
}

impl Daemon {
    async fn start() -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let child = Daemon::spawn(&folder);
        let daemon = Daemon { folder, child };
        daemon.until_ready().await;
        let load = format!(
            "docker save {} | docker --host {} load",
            sandbox_image(),
            daemon.address()
        );
        let loaded = Command::new("sh").args(["-c", &load]).status();
        assert!(loaded.unwrap().success(), "the sandbox image is loaded");
        daemon
    }

    /// Without networks of its own, since it runs beside the daemon of the machine.
    fn spawn(folder: &TempDir) -> Child {
        let place = |name: &str| folder.path().join(name).display().to_string();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(folder.path().join("log"));
        let group = rustix::process::getegid().as_raw().to_string();
        privileged("dockerd")
            .args(["--data-root", &place("data"), "--exec-root", &place("exec")])
            .args(["--pidfile", &place("pid"), "--group", &group])
            .args(["--host", &format!("unix://{}", place("socket"))])
            .args(["--bridge", "none", "--iptables=false", "--ip-forward=false"])
            .stdout(Stdio::null())
            .stderr(log.unwrap())
            .spawn()
            .unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    /// The lines that `docker` prints. `None` if it fails.
    fn docker(&self, arguments: &[&str]) -> Option<Vec<String>> {
        let mut command = Command::new("docker");
        command.args(["--host", &self.address()]).args(arguments);
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let succeeded = output.status.success();
        succeeded.then(|| printed.lines().map(str::to_owned).collect())
    }

    async fn until_ready(&self) {
        let answers = || self.docker(&["version"]).is_some();
        until("the Docker daemon answers", answers).await;
    }

    /// Containers of the daemon, also ended ones.
    fn containers(&self) -> Vec<String> {
        self.docker(&["ps", "--all", "--quiet"]).unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = std::fs::read_to_string(self.path("pid")).unwrap();
        let sent = privileged("kill").args(["-s", name, pid.trim()]).status();
        assert!(sent.unwrap().success());
    }

    fn kill(&mut self) {
        self.signal("KILL");
        self.child.wait().unwrap();
    }

    /// Starts the daemon again when its containerd has ended, too: a moment after the daemon. Otherwise it would wait for that
    /// one, and give up.
    async fn restart(&mut self) {
        let file = self.path("exec/containerd/containerd.pid");
        let read = privileged("cat").arg(file).output().unwrap();
        let pid = String::from_utf8(read.stdout).unwrap();
        let process = Path::new("/proc").join(pid.trim());
        until("containerd has ended", || !process.exists()).await;
        self.child = Daemon::spawn(&self.folder);
        self.until_ready().await;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.path("log"));
            eprintln!("{}", log.unwrap_or_default());
            if let Ok(pid) = std::fs::read_to_string(self.path("pid")) {
                drop(privileged("kill").arg(pid.trim()).status());
            }
        } else {
            self.signal("TERM");
        }
        drop(self.child.wait());
        // Its files belong to root.
        drop(privileged("rm").arg("-rf").arg(self.folder.path()).status());
    }
}

/// The image of the sandboxes, as the program takes it.
fn sandbox_image() -> String {
    std::env::var("STACKLOOM_SANDBOX_IMAGE").unwrap_or_else(|_| "stackloom-sandbox".into())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes; needs root, Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_killed_docker_daemon_ends_no_run() {
    let mut daemon = Daemon::start().await;
    let settings = vec![
        ("STACKLOOM_DOCKER", daemon.address()),
        ("STACKLOOM_RETRY_PAUSE", "5".into()),
    ];
    let scene = Scene::with_settings("kill-docker", "172.31.75.0/24", settings).await;
    let started = scene.deploy().await;
    let run = text(&started, "run");
    scene.program.until_begun(&run, "configure").await;
    let has_sandbox = || !daemon.containers().is_empty();
    until("there is a sandbox", has_sandbox).await;
    daemon.kill();
    // The step fails at once, and is tried again until a daemon answers.
    scene
        .program
        .until_logged("a sandbox could not be removed")
        .await;
    daemon.restart().await;

    scene.program.until_over(&run).await;
    let ended = scene.program.get(&format!("/api/v1/runs/{run}")).await;
    assert_eq!(ended["state"], "succeeded", "{ended:#}");
    let mut steps = ended["steps"].as_array().unwrap().iter();
    let configured = steps.find(|step| step["kind"] == "configure").unwrap();
    assert!(configured["attempts"].as_u64() > Some(1), "{configured}");
    scene.stands(&started, "Docker was killed").await;
    until("no sandbox is left", || daemon.containers().is_empty()).await;

    let run = scene.undeploy(&started).await;
    scene.program.until_over(&run).await;
    scene.nothing_is_left("Docker was killed").await;
    scene.lab.stop().await;
}
