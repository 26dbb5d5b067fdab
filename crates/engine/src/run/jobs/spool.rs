//! The signals in a server's spool.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::folder::{as_root, printed, printed_up_to};
use crate::{
    signals::SIGNAL_BYTES_MAX,
    ssh::{Client, SshError},
};

const SCRIPT: &str = include_str!("spool.sh");
/// Maximum number of signals that are read at once. The rest is read after their removal.
const FILES_MAX: usize = 64;
/// Maximum length of a file's name.
const NAME_BYTES_MAX: usize = 255;
/// Maximum output of the script: all signals in base64, each with its name.
const OUTPUT_BYTES_MAX: usize = FILES_MAX * (SIGNAL_BYTES_MAX * 4 / 3 + 512);

/// A signal in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolFile {
    /// The name of its file.
    pub name: String,
    /// The body of the signal. Longer than [`SIGNAL_BYTES_MAX`] if that is too long.
    pub body: Vec<u8>,
}

/// The oldest signals in a spool. Empty if nobody has signalled.
///
/// # Errors
/// If the server does not answer.
pub async fn read(client: &Client, spool: &str) -> Result<Vec<SpoolFile>, SshError> {
    let [files, bytes] = [FILES_MAX, SIGNAL_BYTES_MAX].map(|max| max.to_string());
    let command = as_root(SCRIPT, &["read", spool, &files, &bytes]);
    let printed = printed_up_to(client.execute(&command).await?, OUTPUT_BYTES_MAX).await?;
    Ok(files_in(&printed))
}

/// Removes signals from a spool.
///
/// # Errors
/// If the server does not answer.
pub async fn discard(client: &Client, spool: &str, names: &[&str]) -> Result<(), SshError> {
    let command = as_root(SCRIPT, &[&["discard", spool][..], names].concat());
    printed(client.execute(&command).await?).await.map(drop)
}

/// The signals in the output of the script. Lines that it does not print are left out: the server's root can have changed it.
fn files_in(printed: &str) -> Vec<SpoolFile> {
    let files = printed.lines().filter_map(|line| {
        let (name, body) = line.split_once(' ')?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_name = name.len() <= NAME_BYTES_MAX && name.bytes().all(fits);
        is_name.then_some(())?;
        Some(SpoolFile {
            name: name.to_owned(),
            body: STANDARD.decode(body).ok()?,
        })
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use std::{io::Write, path::Path, process::Stdio};

    use super::*;
    use crate::signals::command;

    /// Runs a shell's command with this standard input. Returns its output, or nothing if it fails.
    fn shell(words: &[&str], input: &str) -> Option<String> {
        let mut child = std::process::Command::new("sh")
            .arg("-c")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A command that does not read its input can have ended before.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        output.status.success().then_some(printed)
    }

    /// The bodies in a spool, in order.
    fn bodies(spool: &Path) -> Vec<String> {
        let spool = spool.to_str().unwrap();
        let printed = shell(&[SCRIPT, "sh", "read", spool, "64", "20"], "").unwrap();
        let files = files_in(&printed).into_iter();
        files
            .map(|file| String::from_utf8(file.body).unwrap())
            .collect()
    }

    #[test]
    fn the_command_takes_the_options_of_curl() {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        let notify = command(spool.to_str().unwrap());
        let file = folder.path().join("file");
        std::fs::write(&file, "in a file\n").unwrap();
        let from_file = format!("-d @{}", file.display());
        for options in [
            "--data-binary '{\"a\": \"it costs $500\"}'",
            "-sS -X POST -H 'A: b' -d '{}' http://there",
            "-XPOST -d1 --data 2",
            "--data-binary @-",
            &from_file,
            "--data-raw @-",
            "-i",
        ] {
            let done = shell(&[&format!("{notify} {options}")], "from stdin");
            assert!(done.is_some(), "{options}");
        }
        assert_eq!(
            bodies(&spool),
            [
                "{\"a\": \"it costs $500\"", // One byte more than the limit is read.
                "{}",
                "1&2",
                "from stdin",
                "in a file",
                "@-",
                ""
            ]
        );
    }

    #[test]
    fn a_command_that_curl_would_refuse_signals_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        let notify = command(spool.to_str().unwrap());
        for options in ["--colour", "-d", "-d @missing", "-Z"] {
            assert_eq!(shell(&[&format!("{notify} {options}")], ""), None);
        }
        assert_eq!(bodies(&spool), Vec::<String>::new());
    }

    #[test]
    fn a_link_in_place_of_the_spool_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (link, data) = (folder.path().join("spool"), folder.path().join("data"));
        std::fs::create_dir(&data).unwrap();
        let file = data.join("1259");
        std::fs::write(&file, "{}").unwrap();
        std::os::unix::fs::symlink(&data, &link).unwrap();
        let [link, there] = [&link, &data].map(|path| path.to_str().unwrap());
        let read = |spool: &str| shell(&[SCRIPT, "sh", "read", spool, "64", "20"], "");
        assert!(read(there).unwrap().starts_with("1259 "));
        assert_eq!(read(link), None);
        assert_eq!(shell(&[SCRIPT, "sh", "discard", link, "1259"], ""), None);
        assert!(file.exists());
    }

    #[test]
    fn something_else_in_place_of_the_spool_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let read = |spool: &str| shell(&[SCRIPT, "sh", "read", spool, "64", "20"], "");
        assert_eq!(read(&at("none")).as_deref(), Some(""));
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read(&at(name)), None, "{name}");
        }
    }

    #[test]
    fn links_and_pipes_in_a_spool_are_not_read_even_if_they_replace_a_signal() {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        std::fs::create_dir(&spool).unwrap();
        std::fs::write(folder.path().join("secret"), "of root").unwrap();
        let path = spool.to_str().unwrap();
        let read = |before: &str| {
            let script = format!("{before}\n{SCRIPT}");
            shell(&[&script, "sh", "read", path, "64", "20"], "")
        };
        for (name, make) in [
            ("1-link", "ln -s ../secret 1-link"),
            ("2-pipe", "mkfifo 2-pipe"),
        ] {
            let made = shell(&[&format!("cd {path} && {make}")], "");
            assert!(made.is_some(), "{name}");
        }
        std::fs::write(spool.join("3"), "{}").unwrap();
        assert_eq!(read("").as_deref(), Some("3 e30=\n"));
        // Its owner exchanges the file after it was checked. A pipe would block the reader.
        for other in ["ln -s ../secret 3", "mkfifo 3"] {
            let before = format!("head() {{ rm 3; {other}; timeout 10 head \"$@\"; }}");
            assert_eq!(read(&before).as_deref(), Some("3 e30=\n"), "{other}");
            std::fs::remove_file(spool.join("3")).unwrap();
            std::fs::write(spool.join("3"), "{}").unwrap();
        }
        let left = std::fs::read_dir(folder.path()).unwrap();
        assert_eq!(left.count(), 2, "the reader leaves nothing behind");
    }

    #[test]
    fn a_signal_overwrites_no_file_that_a_link_in_the_spool_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, data) = (folder.path().join("spool"), folder.path().join("data"));
        std::fs::create_dir(&spool).unwrap();
        std::fs::write(&data, "of root").unwrap();
        // The owner of the spool makes a link as soon as the name of the signal is known.
        let at = folder.path().to_str().unwrap();
        let program =
            "for last; do :; done; link=${last%/*}/.link; ln -s ../data $link; echo $link";
        let made =
            format!("cd {at} && printf '#!/bin/sh\\n%s\\n' '{program}' >mktemp && chmod +x mktemp");
        assert!(shell(&[&made], "").is_some());
        let notify = command(spool.to_str().unwrap());
        let done = shell(&[&format!("PATH={at}:$PATH {notify} -d no")], "");
        assert_eq!(done, None);
        assert_eq!(std::fs::read_to_string(data).unwrap(), "of root");
    }

    #[test]
    fn a_signal_that_cannot_be_read_is_no_empty_signal() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("1259"), "{}").unwrap();
        let spool = folder.path().to_str().unwrap();
        let read = |before: &str| {
            let script = format!("{before}\n{SCRIPT}");
            shell(&[&script, "sh", "read", spool, "64", "20"], "")
        };
        assert_eq!(read("").as_deref(), Some("1259 e30=\n"));
        for failure in ["head() { return 1; }", "base64() { return 1; }"] {
            assert_eq!(read(failure), None, "{failure}");
        }
    }

    #[test]
    fn a_signal_that_cannot_be_linked_is_told_when_the_others_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        std::fs::create_dir(&spool).unwrap();
        for name in ["1", "2"] {
            std::fs::write(spool.join(name), "{}").unwrap();
        }
        let path = spool.to_str().unwrap();
        let read = |failure: &str| {
            let script = format!("ln() {{ {failure}; }}\n{SCRIPT}");
            shell(&[&script, "sh", "read", path, "64", "20"], "")
        };
        let of_first = "[ \"$1\" != 1 ] && command ln \"$@\"";
        assert_eq!(read(of_first).as_deref(), Some("2 e30=\n"));
        std::fs::remove_file(spool.join("2")).unwrap();
        assert_eq!(read(of_first), None);
        // A sender may remove its signal at any time.
        assert_eq!(read("rm \"$1\"; return 1").as_deref(), Some(""));
    }

    #[test]
    fn a_line_without_the_name_of_a_file_is_no_signal() {
        let long = "1".repeat(NAME_BYTES_MAX + 1);
        let printed = format!("1-2-a e30=\n../x e30=\n1\0 e30=\n{long} e30=\n1 no base64\n");
        let files = files_in(&printed);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["1-2-a"]);
    }

    #[test]
    fn signals_are_removed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        let notify = command(spool.to_str().unwrap());
        for number in ["1", "2"] {
            shell(&[&format!("{notify} -d {number}")], "").unwrap();
        }
        let path = spool.to_str().unwrap();
        let printed = shell(&[SCRIPT, "sh", "read", path, "1", "20"], "").unwrap();
        let files = files_in(&printed);
        assert_eq!(files.len(), 1, "at most so many are read at once");
        shell(&[SCRIPT, "sh", "discard", path, &files[0].name], "").unwrap();
        assert_eq!(bodies(&spool), ["2"]);
    }
}
