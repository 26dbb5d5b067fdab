//! Running other programs. Commands are printed, and errors contain the command.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths;

/// A command that runs in the root of the tree.
pub fn cmd<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(paths::root());
    command
}

/// A cargo command, without the package variables that `cargo run` sets for xtask. Some build scripts watch these
/// variables, and would run again at each change between `cargo xtask` and plain `cargo`.
pub fn cargo<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = cmd(&program, args);
    if std::env::var_os("CARGO_NET_RETRY").is_none() {
        command.env("CARGO_NET_RETRY", "10");
    }
    for (name, _) in std::env::vars_os() {
        let known = name.to_string_lossy();
        if known.starts_with("CARGO_PKG_") || known.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command with its output shown.
pub fn run(command: &mut Command) -> Result<()> {
    eprintln!("{}", dim(&format!("$ {}", shown(command))));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a command. Its output is shown only if it fails.
pub fn run_quiet(command: &mut Command) -> Result<()> {
    read(command).map(drop)
}

/// Pauses between download attempts.
const FETCH_PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];

/// Runs a command that downloads files, three times at most, since connections break and mirrors can be out of sync.
/// The command must be repeatable.
pub fn fetch(command: &mut Command) -> Result<()> {
    for pause in FETCH_PAUSES {
        match run_quiet(command) {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("{error:#}\nonce more in {}", duration(pause)),
        }
        std::thread::sleep(pause);
    }
    run_quiet(command)
}

/// Runs a command and returns its standard output.
pub fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        bail!(
            "`{}` ended with {}:\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&text).trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

/// Whether the command can be started and succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program exists, in the path or in `/usr/sbin` and `/sbin`.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|dir| dir.join(program).is_file())
}

/// Whether xtask runs as root. All commands that require root use [`as_root`].
pub fn is_root() -> bool {
    read(&mut cmd("id", ["-u"])).is_ok_and(|id| id == "0")
}

/// A command as root, with `sudo` for other users.
pub fn as_root<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> Command {
    if is_root() {
        return cmd(program, args);
    }
    let mut command = cmd("sudo", [program]);
    command.args(args);
    command
}

/// Asks for consent. Without a terminal, or with `CI=true`, the answer is yes.
pub fn consent(question: &str) -> Result<()> {
    if std::env::var("CI").is_ok_and(|ci| ci == "true") || !std::io::stdin().is_terminal() {
        return Ok(());
    }
    eprint!("{question} [Y/n] ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(()),
        _ => bail!("stopped, nothing was changed"),
    }
}

/// Prints a headline.
pub fn headline(text: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("\x1b[1m{text}\x1b[0m");
    } else {
        eprintln!("== {text}");
    }
}

/// Text in a dim colour.
pub fn dim(text: &str) -> String {
    if std::io::stderr().is_terminal() {
        format!("\x1b[2m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Polls every 0.1 s until the condition is true or the time limit is reached. Returns whether it became true.
pub fn wait_until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A duration as `1 m 03 s` or `4.2 s`.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} m {:02} s", seconds / 60, seconds % 60),
    }
}

/// The command line, for messages.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
