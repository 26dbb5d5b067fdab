//! The `openstack` command line, unmodified, against the lab in memory.
//!
//! Each file in `cli/` is one session. Lines that begin with `$` are input (placeholders such as `<secret name>` are
//! replaced by ids and URLs). The rest is the expected output: ids, times and MAC addresses are replaced by
//! placeholders, and runs of blanks and dashes are collapsed (their length depends on ids). The program takes two
//! seconds to start and 0.1 s per command, so a session is one process that reads all its commands from standard input,
//! with a marker between them.
//!
//! `cargo xtask test cli` installs the program and runs a sample, with `--full` all sessions. Manually:
//!
//! ```text
//! STACKLOOM_OPENSTACK=~/.cache/stackloom/cli/bin/openstack cargo test -p lab --test cli -- --include-ignored
//! ```
//!
//! `STACKLOOM_WRITE_TRANSCRIPTS=1` rewrites the files. Review the changes before committing them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lab::services::{Model, ProvisioningStatus, Status, VolumeStatus};
use lab::{Lab, LabConfig};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

macro_rules! sessions {
    ($($(#[$note:meta])* $name:ident as $user:literal;)*) => {$(
        $(#[$note])*
        #[tokio::test]
        async fn $name() {
            session(stringify!($name), $user).await;
        }
    )*};
}

sessions! {
    identity as "demo";
    server as "demo";
    volume as "demo";
    #[ignore = "not in the sample"]
    balancing as "demo";
    #[ignore = "not in the sample"]
    states as "demo";
    #[ignore = "not in the sample"]
    history as "demo";
    #[ignore = "not in the sample"]
    pools as "demo";
    #[ignore = "not in the sample"]
    network as "demo";
    #[ignore = "not in the sample"]
    security as "demo";
    #[ignore = "not in the sample"]
    image as "demo";
    #[ignore = "not in the sample"]
    secret as "demo";
    #[ignore = "not in the sample"]
    sharing as "demo";
    #[ignore = "not in the sample"]
    keys as "demo";
    #[ignore = "not in the sample"]
    credentials as "demo";
    #[ignore = "not in the sample"]
    quotas as "admin";
    #[ignore = "not in the sample"]
    people as "admin";
    #[ignore = "not in the sample"]
    admin as "admin";
    #[ignore = "not in the sample"]
    reader as "reader";
}

/// The same with the OpenStack SDK: `cli/sdk.py`.
#[tokio::test]
async fn sdk() {
    let place = tempfile::tempdir().unwrap();
    let lab = Lab::memory().await.unwrap();
    prepare(place.path(), &lab, "demo");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let python = program().with_file_name("python3");
    let output = Command::new(python)
        .arg("-W")
        .arg("ignore")
        .arg(tests.join("sdk.py"))
        .current_dir(place.path())
        .env("OS_CLIENT_CONFIG_FILE", place.path().join("clouds.yaml"))
        .env("HOME", place.path())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output_text}\n{trouble}");
    let file = tests.join("sdk.txt");
    if std::env::var_os("STACKLOOM_WRITE_TRANSCRIPTS").is_some() {
        std::fs::write(&file, output_text).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(&file).unwrap();
    assert_eq!(stored, output_text, "{}", file.display());
    let left = lab.leftovers();
    assert!(left.is_empty(), "{left:?}");
}

async fn session(name: &str, user: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/{name}.txt"));
    let stored = std::fs::read_to_string(&file).unwrap();
    let commands: Vec<&str> = stored
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    let lab = Lab::start(LabConfig {
        quotas: Default::default(),
        ..LabConfig::memory()
    })
    .await
    .unwrap();
    let place = tempfile::tempdir().unwrap();
    prepare(place.path(), &lab, user);
    let output_text = talk(place.path(), user, &lab, &commands).await;
    let mut shown = String::new();
    for (command, answer) in commands.iter().zip(&output_text) {
        shown.push_str(&format!("$ {command}\n{}", normal(answer, &lab)));
    }
    lab.stop().await;
    if std::env::var_os("STACKLOOM_WRITE_TRANSCRIPTS").is_some() {
        std::fs::write(&file, shown).unwrap();
        return;
    }
    if let Some(difference) = difference(&stored, &shown) {
        panic!("{}: {difference}", file.display());
    }
}

/// Creates the files that sessions use: clouds.yaml, an image, a public key, user data.
fn prepare(place: &Path, lab: &Lab, user: &str) {
    let project = if user == "reader" { "demo" } else { user };
    let clouds = format!(
        "clouds: {{lab: {{region_name: lab, auth: {{auth_url: \"{}\", username: {user}, password: {user}, project_name: {project}, \
         user_domain_name: Default, project_domain_name: Default}}}}}}\n",
        lab.auth_url()
    );
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl somebody\n";
    for (name, content) in [
        ("clouds.yaml", clouds.as_bytes()),
        ("disk.raw", &[7_u8; 64 * 1024]),
        ("key.pub", key.as_bytes()),
        ("user-data", b"#cloud-config\n{}\n"),
    ] {
        std::fs::write(place.join(name), content).unwrap();
    }
}

fn program() -> PathBuf {
    std::env::var_os("STACKLOOM_OPENSTACK")
        .map(PathBuf::from)
        .expect("STACKLOOM_OPENSTACK says where `openstack` is; `cargo xtask test cli` sees to it")
}

/// The marker between the outputs of two commands.
const MARK: &str = "@@ next @@";

/// Runs commands, and returns the output of each. The next one runs when the cloud is idle, so that the output does not
/// depend on the speed of the machine.
async fn talk(place: &Path, user: &str, lab: &Lab, commands: &[&str]) -> Vec<String> {
    let program = program();
    // One stream for both outputs keeps their order.
    let mut child = Command::new("sh")
        .args(["-c", "exec \"$0\" 2>&1"])
        .arg(&program)
        .current_dir(place)
        .env("OS_CLIENT_CONFIG_FILE", place.join("clouds.yaml"))
        .env("OS_CLOUD", "lab")
        .env("HOME", place)
        .env("PYTHONUNBUFFERED", "1")
        .env("TZ", "UTC")
        .env("COLUMNS", "200")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut answers = Vec::new();
    for command in commands {
        let typed = format!("{}\n!echo {MARK}\n", filled(command, lab));
        input.write_all(typed.as_bytes()).await.unwrap();
        let mut answer = String::new();
        while !answer.contains(MARK) {
            let read = output.read_line(&mut answer).await.unwrap();
            assert!(
                read > 0,
                "{user}'s session ended early, at `{command}`: {answer}"
            );
        }
        answers.push(answer.replace(MARK, ""));
        at_rest(lab).await;
    }
    answers
}

/// A command with its placeholders `<kind>` and `<kind name>` replaced.
fn filled(command: &str, lab: &Lab) -> String {
    let mut typed = String::new();
    let mut rest = command;
    while let Some((before, (word, after))) = rest
        .split_once('<')
        .and_then(|(before, rest)| Some((before, rest.split_once('>')?)))
    {
        typed.push_str(before);
        let (kind, name) = word.split_once(' ').unwrap_or((word, ""));
        let found = lab.model(|model| known(model, &lab.url(), kind, name));
        typed.push_str(&found.unwrap_or_else(|| panic!("`{command}`: no {word}")));
        rest = after;
    }
    typed + rest
}

/// The id or URL of a resource.
fn known(model: &Model, url: &str, kind: &str, name: &str) -> Option<String> {
    let barbican = format!("{url}/key-manager/v1");
    Some(match kind {
        "lab" => url.to_owned(),
        "project" => {
            let mut all = model.identity.projects.iter();
            all.find(|row| row.fields["name"] == name)?.id.clone()
        }
        "user" => {
            let mut all = model.identity.users.iter();
            all.find(|row| row.fields["name"] == name)?.id.clone()
        }
        "secret" => {
            let mut all = model.secrets.iter();
            let row = all.find(|row| row.name.as_deref() == Some(name))?;
            format!("{barbican}/secrets/{}", row.id)
        }
        "container" => {
            let mut all = model.secret_containers.iter();
            let row = all.find(|row| row.name.as_deref() == Some(name))?;
            format!("{barbican}/containers/{}", row.id)
        }
        "rbac" => model.rbac_policies.iter().next()?.id.clone(),
        "forwarding" => {
            let mut all = model.floating_ips.iter();
            all.find_map(|row| Some(row.port_forwardings.first()?.id.clone()))?
        }
        _ => return None,
    })
}

async fn at_rest(lab: &Lab) {
    let rest = async {
        while !lab.model(is_at_rest) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), rest)
        .await
        .expect("the lab comes to rest");
}

fn is_at_rest(model: &Model) -> bool {
    let is_busy = |status: VolumeStatus| {
        !matches!(
            status,
            VolumeStatus::Available | VolumeStatus::InUse | VolumeStatus::Error
        )
    };
    let storage = &model.block_storage;
    model
        .servers
        .iter()
        .all(|server| server.task_state.is_none() && server.status != Status::Build)
        && !model.balancing.iter().any(|piece| {
            !matches!(
                piece.status,
                ProvisioningStatus::Active | ProvisioningStatus::Error
            )
        })
        && !storage.volumes.iter().any(|volume| is_busy(volume.status))
        && !storage
            .snapshots
            .iter()
            .any(|snapshot| is_busy(snapshot.status))
}

/// An output without parts that differ between runs.
fn normal(answer: &str, lab: &Lab) -> String {
    let address = lab.address().to_string();
    let mut text = String::new();
    let lines = answer
        .lines()
        .map(str::trim_end)
        // Warnings of Python, unrelated to the output.
        .filter(|line| !line.is_empty() && !line.contains("Warning"));
    for line in lines {
        // The number and the values of progress lines depend on the speed of the machine.
        let mut line = line;
        while let Some(rest) = line.trim_start().strip_prefix("Progress: ") {
            line = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        if line.is_empty() {
            continue;
        }
        let line = line.replace(&address, "<lab>");
        text.push_str(&squeeze(&words(&line)));
        text.push('\n');
    }
    text
}

/// Replaces ids, times, digests and MAC addresses.
fn words(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let inside = shown.ends_with(|c: char| c.is_ascii_alphanumeric());
        let found = PATTERNS
            .iter()
            .filter(|_| !inside)
            .find_map(|(pattern, word)| Some((length(pattern, rest)?, word)));
        match found {
            Some((length, word)) => {
                shown.push_str(word);
                rest = &rest[length..];
            }
            None => {
                let next = rest.chars().next().unwrap();
                shown.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    shown
}

/// `h` is a hexadecimal digit, `9` a decimal digit, all else itself. Longer patterns come first.
const PATTERNS: &[(&str, &str)] = &[
    ("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "<id>"),
    ("9999-99-99T99:99:99.999999", "<time>"),
    ("9999-99-99T99:99:99+9999", "<time>"),
    ("9999-99-99T99:99:99+99:99", "<time>"),
    ("9999-99-99T99:99:99Z", "<time>"),
    ("9999-99-99T99:99:99", "<time>"),
    ("9999-99-99 99:99:99+99:99", "<time>"),
    ("9999-99-99 99:99:99", "<time>"),
    ("fa:16:3e:hh:hh:hh", "<mac>"),
    (
        "lab-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh",
        "<token>",
    ),
    (
        "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh",
        "<secret>",
    ),
    ("hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh", "<id>"),
    ("hhhhhhhhhhhh", "<password>"),
];

/// The length of the pattern, if the text begins with it and a word ends there.
fn length(pattern: &str, text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..pattern.len())?;
    let fits = pattern.bytes().zip(bytes).all(|(wanted, is)| match wanted {
        b'h' => is.is_ascii_hexdigit(),
        b'9' => is.is_ascii_digit(),
        other => other == *is,
    });
    let ends = text.as_bytes().get(pattern.len());
    let ends = ends.is_none_or(|next| !next.is_ascii_alphanumeric());
    (fits && ends).then_some(pattern.len())
}

/// Collapses runs of blanks and of dashes.
fn squeeze(line: &str) -> String {
    let mut shown = String::new();
    for next in line.chars() {
        let repeated = matches!(next, ' ' | '-') && shown.ends_with(next);
        if !repeated {
            shown.push(next);
        }
    }
    shown
}

/// The first difference, with its command.
fn difference(wanted: &str, got: &str) -> Option<String> {
    let mut command = "";
    let mut lines = (wanted.lines(), got.lines());
    loop {
        match (lines.0.next(), lines.1.next()) {
            (None, None) => return None,
            (a, b) if a == b => {
                if let Some(line) = a.filter(|line| line.starts_with("$ ")) {
                    command = line;
                }
            }
            (a, b) => {
                let (a, b) = (a.unwrap_or("<nothing>"), b.unwrap_or("<nothing>"));
                return Some(format!("after `{command}`\n  wanted: {a}\n  got:    {b}"));
            }
        }
    }
}
