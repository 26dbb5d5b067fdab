//! Published versions and drafts: names, owners, limits.

use super::*;

#[tokio::test]
async fn a_version_never_changes_and_names_of_the_servers_own_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |name: &str, word: &str| {
        let archive = archive(name, "1.0.0", word);
        catalogs.publish(&demo, member("ada"), archive, None).await
    };
    assert!(!publish("hello", "first").await.unwrap().was_there);
    assert!(publish("hello", "first").await.unwrap().was_there);
    let refused = publish("hello", "second").await.unwrap_err();
    assert_eq!(refused.code(), "item-version-taken");
    assert_eq!(
        publish("nginx", "x").await.unwrap_err().code(),
        "item-name-taken"
    );
    let refused = catalogs
        .publish(&demo, member("ada"), b"PK".to_vec(), None)
        .await;
    assert_eq!(refused.unwrap_err().code(), "item-refused");
    assert!(says(&catalogs.of(&demo).await.unwrap(), "first"));
    assert!(
        catalogs
            .of(&tenant("other"))
            .await
            .unwrap()
            .get("hello")
            .is_none()
    );
}

#[tokio::test]
async fn only_the_owner_and_administrators_publish_versions() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |user, rank, version: &str| {
        let archive = archive("hello", version, "x");
        let publisher = Publisher {
            rank,
            ..member(user)
        };
        catalogs.publish(&demo, publisher, archive, None).await
    };
    publish("ada", Rank::Member, "1.0.0").await.unwrap();
    let refused = publish("eve", Rank::Member, "2.0.0").await.unwrap_err();
    assert_eq!(refused.code(), "item-owned");
    assert!(refused.to_string().contains("published by ada"));
    // Who may not publish a change can test it, and nobody else's next deployment has it.
    let change = archive("hello", "2.0.0", "y");
    let draft = catalogs.store_draft(&demo, member("eve"), change, None);
    assert!(is_draft(&draft.await.unwrap().item.described.version));
    let catalog = catalogs.of(&demo).await.unwrap();
    assert_eq!(catalog.get("hello").unwrap().described.version, "1.0.0");
    publish("ada", Rank::Member, "2.0.0").await.unwrap();
    publish("root", Rank::Administrator, "3.0.0").await.unwrap();
    // An administrator's version does not change the owner.
    publish("ada", Rank::Member, "4.0.0").await.unwrap();
    // The user of this name in another domain.
    let other = Publisher {
        user_id: "other-id",
        ..member("ada")
    };
    let archive = archive("hello", "5.0.0", "x");
    let refused = catalogs
        .publish(&demo, other, archive, None)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "item-owned");
}

#[tokio::test]
async fn the_number_of_versions_of_an_item_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |name: &str, version: &str| {
        let archive = archive(name, version, "first");
        catalogs.publish(&demo, member("ada"), archive, None).await
    };
    publish("hello", "1.0.0").await.unwrap();
    for minor in 1..VERSIONS_MAX {
        let store = &catalogs.store;
        let first = store.item_list(&demo).await.unwrap().remove(0);
        let (name, version) = (first.name.as_str(), format!("1.{minor}.0"));
        let ada = ("ada", "ada");
        let inserted = store.item_insert(&demo, (name, &version), &first.digest, 4096, ada, b"");
        assert_eq!(inserted.await.unwrap(), Outcome::Done);
    }
    let refused = publish("hello", "2.0.0").await.unwrap_err();
    assert_eq!(refused.code(), "catalog-full");
    assert!(publish("hello", "1.0.0").await.unwrap().was_there);
    assert!(!publish("bye", "1.0.0").await.unwrap().was_there);
}

#[tokio::test]
async fn a_project_has_only_so_many_items() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |name: &str, version: &str| {
        let archive = archive(name, version, "word");
        catalogs.publish(&demo, member("ada"), archive, None).await
    };
    publish("hello", "1.0.0").await.unwrap();
    let draft = draft_version("1.0.0", &"0".repeat(64));
    for number in 1..ITEMS_MAX {
        let name = format!("draft-{number}");
        let key = (name.as_str(), draft.as_str());
        let stored = catalogs
            .store
            .item_insert(&demo, key, "digest", 1, ("ada", "ada"), b"");
        assert_eq!(stored.await.unwrap(), store::Outcome::Done);
    }
    let full = publish("world", "1.0.0").await.unwrap_err();
    assert_eq!(full.code(), "project-full");
    let versions = publish("hello", "1.1.0").await;
    assert!(versions.is_ok(), "the items that are there get versions");
}

#[tokio::test]
async fn a_role_without_a_manifest_gets_one_and_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let role = Files::from([
        (
            "role/tasks/main.yml".to_owned(),
            b"- debug: {msg: hi}".to_vec(),
        ),
        (
            "role/defaults/main.yml".to_owned(),
            b"web_port: 8080\n".to_vec(),
        ),
    ]);
    let archive = pack(&role).unwrap();
    let draft = catalogs.draft(archive.clone()).await.unwrap();
    assert_eq!(draft.recipe.ports[0].option, "web_port");
    let publish = async |manifest: Option<String>| {
        let archive = archive.clone();
        catalogs
            .publish(&demo, member("ada"), archive, manifest)
            .await
    };
    let Err(Error::ItemRefused(problems)) = publish(None).await else {
        panic!("it has no manifest")
    };
    assert_eq!(problems[0].code, "manifest-missing");
    let manifest = "{name: hello, title: T, version: 1.0.0, summary: s, category: c, listens: [{port: web_port}]}";
    let published = publish(Some(manifest.to_owned())).await.unwrap();
    assert_eq!(published.item.described.inputs[0].name, "web_port");
    // The stored archive has the added files too.
    let row = catalogs.store.item_list(&demo).await.unwrap().remove(0);
    let archive = catalogs
        .store
        .item_archive(&demo, ("hello", &row.version))
        .await
        .unwrap()
        .unwrap();
    let files = unpack(archive.as_slice(), &Limits::default()).unwrap();
    assert_eq!(digest(&files), row.digest);
}

#[tokio::test]
async fn a_draft_is_in_no_catalogue_until_a_deployment_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let draft = async |user, word: &str| {
        let archive = archive("hello", "1.0.0", word);
        let stored = catalogs.store_draft(&demo, member(user), archive, None);
        let item = stored.await.unwrap().item;
        (item.described.version.clone(), item)
    };
    let (first, item) = draft("ada", "first").await;
    assert!(first.starts_with("1.0.0-draft."), "{first}");
    assert_eq!(
        item.described.command("again").unwrap().tasks_from(),
        "main.yml"
    );
    assert!(catalogs.of(&demo).await.unwrap().get("hello").is_none());
    let versions = catalogs.versions(&demo).await.unwrap();
    assert!(!versions.contains_key("hello"));

    // A deployment that asks for it keeps it.
    let wanted = BTreeMap::from([("hello".to_owned(), first.clone())]);
    let catalog = catalogs.with_versions(&demo, None, &wanted).await.unwrap();
    assert!(says(&catalog, "first"));
    let foreign = catalogs
        .with_versions(&tenant("other"), None, &wanted)
        .await;
    assert_eq!(foreign.unwrap_err().code(), "not-found");
    store::testing::deployment_insert(&catalogs.store, &demo, "d").await;
    let mut transaction = catalogs.store.begin("testing").await.unwrap();
    let types = BTreeSet::from(["Stackloom::Catalog::hello"]);
    let pinned = catalogs.pin(&mut transaction, (&demo, "d"), &catalog, &types);
    pinned.await.unwrap();
    transaction.commit().await.unwrap();

    // A user's next draft replaces the one before that no deployment uses, with its files.
    let (second, _) = draft("ada", "second").await;
    let (others, _) = draft("eve", "other").await;
    let (third, _) = draft("ada", "third").await;
    let versions = async || {
        let rows = catalogs.store.item_list(&demo).await.unwrap().into_iter();
        rows.map(|row| row.version).collect::<BTreeSet<_>>()
    };
    let folders = || {
        let folder = catalogs.item_folder(&demo, "hello");
        std::fs::read_dir(folder).unwrap().count()
    };
    let kept = BTreeSet::from([first.clone(), others.clone(), third]);
    assert_eq!(versions().await, kept);
    assert_eq!(folders(), 3);
    assert!(!kept.contains(&second));
    let with_draft = catalogs.of_deployment(&demo, "d").await.unwrap();
    assert!(says(&with_draft, "first"));

    // Others delete a draft whose author is gone, unless a deployment has it.
    let kept_for = catalogs.delete_draft(&demo, ("hello", &first)).await;
    let kept_for = kept_for.unwrap_err();
    assert_eq!(kept_for.code(), "not-possible-now");
    assert!(kept_for.to_string().contains("`d`"), "{kept_for}");
    let elsewhere = tenant("other");
    let foreign = catalogs.delete_draft(&elsewhere, ("hello", &others));
    assert_eq!(foreign.await.unwrap_err().code(), "not-found");
    let drafts = catalogs.drafts(&demo).await.unwrap();
    assert_eq!(drafts.len(), 3);
    let deleted = catalogs.delete_draft(&demo, ("hello", &others)).await;
    deleted.unwrap();
    assert_eq!(folders(), 2);

    // A draft makes nobody the owner. The published version ends its author's drafts.
    let archive = archive("hello", "1.0.0", "third");
    let published = catalogs.publish(&demo, member("ada"), archive, None).await;
    assert!(!published.unwrap().was_there);
    let kept = BTreeSet::from([first, "1.0.0".to_owned()]);
    assert_eq!(versions().await, kept);
    assert_eq!(folders(), 2);
    let catalog = catalogs.of(&demo).await.unwrap();
    assert_eq!(catalog.get("hello").unwrap().described.version, "1.0.0");
}
