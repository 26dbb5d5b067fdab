//! Rules that the compiler does not enforce: SQL is only in this crate, in syntax that PostgreSQL supports too, and
//! routes make no queries across tenants.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder with one of the names or extensions, without build results.
fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
                files(&path, wanted, found);
            }
        } else if wanted(&name) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

fn all(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(folder, &wanted, &mut found);
    assert!(!found.is_empty(), "{} has such files", folder.display());
    found
}

#[test]
fn only_the_store_depends_on_a_database() {
    let store = root().join("crates/store");
    let manifests = all(&root(), |name| name == "Cargo.toml");
    let mut users = manifests.iter().filter(|(path, text)| {
        let uses = |line: &str| {
            let name = line.split(['.', ' ', '=']).next();
            matches!(
                name,
                Some("sqlx" | "rusqlite" | "libsqlite3-sys" | "tokio-postgres")
            )
        };
        *path != root().join("Cargo.toml") && text.lines().any(uses)
    });
    let (path, _) = users.next().unwrap();
    assert_eq!(*path, store.join("Cargo.toml"));
    assert_eq!(users.next(), None);
}

#[test]
fn no_query_stands_outside_of_the_store() {
    let store = root().join("crates/store");
    for (path, text) in all(&root(), |name| name.ends_with(".rs")) {
        if !path.starts_with(&store) {
            assert!(!text.contains("sqlx::"), "{}", path.display());
        }
    }
}

#[test]
fn statements_have_numbered_parameters_and_no_words_of_one_database() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let own = [
        "connect.rs",
        "database.rs",
        "migrations.rs",
        "notice.rs",
        "testing",
    ]
    .map(|name| sources.join(name));
    let mut statements = 0;
    for (path, text) in all(&sources, |name| name.ends_with(".rs")) {
        if own.iter().any(|own| path.starts_with(own)) {
            continue;
        }
        for word in [
            "json_extract",
            "json_object",
            "json_each",
            "datetime(",
            "strftime(",
            "INSERT OR",
            "rowid",
            "AUTOINCREMENT",
            "PRAGMA",
            "instr(",
            "sqlite_master",
            "Sqlite",
            "Postgres",
            "ON CONFLICT DO UPDATE",
        ] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
        for line in text.lines().filter(|line| line.contains('"')) {
            let is_statement = [
                "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WHERE ", "VALUES ",
            ]
            .iter()
            .any(|verb| line.contains(verb));
            statements += usize::from(is_statement);
            assert!(
                !is_statement || !line.contains("= ?") && !line.contains("(?"),
                "{}: {line}",
                path.display()
            );
        }
    }
    assert!(statements > 50, "statements are found");
}

/// Routes do not get the handle across tenants: it is created at the start, and passed to the engine, to the deletion
/// of expired sessions and to the metrics.
#[test]
fn routes_have_no_queries_across_tenants() {
    let server = root().join("server/src");
    let may_have = ["build.rs", "metrics.rs"].map(|name| server.join(name));
    for (path, text) in all(&server, |name| name.ends_with(".rs")) {
        if !may_have.contains(&path) {
            assert!(!text.contains("Operator"), "{}", path.display());
            assert!(!text.contains("operator()"), "{}", path.display());
        }
    }
    let metrics = fs::read_to_string(server.join("metrics.rs")).unwrap();
    assert!(metrics.contains("    operator: Operator,"), "private");
    let engine = fs::read_to_string(root().join("crates/engine/src/engine/mod.rs")).unwrap();
    let returns = engine.lines().filter(|line| line.contains("Operator"));
    assert_eq!(
        returns.map(str::trim).collect::<Vec<_>>(),
        [
            "use store::{Operator, Outcome};",
            "pub async fn start(config: Config, operator: Operator) -> Result<Engine> {"
        ],
        "the engine takes it, and gives it to nobody"
    );
}
