//! Stand-ins for what is inside servers of the lab in memory, and for the sandboxes: an SSH server and a Docker daemon in this process.
//!
//! The engine does not know them from real ones: it dials port 22 of the servers' floating IPs, through the bastion where there is one,
//! and speaks to Docker's API. They run no program: a command on a server succeeds at once, and a sandbox ends well.

mod docker;
mod ssh;

pub use docker::start as docker;
pub use ssh::answer as answer_ssh;
