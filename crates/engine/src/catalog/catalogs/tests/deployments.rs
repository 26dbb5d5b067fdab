//! Versions that deployments keep.

use super::*;

#[tokio::test]
async fn a_deployment_keeps_the_version_that_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |version: &str, word: &str| {
        let archive = archive("hello", version, word);
        catalogs
            .publish(&demo, member("ada"), archive, None)
            .await
            .unwrap()
    };
    publish("1.9.0", "first").await;
    store::testing::deployment_insert(&catalogs.store, &demo, "d").await;
    let pin = async |types: &[&str]| {
        let catalog = catalogs.of_deployment(&demo, "d").await.unwrap();
        let mut transaction = catalogs.store.begin("testing").await.unwrap();
        let types = types.iter().copied().collect();
        catalogs
            .pin(&mut transaction, (&demo, "d"), &catalog, &types)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    };
    pin(&["Stackloom::Catalog::hello", "Stackloom::Catalog::nginx"]).await;

    let second = publish("1.10.0", "second").await;
    let versions = &second.item.uploaded.as_ref().unwrap().versions;
    assert_eq!(versions, &["1.10.0", "1.9.0"], "by number, not by letter");
    assert!(says(&catalogs.of(&demo).await.unwrap(), "second"));
    assert!(says(
        &catalogs.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));
    assert!(says(
        &catalogs.of_deployment(&demo, "e").await.unwrap(),
        "second"
    ));
    pin(&["Stackloom::Catalog::hello"]).await;
    assert!(says(
        &catalogs.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));

    // A change can ask for another version, and only for one that is there.
    let wanted = |version: &str| BTreeMap::from([("hello".to_owned(), version.to_owned())]);
    let second = catalogs
        .with_versions(&demo, Some("d"), &wanted("1.10.0"))
        .await;
    assert!(says(&second.unwrap(), "second"));
    let missing = catalogs
        .with_versions(&demo, Some("d"), &wanted("2.0.0"))
        .await;
    assert_eq!(missing.unwrap_err().code(), "not-found");
    let first = catalogs.version(&demo, "hello", "1.9.0").await.unwrap();
    assert_eq!(first.described.version, "1.9.0");
    let foreign = catalogs.version(&tenant("other"), "hello", "1.9.0").await;
    assert_eq!(foreign.unwrap_err().code(), "not-found");

    // A deleted version does not become another version.
    store::testing::item_delete(&catalogs.store, "1.9.0").await;
    let without = catalogs.of_deployment(&demo, "d").await.unwrap();
    assert!(without.get("hello").is_none() && without.get("nginx").is_some());
    pin(&[]).await;
    assert!(says(
        &catalogs.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
}

/// A server on this database whose folder has the item `hello` in this version.
fn server_with(store: &Store, data: &TempDir, version: &str, word: &str) -> Catalogs {
    let folder = tempfile::tempdir().unwrap();
    let files = unpack(&archive("hello", version, word), &Limits::default()).unwrap();
    folder::store_files(&folder.path().join("hello"), &files).unwrap();
    let own = Catalog::load(folder.path()).unwrap();
    Catalogs::new(own, data.path(), store.clone())
}

#[tokio::test]
async fn a_deployment_keeps_its_version_when_the_server_has_another_one() {
    let data = tempfile::tempdir().unwrap();
    let (store, demo) = (
        store::testing::memory().await.store().clone(),
        tenant("demo"),
    );
    let types = BTreeSet::from(["Stackloom::Catalog::hello"]);
    store::testing::deployment_insert(&store, &demo, "d").await;
    let change = async |catalogs: &Catalogs, catalog: &Catalog| {
        catalogs.keep_own(catalog, &types).await.unwrap();
        let mut transaction = store.begin("testing").await.unwrap();
        let pinned = catalogs.pin(&mut transaction, (&demo, "d"), catalog, &types);
        pinned.await.unwrap();
        transaction.commit().await.unwrap();
    };
    let before = server_with(&store, &data, "1.0.0", "first");
    change(&before, &before.of(&demo).await.unwrap()).await;

    let after = server_with(&store, &data, "1.1.0", "second");
    assert!(says(&after.of(&demo).await.unwrap(), "second"));
    let kept = after.of_deployment(&demo, "d").await.unwrap();
    assert!(says(&kept, "first"));
    assert_eq!(kept.get("hello").unwrap().described.version, "1.0.0");
    assert!(says(
        &after.of_deployment(&demo, "e").await.unwrap(),
        "second"
    ));
    // An unrelated change keeps the version.
    change(&after, &kept).await;
    assert!(says(
        &after.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));

    // An upgrade goes to the present version, and a roll-back to the stored one.
    let versions = after.versions(&demo).await.unwrap();
    assert_eq!(versions["hello"], ["1.1.0", "1.0.0"]);
    let wanted = |version: &str| BTreeMap::from([("hello".to_owned(), version.to_owned())]);
    let next = wanted("1.1.0");
    let upgraded = after.with_versions(&demo, Some("d"), &next);
    change(&after, &upgraded.await.unwrap()).await;
    assert!(says(
        &after.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
    let back = after
        .with_versions(&demo, Some("d"), &wanted("1.0.0"))
        .await;
    assert!(says(&back.unwrap(), "first"));
    let missing = after
        .with_versions(&demo, Some("d"), &wanted("2.0.0"))
        .await;
    assert_eq!(missing.unwrap_err().code(), "not-found");
    let first = after.version(&demo, "hello", "1.0.0").await.unwrap();
    assert_eq!(first.described.version, "1.0.0");

    // The operator goes back: the newer version stays with its deployment and is not offered.
    let back = server_with(&store, &data, "1.0.0", "first");
    assert!(says(
        &back.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
    assert_eq!(back.versions(&demo).await.unwrap()["hello"], ["1.0.0"]);

    // A server without the item serves the deployment, and the name stays taken.
    let without = Catalogs::new(Catalog::default(), data.path(), store.clone());
    assert!(says(
        &without.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
    let archive = archive("hello", "3.0.0", "mine");
    let refused = without.publish(&demo, member("ada"), archive, None).await;
    assert_eq!(refused.unwrap_err().code(), "item-name-taken");
}

/// The server got an item whose name a draft of the project has.
#[tokio::test]
async fn a_draft_does_not_hide_the_versions_of_the_servers_own_item() {
    let data = tempfile::tempdir().unwrap();
    let (store, demo) = (
        store::testing::memory().await.store().clone(),
        tenant("demo"),
    );
    let empty = Catalogs::new(Catalog::default(), data.path(), store.clone());
    let mine = archive("hello", "1.0.0", "mine");
    let draft = empty.store_draft(&demo, member("ada"), mine, None).await;
    let draft = draft.unwrap().item.described.version.clone();

    let types = BTreeSet::from(["Stackloom::Catalog::hello"]);
    let before = server_with(&store, &data, "1.0.0", "first");
    let catalog = before.of(&demo).await.unwrap();
    before.keep_own(&catalog, &types).await.unwrap();
    let after = server_with(&store, &data, "1.1.0", "second");
    let versions = after.versions(&demo).await.unwrap();
    assert_eq!(versions["hello"], ["1.1.0", "1.0.0"]);
    for (version, word) in [
        ("1.0.0", "first"),
        ("1.1.0", "second"),
        (draft.as_str(), "mine"),
    ] {
        let wanted = BTreeMap::from([("hello".to_owned(), version.to_owned())]);
        let catalog = after.with_versions(&demo, None, &wanted).await.unwrap();
        assert!(says(&catalog, word), "{version}");
        let item = after.version(&demo, "hello", version).await.unwrap();
        assert_eq!(item.described.version, version);
    }
    // A published item would hide the versions that deployments use.
    let mine = archive("hello", "2.0.0", "mine");
    let refused = after.publish(&demo, member("ada"), mine, None).await;
    assert_eq!(refused.unwrap_err().code(), "item-name-taken");
}
