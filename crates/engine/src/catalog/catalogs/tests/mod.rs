//! The catalogues of projects and deployments, on a database and a folder for each test.

use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use super::*;

mod deployments;
mod folders;
mod publishing;

fn tenant(project: &str) -> Tenant {
    Tenant {
        cloud: "lab".into(),
        project_id: project.into(),
    }
}

/// The archive of an item of this name, with `word` in its role.
fn archive(name: &str, version: &str, word: &str) -> Vec<u8> {
    let manifest =
        format!("name: {name}\ntitle: T\nversion: {version}\nsummary: s\ncategory: test\n");
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in [
        ("item.yml", manifest),
        (
            "meta/argument_specs.yml",
            "argument_specs: {main: {options: {}}}".to_owned(),
        ),
        ("tasks/main.yml", format!("- debug: {{msg: {word}}}")),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        builder
            .append_data(&mut header, path, text.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

async fn catalogs(folder: &TempDir) -> Catalogs {
    let store = store::testing::memory().await.store().clone();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    Catalogs::new(Catalog::load(&own).unwrap(), folder.path(), store)
}

fn says(catalog: &Catalog, word: &str) -> bool {
    let files = catalog.get("hello").unwrap().files().unwrap();
    String::from_utf8_lossy(&files["tasks/main.yml"]).contains(word)
}

fn member(user: &str) -> Publisher<'_> {
    Publisher {
        user,
        user_id: user,
        rank: Rank::Member,
    }
}
