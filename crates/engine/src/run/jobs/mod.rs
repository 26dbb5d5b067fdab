//! Programs of tasks on servers: detached, followed live, and found again after a crash.
//!
//! # One mechanism for live output and for crashes
//!
//! Ansible returns a program's output when the program has ended, and ends the program's connection with its own. Both are wrong
//! for a script that runs for ten minutes. So the programs of `command`, `shell`, `script` and `raw` tasks run in a session of
//! their own on the server, with output, errors and exit code in files of a folder ([`JobFolder`]). The launcher (`launch.sh`) that
//! Ansible calls in the program's place starts it once, waits for its end, and returns what it returned.
//!
//! - The engine follows the files over its own SSH connection ([`Live`]), from the byte where it was. The sandbox has no part in
//!   that, and no new channel.
//! - A step that is repeated after a crash calls the launcher with the same names. It finds the running program, or the result of
//!   one that has ended, and starts none twice. The position of the last stored line is stored with that line
//!   ([`api::LogPosition`]), so each line is in the log once.
//! - A new attempt, after a failure or in a new run, has its own folder. What its predecessor left running is ended first.
//!
//! The folder is removed after the step's ending is in the journal: a crash in between must find it.
//!
//! Ansible's own way, `async` and `poll`, was not taken: it changes what tasks mean (no `creates`, one item of a loop after the
//! other is polled), it mixes output and errors into one result, and shows neither before the end.
//!
//! # Who may do what on the server
//!
//! Tasks run as any user, the engine as root. Folders of a step are writable by all and readable by root, as `/tmp` is sticky:
//! each execution's folder belongs to the user of its task. Their names come from the engine's key, so no other user can make one
//! first. Output of `no_log` tasks is in the same files, hidden from the engine by name.
//!
//! # Each line once
//!
//! A task's result repeats the output of its program. It is logged only from where the live output ends: nothing of it if that is
//! complete, the rest if the connection broke off or brought nothing for a while. What would come after that is dropped.
//!
//! Package managers write logs of their own, which are followed during package tasks. Neither the log nor the result has all lines
//! of the other, so they are compared line by line.
//!
//! # Locks
//!
//! cloud-init, unattended upgrades and a package manager that an ended sandbox left hold locks. They are waited for before a role
//! begins, and the log says for whom. A command waits for a minute only: it may be what ends the program that holds the lock.
//!
//! Those that come later are waited for by the package manager itself: Ansible's modules by `lock_timeout`, and apt by a setting,
//! because `lock_timeout` does not cover the `apt-get install` that Ansible calls. The setting arrives by the environment, so
//! scripts that call apt have it as well. Both are set for all tasks in the sandbox (`locks.py`), because playbooks of users have
//! plays of their own.

mod folder;
pub mod host_key;
mod live;
mod output;
mod packages;
mod reader;
mod result;
pub mod spool;

pub use folder::{APT_CONFIG, Begun, JobFolder, LOCK_SECONDS, locks};
pub use live::{Live, Positions, Stored, TaskKind};
pub use result::ResultLine;
