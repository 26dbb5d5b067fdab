//! `cargo xtask doctor`: present and missing requirements. Changes nothing, and always succeeds.

use anyhow::Result;

use crate::shell::{self, cmd};
use crate::{disk, docker, http, needs, paths};

/// Prints the findings.
pub fn run() -> Result<()> {
    println!("Programs");
    for need in needs::for_testing() {
        let there = (need.is_there)();
        let note = if there {
            need.purpose.to_owned()
        } else {
            format!("apt-get install {}", need.packages.join(" "))
        };
        line(there, need.name, &note);
    }
    match needs::wasm_compiler() {
        Ok(how) => line(true, "wasm compiler", how),
        Err(how) => line(false, "wasm compiler", how),
    }
    let rust =
        shell::read(&mut cmd("rustc", ["--version"])).unwrap_or_else(|_| "none on the path".into());
    line(rust.starts_with("rustc"), "Rust", &rust);

    println!("Containers");
    let daemon = docker::answers();
    line(
        daemon,
        "daemon",
        if daemon {
            "answers"
        } else {
            "does not answer; `run` and `test` start one"
        },
    );
    if daemon {
        line(
            docker::has_image(docker::BASE),
            docker::BASE,
            "the base of our images",
        );
        for image in docker::IMAGES {
            let note = if docker::is_current(image) {
                "up to date"
            } else {
                "to be built"
            };
            line(docker::is_current(image), image.tag, note);
        }
    }

    println!("Built");
    for (name, file) in [
        ("wasm", "stackloom_bg.wasm"),
        ("style sheet", "stackloom.css"),
        ("icons", "icons.svg"),
    ] {
        let path = paths::pkg().join(file);
        line(path.is_file(), name, &path.display().to_string());
    }

    println!("Disk");
    let free = disk::free(&paths::root());
    line(
        free.is_some_and(|free| free >= disk::WANTED),
        "free",
        &free.map_or_else(|| "unknown".to_owned(), disk::gigabytes),
    );

    println!("Addresses");
    for (name, address, path) in [
        ("server", "127.0.0.1:8080", "/healthz"),
        ("lab cloud", "127.0.0.1:9500", "/identity/v3"),
    ] {
        let note = match (http::is_taken(address), http::answers(address, path)) {
            (false, _) => format!("{address} is free"),
            (true, true) => format!("{address} answers: one is running"),
            (true, false) => format!("{address} is taken by something else"),
        };
        line(!note.ends_with("else"), name, &note);
    }
    Ok(())
}

fn line(good: bool, name: &str, note: &str) {
    println!(
        "  {} {name:<24} {note}",
        if good { "ok     " } else { "missing" }
    );
}
