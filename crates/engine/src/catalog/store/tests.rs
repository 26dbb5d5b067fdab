use flate2::{Compression, write::GzEncoder};
use sqlx::sqlite::SqlitePoolOptions;
use tempfile::TempDir;

use super::*;

fn tenant(project: &str) -> Tenant {
    Tenant {
        cloud: "lab".into(),
        project_id: project.into(),
    }
}

/// An item named so, whose role says `word`.
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

async fn store(folder: &TempDir) -> Store {
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect("sqlite::memory:").await.unwrap();
    sqlx::migrate!("../../migrations").run(&pool).await.unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    Store::new(Catalog::load(&own).unwrap(), folder.path(), pool)
}

fn says(catalog: &Catalog, word: &str) -> bool {
    let files = catalog.get("hello").unwrap().files().unwrap();
    String::from_utf8_lossy(&files["tasks/main.yml"]).contains(word)
}

#[tokio::test]
async fn a_deployment_keeps_the_version_that_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let (store, demo) = (store(&folder).await, tenant("demo"));
    let publish = async |version: &str, word: &str| {
        let archive = archive("hello", version, word);
        store.publish(&demo, "ada", archive).await.unwrap()
    };
    publish("1.9.0", "first").await;
    sqlx::query(
        "INSERT INTO deployments (id, cloud, project_id, name, state, template, layout, parameters, outputs, author, created, updated) \
         VALUES ('d', 'lab', 'demo', 'd', 'deployed', '', '{}', '{}', '{}', 'ada', '', '')",
    )
    .execute(&store.pool)
    .await
    .unwrap();
    let pin = async |types: &[&str]| {
        let catalog = store.of_deployment(&demo, "d").await.unwrap();
        let mut connection = store.pool.acquire().await.unwrap();
        let types = types.iter().copied().collect();
        store
            .pin(&mut connection, "d", &catalog, &types)
            .await
            .unwrap();
    };
    pin(&["Stackloom::Catalog::hello", "Stackloom::Catalog::nginx"]).await;

    let second = publish("1.10.0", "second").await;
    let versions = &second.item.uploaded.as_ref().unwrap().versions;
    assert_eq!(versions, &["1.10.0", "1.9.0"], "by number, not by letter");
    assert!(says(&store.of(&demo).await.unwrap(), "second"));
    assert!(says(
        &store.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));
    assert!(says(
        &store.of_deployment(&demo, "e").await.unwrap(),
        "second"
    ));
    pin(&["Stackloom::Catalog::hello"]).await;
    assert!(says(
        &store.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));

    // Gone is gone: it does not become another version.
    sqlx::query("DELETE FROM catalog_items WHERE version = '1.9.0'")
        .execute(&store.pool)
        .await
        .unwrap();
    let without = store.of_deployment(&demo, "d").await.unwrap();
    assert!(without.get("hello").is_none() && without.get("nginx").is_some());
    pin(&[]).await;
    assert!(says(
        &store.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
}

#[tokio::test]
async fn a_version_never_changes_and_names_of_the_servers_own_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (store, demo) = (store(&folder).await, tenant("demo"));
    let publish = async |name: &str, word: &str| {
        let archive = archive(name, "1.0.0", word);
        store.publish(&demo, "ada", archive).await
    };
    assert!(!publish("hello", "first").await.unwrap().was_there);
    assert!(publish("hello", "first").await.unwrap().was_there);
    let refused = publish("hello", "second").await.unwrap_err();
    assert_eq!(refused.code(), "item-version-taken");
    assert_eq!(
        publish("nginx", "x").await.unwrap_err().code(),
        "item-name-taken"
    );
    let refused = store.publish(&demo, "ada", b"PK".to_vec()).await;
    assert_eq!(refused.unwrap_err().code(), "item-refused");
    assert!(says(&store.of(&demo).await.unwrap(), "first"));
    assert!(
        store
            .of(&tenant("other"))
            .await
            .unwrap()
            .get("hello")
            .is_none()
    );
}

#[tokio::test]
async fn files_that_were_changed_on_the_disk_are_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (store, demo) = (store(&folder).await, tenant("demo"));
    let first = archive("hello", "1.0.0", "first");
    let item = store
        .publish(&demo, "ada", first.clone())
        .await
        .unwrap()
        .item;
    let Content::Stored(place, _) = &item.content else {
        panic!("it is stored");
    };
    std::fs::write(place.join("tasks/main.yml"), "- evil").unwrap();
    assert!(item.files().is_err());
    store.publish(&demo, "ada", first).await.unwrap();
    assert!(
        says(&store.of(&demo).await.unwrap(), "first"),
        "an upload mends it"
    );
}

#[tokio::test]
async fn what_could_not_be_read_for_a_moment_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let (store, demo) = (store(&folder).await, tenant("demo"));
    let archive = archive("hello", "1.0.0", "first");
    let item = store.publish(&demo, "ada", archive).await.unwrap().item;
    let Content::Stored(place, _) = &item.content else {
        panic!("it is stored");
    };
    let away = folder.path().join("away");
    std::fs::rename(place, &away).unwrap();
    store.seen.lock().await.clear();
    assert!(store.of(&demo).await.unwrap().get("hello").is_none());
    std::fs::rename(&away, place).unwrap();
    assert!(says(&store.of(&demo).await.unwrap(), "first"));
}

#[tokio::test]
async fn small_files_count_as_what_the_disk_loses() {
    let folder = tempfile::tempdir().unwrap();
    let (store, demo) = (store(&folder).await, tenant("demo"));
    let first = archive("hello", "1.0.0", "first");
    store.publish(&demo, "ada", first).await.unwrap();
    let bytes: i64 = sqlx::query_scalar("SELECT bytes FROM catalog_items")
        .fetch_one(&store.pool)
        .await
        .unwrap();
    let block = BLOCK_BYTES as i64;
    assert_eq!(bytes, 6 * block, "three files in three folders");
    let large = Files::from([("a/b/c".to_owned(), vec![0; 4097])]);
    assert_eq!(bytes_on_disk(&large), 5 * block);
}

#[tokio::test]
async fn an_item_has_so_many_versions_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let (store, demo) = (store(&folder).await, tenant("demo"));
    let publish = async |name: &str, version: &str| {
        let archive = archive(name, version, "first");
        store.publish(&demo, "ada", archive).await
    };
    publish("hello", "1.0.0").await.unwrap();
    for minor in 1..VERSIONS_MAX {
        sqlx::query(
            "INSERT INTO catalog_items SELECT cloud, project_id, name, ?, digest, bytes, author, uploaded \
             FROM catalog_items WHERE version = '1.0.0'",
        )
        .bind(format!("1.{minor}.0"))
        .execute(&store.pool)
        .await
        .unwrap();
    }
    let refused = publish("hello", "2.0.0").await.unwrap_err();
    assert_eq!(refused.code(), "catalog-full");
    assert!(publish("hello", "1.0.0").await.unwrap().was_there);
    assert!(!publish("bye", "1.0.0").await.unwrap().was_there);
}
