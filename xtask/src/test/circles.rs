//! Cycles among modules: siblings that use each other, directly or indirectly, at any level of a crate.
//!
//! Modules in a cycle can only be understood, tested and moved together. The compiler forbids cycles between crates;
//! this check forbids them inside a crate. [`modules`] reads the source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::modules::{self, Modules, Siblings};

/// Fails if a crate of the workspace has a cycle, or a module file beside its folder.
pub fn run() -> Result<()> {
    let mut found = Vec::new();
    let mut beside = Vec::new();
    for source in modules::sources()? {
        beside.extend(beside_their_folder(&source)?);
        let name = modules::name(&source);
        found.extend(
            circles(&source)?
                .into_iter()
                .map(|circle| format!("{name}: {circle}")),
        );
    }
    println!("{} circles among modules", found.len());
    for circle in &found {
        println!("{circle}");
    }
    for file in &beside {
        println!("move it into its folder, as mod.rs: {}", file.display());
    }
    if !found.is_empty() {
        bail!("modules use each other in circles");
    }
    if !beside.is_empty() {
        bail!("modules stand beside their folders");
    }
    Ok(())
}

/// Files `x.rs` beside a folder `x` of modules, at any depth.
fn beside_their_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut has_modules = false;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(beside_their_folder(&path)?);
        }
        has_modules |= path.extension().is_some_and(|ending| ending == "rs");
    }
    let file = folder.with_extension("rs");
    found.extend((has_modules && file.is_file()).then_some(file));
    Ok(found)
}

/// The cycles of a crate, each as `level: module, module`.
fn circles(source: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (level, uses) in &Modules::of_crate(source)?.levels() {
        let reach: BTreeMap<&str, BTreeSet<&str>> = uses
            .keys()
            .map(|from| (from.as_str(), reachable(uses, from)))
            .collect();
        let mut reported = BTreeSet::new();
        for (from, reached) in &reach {
            let circle: BTreeSet<&str> = reached
                .iter()
                .copied()
                .filter(|to| reach.get(to).is_some_and(|back| back.contains(from)))
                .collect();
            if circle.len() > 1 && reported.insert(circle.clone()) {
                let names: Vec<&str> = circle.into_iter().collect();
                let level = if level.is_empty() {
                    "crate".to_owned()
                } else {
                    level.join("::")
                };
                found.push(format!("{level}: {}", names.join(", ")));
            }
        }
    }
    Ok(found)
}

/// The modules that a module uses, directly or indirectly.
fn reachable<'u>(uses: &'u Siblings, from: &str) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(next) = open.pop() {
        for to in uses.get(next).into_iter().flatten() {
            if reached.insert(to.as_str()) {
                open.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let folder =
            std::env::temp_dir().join(format!("circles-{}-{}", std::process::id(), files.len()));
        for (path, text) in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let circles = circles(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        circles
    }

    #[test]
    fn two_modules_that_import_each_other_are_a_circle() {
        let circles = found(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; fn f() { super::a::A; }"),
        ]);
        assert_eq!(circles, ["crate: a, b"]);
    }

    #[test]
    fn re_exports_are_followed_and_tests_left_out() {
        let circles = found(&[
            ("lib.rs", "mod a; mod b; mod c; pub use b::B; pub use c::*;"),
            ("a.rs", "use crate::{B, C}; pub struct A;"),
            (
                "b.rs",
                "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
            ),
            (
                "c/mod.rs",
                "mod inner; mod other; pub struct C; use crate::a::A;",
            ),
            ("c/inner.rs", "use super::other::X;"),
            ("c/other.rs", "pub struct X;"),
        ]);
        assert_eq!(circles, ["crate: a, c"]);
    }

    #[test]
    fn a_module_beside_its_folder_is_found() {
        let folder = std::env::temp_dir().join(format!("beside-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        for file in ["a/mod.rs", "a/b.rs", "a/b/c.rs"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let found = beside_their_folder(&folder).unwrap();
        assert_eq!(found, [folder.join("a/b.rs")]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn siblings_deep_inside_count() {
        let circles = found(&[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod x; mod y; use x::X;"),
            ("a/x.rs", "use super::y::Y; pub struct X;"),
            ("a/y.rs", "use super::X; pub struct Y;"),
        ]);
        assert_eq!(circles, ["a: x, y"]);
    }
}
