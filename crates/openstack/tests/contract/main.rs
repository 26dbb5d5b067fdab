//! What we take for granted of an OpenStack cloud: written once, run against the lab and against a real one.
//!
//! Every check is something that the engine, its drivers or the forms rely on: a status code, the form
//! of a body, a filter, a conflict, the way to the next page. The real cloud says what is right; the lab is
//! mended until it says the same, else it would teach us wrong things. So no check here may be weakened
//! for the lab's sake; what it cannot do yet stands in [`world::Known`].
//!
//! Without further words the lab in memory is meant. `cargo xtask contract --cloud real --clouds FILE` asks a
//! real cloud: it needs a network that floating IPs come from, an image, a flavor, and nothing else in
//! the project is touched. All that a case makes has a name that begins with `contract-`, and is gone
//! at its end, also when it fails.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::large_futures, reason = "a case is one long story, told once")]

mod compute;
mod directory;
mod flavors;
mod identity;
mod image;
mod instance_actions;
mod ipv6;
mod key_manager;
mod limits;
mod lists;
mod load_balancer;
mod network;
mod network_more;
mod network_rare;
mod qos;
mod quota;
mod second_factor;
mod volume;
mod volume_types;
mod world;
