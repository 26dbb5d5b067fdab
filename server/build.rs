//! Compiles the error pages of `docs/errors` into the program, so that `/errors/<code>` works without the source tree.

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../docs/errors");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../docs/errors");
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if let (Some("md"), Some(code)) = (
            path.extension().and_then(|e| e.to_str()),
            path.file_stem().and_then(|s| s.to_str()),
        ) {
            pages.push((code.to_owned(), path.canonicalize()?));
        }
    }
    pages.sort();
    let mut source = String::from("&[\n");
    for (code, path) in pages {
        writeln!(source, "    ({code:?}, include_str!({path:?})),")?;
    }
    source.push_str("]\n");
    fs::write(
        Path::new(&env::var("OUT_DIR")?).join("error_pages.rs"),
        source,
    )?;
    Ok(())
}
