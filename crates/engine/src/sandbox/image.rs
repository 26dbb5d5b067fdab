//! Our programs in the sandbox image.
//!
//! An image that was built from older programs ignores files that it does not know, without an error: handlers would be lost,
//! for instance. So each order has the digest of the programs that this engine expects, and `entry.py` warns if its own differ.
//! It is only a warning, because an upgrade builds the image before it restarts the server.

use sha2::{Digest, Sha256};

/// Path in the image, below `/opt/stackloom`, and text of each program, sorted by path.
const PROGRAMS: [(&str, &str); 6] = [
    (
        "callback_plugins/stackloom.py",
        include_str!("../../images/sandbox/callback_plugins/stackloom.py"),
    ),
    (
        "connect.py",
        include_str!("../../images/sandbox/connect.py"),
    ),
    ("detach.py", include_str!("../../images/sandbox/detach.py")),
    ("entry.py", include_str!("../../images/sandbox/entry.py")),
    (
        "interrupted.py",
        include_str!("../../images/sandbox/interrupted.py"),
    ),
    ("locks.py", include_str!("../../images/sandbox/locks.py")),
];

/// Digest of the programs. `entry.py` computes it the same way.
pub fn programs_digest() -> String {
    let mut digest = Sha256::new();
    for (path, text) in PROGRAMS {
        digest.update(path);
        digest.update(text);
    }
    format!("{:x}", digest.finalize())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_programs_are_all_those_of_the_images_folder() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/images/sandbox"));
        let mut found = Vec::new();
        for folder in ["", "callback_plugins"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".py") {
                    let path = Path::new(folder).join(name);
                    found.push(path.to_str().unwrap().to_owned());
                }
            }
        }
        // In the order of `entry.py`.
        found.sort();
        assert_eq!(PROGRAMS.map(|(path, _)| path).to_vec(), found);
    }
}
